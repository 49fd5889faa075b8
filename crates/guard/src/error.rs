//! The errors of protected memory: what was asked of the system, and what it refused.

use crate::slot::{Slot, State};

/// Why protected memory could not be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// `install` was called twice in one process.
    #[error("the page guard is installed already; use Guard::get to reach it")]
    AlreadyInstalled,
    /// The platform lacks what the guard is made of.
    #[error("protected pages are not available on {os}; run eagerly with ARRAYLOOM_LAZY=0")]
    Unsupported {
        /// Name of the operating system.
        os: &'static str,
    },
    /// Not even the smallest arena could be reserved.
    #[error(
        "no address space for lazy arrays: {smallest_bytes} bytes were refused (errno {errno}); \
         raise the address-space limit (ulimit -v) or run eagerly"
    )]
    NoAddressSpace {
        /// Bytes of the last and smallest attempt.
        smallest_bytes: usize,
        /// The system's reason.
        errno: i32,
    },
    /// The system has no memory left, even after the pool gave back what it held.
    #[error("out of memory: {bytes} bytes of pages were refused; free arrays or use smaller ones")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// No slot is left for an array of this size.
    #[error("no slot for {bytes} bytes with {live} lazy arrays alive; free arrays or run eagerly")]
    NoSlot {
        /// Bytes asked for.
        bytes: usize,
        /// Slots in use.
        live: usize,
    },
    /// The slot holds no value that could be published.
    #[error("{slot:?} is {state:?}, so there is no value to publish; evaluate it first")]
    NotComputed {
        /// The slot.
        slot: Slot,
        /// The state it was found in.
        state: State,
    },
    /// A system call failed.
    #[error("{call} failed (errno {errno}) on {bytes} bytes of pages; check vm.max_map_count")]
    System {
        /// Name of the system call.
        call: &'static str,
        /// The system's reason.
        errno: i32,
        /// Length of the range.
        bytes: usize,
    },
}
