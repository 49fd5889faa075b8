//! Touching pages from user mode, and calling again after EFAULT.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

use libc::ssize_t;

use crate::real::{errno, set_errno};

const PAGE: usize = 4096;

static FIRST: AtomicUsize = AtomicUsize::new(0);
static END: AtomicUsize = AtomicUsize::new(0);

/// Tells which addresses are lazy memory: `len` bytes from `start`. The guard calls this once.
#[unsafe(no_mangle)]
pub extern "C" fn arrayloom_shim_cover(start: usize, len: usize) {
    FIRST.store(start, SeqCst);
    END.store(start + len, SeqCst);
}

/// What the kernel does with a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    /// It reads the buffer, as `write` does.
    Source,
    /// It writes to the buffer, as `read` does.
    Target,
}

/// Touches one byte of every page of the buffer that is lazy memory. True if there was any.
pub(crate) fn touch(start: *const c_void, len: usize, usage: Use) -> bool {
    let first = start.addr().max(FIRST.load(Relaxed));
    let end = start.addr().saturating_add(len).min(END.load(Relaxed));
    let mut at = first;
    while at < end {
        touch_byte(start.with_addr(at).cast(), usage);
        at = (at | (PAGE - 1)) + 1;
    }
    first < end
}

fn touch_byte(place: *const u8, usage: Use) {
    match usage {
        Use::Source => {
            // SAFETY: the address lies in the guard's arena and in a buffer that the caller
            // declared readable; a fault is served by the guard.
            unsafe { place.read_volatile() };
        }
        Use::Target => {
            // SAFETY: as above, writable; an atomic byte may lie anywhere.
            let byte = unsafe { AtomicU8::from_ptr(place.cast_mut()) };
            // A write that changes nothing, even if another thread writes here, too. (Compilers
            // turn `fetch_or(0)` into a read.)
            let mut seen = byte.load(SeqCst);
            while let Err(other) = byte.compare_exchange(seen, seen, SeqCst, SeqCst) {
                seen = other;
            }
        }
    }
}

/// Touches the buffers that lie in lazy memory. True if there was any.
///
/// # Safety
/// `vectors` points to `count` valid vectors.
pub(crate) unsafe fn touch_vectors(vectors: *const libc::iovec, count: usize, usage: Use) -> bool {
    let mut any = false;
    for index in 0..count {
        let vector = vectors.wrapping_add(index);
        // SAFETY: one of the `count` valid vectors.
        let vector = unsafe { &*vector };
        any |= touch(vector.iov_base, vector.iov_len, usage);
    }
    any
}

/// Calls; after EFAULT touches, and if that touched anything calls once more.
pub(crate) fn retried(call: impl Fn() -> ssize_t, touch: impl FnOnce() -> bool) -> ssize_t {
    let before = errno();
    let result = call();
    if result >= 0 || errno() != libc::EFAULT || !touch() {
        return result;
    }
    set_errno(before);
    call()
}
