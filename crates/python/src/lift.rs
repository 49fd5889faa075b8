//! Results of NumPy that lie in the arena become lazy arrays, and small views of values that are there stay plain
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
    if is_new(object) {
        lift_held(object);
    }
}

/// True for an object that nobody else holds.
pub(crate) fn is_new(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: a live object.
    unsafe { ffi::Py_REFCNT(object.as_ptr()) == 1 }
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
    if fits {
        make_lazy(object);
    }
}

/// Gives a plain array our type.
pub(crate) fn make_lazy(object: &Bound<'_, PyAny>) {
    let kind = state::lazy_type();
    // SAFETY: a live type; the object holds this reference from now on, as heap types want.
    unsafe { ffi::Py_INCREF(kind.cast()) };
    // SAFETY: the types have the same size and fields, and no C code is at work on the object.
    unsafe { (*object.as_ptr()).ob_type = kind };
}

/// True for a view that is small and whose values lie at their address, such as a row, a column or a corner. NumPy works
/// on it as quickly as without us, and the pages tell us when that matters.
pub(crate) fn stays_plain(view: Arr) -> bool {
    view.nbytes() < state::min_bytes() && sync::is_value_there(view)
}

/// Runs `work` while a lazy array is plain: what NumPy makes of it then is plain too, and NumPy asks our type for nothing.
pub(crate) fn while_plain<T>(array: &Bound<'_, PyAny>, work: impl FnOnce() -> T) -> T {
    let _lazy_again = Swapped::new(array.as_ptr(), np::array_type());
    work()
}

/// An object that has another type of the same size and fields until the end. It holds the reference to its own type all
/// the time.
struct Swapped {
    object: *mut ffi::PyObject,
    own: *mut ffi::PyTypeObject,
}

impl Swapped {
    fn new(object: *mut ffi::PyObject, other: *mut ffi::PyTypeObject) -> Swapped {
        // SAFETY: a live object that the caller holds, of a type with the same size and fields.
        let own = unsafe { std::mem::replace(&mut (*object).ob_type, other) };
        Swapped { object, own }
    }
}

impl Drop for Swapped {
    fn drop(&mut self) {
        // SAFETY: the caller holds the object during its work.
        unsafe { (*self.object).ob_type = self.own };
    }
}
