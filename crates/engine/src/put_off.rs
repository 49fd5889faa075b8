//! Results that are put off: `np.sum(np.abs(work - c))` forces the list while the program still holds
//! the array of absolute values, but drops it as soon as the sum is there. So it is with the product in `a * 2 + 1`
//! where the addition runs at once.
//!
//! When a fold forces the list, what it folds is computed on the way and not stored, if it can be had
//! again cheaply; likewise the operands of an operation that runs at once. Their operations stay recorded; they are
//! dropped with the array, or run when somebody wants the array after all. No operation is put off twice.

use crate::Engine;
use crate::table::{Home, Leftover, Table, accesses};
use crate::wanted::Wanted;
use arrayloom_fuse::{Slots, covers, dead};
use arrayloom_guard::{Guard, State};
use arrayloom_ir::{Action, Node, Operand, SlotId};
use std::collections::BTreeSet;

/// Operations that are done again at most.
const MAX_OPS: usize = 4;
/// Arrays that doing them again reads at most.
const MAX_READS: usize = 3;
/// Bytes that may be kept for it though the program has dropped them.
const SMALL: usize = 64 << 10;
/// Points of the operations that may stand between the fold and the value that somebody waits for.
const FEW: usize = 64;

/// A result that is put off, and the operations that make it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PutOff {
    pub(crate) slot: SlotId,
    pub(crate) places: Vec<u32>,
}

/// The results that need not be stored while `wanted` is computed.
pub(crate) fn choose(
    (table, guard): (&Table, &Guard),
    list: &[Node],
    wanted: Wanted,
) -> Vec<PutOff> {
    let sought: Vec<SlotId> = match wanted {
        Wanted::Value(slot) => {
            let folded = |fold: usize| list[fold].ins.first().and_then(Operand::slot);
            folds_behind(list, slot)
                .into_iter()
                .filter_map(folded)
                .filter(|&folded| folded != slot)
                .collect()
        }
        Wanted::End => {
            let last = list.last().map_or(&[][..], |last| &last.ins);
            last.iter().filter_map(Operand::slot).collect()
        }
        Wanted::All | Wanted::Seen | Wanted::First(_) | Wanted::Memory(_) => return Vec::new(),
    };
    let mut found: Vec<PutOff> = Vec::new();
    for slot in sought {
        let known = found.iter().any(|put_off| put_off.slot == slot);
        let live = table.get(slot).is_some_and(|entry| entry.user);
        if known || !live {
            continue;
        }
        if let Some(places) = Chain::new(table, guard, list).making(slot) {
            found.push(PutOff { slot, places });
        }
    }
    found
}

/// True if the list does nothing but make these arrays, and they need not be stored for what reads them.
pub(crate) fn is_for(table: &Table, guard: &Guard, arrays: &[SlotId]) -> bool {
    let chains = arrays
        .iter()
        .map(|&slot| Chain::new(table, guard, &table.list).making(slot));
    let mut needed = BTreeSet::new();
    for chain in chains {
        let Some(places) = chain else {
            return false;
        };
        needed.extend(places);
    }
    needed.len() == table.list.len()
}

/// The folds that `wanted` comes from by operations on few points.
fn folds_behind(list: &[Node], wanted: SlotId) -> Vec<usize> {
    let mut folds = Vec::new();
    let mut sought = BTreeSet::from([wanted]);
    for (place, node) in list.iter().enumerate().rev() {
        if !node.outs.iter().any(|(slot, _)| sought.contains(slot)) {
            continue;
        }
        match node.action {
            Action::Reduce { .. } | Action::Arg { .. } => folds.push(place),
            Action::Map(_) | Action::Gather if node.domain().iter().product::<usize>() <= FEW => {
                sought.extend(accesses(node).map(|(slot, _)| slot));
            }
            Action::Map(_) | Action::Gather | Action::Scan { .. } => {}
        }
    }
    folds
}

/// The operations that make a value from arrays that will still be there.
struct Chain<'a> {
    table: &'a Table,
    guard: &'a Guard,
    list: &'a [Node],
    nodes: BTreeSet<u32>,
    reads: BTreeSet<SlotId>,
}

impl<'a> Chain<'a> {
    fn new(table: &'a Table, guard: &'a Guard, list: &'a [Node]) -> Chain<'a> {
        Chain {
            table,
            guard,
            list,
            nodes: BTreeSet::new(),
            reads: BTreeSet::new(),
        }
    }

    /// The places of the operations that make all of `slot`; none if they cannot be done again, or not cheaply.
    fn making(mut self, slot: SlotId) -> Option<Vec<u32>> {
        self.makes(slot).then(|| self.nodes.into_iter().collect())
    }

    /// Adds the operation that makes all of `slot`. False if it cannot be done again, or not cheaply.
    fn makes(&mut self, slot: SlotId) -> bool {
        let &[place] = self.writers(slot).as_slice() else {
            return false;
        };
        let node = &self.list[place as usize];
        self.nodes.insert(place);
        self.nodes.len() <= MAX_OPS
            && !node.told
            && node.mask.is_none()
            && node.outs.len() == 1
            && covers(&node.outs[0].1, self.nbytes(slot))
            && self.is_new(slot)
            && is_cheap(node)
            && node.ins.iter().all(|operand| match operand {
                Operand::Scalar(_) => true,
                Operand::View(read, _) => self.keeps(*read, place),
                Operand::Table(..) => false,
            })
    }

    /// True when the operand of the operation at `place` can be read again after the list has run.
    fn keeps(&mut self, slot: SlotId, place: u32) -> bool {
        let Some(entry) = self.table.get(slot) else {
            return false;
        };
        let ours = matches!(entry.home, Home::Guarded(_) | Home::Internal);
        // What an operation reads and writes, such as new zeros that something is added to, is not there again.
        if !ours || self.writers(slot).iter().any(|&writer| writer >= place) {
            return false;
        }
        if !entry.user && entry.writes > 0 {
            return self.makes(slot);
        }
        if !entry.user && entry.nbytes > SMALL {
            // Its memory would outlive it.
            return false;
        }
        self.reads.insert(slot);
        self.reads.len() <= MAX_READS
    }

    fn nbytes(&self, slot: SlotId) -> usize {
        self.table.get(slot).map_or(0, |entry| entry.nbytes)
    }

    /// The operations that write a slot.
    fn writers(&self, slot: SlotId) -> Vec<u32> {
        let nodes = (0..).zip(self.list);
        nodes
            .filter(|(_, node)| node.outs.iter().any(|(out, _)| *out == slot))
            .map(|(place, _)| place)
            .collect()
    }

    /// True when the slot had no value before.
    fn is_new(&self, slot: SlotId) -> bool {
        let Some(entry) = self.table.get(slot) else {
            return false;
        };
        let empty = match entry.home {
            Home::Guarded(guarded) => {
                let state = self.guard.state(guarded);
                !state.is_published() && state != State::Computed
            }
            home => home == Home::Internal,
        };
        empty && entry.block.is_none()
    }
}

/// True for element-wise operations of a few quick instructions.
fn is_cheap(node: &Node) -> bool {
    matches!(node.action, Action::Map(op) if op.is_quick(&node.sig))
}

/// Who is alive, for operations that wait in the list.
struct Waiting<'a>(&'a Table);

impl Slots for Waiting<'_> {
    fn is_live(&self, slot: SlotId) -> bool {
        self.0.get(slot).is_none_or(|entry| entry.user)
    }

    fn nbytes(&self, slot: SlotId) -> usize {
        self.0.get(slot).map_or(0, |entry| entry.nbytes)
    }
}

impl Engine {
    /// Operations that were put off go with their results; what is gone already is dropped now.
    pub(crate) fn await_put_off(&self, table: &mut Table, all: &[PutOff]) -> Vec<Leftover> {
        for put_off in all {
            if let Some(entry) = table.get_mut(put_off.slot) {
                entry.put_off = true;
            }
        }
        if all.is_empty() {
            return Vec::new();
        }
        self.drop_dead(table)
    }

    /// Takes operations out of the list whose results nobody can see any more.
    pub(crate) fn drop_dead(&self, table: &mut Table) -> Vec<Leftover> {
        let places = dead(&table.list, &Waiting(table));
        let mut left = Vec::new();
        for place in places.into_iter().rev() {
            let node = table.list.remove(place as usize);
            table.settle(&node, &mut left);
            self.relax(table, &node);
        }
        left
    }

    /// Operands of an operation that is gone need no write barrier when nobody else reads them.
    fn relax(&self, table: &Table, node: &Node) {
        for (slot, _) in accesses(node) {
            let entry = table.get(slot).filter(|entry| entry.reads == 0);
            let (Some(entry), Some(guard)) = (entry, self.guard()) else {
                continue;
            };
            if let Home::Guarded(guarded) = entry.home
                && guard.state(guarded) == State::Computed
            {
                guard.unprotect(guarded);
            }
        }
    }
}
