//! `arrayloom.memory`: figures, limits, scopes and early frees of the engine, for the Python half.
#![expect(unsafe_code, reason = "reads a context variable through C functions")]

use crate::np::Arr;
use crate::{backends, bridge, error, site, state, sync};
use arrayloom_device::{Device as _, Staged};
use arrayloom_engine::{EngineError, Owner, Rung};
use arrayloom_ir::SlotId;
use arrayloom_memory::{Request, parse_limit, physical_memory, replay};
use arrayloom_types::ErrorKind;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::ptr;
use std::sync::OnceLock;

static SCOPE: OnceLock<Py<PyAny>> = OnceLock::new();

/// Makes the context variable that holds the number of the innermost scope.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().import("contextvars")?.getattr("ContextVar")?;
    let words = PyDict::new(module.py());
    words.set_item("default", 0u32)?;
    let variable = class.call(("arrayloom_scope",), Some(&words))?;
    module.add("current_scope", &variable)?;
    SCOPE.get_or_init(|| variable.unbind());
    Ok(())
}

/// Notes in which scope an array was made, where scopes are open.
pub(crate) fn note_birth(py: Python<'_>, slot: SlotId) -> PyResult<()> {
    let engine = state::engine();
    let Some(variable) = SCOPE.get().filter(|_| engine.has_scopes()) else {
        return Ok(());
    };
    let mut value = ptr::null_mut();
    // SAFETY: a live context variable with a default.
    let failed =
        unsafe { ffi::PyContextVar_Get(variable.as_ptr(), ptr::null_mut(), &raw mut value) };
    if failed != 0 || value.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference.
    let value = unsafe { Bound::from_owned_ptr(py, value) };
    engine.put_in_scope(slot, value.extract()?);
    Ok(())
}

/// Asks Python for memory: caches of frameworks, garbage. Called without any lock of ours.
pub(crate) fn relieve(py: Python<'_>) -> PyResult<()> {
    py.import("arrayloom._relief")?.call_method0("relieve")?;
    Ok(())
}

/// Runs `work` with the whole ladder: first what costs nothing, then Python's rungs, then `again` with
/// the rest.
pub(crate) fn with_relief<T>(
    py: Python<'_>,
    work: impl FnOnce(Python<'_>) -> Result<T, EngineError>,
    again: impl FnOnce(Python<'_>) -> Result<T, EngineError>,
) -> PyResult<T> {
    let engine = state::engine();
    let done = match engine.patiently(|| work(py)) {
        Err(error) if error.kind() == ErrorKind::Memory => {
            relieve(py)?;
            again(py)
        }
        done => done,
    };
    done.map_err(|e| error::to_python(py, &e))
}

/// Everything that a report shows, with at most so many owners.
#[pyfunction]
pub(crate) fn memory_report(py: Python<'_>, owners: usize) -> PyResult<Bound<'_, PyDict>> {
    let report = state::engine().memory_report(owners);
    let all = PyDict::new(py);
    all.set_item("limit", unlimited(report.limit))?;
    let counts = [
        ("live", report.live),
        ("cached", report.cached),
        ("largest_free", report.largest_free),
        ("peak", report.peak),
        ("peak_reserved", report.peak_reserved),
        ("spilled", report.spilled.0),
        ("spilled_peak", report.spilled.1),
        ("requests", report.requests.0),
        ("grown", report.requests.1),
        ("allocated", report.allocated),
        ("predicted", report.predicted),
    ];
    for (name, count) in counts {
        all.set_item(name, count)?;
    }
    all.set_item("peak_line", site::text_of(py, report.peak_site)?)?;
    let rungs = PyDict::new(py);
    for (rung, stats) in report.rungs {
        let row = PyDict::new(py);
        row.set_item("times", stats.times)?;
        row.set_item("bytes", stats.bytes)?;
        row.set_item("seconds", stats.seconds)?;
        rungs.set_item(rung.name(), row)?;
    }
    let on_cpu = backends::staged().map_or(0, |staged| staged.stats().on_host_for_memory);
    let row = PyDict::new(py);
    row.set_item("times", on_cpu)?;
    row.set_item("bytes", 0)?;
    row.set_item("seconds", 0.0)?;
    rungs.set_item("cpu", row)?;
    all.set_item("rungs", rungs)?;
    let devices = PyList::empty(py);
    if let Some(staged) = backends::staged().filter(|staged| staged.memory().peak > 0) {
        devices.append(device_row(py, staged)?)?;
    }
    all.set_item("devices", devices)?;
    all.set_item("owners", owner_rows(py, &report.owners)?)?;
    Ok(all)
}

fn unlimited(bytes: u64) -> Option<u64> {
    (bytes < u64::MAX).then_some(bytes)
}

fn owner_rows<'py>(py: Python<'py>, owners: &[Owner]) -> PyResult<Bound<'py, PyList>> {
    let rows = PyList::empty(py);
    for owner in owners {
        let row = PyDict::new(py);
        row.set_item("nbytes", owner.nbytes)?;
        let made = owner.made.as_ref();
        row.set_item("dtype", made.map_or("bytes", |(dtype, _)| dtype.name()))?;
        let shape = made.map_or_else(
            || vec![usize::try_from(owner.nbytes).unwrap_or(usize::MAX)],
            |(_, shape)| shape.to_vec(),
        );
        row.set_item("shape", PyTuple::new(py, shape)?)?;
        row.set_item("line", site::text_of(py, owner.site)?)?;
        row.set_item("spilled", owner.spilled)?;
        row.set_item("held", owner.held)?;
        rows.append(row)?;
    }
    Ok(rows)
}

/// The largest owners in words, for a message.
pub(crate) fn owners_text(py: Python<'_>, owners: &[Owner]) -> String {
    let words = |owner: &Owner| {
        let line = site::text_of(py, owner.site).ok().flatten();
        let place = line.unwrap_or_else(|| "an unknown line".to_owned());
        let what = owner
            .made
            .as_ref()
            .map_or_else(String::new, |(dtype, shape)| {
                format!(" {} {:?}", dtype.name(), shape.as_slice())
            });
        let spilled = if owner.spilled { ", spilled" } else { "" };
        format!("{} bytes{what} from {place}{spilled}", owner.nbytes)
    };
    let all: Vec<String> = owners.iter().map(words).collect();
    all.join("; ")
}

/// The bytes that a text such as `2GiB` or `50%` names.
#[pyfunction]
pub(crate) fn memory_amount(text: &str) -> PyResult<u64> {
    parse_limit(text, physical_memory()).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Change the limit on bytes in use of a device, `None` for no limit; returns the old one.
#[pyfunction]
#[pyo3(signature = (bytes, device="cpu"))]
pub(crate) fn memory_limit(bytes: Option<u64>, device: &str) -> PyResult<Option<u64>> {
    let bytes = bytes.unwrap_or(u64::MAX);
    if device == "cpu" {
        return Ok(unlimited(state::engine().set_memory_limit(bytes)));
    }
    match backends::staged().filter(|staged| staged.caps().name == device) {
        Some(staged) => Ok(unlimited(staged.set_limit(bytes))),
        None => Err(PyValueError::new_err(format!(
            "device {device:?} is not in use; 'cpu' and the backend of this process have limits"
        ))),
    }
}

/// The last requests for memory: kind, name of the block, bytes.
#[pyfunction]
pub(crate) fn memory_trace() -> Vec<(&'static str, u64, u64)> {
    let steps = state::engine().memory_trace();
    let row = |step: Request| match step {
        Request::Get { at, bytes } => ("get", at, bytes),
        Request::Shorten { at, kept } => ("shorten", at, kept),
        Request::Free { at, bytes } => ("free", at, bytes),
    };
    steps.into_iter().map(row).collect()
}

/// Repeat a trace without any memory, under a limit.
#[pyfunction]
pub(crate) fn memory_replay(
    py: Python<'_>,
    trace: Vec<(String, u64, u64)>,
    limit: Option<u64>,
) -> PyResult<Bound<'_, PyDict>> {
    let mut steps = Vec::with_capacity(trace.len());
    for (kind, at, bytes) in trace {
        steps.push(match kind.as_str() {
            "get" => Request::Get { at, bytes },
            "shorten" => Request::Shorten { at, kept: bytes },
            "free" => Request::Free { at, bytes },
            _ => {
                let message = format!("a trace has no step {kind:?}");
                return Err(PyValueError::new_err(message));
            }
        });
    }
    let found = py
        .detach(|| replay(&steps, limit.unwrap_or(u64::MAX)))
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    let row = PyDict::new(py);
    row.set_item("peak", found.info.peak)?;
    row.set_item("peak_reserved", found.info.peak_reserved)?;
    row.set_item("requests", found.info.requests)?;
    row.set_item("grown", found.info.grown)?;
    row.set_item("refused", found.refused)?;
    row.set_item("refused_bytes", found.refused_bytes)?;
    Ok(row)
}

/// The memory of a device that is not ours, and what became of kernels for lack of it.
fn device_row<'py>(py: Python<'py>, staged: &Staged) -> PyResult<Bound<'py, PyDict>> {
    let (memory, stats) = (staged.memory(), staged.stats());
    let row = PyDict::new(py);
    row.set_item("name", staged.caps().name)?;
    row.set_item("limit", unlimited(memory.limit))?;
    let counts = [
        ("live", memory.in_use),
        ("cached", memory.cached()),
        ("peak", memory.peak),
        ("peak_reserved", memory.peak_reserved),
        ("evictions", stats.evictions),
        ("evicted_bytes", stats.evicted_bytes),
        ("boxed", stats.boxed),
        ("on_cpu", stats.on_host_for_memory),
    ];
    for (name, count) in counts {
        row.set_item(name, count)?;
    }
    Ok(row)
}

/// Change how many bytes may wait for re-use, `None` for any number; returns the old number.
#[pyfunction]
pub(crate) fn memory_cached(bytes: Option<u64>) -> Option<u64> {
    unlimited(state::engine().set_cached_bytes(bytes.unwrap_or(u64::MAX)))
}

/// Start the highest use anew from now; returns the bytes in use.
#[pyfunction]
pub(crate) fn memory_restart_peak() -> u64 {
    state::engine().restart_peak()
}

/// Count a rung of the ladder that Python climbed.
#[pyfunction]
pub(crate) fn note_rung(name: &str, bytes: u64, seconds: f64) -> PyResult<()> {
    let rung = Rung::ALL.into_iter().find(|rung| rung.name() == name);
    let rung = rung.ok_or_else(|| PyValueError::new_err(format!("no rung is called {name:?}")))?;
    state::engine().note_rung(rung, bytes, seconds);
    Ok(())
}

/// Open a scope; returns its number.
#[pyfunction]
pub(crate) fn scope_open() -> u32 {
    state::engine().open_scope()
}

/// The figures of an open scope.
#[pyfunction]
pub(crate) fn scope_figures(py: Python<'_>, scope: u32) -> PyResult<Bound<'_, PyDict>> {
    let figures = state::engine().scope_figures(scope);
    let all = PyDict::new(py);
    all.set_item("peak", figures.peak)?;
    all.set_item("allocated", figures.allocated)?;
    all.set_item("moved", figures.moved)?;
    Ok(all)
}

/// Close a scope; returns the arrays that were made in it and live on. They belong to `outer` from then on.
#[pyfunction]
pub(crate) fn scope_close(py: Python<'_>, scope: u32, outer: u32) -> PyResult<Bound<'_, PyList>> {
    owner_rows(py, &state::engine().close_scope(scope, outer))
}

/// Give the memory of an array back now, for the line `place` of the program. False for an array whose
/// memory is not arrayloom's.
#[pyfunction]
pub(crate) fn memory_free(
    py: Python<'_>,
    array: &Bound<'_, PyAny>,
    place: String,
) -> PyResult<bool> {
    let Some(array) = Arr::of(array) else {
        return Ok(false);
    };
    let Some((slot, _)) = state::engine().slot_at(array.addr()) else {
        return Ok(false);
    };
    let exports = bridge::exports(slot);
    if exports > 0 {
        let views = if exports == 1 { "view" } else { "views" };
        let message =
            format!("{exports} exported {views}: free the array when its consumers let go of it");
        return Err(PyBufferError::new_err(message));
    }
    sync::flush(py)?;
    let freed = py.detach(|| state::engine().free_now(slot, place));
    freed.map_err(|e| error::to_python(py, &e))
}
