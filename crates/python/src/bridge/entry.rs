//! The functions that users call, as builtins: what needs no thought is answered here.
//!
//! `convert(x, to)` and `to_KIND(x)` return the object itself if it is of that kind, do the usual
//! conversions, and otherwise call the planner in Python with the arguments as they came. While somebody
//! observes conversions, the planner gets them all.
#![expect(
    unsafe_code,
    reason = "C functions with the interpreter's calling convention"
)]

use super::{abroad, kinds, rules, ways};
use crate::slot::{enter, lend, object, owned};
use arrayloom_dlpack::abi::DLDevice;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static RESOLVER: AtomicUsize = AtomicUsize::new(0);
static PLANNER: AtomicUsize = AtomicUsize::new(0);
static COPY: AtomicUsize = AtomicUsize::new(0);
static DEVICE: AtomicUsize = AtomicUsize::new(0);
static STREAM: AtomicUsize = AtomicUsize::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Keeps an object for good.
pub(crate) fn keep(place: &AtomicUsize, object: &Bound<'_, PyAny>) {
    place.store(object.clone().into_ptr() as usize, Ordering::Release);
}

/// What was kept.
pub(crate) fn kept<'py>(py: Python<'py>, place: &AtomicUsize) -> PyResult<Bound<'py, PyAny>> {
    let found = place.load(Ordering::Acquire) as *mut PyObject;
    if found.is_null() {
        return Err(PyRuntimeError::new_err("import arrayloom.bridge first"));
    }
    // SAFETY: what is kept is never dropped.
    Ok(unsafe { lend(py, found) })
}

/// Say who knows new types, and who converts what has no shortest way.
#[pyfunction]
pub(crate) fn set_hooks(resolver: &Bound<'_, PyAny>, planner: &Bound<'_, PyAny>) {
    keep(&RESOLVER, resolver);
    keep(&PLANNER, planner);
}

/// While true, every conversion goes through the planner.
#[pyfunction]
pub(crate) fn set_watched(watched: bool) {
    WATCHED.store(watched, Ordering::Release);
}

/// Asks Python which kind the instances of a type are.
pub(crate) fn resolve<'py>(kind: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    kept(kind.py(), &RESOLVER)?.call1((kind,))
}

/// Hands a call to the planner.
fn plan(
    py: Python<'_>,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> PyResult<Bound<'_, PyAny>> {
    let planner = kept(py, &PLANNER)?;
    // SAFETY: the arguments are those that the interpreter passed to us.
    let result =
        unsafe { ffi::PyObject_Vectorcall(planner.as_ptr(), args, count.unsigned_abs(), names) };
    owned(py, result)
}

unsafe extern "C" fn kind(_module: *mut PyObject, x: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter lends the argument.
    if let Some(known) = kinds::look_up(unsafe { ffi::Py_TYPE(x) }) {
        // SAFETY: names are kept for good.
        unsafe { ffi::Py_INCREF(known.name) };
        return known.name;
    }
    object(|py| {
        // SAFETY: the interpreter lends the argument.
        let known = kinds::of(&unsafe { lend(py, x) })?;
        Ok(kinds::name_of(py, known))
    })
}

/// The keywords of a usual call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Words {
    /// `copy=False`.
    pub(crate) must_share: bool,
    /// `device="cuda:0"`.
    pub(crate) device: Option<DLDevice>,
}

impl Words {
    /// Reads keywords; `None` if the planner must.
    ///
    /// # Safety
    /// `names` is null or a tuple of names, whose values start at `values`.
    #[inline]
    unsafe fn read(names: *mut PyObject, values: *const *mut PyObject) -> Option<Words> {
        let mut words = Words::default();
        if names.is_null() {
            return Some(words);
        }
        // SAFETY: a tuple, by the caller's promise.
        let count = unsafe { ffi::PyTuple_GET_SIZE(names) };
        for at in 0..count {
            // SAFETY: it has that many elements.
            let name = unsafe { ffi::PyTuple_GET_ITEM(names, at) };
            // SAFETY: one value belongs to each name.
            let value = unsafe { *values.wrapping_add(at.unsigned_abs()) };
            words.take(name as usize, value)?;
        }
        Some(words)
    }

    fn take(&mut self, name: usize, value: *mut PyObject) -> Option<()> {
        let is = |kept: &AtomicUsize| name == kept.load(Ordering::Relaxed);
        // SAFETY: a singleton's address is asked.
        let nothing = value == unsafe { ffi::Py_None() };
        if is(&COPY) {
            // SAFETY: as above.
            self.must_share = value == unsafe { ffi::Py_False() };
            return (nothing || self.must_share).then_some(());
        }
        if is(&DEVICE) {
            if !nothing {
                // SAFETY: conversions run with the interpreter's lock.
                let py = unsafe { Python::assume_attached() };
                // SAFETY: the interpreter lends the argument.
                let name = unsafe { lend(py, value) };
                self.device = Some(abroad::device_of(&name)?);
            }
            return Some(());
        }
        (is(&STREAM) && nothing).then_some(())
    }
}

/// A usual conversion, or `None` if the planner is needed.
fn quick(x: *mut PyObject, to: *mut PyObject, words: Words) -> PyResult<Option<*mut PyObject>> {
    if WATCHED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // SAFETY: functions are called with the interpreter's lock.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter lends the argument.
    let x = unsafe { lend(py, x) };
    let known = kinds::of(&x)?;
    if known.name == to && words.device.is_none() {
        return Ok(Some(x.into_ptr()));
    }
    // SAFETY: as above.
    let rule = rules::of_name(to).or_else(|| rules::of_text(&unsafe { lend(py, to) }));
    let Some(rule) = rule else {
        return Ok(None);
    };
    let done = if known.name != rule.name() {
        ways::usual(&x, known, rule, words)?
    } else if words.device.is_none() || words.device == abroad::place_of(&x, known, rule)? {
        Some(x.clone())
    } else {
        None
    };
    Ok(done.map(Bound::into_ptr))
}

unsafe extern "C" fn convert(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    enter(|py| {
        if count == 2 {
            // SAFETY: two arguments were passed, and the values of the names follow them.
            if let Some(words) = unsafe { Words::read(names, args.wrapping_add(2)) } {
                // SAFETY: two arguments were passed.
                let x = unsafe { *args };
                // SAFETY: as above.
                let to = unsafe { *args.wrapping_add(1) };
                if let Some(done) = quick(x, to, words)? {
                    return Ok(done);
                }
            }
        }
        plan(py, args, count, names).map(Bound::into_ptr)
    })
}

unsafe extern "C" fn to_kind(
    name: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    enter(|py| {
        if count != 1 {
            return Err(PyTypeError::new_err(format!(
                "one array is converted at a time, got {count} positional arguments"
            )));
        }
        // SAFETY: one argument was passed.
        let x = unsafe { *args };
        // SAFETY: the values of the names follow the argument.
        if let Some(words) = unsafe { Words::read(names, args.wrapping_add(1)) }
            && let Some(done) = quick(x, name, words)?
        {
            return Ok(done);
        }
        let words = if names.is_null() {
            0
        } else {
            // SAFETY: the interpreter passes a tuple.
            unsafe { ffi::PyTuple_GET_SIZE(names) }.unsigned_abs()
        };
        let mut all = vec![x, name];
        for i in 0..words {
            // SAFETY: the values of the names follow the positional argument.
            all.push(unsafe { *args.wrapping_add(1 + i) });
        }
        plan(py, all.as_ptr(), 2, names).map(Bound::into_ptr)
    })
}

const TO_DOC: &CStr = c"Convert an array to this kind; keywords as for `convert`.\n\nReturns\n-------\narray\n    Of the same shape and dtype, sharing memory where that is possible.\n\nExamples\n--------\n>>> import numpy as np, arrayloom.bridge as b\n>>> b.to_numpy(np.arange(3))\narray([0, 1, 2])";

const KINDS: [(&CStr, &str); 7] = [
    (c"to_numpy", "numpy"),
    (c"to_cupy", "cupy"),
    (c"to_torch", "torch"),
    (c"to_tensorflow", "tensorflow"),
    (c"to_jax", "jax"),
    (c"to_pyclesperanto", "pyclesperanto"),
    (c"to_arrayloom", "arrayloom"),
];

fn definition(
    name: &'static CStr,
    function: ffi::PyCFunctionFastWithKeywords,
    doc: &'static CStr,
) -> *mut ffi::PyMethodDef {
    Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer {
            PyCFunctionFastWithKeywords: function,
        },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: doc.as_ptr(),
    }))
}

/// Puts the builtins into the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let place = PyString::new(py, "arrayloom.bridge");
    for (place, name) in [(&COPY, "copy"), (&DEVICE, "device"), (&STREAM, "stream")] {
        keep(place, PyString::intern(py, name).as_any());
    }
    let kind = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: c"kind".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: kind },
        ml_flags: ffi::METH_O,
        ml_doc: c"kind(x, /)\n--\n\nName of the framework whose array an object is, or None.\n\nExamples\n--------\n>>> import numpy as np, arrayloom.bridge as b\n>>> b.kind(np.zeros(3)), b.kind([1, 2])\n('numpy', None)".as_ptr(),
    }));
    let make = |definition: *mut ffi::PyMethodDef, this: *mut PyObject| {
        // SAFETY: the definition was leaked; `this` and the name are alive.
        owned(py, unsafe {
            ffi::PyCFunction_NewEx(definition, this, place.as_ptr())
        })
    };
    module.add("kind", make(kind, ptr::null_mut())?)?;
    let convert = definition(c"convert", convert, c"convert(x, to=None, *, like=None, device=None, copy=None, dtype=None, order=None, cast='exact', lossy='raise', nan='raise', readonly='share', detach=False, fill=None, stream=None)\n--\n\nConvert an array to another framework's.\n\nParameters\n----------\nx : array\n    Of any kind, or anything with DLPack, an array interface or a buffer; numbers and lists too.\nto : str or module, optional\n    The kind: 'numpy', 'cupy', 'torch', 'tensorflow', 'jax', 'pyclesperanto', 'arrayloom' or a registered one. Absent with `like`.\nlike : array, optional\n    Convert to the kind and the device of this array.\ndevice : optional\n    'cpu', 'cuda:0', ... or None for the device of `x` where the target can use it.\ncopy : bool, optional\n    None: share memory where that is possible and safe. True: always copy. False: never.\ndtype : str, optional\n    Cast to this element type.\ncast : {'exact', 'saturate', 'wrap', 'rescale'}\n    How `dtype` is reached. 'exact' raises if any value changes.\nlossy : {'raise', 'allow'}\n    Whether the target may narrow elements it does not have.\nreadonly : {'share', 'copy', 'error'}\n    What to do with immutable memory when the target would let you write to it.\ndetach : bool\n    Drop gradients of torch tensors.\nfill : optional\n    Value for masked elements.\n\nReturns\n-------\narray\n    Same shape and dtype.\n\nRaises\n------\nBufferError\n    `copy=False` is impossible; the message says why.\nLossyConversionError\n    Elements would be narrowed.\nTypeError\n    Not an array, or a dtype that the target lacks.\nValueError\n    A shape that the target lacks.\n\nExamples\n--------\n>>> import numpy as np, arrayloom.bridge as b\n>>> b.convert([1.0, 2.0], 'numpy')\narray([1., 2.])");
    module.add("convert", make(convert, ptr::null_mut())?)?;
    for (name, kind) in KINDS {
        let this = PyString::intern(py, kind);
        let function = definition(name, to_kind, TO_DOC);
        module.add(format!("to_{kind}"), make(function, this.as_ptr())?)?;
    }
    Ok(())
}
