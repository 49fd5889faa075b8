//! Files and pipes: `read`, `write` and their kin.

use core::ffi::{c_int, c_void};

use libc::{iovec, off_t, off64_t, size_t, ssize_t};

use crate::real::Real;
use crate::touch::{Use, retried, touch, touch_vectors};

/// `read`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, buffer: *mut c_void, len: size_t) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *mut c_void, size_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"read") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len) },
        || touch(buffer, len, Use::Target),
    )
}

/// `pread`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    offset: off_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *mut c_void, size_t, off_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pread") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, offset) },
        || touch(buffer, len, Use::Target),
    )
}

/// `pread64`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    offset: off64_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *mut c_void, size_t, off64_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pread64") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, offset) },
        || touch(buffer, len, Use::Target),
    )
}

/// `write`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, len: size_t) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const c_void, size_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"write") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len) },
        || touch(buffer, len, Use::Source),
    )
}

/// `pwrite`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    offset: off_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const c_void, size_t, off_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pwrite") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, offset) },
        || touch(buffer, len, Use::Source),
    )
}

/// `pwrite64`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    offset: off64_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const c_void, size_t, off64_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pwrite64") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, offset) },
        || touch(buffer, len, Use::Source),
    )
}

/// `readv`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"readv") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count) },
        || touch_all(vectors, count, Use::Target),
    )
}

/// `writev`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"writev") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count) },
        || touch_all(vectors, count, Use::Source),
    )
}

/// `preadv`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv(
    fd: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"preadv") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count, offset) },
        || touch_all(vectors, count, Use::Target),
    )
}

/// `preadv64`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn preadv64(
    fd: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off64_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int, off64_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"preadv64") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count, offset) },
        || touch_all(vectors, count, Use::Target),
    )
}

/// `pwritev`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwritev(
    fd: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int, off_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pwritev") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count, offset) },
        || touch_all(vectors, count, Use::Source),
    )
}

/// `pwritev64`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwritev64(
    fd: c_int,
    vectors: *const iovec,
    count: c_int,
    offset: off64_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const iovec, c_int, off64_t) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"pwritev64") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, vectors, count, offset) },
        || touch_all(vectors, count, Use::Source),
    )
}

fn touch_all(vectors: *const iovec, count: c_int, usage: Use) -> bool {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: the caller of the C function passes `count` valid vectors.
    unsafe { touch_vectors(vectors, count, usage) }
}
