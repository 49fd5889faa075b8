//! The trait of every layer.

use crate::MemoryError;
use arrayloom_types::Queue;

/// Where a piece of memory starts: a block of the bottom and an offset in it, because some devices have
/// no addresses. For host memory the sum of both is the host address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Addr {
    /// The block that the bottom reserved.
    pub buf: u64,
    /// Bytes from its start.
    pub offset: u64,
}

impl Addr {
    /// The address as a number, where blocks are named by the host address they start at.
    pub fn host(self) -> u64 {
        self.buf + self.offset
    }

    /// `bytes` further on.
    #[must_use]
    pub fn plus(self, bytes: u64) -> Addr {
        Addr {
            offset: self.offset + bytes,
            ..self
        }
    }
}

/// Memory that was given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it starts.
    pub addr: Addr,
    /// All its bytes are known to be zero.
    pub zero: bool,
}

/// What a resource holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemInfo {
    /// Bytes given out, rounded as the bottom rounds them.
    pub in_use: u64,
    /// Bytes taken from the system, those waiting for re-use included.
    pub reserved: u64,
    /// The highest `in_use` so far.
    pub peak: u64,
    /// The highest `reserved` so far.
    pub peak_reserved: u64,
    /// Bytes that may be in use; `u64::MAX` if only the system bounds them.
    pub limit: u64,
    /// The longest free piece.
    pub largest_free: u64,
    /// Requests met.
    pub requests: u64,
    /// Those of them that took new memory from the system.
    pub grown: u64,
}

impl MemInfo {
    /// Bytes that may still be asked for, as far as limits tell.
    pub fn free(&self) -> u64 {
        self.limit.saturating_sub(self.in_use)
    }

    /// Bytes taken from the system that wait for re-use.
    pub fn cached(&self) -> u64 {
        self.reserved.saturating_sub(self.in_use)
    }

    /// Two resources side by side.
    #[must_use]
    pub fn beside(&self, other: &MemInfo) -> MemInfo {
        MemInfo {
            in_use: self.in_use + other.in_use,
            reserved: self.reserved + other.reserved,
            peak: self.peak + other.peak,
            peak_reserved: self.peak_reserved + other.peak_reserved,
            limit: self.limit.min(other.limit),
            largest_free: self.largest_free.max(other.largest_free),
            requests: self.requests + other.requests,
            grown: self.grown + other.grown,
        }
    }
}

/// A source of memory. Safe from any thread.
///
/// Contents are arbitrary unless a [`Piece`] says otherwise. Memory starts at a multiple of 512 bytes at
/// least. Work of a queue may use memory that the queue got from `alloc`, and memory may be given back
/// while work of the named queue still uses it: whoever gets it next is made to wait.
pub trait MemoryResource: Send + Sync {
    /// Reserves `bytes` for work of a queue; none is like one.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`], naming the layer that refused. Nothing has changed then.
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError>;

    /// As [`MemoryResource::get`], for callers that do not care what is in it.
    ///
    /// # Errors
    /// As there.
    fn alloc(&self, bytes: u64, queue: Queue) -> Result<Addr, MemoryError> {
        self.get(bytes, queue).map(|piece| piece.addr)
    }

    /// Gives memory back, after the work that the queue has now. `bytes` is what was asked for.
    fn free(&self, addr: Addr, bytes: u64, queue: Queue);

    /// Gives at least `want` unused bytes back to the system, as far as there are any; tells how many.
    fn trim(&self, want: u64) -> u64;

    /// What it holds.
    fn info(&self) -> MemInfo;

    /// The name of the layer, for messages.
    fn name(&self) -> &'static str;

    /// Takes the layer's locks and those below, right before a fork.
    fn hold_for_fork(&self) {}

    /// Gives the locks back, in parent and child.
    fn release_after_fork(&self) {}
}
