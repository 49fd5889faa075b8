//! The engine's journal, as Python objects: what ran when, and how often each line called what.
//!
//! Calls that native code answers at once are not recorded by the engine; they are counted here.

use crate::map::Outcome;
use crate::{site, state};
use pyo3::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An operation and the file and line that called it.
type Call = (String, String, i32);
/// Calls and their numbers.
type Calls = Vec<(String, String, i32, u64)>;

/// Something that ran.
#[derive(IntoPyObject)]
struct Event {
    start: f64,
    seconds: f64,
    kernels: usize,
    operations: usize,
    named: Vec<Call>,
}

/// What was taken from the engine.
#[derive(Default)]
struct Kept {
    calls: BTreeMap<Call, u64>,
    events: Vec<Event>,
    lost: u64,
}

static KEEPS: AtomicBool = AtomicBool::new(false);
static KEPT: Mutex<Kept> = Mutex::new(Kept {
    calls: BTreeMap::new(),
    events: Vec::new(),
    lost: 0,
});

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a journal, or ends it and forgets it.
#[pyfunction]
#[pyo3(signature = (keep, /))]
pub(crate) fn keep_journal(keep: bool) {
    *kept() = Kept::default();
    state::engine().keep_journal(keep);
    KEEPS.store(keep, Ordering::Relaxed);
}

/// What came to the journal since its start or the last call: calls with their number, events, and how many
/// events found no room.
#[pyfunction]
pub(crate) fn take_journal(py: Python<'_>) -> PyResult<(Calls, Bound<'_, PyAny>, u64)> {
    settle(py)?;
    let Kept {
        calls,
        events,
        lost,
    } = std::mem::take(&mut *kept());
    let calls = calls.into_iter();
    let calls = calls.map(|((op, file, line), times)| (op, file, line, times));
    Ok((calls.collect(), events.into_pyobject(py)?.into_any(), lost))
}

/// Looks up the places of everything in the engine's journal, before their numbers are given again.
pub(crate) fn settle(py: Python<'_>) -> PyResult<()> {
    if !KEEPS.load(Ordering::Relaxed) {
        return Ok(());
    }
    let named = |(op, site): (&str, u32)| -> PyResult<Call> {
        let (file, line) = site::line_of(py, site)?;
        Ok((op.to_owned(), file, line))
    };
    for (call, times) in state::engine().take_calls() {
        let call = named(call)?;
        *kept().calls.entry(call).or_default() += times;
    }
    let (events, lost) = state::engine().take_events();
    kept().lost += lost;
    for event in events {
        let event = Event {
            start: event.start,
            seconds: event.seconds,
            kernels: event.kernels,
            operations: event.operations,
            named: event
                .named
                .iter()
                .map(|op| named(*op))
                .collect::<PyResult<_>>()?,
        };
        kept().events.push(event);
    }
    Ok(())
}

/// Does a call, and counts it if native code gives its result without recording anything.
pub(crate) fn watch<'py>(
    py: Python<'py>,
    name: &str,
    call: impl FnOnce() -> PyResult<Outcome<'py>>,
) -> PyResult<Outcome<'py>> {
    if !KEEPS.load(Ordering::Relaxed) {
        return call();
    }
    let before = state::engine().recorded();
    let outcome = call()?;
    if matches!(outcome, Outcome::Done(_)) && state::engine().recorded() == before {
        let place = site::user_line(py)?;
        let call = (name.to_owned(), place.file, place.line);
        *kept().calls.entry(call).or_default() += 1;
    }
    Ok(outcome)
}
