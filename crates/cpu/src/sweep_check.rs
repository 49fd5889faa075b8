//! What must hold while a sweep runs; builds with debug assertions look.

use arrayloom_plan::{Ring, Schedule};
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// The rows that each ring of a band holds.
pub(crate) struct RingCheck {
    /// For every ring: its rows at a time, and the rows written.
    rings: Vec<(usize, Option<Range<usize>>)>,
}

impl RingCheck {
    pub(crate) fn new(rings: &[Ring], step: usize) -> RingCheck {
        let rings = rings.iter().map(|ring| (ring.reach + step, None));
        RingCheck {
            rings: rings.collect(),
        }
    }

    /// A stage writes rows.
    pub(crate) fn write(&mut self, ring: usize, rows: Range<usize>) {
        let (_, written) = &mut self.rings[ring];
        let start = match written {
            Some(known) => {
                assert_eq!(
                    known.end, rows.start,
                    "ring {ring}: rows follow one another"
                );
                known.start
            }
            None => rows.start,
        };
        *written = Some(start..rows.end);
    }

    /// A stage reads rows: they must be there, and no later row in their place.
    pub(crate) fn read(&self, ring: usize, rows: &Range<usize>) {
        let (depth, written) = &self.rings[ring];
        let held = written.as_ref().is_some_and(|w| {
            w.start <= rows.start && rows.end <= w.end && w.end <= rows.start + depth
        });
        assert!(held, "ring {ring} of {depth} rows: {rows:?} of {written:?}");
    }
}

/// How often each stored row of memory was written by the band that it belongs to.
pub(crate) struct StoreCheck {
    /// For every stage, output and row.
    stored: Vec<Vec<Vec<AtomicU8>>>,
}

impl StoreCheck {
    /// For stages of so many outputs; without debug assertions there is nothing to keep.
    pub(crate) fn new(schedule: &Schedule, outputs: impl Iterator<Item = usize>) -> StoreCheck {
        let rows = |rows: usize| {
            let rows = if cfg!(debug_assertions) { rows } else { 0 };
            std::iter::repeat_with(|| AtomicU8::new(0))
                .take(rows)
                .collect()
        };
        let stages = schedule.stages.iter().zip(outputs);
        let stored = stages.map(|(stage, count)| {
            let outputs = std::iter::repeat_with(|| rows(stage.rows));
            outputs.take(count).collect()
        });
        StoreCheck {
            stored: stored.collect(),
        }
    }

    /// A row of an output is written to its own place.
    pub(crate) fn store(&self, stage: usize, output: usize, row: usize) {
        let before = self.stored[stage][output][row].fetch_add(1, Ordering::Relaxed);
        assert_eq!(before, 0, "stage {stage} stores row {row} twice");
    }

    /// After the sweep: all rows of the output must have been written.
    pub(crate) fn all_stored(&self, stage: usize, output: usize) {
        let mut rows = self.stored[stage][output].iter().enumerate();
        let missing = rows.find(|(_, n)| n.load(Ordering::Relaxed) != 1);
        assert!(missing.is_none(), "stage {stage} lacks a row: {missing:?}");
    }
}
