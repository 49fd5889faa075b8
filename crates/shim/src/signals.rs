//! Signal masks without SIGSEGV.

use core::ffi::c_int;

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
