//! Running an expression: plan, read, compute, write, and what to do when memory runs out.
//!
//! Reading, computing and writing go on at the same time in three threads, with one block between two of
//! them. If memory runs out, the blocks that are done stay, the budget is halved and the rest is planned
//! anew, down to blocks of one voxel.

use crate::VolumeError;
use crate::abroad::machine::{Abroad, Coming, Lanes, TURNS};
use crate::block::{Block, copy_box, region_bytes};
use crate::expr::{Expr, Node};
use crate::memory::Meter;
use crate::options::{Options, Progress, Report, Target, Worker, WorkerDevice};
use crate::queue::Queue;
use crate::reader::{Reader, Staged};
use crate::separable::Ctx;
use crate::state::Machine;
use crate::wholes::Wholes;
use arrayloom_plan::{Buffers, Infeasible, Plan, Problem, Value, operand_box, plan, plan_fastest};
use arrayloom_types::Region;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

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
    let problem = problem(values, region, budget, align);
    plan_fastest(&problem, &[Buffers::ONE_BY_ONE]).map_err(too_small)
}

fn problem<'v>(values: &'v [Value], region: &Region, budget: u64, align: &[i64]) -> Problem<'v> {
    Problem {
        values,
        write: region.clone(),
        budget,
        align: align.into(),
        uncut: Vec::new(),
        buffers: Buffers::OVERLAPPED,
        sweep: true,
    }
}

fn too_small(Infeasible { least, budget, .. }: Infeasible) -> VolumeError {
    VolumeError::TooSmall { least, budget }
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
    let alone = [Worker {
        budget: options.budget,
        threads: options.threads,
        meter: options.meter.clone(),
        device: None,
    }];
    let workers = if options.workers.is_empty() {
        &alone[..]
    } else {
        &options.workers
    };
    let mut rest = vec![whole.clone()];
    let mut voxels = 0;
    for done in &options.done {
        voxels += done.voxels();
        rest = rest.iter().flat_map(|r| r.minus(done)).collect();
    }
    rest.retain(|r| !r.is_empty());
    let shared = Shared {
        target: Mutex::new(match target {
            Target::Sink(sink) => Target::Sink(*sink),
            Target::Memory(out) => Target::Memory(out),
        }),
        written: AtomicU64::new(voxels),
        stop: AtomicBool::new(false),
        total: whole.voxels(),
        queue: Queue::new(rest.clone(), workers.len(), &options.align),
    };
    let jobs: Vec<Job<'_, '_>> = workers
        .iter()
        .map(|worker| Job::new(expr, options, worker, &shared))
        .collect();
    let here = workers.iter().all(|w| w.device.is_none());
    if here && rest == [whole] && jobs[0].in_one_piece()? {
        return Ok(Report {
            blocks: 1,
            peak: jobs[0].ctx.meter.peak(),
            ..Report::default()
        });
    }
    let reports = match &jobs[..] {
        [only] => vec![only.parts()],
        several => std::thread::scope(|scope| {
            let started: Vec<_> = several.iter().map(|j| scope.spawn(|| j.parts())).collect();
            let joined = started.into_iter().map(|t| {
                t.join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        }),
    };
    merged(reports, &shared)
}

/// The reports of all workers as one; or the error that stopped them.
fn merged(
    reports: Vec<Result<Report, VolumeError>>,
    shared: &Shared<'_>,
) -> Result<Report, VolumeError> {
    let mut all = Report::default();
    let mut errors = Vec::new();
    for report in reports {
        match report {
            Ok(one) => {
                all.blocks += one.blocks;
                all.peak += one.peak;
                all.planned_peak += one.planned_peak;
                all.halved += one.halved;
                all.read_bytes += one.read_bytes;
                all.again += one.again;
                all.abroad += one.abroad;
                for (name, blocks) in one.left {
                    *all.left.entry(name).or_default() += blocks;
                }
            }
            Err(error) => errors.push(error),
        }
    }
    // Workers that were stopped say so; the reason comes first. One whose budget was too small for any
    // block is no failure if the others did its work.
    let small = |e: &VolumeError| matches!(e, VolumeError::TooSmall { .. });
    let stopped = |e: &VolumeError| matches!(e, VolumeError::Cancelled { .. });
    errors.sort_by_key(|e| (small(e), stopped(e)));
    match errors.into_iter().next() {
        Some(error) if !small(&error) || !shared.queue.is_done() => Err(error),
        _ => Ok(all),
    }
}

/// What the workers of a run share.
struct Shared<'t> {
    target: Mutex<Target<'t>>,
    written: AtomicU64,
    /// Set by the first error.
    stop: AtomicBool,
    total: u64,
    queue: Queue,
}

struct Job<'a, 't> {
    expr: &'a Expr,
    values: Vec<Value>,
    ctx: Ctx,
    options: &'a Options<'a>,
    shared: &'a Shared<'t>,
    budget: u64,
    lanes: Option<Lanes>,
}

/// What one block may take of each memory, with a device: blocks in turn there, and here what is read, those on
/// their way back, and the one that is written.
fn budget_of_block(worker: &Worker, device: &WorkerDevice) -> u64 {
    (device.meter.limit() / TURNS).min(worker.budget / (TURNS + 2))
}

impl<'a, 't> Job<'a, 't> {
    fn new(
        expr: &'a Expr,
        options: &'a Options<'a>,
        worker: &Worker,
        shared: &'a Shared<'t>,
    ) -> Job<'a, 't> {
        let meter = worker.meter.clone();
        let threads = worker.threads.max(1);
        let device = worker.device.as_ref();
        Job {
            expr,
            values: match device {
                Some(_) => expr.values_on_device(threads),
                None => expr.values(threads),
            },
            lanes: device.map(|d| Lanes::new(&d.device, d.queue, &d.meter)),
            ctx: Ctx {
                threads,
                meter: meter.unwrap_or_else(|| Meter::new(worker.budget)),
            },
            options,
            shared,
            budget: device.map_or(worker.budget, |d| budget_of_block(worker, d)),
        }
    }

    /// Takes parts of the work until there are no more.
    fn parts(&self) -> Result<Report, VolumeError> {
        let mut report = Report::default();
        let mut budget = self.budget;
        while let Some(region) = self.shared.queue.take() {
            let done = self.part(&region, &mut budget, &mut report);
            if let Err(error) = &done {
                let small = matches!(error, VolumeError::TooSmall { .. });
                self.shared.stop.fetch_or(!small, Relaxed);
                self.shared.queue.leave(small.then_some(region), !small);
            }
            done?;
        }
        report.peak = self.ctx.meter.peak();
        Ok(report)
    }

    /// One part. If memory runs out, what is left of it goes back to the queue.
    fn part(
        &self,
        region: &Region,
        budget: &mut u64,
        report: &mut Report,
    ) -> Result<(), VolumeError> {
        let plan = match self.plan(region, *budget) {
            Err(VolumeError::TooSmall { least, .. })
                if least <= self.budget && report.halved > 0 =>
            {
                *budget = least;
                self.plan(region, least)?
            }
            other => other?,
        };
        report.planned_peak = report.planned_peak.max(plan.peak);
        let (done, result) = match &self.lanes {
            Some(lanes) => self.on_device(&plan, lanes, report),
            None => self.blocks(&plan),
        };
        report.blocks += done;
        report.read_bytes += plan.read_bytes * u128::from(done) / u128::from(plan.len().max(1));
        match result {
            Ok(()) => self.shared.queue.give(Vec::new()),
            Err(error) if error.is_memory() && report.halved < 40 => {
                report.halved += 1;
                report.again += plan.core(done.min(plan.len() - 1)).voxels();
                *budget = (*budget / 2).max(1);
                self.shared.queue.give(plan.rest(done));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Plans a part. Blocks on a device keep nothing for one another.
    fn plan(&self, region: &Region, budget: u64) -> Result<Plan, VolumeError> {
        if self.lanes.is_some() {
            let whole = problem(&self.values, region, budget, &self.options.align);
            let (buffers, sweep) = (Buffers::ONE_BY_ONE, false);
            return plan(&Problem {
                buffers,
                sweep,
                ..whole
            })
            .map_err(too_small);
        }
        plan_for(&self.values, region, budget, &self.options.align)
    }

    /// Operations on arrays in memory, one after the other, if all that they make fits: no block is cut, and nothing
    /// is copied.
    fn in_one_piece(&self) -> Result<bool, VolumeError> {
        let mut target = self.target();
        let Target::Memory(out) = &mut *target else {
            return Ok(false);
        };
        let Some(mut wholes) = Wholes::new(self.expr, self.ctx.threads, self.budget) else {
            return Ok(false);
        };
        let last = self.expr.nodes().len() - 1;
        let exact = |v: usize| match &self.expr.nodes()[v] {
            Node::Apply(op, _) => !op.takes_exactly() || self.reads_everything(v),
            Node::Source(_) => v != last,
        };
        if !(0..=last).all(exact) {
            return Ok(false);
        }
        let ask = || {
            if self.stopped() {
                return Err(VolumeError::Cancelled { done: 0, blocks: 1 });
            }
            Ok(())
        };
        for v in 0..last {
            match wholes.make(&self.ctx, v, &ask) {
                Err(error) if error.is_memory() => return Ok(false),
                done => done?,
            }
            ask()?;
        }
        match wholes.apply(&self.ctx, last, out, &ask) {
            Err(error) if error.is_memory() => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// True if the caller wants no more, asked before the result is there.
    fn stopped(&self) -> bool {
        let progress = Progress {
            voxels: 0,
            total: self.shared.total,
            used: self.ctx.meter.used(),
        };
        self.options.watch.is_some_and(|watch| !watch(progress))
    }

    /// True if value `v` needs all of its operands.
    fn reads_everything(&self, v: usize) -> bool {
        let all = Region::whole(self.expr.shape(v));
        self.values[v].operands.iter().all(|operand| {
            let shape = self.expr.shape(operand.value);
            let read = operand_box(operand, (shape, self.expr.shape(v)), &all);
            read == Region::whole(shape)
        })
    }

    fn target(&self) -> MutexGuard<'_, Target<'t>> {
        let target = self.shared.target.lock();
        target.unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, plan: &Plan, i: u64, block: &Block) -> Result<(), VolumeError> {
        let core = plan.core(i);
        let mut target = self.target();
        if self.shared.stop.load(Relaxed) {
            return Err(VolumeError::Cancelled {
                done: i,
                blocks: plan.len(),
            });
        }
        match &mut *target {
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
        drop(target);
        let voxels = self.shared.written.fetch_add(core.voxels(), Relaxed) + core.voxels();
        let progress = Progress {
            voxels,
            total: self.shared.total,
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
    fn blocks(&self, plan: &Plan) -> (u64, Result<(), VolumeError>) {
        if plan.is_empty() {
            return (plan.len(), Ok(()));
        }
        if plan.buffers == Buffers::ONE_BY_ONE || plan.len() == 1 {
            return self.one_by_one(plan);
        }
        self.overlapped(plan)
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

    fn one_by_one(&self, plan: &Plan) -> (u64, Result<(), VolumeError>) {
        let mut reader = Reader::new(self.expr, &self.values, plan);
        let mut machine = Machine::new(self.expr, &self.values, plan);
        for i in 0..plan.len() {
            let done = reader
                .rounds(i)
                .iter()
                .try_for_each(|round| reader.read_in_place(&self.ctx, round, &mut machine))
                .and_then(|()| machine.compute(&self.ctx, i))
                .and_then(|block| self.write(plan, i, &block));
            if let Err(error) = done {
                let written = u64::from(matches!(error, VolumeError::Cancelled { .. }));
                return (i + written, Err(Self::named(plan, i)(error)));
            }
        }
        (plan.len(), Ok(()))
    }

    fn overlapped(&self, plan: &Plan) -> (u64, Result<(), VolumeError>) {
        self.with_threads(plan, |staged, go, blocks| {
            self.compute_all(plan, staged, go, blocks)
        })
    }

    /// The blocks of a plan on a device.
    fn on_device(
        &self,
        plan: &Plan,
        lanes: &Lanes,
        report: &mut Report,
    ) -> (u64, Result<(), VolumeError>) {
        if plan.is_empty() {
            return (plan.len(), Ok(()));
        }
        let mut abroad = Abroad::new(self.expr, &self.values, plan, lanes);
        let done = self.with_threads(plan, |staged, go, blocks| {
            self.compute_abroad(plan, &mut abroad, (staged, go, blocks))
        });
        report.abroad += done.0;
        for (name, blocks) in abroad.left {
            *report.left.entry(name).or_default() += blocks;
        }
        lanes.trim();
        done
    }

    /// Runs `compute` between a thread that reads and this one, which writes.
    fn with_threads(
        &self,
        plan: &Plan,
        compute: impl FnOnce(
            &Receiver<Result<Staged, VolumeError>>,
            &SyncSender<()>,
            &SyncSender<Block>,
        ) -> Result<(), VolumeError>
        + Send,
    ) -> (u64, Result<(), VolumeError>) {
        let (staged_in, staged_out) = sync_channel::<Result<Staged, VolumeError>>(0);
        let (go_in, go_out) = sync_channel::<()>(1);
        let (block_in, block_out) = sync_channel::<Block>(0);
        std::thread::scope(|scope| {
            scope.spawn(move || self.read_all(plan, &go_out, &staged_in));
            let computing = scope.spawn(move || compute(&staged_out, &go_in, &block_in));
            let mut written = 0;
            let mut result = Ok(());
            while let Ok(block) = block_out.recv() {
                let done = self.write(plan, written, &block);
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

    /// The thread that has a device compute: while one block is on its way back, the next one is put in.
    fn compute_abroad(
        &self,
        plan: &Plan,
        abroad: &mut Abroad<'_>,
        (staged, go, blocks): (
            &Receiver<Result<Staged, VolumeError>>,
            &SyncSender<()>,
            &SyncSender<Block>,
        ),
    ) -> Result<(), VolumeError> {
        // The reader may be gone after the last block.
        let _ = go.send(());
        let mut before: Option<(u64, Coming<'_>)> = None;
        for i in 0..plan.len() {
            let Ok(read) = staged.recv() else {
                return Ok(());
            };
            let _ = go.send(());
            let put_in = read.and_then(|read| abroad.compute(&self.ctx, i, read));
            // What was put in earlier counts, whatever became of this one.
            if let Some((i, coming)) = before.take() {
                let came = coming.wait().map_err(Self::named(plan, i))?;
                if came.is_some_and(|block| blocks.send(block).is_err()) {
                    return Ok(());
                }
            }
            before = Some((i, put_in.map_err(Self::named(plan, i))?));
        }
        if let Some((i, coming)) = before {
            let came = coming.wait().map_err(Self::named(plan, i))?;
            if came.is_some_and(|block| blocks.send(block).is_err()) {
                // Nobody writes any more after an error.
                return Ok(());
            }
        }
        Ok(())
    }

    /// The thread that reads: one round each time it is told to go on.
    fn read_all(
        &self,
        plan: &Plan,
        go: &Receiver<()>,
        staged: &SyncSender<Result<Staged, VolumeError>>,
    ) {
        let mut reader = Reader::new(self.expr, &self.values, plan);
        for i in 0..plan.len() {
            for round in reader.rounds(i) {
                if go.recv().is_err() {
                    return;
                }
                let read = reader.read(&self.ctx, &round);
                let failed = read.is_err();
                if staged.send(read).is_err() || failed {
                    return;
                }
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
            let mut absorbed = Ok(());
            let mut last = false;
            while !last && absorbed.is_ok() {
                let Ok(read) = staged.recv() else {
                    return Ok(());
                };
                absorbed = read.and_then(|read| {
                    last = read.last;
                    machine.absorb(&self.ctx, read)
                });
                let _ = go.send(());
            }
            let block = absorbed.and_then(|()| machine.compute(&self.ctx, i));
            let block = block.map_err(Self::named(plan, i))?;
            if blocks.send(block).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}
