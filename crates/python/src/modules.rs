//! Modules of Python that are looked up once: where the interpreter ends, objects still compute, but nothing can be
//! imported any more.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

static NUMPY: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
static SYS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
static WARNINGS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();

/// Looks all of them up.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    numpy(py).and(sys(py)).and(warnings(py)).map(|_module| ())
}

/// `numpy`.
pub(crate) fn numpy(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    kept(py, &NUMPY, "numpy")
}

/// `sys`.
pub(crate) fn sys(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    kept(py, &SYS, "sys")
}

/// `warnings`.
pub(crate) fn warnings(py: Python<'_>) -> PyResult<&Bound<'_, PyModule>> {
    kept(py, &WARNINGS, "warnings")
}

fn kept<'py>(
    py: Python<'py>,
    place: &'static PyOnceLock<Py<PyModule>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyModule>> {
    let module = place.get_or_try_init(py, || py.import(name).map(Bound::unbind))?;
    Ok(module.bind(py))
}
