//! `sort`, `argsort`, `partition` and `argpartition`: NumPy's own on parts, on all cores.
//!
//! A device that sorts does what the first two ask for (`operations.rs`).
//! Rows are sorted part by part, long vectors as a whole (`vectors.rs`).

use crate::copies::argument;
use crate::map::{Outcome, leave};
use crate::methods::Call;
use crate::np::{self, Arr};
use crate::parts::{self, Job};
use crate::quantiles::{self, Open};
use crate::{delegate, lift, modules, operations, sync, vectors};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyDict, PyInt, PyTuple};

/// `a.sort(axis=-1, kind=None, order=None, *, stable=None)`.
pub(crate) fn sort<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let Some(array) = Arr::of(call.this).filter(|array| array.writeable()) else {
        leave!(Mismatch)
    };
    let py = call.this.py();
    let Some(wish) = wish(call, array.ndim())? else {
        return in_place(call, "sort", 0);
    };
    if operations::sort(py, array, wish.axis)? || vectors::sort(call.this, &wish)? {
        return Ok(Outcome::Done(py.None().into_bound(py)));
    }
    in_place(call, "sort", 0)
}

/// `a.partition(kth, axis=-1, kind='introselect', order=None)`.
pub(crate) fn partition<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    if quantiles::partition(call)? {
        return Ok(Outcome::Done(
            call.this.py().None().into_bound(call.this.py()),
        ));
    }
    in_place(call, "partition", 1)
}

/// `a.argsort(axis=-1, kind=None, order=None, *, stable=None)`.
pub(crate) fn argsort<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    if let Some(array) = Arr::of(call.this)
        && let Some(wish) = wish(call, array.ndim())?
    {
        let py = call.this.py();
        let wish = wish.or_stable(quantiles::is_open(Open::Ties));
        if let Some(places) = operations::argsort(py, array, wish.axis, wish.stable)? {
            return Ok(Outcome::Done(places));
        }
        if let Some(places) = vectors::argsort(call.this, &wish)? {
            return Ok(Outcome::Done(places));
        }
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
        modules::numpy(py)?.call_method1("empty", (shape, "intp"))
    })?;
    let jobs = jobs(call, array, cut, Some(&result))?;
    parts::run(py, &np::method(py, name)?, jobs)?;
    lift::lift(&result);
    Ok(Outcome::Done(result))
}

/// The arguments of a sort.
const WORDS: [&str; 4] = ["axis", "kind", "order", "stable"];

/// How NumPy is asked to sort.
pub(crate) struct Wish<'py> {
    axis: usize,
    /// What else was said, for NumPy.
    pub(crate) words: Bound<'py, PyDict>,
    /// True if equal elements must keep their order.
    pub(crate) stable: bool,
}

impl Wish<'_> {
    /// The same, or, where anybody may choose the order of equal elements, one in which they keep it.
    fn or_stable(mut self, may: bool) -> Self {
        self.stable |= may;
        self
    }
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
