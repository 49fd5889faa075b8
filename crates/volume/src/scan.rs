//! Windows of rows, by a scan from cuts. An axis is cut at the multiples of the length of its windows, counted from the
//! beginning of the volume; so a window is the end of one part and the beginning of the next one. Ends are joined
//! backwards from the cuts, beginnings forwards, and both to windows: three steps for each voxel, whatever the length is
//! (M. van Herk, A fast algorithm for local minimum and maximum filters on rectangular and octagonal kernels, 1992).
//! Where a window is cut depends on its place in the volume alone, and nothing of a voxel reaches beyond the windows it
//! is in.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::boxes::{Union, each_strip};
use crate::strips::{Strips, strip_mut, strips};
use bytemuck::Pod;
use std::array;
use std::ops::Range;

/// A row of each number of a voxel.
pub(crate) type Row<'r, W, const C: usize> = [&'r mut [W]; C];

/// Writes some columns of the row at a coordinate of the padded axis.
pub(crate) type Reading<'r, W, const C: usize> =
    &'r dyn Fn(usize, &Range<usize>, &mut Row<'_, W, C>);

/// Takes some columns of a row of windows.
pub(crate) type Taking<'r, W, const C: usize> =
    &'r mut dyn FnMut(&Range<usize>, &mut Row<'_, W, C>);

/// Bytes of the columns that are taken through all steps at a time.
const PIECE: usize = 2048;

/// The windows along an axis, one after the other: those of all columns of a row.
pub(crate) struct Scan<'a, U, W, const C: usize> {
    union: &'a U,
    /// Rows of a window, two or more.
    len: usize,
    /// Elements of a row.
    wide: usize,
    /// The first row of the next window.
    next: usize,
    /// The first window of those that begin before a cut, and the row behind the cut.
    part: (usize, usize),
    /// Windows of the next part.
    ahead: usize,
    /// For each row before the cut what the rows from there on are joined to.
    ends: Row<'a, W, C>,
    /// What the rows behind the cut are joined to, if there are any, and how many those are.
    begin: (Row<'a, W, C>, usize),
    /// Some columns of a row, and of a window.
    new: Row<'a, W, C>,
    made: Row<'a, W, C>,
}

/// Elements of a scan over windows of `len` rows of `wide` elements, for each number of a voxel.
pub(crate) fn space<W>(len: usize, wide: usize) -> usize {
    (len + 1) * wide + 2 * piece::<W>(wide)
}

/// Columns that are taken through all steps at a time.
fn piece<W>(wide: usize) -> usize {
    (PIECE / size_of::<W>()).clamp(1, wide.max(1))
}

impl<'a, U: Union<W, C>, W: Pod, const C: usize> Scan<'a, U, W, C> {
    /// The windows of `len` rows of `wide` elements from row `next` on, which stands at a coordinate of the volume, in
    /// [`space`] for all numbers of a voxel.
    pub(crate) fn new(
        union: &'a U,
        (len, wide): (usize, usize),
        (next, coordinate): (usize, i64),
        space: &'a mut [W],
    ) -> Self {
        let (ends, space) = space.split_at_mut(C * len * wide);
        let (begin, space) = space.split_at_mut(C * wide);
        let (new, made) = space.split_at_mut(C * piece::<W>(wide));
        let n = i64::try_from(len).unwrap_or(i64::MAX);
        let before = usize::try_from((-coordinate).rem_euclid(n)).unwrap_or(0);
        // A window may begin at a cut.
        let ahead = if before == 0 { len } else { before };
        Scan {
            union,
            len,
            wide,
            next,
            part: (next, next),
            ahead,
            ends: rows(ends, len * wide),
            begin: (rows(begin, wide), 0),
            new: rows(new, piece::<W>(wide)),
            made: rows(made, piece::<W>(wide)),
        }
    }

    /// Makes the next window, of rows that are read.
    pub(crate) fn next(&mut self, read: Reading<'_, W, C>, take: Taking<'_, W, C>) {
        if self.next == self.part.1 {
            self.ends(read);
        }
        let (from, cut) = self.part;
        let (row, last) = (self.next, self.next + self.len - 1);
        self.next += 1;
        let done = last.checked_sub(cut);
        while done.is_some_and(|done| self.begin.1 < done) {
            self.append(read);
        }
        for columns in pieces::<W>(self.wide) {
            let end = (row - from) * self.wide;
            let end = end + columns.start..end + columns.end;
            let mut made = columns_of(&mut self.made, &(0..columns.len()));
            let Some(done) = done else {
                for (made, ends) in made.iter_mut().zip(&self.ends) {
                    made.copy_from_slice(&ends[end.clone()]);
                }
                take(&columns, &mut made);
                continue;
            };
            let mut begin = columns_of(&mut self.begin.0, &columns);
            let mut new = columns_of(&mut self.new, &(0..columns.len()));
            read(
                last,
                &columns,
                if done == 0 { &mut begin } else { &mut new },
            );
            strips(Window {
                union: self.union,
                end: (&self.ends, end.start, cut - row),
                begin: (&mut begin, done),
                new: &new,
                out: &mut made,
            });
            take(&columns, &mut made);
        }
        self.begin.1 += usize::from(done.is_some());
    }

    /// Goes to the next cut, and joins the rows before it.
    fn ends(&mut self, read: Reading<'_, W, C>) {
        let (wide, cut) = (self.wide, self.next + self.ahead);
        (self.part, self.ahead, self.begin.1) = ((self.next, cut), self.len, 0);
        for row in (self.next..cut).rev() {
            let at = (row - self.next) * wide;
            for columns in pieces::<W>(wide) {
                let here = at + columns.start..at + columns.end;
                read(row, &columns, &mut columns_of(&mut self.ends, &here));
                if row + 1 < cut {
                    strips(End {
                        union: self.union,
                        ends: &mut self.ends,
                        here,
                        wide,
                        rows: cut - 1 - row,
                    });
                }
            }
        }
    }

    /// Joins one row more to those behind the cut.
    fn append(&mut self, read: Reading<'_, W, C>) {
        let (begin, done) = &mut self.begin;
        let row = self.part.1 + *done;
        for columns in pieces::<W>(self.wide) {
            let mut begin = columns_of(begin, &columns);
            if *done == 0 {
                read(row, &columns, &mut begin);
                continue;
            }
            let mut new = columns_of(&mut self.new, &(0..columns.len()));
            read(row, &columns, &mut new);
            strips(Append {
                union: self.union,
                done: *done,
                begin: &mut begin,
                new: &new,
            });
        }
        *done += 1;
    }
}

/// The columns of a row that are taken through all steps at a time.
fn pieces<W>(wide: usize) -> impl Iterator<Item = Range<usize>> {
    let piece = piece::<W>(wide);
    let firsts = (0..wide).step_by(piece);
    firsts.map(move |first| first..(first + piece).min(wide))
}

/// The elements `range` of each row.
pub(crate) fn columns_of<'r, W, const C: usize>(
    rows: &'r mut Row<'_, W, C>,
    range: &Range<usize>,
) -> Row<'r, W, C> {
    let mut rows = rows.iter_mut().map(|row| &mut row[range.clone()]);
    array::from_fn(|_| rows.next().unwrap_or_default())
}

/// The rows of a buffer, one for each number of a voxel.
pub(crate) fn rows<W, const C: usize>(buffer: &mut [W], elems: usize) -> Row<'_, W, C> {
    let mut rows = buffer.chunks_exact_mut(elems.max(1)).take(C);
    array::from_fn(|_| rows.next().unwrap_or_default())
}

#[inline(always)]
fn set<W: Pod, const N: usize, const C: usize>(
    rows: &mut Row<'_, W, C>,
    at: usize,
    values: [[W; N]; C],
) {
    for c in 0..C {
        *strip_mut(rows[c], at) = values[c];
    }
}

/// Some columns of a row are joined with those behind it, of which there are `rows`.
struct End<'a, 'r, U, W, const C: usize> {
    union: &'a U,
    ends: &'a mut Row<'r, W, C>,
    here: Range<usize>,
    wide: usize,
    rows: usize,
}

impl<U: Union<W, C>, W: Pod, const C: usize> Strips for End<'_, '_, U, W, C> {
    const BYTES: usize = size_of::<W>();
    const ONCE: bool = true;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.here.len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let at = self.here.start + at;
        let row = each_strip::<W, N, C>(self.ends, at);
        let rest = each_strip(self.ends, at + self.wide);
        let joined = self.union.uneven((row, 1), (rest, self.rows));
        set(self.ends, at, joined);
    }
}

/// A row is joined to those before it, of which there are `done`.
struct Append<'a, 'r, U, W, const C: usize> {
    union: &'a U,
    done: usize,
    begin: &'a mut Row<'r, W, C>,
    new: &'a Row<'r, W, C>,
}

impl<U: Union<W, C>, W: Pod, const C: usize> Strips for Append<'_, '_, U, W, C> {
    const BYTES: usize = size_of::<W>();
    const ONCE: bool = true;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.new[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let begin = each_strip::<W, N, C>(self.begin, at);
        let new = each_strip(self.new, at);
        set(
            self.begin,
            at,
            self.union.uneven((begin, self.done), (new, 1)),
        );
    }
}

/// The same, and what comes of it is joined to the end before the cut: where it begins, and how many rows it has.
struct Window<'a, 'r, 'o, U, W, const C: usize> {
    union: &'a U,
    end: (&'a Row<'r, W, C>, usize, usize),
    begin: (&'a mut Row<'o, W, C>, usize),
    new: &'a Row<'o, W, C>,
    out: &'a mut Row<'o, W, C>,
}

impl<U: Union<W, C>, W: Pod, const C: usize> Strips for Window<'_, '_, '_, U, W, C> {
    const BYTES: usize = size_of::<W>();
    const ONCE: bool = true;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.new[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let (row, done) = &mut self.begin;
        let mut begin = each_strip::<W, N, C>(row, at);
        if *done > 0 {
            let new = each_strip(self.new, at);
            begin = self.union.uneven((begin, *done), (new, 1));
            set(row, at, begin);
        }
        let (ends, start, rows) = self.end;
        let end = each_strip(ends, start + at);
        let found = self.union.uneven((end, rows), (begin, *done + 1));
        set(self.out, at, found);
    }
}
