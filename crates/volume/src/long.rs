//! The engine of filters over long windows: along lines they are joined from boxes (`boxes.rs`), along other axes by a scan
//! over rows (`scan.rs`).
//!
//! Passes are taken one after the other, each through all voxels of the box; but what a scan makes goes to the pass along
//! lines row by row. Elsewhere a thread takes tiles of an array: several lines one behind the other, or some columns, in
//! a buffer where a step is one loop. Windows across two lines are computed with the others, for nobody.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::around::Piece;
use crate::axis::{Axis, Part, row_of};
use crate::block::View;
use crate::boxes::{Union, windows};
use crate::levels::in_threads;
use crate::load::{Load, Plain};
use crate::places::{Run, runs_in};
use crate::scan::{self, Reading, Row, Scan, Taking, columns_of, rows};
use crate::separable::{Ctx, Emit, Engine, Pass, wanted};
use crate::{Scratch, VolumeError};
use arrayloom_cpu::{Wide, wide};
use arrayloom_types::Region;
use bytemuck::Pod;
use std::array;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Fewest points of windows across rows that are not read point by point.
const ACROSS: usize = 48;
/// True if windows along these axes, of `rank`, are too long to be read point by point: along the last axis alone those
/// of `line` points, since four neighbours across rows share what they read.
pub(crate) fn pays(passes: &[Pass], rank: usize, line: usize) -> bool {
    match passes {
        [only] if only.axis + 1 == rank => only.len >= line,
        _ => passes.iter().any(|p| p.len >= ACROSS),
    }
}

/// A filter over long windows along several axes, one after the other.
pub(crate) struct LongWindows<'a, U, W, const C: usize> {
    pub(crate) union: U,
    pub(crate) passes: &'a [Pass],
    /// The numbers of what is not there, before a pass.
    pub(crate) outside: &'a (dyn Fn(usize) -> [W; C] + Sync),
    pub(crate) emit: Emit<'a, W>,
    /// Bytes of an element of the output.
    pub(crate) out_size: usize,
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

/// Copies some columns of a row to their place.
fn copy<W: Copy>(row: &[&mut [W]], to: &mut [&mut [W]], place: &Range<usize>) {
    for (to, row) in to.iter_mut().zip(row) {
        to[place.clone()].copy_from_slice(row);
    }
}

/// Copies some elements of a line from one place to another; mostly it is one.
fn moved<W: Copy>(line: &mut [W], (from, to): (usize, usize), len: usize) {
    if len == 1 {
        line[to] = line[from];
    } else {
        line.copy_within(from..from + len, to);
    }
}

impl<U: Union<W, C>, W: Pod + Send + Sync, const C: usize> Engine<W> for LongWindows<'_, U, W, C> {
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
        let last = self.passes.len() - 1;
        let axis_of = |number: usize| {
            let pass = (number, &self.passes[number]);
            Axis::new(pass, C * size_of::<W>(), (&wanted, input.shape), region)
        };
        let mut planes: Option<Scratch<W>> = None;
        for number in 0..=last {
            let axis = axis_of(number);
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
            if number == last {
                return self.pass(ctx, (&axis, None), read, (Some(out), &mut []));
            }
            let lines = (number + 1 == last).then(|| axis_of(last));
            if let Some(lines) = lines.filter(|lines| axis.feeds(lines)) {
                return self.pass(ctx, (&axis, Some(&lines)), read, (Some(out), &mut []));
            }
            let mut made = Scratch::new(&ctx.meter, C * axis.outer * axis.size())?;
            self.pass(ctx, (&axis, None), read, (None, made.get_mut()))?;
            planes = Some(made);
        }
        Ok(())
    }
}

/// Buffers of one thread.
struct Space<W> {
    /// A tile, and what becomes of it.
    tile: Scratch<W>,
    bytes: Scratch<u8>,
    /// Rows of a scan.
    scan: Scratch<W>,
    /// Rows that a scan has made.
    made: Scratch<W>,
}

impl<U: Union<W, C>, W: Pod + Send + Sync, const C: usize> LongWindows<'_, U, W, C> {
    /// One pass, into elements or else into numbers; and the pass along lines that it feeds.
    fn pass(
        &self,
        ctx: &Ctx,
        (axis, lines): (&Axis, Option<&Axis>),
        read: Read<'_, W, C>,
        (mut elements, numbers): (Option<&mut [u8]>, &mut [W]),
    ) -> Result<(), VolumeError> {
        let row = lines.map_or(axis.row, |lines| lines.n_out);
        let all = axis.outer * axis.n_out * row;
        if all == 0 {
            return Ok(());
        }
        let parts = axis.parts(ctx.threads);
        let most = match lines {
            Some(lines) => lines.largest(&lines.parts(1)),
            None if axis.scanned.is_some() => 0,
            None => axis.largest(&parts),
        };
        let mut rows: Vec<&mut [W]> = numbers.chunks_exact_mut(all).collect();
        let mut tasks = Vec::with_capacity(parts.len());
        for part in parts {
            let elems = part.outer.len() * part.outputs.len() * row;
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
        in_threads(ctx.threads, &|| {
            let columns = axis.scanned_columns();
            let made = lines.map_or(0, |_| axis.together() * axis.row);
            let mut space = Space {
                tile: Scratch::new(&ctx.meter, 2 * C * most)?,
                bytes: Scratch::new(&ctx.meter, most * self.out_size)?,
                scan: Scratch::new(&ctx.meter, C * scan::space::<W>(axis.len, columns))?,
                made: Scratch::new(&ctx.meter, C * made)?,
            };
            loop {
                let task = tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
                match (task, lines) {
                    (None, _) => return Ok(()),
                    (Some((part, To::Elements(out))), Some(lines)) => {
                        self.fed((axis, lines, &part), read, out, &mut space);
                    }
                    (Some((part, to)), _) if axis.scanned.is_some() => {
                        self.scanned((axis, &part), read, to, &mut space);
                    }
                    (Some((part, to)), _) => {
                        let space = (space.tile.get_mut(), space.bytes.get_mut());
                        self.part((axis, &part), read, to, space);
                    }
                }
            }
        })
    }

    /// Makes the outputs of a part by a scan.
    fn scanned(
        &self,
        (axis, part): (&Axis, &Part),
        read: Read<'_, W, C>,
        mut to: To<'_, W>,
        space: &mut Space<W>,
    ) {
        for first in (0..axis.row).step_by(axis.scanned_columns().max(1)) {
            let columns = first..(first + axis.scanned_columns()).min(axis.row);
            let mut scan = self.scan((axis, part, &columns), space.scan.get_mut());
            let reading = self.reading((axis, part, &columns), read);
            for i in part.outputs.clone() {
                let start = (i - part.outputs.start) * axis.row + first;
                self.made((axis, i), &mut scan, &reading, &mut |columns, row| {
                    let place = start + columns.start..start + columns.end;
                    self.store_row(&place, row, &mut to);
                });
            }
        }
    }

    /// Hands some columns of a row on.
    fn store_row(&self, place: &Range<usize>, row: &Row<'_, W, C>, to: &mut To<'_, W>) {
        match to {
            To::Elements(out) => {
                let size = self.out_size;
                let row: [&[W]; C] = array::from_fn(|c| &*row[c]);
                (self.emit)(&row, &mut out[place.start * size..place.end * size]);
            }
            To::Numbers(outs) => copy(row, outs, place),
        }
    }

    /// Makes the outputs of a part by a scan, and of these the outputs along lines.
    fn fed(
        &self,
        (axis, lines, part): (&Axis, &Axis, &Part),
        read: Read<'_, W, C>,
        mut out: &mut [u8],
        space: &mut Space<W>,
    ) {
        let columns = 0..axis.row;
        let mut scan = self.scan((axis, part, &columns), space.scan.get_mut());
        let reading = self.reading((axis, part, &columns), read);
        let mut lines = lines.clone();
        for first in part.outputs.clone().step_by(axis.together()) {
            lines.outer = axis.together().min(part.outputs.end - first);
            let mut all: Row<'_, W, C> = rows(space.made.get_mut(), lines.outer * axis.row);
            for m in 0..lines.outer {
                let i = first + m;
                self.made((axis, i), &mut scan, &reading, &mut |columns, row| {
                    let place = m * axis.row + columns.start..m * axis.row + columns.end;
                    copy(row, &mut all, &place);
                });
            }
            let all = all.map(|rows| &*rows);
            let line = |at: usize, _: &Range<usize>, to: &mut [&mut [W]; C]| {
                for (from, to) in all.iter().zip(to) {
                    to.copy_from_slice(&from[at..at + to.len()]);
                }
            };
            for part in lines.parts(1) {
                let bytes = part.outer.len() * part.outputs.len() * self.out_size;
                let to = To::Elements(out.split_off_mut(..bytes).unwrap_or_default());
                let space = (space.tile.get_mut(), space.bytes.get_mut());
                self.part((&lines, &part), &line, to, space);
            }
        }
    }

    /// A scan over some columns.
    fn scan<'a>(
        &'a self,
        (axis, part, columns): (&Axis, &Part, &Range<usize>),
        space: &'a mut [W],
    ) -> Scan<'a, U, W, C> {
        let first = part.outputs.start;
        let coordinate = axis
            .scanned
            .unwrap_or(0)
            .saturating_add_unsigned(first as u64);
        Scan::new(
            &self.union,
            (axis.len, columns.len()),
            (first, coordinate),
            space,
        )
    }

    /// How a scan over some columns reads rows.
    fn reading<'r>(
        &self,
        (axis, part, columns): (&'r Axis, &Part, &Range<usize>),
        read: Read<'r, W, C>,
    ) -> impl Fn(usize, &Range<usize>, &mut Row<'_, W, C>) + use<'r, U, W, C> {
        let (before, first) = (part.outer.start * axis.n_in, columns.start);
        let outside = (self.outside)(axis.pass);
        move |at, some, to| match axis.places.row(at) {
            Some(row) => read(before + row, &(first + some.start..first + some.end), to),
            None => to.iter_mut().zip(outside).for_each(|(to, v)| to.fill(v)),
        }
    }

    /// The next row that a scan makes: that of output `i`.
    fn made(
        &self,
        (axis, i): (&Axis, usize),
        scan: &mut Scan<'_, U, W, C>,
        reading: Reading<'_, W, C>,
        take: Taking<'_, W, C>,
    ) {
        let there = axis.there(i);
        scan.next(reading, &mut |columns, row| {
            self.union.finish(axis.pass, there, row);
            take(columns, row);
        });
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
            let mut found = columns_of(&mut results, &(0..count * made * wide));
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
                read(first, columns, &mut columns_of(lines, &to));
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
                let mut rows = columns_of(found, &(place(made.start)..place(made.end)));
                self.union.finish(axis.pass, there, &mut rows);
            };
            for i in (outputs.start..whole.start).chain(whole.end..outputs.end) {
                finish(i..i + 1, axis.there(i));
            }
            finish(whole.clone(), axis.len);
        }
    }
}
