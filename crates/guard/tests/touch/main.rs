//! Real touches of protected memory: one process, one guard, tests one after another so that the
//! counters can be checked exactly.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "the tests touch raw memory")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails by panicking, like the test"
)]

mod barrier;
mod life;
mod threads;
mod warm;
mod world;
