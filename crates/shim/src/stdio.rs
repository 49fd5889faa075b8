//! Buffered files. The C library makes their system calls itself, so pages are touched first.

use core::ffi::c_void;

use libc::{FILE, size_t};

use crate::real::Real;
use crate::touch::{Use, touch};

/// `fread` into memory that was brought in.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fread(
    buffer: *mut c_void,
    size: size_t,
    count: size_t,
    file: *mut FILE,
) -> size_t {
    type Function = unsafe extern "C" fn(*mut c_void, size_t, size_t, *mut FILE) -> size_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"fread") };
    let Some(real) = REAL.get() else {
        return 0;
    };
    touch(buffer, size.saturating_mul(count), Use::Target);
    // SAFETY: the caller's own arguments.
    unsafe { real(buffer, size, count, file) }
}

/// `fwrite` from memory that was brought in.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fwrite(
    buffer: *const c_void,
    size: size_t,
    count: size_t,
    file: *mut FILE,
) -> size_t {
    type Function = unsafe extern "C" fn(*const c_void, size_t, size_t, *mut FILE) -> size_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"fwrite") };
    let Some(real) = REAL.get() else {
        return 0;
    };
    touch(buffer, size.saturating_mul(count), Use::Source);
    // SAFETY: the caller's own arguments.
    unsafe { real(buffer, size, count, file) }
}
