//! Sorts of long vectors on all cores, where NumPy's own takes longer.
//!
//! The order of equal elements is NumPy's own business unless the sort is stable: where it can be seen, NumPy sorts.
#![expect(unsafe_code, reason = "sorts in the memory of arrays")]

use crate::birth::{self, Born};
use crate::np::{self, Arr, plain_view};
use crate::parts;
use crate::sorting::Wish;
use crate::{slices, state, sync};
use arrayloom_bulk::{self as bulk, Number};
use arrayloom_types::DType;
use numpy::PyArray1;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Elements that NumPy's sort is tried on.
const SAMPLE: usize = 4096;
/// How often that is done to learn what NumPy takes on this machine, which may be busy.
const TRIES: usize = 5;
/// Nanoseconds for an element of them from which on ours is quicker. NumPy's code for AVX-512 takes about 4 on a Xeon,
/// and 14 to 20 where stores of some elements of a vector are slow, as on AMD's Zen 4.
const SLOW: f64 = 9.0;
/// Elements from which on that is tried.
const LEAST: usize = 100_000;
/// Threads from which on ours is quicker whatever NumPy takes, and for how many elements.
const MANY_THREADS: usize = 8;
const LONG: usize = 500_000;

/// What is known of the elements.
struct Kind {
    sort: fn(&Vector<'_, '_>) -> bool,
    argsort: for<'py> fn(&Vector<'_, 'py>, stable: bool) -> Option<Bound<'py, PyAny>>,
    /// True if so many elements probably have equal ones among them.
    has_equals: fn(&Sample<'_>, usize) -> bool,
}

impl Kind {
    fn of<T: Number>() -> Kind {
        Kind {
            sort: in_place::<T>,
            argsort: places::<T>,
            has_equals: |sample, count| {
                // SAFETY: a contiguous array of its own, of this type; it was just made.
                bulk::has_equals_likely(
                    unsafe { slices::elements::<T>(sample.array, sample.array.len()) },
                    count,
                )
            },
        }
    }

    /// Short integers have few values, which NumPy's sorts make use of.
    fn named(dtype: DType) -> Option<Kind> {
        match dtype {
            DType::I32 => Some(Kind::of::<i32>()),
            DType::U32 => Some(Kind::of::<u32>()),
            DType::I64 => Some(Kind::of::<i64>()),
            DType::U64 => Some(Kind::of::<u64>()),
            DType::F32 => Some(Kind::of::<f32>()),
            DType::F64 => Some(Kind::of::<f64>()),
            _ => None,
        }
    }
}

/// A vector that may be sorted here: contiguous, aligned, long.
struct Vector<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    array: Arr,
    dtype: DType,
}

impl<'a, 'py> Vector<'a, 'py> {
    fn of(object: &'a Bound<'py, PyAny>) -> Option<(Vector<'a, 'py>, Kind)> {
        let array = Arr::of(object)?;
        let dtype = array.dtype()?;
        let fits = array.ndim() == 1
            && array.len() >= LEAST
            && array.has(NPY_ARRAY_C_CONTIGUOUS)
            && array.addr().is_multiple_of(dtype.size());
        let kind = Kind::named(dtype).filter(|_| fits && parts::threads() > 1 && state::lazy())?;
        let vector = Vector {
            object,
            array,
            dtype,
        };
        Some((vector, kind))
    }

    /// Lets NumPy sort some of the elements, whose values are there; none if the vector is better sorted by NumPy.
    fn sample(&self, wish: &Wish<'py>) -> PyResult<Option<Sample<'py>>> {
        let (py, count) = (self.object.py(), self.array.len());
        let many = count >= LONG && parts::threads() >= MANY_THREADS;
        if !many && usual(py, self.dtype, wish)? < SLOW {
            return Ok(None);
        }
        let step = (count / SAMPLE).max(1).cast_signed();
        let key = PySlice::new(py, 0, count.cast_signed(), step);
        let sorted = Sample::sorted(&plain_view(self.object)?.get_item(key)?, wish)?;
        Ok(sorted.filter(|sample| many || sample.nanoseconds >= SLOW))
    }
}

/// Nanoseconds that NumPy takes on this machine for an element of mixed numbers: the least of some tries, once.
fn usual(py: Python<'_>, dtype: DType, wish: &Wish<'_>) -> PyResult<f64> {
    static KNOWN: Mutex<BTreeMap<(char, bool), f64>> = Mutex::new(BTreeMap::new());
    let key = (dtype.letter(), wish.stable);
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&nanoseconds) = known().get(&key) {
        return Ok(nanoseconds);
    }
    // Multiples of an odd number near the golden section of all numbers lie mixed.
    let mixed = (0..SAMPLE).scan(0_u32, |number, _| {
        *number = number.wrapping_add(2_654_435_769);
        Some(*number)
    });
    let numbers =
        PyArray1::from_iter(py, mixed).call_method1("astype", (dtype.letter().to_string(),))?;
    let mut least = f64::INFINITY;
    for _ in 0..TRIES {
        if let Some(sample) = Sample::sorted(&numbers, wish)? {
            least = least.min(sample.nanoseconds);
        }
    }
    known().insert(key, least);
    Ok(least)
}

/// Some elements of a vector, sorted, and how long that took.
struct Sample<'py> {
    /// Holds the array.
    _owner: Bound<'py, PyAny>,
    array: Arr,
    nanoseconds: f64,
}

impl<'py> Sample<'py> {
    /// A copy of plain elements, sorted by NumPy.
    fn sorted(elements: &Bound<'py, PyAny>, wish: &Wish<'py>) -> PyResult<Option<Sample<'py>>> {
        let owner = elements.call_method0("copy")?;
        let started = Instant::now();
        np::method(owner.py(), "sort")?.call((&owner,), Some(&wish.words))?;
        let seconds = started.elapsed().as_secs_f64();
        Ok(Arr::of(&owner).map(|array| Sample {
            array,
            nanoseconds: seconds * 1e9
                / u32::try_from(array.len()).map_or(f64::INFINITY, f64::from),
            _owner: owner,
        }))
    }
}

/// `vector.sort()`; false if NumPy had better do it: then the vector is as it was.
pub(crate) fn sort<'py>(object: &Bound<'py, PyAny>, wish: &Wish<'py>) -> PyResult<bool> {
    let Some((vector, kind)) = Vector::of(object) else {
        return Ok(false);
    };
    sync::write(object.py(), vector.array)?;
    match vector.sample(wish)? {
        Some(_) => Ok((kind.sort)(&vector)),
        None => Ok(false),
    }
}

/// `vector.argsort()`; none if NumPy had better do it.
pub(crate) fn argsort<'py>(
    object: &Bound<'py, PyAny>,
    wish: &Wish<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some((vector, kind)) = Vector::of(object) else {
        return Ok(None);
    };
    sync::read(object.py(), vector.array)?;
    let count = vector.array.len();
    let may = |sample: &Sample<'_>| wish.stable || !(kind.has_equals)(sample, count);
    match vector.sample(wish)? {
        Some(sample) if may(&sample) => Ok((kind.argsort)(&vector, wish.stable)),
        _ => Ok(None),
    }
}

/// Room for so many elements; none where memory is short, since NumPy needs less.
fn room(py: Python<'_>, dtype: DType, count: usize) -> Option<Born<'_>> {
    birth::ready(py, dtype, &[count]).ok().flatten()
}

/// Sorts the array. False if equal elements have different bits: then it is as it was.
fn in_place<T: Number>(vector: &Vector<'_, '_>) -> bool {
    let (py, array) = (vector.object.py(), vector.array);
    let Some(spare) = room(py, vector.dtype, array.len()) else {
        return false;
    };
    let Some(room) = Arr::of(&spare.array) else {
        return false;
    };
    // SAFETY: a contiguous array whose values have been computed and that may be written; nobody else works on it.
    let data = unsafe { slices::places::<T>(array, array.len()) };
    // SAFETY: as above, with memory of its own; keys have the size of elements.
    let room = unsafe { slices::places::<T::Key>(room, room.len()) };
    py.detach(|| bulk::sort(data, room, parts::threads()))
}

/// The places that sort the array. None if elements are equal and the sort is not stable.
fn places<'py, T: Number>(vector: &Vector<'_, 'py>, stable: bool) -> Option<Bound<'py, PyAny>> {
    let (py, keys) = (vector.object.py(), vector.array);
    let result = room(py, DType::I64, keys.len())?.array;
    let pairs = room(py, DType::C128, keys.len())?;
    let spare = room(py, DType::C128, keys.len())?;
    let all = [&result, &pairs.array, &spare.array].map(Arr::of);
    let [Some(places), Some(first), Some(second)] = all else {
        return None;
    };
    // SAFETY: a contiguous array whose values have been computed; they are only read.
    let keys = unsafe { slices::elements::<T>(keys, keys.len()) };
    // SAFETY: as above, with memory of its own.
    let places = unsafe { slices::places::<isize>(places, places.len()) };
    // SAFETY: as above, on pages of their own; a complex number takes 16 bytes.
    let room = [first, second].map(|room| unsafe { slices::places::<u128>(room, room.len()) });
    let told = py.detach(|| bulk::argsort((keys, places), room, stable, parts::threads()));
    told.then_some(result)
}
