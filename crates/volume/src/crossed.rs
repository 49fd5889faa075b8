//! The last two passes in the other order, where grouping does not matter and the last one goes along lines: a row is
//! converted, padded and joined along itself once, and the results lie in a [`Ring`] from which the pass across rows makes
//! the output at once. So nothing is written between the passes but what the level-1 cache holds.
//!
//! Voxels that do not exist are filled in: no window is incomplete.

use crate::fold::{GROUP, Rule};
use crate::levels::{Level, SHORT_ROW};
use crate::lines::LINE;
use crate::load::Load;
use crate::ring::{self, Ring};
use crate::separable::{Out, Planes, Rows, Separable};
use crate::{Meter, Scratch, VolumeError};
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

/// Elements of joined rows, at most: with more of them, longer windows are read where they lie.
pub(crate) const MOST: usize = 1 << 16;
/// Two neighbours are made at a time from windows of so many rows, and four from longer ones.
const PAIRS: usize = 7;

/// Elements of a ring of joined rows of `row` elements, for windows of `len` rows.
fn joined_elems(len: usize, row: usize) -> usize {
    (len + GROUP - 1) * ring::step(row)
}

/// Elements that crossed passes take, at most, in windows of `len` rows of up to `row` elements and windows of `along`
/// elements. Short rows are not crossed.
pub(crate) fn most(len: usize, row: usize, along: usize) -> usize {
    if row < SHORT_ROW {
        return 0;
    }
    let (line, parts) = (row.saturating_add(along), LINE.min(row) + along);
    joined_elems(len, row.min(MOST)).min(MOST) + line + parts
}

/// Buffers of crossed passes.
pub(crate) struct Crossed<W> {
    ring: Scratch<W>,
    /// A padded line.
    line: Scratch<W>,
    /// Windows of a part of their points.
    parts: Scratch<W>,
}

impl<W: Pod> Crossed<W> {
    /// Buffers for passes across rows and along them.
    pub(crate) fn new(
        meter: &Arc<Meter>,
        (across, along): (&Level<W>, &Level<W>),
    ) -> Result<Crossed<W>, VolumeError> {
        let row = along.n_out;
        Ok(Crossed {
            ring: Scratch::new(meter, joined_elems(across.len, row))?,
            line: Scratch::new(meter, along.places.len())?,
            parts: Scratch::new(meter, LINE.min(row) + along.len)?,
        })
    }
}

impl<R: Rule> Separable<'_, R> {
    /// True if these passes, across rows and along them, are crossed.
    pub(crate) fn crosses(&self, across: &Level<R::W>, along: &Level<R::W>) -> bool {
        self.rule.commutes()
            && across.row >= SHORT_ROW
            && (along.row, along.outer) == (1, 1)
            && along.n_out > 0
            && along.all_rows().is_some()
            && joined_elems(across.len, along.n_out) <= MOST
    }

    /// The number that stands for a voxel that does not exist, before the pass across rows.
    fn nothing(&self, across: &Level<R::W>) -> R::W {
        let others: Vec<usize> = (1..across.len).collect();
        (self.edge_taps)(across.pass, &others).bias[0]
    }

    /// The outputs `range` across rows.
    pub(crate) fn crossed<S: Pod, L: Load<S, R::W>>(
        &self,
        (across, along, range): (&Level<R::W>, &Level<R::W>, Range<usize>),
        source: &Planes<'_, S>,
        load: L,
        out: &mut Out<'_>,
        space: &mut Crossed<R::W>,
    ) {
        let nothing = self.nothing(across);
        let (row, bytes) = (along.n_out, along.n_out * self.out_size);
        let most = if across.len <= PAIRS { 2 } else { GROUP };
        let (line, parts) = (space.line.get_mut(), space.parts.get_mut());
        let line = &mut line[..along.places.len()];
        let mut ring = Ring::new(space.ring.get_mut(), across.len + GROUP - 1, row);
        let mut i = range.start;
        while i < range.end {
            let count = if i + most <= range.end { most } else { 1 };
            let wanted = i..i + across.len + count - 1;
            ring.advance(wanted.clone(), &across.places, |number, to| {
                fill(along, line, nothing, |to| match number {
                    Some(number) => source.convert(number, load, to),
                    None => to.fill(nothing),
                });
                for at in (0..row).step_by(LINE) {
                    let end = (at + LINE).min(row);
                    let line = &line[at..end + along.len - 1];
                    self.windows((|_| line, 1), along, parts, &mut [&mut to[at..end]]);
                }
            });
            let rows: Rows<'_, R::W> = wanted.map(|at| ring.at(at)).collect();
            let done = i - range.start;
            let mut outs = out.places(done..done + count, bytes);
            self.rule.finish(across.pass, &rows, &mut outs);
            i += count;
        }
    }
}

/// Fills a padded line: `rows` gives what exists, and margins are copies or `nothing`.
fn fill<W: Copy>(along: &Level<W>, line: &mut [W], nothing: W, rows: impl FnOnce(&mut [W])) {
    let start = along.all_rows().unwrap_or(0);
    let end = start + along.n_in;
    rows(&mut line[start..end]);
    for at in (0..start).chain(end..line.len()) {
        line[at] = along
            .places
            .row(at)
            .map_or(nothing, |row| line[start + row]);
    }
}
