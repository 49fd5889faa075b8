//! A slow interpreter of kernels: the oracle in Rust.
//!
//! It visits the points of a domain one after another and evaluates every instruction as a value that
//! knows its dtype. Nothing is fast and nothing is clever, so that what it says can be believed: other
//! devices are judged by it, and it is judged by NumPy's own outputs in `tests/golden`.

mod arg;
mod device;
mod eval;
mod fold;
mod memory;
mod mutant;
mod operations;
mod scalar;
mod sim;
mod value;

pub use device::Reference;
pub use mutant::{Fault, MUTANTS, Mutant};
pub use sim::{Order, Sim, SimConfig};
