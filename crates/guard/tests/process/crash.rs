//! Faults that are not ours: honest crashes, handlers before and after the guard.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::world::{dereference, install, lazy, read, write};

pub(crate) fn null_dereference() {
    let (guard, _owner) = install();
    assert_eq!(read(guard, lazy(guard, 100, 4), 99), 4);
    dereference(16);
}

pub(crate) fn touch_freed() {
    let (guard, _owner) = install();
    let slot = lazy(guard, 5000, 4);
    assert_eq!(read(guard, slot, 0), 4);
    guard.free(slot);
    read(guard, slot, 0);
}

pub(crate) fn touch_past_the_end() {
    let (guard, _owner) = install();
    let slot = lazy(guard, 5 * 4096, 4);
    read(guard, slot, 6 * 4096);
}

pub(crate) fn execute_data() {
    let (guard, _owner) = install();
    let slot = lazy(guard, 4096, 4);
    let entry: *const u8 = guard.addr(slot);
    // SAFETY: none: the case wants to be stopped at the first instruction.
    let entry = unsafe { std::mem::transmute::<*const u8, extern "C" fn()>(entry) };
    entry();
}

pub(crate) fn raised_signal() {
    // The standard library's own handler, which would be the previous one, swallows it.
    put(libc::SIG_DFL, 0);
    install();
    // SAFETY: sends a signal to this process.
    unsafe { libc::raise(libc::SIGSEGV) };
    panic!("a raised SIGSEGV was swallowed");
}

/// The standard library's handler says so and aborts: it was there before us.
pub(crate) fn stack_overflow() {
    fn deeper(depth: u64) -> u64 {
        if depth == u64::MAX {
            return 0;
        }
        let pad = std::hint::black_box([depth; 512]);
        deeper(depth + 1) + pad[3]
    }
    install();
    std::hint::black_box(deeper(0));
}

static MENDED: AtomicUsize = AtomicUsize::new(0);

fn page() -> *mut u8 {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, flags, -1, 0) };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

extern "C" fn mend(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo.
    let info = unsafe { &*info };
    // SAFETY: SIGSEGV carries an address.
    let addr = unsafe { info.si_addr() };
    let start = addr.map_addr(|addr| addr & !4095);
    // SAFETY: the page is the case's own.
    unsafe { libc::mprotect(start, 4096, libc::PROT_READ) };
    MENDED.fetch_add(1, SeqCst);
}

extern "C" fn reraise(signal: i32) {
    let before = BEFORE.load(SeqCst);
    let mut action = handler(
        before,
        libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER,
    );
    if before == libc::SIG_DFL {
        action.sa_flags = 0;
    }
    // SAFETY: puts back what was there before this handler, as faulthandler does.
    unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    // SAFETY: sends a signal to this thread.
    unsafe { libc::raise(signal) };
}

static BEFORE: AtomicUsize = AtomicUsize::new(0);

fn handler(address: usize, flags: i32) -> libc::sigaction {
    // SAFETY: all zero is a valid action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = address;
    action.sa_flags = flags;
    action
}

/// Installs a handler and tells who was there before.
fn put(address: usize, flags: i32) -> usize {
    let action = handler(address, flags);
    let mut before = handler(0, 0);
    // SAFETY: both actions are valid.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut before) };
    before.sa_sigaction
}

#[expect(
    clippy::fn_to_numeric_cast_any,
    reason = "the kernel takes a handler by its address"
)]
fn mend_address() -> usize {
    (mend as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as *const ())
        .expose_provenance()
}

#[expect(
    clippy::fn_to_numeric_cast_any,
    reason = "the kernel takes a handler by its address"
)]
fn reraise_address() -> usize {
    (reraise as extern "C" fn(i32) as *const ()).expose_provenance()
}

pub(crate) fn previous_handler_recovers() {
    put(mend_address(), libc::SA_SIGINFO);
    let (guard, _owner) = install();
    for _ in 0..3 {
        assert_eq!(dereference(page().expose_provenance()), 0);
        assert_eq!(read(guard, lazy(guard, 5000, 7), 4999), 7);
    }
    assert_eq!(MENDED.load(SeqCst), 3);
    assert_eq!(guard.counters().chained, 3);
}

/// As `faulthandler.enable()` after us, then our reinstallation: ours -> X -> ours.
pub(crate) fn cycle_ends_in_death() {
    put(libc::SIG_DFL, 0);
    let (guard, _owner) = install();
    BEFORE.store(put(reraise_address(), libc::SA_NODEFER), SeqCst);
    assert!(!guard.owns_handler());
    guard.reinstall_handler();
    assert!(guard.owns_handler());
    dereference(16);
}

/// As `faulthandler` enabled before us.
pub(crate) fn reraiser_on_top_ends_in_death() {
    put(libc::SIG_DFL, 0);
    BEFORE.store(put(reraise_address(), libc::SA_NODEFER), SeqCst);
    install();
    dereference(16);
}

pub(crate) fn reinstalled_on_top_still_serves() {
    let (guard, owner) = install();
    put(mend_address(), libc::SA_SIGINFO);
    guard.reinstall_handler();
    let slot = lazy(guard, 5000, 7);
    assert_eq!(read(guard, slot, 1), 7);
    write(guard, slot, 1, 8);
    assert_eq!(owner.barriers.load(SeqCst), 1);
    assert_eq!(MENDED.load(SeqCst), 0);
    assert_eq!(dereference(page().expose_provenance()), 0);
    assert_eq!(MENDED.load(SeqCst), 1);
}

/// As a library that gives its workers handlers of their own.
pub(crate) fn replaced_without_a_word_still_serves() {
    let (guard, owner) = install();
    put(mend_address(), libc::SA_SIGINFO);
    assert!(!guard.owns_handler());
    let slot = lazy(guard, 5000, 7);
    assert!(guard.owns_handler(), "new slots look");
    assert_eq!(read(guard, slot, 1), 7);
    put(mend_address(), libc::SA_SIGINFO);
    assert!(guard.protect(slot));
    write(guard, slot, 1, 8);
    assert_eq!(owner.barriers.load(SeqCst), 1);
    assert_eq!(MENDED.load(SeqCst), 0);
}
