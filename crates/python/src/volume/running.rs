//! Running an expression for Python: callbacks, and what a run and a plan say as dictionaries.
#![expect(
    clippy::result_large_err,
    reason = "errors of runs are rare, and are turned into exceptions here"
)]

use super::calls::Raised;
use super::to_python;
use arrayloom_plan::Plan;
use arrayloom_types::Region;
use arrayloom_volume::{Options, Progress, Report, VolumeError, Worker};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// What a run gets beside its budget.
pub(super) struct Extra {
    pub(super) align: Vec<i64>,
    pub(super) done: Vec<Region>,
    pub(super) progress: Option<Py<PyAny>>,
    pub(super) written: Option<Py<PyAny>>,
    pub(super) workers: Vec<Worker>,
    pub(super) raised: Raised,
}

/// Runs without the interpreter lock; an exception of a callback that watches, and one that is no failure of its work,
/// comes back as it was raised.
pub(super) fn go(
    py: Python<'_>,
    work: impl FnOnce(&Options<'_>) -> Result<Report, VolumeError> + Send,
    budget: u64,
    threads: usize,
    extra: Extra,
) -> PyResult<Report> {
    let raised = extra.raised.clone();
    let watch = |p: Progress| {
        Python::attach(|py| {
            let asked = py.check_signals().and_then(|()| match &extra.progress {
                Some(f) => f.call1(py, (p.voxels, p.total, p.used)).map(drop),
                None => Ok(()),
            });
            asked.map_err(|error| raised.keep(error)).is_ok()
        })
    };
    let written = |region: &Region| -> Result<(), String> {
        let Some(f) = &extra.written else {
            return Ok(());
        };
        let (lo, hi) = (region.lo.to_vec(), region.hi.to_vec());
        raised.call(|py| f.call1(py, (lo, hi)).map(drop))
    };
    let options = Options {
        budget,
        threads,
        align: extra.align.as_slice().into(),
        done: extra.done.clone(),
        watch: Some(&watch),
        written: Some(&written),
        meter: None,
        workers: extra.workers,
    };
    let result = py.detach(|| work(&options));
    match raised.take() {
        Some(error) => Err(error),
        None => result.map_err(|e| to_python(py, &e)),
    }
}

/// Works without the interpreter lock, and asks now and then for signals; an exception comes back as it was raised.
pub(super) fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<T, VolumeError> + Send,
) -> PyResult<T> {
    let raised: Mutex<Option<PyErr>> = Mutex::new(None);
    let result = py.detach(|| {
        work(&|| {
            let asked = Python::attach(|py| -> PyResult<()> { py.check_signals() });
            let mut raised = raised.lock().unwrap_or_else(PoisonError::into_inner);
            asked.map_err(|error| *raised = Some(error)).is_ok()
        })
    });
    match raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => result.map_err(|e| to_python(py, &e)),
    }
}

pub(super) fn plan_dict<'py>(py: Python<'py>, plan: &Plan) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("bounds", &plan.bounds)?;
    out.set_item("sweep", plan.sweep)?;
    out.set_item("blocks", plan.len())?;
    out.set_item("peak", plan.peak)?;
    out.set_item("read_bytes", plan.read_bytes)?;
    out.set_item("source_bytes", plan.source_bytes)?;
    out.set_item("redundancy", plan.redundancy())?;
    out.set_item("bound_bytes", plan.bound_bytes)?;
    out.set_item("seconds", plan.seconds)?;
    out.set_item("overlapped", plan.buffers.source > 1)?;
    Ok(out)
}

pub(super) fn report_dict<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let out = PyDict::new(py);
    out.set_item("blocks", report.blocks)?;
    out.set_item("peak", report.peak)?;
    out.set_item("planned_peak", report.planned_peak)?;
    out.set_item("halved", report.halved)?;
    out.set_item("read_bytes", report.read_bytes)?;
    out.set_item("on_devices", report.abroad)?;
    out.set_item("left_to_cpu", &report.left)?;
    Ok(out)
}
