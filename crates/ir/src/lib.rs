//! Scalar primitives, the op table, recorded operations, kernels and the verifier.
//!
//! * [`Prim`] is the closed set of scalar primitives that a device must know.
//! * [`OpDef`] is one row of the op table: a NumPy operation, its loops and its body in primitives.
//! * [`Node`] is one recorded operation on views of memory.
//! * [`Kernel`] is what a device runs: flat code over one iteration domain, with several outputs.

mod builder;
mod kernel;
mod key;
mod node;
mod op;
pub mod ops;
mod prim;
mod print;
mod resolve;
mod verify;

pub use builder::{Builder, Value};
pub use kernel::{Form, Ins, Kernel, Output, ReduceOp, ScatterMode};
pub use key::KeyBytes;
pub use node::{Action, AxisMask, Node, Operand, SlotId, Table};
pub use op::{FpFlags, LoopSig, Loops, OpDef, Rule, Values, each};
pub use prim::{ALL_PRIMS, Arity, Prim};
pub use verify::{VerifyError, verify};
