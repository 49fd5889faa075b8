//! Memory of the caller as a slot.

use crate::table::{Home, Table, accesses};
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_device::{Buf, End, Queue};
use arrayloom_ir::SlotId;

impl Engine {
    /// Makes the caller's memory a slot. The caller keeps it alive and unchanged until
    /// [`Engine::flush`] or [`Engine::forget_external`].
    pub fn adopt_external(&self, ptr: *const u8, nbytes: usize) -> SlotId {
        let home = Home::External(ptr.expose_provenance() as u64);
        let slot = self.table().add(home, nbytes, true);
        self.pending.set(slot.0, false);
        slot
    }

    /// A slot that holds a copy of `bytes`. Nobody but recorded operations sees it;
    /// [`Engine::release`] ends the caller's part in it.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`].
    pub fn copy_of(&self, bytes: &[u8]) -> Result<SlotId, EngineError> {
        let block = self.block(bytes.len().max(1), false).or_else(|_refused| {
            let _turn = self.turns.take();
            self.with_room(|| self.block(bytes.len().max(1), false))
        })?;
        let (to, from) = (block.ptr(), bytes.as_ptr().cast_mut());
        let (to, from) = (End::Host(to), End::Host(from));
        let size = bytes.len() as u64;
        if let Err(error) = self.device.copy(Queue::default(), to, from, size) {
            self.put(block);
            return Err(error.into());
        }
        let mut table = self.table();
        let slot = table.add(Home::Internal, bytes.len().max(1), true);
        if let Some(entry) = table.get_mut(slot) {
            entry.block = Some(block);
        }
        drop(table);
        self.pending.set(slot.0, false);
        Ok(slot)
    }

    /// The caller's memory is no longer a slot. Operations that still need it make the list run. If that
    /// fails they keep a copy of it, and the failure waits in [`Engine::take_failure`].
    pub fn forget_external(&self, slot: SlotId) {
        if is_needed(&self.table(), slot) {
            let _turn = self.turns.take();
            if let Err(error) = self.run_list(Wanted::All) {
                self.keep_failure(error);
                self.detach(slot);
            }
        }
        self.release(slot);
    }

    /// Copies the caller's memory to a block of the engine. Without memory for that, the operations that
    /// need it are dropped.
    fn detach(&self, slot: SlotId) {
        let mut table = self.table();
        if !is_needed(&table, slot) {
            return;
        }
        if let Err(error) = self.copy_in(&mut table, slot) {
            self.keep_failure(error);
            let touches = |node: &_| accesses(node).any(|(touched, _)| touched == slot);
            let list = std::mem::take(&mut table.list);
            let (dropped, kept): (Vec<_>, Vec<_>) = list.into_iter().partition(touches);
            table.list = kept;
            let mut left = Vec::new();
            for node in &dropped {
                table.settle(node, &mut left);
            }
            drop(table);
            self.give_back(left);
        }
    }

    fn copy_in(&self, table: &mut Table, slot: SlotId) -> Result<(), EngineError> {
        let Some(entry) = table.get_mut(slot) else {
            return Ok(());
        };
        let Home::External(address) = entry.home else {
            return Ok(());
        };
        let block = self.block(entry.nbytes, false)?;
        let (to, from) = (End::Host(block.ptr()), End::Dev(Buf(address), 0));
        let copied = self
            .device
            .copy(Queue::default(), to, from, entry.nbytes as u64);
        if let Err(error) = copied {
            self.put(block);
            return Err(error.into());
        }
        entry.block = Some(block);
        entry.home = Home::Internal;
        Ok(())
    }
}

fn is_needed(table: &Table, slot: SlotId) -> bool {
    table
        .get(slot)
        .is_some_and(|entry| entry.reads + entry.writes > 0)
}
