//! NumPy's own functions on parts of arrays, on all cores.
//!
//! Sorting along an axis, Fourier transforms of many rows and searches for many values are the same
//! function of independent parts. NumPy's C code releases the interpreter lock while it works, so threads
//! call it with a part each: the results are NumPy's own.

use crate::np::Arr;
use crate::{delegate, modules, operations, state, sync};
use arrayloom_bulk::{bands, on_threads};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PySlice, PyString, PyTuple};
use std::num::NonZero;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Elements from which on parts are worth a thread each.
const LEAST: usize = 200_000;

/// One call.
pub(crate) struct Job {
    pub(crate) args: Py<PyTuple>,
    pub(crate) kwargs: Option<Py<PyDict>>,
    /// A view that the result is copied to.
    pub(crate) into: Option<Py<PyAny>>,
}

/// The number of threads that programs asked for; as many as there are processors if they did not.
pub(crate) fn threads() -> usize {
    // The system answers from files, which takes as long as picking some ten thousand elements.
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    match state::engine().settings().threads.0 {
        0 => {
            *PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZero::get))
        }
        threads => threads,
    }
}

/// How many parts work on this array is cut into; `None` if it is not worth more than one.
pub(crate) fn share(array: Arr) -> Option<usize> {
    let threads = threads();
    (threads > 1 && array.len() >= LEAST && state::lazy()).then_some(threads)
}

/// Calls `function` for every job on all cores, floating-point conditions being errors. The results are
/// in the order of the jobs.
pub(crate) fn run<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    jobs: Vec<Job>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let count = jobs.len();
    let results: Mutex<Vec<Option<PyResult<Py<PyAny>>>>> =
        Mutex::new((0..count).map(|_| None).collect());
    let function = function.clone().unbind();
    let numbered: Vec<(usize, Job)> = jobs.into_iter().enumerate().collect();
    py.detach(|| {
        on_threads(numbered, threads(), |(number, job)| {
            let result = Python::attach(|py| one(function.bind(py), &job).map(Bound::unbind));
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results[number] = Some(result);
        });
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let results = results.into_iter().flatten();
    results
        .map(|r| r.map(|value| value.into_bound(py)))
        .collect()
}

fn one<'py>(function: &Bound<'py, PyAny>, job: &Job) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let words = PyDict::new(py);
    words.set_item("all", "raise")?;
    let numpy = modules::numpy(py)?;
    let guard = numpy.call_method("errstate", (), Some(&words))?;
    guard.call_method0("__enter__")?;
    let kwargs = job.kwargs.as_ref().map(|kwargs| kwargs.bind(py));
    let result = function.call(job.args.bind(py), kwargs);
    let none = py.None();
    guard.call_method1("__exit__", (&none, &none, &none))?;
    let result = result?;
    match &job.into {
        None => Ok(result),
        Some(into) => numpy.call_method1("copyto", (into.bind(py), result)),
    }
}

/// The axis that an array is best cut along if it is worked on along `axis`: the longest other one.
pub(crate) fn other_axis(shape: &[usize], axis: usize) -> Option<usize> {
    let others = (0..shape.len()).filter(|&other| other != axis && shape[other] > 1);
    others.max_by_key(|&other| (shape[other], std::cmp::Reverse(other)))
}

/// The keys of about equal parts along `axis`.
pub(crate) fn keys(
    py: Python<'_>,
    axis: usize,
    extent: usize,
    parts: usize,
) -> PyResult<Vec<Bound<'_, PyTuple>>> {
    let ends = bands(extent, parts);
    let key = |part: &[usize]| {
        let (start, end) = (part[0].cast_signed(), part[1].cast_signed());
        let mut key = vec![PySlice::full(py); axis];
        key.push(PySlice::new(py, start, end, 1));
        PyTuple::new(py, key)
    };
    ends.windows(2).map(key).collect()
}

/// The number of an axis, from the end if below zero. NumPy takes no truth value for one.
pub(crate) fn axis_number(axis: &Bound<'_, PyAny>) -> Option<isize> {
    let truth = axis.is_exact_instance_of::<PyBool>();
    axis.extract().ok().filter(|_| !truth)
}

/// The axis that a number names.
pub(crate) fn axis_of(axis: &Bound<'_, PyAny>, rank: usize) -> Option<usize> {
    let axis = axis_number(axis)?;
    let from_end = if axis < 0 { rank.cast_signed() } else { 0 };
    usize::try_from(axis + from_end).ok().filter(|a| *a < rank)
}

/// Functions whose result has an element for each element of one argument, and which argument that is.
const ELEMENTWISE: [(&str, usize); 3] = [("searchsorted", 1), ("digitize", 0), ("interp", 0)];

/// Calls such a function, given by its implementation on plain arrays, on parts of that argument.
/// `None` where it is not one of them or not worth it.
pub(crate) fn elementwise<'py>(
    name: &str,
    function: &Bound<'py, PyAny>,
    args: &[Bound<'py, PyAny>],
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = function.py();
    let Some(&(_, which)) = ELEMENTWISE.iter().find(|(known, _)| *known == name) else {
        return Ok(None);
    };
    let Some(values) = args.get(which).and_then(Arr::of) else {
        return Ok(None);
    };
    let cut = share(values).filter(|_| values.dtype().is_some() && values.shape()[0] > 1);
    let Some(parts) = cut else { return Ok(None) };
    let mut plain = Vec::with_capacity(args.len());
    for arg in args {
        plain.push(ready(arg)?);
    }
    let words = PyDict::new(py);
    for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
        words.set_item(name, ready(&value)?)?;
    }
    let mut jobs = Vec::new();
    for key in keys(py, 0, values.shape()[0], parts)? {
        let mut own = plain.clone();
        own[which] = plain[which].get_item(key)?;
        jobs.push(Job {
            args: PyTuple::new(py, own)?.unbind(),
            kwargs: Some(words.copy()?.unbind()),
            into: None,
        });
    }
    let Ok(results) = run(py, function, jobs) else {
        // NumPy raises its error, or warns, on the whole.
        return Ok(None);
    };
    let joined = delegate::in_arena(py, || {
        let results = PyList::new(py, results)?;
        modules::numpy(py)?.call_method1("concatenate", (results,))
    })?;
    crate::lift::lift(&joined);
    Ok(Some(joined))
}

/// An argument with its values computed and plain.
pub(crate) fn ready<'py>(argument: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match Arr::of(argument) {
        Some(array) => {
            sync::read(argument.py(), array)?;
            delegate::plain(argument)
        }
        None => Ok(argument.clone()),
    }
}

/// NumPy's Fourier transforms of rows: `ufunc(a, factor, axes=[(axis,), (), (axis,)], out=out)`.
const TRANSFORMS: [&str; 5] = ["fft", "ifft", "rfft_n_even", "rfft_n_odd", "irfft"];

/// Fourier transforms of many rows. `None` where NumPy does the call as a whole.
pub(crate) fn transform<'py>(
    ufunc: &Bound<'py, PyAny>,
    inputs: &[Bound<'py, PyAny>],
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = ufunc.py();
    let name = ufunc.getattr("__name__")?;
    let name = name.cast::<PyString>()?.to_str()?;
    let ([from, factor], Some(kwargs)) = (inputs, kwargs) else {
        return Ok(None);
    };
    let (Some(axes), Some(out)) = (kwargs.get_item("axes")?, kwargs.get_item("out")?) else {
        return Ok(None);
    };
    let out = match out.cast_exact::<PyTuple>() {
        Ok(tuple) if tuple.len() == 1 => tuple.get_item(0)?,
        Ok(_) => return Ok(None),
        Err(_) => out,
    };
    let (Some(array), Some(target)) = (Arr::of(from), Arr::of(&out)) else {
        return Ok(None);
    };
    let axis = axes.get_item(0).and_then(|first| first.get_item(0));
    let axis = axis.ok().and_then(|axis| axis_of(&axis, array.ndim()));
    let known = TRANSFORMS.contains(&name) && kwargs.len() == 2 && Arr::of(factor).is_none();
    if let (Some(axis), true) = (axis, known && target.ndim() == array.ndim())
        && target.writeable()
        && target.addr() != array.addr()
        && let Ok(factor) = factor.extract()
        && operations::transform(py, name, (array, target), axis, factor)?
    {
        return Ok(Some(out));
    }
    let cut = axis.and_then(|axis| other_axis(array.shape(), axis));
    let (Some(cut), Some(parts), true) = (cut, share(array), known) else {
        return Ok(None);
    };
    let same = target.ndim() == array.ndim() && target.shape()[cut] == array.shape()[cut];
    let own = target.writeable() && target.addr() != array.addr();
    if !same || !own || array.dtype().is_none() {
        return Ok(None);
    }
    sync::write(py, target)?;
    let (plain_from, plain_out) = (ready(from)?, delegate::plain(&out)?);
    let mut jobs = Vec::new();
    for key in keys(py, cut, array.shape()[cut], parts)? {
        let words = PyDict::new(py);
        words.set_item("axes", &axes)?;
        words.set_item("out", plain_out.get_item(&key)?)?;
        jobs.push(Job {
            args: PyTuple::new(py, [plain_from.get_item(&key)?, factor.clone()])?.unbind(),
            kwargs: Some(words.unbind()),
            into: None,
        });
    }
    // Where a condition was met, NumPy does all of it again and tells.
    Ok(run(py, ufunc, jobs).is_ok().then_some(out))
}
