//! Values that were used longest ago move to a file, and stay readable as memory.

use crate::table::{Home, Table};
use crate::{Engine, EngineError};
use arrayloom_device::{End, Queue};
use arrayloom_guard::{Block, Pages as _};
use arrayloom_ir::SlotId;

/// Values smaller than this are not worth a move. Tests work on small arrays.
const LEAST: usize = if cfg!(test) { 1 << 12 } else { 64 << 10 };

impl Engine {
    /// Moves values to the spill file until `need` bytes are free, the one used longest ago first. Tells
    /// how many bytes. The caller has the turn and holds no lock.
    pub(crate) fn spill(&self, need: u64) -> u64 {
        if !self.settings.spill || !self.pool().can_spill() {
            return 0;
        }
        self.settle_device(false);
        let mut freed = 0;
        let slots = oldest(&self.table());
        for slot in slots {
            if freed >= need {
                break;
            }
            freed += self.spill_slot(slot);
        }
        freed
    }

    /// Moves one value to the spill file. Tells how many bytes.
    fn spill_slot(&self, slot: SlotId) -> u64 {
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return 0;
        };
        let (home, has_reader) = (entry.home, entry.reads > 0);
        if let Some(block) = entry.block.take() {
            let (block, freed) = self.write_out(block);
            entry.block = Some(block);
            return freed;
        }
        let (Home::Guarded(guarded), Some(guard)) = (home, self.guard()) else {
            return 0;
        };
        if self.pool().is_spilled_at(guard.home(guarded)) {
            return 0;
        }
        let held = guard.withdraw(guarded).or_else(|| guard.reclaim(guarded));
        let Some(block) = held else {
            return 0;
        };
        let (block, freed) = self.write_out(block);
        guard.computed(guarded, block);
        if !has_reader {
            guard.unprotect(guarded);
        }
        freed
    }

    /// A block with the same bytes in the spill file, and the bytes that this freed; the same block where
    /// that is not possible.
    fn write_out(&self, block: Block) -> (Block, u64) {
        if self.pool().is_spilled_at(block.ptr().addr()) {
            return (block, 0);
        }
        let Some(file) = self.pool().get_spilled(block.len()) else {
            return (block, 0);
        };
        let bytes = block.len() as u64;
        match self.move_bytes(&block, &file) {
            Ok(()) => {
                self.pool().page_out(file.ptr().addr(), file.len());
                self.put(block);
                (file, bytes)
            }
            Err(_failed) => {
                self.put(file);
                (block, 0)
            }
        }
    }

    fn move_bytes(&self, from: &Block, to: &Block) -> Result<(), EngineError> {
        let (to, from) = (End::Host(to.ptr()), (End::Host(from.ptr()), from.len()));
        self.device
            .copy(Queue::default(), to, from.0, from.1 as u64)?;
        Ok(())
    }

    /// Brings everything back into memory, whatever the limit: a process that was forked must not share
    /// the file. The caller has the turn.
    pub(crate) fn unspill(&self) {
        if self.pool().spilled().0 == 0 {
            return;
        }
        let limit = self.pool().limit().set(u64::MAX);
        let slots = oldest(&self.table());
        for slot in slots {
            self.unspill_slot(slot);
        }
        self.pool().limit().set(limit);
    }

    fn unspill_slot(&self, slot: SlotId) {
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return;
        };
        let (home, has_reader) = (entry.home, entry.reads > 0);
        if let Some(block) = entry.block.take() {
            entry.block = Some(self.read_back(block));
            return;
        }
        let (Home::Guarded(guarded), Some(guard)) = (home, self.guard()) else {
            return;
        };
        if !self.pool().is_spilled_at(guard.home(guarded)) {
            return;
        }
        let held = guard.withdraw(guarded).or_else(|| guard.reclaim(guarded));
        if let Some(block) = held {
            guard.computed(guarded, self.read_back(block));
            if !has_reader {
                guard.unprotect(guarded);
            }
        }
    }

    fn read_back(&self, file: Block) -> Block {
        if !self.pool().is_spilled_at(file.ptr().addr()) {
            return file;
        }
        let Ok(block) = self.pool().get(file.len(), false) else {
            return file;
        };
        if self.move_bytes(&file, &block).is_err() {
            self.put(block);
            return file;
        }
        self.put(file);
        block
    }
}

/// Slots whose values may move, the one used longest ago first.
fn oldest(table: &Table) -> Vec<SlotId> {
    let mut slots: Vec<(u64, SlotId)> = table
        .in_use_slots()
        .filter(|(_, entry)| {
            entry.nbytes >= LEAST && matches!(entry.home, Home::Guarded(_) | Home::Internal)
        })
        .map(|(slot, entry)| (entry.used, slot))
        .collect();
    slots.sort_unstable();
    slots.into_iter().map(|(_, slot)| slot).collect()
}
