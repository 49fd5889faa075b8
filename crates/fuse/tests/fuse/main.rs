//! Recorded programs: what is propagated, which nodes share a kernel, which kernels go over memory together,
//! and what lists that are alike share.

mod common;
mod groups;
mod plans;
mod propagate;
mod sweeps;
