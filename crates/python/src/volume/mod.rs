//! Filters and volumes for Python: expressions are built here and run without the interpreter lock.

mod calls;
mod devices;
mod expr;
mod kernels;
mod manifest;
mod memory;
mod running;
mod statistic;
pub(crate) mod steps;

pub(crate) use expr::VolumeExpr;

use arrayloom_volume::VolumeError;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The Python exception for an error on a volume.
pub(crate) fn to_python(py: Python<'_>, error: &VolumeError) -> PyErr {
    use arrayloom_types::ErrorKind;
    let text = error.to_string();
    let ours = |class: &str| -> PyResult<PyErr> {
        let class = py.import("arrayloom.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call1((text.clone(),))?))
    };
    let class = match error {
        VolumeError::TooSmall { .. } => "BudgetError",
        VolumeError::Cancelled { .. } => "CancelledError",
        other => match other.kind() {
            ErrorKind::Memory => "OutOfMemoryError",
            ErrorKind::Type => return PyTypeError::new_err(text),
            ErrorKind::Value => return PyValueError::new_err(text),
            ErrorKind::Io => return PyOSError::new_err(text),
            _ => return PyRuntimeError::new_err(text),
        },
    };
    ours(class).unwrap_or_else(|_| PyRuntimeError::new_err(text.clone()))
}
