//! One launch from start to end.

#![expect(
    unsafe_code,
    reason = "starting values and joined results are written to memory of the launch"
)]

use crate::Isa;
use crate::cell::{self, Cell};
use crate::config::CpuConfig;
use crate::direct;
use crate::exec::{Shared, Worker};
use crate::fold::{self, FoldForm, FoldPlan, FoldState};
use crate::jit::Jit;
use crate::kern::fold_run;
use crate::lower::Facts;
use crate::mxcsr::{self, Saved};
use crate::nest::{Nest, Odometer};
use crate::place::{gather, repeat, scatter};
use crate::pool::Pool;
use crate::programs::{Programs, Ready};
use crate::setup::Setup;
use crate::step::note;
use crate::tasks::{Cut, Joint, Task, Tasks};
use crate::tree::join;
use arrayloom_device::Launch;
use arrayloom_ir::Kernel;
use arrayloom_types::DType;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a launch runs with.
pub(crate) struct Env<'a> {
    pub(crate) config: &'a CpuConfig,
    pub(crate) isa: Isa,
    pub(crate) threads: usize,
    pub(crate) pool: Option<&'a Pool>,
    /// The compiler, if steps are to be compiled.
    pub(crate) jit: Option<&'a Jit>,
    pub(crate) programs: &'a Programs,
}

/// Results that tasks kept to themselves: task, output, value.
type Kept = Mutex<Vec<(usize, usize, Cell)>>;

/// Runs the loops of a launch.
///
/// # Errors
/// What the device lacks.
///
/// # Safety
/// Inputs of the launch may be read; outputs may be written and nobody else uses them; outputs overlap
/// inputs only element by element.
pub(crate) unsafe fn run(
    kernel: &Kernel,
    launch: &Launch<'_>,
    setup: &Setup,
    env: &Env<'_>,
) -> Result<(), String> {
    let mut folds = fold::plan(kernel, launch, setup, env.isa)?;
    // SAFETY: promised by the caller.
    unsafe { start_values(&setup.nest, &folds) };
    let total = setup.nest.len();
    if total == 0 {
        return Ok(());
    }
    let how = (env.isa, env.config.stream_bytes);
    if let Some(direct) = direct::plan(kernel, setup, &folds, how) {
        let kept = setup.nest.kept();
        let _scratch = direct.is_arg().then(|| arg_results(kept.len(), &mut folds));
        let crew = (env.threads, env.pool);
        // SAFETY: promised by the caller.
        unsafe { direct.run(&setup.nest, launch, &folds, crew) };
        if let [Some(fold)] = folds.as_slice()
            && let FoldForm::Arg(arg) = fold.form
        {
            // SAFETY: promised by the caller; all parts are done.
            unsafe { write_positions(&kept, fold.lane, arg.lanes.1, arg.positions) };
        }
        return Ok(());
    }
    let saved = Saved::new();
    let facts = Facts {
        kernel,
        setup,
        loops: &env.config.loops,
        isa: env.isa,
        flags: launch.flags,
        jit: env.jit,
    };
    let ready = env.programs.ready(facts, &folds, env.config)?;
    let cut = Cut {
        nest: &setup.nest,
        span: ready.program.span,
        folds: &folds,
        threads: env.threads,
    };
    let tasks = cut.tasks();
    let results = match tasks.alone {
        Some(_) => tasks.tasks.len(),
        None => setup.nest.kept().len(),
    };
    let _scratch = arg_results(results, &mut folds);
    let kept = Kept::default();
    let crew = Crew {
        kernel,
        setup,
        folds: &folds,
        tasks: &tasks,
        ready: &ready,
        launch,
        isa: env.isa,
        kept: &kept,
        next: AtomicUsize::new(0),
    };
    match env.pool.filter(|_| tasks.tasks.len() > 1) {
        Some(pool) => pool.run(env.threads.min(tasks.tasks.len()), &|_| crew.work()),
        None => crew.work(),
    }
    // SAFETY: promised by the caller; all tasks are done.
    unsafe { finish(&crew) };
    drop(saved);
    Ok(())
}

/// What the workers of a launch share.
struct Crew<'a> {
    kernel: &'a Kernel,
    setup: &'a Setup,
    folds: &'a [Option<FoldPlan>],
    tasks: &'a Tasks,
    ready: &'a Ready,
    launch: &'a Launch<'a>,
    isa: Isa,
    kept: &'a Kept,
    next: AtomicUsize,
}

impl Crew<'_> {
    /// Takes tasks until there are none left.
    fn work(&self) {
        let saved = Saved::new();
        let mut worker = Worker::new(
            Shared {
                program: &self.ready.program,
                uniforms: &self.ready.uniforms,
                flags: self.launch.flags,
                isa: self.isa,
            },
            &self.setup.nest,
        );
        let mut kept = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(task) = self.tasks.tasks.get(number) else {
                break;
            };
            let nest = task.nest.as_ref().unwrap_or(&self.setup.nest);
            let mut states = self.states(nest, task, number);
            // Conditions that preparing has met are none of the program's.
            mxcsr::take();
            // SAFETY: the caller of `run` vouches for the memory; tasks are apart.
            unsafe { worker.run(nest, task.range.clone(), &mut states) };
            if self.tasks.alone.is_some() {
                let cells = states.iter().enumerate();
                kept.extend(cells.filter_map(|(i, s)| s.as_ref().map(|s| (number, i, s.cell))));
            }
        }
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut kept);
        drop(saved);
    }

    fn states(&self, nest: &Nest, task: &Task, number: usize) -> Vec<Option<FoldState>> {
        let alone = self.tasks.alone.map(|_| task.range.len());
        let state = |plan: &Option<FoldPlan>| {
            let mut plan = (*plan)?;
            plan.segment = nest.inner_len(plan.inner);
            if let FoldForm::Arg(arg) = &mut plan.form
                && alone.is_some()
            {
                arg.best = arg.best.wrapping_add(number * arg.size);
                arg.positions = arg.positions.wrapping_add(number);
            }
            Some(FoldState::new(plan, nest, task.range.start, alone))
        };
        self.folds.iter().map(state).collect()
    }
}

/// Writes the starting values of folded outputs.
///
/// # Safety
/// The outputs may be written.
pub(crate) unsafe fn start_values(nest: &Nest, folds: &[Option<FoldPlan>]) {
    let nest = nest.kept();
    for fold in folds.iter().flatten() {
        if matches!(
            fold.form,
            FoldForm::Arg(_) | FoldForm::ScanRow(_) | FoldForm::ScanEach(_)
        ) || nest.len() == 0
        {
            continue;
        }
        let (size, step) = (fold.dtype.size(), nest.step(fold.lane));
        let mut rows = Odometer::at(&nest, fold.lane, 1, 0);
        for _ in 0..nest.len() / nest.row() {
            let out = std::ptr::with_exposed_provenance_mut(rows.value.cast_unsigned());
            let from = fold.initial.bytes.as_ptr();
            // SAFETY: promised by the caller.
            unsafe { repeat(size, from, out, step, nest.row()) };
            rows.next();
        }
    }
}

/// Gives outputs of form `Arg` scratch memory for their results.
fn arg_results(results: usize, folds: &mut [Option<FoldPlan>]) -> Vec<(Vec<[u64; 2]>, Vec<i64>)> {
    let mut scratch = Vec::new();
    for fold in folds.iter_mut().flatten() {
        if let FoldForm::Arg(arg) = &mut fold.form {
            let mut best = vec![[0u64; 2]; (results * arg.size).div_ceil(16)];
            let mut positions = vec![-1i64; results];
            arg.best = best.as_mut_ptr().cast();
            arg.positions = positions.as_mut_ptr();
            scratch.push((best, positions));
        }
    }
    scratch
}

/// Joins the results of tasks and writes what was kept beside the outputs.
///
/// # Safety
/// The outputs may be written; all tasks are done.
unsafe fn finish(crew: &Crew<'_>) {
    let (setup, tasks) = (crew.setup, crew.tasks);
    let mut kept = crew.kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.sort_unstable_by_key(|&(task, output, _)| (output, task));
    mxcsr::take();
    for (output, fold) in crew.folds.iter().enumerate() {
        let Some(fold) = fold else { continue };
        if let FoldForm::Arg(arg) = fold.form {
            if tasks.alone.is_some() {
                // SAFETY: one result for every task, and all tasks are done.
                unsafe { arg.join(tasks.tasks.len()) };
            }
            let positions = arg.positions;
            // SAFETY: promised by the caller.
            unsafe { write_positions(&setup.nest.kept(), fold.lane, arg.lanes.1, positions) };
        } else if let Some(joint) = tasks.alone {
            let cells = kept.iter().filter(|k| k.1 == output);
            let cells: Vec<(usize, Cell)> = cells.map(|k| (k.0, k.2)).collect();
            // SAFETY: promised by the caller.
            unsafe { join_runs(setup, fold, joint, (&tasks.tasks, &cells), crew.isa) };
            if let Some(flags) = crew.launch.flags {
                let ins = crew.kernel.outputs[output].value as usize;
                note(flags, ins, fold.raise(), 0);
            }
        }
    }
}

/// Folds the results of tasks into the output elements, run by run.
///
/// # Safety
/// The output elements may be read and written.
unsafe fn join_runs(
    setup: &Setup,
    fold: &FoldPlan,
    joint: Joint,
    parts: (&[Task], &[(usize, Cell)]),
    isa: Isa,
) {
    let nest = &setup.nest;
    let (mut inner, mut points) = (0, 1);
    while points < joint.run && inner < nest.axes.len() {
        points *= nest.axes[inner].extent;
        inner += 1;
    }
    let mut outs = Odometer::at(nest, fold.lane, inner, 0);
    let (tasks, cells) = parts;
    let mut cells = cells.iter().peekable();
    for run in (0..nest.len()).step_by(joint.run) {
        let out = std::ptr::with_exposed_provenance_mut(outs.value.cast_unsigned());
        if let FoldForm::Tree(_) = fold.form {
            for start in (0..joint.run).step_by(joint.piece) {
                let reals = fold.reals(joint.piece.min(joint.run - start));
                let most = fold.reals(joint.most);
                let mut sums = cells.by_ref().map(|(_, cell)| *cell);
                let sum = match fold.dtype {
                    DType::F64 | DType::C128 => Cell::of(join(
                        reals,
                        most,
                        &mut sums.by_ref().map(|c| c.sum::<f64>()),
                    )),
                    _ => Cell::of(join(
                        reals,
                        most,
                        &mut sums.by_ref().map(|c| c.sum::<f32>()),
                    )),
                };
                // SAFETY: promised by the caller.
                unsafe { cell::add(fold.dtype, out, sum) };
            }
        } else if let Some(kern) = fold_run(fold.op, fold.dtype, isa) {
            let size = fold.dtype.size();
            let mut now = Cell::default();
            let to = now.0.as_mut_ptr();
            // SAFETY: promised by the caller.
            unsafe { gather(size, out, size.cast_signed(), to, 1) };
            let here = |task: usize| tasks[task].range.start < run + joint.run;
            while let Some((_, cell)) = cells.next_if(|(task, _)| here(*task)) {
                let from = cell.0.as_ptr();
                // SAFETY: one value and an accumulator of its dtype, in cells of their own.
                unsafe { kern(from, from, from, to, 1) };
            }
            // SAFETY: promised by the caller.
            unsafe { scatter(size, now.0.as_ptr(), out, size.cast_signed(), 1) };
        }
        outs.next();
    }
}

/// Writes the positions of the best values to the output.
///
/// # Safety
/// The output may be written; `positions` has one for every number.
unsafe fn write_positions(kept: &Nest, lane: usize, number: usize, positions: *const i64) {
    let mut outs = Odometer::at(kept, lane, 0, 0);
    let mut numbers = Odometer::at(kept, number, 0, 0);
    for _ in 0..kept.len() {
        // SAFETY: promised by the caller.
        let position = unsafe { positions.wrapping_offset(numbers.value).read() };
        let out: *mut i64 = std::ptr::with_exposed_provenance_mut(outs.value.cast_unsigned());
        // SAFETY: promised by the caller.
        unsafe { out.write_unaligned(position) };
        outs.next();
        numbers.next();
    }
}
