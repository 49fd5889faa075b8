//! Functions and methods of NumPy whose large results become lazy arrays: those of `numpy.random`.
//!
//! A wrapper is called by the vector protocol and passes its arguments on as they came, so that a call for
//! one number costs next to nothing more. In a class it binds like a method. Its attributes are those of
//! the function it stands for.
#![expect(unsafe_code, reason = "defines a type with C slots")]
#![expect(
    clippy::fn_to_numeric_cast_any,
    reason = "a type's slots are functions of many types behind untyped pointers"
)]

use crate::builtins::{few, most_elements};
use crate::lazy_type::slot;
use crate::lift::lift;
use crate::np::Arr;
use crate::slot::{lend, object, owned};
use crate::{delegate, sync, twin};
use pyo3::exceptions::PySystemError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::c_int;
use std::mem::offset_of;
use std::ptr;
use std::sync::OnceLock;

/// The object. It lives as long as the process, like the functions it stands for.
#[repr(C)]
struct Lifting {
    base: PyObject,
    vectorcall: ffi::vectorcallfunc,
    function: *mut PyObject,
    /// Arguments before those of the user: 1 for a method, the object.
    first: usize,
    /// True if it writes to the array that it is given, and is quicker with one of NumPy's own type.
    writes: bool,
}

unsafe extern "C" {
    /// A method bound to its object; part of Python's C interface.
    fn PyMethod_New(function: *mut PyObject, instance: *mut PyObject) -> *mut PyObject;
}

static TYPE: OnceLock<Py<PyAny>> = OnceLock::new();

/// A function that calls `function` and makes a large new array that it returns lazy. With `method` it binds to
/// instances of the class in which it stands, else it equals `function`. One that `writes` gets plain arrays.
#[pyfunction]
#[pyo3(signature = (function, method, *, writes=false))]
pub(crate) fn lifting<'py>(
    function: &Bound<'py, PyAny>,
    method: bool,
    writes: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    if TYPE.get().is_none() {
        let made = make(py)?.unbind();
        TYPE.get_or_init(|| made);
    }
    let kind = TYPE.get().map_or(ptr::null_mut(), Py::as_ptr);
    // SAFETY: a live heap type of this layout without garbage collection.
    let made = unsafe { ffi::PyType_GenericAlloc(kind.cast(), 0) };
    let made = owned(py, made)?;
    let lifting = made.as_ptr().cast::<Lifting>();
    // SAFETY: the object has this layout and nobody else knows it.
    unsafe { (*lifting).vectorcall = call };
    // SAFETY: as above; the reference is kept for good.
    unsafe { (*lifting).function = function.clone().into_ptr() };
    // SAFETY: as above.
    unsafe { (*lifting).first = usize::from(method) };
    // SAFETY: as above.
    unsafe { (*lifting).writes = writes };
    if method {
        Ok(made)
    } else {
        twin::function(made, function.clone())
    }
}

fn make(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let offset = ffi::Py_ssize_t::try_from(offset_of!(Lifting, vectorcall));
    let offset = offset.map_err(|e| PySystemError::new_err(e.to_string()))?;
    let members = Box::leak(Box::new([
        ffi::PyMemberDef {
            name: c"__vectorcalloffset__".as_ptr(),
            type_code: ffi::Py_T_PYSSIZET,
            offset,
            flags: ffi::Py_READONLY,
            doc: ptr::null(),
        },
        ffi::PyMemberDef::default(),
    ]));
    let mut slots = [
        slot(ffi::Py_tp_members, members.as_ptr().cast()),
        slot(ffi::Py_tp_call, ffi::PyVectorcall_Call as *const ()),
        slot(ffi::Py_tp_descr_get, bind as *const ()),
        slot(ffi::Py_tp_getattro, attribute as *const ()),
        slot(ffi::Py_tp_repr, text as *const ()),
        ffi::PyType_Slot::default(),
    ];
    let flags = ffi::Py_TPFLAGS_DEFAULT
        | ffi::Py_TPFLAGS_HAVE_VECTORCALL
        | ffi::Py_TPFLAGS_METHOD_DESCRIPTOR
        | ffi::Py_TPFLAGS_DISALLOW_INSTANTIATION;
    let mut spec = ffi::PyType_Spec {
        name: c"arrayloom._ext.lifting".as_ptr(),
        basicsize: c_int::try_from(size_of::<Lifting>()).unwrap_or(0),
        itemsize: 0,
        flags: u32::try_from(flags).unwrap_or(0),
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the spec and its tables live during the call, which copies what it keeps.
    owned(py, unsafe { ffi::PyType_FromSpec(&raw mut spec) })
}

/// The function that the object stands for.
///
/// # Safety
/// `this` is an object of our type.
unsafe fn function_of(this: *mut PyObject) -> *mut PyObject {
    // SAFETY: promised by the caller.
    unsafe { (*this.cast::<Lifting>()).function }
}

unsafe extern "C" fn call(
    this: *mut PyObject,
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter calls our function with our object.
    let function = unsafe { function_of(this) };
    // SAFETY: as above.
    let first = unsafe { (*this.cast::<Lifting>()).first };
    // SAFETY: as above.
    let writes = unsafe { (*this.cast::<Lifting>()).writes };
    object(|py| {
        if writes {
            // SAFETY: the arguments are those of this call.
            return unsafe { call_on_plain(py, (function, first), args, count, names) };
        }
        let run = || {
            // SAFETY: the function with the arguments as they came.
            let result = unsafe { ffi::PyObject_Vectorcall(function, args, count, names) };
            owned(py, result)
        };
        // SAFETY: the interpreter passes so many objects.
        let few = unsafe { all_few(args, count, names, first) };
        if few {
            return run();
        }
        let result = delegate::in_arena(py, run)?;
        lift(&result);
        Ok(result)
    })
}

/// The arguments of a vector call, and how many of them have no name.
///
/// # Safety
/// They are those of a vector call that lasts as long as the slice.
unsafe fn arguments<'a>(
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> (&'a [*mut PyObject], usize) {
    // SAFETY: only takes a flag off.
    let positional = usize::try_from(unsafe { ffi::PyVectorcall_NARGS(count) }).unwrap_or(0);
    let named = if names.is_null() {
        0
    } else {
        // SAFETY: a tuple of names.
        usize::try_from(unsafe { ffi::PyTuple_GET_SIZE(names) }).unwrap_or(0)
    };
    if args.is_null() {
        return (&[], 0);
    }
    // SAFETY: so many objects are passed.
    let all = unsafe { std::slice::from_raw_parts(args, positional + named) };
    (all, positional)
}

/// Calls a function that writes to its first argument, if that is an array of ours as one of NumPy's type.
///
/// # Safety
/// The arguments are those of a vector call of `function`, `first` of them before the user's.
unsafe fn call_on_plain(
    py: Python<'_>,
    (function, first): (*mut PyObject, usize),
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: promised by the caller.
    let (args, positional) = unsafe { arguments(args, count, names) };
    let mut all = Vec::with_capacity(args.len());
    for (i, &arg) in args.iter().enumerate() {
        // SAFETY: the interpreter lends them for the call.
        let arg = unsafe { lend(py, arg) };
        let array = Arr::of(&arg).filter(|a| i >= first && a.writeable());
        all.push(match array {
            Some(array) => {
                sync::write(py, array)?;
                delegate::plain(&arg)?
            }
            None => arg.clone(),
        });
    }
    let given: Vec<*mut PyObject> = all.iter().map(Bound::as_ptr).collect();
    // SAFETY: as many live arguments as before, with the same names.
    owned(py, unsafe {
        ffi::PyObject_Vectorcall(function, given.as_ptr(), positional, names)
    })
}

/// True if no argument asks for a large result.
///
/// # Safety
/// The arguments are those of a vector call.
unsafe fn all_few(
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
    first: usize,
) -> bool {
    // SAFETY: promised by the caller.
    let (args, _) = unsafe { arguments(args, count, names) };
    // Lengths may be given one by one, as in `rand(300, 300)`.
    let product = args.iter().skip(first).try_fold(1usize, |product, &arg| {
        Some(product.saturating_mul(most_elements(arg)?.max(1)))
    });
    product.is_some_and(few)
}

unsafe extern "C" fn bind(
    this: *mut PyObject,
    instance: *mut PyObject,
    _class: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: the interpreter calls our function with our object.
    let first = unsafe { (*this.cast::<Lifting>()).first };
    if instance.is_null() || first == 0 {
        // SAFETY: a live object.
        return unsafe { ffi::Py_NewRef(this) };
    }
    // SAFETY: both live.
    unsafe { PyMethod_New(this, instance) }
}

unsafe extern "C" fn attribute(this: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter calls our function with our object.
    let function = unsafe { function_of(this) };
    // SAFETY: a live object; the interpreter lends the name.
    unsafe { ffi::PyObject_GetAttr(function, name) }
}

unsafe extern "C" fn text(this: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter calls our function with our object.
    let function = unsafe { function_of(this) };
    // SAFETY: a live object.
    unsafe { ffi::PyObject_Repr(function) }
}
