//! `numpy.ndarray.__array_ufunc__`, as subclasses of users call it through `super()`.
//!
//! NumPy's method gives up when an operand's type has a method of its own, as that of lazy arrays has.
//! Its entry is replaced by one that takes lazy operands; the method object stays the same, because
//! NumPy knows types without an override by it.
#![expect(unsafe_code, reason = "replaces the C function of a method")]

use crate::array_ufunc;
use crate::np;
use crate::slot::{lend, object, owned};
use crate::state;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ptr;
use std::sync::OnceLock;

/// NumPy's own function.
static OWN: OnceLock<ffi::PyCFunctionWithKeywords> = OnceLock::new();

/// Replaces the function. Does nothing if the method is not the C method that NumPy has made.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    const FLAGS: i32 = ffi::METH_VARARGS | ffi::METH_KEYWORDS;
    let class = np::array_class(py);
    let Some(definition) = np::definition(&class, "__array_ufunc__", FLAGS)? else {
        return Ok(());
    };
    // SAFETY: the flags say that it is such a function.
    let own = unsafe { definition.ml_meth.PyCFunctionWithKeywords };
    OWN.get_or_init(|| own);
    definition.ml_meth.PyCFunctionWithKeywords = call;
    Ok(())
}

unsafe extern "C" fn call(
    this: *mut PyObject,
    args: *mut PyObject,
    kwargs: *mut PyObject,
) -> *mut PyObject {
    let Some(own) = OWN.get() else {
        return ptr::null_mut();
    };
    object(|py| {
        // SAFETY: the interpreter lends the arguments; they are a tuple.
        let operands = unsafe { lend(py, args) }.cast_into::<PyTuple>()?;
        // SAFETY: a dictionary that the interpreter lends, or null.
        let words = unsafe { Bound::from_borrowed_ptr_or_opt(py, kwargs) };
        let words = words.map(Bound::cast_into::<PyDict>).transpose()?;
        if takes_lazy(&operands, words.as_ref())? {
            return array_ufunc::call(&operands, words.as_ref());
        }
        // SAFETY: NumPy's function with its own arguments.
        owned(py, unsafe { own(this, args, kwargs) })
    })
}

/// True if an operand, a result or the mask is a lazy array.
fn takes_lazy(args: &Bound<'_, PyTuple>, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<bool> {
    let lazy = |object: &Bound<'_, PyAny>| object.get_type_ptr() == state::lazy_type();
    if args.iter().skip(2).any(|operand| lazy(&operand)) {
        return Ok(true);
    }
    let Some(kwargs) = kwargs else {
        return Ok(false);
    };
    let outs = array_ufunc::outputs(Some(kwargs))?;
    Ok(outs.iter().any(lazy) || kwargs.get_item("where")?.is_some_and(|mask| lazy(&mask)))
}
