//! Indexing of plain arrays by lazy ones: keys and values are computed before NumPy reads their memory, where an
//! error has a line and other threads help, and not by the page fault that NumPy's reading would be.
#![expect(unsafe_code, reason = "replaces C slots of numpy.ndarray")]

use crate::np::{self, Arr};
use crate::slot::enter;
use crate::{state, sync};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;

/// `ndarray`'s own functions.
struct Own {
    subscript: ffi::binaryfunc,
    assign: ffi::objobjargproc,
}

static OWN: OnceLock<Own> = OnceLock::new();

/// Puts our functions into `ndarray`'s places. Our own type has looked up NumPy's before.
pub(crate) fn init() -> PyResult<()> {
    // SAFETY: NumPy's type object is static, and only this thread uses it now.
    let mapping = unsafe { (*np::array_type()).tp_as_mapping };
    // SAFETY: `ndarray` is a mapping, whose table is writable.
    let mapping = unsafe { &mut *mapping };
    let missing = || PyNotImplementedError::new_err("numpy.ndarray lacks an index slot");
    let own = Own {
        subscript: mapping.mp_subscript.ok_or_else(missing)?,
        assign: mapping.mp_ass_subscript.ok_or_else(missing)?,
    };
    let fresh = OWN.set(own).is_ok();
    debug_assert!(fresh, "the slots are looked up once");
    mapping.mp_subscript = Some(patched_subscript);
    mapping.mp_ass_subscript = Some(patched_assign);
    Ok(())
}

/// The object if it is exactly a lazy array.
#[inline]
fn lazy(object: *mut PyObject) -> Option<Arr> {
    // SAFETY: the interpreter lends what slots get; a deletion has no value.
    let is_lazy = !object.is_null() && unsafe { ffi::Py_TYPE(object) } == state::lazy_type();
    // SAFETY: exactly an array.
    is_lazy.then(|| unsafe { Arr::new(object) })
}

/// The parts of a key that is a tuple.
#[inline]
fn parts(key: *mut PyObject) -> impl Iterator<Item = *mut PyObject> {
    // SAFETY: the interpreter lends the key.
    let is_tuple = unsafe { ffi::PyTuple_CheckExact(key) } != 0;
    // SAFETY: exactly a tuple.
    let length = is_tuple.then(|| unsafe { ffi::PyTuple_GET_SIZE(key) });
    // SAFETY: a number below the tuple's length; nobody changes a tuple.
    (0..length.unwrap_or(0)).map(move |number| unsafe { ffi::PyTuple_GET_ITEM(key, number) })
}

/// Whether one of a key and a value is lazy. This runs before all indexing of plain arrays, so it does as little as
/// it can.
#[inline]
fn has_lazy(key: *mut PyObject, value: *mut PyObject) -> bool {
    lazy(key).or_else(|| lazy(value)).is_some() || parts(key).any(|part| lazy(part).is_some())
}

/// Computes the lazy ones among a key, its parts and a value.
fn compute(key: *mut PyObject, value: *mut PyObject) -> c_int {
    enter(|py| {
        let all = [key, value].into_iter().chain(parts(key));
        for array in all.filter_map(lazy) {
            sync::read(py, array)?;
        }
        Ok(0)
    })
}

unsafe extern "C" fn patched_subscript(this: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    let Some(own) = OWN.get() else {
        return ptr::null_mut();
    };
    if has_lazy(key, ptr::null_mut()) && compute(key, ptr::null_mut()) != 0 {
        return ptr::null_mut();
    }
    // SAFETY: `ndarray`'s own slot with its own arguments.
    unsafe { (own.subscript)(this, key) }
}

unsafe extern "C" fn patched_assign(
    this: *mut PyObject,
    key: *mut PyObject,
    value: *mut PyObject,
) -> c_int {
    let Some(own) = OWN.get() else {
        return -1;
    };
    if has_lazy(key, value) && compute(key, value) != 0 {
        return -1;
    }
    // SAFETY: `ndarray`'s own slot with its own arguments.
    unsafe { (own.assign)(this, key, value) }
}
