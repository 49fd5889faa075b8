//! The last two passes in the other order, where grouping does not matter and the last one goes along lines: a row is
//! converted, padded and joined along itself once, and the results lie in a [`Ring`] from which the pass across rows makes
//! the output at once. So nothing is written between the passes but what the level-1 cache holds. Several rows are made
//! at a time, and share what a call costs. Windows of 3 x 3 points are joined as a whole, from rows that are padded and no
//! more: all that neighbours have in common stays in registers.
//!
//! Voxels that do not exist are filled in: no window is incomplete.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::around::Piece;
use crate::fold::{GROUP, Rule};
use crate::joined::{Both, Join, Merge, merged_here, stored_here};
use crate::levels::{Level, SHORT_ROW};
use crate::lines::LINE;
use crate::load::Load;
use crate::places::Places;
use crate::ring::{self, Ring};
use crate::separable::{Out, Planes, Separable};
use crate::store::Store;
use crate::strips::{Strips, here, strip, strip_mut};
use crate::{Meter, Scratch, VolumeError};
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Elements of joined rows, at most: with more of them, longer windows are read where they lie.
pub(crate) const MOST: usize = 1 << 16;
/// Of numbers of four bytes and more, two neighbours are made at a time from windows of so many rows, and four from
/// longer ones.
const PAIRS: usize = 7;
/// Rows that are made at a time, at most.
pub(crate) const BATCH: usize = 16;

/// Rows of numbers of so many bytes that are made at a time: those of a thousand numbers fit a level-1 cache.
const fn batch(size: usize) -> usize {
    match size {
        1 => BATCH,
        2 => BATCH / 2,
        _ => BATCH / 4,
    }
}

/// Elements of a ring of joined rows of `row` elements of `size` bytes, for windows of `len` rows.
fn joined_elems(len: usize, row: usize, size: usize) -> usize {
    (len + batch(size) - 1) * ring::step(row)
}

/// Elements of `size` bytes that crossed passes take, at most, in windows of `len` rows of up to `row` elements and
/// windows of `along` elements. Short rows are not crossed.
pub(crate) fn most(len: usize, row: usize, along: usize, size: usize) -> usize {
    if row < SHORT_ROW {
        return 0;
    }
    if are_near(len, along) {
        return joined_elems(len, padded_row(row.min(MOST) + along), size).min(MOST);
    }
    let line = row.saturating_add(along + spare(size));
    let parts = LINE.min(row) + along;
    joined_elems(len, row.min(MOST), size).min(MOST) + line + parts
}

/// True if windows of so many rows and points along them are joined as a whole.
pub(crate) fn are_near(across: usize, along: usize) -> bool {
    (across, along) == (NEAR, NEAR)
}

/// Points of such windows along an axis.
const NEAR: usize = 3;

/// Elements that a padded line of so many takes in a ring, where each begins with a line of the cache.
fn padded_row(len: usize) -> usize {
    len.next_multiple_of(LINE_BYTES)
}

/// Elements of a row of the ring.
fn ring_row<W>(across: &Level<W>, along: &Level<W>) -> usize {
    if are_near(across.len, along.len) {
        padded_row(along.places.len())
    } else {
        along.n_out
    }
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
        let ring = joined_elems(across.len, ring_row(across, along), size_of::<W>());
        let (line, parts) = if are_near(across.len, along.len) {
            (0, 0)
        } else {
            let line = along.places.len() + spare(size_of::<W>());
            (line, LINE.min(row) + along.len)
        };
        Ok(Crossed {
            ring: Scratch::new(meter, ring)?,
            line: Scratch::new(meter, line)?,
            parts: Scratch::new(meter, parts)?,
        })
    }
}

/// Rows that become numbers, and are padded.
struct Padded<'a, S, W, L> {
    source: &'a Planes<'a, S>,
    load: L,
    /// The rows at coordinates of the axis across them.
    places: &'a Places,
    margins: Margins,
    /// What stands for voxels that do not exist: across rows, and along them.
    outside: [W; 2],
}

impl<S: Pod, W: Pod, L: Load<S, W>> Padded<'_, S, W, L> {
    /// Writes the row at a coordinate to a line.
    fn fill(&self, at: usize, line: &mut [W]) {
        let row = self.places.row(at);
        wide(Filling {
            row: row.map(|row| &self.source.data[0][row * self.source.row..]),
            pieces: self.source.pieces,
            load: self.load,
            nothing: self.outside[0],
            numbers: &mut line[self.margins.row.clone()],
        });
        self.margins.fill(line, self.outside[1]);
    }
}

/// Padded rows that are joined along themselves.
pub(crate) struct Along<'a, 'w, S, W, L> {
    rows: &'a Padded<'a, S, W, L>,
    /// Which ones: those at some coordinates of the axis across them.
    at: Range<usize>,
    windows: &'a Level<W>,
    /// Room for a padded line and [`spare`] elements.
    line: &'a mut [W],
    parts: &'a mut [W],
    ring: &'a mut Ring<'w, W>,
}

/// What stands around a row in a padded line.
struct Margins {
    /// Elements of the line.
    padded: usize,
    /// The row in it.
    row: Range<usize>,
    /// The places around it, and the elements of the row that stand there.
    around: SmallVec<[(usize, Option<usize>); 16]>,
}

impl Margins {
    fn new<W>(level: &Level<W>) -> Margins {
        let start = level.all_rows().unwrap_or(0);
        let row = start..start + level.n_in;
        let around = (0..row.start).chain(row.end..level.places.len());
        Margins {
            padded: level.places.len(),
            around: around.map(|at| (at, level.places.row(at))).collect(),
            row,
        }
    }

    /// Room for a padded line whose row begins with a line of the cache.
    #[inline(always)]
    fn line<'l, W>(&self, space: &'l mut [W]) -> &'l mut [W] {
        let skipped = space[self.row.start..].as_ptr().align_offset(LINE_BYTES);
        let skipped = skipped.min(space.len() - self.padded);
        &mut space[skipped..skipped + self.padded]
    }

    /// Fills what stands around the row of a line.
    #[inline(always)]
    fn fill<W: Copy>(&self, line: &mut [W], beside: W) {
        for &(to, from) in &self.around {
            line[to] = from.map_or(beside, |from| line[self.row.start + from]);
        }
    }
}

/// Bytes of a line of the cache: rows begin with one.
const LINE_BYTES: usize = 64;

/// Elements that lie unused where rows begin with a line of the cache.
fn spare(size: usize) -> usize {
    LINE_BYTES / size
}

impl<S: Pod, W: Pod, L: Load<S, W>> Along<'_, '_, S, W, L> {
    /// Joins them in this way.
    pub(crate) fn join(self, how: impl Join<W>) {
        let line = self.rows.margins.line(self.line);
        for at in self.at {
            self.rows.fill(at, line);
            wide(Joining {
                how,
                line,
                level: self.windows,
                parts: self.parts,
                out: self.ring.at_mut(at),
            });
        }
    }
}

/// Pieces of a row that become numbers, or nothing of one that does not exist.
struct Filling<'a, S, W, L> {
    row: Option<&'a [S]>,
    pieces: &'a [Piece],
    load: L,
    nothing: W,
    numbers: &'a mut [W],
}

impl<S: Pod, W: Pod, L: Load<S, W>> Wide for Filling<'_, S, W, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let Some(row) = self.row else {
            self.numbers.fill(self.nothing);
            return;
        };
        for piece in self.pieces {
            let from = &row[piece.from..piece.from + piece.len];
            self.load
                .row(from, &mut self.numbers[piece.at..][..piece.len]);
        }
    }
}

/// Full windows along a padded line. Long ones are joined from windows of a part of their points.
struct Joining<'a, W, J> {
    how: J,
    line: &'a [W],
    level: &'a Level<W>,
    parts: &'a mut [W],
    out: &'a mut [W],
}

impl<W: Pod, J: Join<W>> Wide for Joining<'_, W, J> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (how, len) = (self.how, self.level.len);
        let part = self.level.part.unwrap_or(1);
        let whole = len / part * part;
        for (first, out) in (0..).step_by(LINE).zip(self.out.chunks_mut(LINE)) {
            let line = &self.line[first..first + out.len() + len - 1];
            let mut some = line;
            if part > 1 {
                let parts = &mut self.parts[..out.len() + whole - part];
                here(Line {
                    how,
                    some: (line, part, 1),
                    others: (line, 0..0),
                    out: parts,
                });
                some = parts;
            }
            here(Line {
                how,
                some: (some, len / part, part),
                others: (line, whole..len),
                out,
            });
        }
    }
}

/// Windows along lines.
struct Line<'a, W, J> {
    how: J,
    /// A line, how many of its numbers are joined, and how far they lie apart.
    some: (&'a [W], usize, usize),
    /// Another one, and the neighbours that are joined with them.
    others: (&'a [W], Range<usize>),
    out: &'a mut [W],
}

impl<W: Pod, J: Join<W>> Strips for Line<'_, W, J> {
    const BYTES: usize = size_of::<W>();

    #[inline(always)]
    fn elems(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let (line, count, step) = self.some;
        let mut all: [W; N] = *strip(line, at);
        for place in (1..count).map(|k| at + k * step) {
            all = self.how.join(all, *strip(line, place));
        }
        for place in self.others.1.clone() {
            all = self.how.join(all, *strip(self.others.0, at + place));
        }
        *strip_mut(self.out, at) = all;
    }
}

/// Rows of which `ALONG` neighbours are joined: one, where that is done, or all points of a window along them.
pub(crate) struct Across<'a, 'w, 'o, W, const ALONG: usize> {
    /// Rows of a window.
    len: usize,
    ring: &'a Ring<'w, W>,
    /// The coordinate of the first one.
    first: usize,
    outs: &'a mut [&'o mut [u8]],
}

/// Padded rows of windows that are joined as a whole.
pub(crate) type Near<'a, 'w, 'o, W> = Across<'a, 'w, 'o, W, NEAR>;

impl<'a, 'o, W: Pod, const ALONG: usize> Across<'a, '_, 'o, W, ALONG> {
    /// Joins windows in this way, into elements.
    pub(crate) fn join(self, how: impl Join<W>, store: impl Store<W>) {
        wide(Finishing {
            rows: self,
            how,
            store,
        });
    }

    /// Joins them in two ways, into elements.
    pub(crate) fn join_both(self, both: Both<impl Join<W>, impl Join<W>>, merge: impl Merge<W>) {
        wide(Merging {
            rows: self,
            both,
            merge,
        });
    }

    /// All rows, and the outputs.
    fn parts<To: Pod>(self) -> (Rows<'a, W>, OutsOf<'a, To>)
    where
        'o: 'a,
    {
        let read = self.first..self.first + self.outs.len() + self.len - 1;
        let outs = self.outs.iter_mut();
        (
            read.map(|at| self.ring.at(at)).collect(),
            outs.map(|out| bytemuck::cast_slice_mut(out)).collect(),
        )
    }

    /// The outputs, as many at a time as share rows, and the last ones by themselves.
    fn groups(&self) -> impl Iterator<Item = Range<usize>> + use<W, ALONG> {
        let pairs = size_of::<W>() >= 4 && self.len <= PAIRS && ALONG == 1;
        let (count, most) = (self.outs.len(), if pairs { 2 } else { GROUP });
        let whole = count / most * most;
        let groups = (0..whole).step_by(most).map(move |at| at..at + most);
        groups.chain((whole..count).map(|at| at..at + 1))
    }
}

type Rows<'a, W> = SmallVec<[&'a [W]; 2 * BATCH]>;
type OutsOf<'a, To> = SmallVec<[&'a mut [To]; BATCH]>;

struct Finishing<'a, 'w, 'o, W, J, E, const ALONG: usize> {
    rows: Across<'a, 'w, 'o, W, ALONG>,
    how: J,
    store: E,
}

impl<W: Pod, J: Join<W>, E: Store<W>, const ALONG: usize> Wide
    for Finishing<'_, '_, '_, W, J, E, ALONG>
{
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (groups, len) = (self.rows.groups(), self.rows.len);
        let (rows, mut outs) = self.rows.parts();
        for group in groups {
            let read = &rows[group.start..group.end + len - 1];
            stored_here::<W, J, E, ALONG>(self.how, len, read, self.store, &mut outs[group]);
        }
    }
}

struct Merging<'a, 'w, 'o, W, A, B, M, const ALONG: usize> {
    rows: Across<'a, 'w, 'o, W, ALONG>,
    both: Both<A, B>,
    merge: M,
}

impl<W: Pod, A: Join<W>, B: Join<W>, M: Merge<W>, const ALONG: usize> Wide
    for Merging<'_, '_, '_, W, A, B, M, ALONG>
{
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let (groups, len) = (self.rows.groups(), self.rows.len);
        let (rows, mut outs) = self.rows.parts();
        for group in groups {
            let read = &rows[group.start..group.end + len - 1];
            merged_here::<W, A, B, M, ALONG>(self.both, len, read, self.merge, &mut outs[group]);
        }
    }
}

impl<R: Rule> Separable<'_, R> {
    /// True if these passes, across rows and along them, are crossed.
    pub(crate) fn crosses(&self, across: &Level<R::W>, along: &Level<R::W>) -> bool {
        self.rule.crosses(across.pass, along.pass)
            && across.row >= SHORT_ROW
            && (along.row, along.outer) == (1, 1)
            && along.n_out > 0
            && along.all_rows().is_some()
            && joined_elems(across.len, ring_row(across, along), size_of::<R::W>()) <= MOST
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
        let (size, bytes) = (batch(size_of::<R::W>()), along.n_out * self.out_size);
        let rows = Padded {
            source,
            load,
            places: &across.places,
            margins: Margins::new(along),
            outside: [across, along].map(|level| self.rule.outside(level.pass, across.pass)),
        };
        let (near, row) = (are_near(across.len, along.len), ring_row(across, along));
        let mut ring = Ring::new(space.ring.get_mut(), across.len + size - 1, row);
        for first in range.clone().step_by(size) {
            let end = (first + size).min(range.end);
            let new = ring.entering(first..end + across.len - 1);
            let mut outs = out.places(first - range.start..end - range.start, bytes);
            if near {
                for at in new {
                    rows.fill(at, &mut ring.at_mut(at)[..rows.margins.padded]);
                }
                self.rule.near(Across {
                    len: across.len,
                    ring: &ring,
                    first,
                    outs: &mut outs,
                });
                continue;
            }
            self.rule.along(Along {
                rows: &rows,
                at: new,
                windows: along,
                line: space.line.get_mut(),
                parts: space.parts.get_mut(),
                ring: &mut ring,
            });
            self.rule.across(Across {
                len: across.len,
                ring: &ring,
                first,
                outs: &mut outs,
            });
        }
    }
}
