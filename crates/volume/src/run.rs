//! Running an expression: plan, read, compute, write, and what to do when memory runs out.
//!
//! Reading, computing and writing go on at the same time in three threads, with one block between two of
//! them. If memory runs out, the blocks that are done stay, the budget is halved and the rest is planned
//! anew, down to blocks of one voxel.

use crate::VolumeError;
use crate::block::{Block, View, ViewMut, copy_box, region_bytes};
use crate::expr::{Expr, Node, Sink};
use crate::memory::Meter;
use crate::separable::Ctx;
use crate::state::{Machine, Reader, Staged};
use arrayloom_plan::{Buffers, Infeasible, Plan, Problem, Value, plan};
use arrayloom_types::{Coords, Region};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Voxels of the result that are written.
    pub voxels: u64,
    /// All voxels of the result.
    pub total: u64,
    /// Bytes in use.
    pub used: u64,
}

/// Called after each block; returns false to stop.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> bool + Sync);

/// Called with the core of a block; an error stops the run.
pub type Written<'a> = &'a (dyn Fn(&Region) -> Result<(), String> + Sync);

/// How an expression is run.
#[derive(Clone)]
pub struct Options<'a> {
    /// Most bytes in use at a time.
    pub budget: u64,
    /// Threads that compute.
    pub threads: usize,
    /// Voxels along each axis that the sink writes together; one everywhere if it takes any box.
    pub align: Coords,
    /// Boxes that are written already, and stay.
    pub done: Vec<Region>,
    /// Called after each block.
    pub watch: Option<Watch<'a>>,
    /// Called with the core of a block when the sink has it.
    pub written: Option<Written<'a>>,
    /// The budget itself, for tests that inject failures.
    pub meter: Option<Arc<Meter>>,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Blocks that were written.
    pub blocks: u64,
    /// Most bytes that were in use.
    pub peak: u64,
    /// Bytes that the plans promised at most.
    pub planned_peak: u64,
    /// How often the budget was halved.
    pub halved: u32,
    /// Bytes read of all sources.
    pub read_bytes: u128,
    /// Voxels that were computed and then computed again.
    pub again: u64,
}

/// Plans `region` of the result of `expr`.
///
/// # Errors
/// [`VolumeError::TooSmall`] if nothing fits.
pub fn plan_for(
    values: &[Value],
    region: &Region,
    budget: u64,
    align: &[i64],
) -> Result<Plan, VolumeError> {
    let mut problem = Problem {
        values,
        write: region.clone(),
        budget,
        align: align.into(),
        uncut: Vec::new(),
        buffers: Buffers::OVERLAPPED,
        sweep: true,
    };
    let overlapped = plan(&problem);
    problem.buffers = Buffers::ONE_BY_ONE;
    let single = plan(&problem);
    match (overlapped, single) {
        (Ok(a), Ok(b)) => Ok(if a.seconds <= b.seconds { a } else { b }),
        (Ok(a), Err(_)) | (Err(_), Ok(a)) => Ok(a),
        (Err(_), Err(Infeasible { least, budget, .. })) => {
            Err(VolumeError::TooSmall { least, budget })
        }
    }
}

/// Where a result goes.
pub enum Target<'a> {
    /// A sink.
    Sink(&'a dyn Sink),
    /// The whole result in memory, in C order.
    Memory(&'a mut [u8]),
}

/// Computes the result of `expr` into `target`.
///
/// # Errors
/// The first error, with its block; [`VolumeError::TooSmall`] before anything runs if no block fits.
pub fn run(
    expr: &Expr,
    target: &mut Target<'_>,
    options: &Options<'_>,
) -> Result<Report, VolumeError> {
    let Some(last) = expr.nodes().len().checked_sub(1) else {
        return Ok(Report::default());
    };
    let whole = Region::whole(expr.shape(last));
    let meter = options
        .meter
        .clone()
        .unwrap_or_else(|| Meter::new(options.budget));
    let job = Job {
        expr,
        values: expr.values(options.threads),
        ctx: Ctx {
            threads: options.threads.max(1),
            meter,
        },
        options,
        total: whole.voxels(),
        written: AtomicU64::new(0),
    };
    let mut report = Report::default();
    let mut rest = vec![whole.clone()];
    for done in &options.done {
        job.written.fetch_add(done.voxels(), Relaxed);
        rest = rest.iter().flat_map(|r| r.minus(done)).collect();
    }
    rest.retain(|r| !r.is_empty());
    if rest == [whole] && job.in_one_piece(target)? {
        report.blocks = 1;
        report.peak = job.ctx.meter.peak();
        return Ok(report);
    }
    let mut budget = options.budget;
    while let Some(region) = rest.pop() {
        let plan = match plan_for(&job.values, &region, budget, &options.align) {
            Ok(plan) => plan,
            Err(VolumeError::TooSmall { least, .. })
                if least <= options.budget && report.halved > 0 =>
            {
                budget = least;
                rest.push(region);
                continue;
            }
            Err(error) => return Err(error),
        };
        report.planned_peak = report.planned_peak.max(plan.peak);
        let (done, result) = job.blocks(&plan, target);
        report.blocks += done;
        report.read_bytes += plan.read_bytes * u128::from(done) / u128::from(plan.len().max(1));
        match result {
            Ok(()) => {}
            Err(error) if error.is_memory() && report.halved < 40 => {
                report.halved += 1;
                report.again += plan.core(done.min(plan.len() - 1)).voxels();
                budget = (budget / 2).max(1);
                rest.extend(plan.rest(done));
            }
            Err(error) => return Err(error),
        }
    }
    report.peak = job.ctx.meter.peak();
    Ok(report)
}

struct Job<'a> {
    expr: &'a Expr,
    values: Vec<Value>,
    ctx: Ctx,
    options: &'a Options<'a>,
    total: u64,
    written: AtomicU64,
}

impl Job<'_> {
    /// One operation on arrays in memory, if its working memory fits: no copy of anything.
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "the memory of the target is written"
    )]
    fn in_one_piece(&self, target: &mut Target<'_>) -> Result<bool, VolumeError> {
        let (Target::Memory(out), Some(Node::Apply(op, inputs))) =
            (target, self.expr.nodes().last())
        else {
            return Ok(false);
        };
        let last = self.expr.nodes().len() - 1;
        let shape = self.expr.shape(last);
        let mut sources = Vec::new();
        for &input in inputs {
            let Node::Source(source) = &self.expr.nodes()[input] else {
                return Ok(false);
            };
            let Some(data) = source.in_memory() else {
                return Ok(false);
            };
            sources.push((input, data, Region::whole(self.expr.shape(input))));
        }
        if op.scratch(shape, self.ctx.threads) > self.options.budget {
            return Ok(false);
        }
        let views: Vec<View<'_>> = sources
            .iter()
            .map(|(v, data, region)| View {
                region,
                shape: self.expr.shape(*v),
                dtype: self.expr.dtype(*v),
                data,
            })
            .collect();
        let region = Region::whole(shape);
        let view = ViewMut {
            region: &region,
            dtype: op.dtype(),
            data: out,
        };
        match op.run(&self.ctx.for_voxels(region.voxels()), &views, view) {
            Ok(()) => Ok(true),
            Err(error) if error.is_memory() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn write(
        &self,
        plan: &Plan,
        i: u64,
        block: &Block,
        target: &mut Target<'_>,
    ) -> Result<(), VolumeError> {
        let core = plan.core(i);
        match target {
            Target::Sink(sink) => {
                let failed = |message| VolumeError::Write {
                    region: core.clone(),
                    message,
                };
                sink.write(&core, block.data()).map_err(failed)?;
            }
            Target::Memory(out) => {
                let whole = Region::whole(self.expr.shape(self.values.len() - 1));
                debug_assert_eq!(
                    out.len(),
                    region_bytes(&whole, block.dtype),
                    "the whole result"
                );
                copy_box(
                    (&core, block.data()),
                    (&whole, out),
                    &core,
                    block.dtype.size(),
                );
            }
        }
        if let Some(written) = self.options.written {
            written(&core).map_err(|message| VolumeError::Write {
                region: core.clone(),
                message,
            })?;
        }
        let voxels = self.written.fetch_add(core.voxels(), Relaxed) + core.voxels();
        let progress = Progress {
            voxels,
            total: self.total,
            used: self.ctx.meter.used(),
        };
        match self.options.watch {
            Some(watch) if !watch(progress) => Err(VolumeError::Cancelled {
                done: i + 1,
                blocks: plan.len(),
            }),
            _ => Ok(()),
        }
    }

    /// Runs the blocks of a plan; how many were written, and the first error.
    fn blocks(&self, plan: &Plan, target: &mut Target<'_>) -> (u64, Result<(), VolumeError>) {
        if plan.is_empty() {
            return (plan.len(), Ok(()));
        }
        if plan.buffers == Buffers::ONE_BY_ONE || plan.len() == 1 {
            return self.one_by_one(plan, target);
        }
        self.overlapped(plan, target)
    }

    fn named(plan: &Plan, index: u64) -> impl Fn(VolumeError) -> VolumeError {
        let region = plan.core(index);
        move |source| match source {
            VolumeError::Cancelled { .. } => source,
            source => VolumeError::Block {
                index,
                region: region.clone(),
                source: Box::new(source),
            },
        }
    }

    fn one_by_one(&self, plan: &Plan, target: &mut Target<'_>) -> (u64, Result<(), VolumeError>) {
        let mut reader = Reader::new(self.expr, &self.values, plan);
        let mut machine = Machine::new(self.expr, &self.values, plan);
        for i in 0..plan.len() {
            let done = reader
                .read(&self.ctx, i)
                .and_then(|staged| machine.absorb(&self.ctx, staged))
                .and_then(|()| machine.compute(&self.ctx, i))
                .and_then(|block| self.write(plan, i, &block, target));
            if let Err(error) = done {
                let written = u64::from(matches!(error, VolumeError::Cancelled { .. }));
                return (i + written, Err(Self::named(plan, i)(error)));
            }
        }
        (plan.len(), Ok(()))
    }

    fn overlapped(&self, plan: &Plan, target: &mut Target<'_>) -> (u64, Result<(), VolumeError>) {
        let (staged_in, staged_out) = sync_channel::<Result<Staged, VolumeError>>(0);
        let (go_in, go_out) = sync_channel::<()>(1);
        let (block_in, block_out) = sync_channel::<Block>(0);
        std::thread::scope(|scope| {
            scope.spawn(move || self.read_all(plan, &go_out, &staged_in));
            let computing =
                scope.spawn(move || self.compute_all(plan, &staged_out, &go_in, &block_in));
            let mut written = 0;
            let mut result = Ok(());
            while let Ok(block) = block_out.recv() {
                let done = self.write(plan, written, &block, target);
                written += u64::from(!matches!(done, Err(VolumeError::Write { .. })));
                if let Err(error) = done {
                    result = Err(Self::named(plan, written)(error));
                    break;
                }
            }
            drop(block_out);
            let computed = computing
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (written, result.and(computed))
        })
    }

    /// The thread that reads: one block each time it is told to go on.
    fn read_all(
        &self,
        plan: &Plan,
        go: &Receiver<()>,
        staged: &SyncSender<Result<Staged, VolumeError>>,
    ) {
        let mut reader = Reader::new(self.expr, &self.values, plan);
        for i in 0..plan.len() {
            if go.recv().is_err() {
                return;
            }
            let read = reader.read(&self.ctx, i);
            let failed = read.is_err();
            if staged.send(read).is_err() || failed {
                return;
            }
        }
    }

    /// The thread that computes; the next block is read as soon as this one is taken in.
    fn compute_all(
        &self,
        plan: &Plan,
        staged: &Receiver<Result<Staged, VolumeError>>,
        go: &SyncSender<()>,
        blocks: &SyncSender<Block>,
    ) -> Result<(), VolumeError> {
        let mut machine = Machine::new(self.expr, &self.values, plan);
        // The reader may be gone after the last block.
        let _ = go.send(());
        for i in 0..plan.len() {
            let Ok(read) = staged.recv() else {
                return Ok(());
            };
            let absorbed = read.and_then(|read| machine.absorb(&self.ctx, read));
            let _ = go.send(());
            let block = absorbed.and_then(|()| machine.compute(&self.ctx, i));
            let block = block.map_err(Self::named(plan, i))?;
            if blocks.send(block).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}
