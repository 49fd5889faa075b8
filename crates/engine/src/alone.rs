//! Lines of the program that want each of their results at once, and what is done for them.
//!
//! Recording pays when operations meet in one kernel. A line whose result is looked at before anything
//! else is recorded gains nothing and pays for a hidden block and for moving its pages. Each place counts
//! how often its operation ran alone, for the sake of its own result; so do those that fill one array part by
//! part, from other arrays. From some count on its operations run when they are called, into memory that the
//! program has already. Now and then one is recorded all the same, and a single time that it meets another
//! operation makes the place lazy again.

use crate::engine::unknown;
use crate::run::Wanted;
use crate::table::accesses;
use crate::{Engine, EngineError};
use arrayloom_fuse::split;
use arrayloom_ir::{Action, Node, SlotId};
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Places with counts of their own; numbers above share one with a number below.
const PLACES: usize = 1 << 16;
/// Numbers below this name no line.
const NOWHERE: u32 = 16;
/// Times alone after which a place is known.
const KNOWN: u8 = 4;
/// The count at which a known place is recorded again, to see.
const LOOK_AGAIN: u8 = KNOWN + 48;

/// What is known of every place.
pub(crate) struct Alone {
    counts: Box<[AtomicU8]>,
}

impl Alone {
    pub(crate) fn new() -> Alone {
        Alone {
            counts: std::iter::repeat_with(AtomicU8::default)
                .take(PLACES)
                .collect(),
        }
    }

    fn count(&self, site: u32) -> Option<&AtomicU8> {
        let known = site >= NOWHERE;
        known.then(|| &self.counts[site as usize % PLACES])
    }

    /// Learns from a list that ran, for the sake of `wanted` if one slot was waited for.
    pub(crate) fn learn(&self, list: &[Node], wanted: Option<SlotId>) {
        let meet = |node: &Node| !wanted.is_some_and(|wanted| fills(node, wanted));
        let company = list.iter().any(meet);
        if company && list.len() == 1 {
            return;
        }
        for count in list.iter().filter_map(|node| self.count(node.site)) {
            if company {
                count.store(0, Relaxed);
            } else {
                let _known = count.fetch_update(Relaxed, Relaxed, |n| (n < KNOWN).then_some(n + 1));
            }
        }
    }

    /// True for a place that is known. Asked for every operation, so it changes nothing and takes no lock.
    fn knows(&self, site: u32) -> bool {
        self.count(site).is_some_and(|n| n.load(Relaxed) >= KNOWN)
    }

    /// True if the next operation of this place had better run at once, which counts.
    fn expects(&self, site: u32) -> bool {
        let Some(count) = self.count(site) else {
            return false;
        };
        match count.load(Relaxed) {
            0..KNOWN => false,
            LOOK_AGAIN.. => {
                count.store(KNOWN - 1, Relaxed);
                false
            }
            n => {
                count.store(n + 1, Relaxed);
                true
            }
        }
    }
}

/// True if the operation writes values to `wanted` that do not depend on it.
fn fills(node: &Node, wanted: SlotId) -> bool {
    let writes = matches!(node.action, Action::Map(_) | Action::Gather) && node.outs[0].0 == wanted;
    writes && accesses(node).all(|(slot, is_write)| is_write || slot != wanted)
}

impl Engine {
    /// True if an operation of this place, of computed values into a new array, had better run at once:
    /// then [`Engine::run_now`] takes it, and its results need memory.
    pub fn runs_at_once(&self, site: u32) -> bool {
        self.settings.learn
            && self.alone.knows(site)
            && self.device.residency().is_none()
            && self.is_idle()
            && self.alone.expects(site)
    }

    /// True if nothing is recorded.
    pub fn is_idle(&self) -> bool {
        self.table().list.is_empty()
    }

    /// Runs an operation whose operands have values and whose results have memory that no recorded operation needs.
    ///
    /// # Errors
    /// As for [`Engine::record`]; after a failure the operation stays recorded.
    pub fn run_now(&self, node: Node) -> Result<(), EngineError> {
        self.take_for(&node)?;
        let turn = self.turns.take();
        let mut table = self.table();
        if !table.list.is_empty() {
            drop(table);
            drop(turn);
            self.record(node)?;
            return self.flush();
        }
        for (slot, is_write) in accesses(&node) {
            match table.get_mut(slot) {
                Some(entry) => {
                    entry.check_there()?;
                    entry.fresh &= !is_write;
                }
                None => return Err(unknown(slot)),
            }
        }
        table.recorded += 1;
        let parts = split(node, &mut |bytes| {
            table.add(crate::table::Home::Internal, bytes, false)
        });
        for part in parts {
            table.count(&part);
            table.list.push(part);
        }
        drop(table);
        self.run_list(Wanted::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_ir::{LoopSig, ops};
    use arrayloom_types::{DType, Layout};
    use smallvec::smallvec;

    fn node(site: u32, out: u32) -> Node {
        let layout = Layout::contiguous(DType::F64, &[4]);
        Node {
            action: Action::Map(ops::find("negative").unwrap()),
            sig: LoopSig {
                ins: smallvec![DType::F64],
                outs: smallvec![DType::F64],
            },
            outs: smallvec![(SlotId(out), layout)],
            ins: smallvec![],
            mask: None,
            site,
            told: false,
            part: false,
        }
    }

    #[test]
    fn a_place_is_known_after_some_times_alone() {
        let alone = Alone::new();
        for _ in 0..KNOWN {
            assert!(!alone.expects(20));
            alone.learn(&[node(20, 1)], Some(SlotId(1)));
        }
        assert!(alone.expects(20));
        assert!(alone.knows(20) && !alone.knows(21), "another place");
    }

    #[test]
    fn other_reasons_to_run_teach_nothing() {
        let alone = Alone::new();
        for _ in 0..20 {
            alone.learn(&[node(20, 1)], None);
            alone.learn(&[node(20, 1)], Some(SlotId(2)));
            alone.learn(&[node(3, 1)], Some(SlotId(1)));
        }
        assert!(!alone.expects(20));
        assert!(!alone.expects(3), "no line");
    }

    #[test]
    fn company_once_makes_a_place_lazy_again() {
        let alone = Alone::new();
        (0..9).for_each(|_| alone.learn(&[node(20, 1)], Some(SlotId(1))));
        alone.learn(&[node(20, 1), node(30, 2)], Some(SlotId(2)));
        assert!(!alone.expects(20));
    }

    #[test]
    fn a_known_place_is_looked_at_again() {
        let alone = Alone::new();
        (0..9).for_each(|_| alone.learn(&[node(20, 1)], Some(SlotId(1))));
        let at_once = (0..200).take_while(|_| alone.expects(20)).count();
        assert_eq!(at_once, usize::from(LOOK_AGAIN - KNOWN));
        assert!(!alone.expects(20), "recorded, and not yet seen again");
        alone.learn(&[node(20, 1)], Some(SlotId(1)));
        assert!(alone.expects(20));
    }
}
