//! What the runner adds to NumPy's ufuncs. Calls with lazy arrays reach us without NumPy's search for overrides, and
//! those of plain arrays, which NumPy would keep, when an operand or the result is large, as that of `np.outer`.
#![expect(unsafe_code, reason = "replaces C functions of numpy.ufunc")]

use crate::array_ufunc;
use crate::elision;
use crate::keywords::Keywords;
use crate::map::{self, Options, Outcome};
use crate::modules;
use crate::np::{self, Arr};
use crate::numbers::few;
use crate::operand::Reason;
use crate::ops::{self, OpEntry};
use crate::runner::{is_large, is_large_alone, plain, record_or};
use crate::slot::lend;
use crate::state;
use numpy::npyffi::PyUFuncObject;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::ptr;
use std::sync::OnceLock;

/// NumPy's own functions: for calls of ufuncs, and for `ufunc.outer`.
static CALL: OnceLock<ffi::vectorcallfunc> = OnceLock::new();
static OUTER: OnceLock<ffi::PyCFunctionFastWithKeywords> = OnceLock::new();

/// Replaces the functions. What NumPy has made in another way than known stays.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let mut entries = Vec::new();
    for ufunc in ops::ufuncs() {
        let ufunc = ufunc.as_ptr().cast::<PyUFuncObject>();
        // SAFETY: the table of operations holds exact ufuncs, which live as long as the process.
        entries.push(unsafe { &mut (*ufunc).fields.vectorcall });
    }
    let same = |a: &ffi::vectorcallfunc, b: &ffi::vectorcallfunc| ptr::fn_addr_eq(*a, *b);
    if let Some(Some(first)) = entries.first().map(|entry| **entry)
        && entries
            .iter()
            .all(|e| e.as_ref().is_some_and(|e| same(e, &first)))
    {
        CALL.get_or_init(|| first);
        for entry in entries {
            *entry = Some(call);
        }
    }
    let kind = modules::numpy(py)?.getattr("ufunc")?;
    let flags = ffi::METH_FASTCALL | ffi::METH_KEYWORDS;
    if let Some(definition) = np::definition(&kind, "outer", flags)? {
        // SAFETY: its flags say that it is such a function.
        let own = unsafe { definition.ml_meth.PyCFunctionFastWithKeywords };
        OUTER.get_or_init(|| own);
        definition.ml_meth.PyCFunctionFastWithKeywords = outer;
    }
    Ok(())
}

/// NumPy's own function for calls of ufuncs, and the ufunc of an operation.
#[inline]
pub(crate) fn numpys(entry: &OpEntry) -> Option<(ffi::vectorcallfunc, *mut PyObject)> {
    CALL.get()
        .copied()
        .zip(entry.ufunc.as_ref().map(Py::as_ptr))
}

/// `ufunc(*operands)`, or `ufunc(*operands, out)`.
unsafe extern "C" fn call(
    ufunc: *mut PyObject,
    args: *const *mut PyObject,
    count: usize,
    words: *mut PyObject,
) -> *mut PyObject {
    let Some(function) = CALL.get() else {
        return ptr::null_mut();
    };
    // SAFETY: the interpreter has put the number of arguments there.
    let given = usize::try_from(unsafe { ffi::PyVectorcall_NARGS(count) }).unwrap_or(0);
    if given > 0 && words.is_null() {
        // SAFETY: so many arguments lie there, which the interpreter lends.
        let operands = unsafe { std::slice::from_raw_parts(args, given) };
        if concerns_us(operands) {
            return call_here(ufunc, operands, *function);
        }
    }
    // SAFETY: NumPy's function with its own arguments.
    unsafe { function(ufunc, args, count, words) }
}

/// A call that may be recorded. It is never part of [`call`], so that small operands need no room for it.
#[inline(never)]
fn call_here(
    ufunc: *mut PyObject,
    operands: &[*mut PyObject],
    function: ffi::vectorcallfunc,
) -> *mut PyObject {
    let (args, count) = (operands.as_ptr(), operands.len());
    // SAFETY: NumPy's function with its own arguments.
    let own = |_: Python<'_>| unsafe { function(ufunc, args, count, ptr::null_mut()) };
    let temporary = elision::temporaries(operands);
    record_or(own, |py| {
        // SAFETY: the interpreter lends the ufunc.
        let this = unsafe { lend(py, ufunc) };
        // SAFETY: and all operands.
        let operands = operands.iter().map(|&o| unsafe { lend(py, o) });
        let operands: SmallVec<[_; 4]> = operands.collect();
        record(&this, &operands, temporary)
    })
}

/// True if an operand is lazy, or if plain ones are or give something large.
#[inline]
fn concerns_us(operands: &[*mut PyObject]) -> bool {
    let mut pairs = 1usize;
    for &operand in operands {
        // SAFETY: the interpreter lends the operands.
        if unsafe { ffi::Py_TYPE(operand) } == state::lazy_type() {
            return true;
        }
        pairs = pairs.saturating_mul(plain(operand).map_or(1, Arr::len));
    }
    !few(pairs) && has_large(operands)
}

/// The same for plain operands that may be large or give something large.
#[inline(never)]
fn has_large(operands: &[*mut PyObject]) -> bool {
    match operands {
        [a] => is_large_alone(*a),
        [a, b, ..] => is_large(*a, *b),
        [] => false,
    }
}

/// Records the call if its operands are as many as the operation has, and perhaps its one result.
fn record<'py>(
    ufunc: &Bound<'py, PyAny>,
    operands: &[Bound<'py, PyAny>],
    temporary: [bool; 2],
) -> PyResult<Outcome<'py>> {
    let Some(entry) = ops::by_ufunc(ufunc) else {
        return Ok(Outcome::Numpy(Reason::Operation));
    };
    let arity = usize::from(entry.def.arity);
    let (inputs, out) = match operands.split_at_checked(arity) {
        Some((inputs, [])) => (inputs, None),
        Some((inputs, [out])) => (inputs, Some(out).filter(|out| !out.is_none())),
        _ => return Ok(Outcome::Numpy(Reason::Keyword)),
    };
    // What NumPy writes into an array of its own is quicker there and then.
    if out.is_some_and(|out| out.get_type_ptr() != state::lazy_type()) {
        return Ok(Outcome::Numpy(Reason::Delegated));
    }
    let inputs: SmallVec<[_; 3]> = inputs.iter().collect();
    let options = Options {
        out,
        temporary,
        ..Options::default()
    };
    map::call(ufunc.py(), entry, &inputs, &options)
}

/// `ufunc.outer(left, right)`.
unsafe extern "C" fn outer(
    ufunc: *mut PyObject,
    args: *const *mut PyObject,
    count: isize,
    words: *mut PyObject,
) -> *mut PyObject {
    let Some(&function) = OUTER.get() else {
        return ptr::null_mut();
    };
    // SAFETY: NumPy's function with its own arguments.
    let own = move || unsafe { function(ufunc, args, count, words) };
    if !words.is_null() || count != 2 {
        return own();
    }
    // SAFETY: two arguments lie there, which the interpreter lends.
    let &[a, b] = unsafe { &*args.cast::<[*mut PyObject; 2]>() };
    if !is_large_product(a, b) {
        return own();
    }
    record_or(
        |_| own(),
        move |py| {
            // SAFETY: the interpreter lends the ufunc.
            let this = unsafe { lend(py, ufunc) };
            // SAFETY: and both operands.
            let (left, right) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
            match ops::by_ufunc(&this) {
                Some(entry) => array_ufunc::outer(py, entry, [&left, &right], &Keywords::default()),
                None => Ok(Outcome::Numpy(Reason::Operation)),
            }
        },
    )
}

/// True if the pairs of elements of two plain arrays take enough bytes to be recorded.
fn is_large_product(left: *mut PyObject, right: *mut PyObject) -> bool {
    let (Some(x), Some(y)) = (plain(left), plain(right)) else {
        return false;
    };
    x.nbytes().saturating_mul(y.len()) >= state::min_bytes()
}
