//! A device over CUDA.
//!
//! Driver and compiler are opened when a device is asked for, never before; where one is missing, opening
//! says which, where it was looked for, and what helps. Kernels are text that `arrayloom-codegen` writes;
//! NVRTC makes machine code of it, which is kept in memory and on disk. The driver's functions are a small
//! table of ours (`api.rs`): a symbol that is missing is an answer, never a panic.

mod api;
mod context;
mod device;
mod libraries;
mod memory;
mod nvrtc;
mod programs;
mod staging;

pub use context::count;
pub use device::{Config, Cuda};
