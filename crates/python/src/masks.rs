//! Picking by truth values: `a[mask]`, `nonzero`, `flatnonzero`, `np.where(condition)`.
#![expect(unsafe_code, reason = "reads and fills the memory of arrays")]

use crate::birth;
use crate::compress;
use crate::copies;
use crate::map::{Outcome, leave};
use crate::methods::Call;
use crate::np::Arr;
use crate::{parts, picked, slices, state, sync};
use arrayloom_bulk as bulk;
use arrayloom_engine::Taking;
use arrayloom_types::{DType, Scalar};
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
    let size = array.itemsize();
    let aligned = array.addr().is_multiple_of(size.clamp(1, 8));
    let ordered = mask.has(NPY_ARRAY_C_CONTIGUOUS);
    let (Some(dtype), true) = (array.dtype(), fits && ordered && aligned && state::lazy()) else {
        leave!(Delegated)
    };
    if array.nbytes() < state::min_bytes() || array.len() == 0 {
        leave!(Small)
    }
    if rank == array.ndim()
        && let Some(result) = picked::later(py, array, mask)?
    {
        return Ok(Outcome::Done(result));
    }
    if let Some(result) = compress::get(py, array, mask)? {
        return Ok(Outcome::Done(result));
    }
    if !array.has(NPY_ARRAY_C_CONTIGUOUS) {
        leave!(Delegated)
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
    if width == size {
        let what = Taking {
            values: array.addr(),
            mask: mask.addr(),
            out: out.addr(),
            places: truth.len(),
            count,
            size,
        };
        py.detach(|| take(&what));
    } else {
        // SAFETY: computed elements of the array; a new array of as many rows as are true.
        unsafe { rows(py, array, truth, out, width) };
    }
    Ok(Outcome::Done(result))
}

/// # Safety
/// The values of `array` are computed, `width` bytes for each truth value; `out` is new, with room for all picked ones.
unsafe fn rows(py: Python<'_>, array: Arr, mask: &[u8], out: Arr, width: usize) {
    // SAFETY: promised by the caller.
    let values = unsafe { slices::elements::<u8>(array, array.nbytes()) };
    // SAFETY: promised by the caller.
    let out = unsafe { slices::places::<u8>(out, out.nbytes()) };
    py.detach(|| bulk::pick_rows(values, width, mask, out, parts::threads()));
}

/// How many of the truth values at an address are true, and the place of the first.
///
/// # Safety
/// So many computed truth values lie there, which nobody writes.
pub(crate) unsafe fn count_at(address: usize, places: usize) -> (usize, Option<usize>) {
    let start = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: promised by the caller.
    let mask = unsafe { std::slice::from_raw_parts(start, places) };
    let count = bulk::count_true(mask, parts::threads());
    (count, mask.iter().position(|&m| m != 0))
}

/// The element at an address.
///
/// # Safety
/// A computed one of this dtype lies there.
pub(crate) unsafe fn element_at(address: usize, dtype: DType) -> Scalar {
    let start = std::ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: promised by the caller.
    let bytes = unsafe { std::slice::from_raw_parts(start, dtype.size()) };
    Scalar::from_bytes(dtype, bytes)
}

/// Takes the elements that a mask picks.
pub(crate) fn take(what: &Taking) {
    match what.size {
        1 => taken::<u8>(what),
        2 => taken::<u16>(what),
        4 => taken::<u32>(what),
        8 => taken::<u64>(what),
        16 => taken::<[u64; 2]>(what),
        size => debug_assert!(false, "no dtype has {size} bytes"),
    }
}

fn taken<T: Copy + Send + Sync>(what: &Taking) {
    let place = std::ptr::with_exposed_provenance_mut::<u8>;
    // SAFETY: addresses of so many values, aligned for their dtype, which nobody writes.
    let values = unsafe { std::slice::from_raw_parts(place(what.values).cast::<T>(), what.places) };
    // SAFETY: and of as many truth values.
    let mask = unsafe { std::slice::from_raw_parts(place(what.mask).cast_const(), what.places) };
    // SAFETY: and of new memory for those that are true.
    let out = unsafe { std::slice::from_raw_parts_mut(place(what.out).cast::<T>(), what.count) };
    bulk::pick(values, mask, out, parts::threads());
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
    let all = match compress::places(py, mask)? {
        Some(all) => all,
        None => match places_here(py, mask)? {
            Some(all) => all,
            None => leave!(Small),
        },
    };
    let column = |axis: usize| all.get_item((PyEllipsis::get(py), axis));
    let columns = (0..rank).map(column).collect::<PyResult<Vec<_>>>()?;
    Ok(Outcome::Done(PyTuple::new(py, columns)?.into_any()))
}

/// The places of the true ones of a contiguous mask, a row of indices each. `None` if there are none.
fn places_here(py: Python<'_>, mask: Arr) -> PyResult<Option<Bound<'_, PyAny>>> {
    sync::read(py, mask)?;
    // SAFETY: a contiguous array of truth values, which have been computed.
    let values = unsafe { slices::elements::<u8>(mask, mask.len()) };
    let threads = parts::threads();
    let count = py.detach(|| bulk::count_true(values, threads));
    if count == 0 {
        return Ok(None);
    }
    let all = birth::fresh(py, DType::I64, &[count, mask.ndim()])?;
    let Some(out) = Arr::of(&all) else {
        return Ok(None);
    };
    // SAFETY: a new array of as many indices as there are true values, times axes.
    let out = unsafe { slices::places::<i64>(out, out.len()) };
    let shape = mask.shape();
    py.detach(|| bulk::places(values, shape, out, threads));
    Ok(Some(all))
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
