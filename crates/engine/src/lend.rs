//! Memory of a value given to somebody who takes it as immutable.
//!
//! The pages leave the slot and become memory of their own. The slot is recorded as a copy of them that
//! is made when somebody needs it there: never, if the program drops the slot first.

use crate::table::{Home, Table};
use crate::{Engine, EngineError};
use arrayloom_guard::Block;
use arrayloom_ir::{Action, LoopSig, Node, Operand, SlotId, ops};
use arrayloom_types::{DType, Layout};
use smallvec::smallvec;

/// Pages that left their slot.
#[derive(Debug)]
pub struct Lent {
    block: Block,
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
        self.run_list(None)?;
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
        };
        let must_run = self.append(&mut table, node)?;
        drop(table);
        drop(turn);
        if must_run {
            self.flush()?;
        }
        Ok(Some(Lent { block, source }))
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

    /// Takes back what nobody reads any more. A slot that still waits for its copy gets it now.
    pub fn take_back(&self, lent: Lent) {
        self.forget_external(lent.source);
        self.put(lent.block);
    }
}

fn signature(dtype: DType) -> LoopSig {
    LoopSig {
        ins: smallvec![dtype],
        outs: smallvec![dtype],
    }
}
