//! Results of NumPy that lie in the arena become lazy arrays, and small views of values that are there plain
//! ones.
#![expect(unsafe_code, reason = "changes the type of a fresh array")]

use crate::np::{self, Arr};
use crate::{birth, state, sync};
use pyo3::ffi;
use pyo3::prelude::*;

/// Gives a fresh plain array in the arena our type. Leaves every other object alone.
///
/// Only an array that nobody else holds is changed: both types have the same layout, so the one moment
/// where the type matters is when the object is looked at by others.
pub(crate) fn lift(object: &Bound<'_, PyAny>) {
    // SAFETY: a live object.
    let holders = unsafe { ffi::Py_REFCNT(object.as_ptr()) };
    if holders == 1 {
        lift_held(object);
    }
}

/// Does so for an array that a function of NumPy has just made and still holds.
pub(crate) fn lift_held(object: &Bound<'_, PyAny>) {
    if object.get_type_ptr() != np::array_type() {
        return;
    }
    let Some(array) = Arr::of(object) else { return };
    let fits = array
        .dtype()
        .is_some_and(|dtype| birth::worth_it(dtype, array.shape()))
        && state::engine().slot_at(array.addr()).is_some();
    if !fits {
        return;
    }
    let kind = state::lazy_type();
    // SAFETY: a live type; the object holds this reference from now on, as heap types want.
    unsafe { ffi::Py_INCREF(kind.cast()) };
    // SAFETY: the types have the same size and fields, and no C code is at work on the object.
    unsafe { (*object.as_ptr()).ob_type = kind };
}

/// Makes a fresh view plain that is small and whose values lie at their address: a row, a column, a corner.
/// NumPy works on it as quickly as without us, and the pages tell us when that matters.
pub(crate) fn lower(view: &Bound<'_, PyAny>) {
    // SAFETY: a live object.
    let holders = unsafe { ffi::Py_REFCNT(view.as_ptr()) };
    if holders != 1 || view.get_type_ptr() != state::lazy_type() {
        return;
    }
    // SAFETY: the type is that of lazy arrays.
    let array = unsafe { Arr::new(view.as_ptr()) };
    if array.nbytes() >= state::min_bytes() || !sync::is_value_there(array) {
        return;
    }
    // SAFETY: a static type with the same size and fields; no C code is at work on the object.
    unsafe { (*view.as_ptr()).ob_type = np::array_type() };
    // SAFETY: the object held this reference to its heap type.
    unsafe { ffi::Py_DECREF(state::lazy_type().cast()) };
}
