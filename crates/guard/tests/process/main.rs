//! What needs a process of its own: honest crashes, handler chains, forks, address-space limits.
//!
//! Without arguments this program runs itself once for every case and compares how the case ended.
//! A case ends by returning, by a panic or by a signal.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, reason = "the cases crash, fork and handle signals")
)]
#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::panic,
        clippy::print_stdout,
        reason = "a test program without the usual harness"
    )
)]

#[cfg(target_os = "linux")]
mod crash;
#[cfg(target_os = "linux")]
mod fork;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod world;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    runner::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    // The unit tests cover what exists on this system.
}
