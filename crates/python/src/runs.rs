//! Long vectors are sorted in runs, by NumPy on all cores, which are then merged.
//!
//! The merge is stable, as far as NumPy's sort is. Where it is not, the order of equal elements is NumPy's own
//! business, and if that can be seen, NumPy sorts the whole.
#![expect(unsafe_code, reason = "runs are merged in the memory of arrays")]

use crate::birth::{self, Born};
use crate::np::{self, Arr, plain_view};
use crate::parts::{self, Job};
use crate::sorting::Wish;
use crate::sync;
use arrayloom_bulk::{
    Order, bands, has_both_zeros, has_equals_likely, merge_places, merge_runs, on_threads,
};
use arrayloom_types::DType;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyTuple};
use std::time::Instant;

/// Elements that a sort is tried on.
const SAMPLE: usize = 4096;
/// Nanoseconds for an element of them from which on two threads are worth a merge. NumPy's code for AVX-512 takes about 4
/// on a Xeon, and 14 to 20 where stores of some elements of a vector are slow, as on AMD's Zen 4.
const SLOW: f64 = 6.0;
/// Threads from which on a vector is sorted in runs whatever it costs: a merge costs as much as half a quick sort.
const MANY_THREADS: usize = 4;
/// Elements from which on it is.
const LONG: usize = 500_000;

/// What is known of the elements.
struct Kind {
    sort: for<'py> fn(&Vector<'_, 'py>, &Wish<'py>) -> PyResult<bool>,
    argsort: for<'py> fn(&Vector<'_, 'py>, &Wish<'py>) -> PyResult<Option<Bound<'py, PyAny>>>,
    /// True if as many elements probably have equal ones among them.
    has_equals: fn(&Sample<'_>, usize) -> bool,
}

impl Kind {
    fn of<T: Order + PartialEq + Default + Sync>() -> Kind {
        Kind {
            sort: sort_runs::<T>,
            argsort: argsort_runs::<T>,
            has_equals: |sample, count| {
                // SAFETY: a contiguous array of its own, of this type; it was just made.
                has_equals_likely(unsafe { elements::<T>(sample.array) }, count)
            },
        }
    }

    fn named(dtype: DType) -> Option<Kind> {
        match dtype {
            DType::I8 => Some(Kind::of::<i8>()),
            DType::U8 => Some(Kind::of::<u8>()),
            DType::I16 => Some(Kind::of::<i16>()),
            DType::U16 => Some(Kind::of::<u16>()),
            DType::I32 => Some(Kind::of::<i32>()),
            DType::U32 => Some(Kind::of::<u32>()),
            DType::I64 => Some(Kind::of::<i64>()),
            DType::U64 => Some(Kind::of::<u64>()),
            DType::F32 => Some(Kind::of::<f32>()),
            DType::F64 => Some(Kind::of::<f64>()),
            DType::Bool | DType::F16 | DType::C64 | DType::C128 => None,
        }
    }
}

/// A vector that may be sorted in runs: contiguous, aligned, of a number of elements worth the threads.
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
            && array.has(NPY_ARRAY_C_CONTIGUOUS)
            && array.addr().is_multiple_of(dtype.size())
            && parts::share(array).is_some();
        let kind = Kind::named(dtype).filter(|_| fits)?;
        let vector = Vector {
            object,
            array,
            dtype,
        };
        Some((vector, kind))
    }

    /// Sorts some of the elements, whose values are there, by NumPy's `method`.
    fn sample(&self, method: &str, wish: &Wish<'py>) -> PyResult<Option<Sample<'py>>> {
        let (py, count) = (self.object.py(), self.array.len());
        let step = (count / SAMPLE).max(1).cast_signed();
        let key = PySlice::new(py, 0, count.cast_signed(), step);
        let owner = plain_view(self.object)?
            .get_item(key)?
            .call_method0("copy")?;
        let started = Instant::now();
        np::method(py, method)?.call((&owner,), Some(&wish.words))?;
        let seconds = started.elapsed().as_secs_f64();
        if method != "sort" {
            np::method(py, "sort")?.call1((&owner,))?;
        }
        let Some(array) = Arr::of(&owner) else {
            return Ok(None);
        };
        let elements = u32::try_from(array.len()).map_or(f64::INFINITY, f64::from);
        Ok(Some(Sample {
            array,
            nanoseconds: seconds * 1e9 / elements,
            _owner: owner,
        }))
    }
}

/// Some elements of a vector, sorted, and how long that took.
struct Sample<'py> {
    /// Holds the array.
    _owner: Bound<'py, PyAny>,
    array: Arr,
    nanoseconds: f64,
}

impl Sample<'_> {
    /// True if a vector is better sorted in runs. Short integers have few values, which NumPy's sorts make use of.
    fn says_runs(&self, vector: &Vector<'_, '_>) -> bool {
        let many = vector.array.len() >= LONG && parts::threads() >= MANY_THREADS;
        many || vector.dtype.size() >= 4 && self.nanoseconds >= SLOW
    }
}

/// `vector.sort()`; false if NumPy had better do it: then the vector is as it was.
pub(crate) fn sort<'py>(object: &Bound<'py, PyAny>, wish: &Wish<'py>) -> PyResult<bool> {
    let Some((vector, kind)) = Vector::of(object) else {
        return Ok(false);
    };
    sync::write(object.py(), vector.array)?;
    match vector.sample("sort", wish)? {
        Some(sample) if sample.says_runs(&vector) => (kind.sort)(&vector, wish),
        _ => Ok(false),
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
    // The order of equal elements is NumPy's to know.
    let count = vector.array.len();
    let may = |sample: &Sample<'_>| wish.stable || !(kind.has_equals)(sample, count);
    match vector.sample("argsort", wish)? {
        Some(sample) if sample.says_runs(&vector) && may(&sample) => (kind.argsort)(&vector, wish),
        _ => Ok(None),
    }
}

/// Calls NumPy's method for each run, on all cores.
fn run(
    (name, runs): (&str, &Bound<'_, PyAny>),
    words: &Bound<'_, PyDict>,
    into: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = runs.py();
    let count = Arr::of(runs).map_or(0, Arr::len);
    let mut jobs = Vec::new();
    for key in parts::keys(py, 0, count, parts::threads())? {
        let into = into.map(|into| into.get_item(&key)).transpose()?;
        jobs.push(Job {
            args: PyTuple::new(py, [runs.get_item(key)?])?.unbind(),
            kwargs: Some(words.copy()?.unbind()),
            into: into.map(Bound::unbind),
        });
    }
    parts::run(py, &np::method(py, name)?, jobs)?;
    Ok(())
}

/// Sorts runs of a copy by NumPy and merges them into the array.
fn sort_runs<T: Order + PartialEq + Default + Sync>(
    vector: &Vector<'_, '_>,
    wish: &Wish<'_>,
) -> PyResult<bool> {
    let (py, array) = (vector.object.py(), vector.array);
    let Some(spare) = birth::ready(py, vector.dtype, &[array.len()])? else {
        return Ok(false);
    };
    let Some(copy) = Arr::of(&spare.array) else {
        return Ok(false);
    };
    let (n, threads) = (array.len(), parts::threads());
    let ends = bands(n, threads);
    {
        // SAFETY: a contiguous array whose values have been computed; nobody else works on it.
        let from = unsafe { elements::<T>(array) };
        // SAFETY: as above, with memory of its own.
        let to = unsafe { elements::<T>(copy) };
        let pieces = to.chunks_mut(n.div_ceil(threads));
        let tasks = pieces.zip(from.chunks(n.div_ceil(threads))).collect();
        py.detach(|| {
            on_threads(tasks, threads, |(to, from): (&mut [T], &[T])| {
                to.copy_from_slice(from);
            });
        });
    }
    run(("sort", &plain_view(&spare.array)?), &wish.words, None)?;
    // SAFETY: as above; NumPy is done with the runs.
    let run = unsafe { elements::<T>(copy) };
    // Which of two equal zeros comes first is up to NumPy's sort, unless it is stable.
    if !wish.stable && has_both_zeros(run, &ends) {
        return Ok(false);
    }
    // SAFETY: as above; other memory than that of the runs.
    let data = unsafe { elements::<T>(array) };
    py.detach(|| {
        if !merge_runs(run, data, ends, threads) {
            data.copy_from_slice(run);
        }
    });
    Ok(true)
}

/// Lets NumPy sort the places of each run and merges them.
fn argsort_runs<'py, T: Order + PartialEq + Default + Sync>(
    vector: &Vector<'_, 'py>,
    wish: &Wish<'py>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let (py, keys) = (vector.object.py(), vector.array);
    let Some(Born { array: result, .. }) = birth::ready(py, DType::I64, &[keys.len()])? else {
        return Ok(None);
    };
    let pairs = birth::ready(py, DType::C128, &[keys.len()])?;
    let spare = birth::ready(py, DType::C128, &[keys.len()])?;
    let Some((pairs, spare)) = pairs.zip(spare) else {
        return Ok(None);
    };
    let all = [&result, &pairs.array, &spare.array].map(Arr::of);
    let [Some(places), Some(pairs), Some(spare)] = all else {
        return Ok(None);
    };
    let room = [pairs, spare];
    let (runs, into) = (plain_view(vector.object)?, plain_view(&result)?);
    run(("argsort", &runs), &wish.words, Some(&into))?;
    // SAFETY: a contiguous array whose values have been computed; they are only read.
    let keys = &*unsafe { elements::<T>(keys) };
    // SAFETY: as above, with memory of its own; NumPy is done with it.
    let places = unsafe { elements::<isize>(places) };
    // SAFETY: as above, on pages of their own; a complex number takes 16 bytes.
    let room = room.map(|room| unsafe { elements::<u128>(room) });
    let (threads, equals) = (parts::threads(), wish.stable);
    let ends = bands(keys.len(), threads);
    let merged = py.detach(|| merge_places((keys, places), room, ends, equals, threads));
    Ok(merged.then_some(result))
}

/// The elements of a contiguous, aligned array of elements of type `T`, which take any bytes.
///
/// # Safety
/// The array lives, its values have been computed, and nobody else uses them while the slice is in use. What is
/// written may be written.
unsafe fn elements<'a, T>(array: Arr) -> &'a mut [T] {
    let start = std::ptr::with_exposed_provenance_mut(array.addr());
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts_mut(start, array.len()) }
}
