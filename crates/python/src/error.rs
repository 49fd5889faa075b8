//! The one map from our errors to Python's.

use crate::memory;
use arrayloom_engine::EngineError;
use arrayloom_types::ErrorKind;
use pyo3::exceptions::{
    PyIndexError, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

/// The Python exception for an error of the engine.
pub(crate) fn to_python(py: Python<'_>, error: &EngineError) -> PyErr {
    let mut text = error.to_string();
    if let EngineError::OutOfMemory(shortage) = error
        && !shortage.owners.is_empty()
    {
        text = format!(
            "{text}. Largest: {}",
            memory::owners_text(py, &shortage.owners)
        );
    }
    if let EngineError::BadSetting { .. } = error {
        return ours(py, "SettingError", &text).unwrap_or_else(|_| PyValueError::new_err(text));
    }
    let class = match error.kind() {
        ErrorKind::Type => return PyTypeError::new_err(text),
        ErrorKind::Value => return PyValueError::new_err(text),
        ErrorKind::Index => return PyIndexError::new_err(text),
        ErrorKind::Io => return PyOSError::new_err(text),
        ErrorKind::Memory => "OutOfMemoryError",
        ErrorKind::Device => "DeviceError",
        ErrorKind::Unsupported => "UnsupportedError",
        _ => "InternalError",
    };
    ours(py, class, &text).unwrap_or_else(|_| match error.kind() {
        ErrorKind::Memory => PyMemoryError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    })
}

/// A bug of ours, as a Python exception.
pub(crate) fn internal(py: Python<'_>, text: &str) -> PyErr {
    ours(py, "InternalError", text).unwrap_or_else(|_| PyRuntimeError::new_err(text.to_owned()))
}

fn ours(py: Python<'_>, class: &str, text: &str) -> PyResult<PyErr> {
    let class = py.import("arrayloom.errors")?.getattr(class)?;
    Ok(PyErr::from_value(class.call1((text,))?))
}
