//! Values whose newest bytes are on a device with memory of its own: they come when somebody looks.

use crate::engine::lock;
use crate::{Engine, EngineError};
use arrayloom_device::{Contents, Use};
use arrayloom_guard::{Block, Pages as _, State};
use std::sync::Arc;

impl Engine {
    /// Tells the device which memory it may keep copies of.
    pub(crate) fn start_residency(&self) {
        let Some(residency) = self.device.residency() else {
            return;
        };
        let (memory, guard) = (Arc::clone(self.pool()), self.guard());
        residency.start(Box::new(move |address, bytes| {
            let [address, bytes] =
                [address, bytes].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
            if memory.is_given_out(address, bytes) {
                return Use::Private;
            }
            let unwritten = guard.and_then(|guard| guard.unwritten(address, bytes));
            unwritten.map_or(Use::Shared, Use::Read)
        }));
    }

    /// The value at an address was computed, and may be on a device with memory of its own.
    pub fn is_elsewhere(&self, addr: usize) -> bool {
        self.copies_values() && matches!(self.look_at(addr), Some((_, State::Lazy, false)))
    }

    /// The device has a copy of a block, which had better stay.
    pub(crate) fn is_there(&self, block: &Block) -> bool {
        let (address, bytes) = range(block);
        let residency = self.device.residency();
        residency.is_some_and(|residency| residency.holds(address, bytes))
    }

    /// Values are copied to and fro: the device has memory of its own.
    pub fn copies_values(&self) -> bool {
        self.device.residency().is_some()
    }

    /// A kernel is about to use a value of `nbytes` at an address.
    pub(crate) fn begin(&self, address: u64, nbytes: usize, contents: Contents) {
        if let Some(residency) = self.device.residency() {
            residency.begin(address, nbytes as u64, contents);
        }
    }

    /// Brings a block that is about to be seen by the program; the device forgets it.
    pub(crate) fn bring(&self, block: &Block) -> Result<(), EngineError> {
        if let Some(residency) = self.device.residency() {
            let (address, bytes) = range(block);
            residency.bring(address, bytes)?;
            residency.forget(address, bytes);
        }
        Ok(())
    }

    /// A series of kernels is over. The caller has the turn.
    pub(crate) fn settle_device(&self, may_stay: bool) {
        let Some(residency) = self.device.residency() else {
            return;
        };
        self.let_go();
        if let Err(error) = residency.settle(may_stay) {
            self.keep_failure(error.into());
        }
    }

    /// Gives the blocks back that are not used any more. The caller has the turn.
    pub(crate) fn let_go(&self) {
        let blocks = std::mem::take(&mut *lock(&self.leaving));
        for block in blocks {
            if let Some(residency) = self.device.residency() {
                let (address, bytes) = range(&block);
                residency.forget(address, bytes);
            }
            self.pool().put(block);
        }
    }
}

fn range(block: &Block) -> (u64, u64) {
    (block.ptr().expose_provenance() as u64, block.len() as u64)
}
