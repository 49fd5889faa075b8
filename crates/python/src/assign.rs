//! Assignments into views, as recorded copies.

use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::operand::{Input, classify, integers, whole};
use crate::ops::{self, OpEntry};
use crate::{state, sync};
use arrayloom_types::{DType, Kind, Scalar};
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use std::sync::OnceLock;

/// One thread moves so many bytes in a cache that all threads share.
const ONE_MOVE: usize = 32 << 20;

static COPY: OnceLock<&'static OpEntry> = OnceLock::new();

/// Looks up the row `_copy`.
pub(crate) fn init() -> PyResult<()> {
    let missing = || PyNotImplementedError::new_err("no row for _copy");
    let row = ops::by_name("_copy").ok_or_else(missing)?;
    COPY.get_or_init(|| row);
    Ok(())
}

/// The row `_copy`.
pub(crate) fn copy_row() -> &'static OpEntry {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    COPY.get().expect("assign::init ran at import")
}

/// True for NumPy's scalars of native dtypes and Python's numbers.
pub(crate) fn is_number(value: &Bound<'_, PyAny>) -> bool {
    let kind = value.get_type_ptr();
    kind != state::lazy_type()
        && kind != np::array_type()
        && matches!(classify(value.py(), value), Ok(Some(_)))
}

/// Records `view[...] = value`; false if NumPy must do it.
pub(crate) fn copy_into<'py>(
    py: Python<'py>,
    view: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let Some(target) = Arr::of(view) else {
        return Ok(false);
    };
    // Python assigns what `a[1:] += b` gives, the part itself, to the part.
    if Arr::of(value).is_some_and(|value| is_same(target, value)) {
        return Ok(target.writeable());
    }
    let value = match Arr::of(value) {
        Some(array) => &without_leading_ones(value, array, target.ndim())?,
        None => value,
    };
    let options = Options {
        out: Some(view),
        unsafe_cast: true,
        ..Options::default()
    };
    record(py, value, &options)
}

/// True for views of the same elements.
fn is_same(a: Arr, b: Arr) -> bool {
    let places = a.addr() == b.addr() && a.strides() == b.strides();
    places && a.shape() == b.shape() && a.dtype().is_some() && a.dtype() == b.dtype()
}

/// The two views as vectors, where `view[...] = value` moves elements of an array that is there by some places, as in
/// `a[:-1] = a[1:]`: NumPy moves the elements of vectors where they lie. Recorded, the old ones would be copied first.
pub(crate) fn moved<'py>(
    view: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let (Some(to), Some(from)) = (Arr::of(view), Arr::of(value)) else {
        return Ok(None);
    };
    let bytes = to.nbytes();
    let overlap = (1..bytes).contains(&to.addr().abs_diff(from.addr()));
    let same = || to.dtype().is_some() && to.dtype() == from.dtype() && to.shape() == from.shape();
    let in_order = |array: Arr| array.has(NPY_ARRAY_C_CONTIGUOUS);
    if !(overlap && bytes < ONE_MOVE && in_order(to) && in_order(from) && same())
        || !(to.writeable() && sync::is_settled(to) && sync::is_value_there(from))
    {
        return Ok(None);
    }
    if to.ndim() == 1 {
        return Ok(Some((view.clone(), value.clone())));
    }
    let flat = |array: &Bound<'py, PyAny>| array.call_method1("reshape", (-1,));
    Ok(Some((flat(view)?, flat(value)?)))
}

/// Assignment drops leading axes of extent one that the target lacks.
fn without_leading_ones<'py>(
    value: &Bound<'py, PyAny>,
    array: Arr,
    ndim: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let extra = array.ndim().saturating_sub(ndim);
    if extra == 0 || array.shape()[..extra].iter().any(|&n| n != 1) {
        return Ok(value.clone());
    }
    value.get_item(pyo3::types::PyTuple::new(value.py(), vec![0; extra])?)
}

/// Records the copy of `value` into `options.out`; false if NumPy must do it.
pub(crate) fn record<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    options: &Options<'_, 'py>,
) -> PyResult<bool> {
    let Some(target) = options.out.and_then(Arr::of).and_then(Arr::dtype) else {
        return Ok(false);
    };
    let Some(input) = classify(py, value)? else {
        return Ok(false);
    };
    let done = match input {
        // A Python number is converted to the target's dtype first, as NumPy does.
        Input::Weak(weak) => {
            let Some(scalar) = weak.assigned_to(target) else {
                return Ok(false);
            };
            map::fill(py, copy_row(), scalar, options)?
        }
        input if !converts(&input, target) => return Ok(false),
        _ => map::call(py, copy_row(), &[value], options)?,
    };
    Ok(matches!(done, Outcome::Done(_)))
}

/// False for arrays and NumPy's scalars where NumPy warns, or converts by way of Python.
pub(crate) fn converts(input: &Input, target: DType) -> bool {
    match input {
        Input::Scalar(scalar) => {
            !drops_imaginary(scalar.dtype, target) && !is_checked(scalar, target)
        }
        Input::View(view) => !drops_imaginary(view.layout.dtype, target),
        Input::Weak(_) => true,
    }
}

/// NumPy warns when an assignment drops the imaginary part.
fn drops_imaginary(from: DType, to: DType) -> bool {
    from.is_complex() && !to.is_complex() && to != DType::Bool
}

/// NumPy turns such a number into an integer of Python first, and raises if there is none, or if it is out of range.
fn is_checked(from: &Scalar, to: DType) -> bool {
    to.is_integer()
        && (from.dtype.kind() == Kind::Float
            || whole(from).is_some_and(|value| !integers(to).contains(&value)))
}
