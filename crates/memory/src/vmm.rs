//! Virtual memory of a device: address space first, memory behind it when it is needed.

use crate::{Addr, MemoryError};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Reserves address space and puts memory behind parts of it. Safe from any thread.
pub trait Vmm: Send + Sync {
    /// Ranges are mapped in multiples of this.
    fn granule(&self) -> u64;

    /// Reserves address space.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] if there is none of that length.
    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError>;

    /// Puts memory behind a range of whole granules that has none.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`]; the range is as before.
    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError>;

    /// Takes the memory behind a range of whole granules away.
    fn unmap(&self, addr: Addr, bytes: u64);

    /// Gives address space back. Nothing is mapped in it.
    fn release(&self, buf: u64, bytes: u64);

    /// True when memory is zero just after it was mapped.
    fn maps_zeroed(&self) -> bool {
        false
    }

    /// The name, for messages.
    fn name(&self) -> &'static str;
}

/// Address space without any memory: an arena over it tells what a plan would need.
#[derive(Debug, Default)]
pub struct Unbacked {
    granule: u64,
    reserved: AtomicU64,
}

impl Unbacked {
    /// With this granule.
    pub fn new(granule: u64) -> Unbacked {
        Unbacked {
            granule,
            reserved: AtomicU64::new(0),
        }
    }
}

impl Vmm for Unbacked {
    fn granule(&self) -> u64 {
        self.granule
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        Ok(self.reserved.fetch_add(bytes, Relaxed))
    }

    fn map(&self, _addr: Addr, _bytes: u64) -> Result<(), MemoryError> {
        Ok(())
    }

    fn unmap(&self, _addr: Addr, _bytes: u64) {}

    fn release(&self, _buf: u64, _bytes: u64) {}

    fn name(&self) -> &'static str {
        "dry run"
    }
}
