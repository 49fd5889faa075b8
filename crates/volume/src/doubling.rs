//! The engine of filters over long windows, which are joined from boxes (`boxes.rs`).
//!
//! Passes are taken one after the other, each through all voxels of the box. A thread takes tiles of an array: some
//! columns of the padded axis, or several lines one behind the other, in a buffer where a step is one loop. Windows
//! across two lines are computed with the others, for nobody.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::around::Piece;
use crate::block::{View, axis_len};
use crate::boxes::{Union, windows};
use crate::levels::in_threads;
use crate::load::{Load, Plain};
use crate::places::{Places, Run, runs_in};
use crate::separable::{Ctx, Emit, Engine, Pass, wanted};
use crate::{Scratch, VolumeError};
use arrayloom_cpu::{Wide, wide};
use arrayloom_types::Region;
use bytemuck::Pod;
use std::array;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Bytes of the numbers of a tile, roughly: what is joined and what comes of it fit a level-1 cache.
const TILE: usize = 16_384;
/// Fewest bytes of the columns of a tile, if rows have as many: two lines of a cache.
const COLUMNS: usize = 128;
/// Fewest points of windows across rows that are joined from boxes.
const ACROSS: usize = 128;
/// Bytes of outputs that are made at a time, at least, of a column.
const OUTPUTS: usize = 8192;

/// True if windows along these axes, of `rank`, are quicker joined from boxes than read: along the last axis those of
/// `line` points, since four neighbours across rows share what they read.
pub(crate) fn pays(passes: &[Pass], rank: usize, line: usize) -> bool {
    match passes {
        [only] if only.axis + 1 == rank => only.len >= line,
        _ => passes.iter().any(|p| p.len >= ACROSS),
    }
}

/// A filter over long windows along several axes, one after the other.
pub(crate) struct Doubling<'a, U, W, const C: usize> {
    pub(crate) union: U,
    pub(crate) passes: &'a [Pass],
    /// The numbers of what is not there, before a pass.
    pub(crate) outside: &'a (dyn Fn(usize) -> [W; C] + Sync),
    pub(crate) emit: Emit<'a, W>,
    /// Bytes of an element of the output.
    pub(crate) out_size: usize,
}

/// An axis of windows, on a box that is filtered along the axes before it.
struct Axis {
    pass: usize,
    /// Bytes of the numbers of a voxel.
    bytes: usize,
    /// Points of a window.
    len: usize,
    /// Lines or planes of the box.
    outer: usize,
    n_in: usize,
    n_out: usize,
    /// Elements behind the axis.
    row: usize,
    runs: Vec<Run>,
    /// Coordinates where nothing stands, in order.
    missing: Vec<usize>,
    /// Outputs whose windows exist as a whole: those between the margins.
    whole: Range<usize>,
}

/// A part of a pass: whole boxes in front of the axis, or outputs of one of them.
struct Part {
    outer: Range<usize>,
    outputs: Range<usize>,
}

/// Where the results of a part go.
enum To<'o, W> {
    Elements(&'o mut [u8]),
    /// A row for each number of a voxel.
    Numbers(Vec<&'o mut [W]>),
}

/// Writes the numbers of some columns of rows that follow each other, of which the first one is given.
type Read<'a, W, const C: usize> = &'a (dyn Fn(usize, &Range<usize>, &mut [&mut [W]; C]) + Sync);

/// Writes some columns of rows of `row` elements that lie in `pieces` of rows of `step` elements.
struct Copied<'a, S, W, L> {
    load: L,
    source: &'a [S],
    step: usize,
    row: usize,
    pieces: &'a [Piece],
    columns: &'a Range<usize>,
    to: &'a mut [W],
}

impl<S: Pod, W: Pod, L: Load<S, W>> Wide for Copied<'_, S, W, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let columns = self.columns;
        if self.pieces.len() == 1 && self.row == self.step && columns.len() == self.row {
            self.load.row(&self.source[..self.to.len()], self.to);
            return;
        }
        let rows = self.source.chunks(self.step.max(1));
        for (from, to) in rows.zip(self.to.chunks_exact_mut(columns.len().max(1))) {
            for piece in self.pieces {
                let start = piece.at.max(columns.start);
                let end = (piece.at + piece.len).min(columns.end);
                if start < end {
                    let from = &from[piece.from + start - piece.at..][..end - start];
                    let to = &mut to[start - columns.start..end - columns.start];
                    self.load.row(from, to);
                }
            }
        }
    }
}

impl Axis {
    /// The axis of pass `pass` from the box `input` of a volume with these extents.
    fn new(
        (number, pass): (usize, &Pass),
        bytes: usize,
        (input, shape): (&Region, &[i64]),
        region: &Region,
    ) -> Axis {
        let a = pass.axis;
        let first = region.lo[a] - pass.before;
        let padded = axis_len(region, a) + pass.len - 1;
        let inside = (input.lo[a], input.hi[a]);
        let places = Places::new(pass.edge, (first, padded), shape[a], inside);
        let missing: Vec<usize> = places.missing().collect();
        Axis {
            pass: number,
            bytes,
            len: pass.len,
            outer: (0..a).map(|d| axis_len(region, d)).product(),
            n_in: axis_len(input, a),
            n_out: axis_len(region, a),
            row: row_of(input, a),
            runs: places.runs(),
            whole: whole(&missing, padded, pass.len),
            missing,
        }
    }

    /// Elements of the outputs of a box in front of the axis.
    fn size(&self) -> usize {
        self.n_out * self.row
    }

    /// The parts of the pass, in the order of the output.
    fn parts(&self, threads: usize) -> Vec<Part> {
        let padded = (self.n_out + self.len - 1) * self.row;
        let together = (TILE / self.bytes / padded.max(1)).min(self.outer.div_ceil(threads));
        if together > 1 {
            let firsts = (0..self.outer).step_by(together);
            let part = |first: usize| Part {
                outer: first..(first + together).min(self.outer),
                outputs: 0..self.n_out,
            };
            return firsts.map(part).collect();
        }
        let each = outputs(self.len, self.row, self.bytes).min(self.n_out.max(1));
        let firsts = |outer: usize| (0..self.n_out).step_by(each).map(move |at| (outer, at));
        let part = |(outer, at): (usize, usize)| Part {
            outer: outer..outer + 1,
            outputs: at..(at + each).min(self.n_out),
        };
        (0..self.outer).flat_map(firsts).map(part).collect()
    }

    /// Columns of a tile of so many coordinates.
    fn columns(&self, padded: usize) -> usize {
        let columns = (TILE / self.bytes / padded.max(1)).max(1);
        columns.next_multiple_of(few(self.bytes)).min(self.row)
    }

    /// Elements of the largest tile of these parts.
    fn largest(&self, parts: &[Part]) -> usize {
        let elems = |part: &Part| {
            let padded = part.outputs.len() + self.len - 1;
            part.outer.len() * padded * self.columns(part.outer.len() * padded)
        };
        parts.iter().map(elems).max().unwrap_or(0)
    }

    /// Voxels of the window of output `i` that exist.
    fn there(&self, i: usize) -> usize {
        let before = |at: usize| self.missing.partition_point(|&m| m < at);
        self.len - (before(i + self.len) - before(i))
    }
}

/// Elements of a box behind an axis.
fn row_of(region: &Region, axis: usize) -> usize {
    let behind = axis + 1..region.rank();
    behind.map(|d| axis_len(region, d)).product()
}

/// The longest run of windows of `len` coordinates, of so many, none of which is missing.
fn whole(missing: &[usize], padded: usize, len: usize) -> Range<usize> {
    let starts = std::iter::once(0).chain(missing.iter().map(|m| m + 1));
    let ends = missing.iter().copied().chain(std::iter::once(padded));
    let gap = starts.zip(ends).max_by_key(|(start, end)| end - start);
    let (start, end) = gap.unwrap_or((0, padded));
    start..(end + 1).saturating_sub(len).max(start)
}

/// Fewest columns of a tile.
fn few(bytes: usize) -> usize {
    (COLUMNS / bytes.min(8)).max(1)
}

/// Outputs of windows of `len` points that are made at a time: twice as many as they read more, where rows are long.
fn outputs(len: usize, row: usize, bytes: usize) -> usize {
    (2 * len).max(OUTPUTS / bytes / row.clamp(1, few(bytes)))
}

/// Bytes of a tile of the pass over windows of `len` points with so many bytes for a voxel, at most, for boxes of `outer`
/// times `n_out` rows of `row` elements. It grows with the box.
pub(crate) fn most_of_tile(
    (len, bytes): (usize, usize),
    (outer, n_out, row): (u64, u64, u64),
) -> u64 {
    let longest = |n_out: u64| n_out.saturating_add(len as u64);
    let each = longest((outputs(len, 1, bytes) as u64).min(n_out));
    let tile = each.saturating_mul(row.min(2 * few(bytes) as u64));
    let all = outer.saturating_mul(longest(n_out)).saturating_mul(row);
    let of = |elems: u64| elems.saturating_mul(bytes as u64);
    of(all).min(of(tile).max(2 * TILE as u64))
}

/// Copies some elements of a line from one place to another; mostly it is one.
fn moved<W: Copy>(line: &mut [W], (from, to): (usize, usize), len: usize) {
    if len == 1 {
        line[to] = line[from];
    } else {
        line.copy_within(from..from + len, to);
    }
}

/// The rows of a buffer, one for each number of a voxel.
fn rows<W, const C: usize>(buffer: &mut [W], elems: usize) -> [&mut [W]; C] {
    let mut rows = buffer.chunks_exact_mut(elems.max(1)).take(C);
    array::from_fn(|_| rows.next().unwrap_or_default())
}

/// The elements `range` of each row.
fn parts_of<'r, W, const C: usize>(
    rows: &'r mut [&mut [W]; C],
    range: &Range<usize>,
) -> [&'r mut [W]; C] {
    let mut rows = rows.iter_mut();
    array::from_fn(|_| {
        rows.next()
            .map(|row| &mut row[range.clone()])
            .unwrap_or_default()
    })
}

impl<U: Union<W, C>, W: Pod + Send + Sync, const C: usize> Engine<W> for Doubling<'_, U, W, C> {
    fn run<S: Pod + Sync, L: Load<S, W>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: L,
        (region, out): (&Region, &mut [u8]),
    ) -> Result<(), VolumeError> {
        let source: &[S] = bytemuck::cast_slice(input.data);
        let (wanted, pieces) = wanted(self.passes, input, region);
        let step = row_of(input.region, self.passes[0].axis);
        let first = |at: usize, columns: &Range<usize>, to: &mut [&mut [W]; C]| {
            let row = row_of(&wanted, self.passes[0].axis);
            wide(Copied {
                load,
                source: &source[at * step..],
                step,
                row,
                pieces: &pieces,
                columns,
                to: to[0],
            });
            self.union.lift(to);
        };
        let mut planes: Option<Scratch<W>> = None;
        for (number, pass) in self.passes.iter().enumerate() {
            let axis = Axis::new(
                (number, pass),
                C * size_of::<W>(),
                (&wanted, input.shape),
                region,
            );
            let (elems, row) = (axis.outer * axis.n_in * axis.row, axis.row);
            let before = planes.take();
            let data = before.as_ref().map(Scratch::get).unwrap_or_default();
            let whole = [Piece {
                at: 0,
                from: 0,
                len: row,
            }];
            let next = |at: usize, columns: &Range<usize>, to: &mut [&mut [W]; C]| {
                for (from, to) in data.chunks_exact(elems.max(1)).zip(to) {
                    wide(Copied {
                        load: Plain,
                        source: &from[at * row..],
                        step: row,
                        row,
                        pieces: &whole,
                        columns,
                        to,
                    });
                }
            };
            let read: Read<'_, W, C> = if number == 0 { &first } else { &next };
            if number + 1 == self.passes.len() {
                self.pass(ctx, &axis, read, Some(&mut *out), &mut [])?;
            } else {
                let mut made = Scratch::new(&ctx.meter, C * axis.outer * axis.size())?;
                self.pass(ctx, &axis, read, None, made.get_mut())?;
                planes = Some(made);
            }
        }
        Ok(())
    }
}

impl<U: Union<W, C>, W: Pod + Send + Sync, const C: usize> Doubling<'_, U, W, C> {
    /// One pass, into elements or else into numbers.
    fn pass(
        &self,
        ctx: &Ctx,
        axis: &Axis,
        read: Read<'_, W, C>,
        mut elements: Option<&mut [u8]>,
        numbers: &mut [W],
    ) -> Result<(), VolumeError> {
        let all = axis.outer * axis.size();
        if all == 0 {
            return Ok(());
        }
        let parts = axis.parts(ctx.threads);
        let most = axis.largest(&parts);
        let mut rows: Vec<&mut [W]> = numbers.chunks_exact_mut(all).collect();
        let mut tasks = Vec::with_capacity(parts.len());
        for part in parts {
            let elems = part.outer.len() * part.outputs.len() * axis.row;
            let to = if let Some(out) = &mut elements {
                let head = out.split_off_mut(..elems * self.out_size);
                To::Elements(head.unwrap_or_default())
            } else {
                let each = rows.iter_mut().map(|row| row.split_off_mut(..elems));
                To::Numbers(each.map(Option::unwrap_or_default).collect())
            };
            tasks.push((part, to));
        }
        let tasks = Mutex::new(tasks.into_iter());
        in_threads(ctx.threads, || {
            let mut buffer = Scratch::new(&ctx.meter, 2 * C * most)?;
            let mut bytes = Scratch::new(&ctx.meter, most * self.out_size)?;
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                let Some((part, to)) = task else {
                    return Ok(());
                };
                let space = (buffer.get_mut(), bytes.get_mut());
                self.part((axis, &part), read, to, space);
            }
        })
    }

    /// Makes the outputs of a part, tile by tile.
    fn part(
        &self,
        (axis, part): (&Axis, &Part),
        read: Read<'_, W, C>,
        mut to: To<'_, W>,
        (buffer, bytes): (&mut [W], &mut [u8]),
    ) {
        let (count, made) = (part.outer.len(), part.outputs.len());
        let padded = made + axis.len - 1;
        let width = axis.columns(count * padded);
        for first in (0..axis.row).step_by(width.max(1)) {
            let columns = first..(first + width).min(axis.row);
            let (wide, elems) = (columns.len(), count * padded * columns.len());
            let (lines, results) = buffer.split_at_mut(C * elems);
            let mut lines: [&mut [W]; C] = rows(lines, elems);
            self.fill((axis, part), &columns, read, &mut lines);
            let span = elems - (axis.len - 1) * wide;
            let mut results: [&mut [W]; C] = rows(&mut results[..C * span], span);
            windows(&self.union, (axis.len, wide), &mut lines, &mut results);
            // Results of lines one behind the other.
            for row in &mut results {
                for number in 1..count {
                    let start = number * padded * wide;
                    row.copy_within(start..start + made * wide, number * made * wide);
                }
            }
            let mut found = parts_of(&mut results, &(0..count * made * wide));
            self.finish((axis, part), wide, &mut found);
            let found = found.map(|row| &*row);
            if wide == axis.row {
                self.store(found, &mut to);
            } else {
                self.store_columns(found, (axis.row, &columns), &mut to, bytes);
            }
        }
    }

    /// Hands all numbers on.
    fn store(&self, found: [&[W]; C], to: &mut To<'_, W>) {
        match to {
            To::Elements(out) => (self.emit)(&found, out),
            To::Numbers(outs) => {
                for (out, found) in outs.iter_mut().zip(found) {
                    out.copy_from_slice(found);
                }
            }
        }
    }

    /// Hands numbers of some columns of rows of `row` elements on.
    fn store_columns(
        &self,
        found: [&[W]; C],
        (row, columns): (usize, &Range<usize>),
        to: &mut To<'_, W>,
        bytes: &mut [u8],
    ) {
        match to {
            To::Elements(out) => {
                let size = self.out_size;
                let made = &mut bytes[..found[0].len() * size];
                (self.emit)(&found, made);
                let rows = out.chunks_exact_mut(row * size);
                for (to, from) in rows.zip(made.chunks_exact(columns.len() * size)) {
                    to[columns.start * size..columns.end * size].copy_from_slice(from);
                }
            }
            To::Numbers(outs) => {
                for (out, found) in outs.iter_mut().zip(found) {
                    let rows = out.chunks_exact_mut(row);
                    for (to, from) in rows.zip(found.chunks_exact(columns.len())) {
                        to[columns.clone()].copy_from_slice(from);
                    }
                }
            }
        }
    }

    /// Some columns of padded axes, one behind the other.
    fn fill(
        &self,
        (axis, part): (&Axis, &Part),
        columns: &Range<usize>,
        read: Read<'_, W, C>,
        lines: &mut [&mut [W]; C],
    ) {
        let (wide, start) = (columns.len(), part.outputs.start);
        let padded = part.outputs.len() + axis.len - 1;
        let outside = (self.outside)(axis.pass);
        let first = axis.missing.partition_point(|&m| m < start);
        let missing = axis.missing[first..].iter();
        let missing = missing.take_while(|&&m| m < start + padded);
        // What stands around an axis is mostly at hand.
        let runs = || runs_in(&axis.runs, start..start + padded);
        let inside = runs().max_by_key(|run| run.at.len());
        let near = |run: &Run| inside.as_ref().and_then(|inside| inside.place(run));
        let (copied, others): (Vec<Run>, Vec<Run>) = runs()
            .filter(|run| inside.as_ref() != Some(run))
            .partition(|run| near(run).is_some());
        let copied: Vec<(usize, Range<usize>)> = copied
            .into_iter()
            .filter_map(|run| Some((near(&run)?, run.at)))
            .collect();
        for (number, outer) in part.outer.clone().enumerate() {
            let place = |at: usize| (number * padded + at - start) * wide;
            for &at in missing.clone() {
                for (line, value) in lines.iter_mut().zip(outside) {
                    line[place(at)..place(at + 1)].fill(value);
                }
            }
            for run in inside.iter().chain(&others) {
                let to = place(run.at.start)..place(run.at.end);
                let first = outer * axis.n_in + run.row;
                read(first, columns, &mut parts_of(lines, &to));
            }
            for (from, at) in &copied {
                let (from, to, len) = (place(*from), place(at.start), at.len() * wide);
                for line in &mut *lines {
                    moved(line, (from, to), len);
                }
            }
        }
    }

    /// What windows become, some of which may lack voxels.
    fn finish(&self, (axis, part): (&Axis, &Part), wide: usize, found: &mut [&mut [W]; C]) {
        if axis.missing.is_empty() {
            self.union.finish(axis.pass, axis.len, found);
            return;
        }
        let outputs = &part.outputs;
        let whole = axis.whole.start.clamp(outputs.start, outputs.end)
            ..axis.whole.end.clamp(outputs.start, outputs.end);
        for line in 0..part.outer.len() {
            let mut finish = |made: Range<usize>, there: usize| {
                let place = |at: usize| (line * outputs.len() + at - outputs.start) * wide;
                let mut rows = parts_of(found, &(place(made.start)..place(made.end)));
                self.union.finish(axis.pass, there, &mut rows);
            };
            for i in (outputs.start..whole.start).chain(whole.end..outputs.end) {
                finish(i..i + 1, axis.there(i));
            }
            finish(whole.clone(), axis.len);
        }
    }
}
