//! What NumPy's functions of ordered elements leave open inside them, and what is quicker so.
//!
//! `median`, `percentile` and `quantile` partition a copy of the elements and look at a few places of it: a vector
//! gets the elements of just these places. `unique` sorts places, and does not ask in which order those of equal
//! elements come.
#![expect(unsafe_code, reason = "selects in the memory of arrays")]

use crate::copies::argument;
use crate::methods::Call;
use crate::np::Arr;
use crate::{modules, parts, slices, state, sync};
use arrayloom_bulk::{self as bulk, Element};
use arrayloom_types::DType;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::cell::Cell;

/// What the function that runs does not ask for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Open {
    /// Elements at other places than those of a partition.
    Elements,
    /// The order of places of equal elements.
    Ties,
}

/// Functions, what is open inside them, and where they are told to work in the array itself: then nothing is.
const FUNCTIONS: [(&str, Open, Option<usize>); 7] = [
    ("median", Open::Elements, Some(3)),
    ("percentile", Open::Elements, Some(4)),
    ("quantile", Open::Elements, Some(4)),
    ("nanmedian", Open::Elements, Some(3)),
    ("nanpercentile", Open::Elements, Some(4)),
    ("nanquantile", Open::Elements, Some(4)),
    ("unique", Open::Ties, None),
];

/// Elements from which on a partition is done here.
const LEAST: usize = 20_000;
/// Places that are selected at once, at most: each is a look at all elements.
const MOST: usize = 32;

thread_local! {
    static OPEN: Cell<Option<Open>> = const { Cell::new(None) };
}

/// True inside a function that leaves this open.
pub(crate) fn is_open(what: Open) -> bool {
    OPEN.get() == Some(what)
}

/// Calls `work`, the function of this name with these arguments.
pub(crate) fn within<T>(
    name: &str,
    args: &Bound<'_, PyTuple>,
    kwargs: &Bound<'_, PyDict>,
    work: impl FnOnce() -> PyResult<T>,
) -> PyResult<T> {
    let Some(&(_, open, at)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
        return work();
    };
    let outer = OPEN.get();
    let in_place = match at {
        // What is called from such a function works in copies.
        Some(_) if outer == Some(open) => None,
        Some(at) if at < args.len() => Some(args.get_item(at)?),
        Some(_) => kwargs.get_item("overwrite_input")?,
        None => None,
    };
    if in_place.map_or(Ok(false), |word| word.is_truthy())? {
        return work();
    }
    OPEN.set(Some(open));
    let result = work();
    OPEN.set(outer);
    result
}

/// Puts the elements of `a.partition(kth, ...)` at the places `kth`, where nobody asks for the others. False if NumPy
/// is to partition: then nothing has changed.
pub(crate) fn partition(call: &Call<'_, '_>) -> PyResult<bool> {
    let py = call.this.py();
    let Some(array) = Arr::of(call.this).filter(|_| is_open(Open::Elements) && state::lazy())
    else {
        return Ok(false);
    };
    let (Some(dtype), 1, true) = (array.dtype(), array.ndim(), array.len() >= LEAST) else {
        return Ok(false);
    };
    let packed = array.has(NPY_ARRAY_C_CONTIGUOUS) && array.addr().is_multiple_of(dtype.size());
    let Some(kth) = argument(call, 0, "kth")?.filter(|_| packed && array.writeable()) else {
        return Ok(false);
    };
    let kth = modules::numpy(py)?.call_method1("ravel", (kth,))?;
    let Ok(kth) = kth.call_method0("tolist")?.extract::<Vec<isize>>() else {
        return Ok(false);
    };
    let from_end = |place: isize| {
        usize::try_from(if place < 0 {
            place + array.len().cast_signed()
        } else {
            place
        })
    };
    let mut places = Vec::with_capacity(kth.len());
    for place in kth {
        match from_end(place) {
            Ok(place) if place < array.len() => places.push(place),
            _ => return Ok(false),
        }
    }
    places.sort_unstable();
    places.dedup();
    if places.len() > MOST {
        return Ok(false);
    }
    sync::write(py, array)?;
    let done = match dtype {
        DType::I8 => put::<i8>(py, array, &places),
        DType::U8 => put::<u8>(py, array, &places),
        DType::I16 => put::<i16>(py, array, &places),
        DType::U16 => put::<u16>(py, array, &places),
        DType::I32 => put::<i32>(py, array, &places),
        DType::U32 => put::<u32>(py, array, &places),
        DType::I64 => put::<i64>(py, array, &places),
        DType::U64 => put::<u64>(py, array, &places),
        DType::F32 => put::<f32>(py, array, &places),
        DType::F64 => put::<f64>(py, array, &places),
        _ => false,
    };
    Ok(done)
}

/// Puts the elements of the sorted array at these places. False if equal elements have different bits.
fn put<T: Element>(py: Python<'_>, array: Arr, places: &[usize]) -> bool {
    // SAFETY: a packed array of this type whose values have been computed and that may be written; nobody else works
    // on it.
    let data = unsafe { slices::places::<T>(array, array.len()) };
    let found = py.detach(|| bulk::select(data, places, parts::threads()));
    let Some(found) = found else {
        return false;
    };
    for (&place, x) in places.iter().zip(found) {
        data[place] = x;
    }
    true
}
