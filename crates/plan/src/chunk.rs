//! The planner: an expression, a box to write and a budget in bytes; out come blocks.
//!
//! A plan is a grid of cores that cover the box once. Every block reads what backward inference says.
//! If blocks follow one another along an axis, each value keeps the planes that the next block needs
//! too: a rolling slab, which reads nothing twice along that axis. The planner tries slabs of several
//! thicknesses and independent blocks, finds for each the grid that reads least within the budget
//! (exactly, see `search.rs`), and takes the one with the shortest predicted time among those that read
//! nothing twice, if there are any.

use crate::cut::{Candidate, candidates, granules, halo};
use crate::needs::{Value, deciding_axes};
use crate::search::Space;
use arrayloom_types::{Coords, Region};

/// How many buffers of one block are alive at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// For each source: one being computed on, one being read.
    pub source: u64,
    /// For the result: one being computed, one being written.
    pub sink: u64,
}

impl Buffers {
    /// Reading, computing and writing overlap.
    pub const OVERLAPPED: Buffers = Buffers { source: 2, sink: 2 };
    /// One after the other: slower, half the memory.
    pub const ONE_BY_ONE: Buffers = Buffers { source: 1, sink: 1 };
}

/// What is to be planned.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// The expression, operands first, the result last.
    pub values: &'a [Value],
    /// The box of the result that is written.
    pub write: Region,
    /// Most bytes in use at a time.
    pub budget: u64,
    /// Voxels along each axis that are written together; cores are cut at their multiples only.
    pub align: Coords,
    /// Axes that stay in one piece.
    pub uncut: Vec<usize>,
    /// Buffers of a block.
    pub buffers: Buffers,
    /// Whether blocks may follow one another and keep what the next one needs.
    pub sweep: bool,
}

/// No block fits the budget, not even the smallest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Infeasible {
    /// Bytes of the smallest block that can be planned.
    pub least: u64,
    /// The budget.
    pub budget: u64,
    /// The core of that block.
    pub core: Coords,
}

/// A plan: index arithmetic, no list of blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Where the cores begin along each axis, and where the last one ends.
    pub bounds: Vec<Vec<i64>>,
    /// The axis along which blocks follow one another, if what they share is kept.
    pub sweep: Option<usize>,
    /// Most bytes in use at a time.
    pub peak: u64,
    /// Bytes of the largest block of each value.
    pub block_bytes: Vec<u64>,
    /// Voxels along the axis of the sweep of each source that are read at a time.
    pub pieces: Vec<i64>,
    /// Bytes read of all sources.
    pub read_bytes: u128,
    /// Bytes of all sources that the result depends on, each counted once.
    pub source_bytes: u128,
    /// Bytes that a grid of independent blocks reads at least, for one source with this budget.
    pub bound_bytes: f64,
    /// Predicted seconds.
    pub seconds: f64,
    /// Buffers of a block.
    pub buffers: Buffers,
}

const READ_NS_PER_BYTE: f64 = 0.3;
const WRITE_NS_PER_BYTE: f64 = 0.4;
const BLOCK_NS: f64 = 150_000.0;
/// What a slab keeps is moved to the front of its buffer.
const MOVE_NS_PER_BYTE: f64 = 0.1;

impl Plan {
    /// Number of blocks.
    pub fn len(&self) -> u64 {
        self.bounds.iter().map(|b| b.len() as u64 - 1).product()
    }

    /// True if there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.bounds.iter().any(|b| b[0] >= b[b.len() - 1])
    }

    /// The core of block `i`: what it writes. Blocks that share kept planes are neighbours in order.
    pub fn core(&self, i: u64) -> Region {
        let rank = self.bounds.len();
        let mut order: Vec<usize> = (0..rank).filter(|&a| Some(a) != self.sweep).collect();
        order.extend(self.sweep);
        let mut at = vec![0usize; rank];
        let mut rest = i;
        for &axis in order.iter().rev() {
            let parts = self.bounds[axis].len() as u64 - 1;
            at[axis] = usize::try_from(rest % parts).unwrap_or(0);
            rest /= parts;
        }
        Region {
            lo: (0..rank).map(|d| self.bounds[d][at[d]]).collect(),
            hi: (0..rank).map(|d| self.bounds[d][at[d] + 1]).collect(),
        }
    }

    /// The boxes on which block `i` needs every value. Along the axis of a sweep sources are read to the
    /// end of a granule, so that no granule is read twice.
    pub fn boxes(&self, values: &[Value], i: u64) -> Vec<Region> {
        let mut boxes = crate::needs(values, &self.core(i));
        let Some(axis) = self.sweep else { return boxes };
        for (value, region) in values.iter().zip(&mut boxes) {
            if value.is_source() && !region.is_empty() {
                let span = region.lo[axis]..region.hi[axis];
                region.hi[axis] = granules(&span, value.granule[axis], value.shape[axis]).end;
            }
        }
        boxes
    }

    /// The cores of the blocks from `done` on, joined to few boxes.
    pub fn rest(&self, done: u64) -> Vec<Region> {
        let rank = self.bounds.len();
        let mut order: Vec<usize> = (0..rank).filter(|&a| Some(a) != self.sweep).collect();
        order.extend(self.sweep);
        let mut out = Vec::new();
        let whole = Region {
            lo: self.bounds.iter().map(|b| b[0]).collect(),
            hi: self.bounds.iter().map(|b| b[b.len() - 1]).collect(),
        };
        if done >= self.len() || self.is_empty() {
            return out;
        }
        let next = self.core(done);
        let mut prefix = whole;
        for &axis in &order {
            // Boxes behind the next block along this axis, within its own place on the axes before.
            if next.hi[axis] < prefix.hi[axis] {
                out.push(prefix.with_axis(axis, next.hi[axis], prefix.hi[axis]));
            }
            prefix = prefix.with_axis(axis, next.lo[axis], next.hi[axis]);
        }
        out.push(next);
        out.reverse();
        out
    }

    /// Bytes read more than once, as a share of the sources.
    pub fn redundancy(&self) -> f64 {
        if self.source_bytes == 0 {
            return 0.0;
        }
        real(self.read_bytes) / real(self.source_bytes) - 1.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn real(value: u128) -> f64 {
    value as f64
}

/// Whether something is read twice, predicted seconds; the axis of the sweep; a candidate for each axis.
type Choice = ((bool, f64), Option<usize>, Vec<usize>);

/// Plans `problem`.
///
/// # Errors
/// [`Infeasible`] if not even the smallest block fits, with the bytes that it takes.
pub fn plan(problem: &Problem<'_>) -> Result<Plan, Infeasible> {
    let deciding = deciding_axes(problem.values);
    plan_cuts(problem, &deciding, &cuts(problem, &deciding))
}

/// Plans `problem` with buffers for each of `choices`, and takes the fastest plan.
///
/// # Errors
/// As [`plan`], for the last choice.
pub fn plan_fastest(problem: &Problem<'_>, choices: &[Buffers]) -> Result<Plan, Infeasible> {
    let deciding = deciding_axes(problem.values);
    let axes = cuts(problem, &deciding);
    let mut best: Result<Plan, Infeasible> = plan_cuts(problem, &deciding, &axes);
    for &buffers in choices {
        let other = Problem {
            buffers,
            ..problem.clone()
        };
        let next = plan_cuts(&other, &deciding, &axes);
        best = match (best, next) {
            (Ok(a), Ok(b)) => Ok(if a.seconds <= b.seconds { a } else { b }),
            (Ok(a), Err(_)) | (Err(_), Ok(a)) => Ok(a),
            (Err(_), Err(least)) => Err(least),
        };
    }
    best
}

/// All ways to cut each axis that matter.
fn cuts(problem: &Problem<'_>, deciding: &[Vec<Option<usize>>]) -> Vec<Vec<Candidate>> {
    let rank = problem.write.rank();
    (0..rank)
        .map(|a| {
            let span = problem.write.lo[a]..problem.write.hi[a];
            let all = candidates(problem.values, deciding, a, &span, problem.align[a].max(1));
            if problem.uncut.contains(&a) {
                all[..1].to_vec()
            } else {
                all
            }
        })
        .collect()
}

fn plan_cuts(
    problem: &Problem<'_>,
    deciding: &[Vec<Option<usize>>],
    axes: &[Vec<Candidate>],
) -> Result<Plan, Infeasible> {
    let rank = problem.write.rank();
    let mut space = Space {
        values: problem.values,
        deciding,
        axes,
        budget: problem.budget,
        buffers: problem.buffers,
        sweep: None,
    };
    // Plans that read nothing twice come first, then the fastest.
    let once = space.read_bytes(&vec![0; rank]);
    let mut best: Option<Choice> = None;
    let mut offer = |space: &Space<'_>, choice: Vec<usize>| {
        let merit = (space.read_bytes(&choice) > once, seconds(space, &choice));
        if best.as_ref().is_none_or(|(old, ..)| merit < *old) {
            best = Some((merit, space.sweep, choice));
        }
    };
    if let Some((_, choice)) = space.best(&vec![None; rank]) {
        offer(&space, choice);
    }
    let slab_axes: Vec<usize> = (0..rank)
        .filter(|&a| problem.sweep && can_sweep(&space, a))
        .collect();
    for axis in slab_axes {
        space.sweep = Some(axis);
        for fixed in slabs(&space, axis) {
            if let Some((_, choice)) = space.best(&fixed) {
                offer(&space, choice);
            }
        }
    }
    space.sweep = None;
    let Some(((_, time), sweep, choice)) = best else {
        let finest: Vec<usize> = axes.iter().map(|a| a.len() - 1).collect();
        return Err(Infeasible {
            least: space.peak(&finest),
            budget: problem.budget,
            core: axes.iter().map(|a| a[a.len() - 1].core).collect(),
        });
    };
    space.sweep = sweep;
    Ok(finish(&space, &choice, time, problem))
}

/// Along this axis planes of a block lie one after the other in memory, for every value: all axes in
/// front of it can be cut to single voxels.
fn can_sweep(space: &Space<'_>, axis: usize) -> bool {
    let rank = space.axes.len();
    let has_halo = space
        .values
        .iter()
        .zip(space.deciding)
        .enumerate()
        .any(|(v, (_, axes))| {
            let finest = space.axes[axis].last();
            axes.iter().enumerate().any(|(d, by)| {
                *by == Some(axis) && finest.is_some_and(|c| c.totals[v][d] > c.unions[v][d])
            })
        });
    let in_order = space
        .values
        .iter()
        .zip(space.deciding)
        .all(|(value, axes)| value.shape.len() == rank && (0..=axis).all(|d| axes[d] == Some(d)));
    if !has_halo || !in_order {
        return false;
    }
    let thin = (0..axis).all(|a| {
        let finest = space.axes[a].last();
        finest.is_some_and(|c| (0..space.values.len()).all(|v| c.extents[v][a] <= 1))
    });
    thin && space.axes[axis].len() > 1
}

/// The slabs to try: thicknesses that double, the axes in front of `axis` cut to single voxels.
fn slabs(space: &Space<'_>, axis: usize) -> Vec<Vec<Option<usize>>> {
    let all = &space.axes[axis];
    let mut out = Vec::new();
    let mut wanted = all[all.len() - 1].core;
    loop {
        let at = all.iter().rposition(|c| c.core >= wanted).unwrap_or(0);
        let mut fixed = vec![None; space.axes.len()];
        for (a, slot) in fixed.iter_mut().enumerate().take(axis) {
            *slot = Some(space.axes[a].len() - 1);
        }
        fixed[axis] = Some(at);
        out.push(fixed);
        if at == 0 {
            return out;
        }
        wanted = all[at].core * 2;
    }
}

/// Predicted time: the slowest of reading, computing and writing, the start, and a cost for each block.
fn seconds(space: &Space<'_>, choice: &[usize]) -> f64 {
    let compute: f64 = space
        .values
        .iter()
        .enumerate()
        .map(|(v, value)| value.cost_ns * real(space.voxels(choice, v)))
        .sum();
    let last = space.values.len() - 1;
    let written = space.voxels(choice, last) * u128::from(space.values[last].bytes);
    let blocks = real(space.blocks(choice).max(1));
    let moved: u64 = match space.sweep {
        Some(_) => (0..last).map(|v| space.block_bytes(choice, v)).sum(),
        None => 0,
    };
    let stages = [
        READ_NS_PER_BYTE * real(space.read_bytes(choice)),
        compute + MOVE_NS_PER_BYTE * blocks * real(u128::from(moved)),
        WRITE_NS_PER_BYTE * real(written),
    ];
    let slowest = stages.iter().fold(0.0, |a: f64, &b| a.max(b));
    let sum: f64 = stages.iter().sum();
    let overlapped = space.buffers.source > 1;
    let total = if overlapped {
        slowest + (sum - slowest) / blocks
    } else {
        sum
    };
    (total + blocks * BLOCK_NS) * 1e-9
}

fn finish(space: &Space<'_>, choice: &[usize], seconds: f64, problem: &Problem<'_>) -> Plan {
    let values = space.values;
    let bounds = choice.iter().enumerate().map(|(axis, &i)| {
        let cut = &space.axes[axis][i].cut;
        let mut bounds: Vec<i64> = (0..cut.parts()).map(|i| cut.core(i).start).collect();
        bounds.push(problem.write.hi[axis].max(bounds[0]));
        bounds
    });
    let coarse = vec![0; choice.len()];
    let once = Space {
        sweep: None,
        ..*space
    };
    let source_bytes = once.read_bytes(&coarse);
    Plan {
        bounds: bounds.collect(),
        sweep: space.sweep,
        peak: space.peak(choice),
        block_bytes: (0..values.len())
            .map(|v| space.block_bytes(choice, v))
            .collect(),
        pieces: (0..values.len())
            .map(|v| match space.sweep {
                Some(axis) if values[v].is_source() => space.piece(choice, v, axis),
                _ => i64::MAX,
            })
            .collect(),
        read_bytes: space.read_bytes(choice),
        source_bytes,
        bound_bytes: bound(space, choice, problem),
        seconds,
        buffers: problem.buffers,
    }
}

/// The closed-form bound, with the memory that the reads of the chosen plan may take.
fn bound(space: &Space<'_>, choice: &[usize], problem: &Problem<'_>) -> f64 {
    let shape = problem.write.extents();
    let halos: Vec<i64> = (0..shape.len())
        .map(|a| halo(space.values, space.deciding, a).map_or(0, |(b, f)| b + f))
        .collect();
    let sources = space
        .values
        .iter()
        .enumerate()
        .filter(|(_, v)| v.is_source());
    let bytes: u64 = sources.clone().map(|(_, v)| v.bytes).sum();
    let used: u64 = sources.map(|(v, _)| space.block_bytes(choice, v)).sum();
    if used == 0 {
        return real(space.read_bytes(&vec![0; choice.len()]));
    }
    let share = real(u128::from(used)) / real(u128::from(space.peak(choice).max(1)));
    let voxels = real(u128::from(problem.budget)) * share / real(u128::from(bytes.max(1)));
    crate::lower_bound(&shape, &halos, voxels) * real(u128::from(bytes))
}
