//! Reductions, running folds, and the places of extremes.
#![expect(unsafe_code, reason = "reads computed results and hands them to NumPy")]

use crate::birth;
use crate::keywords::Keywords;
use crate::map::{Outcome, leave};
use crate::np::{self, Arr};
use crate::operand::{Input, Reason, View, classify};
use crate::ops::OpEntry;
use crate::record::Draft;
use crate::{masked, parts, site, state};
use arrayloom_ir::{Action, AxisMask, LoopSig, ReduceOp, SlotId};
use arrayloom_types::{
    DType, Kind, Layout, Scalar, Shape, Strides, can_cast_safely, fold_strides, result_strides,
};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::{SmallVec, smallvec};

/// Bytes of an array from which on one pass less over it is worth waiting for.
const LONG_PASS: usize = 4 << 20;
/// Rows or columns that such a pass has at least.
const FEWEST_ROWS: usize = 256;
/// Bytes of the least result that waits.
const LEAST_RESULT: usize = 2048;

/// `ufunc.reduce(input, ...)`.
pub(crate) fn reduce<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    input: &Bound<'py, PyAny>,
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let Some(op) = entry.def.fold else {
        leave!(Delegated)
    };
    let Some(Input::View(view)) = classify(py, input)? else {
        leave!(Operand)
    };
    let Some(sig) = fold_loop(entry, op, view.layout.dtype, words.dtype) else {
        leave!(Loop)
    };
    let Some(axes) = axes_of(words.axis.as_ref(), view.layout.shape.len()) else {
        leave!(Mismatch)
    };
    let Ok(initial) = initial_of(py, words.initial.as_ref(), sig.outs[0])? else {
        leave!(Keyword)
    };
    if words.unsafe_cast {
        leave!(Keyword)
    }
    if words.mask.is_some() {
        return masked::reduce(py, entry, view, (op, sig.outs[0]), words);
    }
    let action = Action::Reduce { op, axes, initial };
    fold(py, &view, action, sig, axes, words)
}

/// `a.argmin(...)`, `a.argmax(...)`.
pub(crate) fn extreme<'py>(
    py: Python<'py>,
    input: &Bound<'py, PyAny>,
    max: bool,
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let Some(Input::View(view)) = classify(py, input)? else {
        leave!(Operand)
    };
    let none = py.None().into_bound(py);
    let axis = words.axis.as_ref().unwrap_or(&none);
    if axis.is_instance_of::<PyTuple>() {
        leave!(Mismatch)
    }
    let Some(axes) = axes_of(Some(axis), view.layout.shape.len()) else {
        leave!(Mismatch)
    };
    let sig = LoopSig {
        ins: smallvec![view.layout.dtype],
        outs: smallvec![DType::I64],
    };
    fold(py, &view, Action::Arg { max, axes }, sig, axes, words)
}

/// The dtypes a fold computes in: NumPy widens small integers for sums and products.
fn fold_loop(entry: &OpEntry, op: ReduceOp, from: DType, asked: Option<DType>) -> Option<LoopSig> {
    let logical = entry.def.name.starts_with("logical");
    let dtype = match asked {
        _ if logical => DType::Bool,
        Some(dtype) => dtype,
        None if !matches!(entry.def.name, "add" | "multiply") => from,
        None => match (op, from.kind()) {
            (_, Kind::Bool | Kind::Signed) => DType::I64,
            (_, Kind::Unsigned) => DType::U64,
            _ => from,
        },
    };
    if logical && asked.is_some_and(|d| d != DType::Bool) {
        return None;
    }
    if !logical && from.is_complex() && !dtype.is_complex() {
        return None; // NumPy warns that the imaginary part is dropped.
    }
    let loop_sig = entry.resolve_to(dtype)?;
    Some(LoopSig {
        ins: smallvec![loop_sig.ins[0]],
        outs: smallvec![dtype],
    })
}

/// The set of axes that `axis=` names; `None` where NumPy raises an error.
pub(crate) fn axes_of(axis: Option<&Bound<'_, PyAny>>, rank: usize) -> Option<AxisMask> {
    if rank == 0 || rank > 31 {
        return None;
    }
    let one = |value: &Bound<'_, PyAny>| parts::axis_of(value, rank);
    let Some(axis) = axis else {
        return Some(1);
    };
    if axis.is_none() {
        return Some((1 << rank) - 1);
    }
    let Ok(tuple) = axis.cast_exact::<PyTuple>() else {
        return one(axis).map(|a| 1 << a);
    };
    let mut axes = 0;
    for value in tuple.iter() {
        let bit = 1 << one(&value)?;
        if axes & bit != 0 {
            return None;
        }
        axes |= bit;
    }
    (axes != 0).then_some(axes)
}

/// The value to start from, if one is given: a number that `dtype` holds; the rest is for NumPy.
pub(crate) fn initial_of(
    py: Python<'_>,
    initial: Option<&Bound<'_, PyAny>>,
    dtype: DType,
) -> PyResult<Result<Option<Scalar>, Reason>> {
    let Some(value) = initial else {
        return Ok(Ok(None));
    };
    let found = match classify(py, value)? {
        Some(Input::Weak(weak)) => weak.assigned_to(dtype),
        Some(Input::Scalar(scalar)) if scalar.dtype == dtype => Some(scalar),
        _ => None,
    };
    Ok(found.map(Some).ok_or(Reason::Keyword))
}

fn fold<'py>(
    py: Python<'py>,
    view: &View,
    action: Action,
    sig: LoopSig,
    axes: AxisMask,
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let dtype = sig.outs[0];
    if view.layout.is_empty() {
        leave!(Small)
    }
    if !view.pending && view.array.nbytes() < state::min_bytes() || !state::lazy() {
        leave!(Small)
    }
    let Some(site) = site::capture(py)? else {
        leave!(ErrState)
    };
    let mut draft = Draft::new();
    draft.view(py, view, &view.layout.shape)?;
    let kept = Kept::of(&view.layout, axes, words.keepdims);
    if let Some(out) = &words.out {
        let Some((slot, layout)) = kept.place_in(py, out, dtype)? else {
            leave!(Keyword)
        };
        draft.record(py, action, sig, smallvec![(slot, layout)], site)?;
        return Ok(Outcome::Done(out.clone()));
    }
    let steps = match action {
        Action::Arg { .. } => arrayloom_types::contiguous_strides(&kept.shape, dtype.size()),
        _ => fold_strides(&view.layout, axes, words.keepdims, dtype.size()),
    };
    let bytes = dtype.size() * kept.shape.iter().product::<usize>();
    let place = kept.spread(&Layout {
        dtype,
        offset: 0,
        shape: kept.shape.clone(),
        strides: steps.clone(),
    });
    let lazy = bytes >= state::min_bytes() || kept.waits(view.array.nbytes(), bytes);
    if !kept.shape.is_empty() && lazy {
        let Some(born) = birth::lazy(py, dtype, &kept.shape, &steps)? else {
            leave!(Off)
        };
        draft.record(py, action, sig, smallvec![(born.slot, place)], site)?;
        return Ok(Outcome::Done(born.array));
    }
    // Small results are wanted now, in memory of NumPy's own.
    let array = np::empty(py, dtype, &kept.shape, &steps)?;
    // SAFETY: a new array.
    let memory = unsafe { Arr::new(array.as_ptr()) }.addr() as *const u8;
    let held = External(state::engine().adopt_external(memory, bytes));
    draft.compute(py, action, sig, smallvec![(held.0, place)], site)?;
    drop(held);
    if kept.shape.is_empty() {
        return array.get_item(PyTuple::empty(py)).map(Outcome::Done);
    }
    Ok(Outcome::Done(array))
}

/// Memory of NumPy that the engine writes, until this is dropped.
struct External(SlotId);

impl Drop for External {
    fn drop(&mut self) {
        state::engine().forget_external(self.0);
    }
}

/// What is left of a domain when some axes are folded away.
struct Kept {
    axes: AxisMask,
    domain: Shape,
    /// Extents of the result's axes, folded ones left out or one.
    shape: Shape,
    keepdims: bool,
}

impl Kept {
    fn of(layout: &Layout, axes: AxisMask, keepdims: bool) -> Kept {
        let mut shape = Shape::new();
        for (i, &n) in layout.shape.iter().enumerate() {
            if axes & (1 << i) == 0 {
                shape.push(n);
            } else if keepdims {
                shape.push(1);
            }
        }
        Kept {
            axes,
            domain: layout.shape.clone(),
            shape,
            keepdims,
        }
    }

    /// True for a result that is small, but belongs to rows or columns of a large array: what is done with
    /// these next is computed in the same pass.
    fn waits(&self, from_bytes: usize, bytes: usize) -> bool {
        let rows = self.axes & 1 == 0 && self.domain[0] >= FEWEST_ROWS;
        let columns = self.axes == 1 && self.domain.len() == 2 && self.domain[1] >= FEWEST_ROWS;
        (rows || columns) && from_bytes >= LONG_PASS && bytes >= LEAST_RESULT
    }

    /// The layout of the result with one axis for each axis of the domain.
    fn spread(&self, result: &Layout) -> Layout {
        let mut shape = Shape::new();
        let mut strides = Strides::new();
        let mut kept = result.shape.iter().zip(&result.strides);
        for i in 0..self.domain.len() {
            let folded = self.axes & (1 << i) != 0;
            let own = if folded && !self.keepdims {
                None
            } else {
                kept.next()
            };
            match own {
                Some((&n, &s)) if !folded => {
                    shape.push(n);
                    strides.push(s);
                }
                _ => {
                    shape.push(1);
                    strides.push(0);
                }
            }
        }
        Layout {
            dtype: result.dtype,
            offset: result.offset,
            shape,
            strides,
        }
    }

    /// Where the result goes in an array that is there already.
    fn place_in(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        dtype: DType,
    ) -> PyResult<Option<(SlotId, Layout)>> {
        let Some(Input::View(target)) = classify(py, out)? else {
            return Ok(None);
        };
        let fits = target.array.writeable()
            && target.layout.dtype == dtype
            && target.layout.shape == self.shape;
        match target.slot {
            Some((slot, _)) if fits => Ok(Some((slot, self.spread(&target.layout)))),
            _ => Ok(None),
        }
    }
}

/// `ufunc.accumulate(input, ...)`.
pub(crate) fn accumulate<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    input: &Bound<'py, PyAny>,
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let Some(op) = entry.def.fold else {
        leave!(Delegated)
    };
    let Some(Input::View(view)) = classify(py, input)? else {
        leave!(Operand)
    };
    let Some(sig) = fold_loop(entry, op, view.layout.dtype, words.dtype) else {
        leave!(Loop)
    };
    let Some(axes) = axes_of(words.axis.as_ref(), view.layout.shape.len()) else {
        leave!(Mismatch)
    };
    if axes.count_ones() != 1 || words.mask.is_some() || words.initial.is_some() || words.keepdims {
        leave!(Keyword)
    }
    let dtype = sig.outs[0];
    if view.layout.is_empty() || !(view.pending || birth::worth_it(dtype, &view.layout.shape)) {
        leave!(Small)
    }
    // NumPy tells what it met in the conversion from what it met in the operation.
    if !can_cast_safely(view.layout.dtype, sig.ins[0]) {
        leave!(Delegated)
    }
    let axis = u8::try_from(axes.trailing_zeros()).unwrap_or(0);
    // Of complex pairs NumPy makes one product each, by the loop of vectors and with its bits.
    let pairs = view.layout.shape[usize::from(axis)] == 2;
    if pairs && op == ReduceOp::Mul && dtype.is_complex() {
        leave!(Delegated)
    }
    let Some(site) = site::capture(py)? else {
        leave!(ErrState)
    };
    let mut draft = Draft::new();
    draft.view(py, &view, &view.layout.shape)?;
    let action = Action::Scan { op, axis };
    let whole = Kept::of(&view.layout, 0, false);
    if let Some(out) = &words.out {
        let Some(place) = whole.place_in(py, out, dtype)? else {
            leave!(Keyword)
        };
        draft.record(py, action, sig, smallvec![place], site)?;
        return Ok(Outcome::Done(out.clone()));
    }
    let steps = result_strides(&whole.shape, &[&view.layout.strides], dtype.size());
    let Some(born) = birth::lazy(py, dtype, &whole.shape, &steps)? else {
        leave!(Off)
    };
    let outs: SmallVec<[(SlotId, Layout); 1]> = smallvec![(born.slot, born.layout)];
    draft.record(py, action, sig, outs, site)?;
    Ok(Outcome::Done(born.array))
}
