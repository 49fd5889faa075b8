//! Waiting for values: everything that forces recorded work goes through here.

use crate::np::Arr;
use crate::{backends, error, memory, picked, pydevice, site, state};
use arrayloom_engine::{EngineError, Row};
use arrayloom_guard::State;
use arrayloom_ir::Node;
use pyo3::prelude::*;

/// Makes the memory of an array readable; does nothing for memory outside the arena.
pub(crate) fn read(py: Python<'_>, array: Arr) -> PyResult<()> {
    let engine = state::engine();
    match engine.look_at(array.addr()) {
        None => Ok(()),
        Some((_, pages, false)) if pages.is_published() => news(py),
        Some((slot, _, true)) => force(py, || engine.sync_read(slot), || engine.sync_read(slot)),
        // Computed already: publishing it is quick and needs no other thread.
        Some((slot, _, false)) => {
            engine
                .sync_read(slot)
                .map_err(|e| error::to_python(py, &e))?;
            news(py)
        }
    }
}

/// Computes the value of a slot and shows the address of so many bytes of it to `look`, wherever they lie: they need not
/// come to where the program sees them.
pub(crate) fn look<T: Send>(
    py: Python<'_>,
    row: Row,
    bytes: usize,
    look: impl Send + FnOnce(usize) -> T,
) -> PyResult<T> {
    let engine = state::engine();
    if engine.is_pending(row.slot) {
        let value = || engine.evaluate(row.slot);
        force(py, value, value)?;
    }
    let seen = detached(py, || engine.look_into(row, bytes, look));
    seen.map_err(|e| error::to_python(py, &e))
}

/// Takes picked elements that an operation needs, before it is recorded: what ran out of memory there is tried again
/// without the operation.
pub(crate) fn take_for(py: Python<'_>, node: &Node) -> PyResult<()> {
    let engine = state::engine();
    if !engine.has_picked() {
        return Ok(());
    }
    force(py, || engine.take_for(node), || engine.take_for(node))
}

/// [`arrayloom_engine::Engine::hold_if_same`].
pub(crate) fn hold_if_same(
    py: Python<'_>,
    rows: [Row; 2],
    bytes: usize,
    same: impl Send + FnOnce([usize; 2]) -> bool,
) -> PyResult<bool> {
    let engine = state::engine();
    if engine.is_pending(rows[1].slot) {
        let value = || engine.evaluate(rows[1].slot);
        force(py, value, value)?;
    }
    let equal = detached(py, || engine.hold_if_same(rows, bytes, same));
    equal.map_err(|e| error::to_python(py, &e))
}

/// Tells what was found where nobody could tell it, such as in a page fault.
pub(crate) fn news(py: Python<'_>) -> PyResult<()> {
    if !state::engine().has_news() {
        return Ok(());
    }
    if let Some(failure) = state::engine().take_failure() {
        return Err(error::to_python(py, &failure));
    }
    site::warn_of_events(py)
}

/// Makes the memory of an array writable, after everything that reads its old value.
pub(crate) fn write(py: Python<'_>, array: Arr) -> PyResult<()> {
    let engine = state::engine();
    match engine.look_at(array.addr()) {
        None | Some((_, State::Ready, false)) => Ok(()),
        Some((slot, ..)) => force(py, || engine.sync_write(slot), || engine.sync_write(slot)),
    }
}

/// True if the array's memory may be written at once without waiting for anything; see
/// [`arrayloom_engine::Engine::is_settled`].
pub(crate) fn is_settled(array: Arr) -> bool {
    let engine = state::engine();
    let slot = engine.slot_at(array.addr());
    slot.is_some_and(|(slot, _)| !engine.is_pending(slot) && engine.is_settled(slot))
}

/// True if the program may write to the array's memory without our knowing.
pub(crate) fn is_open(array: Arr) -> bool {
    let found = state::engine().look_at(array.addr());
    matches!(found, Some((_, State::Ready, false)))
}

/// Bytes of the memory in the arena that an array lies in; zero for other memory.
pub(crate) fn extent(array: Arr) -> usize {
    let guard = state::engine().guard();
    let found = guard.and_then(|guard| Some(guard.nbytes(guard.slot_at(array.addr())?)));
    found.unwrap_or(0)
}

/// True if the array's value lies at its address.
pub(crate) fn is_there(array: Arr) -> bool {
    let found = state::engine().look_at(array.addr());
    found.is_none_or(|(_, pages, _)| pages.is_published())
}

/// True if the array's value is computed and NumPy may read it: not where it would have to come from a device, and not
/// for a device in Python.
pub(crate) fn is_computed(array: Arr) -> bool {
    let engine = state::engine();
    let found = engine.look_at(array.addr());
    let computed = found.is_none_or(|(_, _, pending)| !pending);
    computed && !engine.is_elsewhere(array.addr()) && !backends::needs_python()
}

/// True if nothing recorded writes to the array and its value lies at its address. A device in Python would
/// be called inside a touch otherwise, so there it is never true.
pub(crate) fn is_value_there(array: Arr) -> bool {
    let there = match state::engine().look_at(array.addr()) {
        None => true,
        Some((_, pages, pending)) => !pending && pages.is_published(),
    };
    there && !backends::needs_python()
}

/// Runs everything that is pending. Does nothing for a device in Python that is at it.
pub(crate) fn flush(py: Python<'_>) -> PyResult<()> {
    if pydevice::is_within() {
        return Ok(());
    }
    let engine = state::engine();
    force(py, || engine.flush(), || engine.flush())
}

/// Runs `work` without the interpreter; where memory runs out Python frees what it can, and `again` goes
/// on.
pub(crate) fn force<T: Send>(
    py: Python<'_>,
    work: impl Send + FnOnce() -> Result<T, EngineError>,
    again: impl Send + FnOnce() -> Result<T, EngineError>,
) -> PyResult<T> {
    let done = memory::with_relief(py, |py| detached(py, work), |py| detached(py, again))?;
    picked::tidy();
    site::warn_of_events(py)?;
    Ok(done)
}

/// Runs `work` without the interpreter's lock. A device in Python works under it: waiting for the lock while
/// another thread holds it, and waits for us, would be for ever.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    if backends::needs_python() {
        work()
    } else {
        py.detach(work)
    }
}
