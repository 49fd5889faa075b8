//! The process around us: forks and signal handlers.

use crate::{backends, leaving, state};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Called before `os.fork()`. The interpreter lock is kept: whoever runs recorded work does without it,
/// and nobody else may start while the engine stands still.
#[pyfunction]
pub(crate) fn before_fork() {
    state::engine().before_fork();
}

/// Called after `os.fork()` in the parent.
#[pyfunction]
pub(crate) fn after_fork_parent() {
    state::engine().after_fork_parent();
}

/// Called after `os.fork()` in the child.
#[pyfunction]
pub(crate) fn after_fork_child() {
    leaving::after_fork_child();
    if let Some(cpu) = backends::cpu() {
        cpu.after_fork_child();
    }
    state::engine().after_fork_child();
}

/// Puts our handler of memory faults back on top of others.
#[pyfunction]
pub(crate) fn reinstall_handler() {
    if let Some(guard) = state::engine().guard() {
        guard.reinstall_handler();
    }
}

/// Registers the fork hooks.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let hooks = PyDict::new(py);
    hooks.set_item("before", module.getattr("before_fork")?)?;
    hooks.set_item("after_in_parent", module.getattr("after_fork_parent")?)?;
    hooks.set_item("after_in_child", module.getattr("after_fork_child")?)?;
    py.import("os")?
        .call_method("register_at_fork", (), Some(&hooks))?;
    Ok(())
}
