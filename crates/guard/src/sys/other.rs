//! Systems without the guard: blocks come from the ordinary allocator, all else is refused.

#![expect(unsafe_code, reason = "the allocator's raw interface")]

use core::sync::atomic::AtomicU32;
use std::alloc::{Layout, alloc_zeroed, dealloc};

use super::{Access, Refused};

const PAGE: usize = 1 << 14;
const REFUSED: Refused = Refused {
    call: "mmap",
    errno: 38,
};

/// Bytes of a page.
pub(crate) fn page_size() -> usize {
    PAGE
}

/// Bytes of memory assumed for the pool's bound.
pub(crate) fn physical_bytes() -> usize {
    4 << 30
}

/// How many memory maps a process may have.
pub(crate) fn max_map_count() -> usize {
    65_530
}

/// Address space that the limit of the process still leaves, if there is a limit.
pub(crate) fn address_space_left() -> Option<usize> {
    None
}

/// Refused.
pub(crate) fn reserve(_len: usize, _align: usize) -> Result<*mut u8, Refused> {
    Err(REFUSED)
}

/// Refused.
pub(crate) fn map_table(_len: usize) -> Result<*mut u8, Refused> {
    Err(REFUSED)
}

/// Fresh zeroed memory.
pub(crate) fn map_pages(len: usize) -> Result<*mut u8, Refused> {
    let layout = Layout::from_size_align(len, PAGE).map_err(|_too_large| REFUSED)?;
    // SAFETY: the length is at least one page.
    let start = unsafe { alloc_zeroed(layout) };
    if start.is_null() {
        return Err(REFUSED);
    }
    Ok(start)
}

/// Gives memory back.
///
/// # Safety
/// The range came from `map_pages` with this length and nobody uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, len: usize) {
    if let Ok(layout) = Layout::from_size_align(len, PAGE) {
        // SAFETY: passed on to the caller.
        unsafe { dealloc(start, layout) };
    }
}

/// Refused.
///
/// # Safety
/// None needed.
pub(crate) unsafe fn protect(_start: *mut u8, _len: usize, _to: Access) -> Result<(), Refused> {
    Err(REFUSED)
}

/// Refused.
///
/// # Safety
/// None needed.
pub(crate) unsafe fn move_onto(
    _from: *mut u8,
    _len: usize,
    _to: *mut u8,
    _read_only: bool,
) -> Result<(), Refused> {
    Err(REFUSED)
}

/// Refused.
///
/// # Safety
/// None needed.
pub(crate) unsafe fn lift_pages(
    _from: *mut u8,
    _len: usize,
    _home: *mut u8,
) -> Result<(), Refused> {
    Err(REFUSED)
}

/// Refused.
///
/// # Safety
/// None needed.
pub(crate) unsafe fn make_hole(_start: *mut u8, _len: usize) -> Result<(), Refused> {
    Err(REFUSED)
}

/// Does nothing: there is no reserved range.
pub(crate) fn fill_gap(_start: *mut u8, _len: usize) {}

/// Lets other threads run.
pub(crate) fn futex_wait(_word: &AtomicU32, _expected: u32) {
    std::thread::yield_now();
}

/// Nobody sleeps.
pub(crate) fn futex_wake(_word: &AtomicU32) {}

/// Unknown here.
pub(crate) fn thread_id() -> i32 {
    0
}

/// Runs `f`; there are no signals to block.
pub(crate) fn with_signals_blocked<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// Nothing to watch: the guard is never installed.
pub(crate) fn at_fork(
    _prepare: extern "C" fn(),
    _parent: extern "C" fn(),
    _child: extern "C" fn(),
) {
}

/// There is no shim.
pub(crate) fn tell_shim(_start: usize, _len: usize) {}
