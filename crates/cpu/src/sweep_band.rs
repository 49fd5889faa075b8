//! One worker of a sweep: runs the stages of a band step by step.

#![expect(
    unsafe_code,
    reason = "stages run on rows whose places are computed here"
)]

use crate::cell::Cell;
use crate::exec::{Shared, Worker};
use crate::fold::FoldState;
use crate::mxcsr;
use crate::nest::Nest;
use crate::run::start_values;
use crate::sweep::{Crew, Home, Prepared};
use crate::sweep_check::RingCheck;
use crate::sweep_rows::{Part, Rings};
use arrayloom_plan::Band;
use std::ops::Range;

/// A band and the blocks as it sees them.
pub(crate) struct Share {
    /// Its number.
    pub(crate) number: usize,
    pub(crate) band: Band,
    pub(crate) parts: Vec<Part>,
}

/// One thread's rings, buffers and loops.
pub(crate) struct Runner<'a> {
    crew: &'a Crew<'a>,
    rings: Rings,
    stages: Vec<(Worker<'a>, Nest)>,
}

impl Prepared<'_> {
    /// The states of folds over everything for a band; `None` for other outputs.
    fn whole_states(&self, band: usize) -> Vec<Option<FoldState>> {
        let state = |output| {
            let whole = self.wholes.iter().find(|whole| whole.output == output)?;
            let parts = whole.parts(band);
            Some(FoldState::in_parts(whole.plan, &self.setup.nest, parts))
        };
        (0..self.folds.len()).map(state).collect()
    }

    /// Makes folds ready for rows from `row` on: those that keep the rows start anew.
    ///
    /// # Safety
    /// The lanes of `nest` lead to the rows, and outputs may be written.
    unsafe fn open_folds(
        &self,
        nest: &Nest,
        band: usize,
        row: usize,
        states: &mut [Option<FoldState>],
    ) {
        // SAFETY: promised by the caller; folds over everything are not among these.
        unsafe { start_values(nest, &self.folds) };
        for (plan, state) in self.folds.iter().zip(states.iter_mut()) {
            if let Some(plan) = plan {
                let mut plan = *plan;
                plan.segment = nest.inner_len(plan.inner);
                *state = Some(FoldState::new(plan, nest, 0, None));
            }
        }
        for whole in &self.wholes {
            if let Some(parts) = states[whole.output].as_mut().and_then(|s| s.parts.as_mut()) {
                let start = whole.range(band).start;
                parts.skip = start.saturating_sub(row * self.row_points);
            }
        }
        // Conditions that preparing has met are none of the program's.
        mxcsr::take();
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(crew: &'a Crew<'a>) -> Runner<'a> {
        let worker = |(number, stage): (usize, &'a Prepared<'a>)| {
            let shared = Shared {
                program: &stage.ready.program,
                uniforms: &stage.ready.uniforms,
                flags: stage.flags,
                isa: crew.isa,
            };
            let mut worker = Worker::new(shared, &stage.setup.nest);
            let before = &crew.stages[..number];
            worker.fetch_only(|lane| stage.homes[lane].is_new(before));
            (worker, stage.setup.nest.clone())
        };
        Runner {
            crew,
            rings: Rings::new(crew.rings, crew.room),
            stages: crew.stages.iter().enumerate().map(worker).collect(),
        }
    }

    /// Runs all stages over a band. Gives the results of folds over everything: the number of the
    /// stage, that of the output, and the band's parts.
    ///
    /// # Safety
    /// The memory of all stages may be used as the sweep says, and no other thread runs this band.
    pub(crate) unsafe fn run(&mut self, share: &Share) -> Vec<(usize, usize, Vec<Cell>)> {
        let mut folds: Vec<Vec<Option<FoldState>>> = self
            .crew
            .stages
            .iter()
            .map(|stage| stage.whole_states(share.number))
            .collect();
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
            cfg!(debug_assertions).then(|| RingCheck::new(self.crew.rings, self.crew.room));
        let mut time = band.start - schedule.warm().cast_signed();
        while time < band.end {
            // Steps end at multiples, so that those of columns begin on lines and at the start of rings.
            time = ((time.div_euclid(step) + 1) * step).min(band.end);
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
                unsafe { self.rows(share, stage, rows, &mut folds[stage]) };
            }
        }
        let states = folds.into_iter().enumerate().flat_map(|(stage, states)| {
            let states = states.into_iter().enumerate();
            states.map(move |(output, state)| (stage, output, state))
        });
        let parts = |(stage, output, state): (usize, usize, Option<FoldState>)| {
            let parts = state?.parts?;
            Some((stage, output, parts.cells))
        };
        states.filter_map(parts).collect()
    }

    /// Runs a stage over some rows, in parts within which every lane goes on evenly.
    ///
    /// # Safety
    /// As for [`Runner::run`].
    unsafe fn rows(
        &mut self,
        share: &Share,
        stage: usize,
        rows: Range<usize>,
        folds: &mut [Option<FoldState>],
    ) {
        let prepared = &self.crew.stages[stage];
        let (worker, nest) = &mut self.stages[stage];
        let axis = prepared.axis;
        let mut row = rows.start;
        while row < rows.end {
            let mut count = rows.end - row;
            for (lane, home) in prepared.homes.iter().enumerate() {
                let step = prepared.setup.nest.axes[axis].steps[lane];
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
            nest.axes[axis].extent = count;
            if !prepared.folds.is_empty() {
                // SAFETY: promised by the caller; the lanes were just set for these rows.
                unsafe { prepared.open_folds(nest, share.number, row, folds) };
            }
            // SAFETY: promised by the caller; the lanes were just set for these rows.
            unsafe { worker.run(nest, 0..count * prepared.row_points, folds) };
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
