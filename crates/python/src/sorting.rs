//! `sort`, `argsort`, `partition` and `argpartition`: NumPy's own on parts, on all cores.
//!
//! A device that sorts does what the first two ask for (`operations.rs`).
//! Rows are sorted part by part. A long vector is cut into runs that NumPy sorts, which are then merged;
//! the merge is stable, as far as NumPy's sort is.
#![expect(unsafe_code, reason = "runs are merged in the memory of arrays")]

use crate::birth;
use crate::copies::argument;
use crate::map::{Outcome, leave};
use crate::methods::Call;
use crate::np;
use crate::np::{Arr, plain_view};
use crate::parts::{self, Job};
use crate::{delegate, lift, operations, sync};
use arrayloom_bulk::{Order, bands, has_both_zeros, merge_runs, on_threads};
use arrayloom_types::DType;
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyInt, PyTuple};

/// Elements from which on a vector is sorted in runs.
const LONG: usize = 500_000;
/// Threads from which on it is: a merge costs as much as half a sort.
const MANY_THREADS: usize = 4;

/// `a.sort(axis=-1, kind=None, order=None, *, stable=None)`.
pub(crate) fn sort<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let Some(array) = Arr::of(call.this).filter(|array| array.writeable()) else {
        leave!(Mismatch)
    };
    if let Some(wish) = wish(call, array.ndim())?
        && operations::sort(call.this.py(), array, wish.axis)?
    {
        let py = call.this.py();
        return Ok(Outcome::Done(py.None().into_bound(py)));
    }
    if array.ndim() == 1 {
        return vector(call, array);
    }
    in_place(call, "sort", 0)
}

/// `a.partition(kth, axis=-1, kind='introselect', order=None)`.
pub(crate) fn partition<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    in_place(call, "partition", 1)
}

/// `a.argsort(axis=-1, kind=None, order=None, *, stable=None)`.
pub(crate) fn argsort<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    if let Some(array) = Arr::of(call.this)
        && let Some(wish) = wish(call, array.ndim())?
        && let Some(places) = operations::argsort(call.this.py(), array, wish.axis, wish.stable)?
    {
        return Ok(Outcome::Done(places));
    }
    positions(call, "argsort", 0)
}

/// `a.argpartition(kth, axis=-1, kind='introselect', order=None)`.
pub(crate) fn argpartition<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    positions(call, "argpartition", 1)
}

/// The axis to cut along and the number of parts, for a method whose argument `at` is its axis.
fn cut(call: &Call<'_, '_>, array: Arr, at: usize) -> PyResult<Option<(usize, usize)>> {
    let last = PyInt::new(call.this.py(), -1).into_any();
    let axis = argument(call, at, "axis")?.unwrap_or(last);
    let axis = parts::axis_of(&axis, array.ndim());
    let other = axis.and_then(|axis| parts::other_axis(array.shape(), axis));
    Ok(other.zip(parts::share(array).filter(|_| array.dtype().is_some())))
}

/// A call of the method for each part; parts of `into` take the results.
fn jobs<'py>(
    call: &Call<'_, 'py>,
    array: Arr,
    (axis, count): (usize, usize),
    into: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vec<Job>> {
    let py = call.this.py();
    let plain = delegate::plain(call.this)?;
    let mut jobs = Vec::new();
    for key in parts::keys(py, axis, array.shape()[axis], count)? {
        let mut args = vec![plain.get_item(&key)?];
        args.extend_from_slice(call.args);
        let into = into.map(|into| into.get_item(&key)).transpose()?;
        jobs.push(Job {
            args: PyTuple::new(py, args)?.unbind(),
            kwargs: call
                .kwargs
                .map(|k| k.copy().map(Bound::unbind))
                .transpose()?,
            into: into.map(Bound::unbind),
        });
    }
    Ok(jobs)
}

/// A method that changes the order of the array itself, on parts along another axis than its own.
fn in_place<'py>(call: &Call<'_, 'py>, name: &str, at: usize) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let Some(array) = Arr::of(call.this).filter(|array| array.writeable()) else {
        leave!(Mismatch)
    };
    let Some(cut) = cut(call, array, at)? else {
        leave!(Delegated)
    };
    sync::write(py, array)?;
    parts::run(py, &np::method(py, name)?, jobs(call, array, cut, None)?)?;
    Ok(Outcome::Done(py.None().into_bound(py)))
}

/// A method that gives places, on parts along another axis than its own.
fn positions<'py>(call: &Call<'_, 'py>, name: &str, at: usize) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let Some(array) = Arr::of(call.this) else {
        leave!(Mismatch)
    };
    let Some(cut) = cut(call, array, at)? else {
        leave!(Delegated)
    };
    sync::read(py, array)?;
    let shape = PyTuple::new(py, array.shape())?;
    let result = delegate::in_arena(py, || {
        py.import("numpy")?.call_method1("empty", (shape, "intp"))
    })?;
    let jobs = jobs(call, array, cut, Some(&result))?;
    parts::run(py, &np::method(py, name)?, jobs)?;
    lift::lift(&result);
    Ok(Outcome::Done(result))
}

/// The arguments of a sort.
const WORDS: [&str; 4] = ["axis", "kind", "order", "stable"];

/// How NumPy is asked to sort.
struct Wish<'py> {
    axis: usize,
    words: Bound<'py, PyDict>,
    stable: bool,
}

/// Reads the arguments; `None` for those that are NumPy's to judge.
fn wish<'py>(call: &Call<'_, 'py>, rank: usize) -> PyResult<Option<Wish<'py>>> {
    let words = PyDict::new(call.this.py());
    let mut stable = false;
    let Some(mut axis) = rank.checked_sub(1).filter(|_| call.args.len() <= 3) else {
        return Ok(None);
    };
    let names = call.kwargs.map(PyDictMethods::keys);
    for name in names.iter().flatten() {
        if !WORDS.contains(&name.extract::<PyBackedStr>()?.as_ref()) {
            return Ok(None);
        }
    }
    for (at, name) in WORDS.into_iter().enumerate() {
        let value = match name {
            "stable" => call.kwargs.map(|k| k.get_item(name)).transpose()?.flatten(),
            _ => argument(call, at, name)?,
        };
        let absent = |value: &Bound<'_, PyAny>| value.is_none() && name != "axis";
        let Some(value) = value.filter(|value| !absent(value)) else {
            continue;
        };
        let fits = match name {
            "axis" => {
                let wanted = parts::axis_of(&value, rank);
                axis = wanted.unwrap_or(axis);
                wanted.is_some()
            }
            "kind" => {
                let kind: Option<String> = value.extract().ok();
                stable |= matches!(kind.as_deref(), Some("stable" | "mergesort"));
                kind.is_some_and(|k| {
                    ["quicksort", "heapsort", "stable", "mergesort"].contains(&&*k)
                })
            }
            "stable" => {
                let wanted = value.extract::<bool>().ok();
                stable |= wanted == Some(true);
                wanted.is_some()
            }
            _ => false,
        };
        // Two words for one thing are NumPy's to refuse.
        let twice = name == "stable" && words.contains("kind")?;
        if !fits || twice {
            return Ok(None);
        }
        if name != "axis" {
            words.set_item(name, value)?;
        }
    }
    Ok(Some(Wish {
        axis,
        words,
        stable,
    }))
}

/// Sorts a long vector in runs.
fn vector<'py>(call: &Call<'_, 'py>, array: Arr) -> PyResult<Outcome<'py>> {
    let pays = array.len() >= LONG && parts::threads() >= MANY_THREADS;
    let Some(dtype) = array.dtype().filter(|_| pays) else {
        leave!(Delegated)
    };
    if parts::share(array).is_none() || call.args.len() > 3 {
        leave!(Delegated)
    }
    let sorted = match dtype {
        DType::I8 => runs::<i8>(call, array)?,
        DType::U8 => runs::<u8>(call, array)?,
        DType::I16 => runs::<i16>(call, array)?,
        DType::U16 => runs::<u16>(call, array)?,
        DType::I32 => runs::<i32>(call, array)?,
        DType::U32 => runs::<u32>(call, array)?,
        DType::I64 => runs::<i64>(call, array)?,
        DType::U64 => runs::<u64>(call, array)?,
        DType::F32 => runs::<f32>(call, array)?,
        DType::F64 => runs::<f64>(call, array)?,
        DType::Bool | DType::F16 | DType::C64 | DType::C128 => false,
    };
    if sorted {
        return Ok(Outcome::Done(
            call.this.py().None().into_bound(call.this.py()),
        ));
    }
    leave!(Delegated)
}

/// Sorts runs of a copy by NumPy and merges them into the array. False if NumPy has to do it: then the
/// array is as it was.
fn runs<T: Order + PartialEq + Default + Sync>(call: &Call<'_, '_>, array: Arr) -> PyResult<bool> {
    let py = call.this.py();
    let aligned = array.addr().is_multiple_of(align_of::<T>());
    let Some(wish) = wish(call, 1)?.filter(|_| aligned && array.has(NPY_ARRAY_C_CONTIGUOUS)) else {
        return Ok(false);
    };
    let Some(dtype) = array.dtype() else {
        return Ok(false);
    };
    let Some(spare) = birth::ready(py, dtype, &[array.len()])? else {
        return Ok(false);
    };
    sync::write(py, array)?;
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
    let plain = plain_view(&spare.array)?;
    let mut jobs = Vec::new();
    for key in parts::keys(py, 0, n, threads)? {
        jobs.push(Job {
            args: PyTuple::new(py, [plain.get_item(key)?])?.unbind(),
            kwargs: Some(wish.words.copy()?.unbind()),
            into: None,
        });
    }
    parts::run(py, &np::method(py, "sort")?, jobs)?;
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

/// The elements of a contiguous, aligned array of elements of type `T`, which take any bytes.
///
/// # Safety
/// The array lives, its values have been computed and may be written, and nobody else uses them while
/// the slice is in use.
unsafe fn elements<'a, T>(array: Arr) -> &'a mut [T] {
    let start = std::ptr::with_exposed_provenance_mut(array.addr());
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts_mut(start, array.len()) }
}
