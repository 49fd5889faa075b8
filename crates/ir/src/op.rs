//! The row type of the op table.

use crate::{Builder, ReduceOp, Value};
use arrayloom_types::DType;
use smallvec::SmallVec;

/// The dtypes one call computes in: NumPy's chosen loop.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LoopSig {
    /// What the operands are cast to.
    pub ins: SmallVec<[DType; 3]>,
    /// What the results are.
    pub outs: SmallVec<[DType; 2]>,
}

/// Floating-point conditions, as bits. NumPy names them in its warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct FpFlags(pub u8);

impl FpFlags {
    /// Nothing happened.
    pub const NONE: FpFlags = FpFlags(0);
    /// A finite number divided by zero.
    pub const DIVIDE: FpFlags = FpFlags(1);
    /// A result too large.
    pub const OVERFLOW: FpFlags = FpFlags(2);
    /// A result too small.
    pub const UNDERFLOW: FpFlags = FpFlags(4);
    /// No meaningful result.
    pub const INVALID: FpFlags = FpFlags(8);
}

/// One operation: everything that is known of it stands in its row.
pub struct OpDef {
    /// NumPy's name.
    pub name: &'static str,
    /// Number of operands.
    pub arity: u8,
    /// The loops in NumPy's order, each as letters: `"dd->d"`. A group `"[bhiq]"` stands for one loop
    /// per letter, the same letter at every place marked `x`: `"[bhiq]xx->x"`.
    pub loops: &'static [&'static str],
    /// The body in primitives; gets the operands in the loop's input dtypes and gives one value per
    /// output in the loop's output dtypes.
    pub body: fn(&mut Builder, &[Value]) -> SmallVec<[Value; 2]>,
    /// What `reduce` and `accumulate` fold with, if they are native. Logical folds cast to bool first.
    pub fold: Option<ReduceOp>,
    /// One sentence: what it computes.
    pub doc: &'static str,
}

impl std::fmt::Debug for OpDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
