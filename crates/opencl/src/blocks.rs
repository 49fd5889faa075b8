//! The memory of the device: blocks of its own, or the host's.

use crate::driver::{Context, Failure, Mem};
use arrayloom_device::{Buf, DeviceError};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The unit of the budget and of the numbers of blocks.
const UNIT: u64 = 512;

#[derive(Debug, Default)]
struct State {
    held: BTreeMap<u64, (Arc<Mem>, u64)>,
    used: u64,
    last: u64,
}

/// Blocks of the device within a budget. Drivers find out too late that memory ran out, some never.
#[derive(Debug)]
pub(crate) struct Blocks {
    device: &'static str,
    limit: u64,
    largest: u64,
    state: Mutex<State>,
}

impl Blocks {
    pub(crate) fn new(device: &'static str, limit: u64, largest: u64) -> Blocks {
        Blocks {
            device,
            limit,
            largest,
            state: Mutex::default(),
        }
    }

    fn none(&self, need: u64, used: u64) -> DeviceError {
        DeviceError::OutOfMemory {
            device: self.device,
            need,
            free: self.limit.saturating_sub(used).min(self.largest),
        }
    }

    /// A new block.
    pub(crate) fn alloc(&self, context: &Context, bytes: u64) -> Result<Buf, DeviceError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let whole = bytes.max(1).checked_next_multiple_of(UNIT);
        let room = self.limit.saturating_sub(state.used).min(self.largest);
        let Some(whole) = whole.filter(|&w| w <= room) else {
            return Err(self.none(bytes, state.used));
        };
        let size = usize::try_from(whole).map_err(|_too_large| self.none(bytes, state.used))?;
        let mem = context.buffer(size).map_err(|failure: Failure| {
            if failure.is_memory() {
                self.none(bytes, state.used)
            } else {
                DeviceError::Failed {
                    device: self.device,
                    what: failure.to_string(),
                }
            }
        })?;
        state.last += UNIT;
        let number = state.last;
        state.used += whole;
        state.held.insert(number, (Arc::new(mem), whole));
        Ok(Buf(number))
    }

    /// Gives a block back; the driver keeps it as long as queued commands use it.
    pub(crate) fn free(&self, buf: Buf) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = state.held.remove(&buf.0) {
            state.used -= bytes;
        }
    }

    /// The driver's handle of a block.
    pub(crate) fn get(&self, buf: Buf) -> Option<Arc<Mem>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.held.get(&buf.0).map(|(mem, _)| Arc::clone(mem))
    }
}
