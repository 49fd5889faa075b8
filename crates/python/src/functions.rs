//! NumPy's functions outside the ufuncs that are recorded, or composed of what is recorded.

use crate::assign;
use crate::copies;
use crate::counting;
use crate::join;
use crate::map::{self, Options, Outcome, leave};
use crate::masks;
use crate::np::{self, Arr};
use crate::operand::{Input, Reason, classify};
use crate::{ops, roll, searches, state};
use arrayloom_types::DType;
use numpy::npyffi::flags::{NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyString};

/// The call of function `name`, if it is one of ours.
pub(crate) fn call<'py>(
    py: Python<'py>,
    name: &str,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    match (name, args) {
        ("where", [condition, yes, no]) if kwargs.is_empty() => choose(py, condition, yes, no),
        ("where", [condition]) if kwargs.is_empty() => masks::places(condition),
        ("flatnonzero", [array]) if kwargs.is_empty() => masks::flat_places(array),
        ("copyto", [target, value]) => copy_to(py, target, value, kwargs),
        ("putmask", [target, mask, value]) if kwargs.is_empty() => put_mask(target, mask, value),
        ("concatenate", _) => join::concatenate(py, args, kwargs),
        ("roll", _) => roll::roll(py, args, kwargs),
        ("copy", [array]) if kwargs.is_empty() => copies::duplicate(array, None, 'K'),
        ("searchsorted", _) => searches::searchsorted(py, args, kwargs),
        ("digitize", _) => searches::digitize(py, args, kwargs),
        ("interp", _) => searches::interp(py, args, kwargs),
        ("histogram", _) => counting::histogram(py, args, kwargs),
        ("bincount", _) => counting::bincount(py, args, kwargs),
        ("count_nonzero", [array]) if kwargs.is_empty() => count_nonzero(py, array),
        _ => leave!(Delegated),
    }
}

/// `np.where(condition, yes, no)`.
fn choose<'py>(
    py: Python<'py>,
    condition: &Bound<'py, PyAny>,
    yes: &Bound<'py, PyAny>,
    no: &Bound<'py, PyAny>,
) -> PyResult<Outcome<'py>> {
    let Some(row) = ops::by_name("_where") else {
        leave!(Operation)
    };
    let listed = np::listed(condition)?;
    let condition = listed.as_ref().unwrap_or(condition);
    let condition = match Arr::of(condition).and_then(Arr::dtype) {
        None if assign::is_number(condition) => PyBool::new(py, condition.is_truthy()?)
            .to_owned()
            .into_any(),
        Some(dtype) if dtype != DType::Bool => {
            if Arr::of(condition).is_some_and(|array| !is_plain_in_memory(array)) {
                leave!(Delegated)
            }
            match copies::duplicate(condition, Some(DType::Bool), 'K')? {
                Outcome::Done(truth) => truth,
                other @ Outcome::Numpy(_) => return Ok(other),
            }
        }
        _ => condition.clone(),
    };
    map::call(py, row, &[&condition, yes, no], &Options::default())
}

/// True unless elements repeat or run backwards in memory: then a converted array has other strides, and so would have what
/// is laid out like it.
fn is_plain_in_memory(array: Arr) -> bool {
    let mut axes = array.shape().iter().zip(array.strides());
    axes.all(|(&extent, &step)| extent < 2 || step > 0)
}

/// `np.copyto(target, value, casting='same_kind', where=True)`.
fn copy_to<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let mut options = Options {
        out: Some(target),
        ..Options::default()
    };
    let mut mask = None;
    for (name, word) in kwargs.iter() {
        match name.cast::<PyString>()?.to_str()? {
            "where" => mask = Some(word).filter(|w| !w.is(PyBool::new(py, true))),
            "casting" => match word.extract::<&str>() {
                Ok("same_kind") => {}
                Ok("unsafe") => options.unsafe_cast = true,
                _ => leave!(Delegated),
            },
            _ => leave!(Mismatch),
        }
    }
    options.mask = mask.as_ref();
    if assign::is_number(value) && !options.unsafe_cast && !number_fits(value, target) {
        leave!(Mismatch)
    }
    let leads = match (Arr::of(target), Arr::of(value)) {
        (Some(target), Some(value)) => value.ndim() > target.ndim(),
        _ => false,
    };
    if !leads && assign::record(py, value, &options)? {
        return Ok(Outcome::Done(py.None().into_bound(py)));
    }
    leave!(Mismatch)
}

/// `np.putmask(target, mask, value)` of one value, or of as many as the target has.
fn put_mask<'py>(
    target: &Bound<'py, PyAny>,
    mask: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Outcome<'py>> {
    let py = target.py();
    let (Some(to), Some(truth)) = (Arr::of(target), Arr::of(mask)) else {
        leave!(Delegated)
    };
    // Other values are repeated, and others dtypes cast, by rules of this function.
    let fits = match Arr::of(value) {
        Some(value) => value.shape() == to.shape() && value.dtype() == to.dtype(),
        None => assign::is_number(value) && number_fits(value, target),
    };
    if !fits || truth.dtype() != Some(DType::Bool) || truth.shape() != to.shape() {
        leave!(Delegated)
    }
    let words = PyDict::new(py);
    words.set_item("where", mask)?;
    copy_to(py, target, value, &words)
}

/// True for an integer unless the target is bool, and for a Python number of a kind that the target's dtype includes.
fn number_fits(value: &Bound<'_, PyAny>, target: &Bound<'_, PyAny>) -> bool {
    let Some(dtype) = Arr::of(target).and_then(Arr::dtype) else {
        return false;
    };
    if value.is_exact_instance_of::<pyo3::types::PyFloat>() {
        return dtype.is_float() || dtype.is_complex();
    }
    value.is_exact_instance_of::<PyInt>() && dtype != DType::Bool
}

/// `np.count_nonzero(array)`: a sum of truth values.
fn count_nonzero<'py>(py: Python<'py>, array: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let Some(Input::View(view)) = classify(py, array)? else {
        leave!(Delegated)
    };
    if view.layout.is_empty() || !view.pending && array_is_small(array) {
        leave!(Small)
    }
    let truth = if view.layout.dtype == DType::Bool {
        array.clone()
    } else {
        match copies::duplicate(array, Some(DType::Bool), 'K')? {
            Outcome::Done(truth) => truth,
            other @ Outcome::Numpy(_) => return Ok(other),
        }
    };
    Ok(Outcome::Done(truth.call_method0("sum")?))
}

/// True when the array has less bytes than lazy arrays have.
fn array_is_small(array: &Bound<'_, PyAny>) -> bool {
    Arr::of(array).is_none_or(|a| a.nbytes() < state::min_bytes())
}

/// `a.round(decimals=0)` of real numbers: NumPy multiplies by a power of ten, rounds and divides.
pub(crate) fn round<'py>(
    array: &Bound<'py, PyAny>,
    decimals: i32,
    out: Option<&Bound<'py, PyAny>>,
) -> PyResult<Outcome<'py>> {
    let py = array.py();
    let Some(this) = Arr::of(array) else {
        leave!(Operand)
    };
    let Some(dtype) = this.dtype() else {
        leave!(Operand)
    };
    if !dtype.is_float() || decimals.unsigned_abs() > 22 {
        leave!(Delegated)
    }
    let (Some(rint), Some(times), Some(by)) = (
        ops::by_name("rint"),
        ops::by_name("multiply"),
        ops::by_name("divide"),
    ) else {
        leave!(Operation)
    };
    let options = Options {
        out,
        ..Options::default()
    };
    if decimals == 0 {
        return map::call(py, rint, &[array], &options);
    }
    let (first, last) = if decimals > 0 {
        (times, by)
    } else {
        (by, times)
    };
    // The result lies in C order, that of a Fortran array in Fortran order; rounding to whole numbers keeps any order.
    let ordered = [NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS];
    let array = if out.is_some() || ordered.iter().any(|&order| this.has(order)) {
        array
    } else {
        match copies::duplicate(array, None, 'C')? {
            Outcome::Done(ordered) => &ordered.clone(),
            other @ Outcome::Numpy(_) => return Ok(other),
        }
    };
    let factor = 10f64.powi(decimals.abs());
    let factor = pyo3::types::PyFloat::new(py, factor).into_any();
    let mut value = match map::call(py, first, &[array, &factor], &Options::default())? {
        Outcome::Done(value) => value,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    value = match map::call(py, rint, &[&value], &Options::default())? {
        Outcome::Done(value) => value,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    map::call(py, last, &[&value, &factor], &options)
}

/// A reason for a call of a function that is not recorded in this form.
pub(crate) const fn why_not(reason: Reason, listed: Reason) -> Reason {
    match reason {
        Reason::Delegated | Reason::Operation => listed,
        other => other,
    }
}
