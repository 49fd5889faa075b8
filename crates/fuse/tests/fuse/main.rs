//! Recorded programs: what is propagated, which nodes share a kernel, which kernels go over memory together.

mod common;
mod groups;
mod propagate;
mod sweeps;
