//! Floating-point conditions of operations, in program order.

use arrayloom_ir::{Action, FpFlags, Node};
use std::sync::atomic::{AtomicU8, Ordering};

/// Conditions that one operation met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FpEvent {
    /// The conditions.
    pub flags: FpFlags,
    /// What NumPy's warning names: the ufunc, `reduce` or `accumulate`.
    pub op: &'static str,
    /// Where it was recorded.
    pub site: u32,
}

/// An event with the place of its node in the list.
pub(crate) type Placed = (u32, FpEvent);

/// The events of a group of `places` in `list`: one per node whose instructions met conditions.
pub(crate) fn collect(
    flags: &[AtomicU8],
    (origin, twins): (&[u32], &[(u32, u32)]),
    (places, list): (&[u32], &[Node]),
    events: &mut Vec<Placed>,
) {
    let mut met = vec![0u8; places.len()];
    for (flag, &owner) in flags.iter().zip(origin) {
        met[owner as usize] |= flag.load(Ordering::Relaxed);
    }
    for &(first, second) in twins {
        met[second as usize] |= met[first as usize];
    }
    for (&place, flags) in places.iter().zip(met).filter(|(_, flags)| *flags != 0) {
        let node = &list[place as usize];
        if node.told {
            continue;
        }
        let event = FpEvent {
            flags: FpFlags(flags),
            op: warning_name(node),
            site: node.site,
        };
        events.push((place, event));
    }
}

fn warning_name(node: &Node) -> &'static str {
    match node.action {
        Action::Map(op) if op.name == "_copy" => "cast",
        Action::Map(op) => op.name,
        Action::Gather => "take",
        Action::Reduce { .. } | Action::Arg { .. } => "reduce",
        Action::Scan { .. } => "accumulate",
    }
}
