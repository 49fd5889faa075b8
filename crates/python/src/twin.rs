//! Callables of ours that equal NumPy's: tables whose keys are functions find the one by the other.
//!
//! A function that NumPy's protocols hand to other classes is NumPy's own, while a program that runs on arrayloom
//! has ours under the same name. Such a pair is a twin: it is called as ours and has the attributes of ours, and it is hashed,
//! compared, printed and pickled as NumPy's.
#![expect(unsafe_code, reason = "makes a type from C slots")]
#![expect(
    clippy::fn_to_numeric_cast_any,
    reason = "a type's slots are functions of many types behind untyped pointers"
)]

use crate::lazy_type::slot;
use crate::slot::{enter, equality, lend, object, owned};
use pyo3::exceptions::PyAttributeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{CStr, c_int};
use std::mem::offset_of;
use std::ptr;

/// An instance. It holds its references for good.
#[repr(C)]
struct Twin {
    base: PyObject,
    is: Is,
}

/// What a twin is.
#[repr(C)]
struct Is {
    call: ffi::vectorcallfunc,
    /// Weak references to it, which equal those to NumPy's callable.
    weak: *mut PyObject,
    ours: *mut PyObject,
    theirs: *mut PyObject,
    /// It becomes a method of the objects whose type has it.
    binds: bool,
}

/// Makes a function that does what `ours` does and equals NumPy's.
pub(crate) fn function<'py>(
    ours: Bound<'py, PyAny>,
    theirs: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    make(ours, theirs, call_ours, false)
}

/// Makes a function that `call` does and that equals NumPy's; `ours` has its attributes.
pub(crate) fn builtin<'py>(
    ours: Bound<'py, PyAny>,
    theirs: Bound<'py, PyAny>,
    call: ffi::vectorcallfunc,
) -> PyResult<Bound<'py, PyAny>> {
    make(ours, theirs, call, false)
}

/// Makes a method that does what `ours` does and equals NumPy's.
pub(crate) fn method<'py>(
    ours: Bound<'py, PyAny>,
    theirs: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    make(ours, theirs, call_ours, true)
}

fn make<'py>(
    ours: Bound<'py, PyAny>,
    theirs: Bound<'py, PyAny>,
    call: ffi::vectorcallfunc,
    binds: bool,
) -> PyResult<Bound<'py, PyAny>> {
    static KINDS: [PyOnceLock<Py<PyAny>>; 2] = [const { PyOnceLock::new() }; 2];
    let py = ours.py();
    // Compilers know functions by weak references where there can be some, and else by themselves.
    let weak = py
        .import("weakref")?
        .call_method1("ref", (&theirs,))
        .is_ok();
    let kind = &KINDS[usize::from(weak)];
    let kind = kind.get_or_try_init(py, || self::kind(py, weak).map(Bound::unbind))?;
    let kind = kind.as_ptr().cast::<ffi::PyTypeObject>();
    // SAFETY: a type that is ready; its instances are twins.
    let made = owned(py, unsafe { ffi::PyType_GenericAlloc(kind, 0) })?;
    let twin = made.as_ptr().cast::<Twin>();
    // SAFETY: a live twin.
    let place = unsafe { &raw mut (*twin).is };
    let is = Is {
        call,
        weak: ptr::null_mut(),
        ours: ours.into_ptr(),
        theirs: theirs.into_ptr(),
        binds,
    };
    // SAFETY: nobody else has seen the twin so far.
    unsafe { place.write(is) };
    Ok(made)
}

/// The type of twins to which there are weak references, or none.
fn kind(py: Python<'_>, weak: bool) -> PyResult<Bound<'_, PyAny>> {
    let place = |name: &CStr, offset: usize| ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset.cast_signed(),
        flags: ffi::Py_READONLY,
        doc: ptr::null(),
    };
    let members = [
        place(c"__vectorcalloffset__", offset_of!(Twin, is.call)),
        if weak {
            place(c"__weaklistoffset__", offset_of!(Twin, is.weak))
        } else {
            ffi::PyMemberDef::default()
        },
        ffi::PyMemberDef::default(),
    ];
    let methods = [
        ffi::PyMethodDef {
            ml_name: REDUCE.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunction: reduce,
            },
            ml_flags: ffi::METH_O,
            ml_doc: ptr::null(),
        },
        ffi::PyMethodDef::zeroed(),
    ];
    let (members, methods) = (Box::leak(Box::new(members)), Box::leak(Box::new(methods)));
    let mut slots = [
        slot(ffi::Py_tp_call, ffi::PyVectorcall_Call as *const ()),
        slot(ffi::Py_tp_descr_get, bind as *const ()),
        slot(ffi::Py_tp_richcompare, compare as *const ()),
        slot(ffi::Py_tp_hash, hash as *const ()),
        slot(ffi::Py_tp_repr, repr as *const ()),
        slot(ffi::Py_tp_getattro, attribute as *const ()),
        slot(ffi::Py_tp_members, members.as_ptr().cast()),
        slot(ffi::Py_tp_methods, methods.as_ptr().cast()),
        ffi::PyType_Slot::default(),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT | ffi::Py_TPFLAGS_HAVE_VECTORCALL;
    let mut spec = ffi::PyType_Spec {
        name: c"arrayloom.function".as_ptr(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_possible_wrap,
            reason = "a few words"
        )]
        basicsize: size_of::<Twin>() as c_int,
        itemsize: 0,
        #[expect(
            clippy::cast_possible_truncation,
            reason = "type flags are 32 bits wide here"
        )]
        flags: (flags | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION) as _,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec and its slots live during the call; names, members and methods for good.
    owned(py, unsafe { ffi::PyType_FromSpec(&raw mut spec) })
}

/// What a twin is.
///
/// # Safety
/// `this` is a live twin.
unsafe fn is<'a>(this: *mut PyObject) -> &'a Is {
    let twin = this.cast::<Twin>();
    // SAFETY: promised by the caller; twins do not change once they are made.
    unsafe { &(*twin).is }
}

/// NumPy's callable.
///
/// # Safety
/// `this` is a live twin.
unsafe fn theirs(py: Python<'_>, this: *mut PyObject) -> Bound<'_, PyAny> {
    // SAFETY: promised by the caller.
    let theirs = unsafe { is(this) }.theirs;
    // SAFETY: the twin holds it.
    unsafe { lend(py, theirs) }
}

unsafe extern "C" fn call_ours(
    this: *mut PyObject,
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter calls a twin.
    let ours = unsafe { is(this) }.ours;
    // SAFETY: our callable with the arguments as they came.
    unsafe { ffi::PyObject_Vectorcall(ours, args, count, names) }
}

unsafe extern "C" fn bind(
    this: *mut PyObject,
    instance: *mut PyObject,
    owner: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter asks a twin.
    let twin = unsafe { is(this) };
    // SAFETY: the method is live.
    let kind = unsafe { ffi::Py_TYPE(twin.ours) };
    // SAFETY: so is its type.
    let get = unsafe { (*kind).tp_descr_get };
    match get {
        // SAFETY: the method's own slot, with what the interpreter lends.
        Some(get) if twin.binds && !instance.is_null() => unsafe {
            get(twin.ours, instance, owner)
        },
        // SAFETY: a live object.
        _ => unsafe { ffi::Py_NewRef(this) },
    }
}

unsafe extern "C" fn compare(
    this: *mut PyObject,
    other: *mut PyObject,
    operator: c_int,
) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter compares a twin.
        let theirs = unsafe { is(this) }.theirs;
        let same = ptr::eq(this, other) || ptr::eq(theirs, other);
        equality(py, operator, same)
    })
}

unsafe extern "C" fn hash(this: *mut PyObject) -> ffi::Py_hash_t {
    // SAFETY: the interpreter lends a twin.
    enter(|py| unsafe { theirs(py, this) }.hash())
}

unsafe extern "C" fn repr(this: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter lends a twin.
    object(|py| Ok(unsafe { theirs(py, this) }.repr()?.into_any()))
}

/// Attributes are those of ours, but for how it is pickled and what parameters it has.
unsafe extern "C" fn attribute(this: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    // SAFETY: names of attributes are strings.
    let is_named =
        |text: &CStr| unsafe { ffi::PyUnicode_CompareWithASCIIString(name, text.as_ptr()) } == 0;
    if is_named(REDUCE) {
        // SAFETY: a live object and a name.
        return unsafe { ffi::PyObject_GenericGetAttr(this, name) };
    }
    if is_named(SIGNATURE) {
        // SAFETY: the interpreter lends a twin.
        return object(|py| parameters(&unsafe { theirs(py, this) }));
    }
    // SAFETY: the interpreter asks a twin.
    let ours = unsafe { is(this) }.ours;
    // SAFETY: a live object and a name.
    unsafe { ffi::PyObject_GetAttr(ours, name) }
}

const REDUCE: &CStr = c"__reduce_ex__";
const SIGNATURE: &CStr = c"__signature__";

/// The parameters of NumPy's callable, for `inspect`; those of some functions are not known.
fn parameters<'py>(theirs: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let inspect = theirs.py().import("inspect")?;
    inspect
        .call_method1("signature", (theirs,))
        .map_err(|unknown| PyAttributeError::new_err(unknown.to_string()))
}

/// A pickle names NumPy's callable, and is read without arrayloom too: a copy of a function is the function.
unsafe extern "C" fn reduce(this: *mut PyObject, _protocol: *mut PyObject) -> *mut PyObject {
    object(|py| {
        let copy = py.import("copy")?.getattr("copy")?;
        // SAFETY: the interpreter lends a twin.
        let theirs = unsafe { theirs(py, this) };
        Ok((copy, (theirs,)).into_pyobject(py)?.into_any())
    })
}
