//! Sockets: `send`, `recv` and their kin.

use core::ffi::{c_int, c_void};

use libc::{msghdr, size_t, sockaddr, socklen_t, ssize_t};

use crate::real::Real;
use crate::touch::{Use, retried, touch, touch_vectors};

/// `send`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const c_void, size_t, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"send") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, flags) },
        || touch(buffer, len, Use::Source),
    )
}

/// `recv` after a touch: EFAULT would cost a datagram.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *mut c_void, size_t, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"recv") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    touch(buffer, len, Use::Target);
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, flags) },
        || touch(buffer, len, Use::Target),
    )
}

/// `sendto`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(
        c_int,
        *const c_void,
        size_t,
        c_int,
        *const sockaddr,
        socklen_t,
    ) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"sendto") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, flags, address, address_len) },
        || touch(buffer, len, Use::Source),
    )
}

/// `recvfrom` after a touch: EFAULT would cost a datagram.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    type Function = unsafe extern "C" fn(
        c_int,
        *mut c_void,
        size_t,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"recvfrom") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    touch(buffer, len, Use::Target);
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, buffer, len, flags, address, address_len) },
        || touch(buffer, len, Use::Target),
    )
}

/// `sendmsg`, again after EFAULT.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *const msghdr, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"sendmsg") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, message, flags) },
        || touch_message(message, Use::Source),
    )
}

/// `recvmsg` after a touch: EFAULT would cost a datagram.
///
/// # Safety
/// As for the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    type Function = unsafe extern "C" fn(c_int, *mut msghdr, c_int) -> ssize_t;
    // SAFETY: the type is the C function's.
    static REAL: Real<Function> = unsafe { Real::new(c"recvmsg") };
    let Some(real) = REAL.get() else {
        return -1;
    };
    touch_message(message, Use::Target);
    retried(
        // SAFETY: the caller's own arguments.
        || unsafe { real(fd, message, flags) },
        || touch_message(message, Use::Target),
    )
}

fn touch_message(message: *const msghdr, usage: Use) -> bool {
    // SAFETY: the caller of the C function passes a valid message, or null.
    let Some(message) = (unsafe { message.as_ref() }) else {
        return false;
    };
    // SAFETY: a valid message names valid vectors.
    unsafe { touch_vectors(message.msg_iov, message.msg_iovlen, usage) }
}
