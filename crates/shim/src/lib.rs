//! A library for `LD_PRELOAD`: system calls that bring the memory of lazy arrays in.
//!
//! The kernel does not raise SIGSEGV when a system call meets an untouchable page: it answers
//! EFAULT. Functions of the same name stand in front of the C library's here. They call it; after
//! EFAULT they touch the pages from user mode, where the guard's fault handler brings them in, and
//! call once more. `recv` and its kin touch first, because EFAULT would cost them the datagram;
//! `fread` and `fwrite` touch first, because the C library makes their system calls itself.
//!
//! Only addresses of the guard's arena are touched, so EFAULT for a bad pointer stays what it is.
//! The guard tells the range by [`arrayloom_shim_cover`], which it finds by name.
//!
//! No thread gets to block SIGSEGV: the kernel kills a thread that faults with the signal blocked. Libraries may set
//! handlers of it; the guard, told by [`arrayloom_shim_watch`]'s function, then puts its own on top again.
//!
//! Every function keeps the signature, the results and the `errno` of the one it stands for. None
//! allocates or takes a lock, beyond the look-up of the C library's function at the first call.

#![cfg_attr(
    target_os = "linux",
    expect(
        unsafe_code,
        reason = "stands in front of C functions, with their contracts"
    )
)]

#[cfg(target_os = "linux")]
mod buffers;
#[cfg(target_os = "linux")]
mod messages;
#[cfg(target_os = "linux")]
mod real;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod stdio;
#[cfg(target_os = "linux")]
mod touch;

#[cfg(target_os = "linux")]
pub use buffers::*;
#[cfg(target_os = "linux")]
pub use messages::*;
#[cfg(target_os = "linux")]
pub use signals::*;
#[cfg(target_os = "linux")]
pub use stdio::*;
#[cfg(target_os = "linux")]
pub use touch::arrayloom_shim_cover;
