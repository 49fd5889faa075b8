//! NumPy's own `asarray` and its like, as installed packages call them.
//!
//! Of a plain array they give the array itself, and code relies on it: `asarray(x) is x` tells whether there is a
//! copy, `y is x` whether two signals are one. A lazy array is of a derived type, of which NumPy makes a view instead.
//! So the C functions are ours: they give NumPy's a plain view, and the array where that comes back. Some packages get
//! views, NumPy's own above all, since it is NumPy's code for computed values that they want.
#![expect(unsafe_code, reason = "C functions of NumPy's namespace")]

use crate::slot::{lend, object, owned};
use crate::{delegate, state};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use smallvec::SmallVec;
use std::sync::OnceLock;

type Function = ffi::PyCFunctionFastWithKeywords;

/// The functions of NumPy's namespace.
const NAMES: [&str; 4] = ["asarray", "ascontiguousarray", "asfortranarray", "array"];

/// Packages that get views: those whose code is for computed values, one that hands arrays to compiled code which
/// takes `numpy.ndarray` and no derived type (`EXACT` of the import layer), and one that asserts this type.
const PLAIN: [&str; 4] = ["numpy", "arrayloom", "scipy.fft", "matplotlib"];

/// Functions of NumPy that give back what they got, by their modules; what is defined in them counts as they do.
const GIVE_BACK: [(&str, &str); 3] = [
    ("numpy._core._asarray", "require"),
    ("numpy.lib._function_base_impl", "asarray_chkfinite"),
    ("numpy.lib._stride_tricks_impl", "broadcast_arrays"),
];

/// NumPy's functions, in the order of [`NAMES`].
static THEIRS: OnceLock<[Function; 4]> = OnceLock::new();

/// Puts our functions into the places of NumPy's.
pub(crate) fn init(numpy: &Bound<'_, PyModule>) -> PyResult<()> {
    let ours: [Function; 4] = [call::<0>, call::<1>, call::<2>, call::<3>];
    let mut places = Vec::with_capacity(NAMES.len());
    let mut theirs = ours;
    for (their, name) in theirs.iter_mut().zip(NAMES) {
        let function = numpy.getattr(name)?;
        let missing = || {
            PyNotImplementedError::new_err(format!(
                "numpy.{name} is not the C function that this version knows"
            ))
        };
        // SAFETY: a live object.
        if unsafe { ffi::PyCFunction_Check(function.as_ptr()) } == 0 {
            return Err(missing());
        }
        // SAFETY: checked to be a C function.
        let definition = unsafe { (*function.as_ptr().cast::<ffi::PyCFunctionObject>()).m_ml };
        // SAFETY: NumPy's method table is static.
        if unsafe { (*definition).ml_flags } != ffi::METH_FASTCALL | ffi::METH_KEYWORDS {
            return Err(missing());
        }
        // SAFETY: as above.
        let method = unsafe { (*definition).ml_meth };
        // SAFETY: the flags say that it is this member of the union.
        *their = unsafe { method.PyCFunctionFastWithKeywords };
        places.push(definition);
    }
    let fresh = THEIRS.set(theirs).is_ok();
    debug_assert!(fresh, "the functions are looked up once");
    for (definition, our) in places.into_iter().zip(ours) {
        // SAFETY: the static tables of NumPy are writable; ours have the same types.
        unsafe {
            (*definition).ml_meth = ffi::PyMethodDefPointer {
                PyCFunctionFastWithKeywords: our,
            }
        };
    }
    Ok(())
}

unsafe extern "C" fn call<const WHICH: usize>(
    module: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> *mut PyObject {
    #[expect(
        clippy::expect_used,
        reason = "the function is in its place after `init`"
    )]
    let theirs = THEIRS.get().expect("conversions::init ran at import")[WHICH];
    // SAFETY: the interpreter passes `count` arguments, the values of keywords, and their names or null.
    let all = unsafe { arguments(args, count, names) };
    let Some(&first) = all.first().filter(|_| count > 0) else {
        // SAFETY: NumPy's function with the arguments as they came.
        return unsafe { theirs(module, args, count, names) };
    };
    // SAFETY: a live object.
    if unsafe { ffi::Py_TYPE(first) } != state::lazy_type() {
        // SAFETY: as above.
        return unsafe { theirs(module, args, count, names) };
    }
    object(|py| {
        // SAFETY: the interpreter lends its names for the call.
        if wants_plain(py)? && !unsafe { limits_depth(NAMES[WHICH], names) } {
            // SAFETY: as above.
            return owned(py, unsafe { theirs(module, args, count, names) });
        }
        // SAFETY: the interpreter lends the arguments for the call.
        let first = unsafe { lend(py, first) };
        let plain = delegate::plain(&first)?;
        let mut all: SmallVec<[_; 6]> = all.into();
        all[0] = plain.as_ptr();
        // SAFETY: as they came, but for the first one, which lives during the call.
        let result = owned(py, unsafe { theirs(module, all.as_ptr(), count, names) })?;
        Ok(if result.is(&plain) { first } else { result })
    })
}

/// All arguments of a call, those with names at the end.
///
/// # Safety
/// `args` points to `count` objects and those of the keywords in the tuple `names`, which may be null.
unsafe fn arguments<'a>(
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> &'a [*mut PyObject] {
    let named = if names.is_null() {
        0
    } else {
        // SAFETY: promised by the caller.
        unsafe { ffi::PyTuple_GET_SIZE(names) }
    };
    match usize::try_from(count + named) {
        // SAFETY: promised by the caller.
        Ok(given) if given > 0 => unsafe { std::slice::from_raw_parts(args, given) },
        _ => &[],
    }
}

/// True for `array(..., ndmax=...)`: NumPy counts the axes of an array that is not exactly of its type as those of nested
/// lists, and refuses it where they are too many.
///
/// # Safety
/// `names` is a tuple of names, or null.
unsafe fn limits_depth(name: &str, names: *mut PyObject) -> bool {
    if name != "array" || names.is_null() {
        return false;
    }
    // SAFETY: promised by the caller.
    let keywords = unsafe { ffi::PyTuple_GET_SIZE(names) };
    (0..keywords).any(|at| {
        // SAFETY: a keyword of the tuple.
        let keyword = unsafe { ffi::PyTuple_GET_ITEM(names, at) };
        // SAFETY: keywords are strings.
        unsafe { ffi::PyUnicode_CompareWithASCIIString(keyword, c"ndmax".as_ptr()) == 0 }
    })
}

/// True if a module of one of the packages [`PLAIN`] calls, but for the functions of [`GIVE_BACK`].
fn wants_plain(py: Python<'_>) -> PyResult<bool> {
    // SAFETY: the interpreter is attached.
    let globals = unsafe { ffi::PyEval_GetGlobals() };
    // SAFETY: they are lent as long as the caller runs.
    let globals = unsafe { Bound::from_borrowed_ptr_or_opt(py, globals) };
    let Some(globals) = globals else {
        return Ok(false);
    };
    let Some(name) = globals.cast::<PyDict>()?.get_item("__name__")? else {
        return Ok(false);
    };
    let Ok(name) = name.cast::<PyString>() else {
        return Ok(false);
    };
    let name = name.to_str()?;
    let within = |package: &&str| {
        name.strip_prefix(*package)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    if !PLAIN.iter().any(within) {
        return Ok(false);
    }
    match GIVE_BACK.iter().find(|(module, _)| *module == name) {
        Some((_, function)) => Ok(!is_within(py, function)?),
        None => Ok(true),
    }
}

/// True if the code that runs is this function, or is defined in it.
fn is_within(py: Python<'_>, function: &str) -> PyResult<bool> {
    // SAFETY: the interpreter is attached; the frame is borrowed.
    let frame = unsafe { ffi::PyEval_GetFrame() };
    if frame.is_null() {
        return Ok(false);
    }
    // SAFETY: a live frame.
    let code = unsafe { ffi::PyFrame_GetCode(frame) };
    // SAFETY: a new reference, never null.
    let code = unsafe { Bound::from_owned_ptr(py, code.cast()) };
    let name = code.getattr("co_qualname")?;
    let rest = name.cast::<PyString>()?.to_str()?.strip_prefix(function);
    Ok(rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}
