//! Several launches in one pass over rows.
//!
//! The stages are set up and lowered like single launches, with axis 0 as the outermost loop. Workers
//! take bands of time; `sweep_band` runs one, `sweep_rows` knows where rows lie, `sweep_check` what
//! must hold. A sweep over columns is the same, with the last axis as the innermost loop: a step is a panel of
//! columns.

#![expect(
    unsafe_code,
    reason = "foreign rows are copied from memory that the caller vouches for"
)]

use crate::Isa;
use crate::cell::Cell;
use crate::exec::LINE;
use crate::fold::{self, FoldPlan};
use crate::lower::Facts;
use crate::mxcsr::{self, Saved};
use crate::programs::Ready;
use crate::run::{Env, start_values};
use crate::setup::{Setup, setup_rows};
use crate::step::note;
use crate::sweep_band::{Runner, Share};
use crate::sweep_check::StoreCheck;
use crate::sweep_fold::Whole;
use crate::sweep_rows::Part;
use arrayloom_device::{Arg, Buf, Launch, Rows, Stage, Sweep};
use arrayloom_ir::Form;
use arrayloom_plan::{Ring, Route, Schedule};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Bands for each thread, so that a slow one does not hold up the rest.
const EACH: usize = 3;
/// Rows of a band for each row that it computes for its neighbours.
const WARM: usize = 24;
/// Rows for each thread; with fewer, kernels are better cut along other axes, one by one.
const LEAST_ROWS: usize = 4;
/// Where rings are taken to lie while stages are lowered: apart from one another and from all memory.
const RINGS_AT: u64 = 1 << 56;

/// Where the elements of a lane are found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Home {
    /// At its steps.
    Memory,
    /// In a block whose rows belong to bands; row 0 is this row of it.
    Block { block: usize, row: isize },
    /// In a ring.
    Ring {
        ring: usize,
        row: usize,
        offset: isize,
    },
}

impl Home {
    /// True when no ring holds it, and none of these stages has met its rows a few steps before.
    pub(crate) fn is_new(self, before: &[Prepared<'_>]) -> bool {
        let is_same = |other: &Home| match (self, *other) {
            (Home::Block { block, .. }, Home::Block { block: other, .. }) => block == other,
            _ => false,
        };
        let is_met = || before.iter().flat_map(|stage| &stage.homes).any(is_same);
        !matches!(self, Home::Ring { .. }) && !is_met()
    }
}

/// A stage, ready to run.
pub(crate) struct Prepared<'a> {
    pub(crate) setup: Setup,
    pub(crate) ready: Ready,
    /// For each lane.
    pub(crate) homes: Vec<Home>,
    /// The loop over rows: the outermost one, or the innermost if rows are columns.
    pub(crate) axis: usize,
    /// Points of a row.
    pub(crate) row_points: usize,
    /// For each output, how it folds if it keeps the rows; empty without any fold.
    pub(crate) folds: Vec<Option<FoldPlan>>,
    /// Folds over everything.
    pub(crate) wholes: Vec<Whole>,
    /// The instruction of each output.
    values: Vec<usize>,
    pub(crate) flags: Option<&'a [AtomicU8]>,
}

/// What the workers of a sweep share.
pub(crate) struct Crew<'a> {
    pub(crate) stages: Vec<Prepared<'a>>,
    pub(crate) schedule: &'a Schedule,
    pub(crate) rings: &'a [Ring],
    /// Rows of a stage at a time.
    pub(crate) step: usize,
    /// Rows that rings have room for, besides those of their reach.
    pub(crate) room: usize,
    pub(crate) isa: Isa,
    pub(crate) stores: StoreCheck,
    shares: Vec<Share>,
    next: AtomicUsize,
    /// Results of folds over everything.
    kept: Mutex<Vec<Kept>>,
}

/// Parts of a fold over everything: stage, output, band, and the parts in order.
type Kept = (usize, usize, usize, Vec<Cell>);

/// Runs a sweep; `false` if it is not taken.
///
/// # Errors
/// What the device lacks.
///
/// # Safety
/// Inputs of the stages may be read; outputs may be written and nobody else uses them. The routes say
/// which views meet.
pub(crate) unsafe fn sweep(sweep: &Sweep<'_>, env: &Env<'_>) -> Result<bool, String> {
    let (start, end) = sweep.schedule.time();
    if env.threads > 1 && (end - start).unsigned_abs() < LEAST_ROWS * env.threads {
        return Ok(false);
    }
    let saved = Saved::new();
    let mut stages = Vec::with_capacity(sweep.stages.len());
    for (number, stage) in sweep.stages.iter().enumerate() {
        let Some(prepared) = prepare(sweep, number, stage, env)? else {
            return Ok(false);
        };
        stages.push(prepared);
    }
    let threads = env.threads;
    let bands = bands(sweep, threads);
    for (stage, timing) in stages.iter_mut().zip(&sweep.schedule.stages) {
        let row_points = stage.row_points;
        for whole in &mut stage.wholes {
            whole.cut(timing, &bands, row_points);
        }
    }
    let shares = bands.into_iter().enumerate().map(|(number, band)| {
        let parts = sweep.blocks.iter().zip(&sweep.schedule.blocks);
        // SAFETY: promised by the caller; no worker has started.
        let parts = parts.map(|(block, owner)| unsafe { Part::new(block, owner, &band) });
        Share {
            number,
            band,
            parts: parts.collect(),
        }
    });
    let step = step(sweep, &stages, env);
    let crew = Crew {
        step,
        room: sweep.panel.unwrap_or(step),
        shares: shares.collect(),
        stores: StoreCheck::new(sweep.schedule, stages.iter().map(|s| s.setup.outs.len())),
        stages,
        schedule: sweep.schedule,
        rings: sweep.rings,
        isa: env.isa,
        next: AtomicUsize::new(0),
        kept: Mutex::default(),
    };
    match env.pool.filter(|_| threads > 1) {
        Some(pool) => pool.run(threads, &|_| crew.work()),
        None => crew.work(),
    }
    // SAFETY: promised by the caller; all bands are done.
    unsafe { crew.join() };
    if cfg!(debug_assertions) {
        crew.check();
    }
    drop(saved);
    Ok(true)
}

impl Crew<'_> {
    /// Takes bands until there are none left.
    fn work(&self) {
        let saved = Saved::new();
        let mut runner = Runner::new(self);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(share) = self.shares.get(number) else {
                break;
            };
            // SAFETY: the caller of `sweep` vouches for the memory; every band is taken once.
            let results = unsafe { runner.run(share) };
            let results = results.into_iter();
            let results = results.map(|(stage, output, cells)| (stage, output, number, cells));
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend(results);
        }
        drop(saved);
    }

    /// Writes the results of folds over everything.
    ///
    /// # Safety
    /// Their outputs may be written; all bands are done.
    unsafe fn join(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.sort_unstable_by_key(|&(stage, output, band, _)| (stage, output, band));
        for (number, stage) in self.stages.iter().enumerate() {
            for whole in &stage.wholes {
                let own = kept.iter().filter(|k| (k.0, k.1) == (number, whole.output));
                let cells: Vec<Cell> = own.flat_map(|k| k.3.iter().copied()).collect();
                let lane = stage.setup.outs[whole.output];
                let out = stage.setup.nest.bases[lane].cast_unsigned();
                let out = std::ptr::with_exposed_provenance_mut(out);
                let mut plans = vec![None; whole.output + 1];
                plans[whole.output] = Some(whole.plan);
                // SAFETY: promised by the caller.
                unsafe { start_values(&stage.setup.nest, &plans) };
                mxcsr::take();
                // SAFETY: promised by the caller; the element has its starting value.
                unsafe { whole.join(out, &cells, self.isa) };
                if let Some(flags) = stage.flags {
                    note(flags, stage.values[whole.output], whole.plan.raise(), 0);
                }
            }
        }
    }

    fn check(&self) {
        for (number, stage) in self.stages.iter().enumerate() {
            for (output, &lane) in stage.setup.outs.iter().enumerate() {
                if let Home::Block { .. } = stage.homes[lane] {
                    self.stores.all_stored(number, output);
                }
            }
        }
    }
}

/// Lowers a stage. `None` if axis 0 cannot be its outermost loop.
fn prepare<'a>(
    sweep: &Sweep<'_>,
    number: usize,
    stage: &Stage<'a>,
    env: &Env<'_>,
) -> Result<Option<Prepared<'a>>, String> {
    let (ins, outs) = (
        placed(stage.launch.ins, stage.ins),
        placed(stage.launch.outs, stage.outs),
    );
    let launch = Launch {
        shape: stage.launch.shape,
        outs: &outs,
        ins: &ins,
        reduces: stage.launch.reduces,
        flags: stage.launch.flags,
    };
    if stage.launch.shape.is_empty() {
        return Ok(None);
    }
    let rows = match sweep.panel {
        Some(_) => stage.launch.shape.len() - 1,
        None => 0,
    };
    let mut setup = setup_rows(stage.kernel, &launch, rows)?;
    let axis = match sweep.panel {
        Some(_) => 0,
        None => setup.nest.axes.len() - 1,
    };
    let by_row = setup
        .rows
        .is_some_and(|lane| setup.nest.axes[axis].steps[lane] == 1);
    if !by_row {
        return Ok(None);
    }
    for (output, route) in stage.outs.iter().enumerate() {
        setup.cached[output] = is_read_again(sweep, number, route);
    }
    let homes = homes(&setup, stage);
    let mut folds = fold::plan(stage.kernel, &launch, &setup, env.isa)?;
    let facts = Facts {
        kernel: stage.kernel,
        setup: &setup,
        loops: &env.config.loops,
        isa: env.isa,
        flags: stage.launch.flags,
        jit: env.jit,
    };
    let ready = env.programs.ready(facts, &folds, env.config)?;
    let Some(wholes) = wholes(stage, &mut folds, (setup.nest.len(), rows)) else {
        return Ok(None);
    };
    if folds.iter().all(Option::is_none) && wholes.is_empty() {
        folds.clear();
    }
    let values = stage.kernel.outputs.iter().map(|o| o.value as usize);
    Ok(Some(Prepared {
        folds,
        wholes,
        values: values.collect(),
        row_points: setup.nest.len() / setup.nest.axes[axis].extent.max(1),
        axis,
        ready,
        homes,
        flags: stage.launch.flags,
        setup,
    }))
}

/// Takes out the folds over everything. `None` if there is a fold that a sweep cannot do.
fn wholes(
    stage: &Stage<'_>,
    folds: &mut [Option<FoldPlan>],
    (total, rows): (usize, usize),
) -> Option<Vec<Whole>> {
    let all = (1 << stage.launch.shape.len()) - 1;
    let mut wholes = Vec::new();
    for (output, fold) in folds.iter_mut().enumerate() {
        match stage.kernel.outputs[output].form {
            Form::Store => {}
            Form::Reduce { axes, .. } if axes >> rows & 1 == 0 => {}
            Form::Reduce { axes, .. } if axes == all => {
                wholes.push(Whole::new(output, fold.take()?, total)?);
            }
            _ => return None,
        }
    }
    Some(wholes)
}

/// The arguments with rings at places of their own.
fn placed(args: &[Arg], routes: &[Route]) -> Vec<Arg> {
    let place = |(arg, route): (&Arg, &Route)| match route {
        Route::Ring {
            ring,
            offset,
            strides,
            ..
        } => Arg::View {
            buf: Buf(RINGS_AT + ((*ring as u64) << 44)),
            offset: *offset,
            strides: strides.clone(),
        },
        _ => arg.clone(),
    };
    args.iter().zip(routes).map(place).collect()
}

/// True for a ring, and for a block that another stage touches.
fn is_read_again(sweep: &Sweep<'_>, stage: usize, route: &Route) -> bool {
    let Route::Block { block, .. } = route else {
        return true;
    };
    let same = |route: &Route| matches!(route, Route::Block { block: other, .. } if other == block);
    let others = sweep.stages.iter().enumerate().filter(|(n, _)| *n != stage);
    others
        .flat_map(|(_, other)| other.ins.iter().chain(other.outs))
        .any(same)
}

fn homes(setup: &Setup, stage: &Stage<'_>) -> Vec<Home> {
    let mut homes = vec![Home::Memory; setup.nest.bases.len()];
    let home = |route: &Route| match *route {
        Route::Direct => Home::Memory,
        Route::Block { block, row } => Home::Block { block, row },
        Route::Ring {
            ring, row, offset, ..
        } => Home::Ring { ring, row, offset },
    };
    for (source, route) in setup.sources.iter().zip(stage.ins) {
        if let Some(lane) = source.lane() {
            homes[lane] = home(route);
        }
    }
    for (&lane, route) in setup.outs.iter().zip(stage.outs) {
        homes[lane] = home(route);
    }
    homes
}

/// The bands: some for each thread.
fn bands(sweep: &Sweep<'_>, threads: usize) -> Vec<arrayloom_plan::Band> {
    if threads == 1 {
        return sweep.schedule.bands(1);
    }
    let (start, end) = sweep.schedule.time();
    let most = (end - start).unsigned_abs() / (WARM * sweep.schedule.warm()).max(1);
    sweep
        .schedule
        .bands((threads * EACH).min(most).max(threads))
}

/// As many rows at a time as leave all rows of a step in the cache.
fn step(sweep: &Sweep<'_>, stages: &[Prepared<'_>], env: &Env<'_>) -> usize {
    if let Some(rows) = env.config.sweep_rows.or(sweep.panel) {
        return rows.clamp(1, sweep.panel.unwrap_or(rows).max(1));
    }
    // A point of a strided row takes a line of the cache at most.
    let lanes = |stage: &Prepared<'_>| -> usize {
        let memory = (0..).zip(&stage.homes);
        let memory = memory.filter(|(_, home)| !matches!(home, Home::Ring { .. }));
        let bytes = memory.map(|(lane, _)| stage.setup.nest.step(lane).unsigned_abs().min(LINE));
        bytes.sum::<usize>() * stage.row_points
    };
    let rings: usize = sweep.rings.iter().map(|r| r.pitch).sum();
    let row = rings + stages.iter().map(lanes).max().unwrap_or(0);
    let held: usize = sweep.rings.iter().map(|r| r.pitch * r.reach).sum();
    (env.config.sweep_bytes.saturating_sub(held) / row.max(1)).clamp(1, 4096)
}

/// True when the parts of a sweep fit together.
pub(crate) fn is_whole(sweep: &Sweep<'_>) -> bool {
    let fits = |stage: &Stage<'_>| {
        stage.launch.fits(stage.kernel)
            && stage.ins.len() == stage.launch.ins.len()
            && stage.outs.len() == stage.launch.outs.len()
    };
    let known = |block: &Rows| block.pitch > 0 && block.columns.0 <= block.columns.1;
    sweep.stages.iter().all(fits)
        && sweep.panel != Some(0)
        && sweep.blocks.iter().all(known)
        && sweep.schedule.stages.len() == sweep.stages.len()
        && sweep.schedule.blocks.len() == sweep.blocks.len()
}
