//! A device over CUDA.
//!
//! Driver and compiler are opened when a device is asked for, never before; where one is missing, opening
//! says which, where it was looked for, and what helps. Kernels are text that `arrayloom-codegen` writes;
//! NVRTC makes machine code of it, which is kept in memory and on disk. The driver's functions are a small
//! table of ours (`api.rs`): a symbol that is missing is an answer, never a panic. Products of matrices and Fourier
//! transforms go to cuBLAS and cuFFT where those are found when the first is wanted (`vendor.rs`).

mod api;
mod blas;
mod context;
mod device;
mod fft;
mod libraries;
mod memory;
mod nvrtc;
mod operate;
mod programs;
mod staging;
mod vendor;

pub use context::count;
pub use device::{Config, Cuda};
