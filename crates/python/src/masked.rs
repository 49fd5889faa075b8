//! Folds with `where=`: as folds of values in which everything that the mask leaves out is neutral.
//!
//! Sums of floats keep no neutral value in NumPy's order of additions, where every run of chosen
//! values is summed by itself. Those, and products that round together, stay NumPy's.

use crate::fold;
use crate::keywords::Keywords;
use crate::map::{self, Options, Outcome, leave};
use crate::operand::{Input, View, classify};
use crate::ops::{self, OpEntry};
use arrayloom_ir::ReduceOp;
use arrayloom_types::{DType, Scalar, broadcast_many};
use pyo3::prelude::*;
use smallvec::smallvec;

/// `ufunc.reduce(view, where=mask, ...)` for values of the loop's dtype `to`.
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    view: View,
    to: (ReduceOp, DType),
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let (op, dtype) = to;
    let from = view.layout.dtype;
    let Some(mask) = &words.mask else {
        leave!(Keyword)
    };
    let Some(Input::View(mask)) = classify(py, mask)? else {
        leave!(Delegated)
    };
    let both = [mask.layout.shape.as_slice(), view.layout.shape.as_slice()];
    let fits = broadcast_many(both).is_ok_and(|shape| shape == view.layout.shape);
    if mask.layout.dtype != DType::Bool || !fits {
        leave!(Mismatch)
    }
    let initial = match fold::initial_of(py, words.initial.as_ref(), dtype)? {
        Ok(initial) => initial,
        Err(reason) => return Ok(Outcome::Numpy(reason)),
    };
    let ordered = matches!(op, ReduceOp::Mul) && dtype.is_float();
    let Some(neutral) = neutral(op, (from, dtype), initial) else {
        leave!(Delegated)
    };
    if ordered && words.out.is_some() {
        leave!(Delegated)
    }
    let Some(row) = ops::by_name("_where") else {
        leave!(Operation)
    };
    let inputs = smallvec![Input::View(mask), Input::View(view), Input::Scalar(neutral)];
    let chosen = match map::with_inputs(py, row, inputs, &Options::default())? {
        Outcome::Done(chosen) => chosen,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    let rest = Keywords {
        out: words.out.clone(),
        mask: None,
        dtype: words.dtype,
        unsafe_cast: words.unsafe_cast,
        axis: words.axis.clone(),
        keepdims: words.keepdims,
        initial: words.initial.clone(),
    };
    fold::reduce(py, entry, &chosen, &rest)
}

/// A value of dtype `from` that changes no fold in dtype `to`; `None` where there is none, and where
/// NumPy raises an error without `initial`.
fn neutral(op: ReduceOp, (from, to): (DType, DType), initial: Option<Scalar>) -> Option<Scalar> {
    let rounds = to.is_float() || to.is_complex();
    match op {
        ReduceOp::Add if rounds => None,
        ReduceOp::Mul if to.is_complex() || to == DType::F16 => None,
        ReduceOp::Add | ReduceOp::Or | ReduceOp::Xor => Some(Scalar::from_i64(from, 0)),
        ReduceOp::Mul => Some(Scalar::from_i64(from, 1)),
        ReduceOp::And if from == to => op.identity(to),
        // Which NaN is found first depends on NumPy's order.
        _ if to.is_complex() => None,
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Fmin | ReduceOp::Fmax if from == to => initial,
        _ => None,
    }
}
