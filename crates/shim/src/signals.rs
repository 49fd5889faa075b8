//! Signal masks without SIGSEGV, and handlers of it that the guard learns of.

use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use libc::sigset_t;

use crate::real::Real;

type Function = unsafe extern "C" fn(c_int, *const sigset_t, *mut sigset_t) -> c_int;

/// `pthread_sigmask`, which leaves SIGSEGV open.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_sigmask(
    how: c_int,
    set: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pthread_sigmask") };
    let Some(real) = REAL.get() else {
        return libc::ENOSYS;
    };
    // SAFETY: the caller's own arguments.
    unsafe { call(real, how, set, before) }
}

/// `sigprocmask`, which leaves SIGSEGV open.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigprocmask(
    how: c_int,
    set: *const sigset_t,
    before: *mut sigset_t,
) -> c_int {
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"sigprocmask") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    // SAFETY: the caller's own arguments.
    unsafe { call(real, how, set, before) }
}

type SetAction = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
type SetHandler = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;

static WATCHER: AtomicUsize = AtomicUsize::new(0);

/// Has `replaced` called after each change of who handles SIGSEGV. The guard calls this once.
#[expect(
    clippy::fn_to_numeric_cast_any,
    reason = "an atomic holds a function by its address"
)]
#[unsafe(no_mangle)]
pub extern "C" fn arrayloom_shim_watch(replaced: extern "C" fn()) {
    WATCHER.store((replaced as *const ()).expose_provenance(), SeqCst);
}

fn tell_watcher() {
    let function = core::ptr::with_exposed_provenance::<()>(WATCHER.load(SeqCst));
    // SAFETY: null, or the function that `arrayloom_shim_watch` got; a null one is none.
    let watcher = unsafe { core::mem::transmute::<*const (), Option<extern "C" fn()>>(function) };
    if let Some(replaced) = watcher {
        replaced();
    }
}

/// `sigaction`, of which the guard learns if it is about SIGSEGV.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(
    signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
) -> c_int {
    // SAFETY: the type is the C function's.
    static REAL: Real<SetAction> = unsafe { Real::new(c"sigaction") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    // SAFETY: the caller's own arguments.
    let status = unsafe { real(signal, action, before) };
    if status == 0 && signal == libc::SIGSEGV && !action.is_null() {
        tell_watcher();
    }
    status
}

/// `signal`, of which the guard learns if it is about SIGSEGV.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(number: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: the type is the C function's.
    static REAL: Real<SetHandler> = unsafe { Real::new(c"signal") };
    let Some(real) = REAL.get() else {
        return libc::SIG_ERR;
    };
    // SAFETY: the caller's own arguments.
    let before = unsafe { real(number, handler) };
    if before != libc::SIG_ERR && number == libc::SIGSEGV {
        tell_watcher();
    }
    before
}

/// # Safety
/// As for the C functions.
unsafe fn call(real: Function, how: c_int, set: *const sigset_t, before: *mut sigset_t) -> c_int {
    // SAFETY: null or a valid set, as the C functions ask for.
    let asked = unsafe { set.as_ref() };
    let Some(asked) = asked.filter(|_set| how != libc::SIG_UNBLOCK) else {
        // SAFETY: the caller's own arguments.
        return unsafe { real(how, set, before) };
    };
    let mut open = *asked;
    // SAFETY: the set is valid and the signal exists.
    unsafe { libc::sigdelset(&raw mut open, libc::SIGSEGV) };
    // SAFETY: the caller's own arguments, but for a set of ours.
    unsafe { real(how, &raw const open, before) }
}
