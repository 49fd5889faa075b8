//! Calls that NumPy itself did on large arrays: counted by operation, reason and line.

use crate::operand::Reason;
use crate::site;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Operation, reason, file, line.
type Key = (String, &'static str, String, i32);

static COUNTS: Mutex<BTreeMap<Key, u64>> = Mutex::new(BTreeMap::new());

fn counts() -> MutexGuard<'static, BTreeMap<Key, u64>> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one call and, the first time at its line, warns if the program asked for such warnings.
pub(crate) fn count(py: Python<'_>, op: &str, reason: Reason) -> PyResult<()> {
    let place = site::user_line(py)?;
    let (file, line) = (place.file, place.line);
    let op = place
        .function
        .as_deref()
        .unwrap_or(op)
        .trim_start_matches('_');
    let key = (op.to_owned(), reason.text(), file.clone(), line);
    let first = {
        let mut counts = counts();
        let first = !counts.keys().any(|(_, _, f, l)| *f == file && *l == line);
        *counts.entry(key).or_insert(0) += 1;
        first
    };
    if !first {
        return Ok(());
    }
    let class = py.import("arrayloom.errors")?.getattr("FallbackWarning")?;
    if wanted(py, &class)? {
        let text = format!("{op} ran in NumPy: {}", reason.text());
        site::explicit(py, &text, &class, &file, line)?;
    }
    Ok(())
}

/// True if a warning filter names our class: without one, programs see no new warnings.
fn wanted(py: Python<'_>, class: &Bound<'_, PyAny>) -> PyResult<bool> {
    let filters = py.import("warnings")?.getattr("filters")?;
    for filter in filters.try_iter()? {
        let filter = filter?;
        let filter = filter.cast::<PyTuple>()?;
        if filter.get_item(2)?.is(class) {
            return Ok(filter.get_item(0)?.extract::<String>()? != "ignore");
        }
    }
    Ok(false)
}

/// All counts as a list of dictionaries.
pub(crate) fn report(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let rows = PyList::empty(py);
    let counts = counts().clone();
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
    counts().clear();
}
