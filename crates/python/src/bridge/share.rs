//! Our pages given to a consumer that takes them as immutable, at no cost, and without giving up isolation.
//!
//! The pages of a whole array leave its address. They become memory of their own, which the consumer
//! keeps, and the array is recorded as a copy of it that nobody has made yet. Whoever touches the array,
//! or writes to it, makes the copy; if the array dies before, there never is one. As long as nobody does,
//! every further consumer gets the same pages, and they go back to the array when the last one lets go.
#![expect(unsafe_code, reason = "hands memory of the arena to others")]

use super::import::set_base;
use crate::np::{self, Arr, Place};
use crate::slot::owned;
use crate::{error, state, sync};
use arrayloom_engine::Lent;
use arrayloom_ir::SlotId;
use arrayloom_types::DType;
use numpy::npyffi::flags;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

const BLOCK: &CStr = c"arrayloom_shared_pages";

/// The capsule that has the pages of a slot. Entries are made and taken out under the interpreter's lock,
/// before their capsules go.
static SHARED: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

fn shared() -> MutexGuard<'static, BTreeMap<u32, usize>> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The capsule with the pages of a slot, and where they are, if its value is still what they hold.
fn shared_before(py: Python<'_>, slot: SlotId) -> Option<(Bound<'_, PyAny>, usize)> {
    let capsule = *shared().get(&slot.0)? as *mut PyObject;
    // SAFETY: the capsule takes its entry out before it goes, and this thread holds the interpreter's lock.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, BLOCK.as_ptr()) };
    // SAFETY: the capsule owns a box of this type.
    let lent = unsafe { pointer.cast::<Lent>().as_ref() }?;
    if !state::engine().is_still_lent(lent) {
        return None;
    }
    // SAFETY: as above.
    let capsule = unsafe { Bound::from_borrowed_ptr(py, capsule) };
    Some((capsule, lent.address()))
}

unsafe extern "C" fn drop_block(capsule: *mut PyObject) {
    // SAFETY: the destructor gets its own capsule, made in `share_pages`.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, BLOCK.as_ptr()) };
    shared().retain(|_, other| *other != capsule as usize);
    if !pointer.is_null() {
        // SAFETY: the pointer came from a box of this type, and nobody finds the capsule any more.
        let lent = unsafe { Box::from_raw(pointer.cast::<Lent>()) };
        state::engine().take_back(*lent);
    }
}

/// A new capsule with the pages of an array, and where they are now.
fn lend(
    py: Python<'_>,
    array: Arr,
    (slot, dtype, base): (SlotId, DType, usize),
) -> PyResult<Option<(Bound<'_, PyAny>, usize)>> {
    // A value that is computed need not come to its address first.
    if state::engine().is_pending(slot) {
        sync::read(py, array)?;
    }
    let whole = array.layout(dtype, base);
    let lent = py.detach(|| state::engine().lend_pages(slot, &whole));
    let Some(lent) = lent.map_err(|e| error::to_python(py, &e))? else {
        return Ok(None);
    };
    let address = lent.address();
    let holder = Box::into_raw(Box::new(lent)).cast::<c_void>();
    // SAFETY: the box lives until the destructor drops it.
    let capsule = owned(py, unsafe {
        ffi::PyCapsule_New(holder, BLOCK.as_ptr(), Some(drop_block))
    })?;
    shared().insert(slot.0, capsule.as_ptr() as usize);
    Ok(Some((capsule, address)))
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
    let (capsule, address) = match shared_before(py, slot) {
        Some(found) => found,
        None => match lend(py, arr, (slot, dtype, base as usize))? {
            Some(made) => made,
            None => return Ok(None),
        },
    };
    let place = Place {
        kind: np::array_type(),
        dtype,
        shape: arr.shape(),
        strides: arr.strides(),
        data: address as *mut u8,
        flags: 0,
    };
    let made = np::new_array(py, &place)?;
    set_base(&made, capsule)?;
    Ok(Some(made))
}
