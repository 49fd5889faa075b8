//! `__array_ufunc__`: where NumPy hands us the calls of its ufuncs.

use crate::creation::NUMPY_RANKS;
use crate::keywords::Keywords;
use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::ops::{self, OpEntry};
use crate::{delegate, fold, numbers, operations, parts, scatter, state};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyEllipsis, PyList, PyString, PyTuple};

/// `array.__array_ufunc__(ufunc, method, *inputs, **kwargs)`.
pub(crate) fn call<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = args.py();
    let ufunc = args.get_item(0)?;
    let method = args.get_item(1)?;
    let method = method.cast::<PyString>()?.to_str()?;
    let inputs: Vec<_> = args.iter().skip(2).collect();
    for input in inputs.iter().chain(&outputs(kwargs)?) {
        if overrides(input)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
    }
    let outcome = match ops::by_ufunc(&ufunc) {
        None => Outcome::Numpy(unlisted(&ufunc)),
        Some(entry) => native(py, entry, method, &inputs, kwargs)?,
    };
    match outcome {
        Outcome::Done(result) => Ok(result),
        Outcome::Numpy(reason) => in_numpy(&ufunc, method, &inputs, kwargs, reason),
    }
}

/// Products of matrices belong to BLAS; everything else without a row counts.
fn unlisted(ufunc: &Bound<'_, PyAny>) -> Reason {
    let product = ufunc.getattr("signature").is_ok_and(|s| !s.is_none());
    if product {
        Reason::Library
    } else {
        Reason::Operation
    }
}

fn native<'py>(
    py: Python<'py>,
    entry: &'static OpEntry,
    method: &str,
    inputs: &[Bound<'py, PyAny>],
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Outcome<'py>> {
    let words = match Keywords::read(kwargs)? {
        Ok(words) => words,
        Err(reason) => return Ok(Outcome::Numpy(reason)),
    };
    match (method, inputs) {
        ("__call__", _) => {
            let inputs: Vec<_> = inputs.iter().collect();
            let odd = words.axis.is_some() || words.keepdims || words.initial.is_some();
            if odd || inputs.len() != usize::from(entry.def.arity) {
                return Ok(Outcome::Numpy(Reason::Keyword));
            }
            let options = Options {
                out: words.out.as_ref(),
                mask: words.mask.as_ref(),
                dtype: words.dtype,
                unsafe_cast: words.unsafe_cast,
                ..Options::default()
            };
            map::call(py, entry, &inputs, &options)
        }
        ("reduce", [input]) => fold::reduce(py, entry, input, &words),
        ("accumulate", [input]) => fold::accumulate(py, entry, input, &words),
        ("outer", [left, right]) => outer(py, entry, [left, right], &words),
        ("at", [a, key, value]) => scatter::at(entry, [a, key, value]),
        _ => Ok(Outcome::Numpy(Reason::Delegated)),
    }
}

/// `ufunc.outer(left, right)`: element-wise, the left array with as many axes more as the right has.
pub(crate) fn outer<'py>(
    py: Python<'py>,
    entry: &'static OpEntry,
    [left, right]: [&Bound<'py, PyAny>; 2],
    words: &Keywords<'py>,
) -> PyResult<Outcome<'py>> {
    let (Some(first), Some(other)) = (Arr::of(left), Arr::of(right)) else {
        return Ok(Outcome::Numpy(Reason::Delegated));
    };
    let odd = words.axis.is_some() || words.keepdims || words.initial.is_some();
    if odd || entry.def.arity != 2 {
        return Ok(Outcome::Numpy(Reason::Keyword));
    }
    if first.ndim() + other.ndim() > NUMPY_RANKS {
        return Ok(Outcome::Numpy(Reason::Mismatch));
    }
    // An index would take classes such as `recarray` off.
    if numbers::stranger(left) || numbers::stranger(right) {
        return Ok(Outcome::Numpy(Reason::Operand));
    }
    let none = py.None().into_bound(py);
    let mut key = vec![PyEllipsis::get(py).to_owned().into_any()];
    key.resize(1 + other.ndim(), none);
    let left = left.get_item(PyTuple::new(py, key)?)?;
    let options = Options {
        out: words.out.as_ref(),
        mask: words.mask.as_ref(),
        dtype: words.dtype,
        unsafe_cast: words.unsafe_cast,
        ..Options::default()
    };
    map::call(py, entry, &[&left, right], &options)
}

fn in_numpy<'py>(
    ufunc: &Bound<'py, PyAny>,
    method: &str,
    inputs: &[Bound<'py, PyAny>],
    kwargs: Option<&Bound<'py, PyDict>>,
    reason: Reason,
) -> PyResult<Bound<'py, PyAny>> {
    if method == "__call__"
        && let Some(result) = parts::transform(ufunc, inputs, kwargs)?
    {
        return Ok(result);
    }
    let name: String = ufunc.getattr("__name__")?.extract()?;
    if let ("matmul", "__call__", [a, b], None) = (name.as_str(), method, inputs, kwargs)
        && let Some(result) = operations::matmul(ufunc.py(), a, b, true)?
    {
        return Ok(result);
    }
    if method == "__call__" {
        return delegate::call(ufunc, inputs, kwargs, 0..0, (&name, reason));
    }
    let function = ufunc.getattr(method)?;
    let writes = if method == "at" { 0..1 } else { 0..0 };
    delegate::call(
        &function,
        inputs,
        kwargs,
        writes,
        (&format!("{name}.{method}"), reason),
    )
}

/// What the call writes to.
pub(crate) fn outputs<'py>(
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let Some(out) = kwargs.map(|k| k.get_item("out")).transpose()?.flatten() else {
        return Ok(Vec::new());
    };
    match out.cast_exact::<PyTuple>() {
        Ok(tuple) => Ok(tuple.iter().collect()),
        Err(_) => Ok(vec![out]),
    }
}

/// True if the object wants to do the call itself.
fn overrides(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = object.get_type_ptr();
    let known = kind == state::lazy_type()
        || kind == np::array_type()
        || np::scalar_dtype(kind).is_some()
        || object.is_none()
        || object.is_instance_of::<pyo3::types::PyFloat>()
        || object.is_instance_of::<pyo3::types::PyInt>()
        || object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyTuple>();
    if known {
        return Ok(false);
    }
    let Ok(theirs) = object.get_type().getattr("__array_ufunc__") else {
        return Ok(false);
    };
    let base = np::method(object.py(), "__array_ufunc__")?;
    let ours = state::state()
        .lazy_type
        .bind(object.py())
        .getattr("__array_ufunc__")?;
    Ok(!theirs.is(&base) && !theirs.is(&ours))
}
