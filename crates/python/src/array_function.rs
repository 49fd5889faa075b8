//! `__array_function__`: NumPy's functions outside the ufuncs.
//!
//! Functions written in Python run as they are and come back to us through ufuncs and methods. The few
//! that are C and touch memory get computed plain arrays; `where` and `copyto` are recorded.

use crate::map::{self, Options, Outcome};
use crate::methods::Call;
use crate::operand::Reason;
use crate::{assign, delegate, ops};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// Functions in C that read their operands, and whether a call on large arrays is a fallback.
const IN_C: [(&str, Reason); 30] = [
    ("concatenate", Reason::Operation),
    ("inner", Reason::Library),
    ("dot", Reason::Library),
    ("vdot", Reason::Library),
    ("c_einsum", Reason::Operation),
    ("correlate", Reason::Operation),
    ("convolve", Reason::Operation),
    ("bincount", Reason::Operation),
    ("interp", Reason::Operation),
    ("packbits", Reason::Operation),
    ("unpackbits", Reason::Operation),
    ("lexsort", Reason::Operation),
    ("digitize", Reason::Operation),
    ("ravel_multi_index", Reason::Operation),
    ("unravel_index", Reason::Operation),
    ("putmask", Reason::Operation),
    ("where", Reason::Operation),
    ("copyto", Reason::Operation),
    ("count_nonzero", Reason::Operation),
    ("flatnonzero", Reason::Operation),
    ("array_equal", Reason::Library),
    ("may_share_memory", Reason::Library),
    ("shares_memory", Reason::Library),
    ("empty_like", Reason::Library),
    ("einsum", Reason::Library),
    // These take a better way for arrays that are exactly `ndarray`.
    ("nanmax", Reason::Operation),
    ("nanmin", Reason::Operation),
    ("array_repr", Reason::Library),
    ("array_str", Reason::Library),
    ("array2string", Reason::Library),
];

/// `array.__array_function__(func, types, args, kwargs)`.
pub(crate) fn call<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let [function, types, args, kwargs] = call.args else {
        return base(call);
    };
    let name = function.getattr("__name__");
    let name = name.and_then(|n| Ok(n.cast_into::<PyString>()?));
    let (Ok(name), Ok(args), Ok(kwargs)) = (
        name,
        args.cast_exact::<PyTuple>(),
        kwargs.cast_exact::<PyDict>(),
    ) else {
        return base(call);
    };
    let name = name.to_str()?;
    let Some(&(_, reason)) = IN_C.iter().find(|(known, _)| *known == name) else {
        return base(call);
    };
    if !only_arrays(types)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    let items: Vec<_> = args.iter().collect();
    if let Outcome::Done(result) = native(py, name, &items, kwargs)? {
        return Ok(result);
    }
    let Ok(implementation) = function.getattr("_implementation") else {
        return base(call);
    };
    let writes = 0..usize::from(matches!(name, "copyto" | "putmask"));
    delegate::call(
        &implementation,
        &items,
        Some(kwargs),
        writes,
        (name, reason),
    )
}

/// False if a type that is no kind of `ndarray` takes part: it may have an answer of its own.
fn only_arrays(types: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = types.py().import("numpy")?.getattr("ndarray")?;
    for kind in types.try_iter()? {
        if !kind?.cast::<PyType>()?.is_subclass(&array)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `ndarray`'s own answer.
fn base<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let own = py
        .import("numpy")?
        .getattr("ndarray")?
        .getattr("__array_function__")?;
    let mut args = vec![call.this.clone()];
    args.extend_from_slice(call.args);
    own.call(PyTuple::new(py, args)?, call.kwargs)
}

fn native<'py>(
    py: Python<'py>,
    name: &str,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    match (name, args) {
        ("where", [condition, yes, no]) if kwargs.is_empty() => match ops::by_name("_where") {
            Some(row) => map::call(py, row, &[condition, yes, no], &Options::default()),
            None => Ok(Outcome::Numpy(Reason::Operation)),
        },
        ("copyto", [target, value]) if kwargs.is_empty() => copy_to(py, target, value),
        _ => Ok(Outcome::Numpy(Reason::Operation)),
    }
}

fn copy_to<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<Outcome<'py>> {
    let options = Options {
        out: Some(target),
        ..Options::default()
    };
    if assign::is_number(value) && !value.is_exact_instance_of::<pyo3::types::PyInt>() {
        return Ok(Outcome::Numpy(Reason::Mismatch));
    }
    if assign::record(py, value, &options)? {
        return Ok(Outcome::Done(py.None().into_bound(py)));
    }
    Ok(Outcome::Numpy(Reason::Mismatch))
}
