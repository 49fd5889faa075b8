//! The net for C code: exports of an array's memory sync first.
//!
//! The same functions serve lazy arrays and, put into `numpy.ndarray` itself, plain views of their
//! memory. Whatever comes past them touches protected pages and is served there. While a buffer is out,
//! the memory behind it cannot be freed early.
#![expect(unsafe_code, reason = "C slots of the array types")]

use crate::np::{self, Arr};
use crate::slot::{checked, enter, lend, object, owned};
use crate::{bridge, seeming, state, sync};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// `ndarray`'s own functions.
struct Own {
    buffer: ffi::getbufferproc,
    tofile: ffi::PyCFunctionWithKeywords,
}

static OWN: OnceLock<Own> = OnceLock::new();

/// Looks up `ndarray`'s functions and puts ours into their places.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let missing =
        |what: &str| PyNotImplementedError::new_err(format!("numpy.ndarray lacks {what}"));
    // SAFETY: NumPy's type object is static, and only this thread uses it now.
    let procs = unsafe { (*np::array_type()).tp_as_buffer };
    // SAFETY: `ndarray` exports buffers.
    let buffer = unsafe { (*procs).bf_getbuffer }.ok_or_else(|| missing("a buffer"))?;
    let method = np::method(py, "tofile")?;
    // SAFETY: a method of a C type is a method descriptor.
    let definition = unsafe { (*method.as_ptr().cast::<ffi::PyMethodDescrObject>()).d_method };
    // SAFETY: NumPy's method table is static.
    let flags = unsafe { (*definition).ml_flags };
    if flags != ffi::METH_VARARGS | ffi::METH_KEYWORDS {
        return Err(missing("tofile as this version knows it"));
    }
    // SAFETY: as above.
    let own = unsafe { (*definition).ml_meth };
    // SAFETY: the flags say that it is this member of the union.
    let own = unsafe { own.PyCFunctionWithKeywords };
    let fresh = OWN
        .set(Own {
            buffer,
            tofile: own,
        })
        .is_ok();
    debug_assert!(fresh, "the functions are looked up once");
    // SAFETY: the static tables of NumPy are writable; ours have the same types.
    unsafe { (*procs).bf_getbuffer = Some(get_buffer) };
    // SAFETY: as above.
    unsafe {
        (*definition).ml_meth = ffi::PyMethodDefPointer {
            PyCFunctionWithKeywords: tofile,
        }
    };
    Ok(())
}

fn own() -> &'static Own {
    #[expect(clippy::expect_used, reason = "the slots are used only after `init`")]
    OWN.get().expect("buffer::init ran at import")
}

/// `bf_getbuffer`: the value is computed before the pointer leaves.
pub(crate) unsafe extern "C" fn get_buffer(
    this: *mut PyObject,
    view: *mut ffi::Py_buffer,
    flags: c_int,
) -> c_int {
    enter(|py| {
        // SAFETY: the slot belongs to an array type.
        let array = unsafe { Arr::new(this) };
        if flags & ffi::PyBUF_WRITABLE != 0 && array.writeable() {
            sync::write(py, array)?;
        } else {
            sync::read(py, array)?;
        }
        // SAFETY: `ndarray`'s own slot with its own arguments.
        let done = checked(py, unsafe { (own().buffer)(this, view, flags) })?;
        if done == 0 && state::engine().slot_at(array.addr()).is_some() {
            // SAFETY: the interpreter lends the array.
            let lent = unsafe { lend(py, this) };
            // SAFETY: NumPy has just filled the buffer for it.
            unsafe { count_until_release(&lent, view) }?;
        }
        Ok(done)
    })
}

/// What a buffer of our memory says that it belongs to. It keeps the array, and is dropped when the buffer
/// is released, so that the export is counted for as long.
#[pyclass(frozen, module = "arrayloom._ext")]
pub(crate) struct BufferExport {
    #[expect(dead_code, reason = "it only counts")]
    owner: bridge::Owner,
    array: Py<PyAny>,
}

#[pymethods]
impl BufferExport {
    /// The array whose memory it is.
    #[getter]
    fn array(&self, py: Python<'_>) -> Py<PyAny> {
        self.array.clone_ref(py)
    }

    /// Whatever else code asks the owner of a buffer for, such as its `dtype`, the array has.
    fn __getattr__<'py>(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.array.bind(name.py()).getattr(name)
    }

    /// A copy of the owner, or its pickle, is one of the array.
    fn __reduce_ex__<'py>(&self, protocol: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array.bind(protocol.py());
        array.call_method1("__reduce_ex__", (protocol,))
    }

    /// A buffer of the same memory, for who asks the owner of one, as `pickle.PickleBuffer` does.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let py = slf.py();
        let array = slf.get().array.bind(py);
        // SAFETY: the interpreter lends the buffer; the array fills it.
        checked(py, unsafe {
            ffi::PyObject_GetBuffer(array.as_ptr(), view, flags)
        })
        .map(|_done| ())
    }
}

/// Puts an owner that counts into a buffer.
///
/// # Safety
/// `view` was filled by `ndarray` for `array`.
unsafe fn count_until_release(array: &Bound<'_, PyAny>, view: *mut ffi::Py_buffer) -> PyResult<()> {
    let py = array.py();
    let export = BufferExport {
        owner: bridge::Owner::new(array),
        array: array.clone().unbind(),
    };
    let export = match Bound::new(py, export) {
        Ok(export) => export.into_ptr(),
        Err(error) => {
            // SAFETY: the buffer is filled and nobody has it yet.
            unsafe { ffi::PyBuffer_Release(view) };
            return Err(error);
        }
    };
    // SAFETY: promised by the caller; nobody else has the buffer yet.
    let view = unsafe { &mut *view };
    let old = std::mem::replace(&mut view.obj, export);
    // SAFETY: the buffer's reference to the array is not used any more; the new owner has its own.
    unsafe { ffi::Py_XDECREF(old) };
    Ok(())
}

unsafe extern "C" fn tofile(
    this: *mut PyObject,
    args: *mut PyObject,
    kwargs: *mut PyObject,
) -> *mut PyObject {
    object(|py| {
        // SAFETY: a method of an array type.
        sync::read(py, unsafe { Arr::new(this) })?;
        // SAFETY: `ndarray`'s own method with its own arguments.
        owned(py, unsafe { (own().tofile)(this, args, kwargs) })
    })
}

/// Attributes that hand the pointer out: they sync, then NumPy gives its own answer.
const EXPORTS: [&std::ffi::CStr; 5] = [
    c"__array_interface__",
    c"__array_struct__",
    c"data",
    c"ctypes",
    c"flat",
];

/// The attributes as C wants them, ended by zeros.
pub(crate) fn attributes() -> Vec<ffi::PyGetSetDef> {
    let define = |name: &&'static std::ffi::CStr| ffi::PyGetSetDef {
        name: name.as_ptr(),
        get: Some(get_attribute),
        set: Some(set_attribute),
        doc: std::ptr::null(),
        closure: name.as_ptr().cast_mut().cast(),
    };
    let mut all: Vec<_> = EXPORTS.iter().map(define).collect();
    all.push(seeming::class());
    all.push(ffi::PyGetSetDef::default());
    all
}

/// `ndarray`'s own attribute of this name.
fn base_attribute(py: Python<'_>, name: *mut c_void) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the closure is one of the static names.
    let name = unsafe { std::ffi::CStr::from_ptr(name.cast()) };
    let name = name.to_str().unwrap_or_default();
    np::array_class(py).getattr("__dict__")?.get_item(name)
}

unsafe extern "C" fn get_attribute(this: *mut PyObject, name: *mut c_void) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the array.
        let this = unsafe { lend(py, this) };
        if let Some(array) = Arr::of(&this) {
            if array.writeable() {
                sync::write(py, array)?;
            } else {
                sync::read(py, array)?;
            }
        }
        base_attribute(py, name)?.call_method1("__get__", (this,))
    })
}

unsafe extern "C" fn set_attribute(
    this: *mut PyObject,
    value: *mut PyObject,
    name: *mut c_void,
) -> c_int {
    enter(|py| {
        // SAFETY: the interpreter lends the array.
        let this = unsafe { lend(py, this) };
        if let Some(array) = Arr::of(&this) {
            sync::write(py, array)?;
        }
        // SAFETY: the interpreter lends the value, or there is none.
        unsafe { assign(&base_attribute(py, name)?, &this, value) }
    })
}

/// Sets or, where the value is null, deletes what an attribute describes, as slots of types do.
///
/// # Safety
/// The value is null, or an object that lives during the call.
pub(crate) unsafe fn assign(
    attribute: &Bound<'_, PyAny>,
    this: &Bound<'_, PyAny>,
    value: *mut PyObject,
) -> PyResult<c_int> {
    if value.is_null() {
        attribute.call_method1("__delete__", (this,))?;
    } else {
        // SAFETY: promised by the caller.
        attribute.call_method1("__set__", (this, unsafe { lend(this.py(), value) }))?;
    }
    Ok(0)
}
