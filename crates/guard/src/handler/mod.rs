//! The fault handler. It serves faults in the arena and passes all others on.

#[cfg(target_os = "linux")]
mod chain;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
pub(crate) use fault::{check_support, install, is_ours, keep_on_top, reinstall};

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::{check_support, install, is_ours, keep_on_top, reinstall};
