//! The engine of separable filters: one pass along each filtered axis, rows at a time.
//!
//! The first pass combines whole planes of the input into one plane, the next combines its rows into
//! one row, the last slides along that row. Nothing but a plane and a row lies between input and
//! output, so the passes stay in the caches. Every pass sees its own edges: an index list says which row
//! stands at each coordinate, and near faces without rows the taps are others ([`EdgeTaps`]).
#![expect(
    clippy::too_many_arguments,
    clippy::type_complexity,
    clippy::unused_self,
    reason = "the passes hand one another rows, ranges and buffers"
)]

use crate::block::{View, axis_len};
use crate::fold::{EdgeTaps, Rule};
use crate::op::worth;
use crate::{Meter, Scratch, VolumeError};
use arrayloom_plan::Edge;
use arrayloom_types::Region;
use bytemuck::Pod;
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// Rows shorter than this are filtered in one padded line.
const SHORT_ROW: usize = 64;
/// Elements of a padded line that are filtered at a time.
const LINE: usize = 8192;

/// What a call may use.
#[derive(Clone, Debug)]
pub struct Ctx {
    /// Threads.
    pub threads: usize,
    /// Where memory is counted.
    pub meter: Arc<Meter>,
}

impl Ctx {
    /// The same with as many threads as a box of so many voxels is worth.
    pub(crate) fn for_voxels(&self, voxels: u64) -> Ctx {
        Ctx {
            threads: worth(self.threads, voxels),
            ..self.clone()
        }
    }
}

/// One filtered axis.
#[derive(Clone, Debug)]
pub(crate) struct Pass {
    pub(crate) axis: usize,
    /// Points of the window before its center.
    pub(crate) before: i64,
    /// Points of the window.
    pub(crate) len: usize,
    pub(crate) edge: Edge,
}

/// A separable filter for one arithmetic.
pub(crate) struct Separable<'a, R: Rule> {
    pub(crate) rule: R,
    pub(crate) passes: &'a [Pass],
    /// The taps of pass `pass` at a point where only the places `there` of the window exist.
    pub(crate) edge_taps: &'a (dyn Fn(usize, &[usize]) -> EdgeTaps<R::W> + Sync),
    /// Rounds a row to the output.
    pub(crate) emit: &'a (dyn Fn(&[R::W], &mut [u8]) + Sync),
    /// Bytes of one element of the output.
    pub(crate) out_size: usize,
}

/// One pass on the boxes at hand.
struct Level<W> {
    pass: usize,
    len: usize,
    /// Boxes in front of the axis, behind that of the pass before.
    outer: usize,
    n_in: usize,
    n_out: usize,
    /// Elements behind the axis, in the input of this pass.
    row: usize,
    /// Elements behind the axis, in the output of the last pass.
    out_row: usize,
    /// For each coordinate of the padded axis: its row, or -1.
    index: Vec<isize>,
    /// For each output: the taps, where rows are missing.
    edges: Vec<Option<EdgeTaps<W>>>,
}

/// Buffers of one thread.
struct Work<W> {
    rows: Vec<Option<Scratch<W>>>,
    line: Scratch<W>,
}

/// A part of the output: the box in front, the outputs, their bytes.
type Task<'a> = (usize, std::ops::Range<usize>, &'a mut [u8]);

/// Elements of working memory for each thread: a row for each pass, and a padded line.
pub(crate) fn scratch_elems(passes: &[Pass], extents: &[i64]) -> u64 {
    let mut grown: Vec<u64> = extents.iter().map(|e| e.max(&0).unsigned_abs()).collect();
    for pass in passes {
        grown[pass.axis] += pass.len as u64;
    }
    let rows = passes
        .iter()
        .map(|p| grown[p.axis + 1..].iter().product::<u64>());
    let line = passes.last().map_or(0, |last| {
        let row = grown[last.axis + 1..].iter().product::<u64>();
        let whole = row.saturating_mul(extents[last.axis].max(0).unsigned_abs());
        let short = SHORT_ROW as u64;
        2 * whole.min(LINE as u64 + short) + row.min(short) * last.len as u64
    });
    rows.sum::<u64>() + line + 16
}

impl<R: Rule> Separable<'_, R> {
    /// Filters `input` into the box `region` of the output.
    pub(crate) fn run<S: Pod + Sync>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: impl Fn(S) -> R::W + Copy + Sync,
        region: &Region,
        out: &mut [u8],
    ) -> Result<(), VolumeError> {
        let levels = self.levels(input, region);
        let source: &[S] = bytemuck::cast_slice(input.data);
        let tasks = Mutex::new(self.tasks(ctx, &levels[0], out).into_iter());
        let run = || -> Result<(), VolumeError> {
            let mut work = self.work(ctx, &levels)?;
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((box_in_front, range, out)) = task else {
                    return Ok(());
                };
                let level = &levels[0];
                let size = level.n_in * level.row;
                let part = &source[box_in_front * size..(box_in_front + 1) * size];
                self.outputs(&levels, part, load, &range, out, &mut work);
            }
        };
        in_threads(ctx.threads, run)
    }

    fn levels(&self, input: &View<'_>, region: &Region) -> Vec<Level<R::W>> {
        let mut levels = Vec::new();
        let mut from = 0;
        for (number, pass) in self.passes.iter().enumerate() {
            let a = pass.axis;
            let product = |r: &Region, axes: std::ops::Range<usize>| -> usize {
                axes.map(|d| axis_len(r, d)).product()
            };
            let n = input.shape[a];
            let first = region.lo[a] - pass.before;
            let padded = axis_len(region, a) + pass.len - 1;
            let (lo, hi) = (input.region.lo[a], input.region.hi[a]);
            let place = |i: usize| {
                let at = first + i64::try_from(i).unwrap_or(0);
                locate(pass.edge, at, n, lo, hi)
            };
            let index: Vec<isize> = (0..padded).map(place).collect();
            let edges = index.windows(pass.len).map(|window| {
                let there = |(place, &row): (usize, &isize)| (row >= 0).then_some(place);
                if window.iter().all(|&row| row >= 0) {
                    return None;
                }
                let there: Vec<usize> = window.iter().enumerate().filter_map(there).collect();
                Some((self.edge_taps)(number, &there))
            });
            levels.push(Level {
                pass: number,
                len: pass.len,
                outer: product(region, from..a),
                n_in: axis_len(input.region, a),
                n_out: axis_len(region, a),
                row: product(input.region, a + 1..region.rank()),
                out_row: product(region, a + 1..region.rank()),
                edges: edges.collect(),
                index,
            });
            from = a + 1;
        }
        levels
    }

    fn tasks<'o>(&self, ctx: &Ctx, level: &Level<R::W>, mut out: &'o mut [u8]) -> Vec<Task<'o>> {
        let all = level.outer * level.n_out;
        let parts = if ctx.threads > 1 { ctx.threads * 4 } else { 1 };
        let piece = all.div_ceil(parts).clamp(1, level.n_out.max(1));
        let mut tasks = Vec::new();
        for o in 0..level.outer {
            let mut at = 0;
            while at < level.n_out {
                let end = (at + piece).min(level.n_out);
                let bytes = (end - at) * level.out_row * self.out_size;
                let (head, tail) = out.split_at_mut(bytes);
                tasks.push((o, at..end, head));
                out = tail;
                at = end;
            }
        }
        tasks
    }

    fn work(&self, ctx: &Ctx, levels: &[Level<R::W>]) -> Result<Work<R::W>, VolumeError> {
        let row = |l: &Level<R::W>| Scratch::new(&ctx.meter, l.row).map(Some);
        let rows = levels.iter().map(row).collect::<Result<_, _>>()?;
        let last = &levels[levels.len() - 1];
        let padded = if last.row < SHORT_ROW {
            let outputs = last.n_out.min(LINE / last.row.max(1) + 1);
            (2 * outputs + last.len) * last.row
        } else {
            0
        };
        Ok(Work {
            rows,
            line: Scratch::new(&ctx.meter, padded)?,
        })
    }

    /// The outputs `range` along the first axis of `levels`, from one box of its input.
    fn outputs<S: Pod>(
        &self,
        levels: &[Level<R::W>],
        source: &[S],
        load: impl Fn(S) -> R::W + Copy,
        range: &std::ops::Range<usize>,
        out: &mut [u8],
        work: &mut Work<R::W>,
    ) {
        let (level, deeper) = (&levels[0], &levels[1..]);
        if deeper.is_empty() && level.row < SHORT_ROW {
            self.lines(level, source, load, range, out, work);
            return;
        }
        let mut rows: Vec<&[S]> = Vec::with_capacity(level.len);
        let bytes = level.out_row * self.out_size;
        for (i, out) in range.clone().zip(out.chunks_exact_mut(bytes.max(1))) {
            rows.clear();
            let there = level.index[i..i + level.len]
                .iter()
                .filter_map(|&at| usize::try_from(at).ok());
            rows.extend(there.map(|at| &source[at * level.row..(at + 1) * level.row]));
            let Some(mut buffer) = work.rows[level.pass].take() else {
                return;
            };
            match &level.edges[i] {
                None => self.rule.fold(level.pass, &rows, load, buffer.get_mut()),
                Some(edge) => self.rule.fold_edge(edge, &rows, load, buffer.get_mut()),
            }
            self.next(deeper, buffer.get(), out, work);
            work.rows[level.pass] = Some(buffer);
        }
    }

    /// Hands a row to the next pass, or rounds it to the output.
    fn next(&self, deeper: &[Level<R::W>], row: &[R::W], out: &mut [u8], work: &mut Work<R::W>) {
        let Some(level) = deeper.first() else {
            (self.emit)(row, out);
            return;
        };
        let bytes = (level.n_out * level.out_row * self.out_size).max(1);
        let size = (level.n_in * level.row).max(1);
        for (part, out) in row.chunks_exact(size).zip(out.chunks_exact_mut(bytes)) {
            self.outputs(deeper, part, |v: R::W| v, &(0..level.n_out), out, work);
        }
    }

    /// The last pass along short rows: one padded line, shifted against itself.
    fn lines<S: Pod>(
        &self,
        level: &Level<R::W>,
        source: &[S],
        load: impl Fn(S) -> R::W + Copy,
        range: &std::ops::Range<usize>,
        out: &mut [u8],
        work: &mut Work<R::W>,
    ) {
        let row = level.row;
        let piece = LINE / row.max(1) + 1;
        let mut at = range.start;
        while at < range.end {
            let count = piece.min(range.end - at);
            let (padded, result) = work
                .line
                .get_mut()
                .split_at_mut((count + level.len - 1) * row);
            let result = &mut result[..count * row];
            pad(level, source, load, at, padded);
            let mut rows: Vec<&[R::W]> = (0..level.len)
                .map(|t| &padded[t * row..(t + count) * row])
                .collect();
            self.rule.fold(level.pass, &rows, |v| v, result);
            for i in (0..count).filter(|i| level.edges[at + i].is_some()) {
                let Some(edge) = &level.edges[at + i] else {
                    continue;
                };
                rows.clear();
                rows.extend(
                    edge.taps
                        .iter()
                        .map(|&(t, _)| &padded[(i + t) * row..(i + t + 1) * row]),
                );
                self.rule
                    .fold_edge(edge, &rows, |v| v, &mut result[i * row..(i + 1) * row]);
            }
            let bytes = row * self.out_size;
            let skip = at - range.start;
            (self.emit)(result, &mut out[skip * bytes..(skip + count) * bytes]);
            at += count;
        }
    }
}

/// Rows of the padded axis from output `at` on; rows that do not exist keep what was there.
fn pad<S: Pod, W: Pod>(
    level: &Level<W>,
    source: &[S],
    load: impl Fn(S) -> W + Copy,
    at: usize,
    padded: &mut [W],
) {
    let row = level.row;
    if row == 0 {
        return;
    }
    let index = &level.index[at..at + padded.len() / row];
    let mut i = 0;
    while i < index.len() {
        let first = index[i];
        let mut run = 1;
        while i + run < index.len() && index[i + run] == first + run.cast_signed() {
            run += 1;
        }
        if let Ok(from) = usize::try_from(first) {
            let from = &source[from * row..(from + run) * row];
            for (to, &v) in padded[i * row..(i + run) * row].iter_mut().zip(from) {
                *to = load(v);
            }
            i += run;
        } else {
            i += 1;
        }
    }
}

/// The row of a block with coordinates `lo..hi` that stands at coordinate `at` of an axis of extent `n`,
/// or -1. Blocks on a wrapped axis may lie beyond its ends.
pub(crate) fn locate(edge: Edge, at: i64, n: i64, lo: i64, hi: i64) -> isize {
    let place = match edge {
        Edge::Wrap if n > 0 => Some(lo + (at - lo).rem_euclid(n)),
        _ => edge.fold(at, n),
    };
    let inside = place.filter(|p| (lo..hi).contains(p));
    inside
        .and_then(|p| isize::try_from(p - lo).ok())
        .unwrap_or(-1)
}

/// Runs `work` in `threads` threads; the first error is the result.
pub(crate) fn in_threads(
    threads: usize,
    work: impl Fn() -> Result<(), VolumeError> + Sync,
) -> Result<(), VolumeError> {
    if threads <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut result = work();
        for other in others {
            let theirs = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(theirs);
        }
        result
    })
}
