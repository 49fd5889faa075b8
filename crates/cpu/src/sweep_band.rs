//! One worker of a sweep: runs the stages of a band step by step.

#![expect(
    unsafe_code,
    reason = "stages run on rows whose places are computed here"
)]

use crate::exec::{Shared, Worker};
use crate::nest::Nest;
use crate::sweep::{Crew, Home, Prepared};
use crate::sweep_check::RingCheck;
use crate::sweep_rows::{Part, Rings};
use arrayloom_plan::Band;
use std::ops::Range;

/// A band and the blocks as it sees them.
pub(crate) struct Share {
    pub(crate) band: Band,
    pub(crate) parts: Vec<Part>,
}

/// One thread's rings, buffers and loops.
pub(crate) struct Runner<'a> {
    crew: &'a Crew<'a>,
    rings: Rings,
    stages: Vec<(Worker<'a>, Nest)>,
}

impl<'a> Runner<'a> {
    pub(crate) fn new(crew: &'a Crew<'a>) -> Runner<'a> {
        let worker = |stage: &'a Prepared<'a>| {
            let shared = Shared {
                program: &stage.program,
                span: stage.setup.span,
                flags: stage.flags,
                isa: crew.isa,
            };
            (
                Worker::new(shared, &stage.setup.nest),
                stage.setup.nest.clone(),
            )
        };
        Runner {
            crew,
            rings: Rings::new(crew.rings, crew.step),
            stages: crew.stages.iter().map(worker).collect(),
        }
    }

    /// Runs all stages over a band.
    ///
    /// # Safety
    /// The memory of all stages may be used as the sweep says, and no other thread runs this band.
    pub(crate) unsafe fn run(&mut self, share: &Share) {
        let band = &share.band;
        let schedule = self.crew.schedule;
        let step = self.crew.step.cast_signed();
        let computed: Vec<Range<usize>> = schedule
            .stages
            .iter()
            .map(|timing| timing.computed(band))
            .collect();
        let mut done: Vec<usize> = computed.iter().map(|rows| rows.start).collect();
        let mut check =
            cfg!(debug_assertions).then(|| RingCheck::new(self.crew.rings, self.crew.step));
        let mut time = band.start - schedule.warm().cast_signed();
        while time < band.end {
            time = (time + step).min(band.end);
            for (stage, timing) in schedule.stages.iter().enumerate() {
                let until = timing.until(time).min(computed[stage].end);
                let rows = done[stage]..until.max(done[stage]);
                if rows.is_empty() {
                    continue;
                }
                if let Some(check) = &mut check {
                    self.check(check, share, stage, &rows);
                }
                done[stage] = rows.end;
                // SAFETY: promised by the caller; the schedule orders the stages.
                unsafe { self.rows(share, stage, rows) };
            }
        }
    }

    /// Runs a stage over some rows, in parts within which every lane goes on evenly.
    ///
    /// # Safety
    /// As for [`Runner::run`].
    unsafe fn rows(&mut self, share: &Share, stage: usize, rows: Range<usize>) {
        let prepared = &self.crew.stages[stage];
        let (worker, nest) = &mut self.stages[stage];
        let outer = nest.axes.len() - 1;
        let mut row = rows.start;
        while row < rows.end {
            let mut count = rows.end - row;
            for (lane, home) in prepared.homes.iter().enumerate() {
                let step = prepared.setup.nest.axes[outer].steps[lane];
                let base = prepared.setup.nest.bases[lane];
                let here = base + row.cast_signed() * step;
                let (base, even) = match *home {
                    Home::Memory => (here, count),
                    Home::Block { block, row: first } => {
                        let (distance, even) = share.parts[block].at(row.cast_signed() + first);
                        (here + distance, even)
                    }
                    Home::Ring {
                        ring,
                        row: first,
                        offset,
                    } => {
                        let (start, even) = self.rings.at(ring, row + first);
                        (start + offset, even)
                    }
                };
                nest.bases[lane] = base;
                count = count.min(even);
            }
            nest.axes[outer].extent = count;
            // SAFETY: promised by the caller; the lanes were just set for these rows.
            unsafe { worker.run(nest, 0..count * prepared.row_points, &mut []) };
            row += count;
        }
    }

    /// Rings hold what is read, and stored rows are stored once.
    fn check(&self, check: &mut RingCheck, share: &Share, stage: usize, rows: &Range<usize>) {
        let prepared = &self.crew.stages[stage];
        for lane in prepared.setup.sources.iter().filter_map(|s| s.lane()) {
            if let Home::Ring { ring, row, .. } = prepared.homes[lane] {
                check.read(ring, &(rows.start + row..rows.end + row));
            }
        }
        for (output, &lane) in prepared.setup.outs.iter().enumerate() {
            match prepared.homes[lane] {
                Home::Ring { ring, .. } => check.write(ring, rows.clone()),
                Home::Block { block, row: first } => {
                    let owned = |row: &usize| share.parts[block].owns(row.cast_signed() + first);
                    for row in rows.clone().filter(owned) {
                        self.crew.stores.store(stage, output, row);
                    }
                }
                Home::Memory => {}
            }
        }
    }
}
