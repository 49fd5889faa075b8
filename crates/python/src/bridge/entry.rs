//! The functions that users call, as builtins: what needs no thought is answered here.
//!
//! `convert(x, to)` and `to_KIND(x)` return the object itself if it is of that kind, take the shortest
//! way between two kinds if there is one, and otherwise call the planner in Python with the arguments
//! as they came. While somebody observes conversions, the planner gets them all.
#![expect(
    unsafe_code,
    reason = "C functions with the interpreter's calling convention"
)]

use super::export::ready;
use super::kinds::{self, Known};
use super::{import, table};
use crate::np::{self, Arr};
use crate::slot::{enter, lend, object, owned};
use crate::state;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::CStr;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static RESOLVER: AtomicUsize = AtomicUsize::new(0);
static PLANNER: AtomicUsize = AtomicUsize::new(0);
static WATCHED: AtomicBool = AtomicBool::new(false);
static NUMPY: AtomicUsize = AtomicUsize::new(0);
static TORCH: AtomicUsize = AtomicUsize::new(0);
static OURS: AtomicUsize = AtomicUsize::new(0);

/// The shortest way between two kinds.
struct Way {
    from: AtomicUsize,
    to: AtomicUsize,
    call: AtomicUsize,
    table: AtomicUsize,
}

#[expect(
    clippy::declare_interior_mutable_const,
    reason = "each place of the list is a copy of its own"
)]
const NO_WAY: Way = Way {
    from: AtomicUsize::new(0),
    to: AtomicUsize::new(0),
    call: AtomicUsize::new(0),
    table: AtomicUsize::new(0),
};

static WAYS: [Way; 64] = [NO_WAY; 64];

fn keep(place: &AtomicUsize, object: &Bound<'_, PyAny>) {
    place.store(object.clone().into_ptr() as usize, Ordering::Release);
}

fn kept<'py>(py: Python<'py>, place: &AtomicUsize) -> PyResult<Bound<'py, PyAny>> {
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
    let py = resolver.py();
    keep(&RESOLVER, resolver);
    keep(&PLANNER, planner);
    for (place, name) in [(&NUMPY, "numpy"), (&TORCH, "torch"), (&OURS, "arrayloom")] {
        keep(place, PyString::intern(py, name).as_any());
    }
}

/// Name the shortest way between two kinds: a function, or the target's type with an exchange table.
/// The function answers `NotImplemented` where the planner is needed. False if the list is full.
#[pyfunction]
pub(crate) fn set_direct(from: &str, to: &str, call: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = call.py();
    let from = PyString::intern(py, from).into_ptr() as usize;
    let to = PyString::intern(py, to).into_ptr() as usize;
    let table = if call.is_instance_of::<pyo3::types::PyType>() {
        table::of_type(call)?
    } else {
        0
    };
    for way in &WAYS {
        let taken = way.from.load(Ordering::Acquire);
        if taken == 0 || (taken == from && way.to.load(Ordering::Relaxed) == to) {
            keep(&way.call, call);
            way.table.store(table, Ordering::Relaxed);
            way.to.store(to, Ordering::Relaxed);
            way.from.store(from, Ordering::Release);
            return Ok(true);
        }
    }
    Ok(false)
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

fn is(known: Known, place: &AtomicUsize) -> bool {
    known.name as usize == place.load(Ordering::Relaxed)
}

/// The result of the shortest way, or `None` if the planner is needed.
fn shortest<'py>(
    x: &Bound<'py, PyAny>,
    known: Known,
    to: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    if to == NUMPY.load(Ordering::Relaxed) {
        if is(known, &TORCH) && known.table != 0 {
            let found = table::torch_array(x, known.table)?;
            let native = |code: u8| !matches!(code, 4 | 7..);
            return Ok(found.and_then(|(array, e)| native(e.code()).then_some(array)));
        }
        if is(known, &OURS)
            && let Some(array) = Arr::of(x)
        {
            ready(py, array)?;
            return np::plain_view(x).map(Some);
        }
    }
    for way in &WAYS {
        let from = way.from.load(Ordering::Acquire);
        if from == 0 {
            return Ok(None);
        }
        if from != known.name as usize || way.to.load(Ordering::Relaxed) != to {
            continue;
        }
        let table = way.table.load(Ordering::Relaxed);
        if table != 0 {
            if !simple(x) {
                return Ok(None);
            }
            return table::give_to(x, table, None, 0);
        }
        let result = kept(py, &way.call)?.call1((x,))?;
        return Ok((!result.is(py.NotImplemented())).then_some(result));
    }
    Ok(None)
}

/// True for an array that any consumer with steps takes as it is.
fn simple(x: &Bound<'_, PyAny>) -> bool {
    let kind = x.get_type_ptr();
    if kind != np::array_type() && kind != state::lazy_type() {
        return false;
    }
    let Some(array) = Arr::of(x) else {
        return false;
    };
    let Some(dtype) = array.dtype() else {
        return false;
    };
    let size = dtype.size().cast_signed();
    array.writeable()
        && array.addr().is_multiple_of(dtype.align())
        && array.strides().iter().all(|&s| s >= 0 && s % size == 0)
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

/// `convert(x, to)` without further arguments, or `None` if the planner is needed.
fn quick(x: *mut PyObject, to: *mut PyObject) -> PyResult<Option<*mut PyObject>> {
    if WATCHED.load(Ordering::Relaxed) {
        return Ok(None);
    }
    // SAFETY: the interpreter lends the argument.
    let known = kinds::look_up(unsafe { ffi::Py_TYPE(x) });
    let Some(known) = known else {
        return Ok(None);
    };
    if known.name == to {
        // SAFETY: lent, so alive.
        unsafe { ffi::Py_INCREF(x) };
        return Ok(Some(x));
    }
    // SAFETY: functions are called with the interpreter's lock.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: the interpreter lends the argument.
    let x = unsafe { lend(py, x) };
    Ok(shortest(&x, known, to as usize)?.map(Bound::into_ptr))
}

unsafe extern "C" fn convert(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    enter(|py| {
        if count == 2 && names.is_null() {
            // SAFETY: two arguments were passed.
            let x = unsafe { *args };
            // SAFETY: as above.
            let second = unsafe { args.add(1) };
            // SAFETY: as above.
            let to = unsafe { *second };
            if let Some(done) = quick(x, to)? {
                return Ok(done);
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
        if names.is_null()
            && let Some(done) = quick(x, name)?
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
            let value = unsafe { args.add(1 + i) };
            // SAFETY: as above.
            all.push(unsafe { *value });
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

/// Adopts an array of NumPy as one of ours, for the list of shortest ways.
#[pyfunction]
pub(crate) fn adopt_plain<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if simple(array) {
        return import::adopt(array);
    }
    Ok(array.py().NotImplemented().into_bound(array.py()))
}
