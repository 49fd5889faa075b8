//! Ranks in large boxes of bytes: a histogram of every column of the box, kept from row to row, and one of the
//! window, kept from voxel to voxel. The cost of a voxel hardly depends on the size of the window.
//!
//! Histograms are cumulative, in two levels: how many values lie below each multiple of 16, and within each 16
//! below each value. So a rank is found by counting. The lower level of the window is only kept where the rank
//! was last.
//!
//! Source: S. Perreault and P. Hebert, Median filtering in constant time, 2007.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::ops::Neighbourhood;
use arrayloom_cpu::{Wide, wide};

/// How many values are not above each of 16: four counts of 16 bits in a word, of which the highest bit is free.
type Counts = [u64; 4];

/// Most points of a box.
const MOST: usize = 0x7FFF;
/// One in each count of a word.
const ONES: u64 = 0x0001_0001_0001_0001;

/// Voxels of a row at a time: the histograms of their columns fit a level-2 cache.
const STRIP: usize = 256;
/// Bytes of the histograms of a column.
const COLUMN: usize = 17 * size_of::<Counts>();
const ALIGNMENT: usize = align_of::<u64>();

/// What a value adds to counts.
const FROM: [Counts; 16] = {
    let mut from = [[0; 4]; 16];
    let mut i = 0;
    while i < 256 {
        let (value, place) = (i / 16, i % 16);
        if place >= value {
            from[value][place / 4] |= 1 << (16 * (place % 4));
        }
        i += 1;
    }
    from
};

/// A box of at least two axes: columns go across all but the last one.
#[derive(Clone, Debug)]
pub(crate) struct Histograms {
    rank: u64,
    /// Points along the last axis, and along the one before.
    lens: [usize; 2],
}

impl Histograms {
    /// For the value of `rank` in `window`, if that is a box for which this is the quickest way.
    pub(crate) fn of(window: &Neighbourhood, rank: usize) -> Option<Histograms> {
        let points = window.points.len();
        let lens: Vec<usize> = window.axes.iter().map(|a| a.len).collect();
        let [.., before, last] = lens[..] else {
            return None;
        };
        let whole = lens.iter().product::<usize>() == points && points <= MOST;
        // A step to the next row changes two faces of each column; the others count all points bit by bit.
        let changed = 2 * points / (before * last);
        let quick = whole && 30 + 12 * changed < points;
        quick.then_some(Histograms {
            rank: rank as u64,
            lens: [last, before],
        })
    }

    /// Bytes of working memory for a tile with this many voxels in a row.
    pub(crate) fn work(&self, row: usize) -> usize {
        (row.min(STRIP) + self.lens[0] - 1) * COLUMN + ALIGNMENT
    }

    /// Bytes of the values of all windows of a tile, row by row. `offsets` are the places of the points of a
    /// window, `bases` those of the first window of each row; after every `run` rows columns begin anew.
    pub(crate) fn tile(
        &self,
        tile: &[u8],
        (offsets, bases, run): (&[usize], &[usize], usize),
        work: &mut [u8],
        out: &mut [u8],
    ) {
        let [len, rows] = self.lens;
        let column: Vec<usize> = offsets.iter().copied().step_by(len).collect();
        let face = |which: usize| -> Vec<usize> {
            column.iter().copied().skip(which).step_by(rows).collect()
        };
        let skipped = work.as_ptr().align_offset(ALIGNMENT).min(work.len());
        let bytes = (work.len() - skipped) / COLUMN * COLUMN;
        wide(Tile {
            of: self,
            data: tile,
            bases,
            run,
            gone: &face(0),
            new: &face(rows - 1),
            column: &column,
            work: bytemuck::cast_slice_mut(&mut work[skipped..skipped + bytes]),
            out,
        });
    }
}

struct Tile<'a> {
    of: &'a Histograms,
    data: &'a [u8],
    bases: &'a [usize],
    run: usize,
    column: &'a [usize],
    gone: &'a [usize],
    new: &'a [usize],
    work: &'a mut [Counts],
    out: &'a mut [u8],
}

#[inline(always)]
fn add(counts: &mut Counts, more: &Counts) {
    for i in 0..4 {
        counts[i] = counts[i].wrapping_add(more[i]);
    }
}

#[inline(always)]
fn subtract(counts: &mut Counts, less: &Counts) {
    for i in 0..4 {
        counts[i] = counts[i].wrapping_sub(less[i]);
    }
}

/// How many counts do not exceed `rank`: where the value with so many lower ones is.
#[inline(always)]
fn place(counts: &Counts, rank: u64) -> u64 {
    // The highest bit of a count stays where `rank` is not smaller.
    let ranks = (rank + 0x8000) * ONES;
    let mut places = 0;
    for count in counts {
        places += (ranks.wrapping_sub(*count) >> 15) & ONES;
    }
    places.wrapping_mul(ONES) >> 48
}

/// One count.
#[inline(always)]
fn count(counts: &Counts, place: usize) -> u64 {
    (counts[place / 4 % 4] >> (16 * (place % 4))) & 0xFFFF
}

/// The histograms of the columns of a strip.
struct Columns<'a> {
    coarse: &'a mut [Counts],
    /// For each 16 values, those of all columns.
    fine: &'a mut [Counts],
}

impl Columns<'_> {
    #[inline(always)]
    fn put(&mut self, values: &[u8]) {
        let count = self.coarse.len();
        for (c, &value) in values[..count].iter().enumerate() {
            let (high, low) = (usize::from(value >> 4), usize::from(value & 15));
            add(&mut self.coarse[c], &FROM[high]);
            add(&mut self.fine[high * count + c], &FROM[low]);
        }
    }

    #[inline(always)]
    fn take(&mut self, values: &[u8]) {
        let count = self.coarse.len();
        for (c, &value) in values[..count].iter().enumerate() {
            let (high, low) = (usize::from(value >> 4), usize::from(value & 15));
            subtract(&mut self.coarse[c], &FROM[high]);
            subtract(&mut self.fine[high * count + c], &FROM[low]);
        }
    }

    /// The values of `rank` in all windows of `len` columns.
    #[inline(always)]
    fn row(&self, len: usize, rank: u64, out: &mut [u8]) {
        let columns = self.coarse.len();
        let mut all = [0; 4];
        self.coarse[..len].iter().for_each(|c| add(&mut all, c));
        // For each 16 values the counts of the columns in front of `until`, if it is not zero.
        let (mut counts, mut until) = ([[0; 4]; 16], [0; 16]);
        for (at, out) in out.iter_mut().enumerate() {
            let end = at + len;
            if at > 0 {
                add(&mut all, &self.coarse[end - 1]);
                subtract(&mut all, &self.coarse[at - 1]);
            }
            let found = place(&all, rank) & 15;
            let high = usize::try_from(found).unwrap_or(0);
            let below = if high > 0 { count(&all, high - 1) } else { 0 };
            let columns = &self.fine[high * columns..(high + 1) * columns];
            let (counts, until) = (&mut counts[high], &mut until[high]);
            if *until > 0 && 2 * (end - *until) < len {
                for c in *until..end {
                    add(counts, &columns[c]);
                    subtract(counts, &columns[c - len]);
                }
            } else {
                *counts = [0; 4];
                columns[at..end].iter().for_each(|c| add(counts, c));
            }
            *until = end;
            let low = place(counts, rank - below);
            *out = u8::try_from(16 * found + low).unwrap_or(u8::MAX);
        }
    }
}

impl Tile<'_> {
    /// Moves columns from the row whose first window is at `before` to the one at `at`, or begins anew.
    #[inline(always)]
    fn step(&self, columns: &mut Columns<'_>, before: Option<usize>, at: usize) {
        let Some(before) = before else {
            columns.coarse.fill([0; 4]);
            columns.fine.fill([0; 4]);
            for &point in self.column {
                columns.put(&self.data[at + point..]);
            }
            return;
        };
        for (&gone, &new) in self.gone.iter().zip(self.new) {
            columns.take(&self.data[before + gone..]);
            columns.put(&self.data[at + new..]);
        }
    }
}

impl Wide for Tile<'_> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let len = self.of.lens[0];
        let (work, out) = (
            std::mem::take(&mut self.work),
            std::mem::take(&mut self.out),
        );
        let row = out.len() / self.bases.len().max(1);
        for first in (0..row).step_by(STRIP) {
            let width = STRIP.min(row - first);
            let count = width + len - 1;
            let (coarse, rest) = work.split_at_mut(count);
            let fine = &mut rest[..16 * count];
            let mut columns = Columns { coarse, fine };
            for (number, &base) in self.bases.iter().enumerate() {
                let before = number.checked_sub(1).filter(|_| number % self.run != 0);
                self.step(
                    &mut columns,
                    before.map(|b| self.bases[b] + first),
                    base + first,
                );
                let to = number * row + first;
                columns.row(len, self.of.rank, &mut out[to..to + width]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::ops::WindowAxis;

    fn window(lens: &[usize]) -> Neighbourhood {
        let axis = |&len: &usize| WindowAxis {
            len,
            before: 0,
            mode: Mode::Reflect,
        };
        let axes = lens.iter().map(axis).collect();
        Neighbourhood::new(axes, &vec![true; lens.iter().product()]).unwrap()
    }

    #[test]
    fn ranks_are_those_of_sorted_windows() {
        for (lens, extents) in [
            (vec![17, 15], vec![5, 300]),
            (vec![31, 9], vec![3, 1]),
            (vec![5, 13, 17], vec![2, 3, 40]),
        ] {
            let window = window(&lens);
            let padded: Vec<usize> = lens.iter().zip(&extents).map(|(a, b)| a + b - 1).collect();
            let step = |d: usize| padded[d + 1..].iter().product::<usize>();
            let place = |p: &[usize]| (0..p.len()).map(|d| p[d] * step(d)).sum::<usize>();
            let tile: Vec<u8> = (0..padded.iter().product::<usize>() as u64)
                .map(|i| ((i * i * 2_654_435_761) >> 9).to_le_bytes()[0] / 3 * (1 + (i % 2) as u8))
                .collect();
            let offsets: Vec<usize> = window.points.iter().map(|p| place(p)).collect();
            let last = lens.len() - 1;
            let rows: usize = extents[..last].iter().product();
            let base = |row: usize| {
                let (a, b) = (row / extents[last - 1], row % extents[last - 1]);
                b * step(last - 1) + if last > 1 { a * step(0) } else { 0 }
            };
            let bases: Vec<usize> = (0..rows).map(base).collect();
            let points = offsets.len();
            for rank in [0, 3, points / 2, points - 1] {
                let found = Histograms::of(&window, rank).unwrap();
                let mut work = vec![7; found.work(extents[last])];
                let mut out = vec![0; rows * extents[last]];
                let places = (&offsets[..], &bases[..], extents[last - 1]);
                found.tile(&tile, places, &mut work, &mut out);
                for (i, &out) in out.iter().enumerate() {
                    let at = bases[i / extents[last]] + i % extents[last];
                    let mut values: Vec<u8> = offsets.iter().map(|o| tile[at + o]).collect();
                    values.sort_unstable();
                    assert_eq!(out, values[rank], "{lens:?} {rank} {i}");
                }
            }
        }
    }

    #[test]
    fn small_windows_and_other_shapes_go_another_way() {
        assert!(Histograms::of(&window(&[3, 3]), 4).is_none());
        assert!(Histograms::of(&window(&[900]), 4).is_none());
        let mut holes = window(&[31, 31]);
        holes.points.pop();
        assert!(Histograms::of(&holes, 400).is_none());
    }
}
