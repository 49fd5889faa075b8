//! Our functions of NumPy's namespace as builtins that cost next to nothing for small arrays.
//!
//! A builtin does not bind to instances when it stands in a class body, and it keeps NumPy's signature. Each is the
//! twin of NumPy's function: classes that take over functions find it by either in their tables.
//! A call whose result is surely small goes on to NumPy's function as it came.
#![expect(
    unsafe_code,
    reason = "C functions with NumPy's own calling convention"
)]

use crate::creation;
use crate::np::{self, Arr};
use crate::slot::{lend, object, owned};
use crate::{modules, state, twin};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::CStr;
use std::ptr;
use std::sync::OnceLock;

type Work =
    for<'py> fn(&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyAny>>;

/// How the positional arguments tell that the result is small.
#[derive(Clone, Copy)]
enum Small {
    /// The first is a shape.
    Shape,
    /// The first is what the result is made from.
    Object,
    /// All are small integers.
    Integers,
    /// The first is the side of a square.
    Side,
    /// The third is the number of elements, fifty if absent.
    Third,
    /// They do not.
    Never,
}

struct Entry {
    name: &'static CStr,
    doc: &'static CStr,
    small: Small,
    work: Work,
}

const fn entry(name: &'static CStr, doc: &'static CStr, small: Small, work: Work) -> Entry {
    Entry {
        name,
        doc,
        small,
        work,
    }
}

#[rustfmt::skip]
const ENTRIES: [Entry; 19] = [
    entry(c"arange", c"arange(start_or_stop, /, stop=None, step=1, *, dtype=None, device=None, like=None)\n--\n\nReturn evenly spaced values within a given interval.", Small::Integers, creation::arange),
    entry(c"array", c"array(object, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, ndmax=0, like=None)\n--\n\nCreate an array.", Small::Object, creation::array),
    entry(c"asarray", c"asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None)\n--\n\nConvert the input to an array.", Small::Object, creation::asarray),
    entry(c"ascontiguousarray", c"ascontiguousarray(a, dtype=None, *, like=None)\n--\n\nReturn a contiguous array in memory.", Small::Object, creation::ascontiguousarray),
    entry(c"empty", c"empty(shape, dtype=None, order='C', *, device=None, like=None)\n--\n\nReturn a new array without setting its elements.", Small::Shape, creation::empty),
    entry(c"empty_like", c"empty_like(prototype, /, dtype=None, order='K', subok=True, shape=None, *, device=None)\n--\n\nReturn a new array with the same shape and type as a given array, elements not set.", Small::Object, creation::empty_like),
    entry(c"eye", c"Return a two-dimensional array with ones on the diagonal and zeros elsewhere.", Small::Side, creation::eye),
    entry(c"fromfile", c"fromfile(file, dtype=None, count=-1, sep='', offset=0, *, like=None)\n--\n\nConstruct an array from data in a text or binary file.", Small::Never, creation::fromfile),
    entry(c"fromfunction", c"Construct an array by executing a function over each coordinate.", Small::Never, creation::fromfunction),
    entry(c"full", c"full(shape, fill_value, dtype=None, order='C', *, device=None, like=None)\n--\n\nReturn a new array filled with `fill_value`.", Small::Shape, creation::full),
    entry(c"full_like", c"full_like(a, fill_value, dtype=None, order='K', subok=True, shape=None, *, device=None)\n--\n\nReturn a full array with the same shape and type as a given array.", Small::Object, creation::full_like),
    entry(c"identity", c"identity(n, dtype=None, *, like=None)\n--\n\nReturn the identity array.", Small::Side, creation::identity),
    entry(c"linspace", c"linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None)\n--\n\nReturn evenly spaced numbers over a specified interval.", Small::Third, creation::linspace),
    entry(c"load", c"load(file, mmap_mode=None, allow_pickle=False, fix_imports=True, encoding='ASCII', *, max_header_size=10000)\n--\n\nLoad arrays from files.", Small::Never, creation::load),
    entry(c"loadtxt", c"Load data from a text file.", Small::Never, creation::loadtxt),
    entry(c"ones", c"ones(shape, dtype=None, order='C', *, device=None, like=None)\n--\n\nReturn a new array filled with ones.", Small::Shape, creation::ones),
    entry(c"ones_like", c"ones_like(a, dtype=None, order='K', subok=True, shape=None, *, device=None)\n--\n\nReturn an array of ones with the same shape and type as a given array.", Small::Object, creation::ones_like),
    entry(c"zeros", c"zeros(shape, dtype=None, order='C', *, device=None, like=None)\n--\n\nReturn a new array filled with zeros.", Small::Shape, creation::zeros),
    entry(c"zeros_like", c"zeros_like(a, dtype=None, order='K', subok=True, shape=None, *, device=None)\n--\n\nReturn an array of zeros with the same shape and type as a given array.", Small::Object, creation::zeros_like),
];

/// NumPy's functions of the same names.
static THEIRS: OnceLock<Vec<Py<PyAny>>> = OnceLock::new();

/// Adds the builtins to the module.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    macro_rules! functions {
        ($($i:literal)*) => { [$((call::<$i>, called::<$i>)),*] };
    }
    let functions: [(ffi::PyCFunctionFastWithKeywords, ffi::vectorcallfunc); ENTRIES.len()] =
        functions!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18);
    let py = module.py();
    let numpy = modules::numpy(py)?;
    let mut theirs = Vec::new();
    for (entry, (function, called)) in ENTRIES.iter().zip(functions) {
        let name = entry.name.to_str().unwrap_or_default();
        let its = numpy.getattr(name)?;
        theirs.push(its.clone().unbind());
        let definition = Box::leak(Box::new(ffi::PyMethodDef {
            ml_name: entry.name.as_ptr(),
            ml_meth: ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: function,
            },
            ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
            ml_doc: entry.doc.as_ptr(),
        }));
        // SAFETY: the definition lives for good; the module's name is a live string.
        let made =
            unsafe { ffi::PyCFunction_NewEx(definition, ptr::null_mut(), numpy.name()?.as_ptr()) };
        module.add(name, twin::builtin(owned(py, made)?, its, called)?)?;
    }
    THEIRS.get_or_init(|| theirs);
    Ok(())
}

/// [`call`], as a twin is called.
unsafe extern "C" fn called<const WHICH: usize>(
    _twin: *mut PyObject,
    args: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: takes a flag out of a number.
    let count = unsafe { ffi::PyVectorcall_NARGS(count) };
    // SAFETY: the interpreter's arguments as they came.
    unsafe { call::<WHICH>(ptr::null_mut(), args, count, names) }
}

unsafe extern "C" fn call<const WHICH: usize>(
    _module: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    let entry = &ENTRIES[WHICH];
    let count = usize::try_from(count).unwrap_or(0);
    let positional: &[*mut PyObject] = if count == 0 {
        &[]
    } else {
        // SAFETY: the interpreter passes `count` objects.
        unsafe { std::slice::from_raw_parts(args, count) }
    };
    if let Some(theirs) = THEIRS.get()
        && surely_small(entry.small, positional)
    {
        // SAFETY: NumPy's function with the arguments as they came.
        return unsafe { ffi::PyObject_Vectorcall(theirs[WHICH].as_ptr(), args, count, names) };
    }
    object(|py| {
        let mut ready = Vec::with_capacity(count);
        for &arg in positional {
            // SAFETY: the interpreter lends the arguments for the call.
            ready.push(unsafe { lend(py, arg) });
        }
        let words = if names.is_null() {
            None
        } else {
            // SAFETY: the values of the names follow the positional arguments.
            let values = unsafe { args.add(count) };
            // SAFETY: all of them are lent for the call.
            Some(unsafe { keywords(py, names, values) }?)
        };
        (entry.work)(&PyTuple::new(py, ready)?, words.as_ref())
    })
}

/// The keyword arguments of a call.
///
/// # Safety
/// `names` is a tuple of names, `values` points to as many objects; both are lent for the call.
pub(crate) unsafe fn keywords(
    py: Python<'_>,
    names: *mut PyObject,
    values: *const *mut PyObject,
) -> PyResult<Bound<'_, PyDict>> {
    let words = PyDict::new(py);
    // SAFETY: promised by the caller.
    let names = unsafe { lend(py, names) };
    for (i, name) in names.cast::<PyTuple>()?.iter().enumerate() {
        // SAFETY: promised by the caller.
        let value = unsafe { values.add(i) };
        // SAFETY: as above.
        let value = unsafe { *value };
        // SAFETY: promised by the caller.
        words.set_item(name, unsafe { lend(py, value) })?;
    }
    Ok(words)
}

/// Bytes of the largest element type.
const WIDEST: usize = 16;

/// True if a result of so many elements is small in every dtype.
pub(crate) fn few(elements: usize) -> bool {
    elements.saturating_mul(WIDEST) < state::min_bytes()
}

fn surely_small(small: Small, args: &[*mut PyObject]) -> bool {
    match (small, args) {
        (Small::Shape, [shape, ..]) => elements_of_shape(*shape).is_some_and(few),
        (Small::Object, [object, ..]) => few_elements(*object),
        (Small::Integers, [_, ..]) => args
            .iter()
            .all(|&a| integer(a).is_some_and(|n| few(n.saturating_mul(2)))),
        (Small::Side, [side]) => integer(*side).is_some_and(|n| few(n.saturating_mul(n))),
        (Small::Third, [_, _]) => few(50),
        (Small::Third, [_, _, count, ..]) => integer(*count).is_some_and(few),
        _ => false,
    }
}

/// The magnitude of a Python integer.
fn integer(object: *mut PyObject) -> Option<usize> {
    // SAFETY: the interpreter lends the object.
    if unsafe { ffi::Py_TYPE(object) } != &raw mut ffi::PyLong_Type {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: exactly an int; overflow is reported without an exception.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(object, &raw mut overflow) };
    (overflow == 0).then(|| usize::try_from(value.unsigned_abs()).ok())?
}

fn elements_of_shape(object: *mut PyObject) -> Option<usize> {
    // SAFETY: the interpreter lends the object.
    if unsafe { ffi::Py_TYPE(object) } != &raw mut ffi::PyTuple_Type {
        return integer(object);
    }
    // SAFETY: exactly a tuple.
    let count = unsafe { ffi::PyTuple_GET_SIZE(object) };
    (0..count).try_fold(1usize, |all, i| {
        // SAFETY: within the tuple.
        all.checked_mul(integer(unsafe { ffi::PyTuple_GET_ITEM(object, i) })?)
    })
}

/// By how much an argument can multiply the elements of a result: an integer or a shape by its elements, a
/// number, a word or `None` not at all. `None` for all else.
pub(crate) fn most_elements(object: *mut PyObject) -> Option<usize> {
    // SAFETY: the interpreter lends the object.
    let kind = unsafe { ffi::Py_TYPE(object) };
    if kind == &raw mut ffi::PyLong_Type || kind == &raw mut ffi::PyTuple_Type {
        return elements_of_shape(object);
    }
    // SAFETY: `None` lives for good.
    let none = unsafe { ffi::Py_None() };
    let plain = [
        &raw mut ffi::PyFloat_Type,
        &raw mut ffi::PyBool_Type,
        &raw mut ffi::PyUnicode_Type,
        &raw mut ffi::PyType_Type,
    ];
    (object == none || plain.contains(&kind)).then_some(1)
}

/// True for a small array, a number, or a short list of numbers.
fn few_elements(object: *mut PyObject) -> bool {
    // SAFETY: the interpreter lends the object.
    let kind = unsafe { ffi::Py_TYPE(object) };
    if kind == np::array_type() {
        // SAFETY: exactly an array.
        return few(unsafe { Arr::new(object) }.len());
    }
    if kind != &raw mut ffi::PyList_Type {
        return is_number(object);
    }
    // SAFETY: exactly a list.
    let count = unsafe { ffi::PyList_GET_SIZE(object) };
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: a list of at least one element has a first one.
    count == 0 || few(count) && is_number(unsafe { ffi::PyList_GET_ITEM(object, 0) })
}

fn is_number(object: *mut PyObject) -> bool {
    // SAFETY: the interpreter lends the object.
    let kind = unsafe { ffi::Py_TYPE(object) };
    kind == &raw mut ffi::PyLong_Type || kind == &raw mut ffi::PyFloat_Type
}
