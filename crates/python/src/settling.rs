//! Functions of other libraries that read memory where nobody can wait for it: their arrays get their values first.

use crate::np::Arr;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A function or method that is called once all arrays among its arguments have their values. It has no frame of
/// Python's, so that what the function says of its callers, such as the lines of warnings, stays true.
#[pyclass(frozen, dict, module = "arrayloom._ext")]
pub(crate) struct Settling {
    function: Py<PyAny>,
}

#[pymethods]
impl Settling {
    #[new]
    fn new(function: Py<PyAny>) -> Settling {
        Settling { function }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        for value in args {
            settle(&value)?;
        }
        for (_, value) in kwargs.into_iter().flatten() {
            settle(&value)?;
        }
        self.function.bind(args.py()).call(args, kwargs)
    }

    /// It becomes a method as the function does.
    fn __get__<'py>(
        slf: Bound<'py, Self>,
        object: &Bound<'py, PyAny>,
        _kind: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if object.is_none() {
            return Ok(slf.into_any());
        }
        let kind = slf.py().import("types")?.getattr("MethodType")?;
        kind.call1((slf, object))
    }
}

/// Brings in the values of an array, if it is one. An export makes the memory ready, of plain views too; dtypes without
/// one are never lazy.
#[pyfunction]
pub(crate) fn settle(value: &Bound<'_, PyAny>) -> PyResult<()> {
    if Arr::of(value).is_none() {
        return Ok(());
    }
    match value.getattr("data") {
        Ok(export) => export.call_method0("release").map(drop),
        Err(error) if has_no_export(value.py(), &error) => Ok(()),
        Err(error) => Err(error),
    }
}

/// True for what NumPy raises of arrays whose dtype no buffer can have.
fn has_no_export(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyBufferError>(py)
        || error.is_instance_of::<PyTypeError>(py)
        || error.is_instance_of::<PyValueError>(py)
}
