//! The type of the lazy type: a `type` whose one instance equals `numpy.ndarray`.
//!
//! `type(x) == numpy.ndarray` and tables whose keys are types then hold for lazy arrays too. Identity,
//! `type(x) is numpy.ndarray`, is nothing that a type can change.
#![expect(unsafe_code, reason = "makes a type from C slots")]
#![expect(
    clippy::fn_to_numeric_cast_any,
    reason = "a type's slots are functions of many types behind untyped pointers"
)]

use crate::lazy_type::slot;
use crate::np;
use crate::slot::{enter, equality, lend, object, owned};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::c_int;
use std::ptr;

/// Makes a type that derives from `numpy.ndarray` equal to it.
pub(crate) fn equal_to_base(kind: &Bound<'_, PyAny>) -> PyResult<()> {
    let meta = make(kind.py())?.into_ptr();
    // SAFETY: a live type, which nobody else has seen so far.
    let place = unsafe { &raw mut (*kind.as_ptr()).ob_type };
    // SAFETY: `meta` derives from `type` and adds no fields; its reference is the type's from here on. What was
    // there is `type` itself, which needs none.
    unsafe { place.write(meta.cast()) };
    Ok(())
}

fn make(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut slots = [
        slot(ffi::Py_tp_richcompare, compare as *const ()),
        slot(ffi::Py_tp_hash, hash as *const ()),
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"numpy.type".as_ptr(),
        basicsize: 0, // that of `type`
        itemsize: 0,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "type flags are 32 bits wide here"
        )]
        flags: ffi::Py_TPFLAGS_DEFAULT as _,
        slots: slots.as_mut_ptr(),
    };
    let base = py.get_type::<pyo3::types::PyType>();
    let bases = pyo3::types::PyTuple::new(py, [base])?;
    // SAFETY: the spec and its slots live during the call; the name lives for good.
    let made = unsafe { ffi::PyType_FromSpecWithBases(&raw mut spec, bases.as_ptr()) };
    owned(py, made)
}

unsafe extern "C" fn compare(
    this: *mut PyObject,
    other: *mut PyObject,
    operator: c_int,
) -> *mut PyObject {
    object(|py| {
        let same = ptr::eq(this, other) || ptr::eq(other.cast(), np::array_type());
        equality(py, operator, same)
    })
}

/// The hash of `numpy.ndarray`.
unsafe extern "C" fn hash(_: *mut PyObject) -> ffi::Py_hash_t {
    enter(|py| {
        // SAFETY: NumPy's type object is static.
        unsafe { lend(py, np::array_type().cast()) }.hash()
    })
}
