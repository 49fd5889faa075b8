//! What the array type seems to be where code asks for it by name: `x.__class__` is `numpy.ndarray`, and its
//! `__array_ufunc__` equals NumPy's, so that classes which look whether others override it see none that does.
#![expect(unsafe_code, reason = "C functions of the type's attributes")]

use crate::slot::{enter, lend, object, owned};
use crate::{buffer, np, state};
use pyo3::basic::CompareOp;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
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
    let py = kind.py();
    let method = kind.getattr(NAME)?.unbind();
    kind.setattr(NAME, Bound::new(py, ArrayUfunc { method })?)
}

const NAME: &str = "__array_ufunc__";

/// A method that is ours and equals NumPy's.
#[pyclass(frozen, name = "method_descriptor", module = "arrayloom._ext")]
struct ArrayUfunc {
    method: Py<PyAny>,
}

/// NumPy's own.
fn theirs(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    np::array_class(py).getattr(NAME)
}

#[pymethods]
impl ArrayUfunc {
    fn __get__<'py>(
        this: Bound<'py, Self>,
        instance: Option<&Bound<'py, PyAny>>,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match instance {
            None => Ok(this.into_any()),
            Some(instance) => {
                let method = this.get().method.bind(this.py());
                method.call_method1("__get__", (instance, owner))
            }
        }
    }

    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kwargs = kwargs.map_or(ptr::null_mut(), Bound::as_ptr);
        // SAFETY: a callable, a tuple, and a dictionary or null.
        owned(py, unsafe {
            ffi::PyObject_Call(self.method.as_ptr(), args.as_ptr(), kwargs)
        })
    }

    fn __richcmp__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
        operator: CompareOp,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        let same = this.is(other) || theirs(py)?.is(other);
        Ok(match operator {
            CompareOp::Eq if same => true.into_pyobject(py)?.to_owned().into_any(),
            CompareOp::Ne if same => false.into_pyobject(py)?.to_owned().into_any(),
            _ => py.NotImplemented().into_bound(py),
        })
    }

    fn __hash__(this: &Bound<'_, Self>) -> PyResult<isize> {
        theirs(this.py())?.hash()
    }

    fn __repr__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Ok(theirs(this.py())?.repr()?.into_any())
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.method.bind(py).getattr(name)
    }
}
