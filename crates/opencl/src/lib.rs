//! A device over OpenCL.
//!
//! The driver is opened when a device is asked for, never before; where there is none, opening says what
//! is missing. Kernels are text that `arrayloom-codegen` writes; what the driver made of it is kept in
//! memory and on disk. A device of the CPU works in the memory of the host, where it copies nothing;
//! others have blocks of their own.

mod bound;
mod clblast;
mod device;
mod driver;
mod programs;
mod running;

pub use device::{Config, OpenCl, Place, count};
