//! Picking by truth values: `a[mask]`, `nonzero`, `flatnonzero`, `np.where(condition)`.
#![expect(unsafe_code, reason = "reads and fills the memory of arrays")]

use crate::birth;
use crate::copies;
use crate::map::{Outcome, leave};
use crate::methods::Call;
use crate::np::Arr;
use crate::{parts, slices, state, sync};
use arrayloom_bulk as bulk;
use arrayloom_types::DType;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyTuple};

/// `a[mask]` for a mask of the first axes of the array.
pub(crate) fn get<'py>(a: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let py = a.py();
    let (Some(array), Some(mask)) = (Arr::of(a), Arr::of(key)) else {
        leave!(Delegated)
    };
    let rank = mask.ndim();
    let fits = mask.dtype() == Some(DType::Bool)
        && (1..=array.ndim()).contains(&rank)
        && array.shape()[..rank] == *mask.shape();
    let flat = array.has(NPY_ARRAY_C_CONTIGUOUS) && mask.has(NPY_ARRAY_C_CONTIGUOUS);
    let size = array.itemsize();
    let aligned = array.addr().is_multiple_of(size.clamp(1, 8));
    let (Some(dtype), true) = (array.dtype(), fits && flat && aligned && state::lazy()) else {
        leave!(Delegated)
    };
    if array.nbytes() < state::min_bytes() || array.len() == 0 {
        leave!(Small)
    }
    sync::read(py, array)?;
    sync::read(py, mask)?;
    // SAFETY: a contiguous array of truth values, which have been computed.
    let truth = unsafe { slices::elements::<u8>(mask, mask.len()) };
    let threads = parts::threads();
    let count = py.detach(|| bulk::count_true(truth, threads));
    let mut shape = vec![count];
    shape.extend_from_slice(&array.shape()[rank..]);
    let result = birth::fresh(py, dtype, &shape)?;
    let Some(out) = Arr::of(&result) else {
        leave!(Delegated)
    };
    let width = size * array.shape()[rank..].iter().product::<usize>();
    match width {
        // SAFETY: computed elements of the array; a new array of exactly as many as are true.
        1 => unsafe { pick::<u8>(py, array, truth, out) },
        // SAFETY: as above.
        2 if size == 2 => unsafe { pick::<u16>(py, array, truth, out) },
        // SAFETY: as above.
        4 if size == 4 => unsafe { pick::<u32>(py, array, truth, out) },
        // SAFETY: as above.
        8 if size == 8 => unsafe { pick::<u64>(py, array, truth, out) },
        // SAFETY: as above.
        16 if size == 16 => unsafe { pick::<[u64; 2]>(py, array, truth, out) },
        // SAFETY: as above, rows of elements.
        _ => unsafe { rows(py, array, truth, out, width) },
    }
    Ok(Outcome::Done(result))
}

/// # Safety
/// The values of `array` are computed and of type `T`; `out` is new, with room for all picked ones.
unsafe fn pick<T: Copy + Send + Sync>(py: Python<'_>, array: Arr, mask: &[u8], out: Arr) {
    // SAFETY: promised by the caller.
    let values = unsafe { slices::elements::<T>(array, mask.len()) };
    // SAFETY: promised by the caller.
    let out = unsafe { slices::places::<T>(out, out.len()) };
    py.detach(|| bulk::pick(values, mask, out, parts::threads()));
}

/// # Safety
/// As for [`pick`], with rows of `width` bytes.
unsafe fn rows(py: Python<'_>, array: Arr, mask: &[u8], out: Arr, width: usize) {
    // SAFETY: promised by the caller.
    let values = unsafe { slices::elements::<u8>(array, array.nbytes()) };
    // SAFETY: promised by the caller.
    let out = unsafe { slices::places::<u8>(out, out.nbytes()) };
    py.detach(|| bulk::pick_rows(values, width, mask, out, parts::threads()));
}

/// `a.nonzero()`.
pub(crate) fn nonzero<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    if !call.args.is_empty() || call.kwargs.is_some() {
        leave!(Mismatch)
    }
    places(call.this)
}

/// The places of the true elements: one array of indices for each axis.
pub(crate) fn places<'py>(array: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let py = array.py();
    let Some(given) = Arr::of(array) else {
        leave!(Delegated)
    };
    let (Some(dtype), rank) = (given.dtype(), given.ndim()) else {
        leave!(Operand)
    };
    if rank == 0 || given.nbytes() < state::min_bytes() || !state::lazy() {
        leave!(Small)
    }
    let truth = if dtype == DType::Bool && given.has(NPY_ARRAY_C_CONTIGUOUS) {
        array.clone()
    } else {
        match copies::duplicate(array, Some(DType::Bool), 'C')? {
            Outcome::Done(truth) => truth,
            other @ Outcome::Numpy(_) => return Ok(other),
        }
    };
    let Some(mask) = Arr::of(&truth).filter(|mask| mask.len() > 0) else {
        leave!(Small)
    };
    sync::read(py, mask)?;
    // SAFETY: a contiguous array of truth values, which have been computed.
    let values = unsafe { slices::elements::<u8>(mask, mask.len()) };
    let threads = parts::threads();
    let count = py.detach(|| bulk::count_true(values, threads));
    if count == 0 {
        leave!(Small)
    }
    let all = birth::fresh(py, DType::I64, &[count, rank])?;
    let Some(out) = Arr::of(&all) else {
        leave!(Delegated)
    };
    // SAFETY: a new array of as many indices as there are true values, times axes.
    let out = unsafe { slices::places::<i64>(out, out.len()) };
    let shape = mask.shape();
    py.detach(|| bulk::places(values, shape, out, threads));
    let column = |axis: usize| all.get_item((PyEllipsis::get(py), axis));
    let columns = (0..rank).map(column).collect::<PyResult<Vec<_>>>()?;
    Ok(Outcome::Done(PyTuple::new(py, columns)?.into_any()))
}

/// `np.flatnonzero(array)`.
pub(crate) fn flat_places<'py>(array: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    if Arr::of(array).is_none() {
        leave!(Delegated)
    }
    let flat = match copies::flat_view(array)? {
        Outcome::Done(flat) => flat,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    match places(&flat)? {
        Outcome::Done(found) => found.get_item(0).map(Outcome::Done),
        other @ Outcome::Numpy(_) => Ok(other),
    }
}
