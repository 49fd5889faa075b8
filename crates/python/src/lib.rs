//! The Python extension module of arrayloom: the only crate that knows Python.

use pyo3::prelude::*;

/// The native half of the package `arrayloom`.
#[pymodule]
#[pyo3(name = "_ext")]
mod ext {}

