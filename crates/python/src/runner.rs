//! What the runner adds: operators of plain arrays reach us when their result is large.
#![expect(unsafe_code, reason = "replaces C slots of numpy.ndarray")]

use crate::map::{self, Options, Outcome};
use crate::np::{self, Arr};
use crate::numbers::{BINARY, table};
use crate::slot::{lend, object};
use crate::{ops, state};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ptr;

/// Bytes of the larger operand, if both are plain arrays or one is and the other a number.
fn large(a: *mut PyObject, b: *mut PyObject) -> bool {
    [a, b].into_iter().any(|object| {
        // SAFETY: the interpreter lends the operands of a slot.
        let plain = unsafe { ffi::Py_TYPE(object) } == np::array_type();
        // SAFETY: exactly an array.
        plain && unsafe { Arr::new(object) }.nbytes() >= state::min_bytes()
    })
}

unsafe extern "C" fn patched<const WHICH: usize>(
    a: *mut PyObject,
    b: *mut PyObject,
) -> *mut PyObject {
    let Some(own) = BINARY[WHICH].own(&table().numbers) else {
        return ptr::null_mut();
    };
    if !large(a, b) {
        // SAFETY: `ndarray`'s own slot with its own arguments.
        return unsafe { own(a, b) };
    }
    object(|py| {
        // SAFETY: the interpreter lends both operands.
        let (x, y) = (unsafe { lend(py, a) }, unsafe { lend(py, b) });
        if let Some(entry) = ops::by_name(BINARY[WHICH].name)
            && let Outcome::Done(result) = map::call(py, entry, &[&x, &y], &Options::default())?
        {
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
