//! The way into our code from C: errors become Python exceptions, panics too.
#![expect(unsafe_code, reason = "turns C pointers into safe references")]

use crate::error;
use crate::leaving::Within;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What a C slot returns in case of an error.
pub(crate) trait Failed {
    /// The value that means "an exception is set".
    const FAILED: Self;
}

impl Failed for *mut PyObject {
    const FAILED: Self = ptr::null_mut();
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

impl Failed for isize {
    const FAILED: Self = -1;
}

/// Runs the body of a slot that C calls with the interpreter attached.
pub(crate) fn enter<T: Failed>(body: impl FnOnce(Python<'_>) -> PyResult<T>) -> T {
    // SAFETY: C slots are only called by the interpreter, with this thread attached.
    let py = unsafe { Python::assume_attached() };
    let whole = || {
        let within = Within::new(py);
        let result = body(py);
        within.leave();
        result
    };
    match catch_unwind(AssertUnwindSafe(whole)) {
        Ok(Ok(value)) => value,
        Ok(Err(error)) => {
            error.restore(py);
            T::FAILED
        }
        Err(_) => {
            error::internal(
                py,
                "a check inside arrayloom failed; the message is on standard error",
            )
            .restore(py);
            T::FAILED
        }
    }
}

/// Runs the body of a slot that returns an object.
pub(crate) fn object(
    body: impl for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>>,
) -> *mut PyObject {
    enter(|py| body(py).map(Bound::into_ptr))
}

/// What a comparison gives of objects that are the `same`; of others Python asks on.
pub(crate) fn equality(py: Python<'_>, operator: c_int, same: bool) -> PyResult<Bound<'_, PyAny>> {
    Ok(match operator {
        ffi::Py_EQ if same => true.into_pyobject(py)?.to_owned().into_any(),
        ffi::Py_NE if same => false.into_pyobject(py)?.to_owned().into_any(),
        _ => py.NotImplemented().into_bound(py),
    })
}

/// A safe handle for an object that C lends us for the duration of a call.
///
/// # Safety
/// The pointer is not null and the object outlives the returned handle's use.
pub(crate) unsafe fn lend(py: Python<'_>, object: *mut PyObject) -> Bound<'_, PyAny> {
    // SAFETY: promised by the caller.
    unsafe { Bound::from_borrowed_ptr(py, object) }
}

/// The result of a C function that returns a new reference or null with an exception.
pub(crate) fn owned(py: Python<'_>, object: *mut PyObject) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: that is what the caller's function returns.
    unsafe { Bound::from_owned_ptr_or_err(py, object) }
}

/// Checks the result of a C function that returns -1 with an exception.
pub(crate) fn checked<T: Failed + PartialEq>(py: Python<'_>, value: T) -> PyResult<T> {
    // SAFETY: the interpreter is attached.
    if value == T::FAILED && !unsafe { ffi::PyErr_Occurred() }.is_null() {
        return Err(PyErr::fetch(py));
    }
    Ok(value)
}
