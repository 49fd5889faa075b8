//! Linux: mmap, mremap, mprotect, futex.
//!
//! Every function here but `max_map_count` and `physical_bytes` is async-signal-safe: it makes
//! system calls and touches no lock and no heap.

#![expect(unsafe_code, reason = "thin wrappers around system calls")]

use core::ffi::CStr;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::{Access, Refused};

const ANONYMOUS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
const HOLE: i32 = ANONYMOUS | libc::MAP_NORESERVE;
/// Blocks from this size on start at a multiple of it, so that the kernel can use huge pages.
const HUGE: usize = 2 << 20;

/// The calling thread's `errno`.
pub(crate) fn errno() -> i32 {
    // SAFETY: the C library gives every thread an errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is valid for the life of the calling thread.
    unsafe { *place }
}

/// Sets the calling thread's `errno`.
pub(crate) fn set_errno(value: i32) {
    // SAFETY: the C library gives every thread an errno.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: the place is valid for the life of the calling thread.
    unsafe { *place = value };
}

fn mapped(start: *mut libc::c_void) -> Result<*mut u8, Refused> {
    if start == libc::MAP_FAILED {
        return Err(refused("mmap"));
    }
    Ok(start.cast())
}

fn done(status: i32, call: &'static str) -> Result<(), Refused> {
    if status == 0 {
        Ok(())
    } else {
        Err(refused(call))
    }
}

fn refused(call: &'static str) -> Refused {
    Refused {
        call,
        errno: errno(),
    }
}

fn map_anywhere(len: usize, protection: i32, flags: i32) -> Result<*mut u8, Refused> {
    // SAFETY: a new mapping at a place the kernel picks touches no existing memory.
    mapped(unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, -1, 0) })
}

/// Bytes of a page.
pub(crate) fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    let known = SIZE.load(Ordering::Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: sysconf has no preconditions.
    let asked = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    let size = usize::try_from(asked).unwrap_or(4096);
    SIZE.store(size, Ordering::Relaxed);
    size
}

/// Bytes of memory in the machine.
pub(crate) fn physical_bytes() -> usize {
    // SAFETY: sysconf has no preconditions.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) };
    usize::try_from(pages).map_or(1 << 30, |pages| pages.saturating_mul(page_size()))
}

/// How many memory maps a process may have.
pub(crate) fn max_map_count() -> usize {
    std::fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(65_530)
}

/// Address space that the limit of the process still leaves, if there is a limit.
pub(crate) fn address_space_left() -> Option<usize> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid place for the answer.
    let status = unsafe { libc::getrlimit(libc::RLIMIT_AS, &raw mut limit) };
    if status != 0 || limit.rlim_cur == libc::RLIM_INFINITY {
        return None;
    }
    let used = std::fs::read_to_string("/proc/self/statm")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse::<usize>().ok())
        .unwrap_or(0);
    let allowed = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX);
    Some(allowed.saturating_sub(used.saturating_mul(page_size())))
}

/// Address space without pages; a touch is a fault. Starts at a multiple of `align`.
pub(crate) fn reserve(len: usize, align: usize) -> Result<*mut u8, Refused> {
    map_aligned(len, align, libc::PROT_NONE, HOLE)
}

/// Zeroed memory for a sparse table: pages appear where it is written.
pub(crate) fn map_table(len: usize) -> Result<*mut u8, Refused> {
    map_anywhere(len, libc::PROT_READ | libc::PROT_WRITE, HOLE)
}

/// Fresh zeroed pages; huge ones where the length allows.
pub(crate) fn map_pages(len: usize) -> Result<*mut u8, Refused> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    if len < HUGE {
        return map_anywhere(len, protection, ANONYMOUS);
    }
    let start = map_aligned(len, HUGE, protection, ANONYMOUS)?;
    // SAFETY: the range was mapped just now; the advice changes no content. A refusal only means
    // small pages.
    unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
    Ok(start)
}

fn map_aligned(len: usize, align: usize, protection: i32, flags: i32) -> Result<*mut u8, Refused> {
    let first = map_anywhere(len, protection, flags)?;
    if first.addr().is_multiple_of(align) {
        return Ok(first);
    }
    // SAFETY: the range was mapped just now and nobody else knows it.
    unsafe { unmap(first, len) };
    let wide = map_anywhere(len + align, protection, flags)?;
    let head = wide.addr().next_multiple_of(align) - wide.addr();
    let start = wide.wrapping_add(head);
    if head > 0 {
        // SAFETY: the head lies in the new mapping and is not handed out.
        unsafe { unmap(wide, head) };
    }
    if head < align {
        // SAFETY: the tail lies in the new mapping and is not handed out.
        unsafe { unmap(start.wrapping_add(len), align - head) };
    }
    Ok(start)
}

/// Gives pages and address space back.
///
/// # Safety
/// The caller owns the range and nobody uses it any more.
pub(crate) unsafe fn unmap(start: *mut u8, len: usize) {
    // SAFETY: the caller owns the range. A refusal (too many maps) leaks it, which is harmless.
    unsafe { libc::munmap(start.cast(), len) };
}

/// Sets what may be done with mapped pages.
///
/// # Safety
/// The caller owns the range; taking a right away must be what its users expect.
pub(crate) unsafe fn protect(start: *mut u8, len: usize, access: Access) -> Result<(), Refused> {
    let protection = match access {
        Access::None => libc::PROT_NONE,
        Access::Read => libc::PROT_READ,
        Access::ReadWrite => libc::PROT_READ | libc::PROT_WRITE,
    };
    // SAFETY: passed on to the caller.
    let status = unsafe { libc::mprotect(start.cast(), len, protection) };
    done(status, "mprotect")
}

/// Moves the pages at `from` onto `to` in one step, replacing what was mapped there.
///
/// `from` stays mapped, without pages. Pages that the kernel does not move at once are copied.
///
/// # Safety
/// The caller owns both ranges; nobody uses `from` any more, which can be read. With `read_only` it is
/// protected from writes.
pub(crate) unsafe fn move_onto(
    from: *mut u8,
    len: usize,
    to: *mut u8,
    read_only: bool,
) -> Result<(), Refused> {
    // SAFETY: passed on to the caller.
    let moved = unsafe { remap(from, len, to, libc::MREMAP_DONTUNMAP) };
    match moved {
        // Several mappings side by side, which older kernels refuse to move together, or a file.
        Err(why) if why.errno == libc::EFAULT || why.errno == libc::EINVAL => {
            // SAFETY: passed on to the caller.
            unsafe { copy_onto(from, len, to, read_only) }
        }
        other => other,
    }
}

/// # Safety
/// The caller owns both ranges; nobody uses `from` any more.
unsafe fn remap(from: *mut u8, len: usize, to: *mut u8, flag: i32) -> Result<(), Refused> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | flag;
    // SAFETY: passed on to the caller.
    let moved = unsafe { libc::mremap(from.cast(), len, len, flags, to.cast::<libc::c_void>()) };
    if moved == libc::MAP_FAILED {
        return Err(refused("mremap"));
    }
    Ok(())
}

/// # Safety
/// As for `move_onto`.
unsafe fn copy_onto(
    from: *mut u8,
    len: usize,
    to: *mut u8,
    read_only: bool,
) -> Result<(), Refused> {
    let fresh = map_pages(len)?;
    // SAFETY: the source is readable, the target was mapped just now, and both are `len` bytes long.
    unsafe { ptr::copy_nonoverlapping(from, fresh, len) };
    let mut moved = Ok(());
    if read_only {
        // SAFETY: nobody else knows the new mapping.
        moved = unsafe { protect(fresh, len, Access::Read) };
    }
    if moved.is_ok() {
        // SAFETY: the new mapping is one, and nobody else knows it; the target is the caller's.
        moved = unsafe { remap(fresh, len, to, 0) };
    }
    if moved.is_err() {
        // SAFETY: nobody else knows the new mapping.
        unsafe { unmap(fresh, len) };
    }
    moved
}

/// Moves the pages at `from` back to `home`, leaving the address range occupied (but empty).
///
/// # Safety
/// The caller owns both ranges; nobody uses `from` any more, and `home` holds nothing.
pub(crate) unsafe fn lift_pages(from: *mut u8, len: usize, home: *mut u8) -> Result<(), Refused> {
    // SAFETY: passed on to the caller.
    let moved = unsafe { remap(from, len, home, libc::MREMAP_DONTUNMAP) };
    if moved.is_err() {
        // A refusal may have cleared the target.
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = HOLE | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: NOREPLACE never touches an existing mapping.
        unsafe { libc::mmap(home.cast(), len, protection, flags, -1, 0) };
    }
    moved
}

/// Replaces whatever is mapped in the range by untouchable address space, in one step.
///
/// # Safety
/// The caller owns the range and nobody uses its content any more.
pub(crate) unsafe fn make_hole(start: *mut u8, len: usize) -> Result<(), Refused> {
    let flags = HOLE | libc::MAP_FIXED;
    // SAFETY: passed on to the caller.
    mapped(unsafe { libc::mmap(start.cast(), len, libc::PROT_NONE, flags, -1, 0) }).map(drop)
}

/// Fills a gap with untouchable address space, unless something is mapped there.
pub(crate) fn fill_gap(start: *mut u8, len: usize) {
    let flags = HOLE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: NOREPLACE never touches an existing mapping.
    unsafe { libc::mmap(start.cast(), len, libc::PROT_NONE, flags, -1, 0) };
}

/// Sleeps while `word` holds `expected`; may return early.
pub(crate) fn futex_wait(word: &AtomicU32, expected: u32) {
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    let forever = ptr::null::<libc::timespec>();
    // SAFETY: the word outlives the call; the kernel only reads it.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, expected, forever) };
}

/// Wakes everybody who sleeps on `word`.
pub(crate) fn futex_wake(word: &AtomicU32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word outlives the call; the kernel uses its address only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, i32::MAX) };
}

/// The kernel's number of the calling thread.
pub(crate) fn thread_id() -> i32 {
    // SAFETY: gettid has no preconditions.
    unsafe { libc::gettid() }
}

/// The kernel's number of the calling process.
pub(crate) fn process_id() -> i32 {
    // SAFETY: getpid has no preconditions.
    unsafe { libc::getpid() }
}

/// The set of no signal.
pub(crate) fn no_signals() -> libc::sigset_t {
    let mut set = core::mem::MaybeUninit::uninit();
    // SAFETY: the set is a valid place; sigemptyset initialises it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: initialised above.
    unsafe { set.assume_init() }
}

/// Every signal but those that an instruction raises; blocking those would kill the process.
pub(crate) fn all_but_synchronous() -> libc::sigset_t {
    let mut set = no_signals();
    // SAFETY: the set is valid.
    unsafe { libc::sigfillset(&raw mut set) };
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL] {
        // SAFETY: the set is valid and the signal exists.
        unsafe { libc::sigdelset(&raw mut set, signal) };
    }
    set
}

/// Runs `f` with all but the synchronous signals blocked on the calling thread; a thread started
/// by `f` inherits that.
pub(crate) fn with_signals_blocked<R>(f: impl FnOnce() -> R) -> R {
    let blocked = all_but_synchronous();
    let mut before = no_signals();
    // SAFETY: both sets are valid; only the calling thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const blocked, &raw mut before) };
    let result = f();
    // SAFETY: the set is the mask that was in force before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    result
}

/// Has three functions called around every `fork` of the process: before it, then in the parent
/// and in the child.
pub(crate) fn at_fork(prepare: extern "C" fn(), parent: extern "C" fn(), child: extern "C" fn()) {
    // SAFETY: the functions live as long as the process. Only a lack of memory refuses this; then
    // forks that are announced still work.
    unsafe { libc::pthread_atfork(Some(prepare), Some(parent), Some(child)) };
}

/// Tells the preloaded shim of system calls, if there is one, which addresses are lazy memory.
pub(crate) fn tell_shim(start: usize, len: usize) {
    type Cover = extern "C" fn(usize, usize);
    if let Some(found) = of_shim(c"arrayloom_shim_cover") {
        // SAFETY: nobody but the shim has a function of this name, and this is its type.
        let cover = unsafe { core::mem::transmute::<*mut libc::c_void, Cover>(found) };
        cover(start, len);
    }
}

/// Has the preloaded shim call `replaced` whenever somebody changes who handles SIGSEGV. False if there is none.
pub(crate) fn told_by_shim(replaced: extern "C" fn()) -> bool {
    type Watch = extern "C" fn(extern "C" fn());
    let Some(found) = of_shim(c"arrayloom_shim_watch") else {
        return false;
    };
    // SAFETY: nobody but the shim has a function of this name, and this is its type.
    let watch = unsafe { core::mem::transmute::<*mut libc::c_void, Watch>(found) };
    watch(replaced);
    true
}

/// A function of the preloaded shim; none without a shim.
fn of_shim(name: &CStr) -> Option<*mut libc::c_void> {
    // SAFETY: the name ends in a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}
