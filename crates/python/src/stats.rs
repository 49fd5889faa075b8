//! What the engine did, as Python objects.

use crate::{backends, fallback, state};
use arrayloom_device::StagedStats;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Counters since the start or the last reset.
#[pyfunction]
pub(crate) fn stats(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let stats = state::engine().stats();
    let ops = PyDict::new(py);
    for (name, op) in &stats.ops {
        let row = PyDict::new(py);
        row.set_item("calls", op.calls)?;
        row.set_item("seconds", op.seconds)?;
        row.set_item("elements", op.elements)?;
        row.set_item("bytes", op.bytes)?;
        ops.set_item(name, row)?;
    }
    let all = PyDict::new(py);
    all.set_item("ops", ops)?;
    all.set_item("fallbacks", fallback::report(py)?)?;
    all.set_item("delegated", fallback::delegated(py)?)?;
    let counts = [
        ("kernels", stats.kernels),
        ("flushes", stats.flushes),
        ("recorded", stats.recorded),
        ("fused_ops", stats.fused_ops),
        ("dropped", stats.dropped),
        ("contracted", stats.contracted),
        ("renamed", stats.renamed),
        ("sweeps", stats.sweeps),
        ("unfused_kernels", stats.unfused_kernels),
        ("bytes_read", stats.bytes_read),
        ("bytes_written", stats.bytes_written),
        ("cache_hits", stats.cache_hits),
        ("cache_misses", stats.cache_misses),
        ("faults", stats.guard.faults),
        ("write_barriers", stats.guard.write_barriers),
        ("publishes", stats.guard.publishes),
        ("live_slots", stats.guard.live_slots),
    ];
    for (name, count) in counts {
        all.set_item(name, count)?;
    }
    all.set_item("device_seconds", stats.device_seconds)?;
    all.set_item("plan_seconds", stats.plan_seconds)?;
    all.set_item("flush_seconds", stats.flush_seconds)?;
    let pool = PyDict::new(py);
    if let Some(found) = stats.pool {
        pool.set_item("cached_bytes", found.cached_bytes)?;
        pool.set_item("live_bytes", found.live_bytes)?;
        pool.set_item("peak_bytes", found.peak_bytes)?;
        pool.set_item("hits", found.hits)?;
        pool.set_item("misses", found.misses)?;
    }
    all.set_item("pool", pool)?;
    if let Some(staged) = backends::staged() {
        all.set_item("backend", backend(py, &staged.stats())?)?;
    }
    Ok(all)
}

/// What became of the kernels on a device that is not ours.
fn backend<'py>(py: Python<'py>, stats: &StagedStats) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    let counts = [
        ("native", stats.native),
        ("decomposed", stats.decomposed),
        ("fallbacks", stats.fallbacks),
        ("uploads", stats.uploads),
        ("upload_bytes", stats.upload_bytes),
        ("downloads", stats.downloads),
        ("download_bytes", stats.download_bytes),
        ("evictions", stats.evictions),
        ("evicted_bytes", stats.evicted_bytes),
        ("boxed", stats.boxed),
        ("on_host_for_memory", stats.on_host_for_memory),
    ];
    for (name, count) in counts {
        row.set_item(name, count)?;
    }
    row.set_item("reasons", &stats.reasons)?;
    Ok(row)
}

/// Set every counter to zero.
#[pyfunction]
pub(crate) fn reset_stats() {
    state::engine().reset_stats();
    fallback::reset();
    if let Some(staged) = backends::staged() {
        staged.reset_stats();
    }
}

/// Change settings; absent ones stay as they are.
#[pyfunction]
#[pyo3(signature = (*, threads=None, lazy=None, min_bytes=None))]
pub(crate) fn configure(
    threads: Option<usize>,
    lazy: Option<bool>,
    min_bytes: Option<usize>,
) -> bool {
    let lazy = lazy.map(|lazy| lazy && state::engine().guard().is_some());
    state::configure(lazy, min_bytes);
    match (threads, backends::cpu()) {
        (Some(threads), Some(cpu)) => cpu.set_threads(threads),
        (Some(_), None) => return false,
        (None, _) => {}
    }
    true
}

/// Bytes from which results are lazy.
#[pyfunction]
pub(crate) fn min_bytes() -> usize {
    state::min_bytes()
}

/// Whether new results may be lazy.
#[pyfunction]
pub(crate) fn is_lazy() -> bool {
    state::lazy()
}

/// Every device that the engine can use.
#[pyfunction]
pub(crate) fn devices(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let caps = state::engine().device().caps();
    let row = PyDict::new(py);
    row.set_item("name", caps.name)?;
    row.set_item("threads", caps.threads)?;
    row.set_item("isa", &caps.detail)?;
    row.set_item("memory", i64::try_from(caps.memory).unwrap_or(0))?;
    PyList::new(py, [row])
}

/// Run everything that is pending.
#[pyfunction]
pub(crate) fn flush(py: Python<'_>) -> PyResult<()> {
    crate::sync::flush(py)
}

/// Give memory kept for re-use back to the system, but for so many bytes; returns the number of bytes.
#[pyfunction]
#[pyo3(signature = (keep=0))]
pub(crate) fn trim(keep: u64) -> u64 {
    state::engine().trim_to(keep)
}
