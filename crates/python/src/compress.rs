//! Picking by truth values on a device with memory of its own: values that are there stay there.

use crate::np::Arr;
use crate::operations::{view, whole};
use crate::{birth, state, sync, truth};
use arrayloom_types::DType;
use pyo3::prelude::*;

/// True for an array that a device has, or will have once it is computed.
pub(crate) fn is_abroad(array: Arr) -> bool {
    state::engine().copies_values() && !sync::is_there(array)
}

/// True for an array that a device has, or that may go there and stay because something that belongs to it `is_there`.
pub(crate) fn goes(array: Arr, is_there: impl FnOnce() -> bool) -> bool {
    let may_go = || state::engine().slot_at(array.addr()).is_some();
    state::engine().copies_values() && (is_abroad(array) || may_go() && is_there())
}

/// `array[mask]` for a contiguous mask of the first axes of the array. `None` where the values are here.
pub(crate) fn get(py: Python<'_>, array: Arr, mask: Arr) -> PyResult<Option<Bound<'_, PyAny>>> {
    let abroad = goes(array, || is_abroad(mask));
    let Some(dtype) = array.dtype().filter(|_| abroad) else {
        return Ok(None);
    };
    let count = truth::count(py, mask)?;
    let mut shape = vec![count];
    shape.extend_from_slice(&array.shape()[mask.ndim()..]);
    if count == 0 {
        return birth::fresh(py, dtype, &shape).map(Some);
    }
    let Some(born) = birth::unmade(py, dtype, &shape)? else {
        return Ok(None);
    };
    let (values, mask) = (view(array, dtype), view(mask, DType::Bool));
    let out = whole(&born);
    let work = || state::engine().compress(&values, &mask, &out);
    Ok(sync::force(py, work, work)?.then_some(born.array))
}

/// The places of the true ones of a contiguous mask, a row of indices each. `None` where the values are here, or none
/// is true.
pub(crate) fn places(py: Python<'_>, mask: Arr) -> PyResult<Option<Bound<'_, PyAny>>> {
    if !is_abroad(mask) {
        return Ok(None);
    }
    let count = truth::count(py, mask)?;
    if count == 0 {
        return Ok(None);
    }
    let Some(born) = birth::unmade(py, DType::I64, &[count, mask.ndim()])? else {
        return Ok(None);
    };
    let (mask, out) = (view(mask, DType::Bool), whole(&born));
    let work = || state::engine().true_places(&mask, &out);
    Ok(sync::force(py, work, work)?.then_some(born.array))
}
