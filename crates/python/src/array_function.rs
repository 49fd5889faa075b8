//! `__array_function__`: NumPy's functions outside the ufuncs.
//!
//! Functions written in Python run as they are and come back to us through ufuncs and methods. Those
//! that are C and touch memory are recorded (`functions`) or get computed plain arrays.

use crate::map::Outcome;
use crate::methods::Call;
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::{
    creation, delegate, functions, journal, operations, parts, quantiles, site, state, sync,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

/// Functions that are recorded, or that are C and read their operands, and why a call of them is left to NumPy.
const IN_C: [(&str, Reason); 34] = [
    ("concatenate", Reason::Delegated),
    ("copy", Reason::Delegated),
    ("inner", Reason::Library),
    ("dot", Reason::Library),
    ("vdot", Reason::Library),
    ("c_einsum", Reason::Delegated),
    ("correlate", Reason::Delegated),
    ("convolve", Reason::Delegated),
    ("bincount", Reason::Delegated),
    ("histogram", Reason::Delegated),
    ("interp", Reason::Delegated),
    ("packbits", Reason::Delegated),
    ("unpackbits", Reason::Delegated),
    ("lexsort", Reason::Delegated),
    ("digitize", Reason::Delegated),
    ("searchsorted", Reason::Delegated),
    ("ravel_multi_index", Reason::Delegated),
    ("unravel_index", Reason::Delegated),
    ("putmask", Reason::Delegated),
    ("where", Reason::Delegated),
    ("copyto", Reason::Delegated),
    ("count_nonzero", Reason::Delegated),
    ("flatnonzero", Reason::Delegated),
    ("array_equal", Reason::Library),
    ("may_share_memory", Reason::Library),
    ("shares_memory", Reason::Library),
    ("empty_like", Reason::Library),
    ("einsum", Reason::Library),
    ("roll", Reason::Delegated),
    // These take a better way for arrays that are exactly `ndarray`.
    ("nanmax", Reason::Delegated),
    ("nanmin", Reason::Delegated),
    ("array_repr", Reason::Library),
    ("array_str", Reason::Library),
    ("array2string", Reason::Library),
];

/// Functions in Python that begin with plain arrays for C code. Their operands are computed before, so that the
/// code does not wait for them in page faults.
const READERS: [&str; 53] = [
    "cholesky",
    "cond",
    "corrcoef",
    "cov",
    "delete",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "fft",
    "fft2",
    "fftn",
    "hfft",
    "histogram2d",
    "ifft",
    "ifft2",
    "ifftn",
    "ihfft",
    "insert",
    "intersect1d",
    "inv",
    "irfft",
    "irfft2",
    "irfftn",
    "isin",
    "lstsq",
    "matrix_rank",
    "nan_to_num",
    "nanmean",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "pinv",
    "polyfit",
    "qr",
    "rfft",
    "rfft2",
    "rfftn",
    "setdiff1d",
    "setxor1d",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trim_zeros",
    "union1d",
    "unique",
    "vander",
];

/// `array.__array_function__(func, types, args, kwargs)`.
pub(crate) fn call<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let [function, types, args, kwargs] = call.args else {
        return base(call);
    };
    if overridden(types)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
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
    if let Some(result) = composed(name, types, args, kwargs)? {
        return Ok(result);
    }
    let Some(&(_, reason)) = IN_C.iter().find(|(known, _)| *known == name) else {
        if READERS.binary_search(&name).is_ok() {
            read(args, kwargs)?;
        }
        return quantiles::within(name, args, kwargs, || base(call));
    };
    if !only_arrays(types)? {
        return Ok(py.NotImplemented().into_bound(py));
    }
    if name == "empty_like"
        && let Some(array) = creation::unset_like(args, Some(kwargs))?
    {
        return Ok(array);
    }
    let items: Vec<_> = args.iter().collect();
    let known = || functions::call(py, name, &items, kwargs);
    let reason = match journal::watch(py, name, known)? {
        Outcome::Done(result) => return Ok(result),
        Outcome::Numpy(why) => functions::why_not(why, reason),
    };
    if let ("dot", [a, b], true) = (name, &items[..], kwargs.is_empty())
        && let Some(result) = operations::matmul(py, a, b, false)?
    {
        return Ok(result);
    }
    let Ok(implementation) = function.getattr("_implementation") else {
        return base(call);
    };
    let in_parts = || {
        let found = parts::elementwise(name, &implementation, &items, Some(kwargs))?;
        Ok(found.map_or(Outcome::Numpy(reason), Outcome::Done))
    };
    if let Outcome::Done(result) = journal::watch(py, name, in_parts)? {
        return Ok(result);
    }
    let writes = 0..usize::from(matches!(name, "copyto" | "putmask"));
    delegate::call(
        &implementation,
        &items,
        Some(kwargs),
        writes,
        (name, reason),
    )
}

/// The result of a function that is composed of others (`_composed.py`); none if NumPy's own code is to run.
fn composed<'py>(
    name: &str,
    types: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    static FUNCTIONS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let py = args.py();
    if !state::lazy() {
        return Ok(None);
    }
    let functions = FUNCTIONS.get_or_try_init(py, || {
        let functions = py.import("arrayloom._composed")?.getattr("FUNCTIONS")?;
        Ok::<_, PyErr>(functions.cast_into::<PyDict>()?.unbind())
    })?;
    let Some(function) = functions.bind(py).get_item(name)? else {
        return Ok(None);
    };
    if !only_arrays(types)? {
        return Ok(None);
    }
    // Where somebody wants to know at once, NumPy's own lines tell.
    let Some(caller) = site::capture(py)? else {
        return Ok(None);
    };
    let result = site::called_from(caller, || function.call(args, Some(kwargs)))?;
    Ok(Some(result).filter(|result| !result.is(py.NotImplemented().bind(py))))
}

/// Computes the arrays among the arguments.
fn read(args: &Bound<'_, PyTuple>, kwargs: &Bound<'_, PyDict>) -> PyResult<()> {
    for argument in args.iter().chain(kwargs.values()) {
        if let Some(array) = Arr::of(&argument) {
            sync::read(args.py(), array)?;
        }
    }
    Ok(())
}

/// False if a type that is no kind of `ndarray` takes part: it may have an answer of its own.
fn only_arrays(types: &Bound<'_, PyAny>) -> PyResult<bool> {
    let array = np::array_class(types.py());
    for kind in types.try_iter()? {
        if !kind?.cast::<PyType>()?.is_subclass(&array)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// True if a kind of `ndarray` wants to do the call itself: NumPy asks it before `ndarray`, but not before us,
/// of whom it does not derive.
fn overridden(types: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = types.py();
    let array = np::array_class(py);
    let ours = state::state().lazy_type.bind(py);
    for kind in types.try_iter()? {
        let kind = kind?;
        if kind.is(&array) || kind.is(ours) || !kind.cast::<PyType>()?.is_subclass(&array)? {
            continue;
        }
        let theirs = kind.getattr("__array_function__")?;
        if !theirs.is(np::method(py, "__array_function__")?)
            && !theirs.is(ours.getattr("__array_function__")?)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `ndarray`'s own answer.
fn base<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let own = np::method(py, "__array_function__")?;
    let mut args = vec![call.this.clone()];
    args.extend_from_slice(call.args);
    own.call(PyTuple::new(py, args)?, call.kwargs)
}

#[cfg(test)]
mod tests {
    use super::READERS;

    #[test]
    fn readers_are_in_order() {
        assert!(READERS.is_sorted());
    }
}
