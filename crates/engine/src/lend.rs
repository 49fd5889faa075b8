//! Memory of a value given to somebody who takes it as immutable.
//!
//! The pages leave the slot and become memory of their own. The slot is recorded as a copy of them that
//! is made when somebody needs it there: never, if the program drops the slot first. If the borrower goes
//! first, the slot gets the pages themselves back.

use crate::engine::Due;
use crate::table::{Entry, Home, Leftover, Table};
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_guard::Block;
use arrayloom_ir::{Action, LoopSig, Node, Operand, SlotId, ops};
use arrayloom_types::{DType, Layout};
use smallvec::smallvec;

/// Pages that left their slot.
#[derive(Debug)]
pub struct Lent {
    block: Block,
    /// Where they were.
    slot: SlotId,
    /// The pages as memory of the caller, for the recorded copy.
    source: SlotId,
}

impl Lent {
    /// Where the pages are now. Nobody may write there.
    pub fn address(&self) -> usize {
        self.block.ptr() as usize
    }
}

impl Engine {
    /// Lends the pages of a slot; `whole` is the slot's value from its start. `None` if they cannot leave.
    ///
    /// # Errors
    /// What running the list gave.
    pub fn lend_pages(&self, slot: SlotId, whole: &Layout) -> Result<Option<Lent>, EngineError> {
        let Some(copy) = ops::find("_copy") else {
            return Ok(None);
        };
        let turn = self.turns.take();
        let touched = |entry: &Entry| entry.reads + entry.writes > 0 || entry.block.is_some();
        if self.table().get(slot).is_some_and(touched) {
            self.run_list(Wanted::All)?;
        }
        let mut table = self.table();
        let nbytes = whole.shape.iter().product::<usize>() * whole.dtype.size();
        let Some(block) = self.lift(&mut table, slot, nbytes) else {
            return Ok(None);
        };
        let address = block.ptr().expose_provenance() as u64;
        let source = table.add(Home::External(address), nbytes, true);
        self.pending.set(source.0, false);
        let node = Node {
            action: Action::Map(copy),
            sig: signature(whole.dtype),
            outs: smallvec![(slot, whole.clone())],
            ins: smallvec![Operand::View(source, whole.clone())],
            mask: None,
            site: 0,
            told: false,
            part: false,
        };
        let due = self.append(&mut table, node, &[], false)?;
        drop(table);
        drop(turn);
        if due != Due::Later {
            self.flush()?;
        }
        Ok(Some(Lent {
            block,
            slot,
            source,
        }))
    }

    /// The pages of a computed slot of `nbytes` that no recorded operation touches.
    fn lift(&self, table: &mut Table, slot: SlotId, nbytes: usize) -> Option<Block> {
        let entry = table.get_mut(slot).filter(|entry| entry.nbytes == nbytes)?;
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return None;
        };
        if entry.reads + entry.writes > 0 || entry.block.is_some() {
            return None;
        }
        guard.withdraw(guarded).or_else(|| guard.reclaim(guarded))
    }

    /// Drops the copy at `place` of the list and gives its pages to the slot. The caller has the turn.
    fn put_back(&self, table: &mut Table, place: usize, lent: Lent) -> Vec<Leftover> {
        let node = table.list.remove(place);
        let mut left = Vec::new();
        table.settle(&node, &mut left);
        left.push(table.release(lent.source));
        let entry = table
            .get_mut(lent.slot)
            .map(|entry| (entry.home, entry.nbytes));
        match (entry, self.guard()) {
            (Some((Home::Guarded(guarded), nbytes)), Some(guard)) => {
                table.list_bytes = table.list_bytes.saturating_sub(nbytes as u64);
                self.pending.set(lent.slot.0, false);
                self.hand(guard, guarded, lent.block, nbytes);
                guard.unprotect(guarded);
            }
            // The program dropped the slot: settling the copy has given it back.
            _ => left.push(Leftover::Block(lent.block)),
        }
        left
    }

    /// True while the value of the slot is what these pages hold: the copy has not been made, and nobody has
    /// recorded another write.
    pub fn is_still_lent(&self, lent: &Lent) -> bool {
        waiting_copy(&self.table(), lent).is_some()
    }

    /// Takes back what nobody reads any more. A slot that still waits for its copy gets the pages, or the copy
    /// where recorded operations stand in the way.
    pub fn take_back(&self, lent: Lent) {
        if self.is_still_lent(&lent) {
            let _turn = self.turns.take();
            let mut table = self.table();
            let unread = table.get(lent.slot).is_some_and(|entry| entry.reads == 0);
            if let Some(place) = waiting_copy(&table, &lent).filter(|_| unread) {
                let left = self.put_back(&mut table, place, lent);
                drop(table);
                return self.give_back(left);
            }
        }
        self.forget_external(lent.source);
        self.put(lent.block);
    }
}

/// Where in the list the copy of lent pages is, if it is all that will be written to their slot.
fn waiting_copy(table: &Table, lent: &Lent) -> Option<usize> {
    let source = table.get(lent.source)?;
    let slot = table.get(lent.slot)?;
    if source.reads != 1 || slot.writes != 1 {
        return None;
    }
    let reads = |node: &Node| node.ins.iter().any(|i| i.slot() == Some(lent.source));
    let writes = |node: &Node| matches!(&node.outs[..], [(slot, _)] if *slot == lent.slot);
    table
        .list
        .iter()
        .position(|node| reads(node) && writes(node))
}

fn signature(dtype: DType) -> LoopSig {
    LoopSig {
        ins: smallvec![dtype],
        outs: smallvec![dtype],
    }
}
