//! What the array type seems to be where code asks for it by name: `x.__class__` is `numpy.ndarray`, and its
//! `__array_ufunc__` equals NumPy's, so that classes which look whether others override it see none that does.
#![expect(unsafe_code, reason = "C functions of the type's attributes")]

use crate::slot::{enter, lend, object};
use crate::{buffer, np, state, twin};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr;

/// The attribute `__class__`.
pub(crate) fn class() -> ffi::PyGetSetDef {
    ffi::PyGetSetDef {
        name: c"__class__".as_ptr(),
        get: Some(get_class),
        set: Some(set_class),
        doc: ptr::null(),
        closure: ptr::null_mut(),
    }
}

/// `numpy.ndarray` for a lazy array, its own type for one of a derived type.
unsafe extern "C" fn get_class(this: *mut PyObject, _: *mut c_void) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let this = unsafe { lend(py, this) };
        Ok(if this.get_type_ptr() == state::lazy_type() {
            np::array_class(py).clone()
        } else {
            this.get_type().into_any()
        })
    })
}

/// What `object` does with a new class.
unsafe extern "C" fn set_class(this: *mut PyObject, value: *mut PyObject, _: *mut c_void) -> c_int {
    enter(|py| {
        // SAFETY: the interpreter lends the array.
        let this = unsafe { lend(py, this) };
        let own = py
            .get_type::<PyAny>()
            .getattr("__dict__")?
            .get_item("__class__")?;
        // SAFETY: the interpreter lends the value, or there is none.
        unsafe { buffer::assign(&own, &this, value) }
    })
}

/// Lets the type's `__array_ufunc__` equal that of `numpy.ndarray`.
pub(crate) fn equal_array_ufunc(kind: &Bound<'_, PyAny>) -> PyResult<()> {
    const NAME: &str = "__array_ufunc__";
    let theirs = np::array_class(kind.py()).getattr(NAME)?;
    kind.setattr(NAME, twin::method(kind.getattr(NAME)?, theirs)?)
}
