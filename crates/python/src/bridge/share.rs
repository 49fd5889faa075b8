//! Our pages given to a consumer that takes them as immutable, at no cost, and without giving up isolation.
//!
//! The pages of a whole array leave its address. They become memory of their own, which the consumer
//! keeps, and the array is recorded as a copy of it that nobody has made yet. Whoever touches the array,
//! or writes to it, makes the copy; if the array dies before, there never is one.
#![expect(unsafe_code, reason = "hands memory of the arena to others")]

use super::import::set_base;
use crate::np::{self, Arr, Place};
use crate::slot::owned;
use crate::{error, state, sync};
use numpy::npyffi::flags;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::{CStr, c_void};

const BLOCK: &CStr = c"arrayloom_shared_pages";

unsafe extern "C" fn drop_block(capsule: *mut PyObject) {
    // SAFETY: the destructor gets its own capsule, made in `share_pages`.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, BLOCK.as_ptr()) };
    if !pointer.is_null() {
        // SAFETY: the pointer came from a box of this type and is used only here.
        let lent = unsafe { Box::from_raw(pointer.cast::<arrayloom_engine::Lent>()) };
        state::engine().take_back(*lent);
    }
}

/// A read-only array over the memory of a whole lazy array, which later writes to that do not reach.
/// None if the array is a part of its memory, or the memory cannot leave.
#[pyfunction]
pub(crate) fn share_pages<'py>(array: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let Some(arr) = Arr::of(array) else {
        return Ok(None);
    };
    let (Some(dtype), Some((slot, base))) = (arr.dtype(), state::engine().slot_at(arr.addr()))
    else {
        return Ok(None);
    };
    if base as usize != arr.addr() || !arr.has(flags::NPY_ARRAY_C_CONTIGUOUS) {
        return Ok(None);
    }
    sync::read(py, arr)?;
    let whole = arr.layout(dtype, base as usize);
    let lent = py.detach(|| state::engine().lend_pages(slot, &whole));
    let Some(lent) = lent.map_err(|e| error::to_python(py, &e))? else {
        return Ok(None);
    };
    let data = lent.address() as *mut u8;
    let holder = Box::into_raw(Box::new(lent)).cast::<c_void>();
    // SAFETY: the box lives until the destructor drops it.
    let capsule = owned(py, unsafe {
        ffi::PyCapsule_New(holder, BLOCK.as_ptr(), Some(drop_block))
    })?;
    let place = Place {
        kind: np::array_type(),
        dtype,
        shape: arr.shape(),
        strides: arr.strides(),
        data,
        flags: 0,
    };
    let made = np::new_array(py, &place)?;
    set_base(&made, capsule)?;
    Ok(Some(made))
}
