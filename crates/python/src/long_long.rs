//! C's second name for 64-bit integers, `longlong`: NumPy tells its arrays from those of `long`, whose elements are the
//! same. Array libraries and C code give such arrays. They are operands like others where the result is of a dtype of
//! ours; what is `longlong` again is left to NumPy.

use crate::map::{self, Options, Outcome, leave};
use crate::np::Arr;
use crate::numbers::stranger;
use crate::ops::OpEntry;
use arrayloom_types::DType;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyTuple};
use smallvec::SmallVec;
use std::ffi::c_int;

/// NumPy's numbers of the types `longlong` and `ulonglong`, NumPy's letters of those with the same elements, and ours.
const TYPES: [(c_int, &str, DType); 2] = [(9, "l", DType::I64), (10, "L", DType::U64)];

/// The letter and our dtype of the type with the same elements, of an array of such integers in any byte order.
fn known(array: Arr) -> Option<(&'static str, DType)> {
    let found = TYPES
        .iter()
        .find(|(number, ..)| *number == array.type_number());
    found.map(|&(_, letter, dtype)| (letter, dtype))
}

/// The letter of the type with the same elements, of an array of such integers in native order.
fn same(object: &Bound<'_, PyAny>) -> Option<&'static str> {
    let array = Arr::of(object).filter(|_| !stranger(object))?;
    let (letter, _) = known(array)?;
    let native = object
        .getattr("dtype")
        .and_then(|d| d.getattr("isnative")?.is_truthy());
    native.is_ok_and(|native| native).then_some(letter)
}

/// Our dtype with the same numbers, of an array of such integers in any byte order.
pub(crate) fn dtype(array: Arr) -> Option<DType> {
    known(array).map(|(_, dtype)| dtype)
}

/// True for an array of such integers.
pub(crate) fn is_one(object: &Bound<'_, PyAny>) -> bool {
    same(object).is_some()
}

/// [`map::call`] with such operands.
pub(crate) fn call<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    args: &[&Bound<'py, PyAny>],
    options: &Options<'_, 'py>,
) -> PyResult<Outcome<'py>> {
    let Some(ufunc) = entry.ufunc.as_ref().filter(|_| options.dtype.is_none()) else {
        leave!(Operand)
    };
    let mut kinds = Vec::with_capacity(args.len() + 2);
    for arg in args {
        let Some(kind) = kind_of(arg)? else {
            leave!(Operand)
        };
        kinds.push(kind);
    }
    let given = kinds.len();
    let results: usize = ufunc.bind(py).getattr("nout")?.extract()?;
    kinds.resize(given + results, py.None().into_bound(py));
    let kinds = PyTuple::new(py, kinds)?;
    let Ok(kinds) = ufunc.bind(py).call_method1("resolve_dtypes", (kinds,)) else {
        leave!(Mismatch)
    };
    for at in given..given + results {
        let number: c_int = kinds.get_item(at)?.getattr("num")?.extract()?;
        if TYPES.iter().any(|(own, ..)| *own == number) && options.out.is_none() {
            leave!(Delegated)
        }
    }
    // NumPy's operators write to such a temporary, so the result is of its dtype.
    let mut lent = args.iter().zip(options.temporary);
    if options.out.is_none() && lent.any(|(arg, gone)| gone && is_one(arg)) {
        leave!(Delegated)
    }
    let mut seen: SmallVec<[_; 3]> = SmallVec::new();
    for arg in args {
        seen.push(match same(arg) {
            Some(letter) => arg.call_method1("view", (letter,))?,
            None => (*arg).clone(),
        });
    }
    let seen: SmallVec<[_; 3]> = seen.iter().collect();
    map::call(py, entry, &seen, options)
}

/// What an operand is for the choice of a loop: a dtype, or a type of Python's numbers. None of anything else.
fn kind_of<'py>(arg: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = arg.py();
    let numbers = [
        py.get_type::<PyInt>(),
        py.get_type::<PyFloat>(),
        py.get_type::<PyComplex>(),
    ];
    if let Some(number) = numbers.into_iter().find(|kind| arg.get_type().is(kind)) {
        return Ok(Some(number.into_any()));
    }
    if arg.is_exact_instance_of::<PyBool>() {
        return py.import("numpy")?.call_method1("dtype", ("?",)).map(Some);
    }
    let array = Arr::of(arg).is_some() && !stranger(arg);
    if array || crate::numbers::is_number(arg) {
        return arg.getattr("dtype").map(Some);
    }
    Ok(None)
}
