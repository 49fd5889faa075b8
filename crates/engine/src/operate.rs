//! Operations that are no kernels, such as products of matrices: they run when they are called, on values wherever
//! these lie.

use crate::engine::unknown;
use crate::table::Home;
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_device::{Buf, DeviceError, Tensor};
use arrayloom_ir::SlotId;
use arrayloom_types::Layout;
use std::collections::BTreeSet;

/// An array that an operation reads or writes.
#[derive(Clone, Debug)]
pub struct SlotView {
    /// The slot that it lies in; `None` for memory of the caller's.
    pub slot: Option<SlotId>,
    /// Where the layout's offset counts from, for memory of the caller's.
    pub base: u64,
    /// Its dtype, extents and steps, and bytes from the start of the slot.
    pub layout: Layout,
}

impl Engine {
    /// Runs an operation on arrays, whose values are computed first. `run` gets the operands and results where they
    /// are now. False if the device does not have the operation, or no room for it; then nothing was written.
    ///
    /// # Errors
    /// What running the list gave, [`EngineError::OutOfMemory`] without room for the results, and what the device
    /// gave.
    pub fn operate(
        &self,
        ins: &[SlotView],
        outs: &[SlotView],
        run: impl FnOnce(&[Tensor], &[Tensor]) -> Result<(), DeviceError>,
    ) -> Result<bool, EngineError> {
        let _turn = self.turns.take();
        self.operate_held(ins, outs, run)
    }

    /// As [`Engine::operate`], for a caller who has the turn.
    pub(crate) fn operate_held(
        &self,
        ins: &[SlotView],
        outs: &[SlotView],
        run: impl FnOnce(&[Tensor], &[Tensor]) -> Result<(), DeviceError>,
    ) -> Result<bool, EngineError> {
        for slot in slots_of(ins) {
            // What is recorded besides can wait for more.
            if self.is_pending(slot) {
                self.have_value(slot)?;
            }
            let mut table = self.table();
            let entry = table.get(slot).ok_or_else(|| unknown(slot))?;
            entry.check_there()?;
            if self.copies_values() {
                // So that a copy of it can stay until the program writes there.
                self.arm(&mut table, slot);
            }
        }
        for slot in slots_of(outs) {
            self.clear(slot)?;
        }
        let all: BTreeSet<SlotId> = slots_of(ins).chain(slots_of(outs)).collect();
        self.occupy(&all, true);
        let done = self.operate_there(ins, outs, run);
        self.settle_device(true);
        self.occupy(&all, false);
        let mut table = self.table();
        for slot in all {
            self.hand_back(&mut table, slot);
        }
        match done {
            Ok(()) => Ok(true),
            Err(EngineError::Device(
                DeviceError::Unsupported { .. } | DeviceError::OutOfMemory { .. },
            )) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn operate_there(
        &self,
        ins: &[SlotView],
        outs: &[SlotView],
        run: impl FnOnce(&[Tensor], &[Tensor]) -> Result<(), DeviceError>,
    ) -> Result<(), EngineError> {
        let find = |operands: &[SlotView], writes: bool| -> Result<Vec<Tensor>, EngineError> {
            let tensors = operands.iter().map(|operand| self.tensor(operand, writes));
            tensors.collect()
        };
        // All at once: what makes room for one may move another.
        let (ins, outs) = self.with_room(|| Ok((find(ins, false)?, find(outs, true)?)))?;
        Ok(run(&ins, &outs)?)
    }

    /// Where an operand is now.
    pub(crate) fn tensor(&self, operand: &SlotView, writes: bool) -> Result<Tensor, EngineError> {
        let mut base = operand.base;
        if let Some(slot) = operand.slot {
            if let Some(entry) = self.table().get_mut(slot) {
                self.unshadow(entry)?;
            }
            base = self.address(slot, writes)?;
        }
        Ok(Tensor {
            buf: Buf(base),
            layout: operand.layout.clone(),
        })
    }

    /// Runs the list until no recorded operation needs the slot's memory, and hides it from the program where what is
    /// written there shall stay on the device.
    fn clear(&self, slot: SlotId) -> Result<(), EngineError> {
        loop {
            self.run_list(Wanted::Memory(slot))?;
            self.take_from(slot)?;
            let taken = self.with_room(|| self.take_picked(slot))?;
            let mut table = self.table();
            let Some(entry) = table.get_mut(slot) else {
                return Err(unknown(slot));
            };
            entry.check_there()?;
            if taken && entry.reads + entry.writes == 0 {
                if let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) {
                    self.hide(guard, guarded, entry);
                }
                return Ok(());
            }
        }
    }

    /// Notes that something runs which may use the slots' addresses, or that it is over.
    fn occupy(&self, slots: &BTreeSet<SlotId>, running: bool) {
        let mut table = self.table();
        for slot in slots {
            if let Some(entry) = table.get_mut(*slot) {
                entry.running = running;
            }
        }
    }
}

fn slots_of(operands: &[SlotView]) -> impl Iterator<Item = SlotId> {
    operands.iter().filter_map(|operand| operand.slot)
}
