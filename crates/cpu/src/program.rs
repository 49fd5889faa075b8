//! The program of a tile: lowered steps with buffers in place of values.
//!
//! Values get buffers by linear scan over the steps, so few buffers are live and all of them fit the
//! level-1 cache. A value that is stored to contiguous memory is computed there.

use crate::Isa;
use crate::cell::Cell;
use crate::config::CpuConfig;
use crate::fold::{FoldForm, FoldPlan};
use crate::jit::{Cutter, Segment, cut};
use crate::join::join;
use crate::lower::{Facts, Lower, in_place};
use crate::setup::{Setup, Source};
use crate::step::{Lowered, Place, Step};
use arrayloom_ir::{Form, Kernel};

/// What a slot points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// Nothing.
    None,
    /// A tile buffer.
    Buffer(usize),
    /// Memory of a lane at the start of the tile.
    Lane(usize),
    /// A uniform value.
    Uniform(usize),
}

/// A program.
#[derive(Debug)]
pub(crate) struct Program {
    /// Tiles run over the ends of rows.
    pub(crate) span: bool,
    pub(crate) steps: Vec<Step<usize>>,
    /// What [`Step::Compiled`] names.
    pub(crate) segments: Vec<Segment<usize>>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) uniforms: Vec<Cell>,
    /// Uniform values that come with a launch: their numbers and those of the inputs.
    pub(crate) inputs: Vec<(usize, usize)>,
    /// True when other values of those inputs would give the same program.
    pub(crate) is_general: bool,
    /// Buffers to be filled once: number, uniform value, element size.
    pub(crate) filled: Vec<(usize, usize, usize)>,
    pub(crate) buffers: usize,
    /// Bytes from one buffer to the next.
    pub(crate) buffer_bytes: usize,
    /// Elements of a tile.
    pub(crate) tile: usize,
    /// The lane whose lines tiles should start on: one that is written around the caches.
    pub(crate) aligned_to: Option<(usize, usize)>,
    /// True when the operands are too large to lie in a cache: their lines are asked for ahead of time.
    pub(crate) far: bool,
}

/// Points of a row for which compiled code does not rather go over the ends of rows.
const LEAST_ROW: usize = 4;
/// Bytes of all live tile buffers: well within a level-1 cache, next to what is read in place.
const L1_BYTES: usize = 24 << 10;

/// Lowers a kernel and gives its values buffers.
///
/// Tiles run over the ends of short rows, which costs a copy of each operand whose rows are apart; code that
/// does many rows with one call needs none.
///
/// # Errors
/// The primitive that has no kernel.
pub(crate) fn build(
    facts: Facts<'_>,
    folds: &[Option<FoldPlan>],
    config: &CpuConfig,
) -> Result<Program, String> {
    if facts.setup.short && may_do_rows(&facts, folds) {
        let program = build_as(false, facts, folds, config)?;
        if program.does_rows(facts.setup.nest.row()) {
            return Ok(program);
        }
    }
    build_as(facts.setup.short, facts, folds, config)
}

/// True when compiled code may do all of a kernel, and several rows with one call.
fn may_do_rows(facts: &Facts<'_>, folds: &[Option<FoldPlan>]) -> bool {
    let compiled = facts.isa == Isa::Avx512 && facts.jit.is_some();
    compiled && folds.iter().all(Option::is_none) && facts.setup.nest.row() >= LEAST_ROW
}

/// [`build`], with tiles that run over the ends of rows or not.
fn build_as(
    span: bool,
    facts: Facts<'_>,
    folds: &[Option<FoldPlan>],
    config: &CpuConfig,
) -> Result<Program, String> {
    let (kernel, setup) = (facts.kernel, facts.setup);
    let around = goes_around(kernel, setup, config);
    let mut lower = Lower::new(facts, span);
    let mut late = Vec::new();
    let mut aligned_to = None;
    for at in (0..kernel.code.len()).filter(|&at| setup.live[at]) {
        lower.instruction(at)?;
        for (output, described) in kernel.outputs.iter().enumerate() {
            if described.value as usize != at {
                continue;
            }
            if let Some(fold) = &folds[output] {
                let from = lower.tile_as(at, fold.value_dtype)?;
                lower.push(Step::Fold {
                    output,
                    from,
                    ins: at,
                });
                continue;
            }
            let dtype = kernel.code[at].dtype;
            let (lane, size) = (setup.outs[output], dtype.size());
            let from = lower.copied(at)?;
            if overlaps_input(kernel, setup, lane, size) {
                let from = lower.own(from, size);
                late.push(Step::Store {
                    lane,
                    size,
                    from,
                    around: false,
                    late: true,
                });
                continue;
            }
            let around = around && !setup.cached[output] && in_place(&setup.nest, span, lane, size);
            if around && aligned_to.is_none() {
                aligned_to = Some((lane, size));
            }
            lower.push(Step::Store {
                lane,
                size,
                from,
                around,
                late: false,
            });
        }
    }
    for step in late {
        lower.push(step);
    }
    let mut lowered = lower.finish();
    if let Some(jit) = facts.jit {
        let points = setup.nest.len();
        let worth = points.saturating_mul(lowered.steps.len()) >= config.min_jit_ops;
        let cutter = Cutter {
            jit,
            isa: facts.isa,
            nest: &setup.nest,
            span,
            flags: facts.flags.is_some(),
            known: !worth,
        };
        cut(&mut lowered, cutter);
    }
    join(&mut lowered, facts.isa, facts.flags.is_some());
    let mut program = allocate(lowered, setup, config, (span, tree_row(setup, folds)));
    program.aligned_to = aligned_to;
    program.far = is_far(kernel, setup, config);
    Ok(program)
}

impl Program {
    /// True when one call of compiled code does all of several rows of so many points, but for stores.
    fn does_rows(&self, row: usize) -> bool {
        let [Step::Compiled { .. }, rest @ ..] = &self.steps[..] else {
            return false;
        };
        let stores = |step: &Step<usize>| matches!(step, Step::Store { around: false, .. });
        row <= self.tile && rest.iter().all(stores)
    }
}

/// True when an operand is larger than what the nearer caches may hold of it.
fn is_far(kernel: &Kernel, setup: &Setup, config: &CpuConfig) -> bool {
    let sources = setup.sources.iter().zip(&kernel.inputs);
    let read = sources.filter(|(source, _)| source.lane().is_some());
    let read = read.map(|(_, dtype)| dtype.size());
    let made = (0..kernel.outputs.len()).filter(|&i| matches!(kernel.outputs[i].form, Form::Store));
    let made = made.map(|i| kernel.output_dtype(i).size());
    let largest = read.chain(made).max().unwrap_or(0);
    setup.nest.len().saturating_mul(largest) > config.stream_bytes / 4
}

/// True when the outputs are too large to be found in a cache later.
fn goes_around(kernel: &Kernel, setup: &Setup, config: &CpuConfig) -> bool {
    let bytes: usize = (0..kernel.outputs.len())
        .filter(|&i| matches!(kernel.outputs[i].form, Form::Store))
        .map(|i| kernel.output_dtype(i).size())
        .sum();
    setup.nest.len().saturating_mul(bytes) > config.stream_bytes
}

/// True when a stored output may touch bytes of an input that is read.
fn overlaps_input(kernel: &Kernel, setup: &Setup, lane: usize, size: usize) -> bool {
    let nest = &setup.nest;
    let (low, high) = nest.reach(lane);
    let high = high + size.cast_signed();
    setup.sources.iter().zip(&kernel.inputs).any(|(source, d)| {
        let Source::Lane(input) = *source else {
            return false;
        };
        let (from, to) = nest.reach(input);
        from < high && low < to + d.size().cast_signed()
    })
}

/// Values that a step reads.
pub(crate) fn reads(step: &Step<Place>) -> [Place; 3] {
    match *step {
        Step::Run { from, .. } | Step::Pair { from, .. } => from,
        Step::Host { from: [a, b], .. } => [a, b, Place::None],
        Step::Gather { .. } | Step::Iota { .. } | Step::Compiled { .. } => [Place::None; 3],
        Step::Store { from, .. } | Step::Fold { from, .. } | Step::Reach { by: from, .. } => {
            [from, Place::None, Place::None]
        }
    }
}

/// The value that a step makes.
pub(crate) fn makes(step: &Step<Place>) -> Option<usize> {
    match *step {
        Step::Run { to, .. }
        | Step::Pair { to, .. }
        | Step::Host { to, .. }
        | Step::Gather { to, .. }
        | Step::Reach { to, .. }
        | Step::Iota { to, .. } => match to {
            Place::Value(value) => Some(value),
            _ => None,
        },
        Step::Store { .. } | Step::Fold { .. } | Step::Compiled { .. } => None,
    }
}

/// All values that a step reads, makes or passes through.
fn touches<'a>(
    lowered: &'a Lowered,
    step: &'a Step<Place>,
) -> impl Iterator<Item = Place> + use<'a> {
    let (middle, args) = match *step {
        Step::Pair { middle, .. } => (middle, [].as_slice()),
        Step::Compiled { segment } => (Place::None, lowered.segments[segment].args.as_slice()),
        _ => (Place::None, [].as_slice()),
    };
    let made = makes(step).map(Place::Value);
    let places = reads(step).into_iter().chain(made).chain([middle]);
    places.chain(args.iter().copied())
}

/// Where a value lives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Nowhere,
    Buffer(usize),
    Lane(usize),
}

/// Values that can be computed in the memory they are stored to; their stores vanish.
fn settle(
    lowered: &mut Lowered,
    (setup, span): (&Setup, bool),
    kernel_overlaps: impl Fn(usize) -> bool,
) -> Vec<Home> {
    let mut homes = vec![Home::Nowhere; lowered.sizes.len()];
    lowered.steps.retain(|step| {
        if let Step::Store {
            lane,
            size,
            from: Place::Value(value),
            around: false,
            ..
        } = *step
            && homes[value] == Home::Nowhere
            && !kernel_overlaps(lane)
            && in_place(&setup.nest, span, lane, size)
        {
            homes[value] = Home::Lane(lane);
            return false;
        }
        true
    });
    homes
}

/// Lanes of the inputs.
fn inputs(setup: &Setup) -> impl Iterator<Item = usize> {
    setup.sources.iter().filter_map(|source| match source {
        Source::Lane(lane) => Some(*lane),
        Source::Uniform(_) | Source::Unused => None,
    })
}

/// True when memory of a lane may be that of an input. Sixteen bytes is the largest element; a few
/// bytes too careful do no harm.
fn near_input(setup: &Setup, lane: usize) -> bool {
    let (low, high) = setup.nest.reach(lane);
    inputs(setup).any(|input| {
        let (from, to) = setup.nest.reach(input);
        from < high + 16 && low < to + 16
    })
}

/// Gives each value without a home a buffer from its making to its last use; the number of buffers.
fn scan(lowered: &Lowered, homes: &mut [Home]) -> usize {
    let mut last = vec![0; lowered.sizes.len()];
    for (at, step) in lowered.steps.iter().enumerate() {
        for place in touches(lowered, step) {
            if let Place::Value(value) = place {
                last[value] = at;
            }
        }
    }
    let (mut free, mut buffers) = (Vec::new(), 0);
    for (at, step) in lowered.steps.iter().enumerate() {
        for place in touches(lowered, step) {
            if let Place::Value(value) = place
                && homes[value] == Home::Nowhere
            {
                let buffer = free.pop().unwrap_or_else(|| {
                    buffers += 1;
                    buffers - 1
                });
                homes[value] = Home::Buffer(buffer);
            }
        }
        for place in touches(lowered, step) {
            if let Place::Value(value) = place
                && let Home::Buffer(buffer) = homes[value]
                && last[value] == at
                && !free.contains(&buffer)
            {
                free.push(buffer);
            }
        }
    }
    buffers
}

/// The length of a row that is one run of a sum: a tile that holds whole ones is added without cutting them.
fn tree_row(setup: &Setup, folds: &[Option<FoldPlan>]) -> usize {
    let row = setup.nest.row();
    let is_row = |fold: &FoldPlan| matches!(fold.form, FoldForm::Tree(_)) && fold.segment == row;
    if folds.iter().flatten().any(is_row) {
        row
    } else {
        0
    }
}

fn allocate(
    mut lowered: Lowered,
    setup: &Setup,
    config: &CpuConfig,
    (span, row): (bool, usize),
) -> Program {
    let mut homes = settle(&mut lowered, (setup, span), |lane| near_input(setup, lane));
    let first_filled = scan(&lowered, &mut homes);
    let filled: Vec<_> = lowered
        .filled
        .iter()
        .enumerate()
        .map(|(i, &(uniform, size))| (first_filled + i, uniform, size))
        .collect();
    let buffers = first_filled + filled.len();
    let sizes = lowered.sizes.iter().copied();
    let stored = lowered.steps.iter().filter_map(|step| match step {
        Step::Store { size, .. } => Some(*size),
        _ => None,
    });
    let sizes = sizes.chain(filled.iter().map(|f| f.2)).chain(stored);
    let largest = sizes.max().unwrap_or(8);
    let tile = config
        .tile_elems
        .unwrap_or_else(|| tile_elems(buffers, largest, row, &lowered))
        .max(1);
    let mut slots = vec![Slot::None];
    let mut slot_of = |place: Place| -> usize {
        let slot = match place {
            Place::None => return 0,
            Place::Value(value) => match homes[value] {
                Home::Buffer(buffer) => Slot::Buffer(buffer),
                Home::Lane(lane) => Slot::Lane(lane),
                Home::Nowhere => return 0,
            },
            Place::Lane(lane) => Slot::Lane(lane),
            Place::Uniform(number) => Slot::Uniform(number),
            Place::Filled(number) => Slot::Buffer(first_filled + number),
        };
        slots.iter().position(|&s| s == slot).unwrap_or_else(|| {
            slots.push(slot);
            slots.len() - 1
        })
    };
    let steps = lowered.steps.iter();
    let steps = steps.map(|step| with_slots(step, &mut slot_of)).collect();
    let segments = lowered.segments.into_iter().map(|segment| Segment {
        args: segment.args.iter().map(|&arg| slot_of(arg)).collect(),
        function: segment.function,
        around: segment.around,
        streams: segment.streams,
        replay: segment.replay,
    });
    let segments = segments.collect();
    Program {
        span,
        steps,
        segments,
        slots,
        uniforms: lowered.uniforms,
        inputs: lowered.inputs,
        is_general: !lowered.evaluated,
        filled,
        buffers,
        // The odd lines keep buffers from falling on the same sets of the cache.
        buffer_bytes: (tile * largest).next_multiple_of(64) + 5 * 64,
        tile,
        aligned_to: None,
        far: false,
    }
}

/// Bytes of one operand of a tile that compiled code works on, or that is only copied, within
/// the caches: calls are few, buffers fit.
const COMPILED_BYTES: usize = 8192;

/// Bytes of a tile that is copied from where it lies: the C library moves long pieces faster than many short ones.
const COPIED_BYTES: usize = 1 << 20;

/// Bytes of one operand of a tile that is folded in place.
const FOLDED_BYTES: usize = 64 << 10;

/// Bytes of one operand of a tile of a short program, which waits for memory: fewer tiles have fewer starts.
const SHORT_BYTES: usize = 16 << 10;

/// As many elements as let all buffers fit, between 128 and a few pages.
fn tile_elems(buffers: usize, size: usize, row: usize, lowered: &Lowered) -> usize {
    let bytes = buffers.max(1) * row * size;
    if bytes <= L1_BYTES && row > 128 {
        return L1_BYTES / bytes * row;
    }
    let fit = L1_BYTES / (buffers.max(1) * size);
    let is_fold = |step: &Step<Place>| matches!(step, Step::Fold { .. });
    // Folds and copies of memory as it lies need no buffers.
    let folds = lowered.steps.iter().all(is_fold);
    let is_copy = |step: &Step<Place>| matches!(step, Step::Store { around: false, .. });
    let copies = lowered.steps.iter().all(is_copy);
    let in_place = buffers == 0 && (folds || copies);
    let most = match lowered.steps.len() {
        _ if copies && in_place => COPIED_BYTES,
        _ if copies || !lowered.segments.is_empty() => COMPILED_BYTES,
        _ if in_place => FOLDED_BYTES,
        0..4 => SHORT_BYTES,
        _ => 4096,
    };
    let most = (most / size).max(128);
    let fit = if in_place { most } else { fit };
    let power = fit.checked_ilog2().map_or(1, |bits| 1 << bits);
    power.clamp(128, most)
}

fn with_slots(step: &Step<Place>, slot: &mut impl FnMut(Place) -> usize) -> Step<usize> {
    match *step {
        Step::Run {
            found,
            verb,
            from,
            to,
            ins,
        } => Step::Run {
            found,
            verb,
            from: from.map(&mut *slot),
            to: slot(to),
            ins,
        },
        Step::Pair {
            kern,
            from,
            middle,
            to,
            parts,
            back,
            swapped,
        } => Step::Pair {
            kern,
            from: from.map(&mut *slot),
            middle: slot(middle),
            to: slot(to),
            parts,
            back,
            swapped,
        },
        Step::Host {
            call,
            from,
            to,
            ins,
        } => Step::Host {
            call,
            from: from.map(&mut *slot),
            to: slot(to),
            ins,
        },
        Step::Reach { lane, size, by, to } => Step::Reach {
            lane,
            size,
            by: slot(by),
            to: slot(to),
        },
        Step::Gather { lane, size, to } => Step::Gather {
            lane,
            size,
            to: slot(to),
        },
        Step::Iota { lane, to } => Step::Iota { lane, to: slot(to) },
        Step::Store {
            lane,
            size,
            from,
            around,
            late,
        } => Step::Store {
            lane,
            size,
            from: slot(from),
            around,
            late,
        },
        Step::Compiled { segment } => Step::Compiled { segment },
        Step::Fold { output, from, ins } => Step::Fold {
            output,
            from: slot(from),
            ins,
        },
    }
}
