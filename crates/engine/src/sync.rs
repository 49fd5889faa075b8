//! Makes the bytes at a slot's address what the program expects, before it reads or writes them.

use crate::engine::unknown;
use crate::table::Home;
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_device::{Buf, End, Queue};
use arrayloom_guard::{Block, Guard, Slot, State};
use arrayloom_ir::SlotId;

impl Engine {
    /// The guarded slot that an address lies in, what its pages are, and whether its value is not computed yet.
    /// Takes no lock.
    pub fn look_at(&self, addr: usize) -> Option<(SlotId, State, bool)> {
        let (_, state, tag) = self.guard()?.look(addr)?;
        let slot = SlotId(u32::try_from(tag.checked_sub(1)?).ok()?);
        Some((slot, state, self.is_pending(slot)))
    }

    /// Afterwards the bytes at the slot's address may be read.
    ///
    /// # Errors
    /// What running the list gave, if the slot has no value for that reason.
    pub fn sync_read(&self, slot: SlotId) -> Result<(), EngineError> {
        if self.publish(slot)? {
            return Ok(());
        }
        let _turn = self.turns.take();
        self.evaluate_slot(slot)?;
        self.publish(slot).map(|_published| ())
    }

    /// Runs the list until the slot has a value, which need not come to where the program sees it.
    ///
    /// # Errors
    /// What running the list gave, if the slot has no value for that reason.
    pub fn evaluate(&self, slot: SlotId) -> Result<(), EngineError> {
        let _turn = self.turns.take();
        self.have_value(slot)
    }

    /// Runs the list until the slot has a value, and hands that to the guard. The caller has the turn.
    pub(crate) fn evaluate_slot(&self, slot: SlotId) -> Result<(), EngineError> {
        self.have_value(slot)?;
        self.with_room(|| self.materialise(slot))
    }

    /// Runs the list until the slot has a value, wherever that is. The caller has the turn. A failure that leaves the
    /// slot with its value is none of the caller's concern and comes back at the next flush.
    pub(crate) fn have_value(&self, slot: SlotId) -> Result<(), EngineError> {
        loop {
            let ran = self.run_list(Wanted::Value(slot));
            if !self.with_room(|| self.take_picked(slot))? {
                ran?;
                continue;
            }
            let table = self.table();
            let entry = table.get(slot).ok_or_else(|| unknown(slot))?;
            entry.check_there()?;
            if entry.writes == 0 {
                return Ok(());
            }
            drop(table);
            // Others record meanwhile.
            ran?;
        }
    }

    /// Afterwards the bytes at the slot's address may be read and written: no recorded operation needs
    /// the old ones.
    ///
    /// # Errors
    /// What running the list gave.
    pub fn sync_write(&self, slot: SlotId) -> Result<(), EngineError> {
        while !self.open(slot)? {
            let _turn = self.turns.take();
            self.run_list(Wanted::Memory(slot))?;
            // Each time around: other threads pick meanwhile.
            self.take_from(slot)?;
            if self.with_room(|| self.take_picked(slot))? {
                self.with_room(|| self.materialise(slot))?;
            }
        }
        Ok(())
    }

    /// Makes a slot that no recorded operation touches writable. False if some do.
    fn open(&self, slot: SlotId) -> Result<bool, EngineError> {
        let mut table = self.table();
        table.look_at(slot);
        let Some(entry) = table.get_mut(slot) else {
            return Err(unknown(slot));
        };
        entry.check_there()?;
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

    /// True if the program's own memory holds the slot's value and no recorded operation needs it, which
    /// makes it writable: a small write is quicker done there than recorded. Fresh memory stays fresh.
    pub fn is_settled(&self, slot: SlotId) -> bool {
        let table = self.table();
        let Some(entry) = table.get(slot) else {
            return false;
        };
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return false;
        };
        let idle = entry.reads + entry.writes == 0 && entry.freed.is_none();
        idle && guard.state(guarded).is_published() && guard.unprotect(guarded)
    }

    /// True for memory that nobody has looked at since it was made: recorded writes need not run at once.
    pub fn is_fresh(&self, slot: SlotId) -> bool {
        self.table().get(slot).is_some_and(|entry| entry.fresh)
    }

    /// Moves a computed value to its address. False when there is no value yet.
    pub(crate) fn publish(&self, slot: SlotId) -> Result<bool, EngineError> {
        let mut table = self.table();
        table.look_at(slot);
        let Some(entry) = table.get_mut(slot) else {
            return Err(unknown(slot));
        };
        entry.check_there()?;
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

    /// Hands the value of a slot without pending writes to the guard; one that was never written gets
    /// zeros or arbitrary contents. The caller has the turn.
    fn materialise(&self, slot: SlotId) -> Result<(), EngineError> {
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return Err(unknown(slot));
        };
        entry.check_there()?;
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return Ok(());
        };
        if entry.writes > 0 {
            return Ok(());
        }
        self.unshadow(entry)?;
        let state = guard.state(guarded);
        let has_value = state == State::Computed || state.is_published();
        if let Some(block) = &entry.block {
            self.bring(block)?;
        }
        let block = match entry.block.take() {
            Some(block) => block,
            None if has_value => return Ok(()),
            None => self.block(entry.nbytes, entry.zeroed)?,
        };
        entry.zeroed = false;
        let (has_reader, nbytes) = (entry.reads > 0, entry.nbytes);
        self.pending.set(slot.0, false);
        self.hand(guard, guarded, block, nbytes);
        if !has_reader && guard.state(guarded) == State::Computed {
            guard.unprotect(guarded);
        }
        Ok(())
    }

    /// Hands a value to the guard. Where a failed evaluation left other bytes at the user address, the
    /// value is copied over them.
    pub(crate) fn hand(&self, guard: &Guard, slot: Slot, block: Block, nbytes: usize) {
        if let Err(error) = self.bring(&block) {
            self.keep_failure(error);
        }
        if !guard.state(slot).is_published() {
            guard.computed(slot, block);
            return;
        }
        let from = Buf(block.ptr().expose_provenance() as u64);
        let copied = guard.unprotect(slot)
            && self
                .device
                .copy(
                    Queue::default(),
                    End::Host(guard.addr(slot)),
                    End::Dev(from, 0),
                    nbytes as u64,
                )
                .map_err(|error| self.keep_failure(error.into()))
                .is_ok();
        debug_assert!(copied, "a value could not be copied to its address");
        self.put(block);
    }
}
