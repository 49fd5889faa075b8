//! What the runner adds: operators of plain arrays reach us when their result is large.
#![expect(unsafe_code, reason = "replaces C slots of numpy.ndarray")]

use crate::elision;
use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::numbers::{BINARY, MULTIPLY, table};
use crate::slot::{lend, object};
use crate::state;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ptr;

/// True when the result of plain operands has enough bytes to be recorded. This runs before every
/// operation on small arrays, so it does as little as it can.
#[inline]
fn is_large(a: *mut PyObject, b: *mut PyObject) -> bool {
    let min_bytes = state::min_bytes();
    match (plain(a), plain(b)) {
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

/// The object if it is exactly a `numpy.ndarray`.
fn plain(object: *mut PyObject) -> Option<Arr> {
    // SAFETY: the interpreter lends the operands of a slot.
    let plain = unsafe { ffi::Py_TYPE(object) } == np::array_type();
    // SAFETY: exactly an array.
    plain.then(|| unsafe { Arr::new(object) })
}

unsafe extern "C" fn patched<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    let Some(own) = BINARY[WHICH].own(&table().numbers) else {
        return ptr::null_mut();
    };
    if !is_large(a, b) {
        // SAFETY: `ndarray`'s own slot with its own arguments.
        return unsafe { own(a, b) };
    }
    let swaps = WHICH == MULTIPLY && elision::swaps_factors(a, b);
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (x, y) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        let entry = table().row(WHICH);
        let args = if swaps { [&y, &x] } else { [&x, &y] };
        if let Outcome::Done(result) = map::call(py, entry, &args, &Options::default())? {
            return Ok(result);
        }
        // SAFETY: as above.
        crate::slot::owned(py, unsafe { own(a, b) })
    })
}

/// Lets operators of plain arrays reach the engine, and NumPy's large results lie in the arena.
#[pyfunction]
pub(crate) fn enable_runner_patches(py: Python<'_>) -> PyResult<()> {
    np::set_handler(state::state().handler.bind(py))?;
    // NumPy looks for the error state in every call. In a context that holds something, like the
    // handler, it finds a state quickly only if there is one.
    py.import("numpy")?.call_method0("seterr")?;
    // SAFETY: NumPy's type object is static and has number methods.
    let numbers = unsafe { (*np::array_type()).tp_as_number };
    macro_rules! patch {
        ($($slot:ident $which:literal,)*) => {$(
            // SAFETY: the table is writable; the slot has this type.
            unsafe { (*numbers).$slot = Some(patched::<$which>) };
        )*};
    }
    patch!(
        nb_add 0, nb_subtract 1, nb_multiply 2, nb_true_divide 3, nb_floor_divide 4, nb_remainder 5,
    );
    Ok(())
}
