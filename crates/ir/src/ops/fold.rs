//! What `reduce` and `accumulate` compute in.

use crate::{LoopSig, OpDef, ReduceOp, Rule};
use arrayloom_types::{DType, Kind, Scalar};
use smallvec::smallvec;

impl OpDef {
    /// The loop of `reduce` and `accumulate` for an array of `dtype`; `requested` is the argument
    /// `dtype=`. `None` where NumPy must decide: it raises an error or warns, or the fold is not native.
    pub fn resolve_fold(&self, dtype: DType, requested: Option<DType>) -> Option<LoopSig> {
        let fold = self.fold?;
        let inner = if self.rule == Rule::Logical {
            match requested {
                None | Some(DType::Bool) => DType::Bool,
                Some(_) => return None,
            }
        } else {
            match (requested, fold, dtype.kind()) {
                // Giving up the imaginary part is a warning.
                (Some(wanted), _, Kind::Complex)
                    if !wanted.is_complex() && wanted != DType::Bool =>
                {
                    return None;
                }
                (Some(wanted), _, _) => wanted,
                (None, ReduceOp::Add | ReduceOp::Mul, Kind::Bool | Kind::Signed) => DType::I64,
                (None, ReduceOp::Add | ReduceOp::Mul, Kind::Unsigned) => DType::U64,
                (None, _, _) => dtype,
            }
        };
        self.loop_of(&[inner, inner])
            .filter(|sig| sig.outs.as_slice() == [inner])
            .map(|_| LoopSig {
                ins: smallvec![inner, inner],
                outs: smallvec![inner],
            })
    }
}

impl ReduceOp {
    /// The value of an empty fold, if there is one.
    pub fn identity(self, dtype: DType) -> Option<Scalar> {
        match self {
            ReduceOp::Add | ReduceOp::Or | ReduceOp::Xor => Some(Scalar::from_i64(dtype, 0)),
            ReduceOp::Mul => Some(Scalar::from_i64(dtype, 1)),
            ReduceOp::And if dtype == DType::Bool => Some(Scalar::from_f64(dtype, 1.0)),
            ReduceOp::And => Some(Scalar::from_i64(dtype, -1)),
            ReduceOp::Min | ReduceOp::Max | ReduceOp::Fmin | ReduceOp::Fmax => None,
        }
    }
}
