//! Makes the bytes at a slot's address what the program expects, before it reads or writes them.

use crate::engine::unknown;
use crate::table::Home;
use crate::{Engine, EngineError};
use arrayloom_guard::State;
use arrayloom_ir::SlotId;

impl Engine {
    /// Afterwards the bytes at the slot's address may be read.
    ///
    /// # Errors
    /// What running the list gave, if the slot has no value for that reason.
    pub fn sync_read(&self, slot: SlotId) -> Result<(), EngineError> {
        if self.publish(slot)? {
            return Ok(());
        }
        let _turn = self.turns.take();
        let ran = self.run_list();
        if self.is_pending(slot) {
            ran?;
        }
        self.materialise(slot)?;
        self.publish(slot).map(|_published| ())
    }

    /// Afterwards the bytes at the slot's address may be read and written: no recorded operation needs
    /// the old ones.
    ///
    /// # Errors
    /// What running the list gave.
    pub fn sync_write(&self, slot: SlotId) -> Result<(), EngineError> {
        while !self.open(slot)? {
            let _turn = self.turns.take();
            self.run_list()?;
            self.materialise(slot)?;
        }
        Ok(())
    }

    /// Makes a slot that no recorded operation touches writable. False if some do.
    fn open(&self, slot: SlotId) -> Result<bool, EngineError> {
        let table = self.table();
        let Some(entry) = table.get(slot) else {
            return Err(unknown(slot));
        };
        if entry.reads + entry.writes > 0 {
            return Ok(false);
        }
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return Ok(true);
        };
        if guard.state(guarded) == State::Computed {
            guard.publish(guarded, false)?;
        }
        if !guard.state(guarded).is_published() {
            return Ok(false);
        }
        if guard.unprotect(guarded) {
            Ok(true)
        } else {
            Err(EngineError::BadSlot {
                slot: slot.0,
                what: "cannot be made writable",
            })
        }
    }

    /// Moves a computed value to its address. False when there is no value yet.
    fn publish(&self, slot: SlotId) -> Result<bool, EngineError> {
        let table = self.table();
        let Some(entry) = table.get(slot) else {
            return Err(unknown(slot));
        };
        if entry.writes > 0 {
            return Ok(false);
        }
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return Ok(true);
        };
        let state = guard.state(guarded);
        if state == State::Computed {
            guard.publish(guarded, entry.reads > 0)?;
            return Ok(true);
        }
        Ok(state.is_published())
    }

    /// Gives a slot without pending writes that has no value memory with arbitrary contents, and hands
    /// the value to the guard. The caller has the turn.
    pub(crate) fn materialise(&self, slot: SlotId) -> Result<(), EngineError> {
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return Err(unknown(slot));
        };
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return Ok(());
        };
        if entry.writes > 0 {
            return Err(EngineError::BadSlot {
                slot: slot.0,
                what: "has no value",
            });
        }
        let state = guard.state(guarded);
        if state == State::Computed || state.is_published() {
            return Ok(());
        }
        let block = match entry.block.take() {
            Some(block) => block,
            None => self.block(entry.nbytes, false)?,
        };
        guard.computed(guarded, block);
        if entry.reads == 0 {
            guard.unprotect(guarded);
        }
        self.pending.set(slot.0, false);
        Ok(())
    }
}
