//! What the array type seems to be where code asks for it by name: `x.__class__` is `numpy.ndarray`, and its
//! `__array_ufunc__` equals NumPy's, so that classes which look whether others override it see none that does. Views
//! seem to be of the array that owns the memory, as views of plain arrays are.
#![expect(unsafe_code, reason = "C functions of the type's attributes")]

use crate::np::{self, Arr};
use crate::slot::{enter, lend, object, owned};
use crate::{buffer, state, twin};
use numpy::npyffi::flags::NPY_ARRAY_OWNDATA;
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

/// `ndarray`'s own function for its attribute `base`.
static BASE: OnceLock<ffi::getter> = OnceLock::new();

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

/// Puts our function for the attribute `base` into the place of `ndarray`'s.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let attribute = np::array_class(py).getattr("__dict__")?.get_item("base")?;
    let missing = || PyNotImplementedError::new_err("numpy.ndarray lacks base");
    if attribute.get_type_ptr() != &raw mut ffi::PyGetSetDescr_Type {
        return Err(missing());
    }
    let attribute = attribute.as_ptr().cast::<ffi::PyGetSetDescrObject>();
    // SAFETY: exactly such a descriptor, which the type keeps alive.
    let definition = unsafe { (*attribute).d_getset };
    // SAFETY: NumPy's table of attributes is static and writable.
    let definition = unsafe { &mut *definition };
    let own = definition.get.ok_or_else(missing)?;
    let fresh = BASE.set(own).is_ok();
    debug_assert!(fresh, "the function is looked up once");
    definition.get = Some(get_base);
    Ok(())
}

unsafe extern "C" fn get_base(this: *mut PyObject, closure: *mut c_void) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let array = unsafe { lend(py, this) };
        if let Some(owner) = owner(&array) {
            return Ok(owner);
        }
        match BASE.get() {
            // SAFETY: `ndarray`'s own function with its own arguments.
            Some(own) => owned(py, unsafe { own(this, closure) }),
            None => Ok(py.None().into_bound(py)),
        }
    })
}

/// The array that a view would be of if lazy arrays were of NumPy's type: views of views are of what these are of.
/// None where NumPy's answer is that.
fn owner<'py>(array: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = array.py();
    let lazy = |object: &Bound<'_, PyAny>| object.get_type_ptr() == state::lazy_type();
    let exact =
        |object: &Bound<'_, PyAny>| lazy(object) || object.get_type_ptr() == np::array_type();
    let mut base = Arr::of(array).filter(|_| exact(array))?.base(py)?;
    let mut found = None;
    // NumPy has gone as far as it finds its own type.
    while let Some(view) = Arr::of(&base).filter(|view| !view.has(NPY_ARRAY_OWNDATA))
        && let Some(next) = owner(&base).or_else(|| view.base(py)).filter(exact)
        && (lazy(array) || lazy(&base) || lazy(&next))
    {
        found = Some(next.clone());
        base = next;
    }
    found
}
