//! What ran and when, and how often each place recorded what: kept on demand, for traces and coverage.

use crate::Engine;
use crate::engine::lock;
use crate::run::Batch;
use crate::stats::name_of;
use arrayloom_fuse::Group;
use std::collections::BTreeMap;
use std::time::Instant;

/// Events that are kept at most.
const MOST: usize = 100_000;
/// Operations of an event that are named at most.
const NAMED: usize = 32;

/// Calls that were recorded, by operation and by the number of their place.
pub type Calls = BTreeMap<(&'static str, u32), u64>;

/// Operations with the numbers of their places.
type Named = Box<[(&'static str, u32)]>;

/// Something that ran.
#[derive(Clone, Debug)]
pub struct Event {
    /// When it began, in seconds from the start of the journal.
    pub start: f64,
    /// How long it took.
    pub seconds: f64,
    /// Kernels of a pass over memory; 0 for the whole list, planning included.
    pub kernels: usize,
    /// Its operations.
    pub operations: usize,
    /// The first of them, with the numbers of their places; none for the whole list.
    pub named: Box<[(&'static str, u32)]>,
}

/// Events in the order of their ends.
#[derive(Debug)]
pub(crate) struct Journal {
    since: Instant,
    events: Vec<Event>,
    /// Events without room.
    lost: u64,
}

impl Engine {
    /// Starts a journal of events and calls, or ends it and forgets it.
    pub fn keep_journal(&self, keep: bool) {
        self.table().calls = keep.then(Calls::new);
        *lock(&self.journal) = keep.then(|| Journal {
            since: Instant::now(),
            events: Vec::new(),
            lost: 0,
        });
    }

    /// The calls since the start of the journal or the last call of this.
    pub fn take_calls(&self) -> Calls {
        let mut table = self.table();
        table.calls.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The events, likewise, and how many were left out, since a journal holds a hundred thousand.
    pub fn take_events(&self) -> (Vec<Event>, u64) {
        match &mut *lock(&self.journal) {
            Some(journal) => (
                std::mem::take(&mut journal.events),
                std::mem::take(&mut journal.lost),
            ),
            None => (Vec::new(), 0),
        }
    }

    /// Operations recorded since the start or the last [`Engine::reset_stats`].
    pub fn recorded(&self) -> u64 {
        self.table().recorded
    }

    /// Notes that the list has run.
    pub(crate) fn note_list(&self, started: Instant, operations: usize) {
        self.note(started, || (0, operations, Box::default()));
    }

    /// Notes that one pass over memory has run.
    pub(crate) fn note_pass(&self, batch: &Batch, started: Instant, groups: &[&Group]) {
        self.note(started, || {
            let places = groups.iter().flat_map(|group| &group.nodes);
            let nodes = places.map(|&place| &batch.list[place as usize]);
            let named = nodes.map(|node| (name_of(node), node.site));
            let operations = groups.iter().map(|group| group.nodes.len()).sum();
            (groups.len(), operations, named.take(NAMED).collect())
        });
    }

    fn note(&self, started: Instant, facts: impl FnOnce() -> (usize, usize, Named)) {
        let mut journal = lock(&self.journal);
        let Some(journal) = &mut *journal else {
            return;
        };
        if journal.events.len() >= MOST {
            journal.lost += 1;
            return;
        }
        let seconds = started.elapsed().as_secs_f64();
        let start = started.saturating_duration_since(journal.since);
        let (kernels, operations, named) = facts();
        journal.events.push(Event {
            start: start.as_secs_f64(),
            seconds,
            kernels,
            operations,
            named,
        });
    }
}
