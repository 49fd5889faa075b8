//! Calls that NumPy itself did on large arrays: counted by operation, reason and line.
//!
//! Fallbacks warn, once a line. Delegated calls, which NumPy's own code does best, are only counted.

use crate::modules;
use crate::operand::Reason;
use crate::site;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Operation, reason, file, line.
type Key = (String, &'static str, String, i32);

type Counts = Mutex<BTreeMap<Key, u64>>;

static FALLBACKS: Counts = Mutex::new(BTreeMap::new());
static DELEGATED: Counts = Mutex::new(BTreeMap::new());

fn lock(counts: &'static Counts) -> MutexGuard<'static, BTreeMap<Key, u64>> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who says which calls are errors, if anybody does.
static JUDGE: Mutex<Option<Py<PyAny>>> = Mutex::new(None);

/// Lets `judge` say which calls are errors: it is given the operation, the reason as a word and as a text, the
/// file, the line and the operands, and answers with an exception or with `None`.
#[pyfunction]
#[pyo3(signature = (judge, /))]
pub(crate) fn refuse_fallbacks(judge: Option<Py<PyAny>>) {
    let before = std::mem::replace(&mut *judges(), judge);
    drop(before);
}

fn judges() -> MutexGuard<'static, Option<Py<PyAny>>> {
    JUDGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error that a call is, if somebody says so.
fn judged<'a, 'py: 'a>(
    py: Python<'py>,
    (op, reason): (&str, Reason),
    (file, line): (&str, i32),
    operands: impl IntoIterator<Item = &'a Bound<'py, PyAny>>,
) -> PyResult<()> {
    let judge = judges().as_ref().map(|judge| judge.clone_ref(py));
    let Some(judge) = judge else {
        return Ok(());
    };
    let code = if reason.warns() {
        reason.code()
    } else {
        Reason::Delegated.code()
    };
    let operands = PyTuple::new(py, operands.into_iter().collect::<Vec<_>>())?;
    let error = judge
        .bind(py)
        .call1((op, code, reason.text(), file, line, operands))?;
    if error.is_none() {
        return Ok(());
    }
    Err(PyErr::from_value(error))
}

/// Counts one call that is about to be made; a fallback warns, the first time at its line.
///
/// # Errors
/// What a filter or a judge makes of it; then the call is not made.
pub(crate) fn count<'a, 'py: 'a>(
    py: Python<'py>,
    op: &str,
    reason: Reason,
    operands: impl IntoIterator<Item = &'a Bound<'py, PyAny>>,
) -> PyResult<()> {
    let place = site::user_line(py)?;
    let (file, line) = (place.file, place.line);
    let name = place.function.as_deref().unwrap_or(op);
    // Private helpers of NumPy are called as the functions that they help.
    let op = if name.ends_with("__") {
        name
    } else {
        name.trim_start_matches('_')
    };
    let key = (op.to_owned(), reason.text(), file.clone(), line);
    if !reason.warns() {
        *lock(&DELEGATED).entry(key).or_insert(0) += 1;
        return judged(py, (op, reason), (&file, line), operands);
    }
    let first = {
        let mut counts = lock(&FALLBACKS);
        let first = !counts.keys().any(|(_, _, f, l)| *f == file && *l == line);
        *counts.entry(key).or_insert(0) += 1;
        first
    };
    judged(py, (op, reason), (&file, line), operands)?;
    if !first {
        return Ok(());
    }
    let class = py.import("arrayloom.errors")?.getattr("FallbackWarning")?;
    if wanted(py, &class)? {
        let text = format!("{op} ran in NumPy: {}", reason.text());
        let module = place.module.as_ref().map(|name| name.bind(py));
        site::explicit(py, &text, &class, (&file, line, module))?;
    }
    Ok(())
}

/// True unless a filter that is not about our class would make the warning an error: a program that
/// treats its own warnings as errors must not fail because of ours.
fn wanted(py: Python<'_>, class: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = class.cast::<PyType>()?;
    for filter in modules::warnings(py)?.getattr("filters")?.try_iter()? {
        let filter = filter?;
        let filter = filter.cast::<PyTuple>()?;
        let category = filter.get_item(2)?;
        let general = filter.get_item(1)?.is_none() && filter.get_item(3)?.is_none();
        if general && class.is_subclass(&category)? {
            let action: String = filter.get_item(0)?.extract()?;
            return Ok(action != "error" || category.is(class));
        }
    }
    Ok(true)
}

/// The fallbacks as a list of dictionaries.
pub(crate) fn report(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    rows(py, &FALLBACKS)
}

/// The delegated calls, likewise.
pub(crate) fn delegated(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    rows(py, &DELEGATED)
}

fn rows<'py>(py: Python<'py>, counts: &'static Counts) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    let counts = lock(counts).clone();
    for ((op, reason, file, line), calls) in counts {
        let row = PyDict::new(py);
        row.set_item("op", op)?;
        row.set_item("reason", reason)?;
        row.set_item("file", file)?;
        row.set_item("line", line)?;
        row.set_item("calls", calls)?;
        rows.append(row)?;
    }
    Ok(rows)
}

/// Forgets all counts.
pub(crate) fn reset() {
    lock(&FALLBACKS).clear();
    lock(&DELEGATED).clear();
}
