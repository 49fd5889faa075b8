//! NumPy's own `asarray` and its like, as installed packages call them.
//!
//! Of a plain array they give the array itself, and code relies on it: `asarray(x) is x` tells whether there is a
//! copy, `y is x` whether two signals are one. A lazy array is of a derived type, of which NumPy makes a view instead.
//! So the C functions are ours: they call NumPy's, and give the array back where it gave a view of the whole. Some
//! packages get the view, NumPy's own above all, since it is NumPy's code for computed values that they want.
#![expect(unsafe_code, reason = "C functions of NumPy's namespace")]

use crate::creation::viewed;
use crate::slot::{lend, object, owned};
use crate::{delegate, state};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use std::sync::OnceLock;

type Function = ffi::PyCFunctionFastWithKeywords;

/// The functions of NumPy's namespace.
const NAMES: [&str; 4] = ["asarray", "ascontiguousarray", "asfortranarray", "array"];

/// Packages that get views: those whose code is for computed values, one that hands arrays to compiled code which
/// takes `numpy.ndarray` and no derived type (`EXACT` of the import layer), and one that asserts this type.
const PLAIN: [&str; 4] = ["numpy", "arrayloom", "scipy.fft", "matplotlib"];

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
    if let Some(mut all) = unsafe { of_limited_depth(NAMES[WHICH], args, count, names) } {
        return object(|py| {
            // SAFETY: the interpreter lends the arguments for the call.
            let plain = delegate::plain(&unsafe { lend(py, all[0]) })?;
            all[0] = plain.as_ptr();
            // SAFETY: as they came, but for the first one, which lives during the call.
            owned(py, unsafe { theirs(module, all.as_ptr(), count, names) })
        });
    }
    // SAFETY: NumPy's function with the arguments as they came.
    let result = unsafe { theirs(module, args, count, names) };
    if result.is_null() || count == 0 {
        return result;
    }
    // SAFETY: the interpreter passes `count` objects.
    let first = unsafe { *args };
    // SAFETY: a live object.
    if unsafe { ffi::Py_TYPE(first) } != state::lazy_type() || first == result {
        return result;
    }
    object(|py| {
        let view = owned(py, result)?;
        // SAFETY: the interpreter lends the arguments for the call.
        let first = unsafe { lend(py, first) };
        match viewed(&view) {
            Some(whole) if whole.is(&first) && !wants_plain(py) => Ok(whole),
            _ => Ok(view),
        }
    })
}

/// The arguments of `array(lazy, ndmax=...)`: NumPy counts the axes of an array that is not exactly of its type as those
/// of nested lists, and refuses it where they are too many.
///
/// # Safety
/// `args` points to `count` objects and those of the keywords in the tuple `names`, which may be null.
unsafe fn of_limited_depth(
    name: &str,
    args: *const *mut PyObject,
    count: isize,
    names: *mut PyObject,
) -> Option<Vec<*mut PyObject>> {
    if name != "array" || count == 0 || names.is_null() {
        return None;
    }
    // SAFETY: promised by the caller.
    let keywords = unsafe { ffi::PyTuple_GET_SIZE(names) };
    let given = usize::try_from(count + keywords).ok()?;
    // SAFETY: promised by the caller.
    let all = unsafe { std::slice::from_raw_parts(args, given) };
    // SAFETY: live objects.
    let lazy = unsafe { ffi::Py_TYPE(all[0]) } == state::lazy_type();
    let limits = |at: isize| {
        // SAFETY: a keyword of the tuple.
        let keyword = unsafe { ffi::PyTuple_GET_ITEM(names, at) };
        // SAFETY: keywords are strings.
        unsafe { ffi::PyUnicode_CompareWithASCIIString(keyword, c"ndmax".as_ptr()) == 0 }
    };
    (lazy && (0..keywords).any(limits)).then(|| all.to_vec())
}

/// True if a module of one of the packages [`PLAIN`] calls.
fn wants_plain(py: Python<'_>) -> bool {
    // SAFETY: the interpreter is attached.
    let globals = unsafe { ffi::PyEval_GetGlobals() };
    // SAFETY: they are lent as long as the caller runs.
    let globals = unsafe { Bound::from_borrowed_ptr_or_opt(py, globals) };
    let name = globals.and_then(|globals| {
        let name = globals.cast::<PyDict>().ok()?.get_item("__name__").ok()??;
        let name = name.cast::<PyString>().ok()?.to_str().ok()?;
        let within = |package: &&str| {
            name.strip_prefix(*package)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        Some(PLAIN.iter().any(within))
    });
    name.unwrap_or(false)
}
