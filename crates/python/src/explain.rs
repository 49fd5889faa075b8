//! What recorded work would do, as Python objects: `arrayloom.explain` and `--dump-kernels`.

use crate::np::Arr;
use crate::{site, state};
use arrayloom_engine::{Explanation, KernelFacts, OpFacts, PassFacts, Storage, ViewFacts};
use pyo3::prelude::*;

/// See [`Explanation`].
#[derive(IntoPyObject)]
pub(crate) struct Plan {
    passes: Vec<Pass>,
    dropped: usize,
    put_off: usize,
    bytes_needed: u64,
}

/// See [`PassFacts`].
#[derive(IntoPyObject)]
struct Pass {
    kernels: Vec<Kernel>,
    bytes_read: u64,
    bytes_written: u64,
}

/// See [`KernelFacts`].
#[derive(IntoPyObject)]
struct Kernel {
    shape: Vec<usize>,
    ops: Vec<Op>,
    reads: Vec<View>,
    writes: Vec<View>,
    why: Option<String>,
    code: String,
}

/// See [`OpFacts`]; the place is a file and a line.
#[derive(IntoPyObject)]
struct Op {
    name: &'static str,
    dtype: &'static str,
    storage: &'static str,
    file: String,
    line: i32,
}

/// See [`ViewFacts`].
#[derive(IntoPyObject)]
struct View {
    array: usize,
    shape: Vec<usize>,
    dtype: &'static str,
    bytes: u64,
    storage: &'static str,
}

/// The plan of everything pending, for the sake of an array if one is given.
#[pyfunction]
#[pyo3(signature = (array=None, /))]
pub(crate) fn explain(py: Python<'_>, array: Option<&Bound<'_, PyAny>>) -> PyResult<Plan> {
    let engine = state::engine();
    let wanted = array.and_then(Arr::of);
    let wanted = wanted.and_then(|array| engine.slot_at(array.addr()));
    let wanted = wanted.map(|(slot, _)| slot);
    plan(py, py.detach(|| engine.explain(wanted)))
}

/// Whether an array's value is not computed yet.
#[pyfunction]
#[pyo3(signature = (array, /))]
pub(crate) fn is_pending(array: &Bound<'_, PyAny>) -> bool {
    let engine = state::engine();
    let slot = Arr::of(array).and_then(|array| engine.slot_at(array.addr()));
    slot.is_some_and(|(slot, _)| engine.is_pending(slot))
}

/// Starts or stops keeping what runs for [`take_dumps`].
#[pyfunction]
#[pyo3(signature = (keep, /))]
pub(crate) fn dump_kernels(keep: bool) {
    state::engine().dump_kernels(keep);
}

/// What ran since the last call, each list of operations once, and how often it ran.
#[pyfunction]
pub(crate) fn take_dumps(py: Python<'_>) -> PyResult<Vec<(Plan, u64)>> {
    let dumps = state::engine().take_dumps().into_iter();
    dumps
        .map(|(found, runs)| Ok((plan(py, found)?, runs)))
        .collect()
}

fn plan(py: Python<'_>, found: Explanation) -> PyResult<Plan> {
    let passes = found.passes.into_iter().map(|facts| pass(py, facts));
    Ok(Plan {
        passes: passes.collect::<PyResult<_>>()?,
        dropped: found.dropped,
        put_off: found.put_off,
        bytes_needed: found.bytes_needed,
    })
}

fn pass(py: Python<'_>, facts: PassFacts) -> PyResult<Pass> {
    let kernels = facts.kernels.into_iter().map(|facts| kernel(py, facts));
    Ok(Pass {
        kernels: kernels.collect::<PyResult<_>>()?,
        bytes_read: facts.bytes_read,
        bytes_written: facts.bytes_written,
    })
}

fn kernel(py: Python<'_>, facts: KernelFacts) -> PyResult<Kernel> {
    let ops = facts.ops.iter().map(|facts| op(py, facts));
    Ok(Kernel {
        shape: facts.shape.to_vec(),
        ops: ops.collect::<PyResult<_>>()?,
        reads: facts.reads.iter().map(view).collect(),
        writes: facts.writes.iter().map(view).collect(),
        why: facts.why.map(|why| why.to_string()),
        code: facts.code,
    })
}

fn op(py: Python<'_>, facts: &OpFacts) -> PyResult<Op> {
    let (file, line) = site::line_of(py, facts.site)?;
    Ok(Op {
        name: facts.name,
        dtype: facts.dtype.name(),
        storage: storage(facts.storage),
        file,
        line,
    })
}

fn view(facts: &ViewFacts) -> View {
    View {
        array: facts.array,
        shape: facts.shape.to_vec(),
        dtype: facts.dtype.name(),
        bytes: facts.bytes,
        storage: storage(facts.storage),
    }
}

fn storage(storage: Storage) -> &'static str {
    match storage {
        Storage::Inline => "inline",
        Storage::Ring => "ring",
        Storage::Memory => "memory",
    }
}
