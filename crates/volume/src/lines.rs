//! The last pass of a separable filter along short rows, mostly single elements: padded lines, shifted against
//! themselves. Long windows are joined from windows of a part of their points, where grouping does not matter.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::fold::{GROUP, Rule};
use crate::levels::Level;
use crate::load::{Load, Plain};
use crate::places::Run;
use crate::separable::{Out, Planes, Rows, RowsMut, Separable, Work};
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;
use std::ops::Range;

/// Elements of a padded line that are filtered at a time; a few of them fit a level-1 cache.
pub(crate) const LINE: usize = 4096;

/// Padded lines of the last pass: `count` for each channel, one behind the other.
pub(crate) struct Lines<'a, W> {
    pub(crate) data: &'a mut [W],
    pub(crate) count: usize,
    /// Where the rows of the axis begin in a line.
    pub(crate) start: usize,
}

/// Elements of a channel that the last pass makes at a time, at most, along lines of so many.
pub(crate) fn most_results(padded: usize) -> usize {
    LINE.min(GROUP * padded)
}

impl<R: Rule> Separable<'_, R> {
    /// The last pass along lines that have all rows of the axis; what stands around them is filled in. Line `m`
    /// gives output `done + m`. Windows across two lines are computed with the others, for nobody.
    pub(crate) fn along(
        &self,
        level: &Level<R::W>,
        lines: Lines<'_, R::W>,
        work: &mut [R::W],
        (out, done): (&mut Out<'_>, usize),
    ) {
        let Lines { data, count, start } = lines;
        let padded = level.places.len();
        for line in data.chunks_exact_mut(padded) {
            let margins = (0..start).chain(start + level.n_in..padded);
            for at in margins {
                if let Some(row) = level.places.row(at) {
                    line[at] = line[start + row];
                }
            }
        }
        let (data, bytes) = (&*data, level.n_out * self.out_size);
        let channels = self.rule.channels(level.pass + 1);
        let (results, parts) = work.split_at_mut(channels * most_results(padded));
        let together = (LINE / padded).clamp(1, count);
        let together = if self.plain { 1 } else { together };
        for first in (0..count).step_by(together) {
            let lines = first..(first + together).min(count);
            for at in (0..level.n_out).step_by(LINE) {
                let wanted = at..(at + LINE).min(level.n_out);
                let place = wanted.start * self.out_size..wanted.end * self.out_size;
                let to = &mut out.place(done + first, bytes)[place.clone()];
                if let (true, Ok(to)) = (self.plain, bytemuck::try_cast_slice_mut(to)) {
                    self.piece(level, (data, count), (&lines, &wanted), (&mut [to], parts));
                    continue;
                }
                let span = (lines.len() - 1) * padded + wanted.len();
                let made = results.chunks_exact_mut(span).take(channels);
                let mut outs: RowsMut<'_, R::W> = made.collect();
                self.piece(level, (data, count), (&lines, &wanted), (&mut outs, parts));
                for (m, line) in lines.clone().enumerate() {
                    let each = outs.iter().map(|r| &r[m * padded..][..wanted.len()]);
                    let rows: Rows<'_, R::W> = each.collect();
                    let to = &mut out.place(done + line, bytes)[place.clone()];
                    (self.emit)(&rows, to);
                }
            }
        }
    }

    /// Outputs `wanted` of some lines, of `count` for each channel.
    fn piece(
        &self,
        level: &Level<R::W>,
        (data, count): (&[R::W], usize),
        (lines, wanted): (&Range<usize>, &Range<usize>),
        (outs, parts): (&mut [&mut [R::W]], &mut [R::W]),
    ) {
        let padded = level.places.len();
        let span = (lines.len() - 1) * padded + wanted.len();
        let channels = self.rule.channels(level.pass);
        let place = |c: usize, line: usize, at: usize| (c * count + line) * padded + at;
        let line = |c: usize| &data[place(c, lines.start, wanted.start)..][..span + level.len - 1];
        self.windows((line, channels), level, parts, outs);
        let mut rows: Rows<'_, R::W> = Rows::new();
        for (m, line) in lines.clone().enumerate() {
            for (i, edge) in level.faces_in(wanted.clone()) {
                rows.clear();
                for c in 0..channels {
                    let first = place(c, line, i);
                    rows.extend(edge.places.iter().map(|t| &data[first + t..][..1]));
                }
                let at = m * padded + i - wanted.start;
                let mut one: RowsMut<'_, R::W> = outs.iter_mut().map(|o| &mut o[at..=at]).collect();
                self.rule
                    .fold_edge(level.pass, edge, &rows, Plain, &mut one);
            }
        }
    }

    /// Full windows along a line of each channel.
    pub(crate) fn windows<'d>(
        &self,
        (line, channels): (impl Fn(usize) -> &'d [R::W], usize),
        level: &Level<R::W>,
        parts: &mut [R::W],
        outs: &mut [&mut [R::W]],
    ) where
        R::W: 'd,
    {
        if channels == 1 && self.rule.slide(level.pass, line(0), outs[0]) {
            return;
        }
        if self.in_parts((&line, channels), level, parts, outs) {
            return;
        }
        let span = outs[0].len();
        let mut rows: Rows<'_, R::W> = Rows::new();
        for c in 0..channels {
            let line = line(c);
            rows.extend((0..level.len).map(|t| &line[t..t + span]));
        }
        self.rule.fold(level.pass, &rows, Plain, outs);
    }

    /// Full windows along lines, as windows of a part of their points and what is left, where that takes fewer steps
    /// and the rule allows it.
    fn in_parts<'d>(
        &self,
        (line, channels): (&impl Fn(usize) -> &'d [R::W], usize),
        level: &Level<R::W>,
        parts: &mut [R::W],
        outs: &mut [&mut [R::W]],
    ) -> bool
    where
        R::W: 'd,
    {
        let Some(part) = level.part else {
            return false;
        };
        // What is joined of voxels is joined again, so it has to be of their kind.
        if self.rule.channels(level.pass + 1) != channels {
            return false;
        }
        let (n, span) = (level.len, outs[0].len());
        let len = span + n - part;
        let mut rows: Rows<'_, R::W> = Rows::new();
        for c in 0..channels {
            rows.extend((0..part).map(|t| &line(c)[t..t + len]));
        }
        let mut made: RowsMut<'_, R::W> = parts.chunks_exact_mut(len).take(channels).collect();
        if !self.rule.join(&rows, &mut made) {
            return false;
        }
        let mut rows: Rows<'_, R::W> = Rows::new();
        let whole = n / part * part;
        for (c, made) in made.iter().enumerate() {
            rows.extend((0..whole).step_by(part).map(|t| &made[t..t + span]));
            rows.extend((whole..n).map(|t| &line(c)[t..t + span]));
        }
        self.rule.join(&rows, outs)
    }

    /// The last pass along short rows.
    pub(crate) fn lines<S: Pod, L: Load<S, R::W>>(
        &self,
        (level, range): (&Level<R::W>, Range<usize>),
        source: &Planes<'_, S>,
        load: L,
        out: &mut [u8],
        work: &mut Work<R::W>,
    ) {
        let row = level.row;
        let piece = LINE / row.max(1) + 1;
        let mut at = range.start;
        while at < range.end && row > 0 {
            let count = piece.min(range.end - at);
            let made = self.made((level, at, count), source, load, work.line.get_mut());
            let results: Rows<'_, R::W> = made.chunks_exact(count * row).collect();
            let bytes = row * self.out_size;
            let skip = at - range.start;
            (self.emit)(&results, &mut out[skip * bytes..(skip + count) * bytes]);
            at += count;
        }
    }

    /// Channel by channel, `count` outputs of a pass along short rows, from `at` on: one padded line of rows, filled
    /// by copies.
    pub(crate) fn made<'w, S: Pod, L: Load<S, R::W>>(
        &self,
        (level, at, count): (&Level<R::W>, usize, usize),
        source: &Planes<'_, S>,
        load: L,
        space: &'w mut [R::W],
    ) -> &'w [R::W] {
        let row = level.row;
        let wanted = self.rule.channels(level.pass + 1);
        let mut rows: Vec<&[R::W]> = Vec::with_capacity(source.data.len() * level.len);
        let padded = (count + level.len - 1) * row;
        let (lines, rest) = space.split_at_mut(source.data.len() * padded);
        for (plane, line) in source.data.iter().zip(lines.chunks_exact_mut(padded)) {
            wide(Pad {
                runs: level.runs_in(at..at + count + level.len - 1),
                at,
                row,
                source: plane,
                planes: source,
                load,
                to: line,
            });
        }
        let lines = &*lines;
        let shifted = |line: usize, t: usize| &lines[line * padded + t * row..][..count * row];
        let result = &mut rest[..wanted * count * row];
        let mut outs: RowsMut<'_, R::W> = result.chunks_exact_mut(count * row).collect();
        let single = row == 1 && source.data.len() == 1;
        if !(single && self.rule.slide(level.pass, lines, outs[0])) {
            for line in 0..source.data.len() {
                rows.extend((0..level.len).map(|t| shifted(line, t)));
            }
            self.rule.fold(level.pass, &rows, Plain, &mut outs);
        }
        for (i, edge) in level.faces_in(at..at + count) {
            let i = i - at;
            rows.clear();
            for line in 0..source.data.len() {
                let place = |t: &usize| &lines[line * padded + (i + t) * row..][..row];
                rows.extend(edge.places.iter().map(place));
            }
            let each = outs.iter_mut().map(|o| &mut o[i * row..(i + 1) * row]);
            let mut outs: RowsMut<'_, R::W> = each.collect();
            self.rule
                .fold_edge(level.pass, edge, &rows, Plain, &mut outs);
        }
        drop(outs);
        result
    }
}

/// Copies runs of rows of a padded axis, from coordinate `at`; rows that do not exist keep what was there.
struct Pad<'a, R, S, W, L> {
    runs: R,
    at: usize,
    row: usize,
    source: &'a [S],
    /// Where rows lie in the source.
    planes: &'a Planes<'a, S>,
    load: L,
    to: &'a mut [W],
}

impl<R: Iterator<Item = Run>, S: Pod, W: Pod, L: Load<S, W>> Wide for Pad<'_, R, S, W, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (step, pieces) = (self.planes.row, self.planes.pieces);
        let whole = matches!(pieces, [p] if p.from == 0 && p.len == step && step == self.row);
        for run in self.runs {
            let len = run.at.len() * self.row;
            let to = &mut self.to[(run.at.start - self.at) * self.row..][..len];
            if whole {
                self.load.row(&self.source[run.row * step..][..len], to);
                continue;
            }
            for (row, to) in (run.row..).zip(to.chunks_exact_mut(self.row)) {
                for piece in pieces {
                    let from = &self.source[row * step + piece.from..][..piece.len];
                    self.load.row(from, &mut to[piece.at..piece.at + piece.len]);
                }
            }
        }
    }
}
