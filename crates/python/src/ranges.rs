//! `arange` of Python numbers as a recorded range.

#![expect(
    clippy::cast_precision_loss,
    reason = "whole numbers are below 2 to the 52"
)]

use crate::birth;
use crate::keywords;
use crate::ops;
use crate::record::{self, Draft};
use crate::site;
use arrayloom_ir::{Action, LoopSig};
use arrayloom_types::{DType, Scalar, contiguous_strides};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString, PyTuple};
use smallvec::smallvec;

/// Whole numbers up to this size are exact in `float64`, in which NumPy counts the elements.
const EXACT: i64 = 1 << 52;

/// First value, second value and number of elements.
struct Range {
    first: Scalar,
    second: Scalar,
    count: usize,
}

/// The range that the arguments name, recorded. `None` where NumPy must look at them.
pub(crate) fn arange<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = args.py();
    let mut dtype = None;
    for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
        if name.cast::<PyString>()?.to_str()? != "dtype" {
            return Ok(None);
        }
        if !value.is_none() {
            dtype = Some(keywords::dtype_from(&value)?);
        }
    }
    let Some(range) = range(args, dtype == Some(Some(DType::F64))) else {
        return Ok(None);
    };
    let own = range.first.dtype;
    if dtype.is_some_and(|asked| asked != Some(own)) || !birth::worth_it(own, &[range.count]) {
        return Ok(None);
    }
    let (Some(row), Some(site)) = (ops::by_name("_iota"), site::capture(py)?) else {
        return Ok(None);
    };
    let shape = [range.count];
    if record::is_numpys(false, (own, &shape), site) {
        return Ok(None);
    }
    let strides = contiguous_strides(&shape, own.size());
    let Some(born) = birth::lazy(py, own, &shape, &strides)? else {
        return Ok(None);
    };
    let mut draft = Draft::new();
    draft.scalar(range.first);
    draft.scalar(range.second);
    let sig = LoopSig {
        ins: smallvec![own, own],
        outs: smallvec![own],
    };
    let outs = smallvec![(born.slot, born.layout)];
    draft.record(py, Action::Map(row.def), sig, outs, site)?;
    Ok(Some(born.array))
}

/// Reads one to three Python numbers, whole ones as reals if asked; `None` for anything else, and for what
/// NumPy refuses.
fn range(args: &Bound<'_, PyTuple>, real: bool) -> Option<Range> {
    let values: Vec<_> = args.iter().collect();
    if values.is_empty() || values.len() > 3 {
        return None;
    }
    if values
        .iter()
        .all(PyAnyMethods::is_exact_instance_of::<PyInt>)
    {
        let whole: Option<Vec<i64>> = values.iter().map(|v| v.extract().ok()).collect();
        return integers(&whole?, real);
    }
    let number = |v: &Bound<'_, PyAny>| {
        v.is_exact_instance_of::<PyInt>() || v.is_exact_instance_of::<PyFloat>()
    };
    let reals = values.iter().all(number).then_some(values.iter())?;
    let reals: Option<Vec<f64>> = reals.map(|v| v.extract().ok()).collect();
    floats(&reals?)
}

fn integers(values: &[i64], real: bool) -> Option<Range> {
    let (start, stop, step) = bounds(values, 0, 1)?;
    let small = [start, stop, step]
        .iter()
        .all(|v| v.unsigned_abs() < EXACT.unsigned_abs());
    if !small || step == 0 {
        return None;
    }
    let whole = |value| {
        if real {
            Scalar::from_f64(DType::F64, value as f64)
        } else {
            Scalar::from_i64(DType::I64, value)
        }
    };
    Some(Range {
        first: whole(start),
        second: whole(start + step),
        count: count((stop - start) as f64 / step as f64)?,
    })
}

fn floats(values: &[f64]) -> Option<Range> {
    let (start, stop, step) = bounds(values, 0.0, 1.0)?;
    let real = |value| Scalar::from_f64(DType::F64, value);
    Some(Range {
        first: real(start),
        second: real(start + step),
        count: count((stop - start) / step)?,
    })
}

/// Start, stop and step of one to three arguments.
fn bounds<T: Copy>(values: &[T], zero: T, one: T) -> Option<(T, T, T)> {
    match *values {
        [stop] => Some((zero, stop, one)),
        [start, stop] => Some((start, stop, one)),
        [start, stop, step] => Some((start, stop, step)),
        _ => None,
    }
}

/// The number of elements, if it is a number above one that an array can have.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked before"
)]
fn count(steps: f64) -> Option<usize> {
    let whole = steps.ceil();
    (whole > 1.0 && whole < EXACT as f64).then_some(whole as usize)
}
