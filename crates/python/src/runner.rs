//! What the runner adds to operators of plain arrays: they reach us when their result is large, and go straight to
//! NumPy's ufunc when it is small.
#![expect(unsafe_code, reason = "replaces C slots of numpy.ndarray")]

use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::numbers::{BINARY, Binary, MULTIPLY, few, table};
use crate::slot::{lend, object, owned};
use crate::{direct, elision, modules, state};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ptr;

/// True when an operand or the result of plain operands has enough bytes to be recorded. This runs before
/// every operation on small arrays, so it does as little as it can.
#[inline]
pub(crate) fn is_large(a: *mut PyObject, b: *mut PyObject) -> bool {
    let (x, y) = (plain(a), plain(b));
    let len = |array: Option<Arr>| array.map_or(1, Arr::len);
    !few(len(x).saturating_mul(len(y))) && has_large(x, y)
}

/// The same for operands that may have a large result.
#[inline(never)]
fn has_large(a: Option<Arr>, b: Option<Arr>) -> bool {
    let min_bytes = state::min_bytes();
    match (a, b) {
        (None, None) => false,
        (Some(x), None) | (None, Some(x)) => x.nbytes() >= min_bytes,
        (Some(x), Some(y)) => {
            let bytes = x.itemsize().max(y.itemsize());
            let (long, short) = if x.ndim() < y.ndim() { (y, x) } else { (x, y) };
            let (long, short) = (long.shape(), short.shape());
            let (outer, inner) = long.split_at(long.len() - short.len());
            let outer = outer.iter().fold(bytes, |all, &n| all.saturating_mul(n));
            let pairs = inner.iter().zip(short);
            pairs.fold(outer, |all, (&n, &m)| all.saturating_mul(n.max(m))) >= min_bytes
        }
    }
}

/// True when a plain operand has enough bytes to be recorded.
#[inline]
pub(crate) fn is_large_alone(a: *mut PyObject) -> bool {
    plain(a).is_some_and(|array| !few(array.len()) && array.nbytes() >= state::min_bytes())
}

/// The object if it is exactly a `numpy.ndarray`.
#[inline]
pub(crate) fn plain(object: *mut PyObject) -> Option<Arr> {
    // SAFETY: the interpreter lends the operands of a slot or a call.
    let plain = unsafe { ffi::Py_TYPE(object) } == np::array_type();
    // SAFETY: exactly an array.
    plain.then(|| unsafe { Arr::new(object) })
}

/// Records a call, or does what NumPy does.
pub(crate) fn record_or(
    own: impl FnOnce(Python<'_>) -> *mut PyObject,
    record: impl for<'py> FnOnce(Python<'py>) -> PyResult<Outcome<'py>>,
) -> *mut PyObject {
    object(|py| match record(py)? {
        Outcome::Done(result) => Ok(result),
        Outcome::Numpy(_) => owned(py, own(py)),
    })
}

/// `a op b` for operator number `WHICH`.
unsafe extern "C" fn binary<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    let Some(own) = BINARY[WHICH].own(&table().numbers) else {
        return ptr::null_mut();
    };
    if is_large(a, b) {
        return operate(WHICH, [a, b], own);
    }
    if defers_to_nobody(a)
        && defers_to_nobody(b)
        && state::min_bytes() <= elision::LEAST
        && let Some((call, ufunc)) = direct::numpys(table().row(WHICH))
    {
        // SAFETY: the slot does so, for operands that are too small to be overwritten.
        return unsafe { call(ufunc, [a, b].as_ptr(), 2, ptr::null_mut()) };
    }
    // SAFETY: `ndarray`'s own slot with its own arguments.
    unsafe { own(a, b) }
}

/// `a op= b` for operator number `WHICH`.
unsafe extern "C" fn in_place<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    if plain(a).is_some()
        && defers_to_nobody(b)
        && let Some((call, ufunc)) = direct::numpys(table().row(WHICH))
    {
        // SAFETY: the slot does so.
        return unsafe { call(ufunc, [a, b, a].as_ptr(), 3, ptr::null_mut()) };
    }
    match BINARY[WHICH].own_in_place(&table().numbers) {
        // SAFETY: `ndarray`'s own slot with its own arguments.
        Some(own) => unsafe { own(a, b) },
        None => ptr::null_mut(),
    }
}

/// True for a plain array, a `float` and an `int`, which never want the other operand to do the operation.
/// The slots of NumPy do no more for them than to call the ufunc.
#[inline]
fn defers_to_nobody(operand: *mut PyObject) -> bool {
    // SAFETY: the interpreter lends the operands of a slot.
    let kind = unsafe { ffi::Py_TYPE(operand) };
    kind == np::array_type()
        || kind == &raw mut ffi::PyFloat_Type
        || kind == &raw mut ffi::PyLong_Type
}

/// An operation that may be recorded. It is never part of the slots, so that small operands need no room for it.
#[inline(never)]
fn operate(which: usize, [a, b]: [*mut PyObject; 2], own: ffi::binaryfunc) -> *mut PyObject {
    let swaps = which == MULTIPLY && elision::swaps_factors(a, b);
    let placed = elision::placed(a, b, BINARY[which].elides);
    let temporary = elision::temporaries(&[a, b]);
    let numpys = |py: Python<'_>| in_numpy(py, &BINARY[which], [a, b], temporary, own);
    record_or(numpys, |py| {
        // SAFETY: the interpreter lends both operands.
        let (x, y) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        let (args, temporary) = if swaps {
            ([&y, &x], [temporary[1], temporary[0]])
        } else {
            ([&x, &y], temporary)
        };
        let options = Options {
            placed,
            temporary,
            ..Options::default()
        };
        map::call(py, table().row(which), &args, &options)
    })
}

/// What NumPy does. It asks who calls the slot before it writes to a temporary, and sees us.
fn in_numpy(
    py: Python<'_>,
    operator: &Binary,
    [a, b]: [*mut PyObject; 2],
    temporary: [bool; 2],
    own: ffi::binaryfunc,
) -> *mut PyObject {
    let taken = || {
        // SAFETY: the interpreter lends both operands.
        let (x, y) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        elision::taken([&x, &y], temporary, operator)
    };
    let in_place = operator.own_in_place(&table().numbers);
    let lends = temporary != [false; 2];
    match (lends.then(taken).flatten(), in_place) {
        // SAFETY: `ndarray`'s own slot; only the interpreter's stack holds the array that is written.
        (Some(0), Some(own)) => unsafe { own(a, b) },
        // SAFETY: as above.
        (Some(_), Some(own)) => unsafe { own(b, a) },
        // SAFETY: `ndarray`'s own slot with its own arguments.
        _ => unsafe { own(a, b) },
    }
}

/// Lets operators and ufuncs of plain arrays reach the engine, and NumPy's large results lie in the arena. Operators
/// that are not replaced here call their ufunc.
#[pyfunction]
pub(crate) fn enable_runner_patches(py: Python<'_>) -> PyResult<()> {
    np::set_handler(state::state().handler.bind(py))?;
    // NumPy looks for the error state in every call. In a context that holds something, like the
    // handler, it finds a state quickly only if there is one.
    modules::numpy(py)?.call_method0("seterr")?;
    direct::init(py)?;
    // SAFETY: NumPy's type object is static and has number methods.
    let numbers = unsafe { (*np::array_type()).tp_as_number };
    macro_rules! patch {
        ($($which:literal $slot:ident $in_place:ident,)*) => {$(
            // SAFETY: the table is writable; the slot has this type.
            unsafe { (*numbers).$slot = Some(binary::<$which>) };
            // SAFETY: likewise.
            unsafe { (*numbers).$in_place = Some(in_place::<$which>) };
        )*};
    }
    patch!(
        0 nb_add nb_inplace_add,
        1 nb_subtract nb_inplace_subtract,
        2 nb_multiply nb_inplace_multiply,
        3 nb_true_divide nb_inplace_true_divide,
        4 nb_floor_divide nb_inplace_floor_divide,
        5 nb_remainder nb_inplace_remainder,
        6 nb_lshift nb_inplace_lshift,
        7 nb_rshift nb_inplace_rshift,
        8 nb_and nb_inplace_and,
        9 nb_or nb_inplace_or,
        10 nb_xor nb_inplace_xor,
    );
    Ok(())
}
