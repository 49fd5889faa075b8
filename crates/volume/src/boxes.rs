//! Windows of many points, by doubling: boxes of two points are joined from two neighbours, boxes of four from two boxes
//! of two, and so on; a window is joined from the boxes of the powers of two that make up its length. So it takes about
//! twice the logarithm of its length in steps. Which boxes are joined depends on the length alone: a voxel has the same
//! bits wherever it stands in a block, and nothing of a voxel reaches beyond the windows it is in.
#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::strips::{Strips, strip, strip_mut, strips};
use bytemuck::Pod;

/// How boxes of voxels become the box of both: of each the `C` numbers that stand for it.
pub(crate) trait Union<W, const C: usize>: Sync {
    /// True if a voxel may be in both boxes.
    const OVERLAPS: bool = false;

    /// The numbers of single voxels, whose values are in the first row.
    fn lift(&self, _numbers: &mut [&mut [W]; C]) {}

    /// Boxes of the same size.
    fn equal<const N: usize>(&self, a: [[W; N]; C], b: [[W; N]; C]) -> [[W; N]; C];

    /// Boxes of any sizes, given as numbers of voxels along the axis.
    #[inline(always)]
    fn uneven<const N: usize>(
        &self,
        (a, _): ([[W; N]; C], usize),
        (b, _): ([[W; N]; C], usize),
    ) -> [[W; N]; C] {
        self.equal(a, b)
    }

    /// What the numbers of windows become for the next pass, of which `there` voxels along the axis exist.
    fn finish(&self, _pass: usize, _there: usize, _numbers: &mut [&mut [W]; C]) {}
}

/// All windows of `n` rows of `wide` elements; what lines have is used up.
pub(crate) fn windows<'l, U: Union<W, C>, W: Pod, const C: usize>(
    union: &U,
    (n, wide): (usize, usize),
    lines: &mut [&'l mut [W]; C],
    results: &mut [&'l mut [W]; C],
) {
    let span = results[0].len();
    // The boxes of one power of two after the other; what the results have so far is behind their first rows.
    let (mut size, mut done, mut len) = (1, 0, lines[0].len());
    loop {
        let last = 2 * size > n;
        if U::OVERLAPS && last || n & size != 0 && !U::OVERLAPS {
            let offset = if U::OVERLAPS { n - size } else { done };
            let first = if U::OVERLAPS { Some(0) } else { None };
            strips(Collect {
                union,
                lines: &*lines,
                results,
                sizes: (done, size),
                offset: offset * wide,
                first,
                len: span,
            });
            done += size;
        }
        if last {
            return;
        }
        // Boxes that no window is joined from are not stored.
        let twice = 4 * size <= n && (U::OVERLAPS || n & (2 * size) == 0);
        let more = if twice { 3 * size } else { size };
        len -= more * wide;
        strips(Double {
            union,
            lines,
            shift: size * wide,
            twice,
            len,
        });
        size += more;
    }
}

/// As if numbers were half as long: more are computed at a time, since little is done with them.
const fn bytes<W>() -> usize {
    size_of::<W>().div_ceil(2)
}

/// `N` numbers of each row.
#[inline(always)]
pub(crate) fn each_strip<W: Pod, const N: usize, const C: usize>(
    rows: &[&mut [W]; C],
    at: usize,
) -> [[W; N]; C] {
    let mut all = [[W::zeroed(); N]; C];
    for c in 0..C {
        all[c] = *strip(rows[c], at);
    }
    all
}

/// Boxes and their neighbours become boxes of twice the size, or four times, where they lie.
struct Double<'a, 'l, U, W, const C: usize> {
    union: &'a U,
    lines: &'a mut [&'l mut [W]; C],
    /// From a box to its neighbour.
    shift: usize,
    /// Doubles the boxes of twice the size as well.
    twice: bool,
    len: usize,
}

impl<U: Union<W, C>, W: Pod, const C: usize> Double<'_, '_, U, W, C> {
    /// A box and its neighbour.
    #[inline(always)]
    fn both<const N: usize>(&self, at: usize) -> [[W; N]; C] {
        let near = each_strip(self.lines, at);
        self.union
            .equal(near, each_strip(self.lines, at + self.shift))
    }
}

impl<U: Union<W, C>, W: Pod, const C: usize> Strips for Double<'_, '_, U, W, C> {
    const BYTES: usize = bytes::<W>();
    const ONCE: bool = true;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let mut made = self.both::<N>(at);
        if self.twice {
            made = self.union.equal(made, self.both(at + 2 * self.shift));
        }
        for c in 0..C {
            *strip_mut(self.lines[c], at) = made[c];
        }
    }
}

/// Boxes join what windows have so far.
struct Collect<'a, 'l, U, W, const C: usize> {
    union: &'a U,
    lines: &'a [&'l mut [W]; C],
    results: &'a mut [&'l mut [W]; C],
    /// Voxels along the axis of what windows have, and of the boxes.
    sizes: (usize, usize),
    /// From a window to its box.
    offset: usize,
    /// The same for what comes before, if that is a box too.
    first: Option<usize>,
    len: usize,
}

impl<U: Union<W, C>, W: Pod, const C: usize> Strips for Collect<'_, '_, U, W, C> {
    const BYTES: usize = bytes::<W>();
    const ONCE: bool = true;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let new = each_strip::<W, N, C>(self.lines, at + self.offset);
        let found = match (self.first, self.sizes.0) {
            (Some(first), _) => self.union.equal(each_strip(self.lines, at + first), new),
            (None, 0) => new,
            (None, done) => {
                let old = each_strip::<W, N, C>(self.results, at);
                self.union.uneven((old, done), (new, self.sizes.1))
            }
        };
        for c in 0..C {
            *strip_mut(self.results[c], at) = found[c];
        }
    }
}
