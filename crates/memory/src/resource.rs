//! The trait of every layer.

use crate::MemoryError;

/// Where a piece of memory starts; a host address on resources over host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr(pub u64);

/// What a resource holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// Bytes given out, as they were asked for.
    pub in_use: u64,
    /// Bytes taken from the system, those waiting for re-use included.
    pub reserved: u64,
    /// The highest `in_use` so far.
    pub peak: u64,
    /// Bytes that may be in use; `u64::MAX` if only the system bounds them.
    pub limit: u64,
}

impl MemInfo {
    /// Bytes that may still be asked for, as far as limits tell.
    pub fn free(&self) -> u64 {
        self.limit.saturating_sub(self.in_use)
    }
}

/// A source of memory. Safe from any thread.
///
/// Contents are arbitrary. Memory starts at a multiple of 512 bytes at least.
pub trait MemoryResource: Send + Sync {
    /// Reserves `bytes`; none is like one.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`], naming the layer that refused. Nothing has changed then.
    fn alloc(&self, bytes: u64) -> Result<Addr, MemoryError>;

    /// Gives memory back. `bytes` is what was asked for; whoever allocated guarantees that nobody
    /// uses it any more.
    fn free(&self, addr: Addr, bytes: u64);

    /// Gives at least `want` unused bytes back to the system, as far as there are any; tells how many.
    fn trim(&self, want: u64) -> u64;

    /// What it holds.
    fn info(&self) -> MemInfo;

    /// The name of the layer, for messages.
    fn name(&self) -> &'static str;
}
