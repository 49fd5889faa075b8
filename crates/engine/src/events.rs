//! What the program is to be told later: floating-point conditions of operations, in program order, and a
//! failure where nobody could be told.

use crate::engine::lock;
use crate::{Engine, EngineError};
use arrayloom_ir::{Action, FpFlags, Node};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering::Relaxed;

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

/// An event with the place of its node in the list, for a part that of the first part.
pub(crate) type Placed = (u32, FpEvent);

/// Conditions of a group that its device notes later.
pub(crate) struct Late {
    pub(crate) met: Arc<[AtomicU8]>,
    /// Nodes by instructions.
    pub(crate) origin: Arc<[u32]>,
    /// Instructions that other nodes need too, and these.
    pub(crate) shared: Arc<[(u32, u32)]>,
    /// The nodes of the group, and which of them were told of before.
    pub(crate) places: Vec<u32>,
    pub(crate) told: Vec<bool>,
}

/// The events of a group of `places` in `list`: one per node whose instructions met conditions, but for those
/// that were told before.
pub(crate) fn collect(
    flags: &[AtomicU8],
    (origin, shared): (&[u32], &[(u32, u32)]),
    (places, list): (&[u32], &[Node]),
    told: impl Fn(usize) -> bool,
    events: &mut Vec<Placed>,
) {
    let mut met = vec![0u8; places.len()];
    for (flag, &owner) in flags.iter().zip(origin) {
        met[owner as usize] |= flag.load(Relaxed);
    }
    for &(instruction, node) in shared {
        met[node as usize] |= flags[instruction as usize].load(Relaxed);
    }
    let places = places.iter().zip(met).enumerate();
    for (number, (&place, flags)) in places.filter(|(_, (_, flags))| *flags != 0) {
        let node = &list[place as usize];
        if told(number) {
            continue;
        }
        let event = FpEvent {
            flags: FpFlags(flags),
            op: warning_name(node),
            site: node.site,
        };
        let parts = (0..=place).rev().take_while(|&at| list[at as usize].part);
        let first = place - u32::try_from(parts.count()).unwrap_or(place);
        events.push((first, event));
    }
}

fn warning_name(node: &Node) -> &'static str {
    match node.action {
        Action::Map(op) if op.name == "_copy" => "cast",
        Action::Map(op) => op.name,
        Action::Gather => "take",
        Action::Reduce { .. } | Action::Arg { .. } => "reduce",
        // Whole numbers wrap: what met a condition came to be one.
        Action::Scan { .. } if node.sig.outs[0].is_integer() => "cast",
        Action::Scan { .. } => "accumulate",
    }
}

impl Engine {
    /// The floating-point conditions met since the last call, in program order.
    pub fn take_fp_events(&self) -> Vec<FpEvent> {
        let mut events = lock(&self.events);
        self.untold.store(lock(&self.failure).is_some(), Relaxed);
        std::mem::take(&mut *events)
    }

    /// Keeps conditions for the next call of [`Engine::take_fp_events`].
    pub(crate) fn tell(&self, events: impl IntoIterator<Item = FpEvent>) {
        let mut untold = lock(&self.events);
        untold.extend(events);
        if !untold.is_empty() {
            self.untold.store(true, Relaxed);
        }
    }

    /// Names a function that is called when work inside a touch left a failure or floating-point
    /// conditions to be told. It runs on the touching thread, in the signal handler, just before the
    /// access is repeated.
    pub fn on_notice(&self, call: fn()) {
        self.notice.get_or_init(|| call);
    }

    /// The failure of an evaluation inside a touch, once.
    pub fn take_failure(&self) -> Option<EngineError> {
        let events = lock(&self.events);
        self.untold.store(!events.is_empty(), Relaxed);
        lock(&self.failure).take()
    }

    /// True if there are conditions or a failure that nobody has taken. Takes no lock.
    pub fn has_news(&self) -> bool {
        self.untold.load(Relaxed)
    }

    pub(crate) fn keep_failure(&self, error: EngineError) {
        let mut failure = lock(&self.failure);
        failure.get_or_insert(error);
        self.untold.store(true, Relaxed);
    }
}
