//! The device on a driver without a GPU: `driver.cpp`, which runs kernels on the CPU, takes nothing on trust,
//! and fails on request. The tests need `g++`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod conditions;
mod conform;
mod failures;
mod fake;
mod libraries;
mod missing;
mod programs;
mod work;
