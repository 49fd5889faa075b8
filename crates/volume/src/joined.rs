//! Windows whose rows may be joined in any order and grouping with the same bits: minima, and sums of
//! whole numbers. Four neighbours share what they have in common.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::fold::GROUP;
use crate::load::{Load, Plain};
use crate::store::Store;
use crate::strips::{Strips, here, strip, strip_mut, strips};
use bytemuck::Pod;
use std::marker::PhantomData;

/// How rows are joined: exactly, so joining is commutative and associative.
pub(crate) trait Join<W>: Copy {
    /// `N` voxels on their own.
    #[inline(always)]
    fn lift<const N: usize>(self, values: [W; N]) -> [W; N] {
        values
    }

    /// `N` pairs of voxels joined.
    fn join<const N: usize>(self, a: [W; N], b: [W; N]) -> [W; N];
}

/// Two ways to join, of what merges both into elements.
#[derive(Clone, Copy)]
pub(crate) struct Both<A, B>(pub(crate) A, pub(crate) B);

/// How what was joined in two ways becomes elements.
pub(crate) trait Merge<W>: Copy + Sync {
    /// An element.
    type To: Pod;

    /// The elements of `N` pairs of numbers.
    fn map<const N: usize>(self, first: [W; N], second: [W; N]) -> [Self::To; N];
}

/// Full windows of `n` rows, of which `ALONG` neighbours in a row are joined first.
struct Windows<'a, S, W, L, J, const ALONG: usize> {
    how: J,
    n: usize,
    rows: &'a [&'a [S]],
    load: L,
    kind: PhantomData<W>,
}

impl<'a, S: Pod, W: Pod, L: Load<S, W>, J: Join<W>, const ALONG: usize>
    Windows<'a, S, W, L, J, ALONG>
{
    #[inline(always)]
    fn new(how: J, n: usize, rows: &'a [&'a [S]], load: L) -> Self {
        Windows {
            how,
            n,
            rows,
            load,
            kind: PhantomData,
        }
    }

    #[inline(always)]
    fn row<const N: usize>(&self, row: usize, at: usize) -> [W; N] {
        let row = self.rows[row];
        let mut all = self.how.lift(self.load.map(strip(row, at)));
        for t in 1..ALONG {
            let next = self.how.lift(self.load.map(strip(row, at + t)));
            all = self.how.join(all, next);
        }
        all
    }

    /// The rows `from..to` joined; at least one.
    #[inline(always)]
    fn span<const N: usize>(&self, from: usize, to: usize, at: usize) -> [W; N] {
        let mut all = self.row::<N>(from, at);
        for r in from + 1..to {
            all = self.how.join(all, self.row(r, at));
        }
        all
    }

    /// Four neighbouring windows of at least three rows: of `n - 3` rows that all of them have, and of
    /// the three on either side.
    #[inline(always)]
    fn four<const N: usize>(&self, at: usize) -> [[W; N]; GROUP] {
        let (n, how) = (self.n, self.how);
        let (first, second, third) = (self.row::<N>(0, at), self.row(1, at), self.row(2, at));
        let (after, next) = (self.row::<N>(n, at), self.row(n + 1, at));
        let [mut b, mut c] = [how.join(second, third), how.join(after, next)];
        let (mut a, mut d) = (b, c);
        if n == 3 {
            b = how.join(b, after);
            c = how.join(c, third);
        } else {
            let middle = self.span(3, n, at);
            a = how.join(a, middle);
            b = how.join(a, after);
            d = how.join(d, middle);
            c = how.join(d, third);
        }
        a = how.join(a, first);
        d = how.join(d, self.row(n + 2, at));
        [a, b, c, d]
    }

    /// Two neighbouring windows of at least two rows.
    #[inline(always)]
    fn two<const N: usize>(&self, at: usize) -> [[W; N]; 2] {
        let middle = self.span::<N>(1, self.n, at);
        let a = self.how.join(self.row(0, at), middle);
        let b = self.how.join(middle, self.row(self.n, at));
        [a, b]
    }
}

/// Elements of one output, or of some neighbours.
struct Job<'a, 'o, S, W, L, J, E: Store<W>, const ALONG: usize> {
    windows: Windows<'a, S, W, L, J, ALONG>,
    store: E,
    outs: &'a mut [&'o mut [E::To]],
}

impl<'a, 'o, S: Pod, W: Pod, L: Load<S, W>, J: Join<W>, E: Store<W>, const ALONG: usize>
    Job<'a, 'o, S, W, L, J, E, ALONG>
{
    #[inline(always)]
    fn new(
        how: J,
        n: usize,
        rows: &'a [&'a [S]],
        (load, store): (L, E),
        outs: &'a mut [&'o mut [E::To]],
    ) -> Self {
        Job {
            windows: Windows::new(how, n, rows, load),
            store,
            outs,
        }
    }

    #[inline(always)]
    fn put<const N: usize, const M: usize>(&mut self, at: usize, found: [[W; N]; M]) {
        for (out, found) in self.outs.iter_mut().zip(found) {
            *strip_mut(out, at) = self.store.map(found);
        }
    }
}

impl<S: Pod, W: Pod, L: Load<S, W>, J: Join<W>, E: Store<W>, const ALONG: usize> Strips
    for Job<'_, '_, S, W, L, J, E, ALONG>
{
    const BYTES: usize = size_of::<W>();

    #[inline(always)]
    fn elems(&self) -> usize {
        self.outs[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let n = self.windows.n;
        if self.outs.len() == GROUP && n >= 3 {
            self.put::<N, _>(at, self.windows.four(at));
            return;
        }
        if self.outs.len() == 2 && n >= 2 {
            self.put::<N, _>(at, self.windows.two(at));
            return;
        }
        for m in 0..self.outs.len() {
            let found = self.windows.span::<N>(m, m + n, at);
            *strip_mut(self.outs[m], at) = self.store.map(found);
        }
    }
}

/// The same of windows that are joined in two ways.
struct Merged<'a, 'o, W, A, B, M: Merge<W>, const ALONG: usize> {
    first: Windows<'a, W, W, Plain, A, ALONG>,
    second: Windows<'a, W, W, Plain, B, ALONG>,
    merge: M,
    outs: &'a mut [&'o mut [M::To]],
}

impl<'a, 'o, W: Pod, A: Join<W>, B: Join<W>, M: Merge<W>, const ALONG: usize>
    Merged<'a, 'o, W, A, B, M, ALONG>
{
    #[inline(always)]
    fn new(
        both: Both<A, B>,
        n: usize,
        rows: &'a [&'a [W]],
        merge: M,
        outs: &'a mut [&'o mut [M::To]],
    ) -> Self {
        Merged {
            first: Windows::new(both.0, n, rows, Plain),
            second: Windows::new(both.1, n, rows, Plain),
            merge,
            outs,
        }
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, m: usize, at: usize, first: [W; N], second: [W; N]) {
        *strip_mut(self.outs[m], at) = self.merge.map(first, second);
    }
}

impl<W: Pod, A: Join<W>, B: Join<W>, M: Merge<W>, const ALONG: usize> Strips
    for Merged<'_, '_, W, A, B, M, ALONG>
{
    const BYTES: usize = size_of::<W>();

    #[inline(always)]
    fn elems(&self) -> usize {
        self.outs[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let n = self.first.n;
        if self.outs.len() == GROUP && n >= 3 {
            // One by one: a loop over arrays keeps them in memory.
            let [a, b, c, d] = self.first.four::<N>(at);
            let [e, f, g, h] = self.second.four(at);
            self.store(0, at, a, e);
            self.store(1, at, b, f);
            self.store(2, at, c, g);
            self.store(3, at, d, h);
            return;
        }
        if self.outs.len() == 2 && n >= 2 {
            let [a, b] = self.first.two::<N>(at);
            let [c, d] = self.second.two(at);
            self.store(0, at, a, c);
            self.store(1, at, b, d);
            return;
        }
        for m in 0..self.outs.len() {
            let first = self.first.span::<N>(m, m + n, at);
            let second = self.second.span(m, m + n, at);
            self.store(m, at, first, second);
        }
    }
}

/// Joins the rows of a window, or of four neighbouring ones; a window has at least one row, its center.
pub(crate) fn joined<S: Pod, W: Pod>(
    how: impl Join<W>,
    n: usize,
    rows: &[&[S]],
    load: impl Load<S, W>,
    outs: &mut [&mut [W]],
) {
    stored(how, n, rows, (load, Plain), outs);
}

/// The same, and how numbers become elements.
pub(crate) fn stored<S: Pod, W: Pod, E: Store<W>>(
    how: impl Join<W>,
    n: usize,
    rows: &[&[S]],
    by: (impl Load<S, W>, E),
    outs: &mut [&mut [E::To]],
) {
    strips(Job::<_, _, _, _, _, 1>::new(how, n, rows, by, outs));
}

/// The same of rows of which `ALONG` neighbours are joined, too; inside of other work that is compiled for wide vectors.
#[inline(always)]
pub(crate) fn stored_here<W: Pod, J: Join<W>, E: Store<W>, const ALONG: usize>(
    how: J,
    n: usize,
    rows: &[&[W]],
    store: E,
    outs: &mut [&mut [E::To]],
) {
    here(Job::<W, W, Plain, J, E, ALONG>::new(
        how,
        n,
        rows,
        (Plain, store),
        outs,
    ));
}

/// Joins rows, of which `ALONG` neighbours are joined, too, in two ways into elements; inside of other work.
#[inline(always)]
pub(crate) fn merged_here<W: Pod, A: Join<W>, B: Join<W>, M: Merge<W>, const ALONG: usize>(
    both: Both<A, B>,
    n: usize,
    rows: &[&[W]],
    merge: M,
    outs: &mut [&mut [M::To]],
) {
    here(Merged::<W, A, B, M, ALONG>::new(both, n, rows, merge, outs));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct SumOfSquares;

    impl Join<u16> for SumOfSquares {
        fn join<const N: usize>(self, a: [u16; N], b: [u16; N]) -> [u16; N] {
            std::array::from_fn(|j| a[j].wrapping_add(b[j]))
        }
        fn lift<const N: usize>(self, values: [u16; N]) -> [u16; N] {
            values.map(|v| v * v)
        }
    }

    impl Join<u32> for SumOfSquares {
        fn lift<const N: usize>(self, values: [u32; N]) -> [u32; N] {
            values.map(|v| v * v)
        }
        fn join<const N: usize>(self, mut a: [u32; N], b: [u32; N]) -> [u32; N] {
            for j in 0..N {
                a[j] += b[j];
            }
            a
        }
    }

    #[test]
    fn four_windows_are_four_times_one() {
        for (n, len) in (1..9).flat_map(|n| [1, 7, 31, 32, 63, 64, 177].map(|len| (n, len))) {
            let value = |r: usize, i: usize| u32::try_from((r * 31 + i * 7) % 13).unwrap_or(0);
            let data: Vec<Vec<u32>> = (0..n + 3)
                .map(|r| (0..len).map(|i| value(r, i)).collect())
                .collect();
            let rows: Vec<&[u32]> = data.iter().map(Vec::as_slice).collect();
            let mut four = vec![vec![0; len]; 4];
            let mut outs: Vec<&mut [u32]> = four.iter_mut().map(Vec::as_mut_slice).collect();
            joined(SumOfSquares, n, &rows, Plain, &mut outs);
            for m in 0..4 {
                let mut one = vec![0; len];
                joined(SumOfSquares, n, &rows[m..m + n], Plain, &mut [&mut one]);
                let each = |i: usize| (m..m + n).map(|r| value(r, i).pow(2)).sum::<u32>();
                assert_eq!(one, (0..len).map(each).collect::<Vec<_>>());
                assert_eq!(one, four[m], "{n} rows of {len}");
                let small = |rows: &[u32]| -> Vec<u16> {
                    rows.iter()
                        .map(|&v| u16::try_from(v).unwrap_or(0))
                        .collect()
                };
                let narrow: Vec<Vec<u16>> = data[m..m + n].iter().map(|r| small(r)).collect();
                let narrow: Vec<&[u16]> = narrow.iter().map(Vec::as_slice).collect();
                let mut found = vec![0; len];
                joined(SumOfSquares, n, &narrow, Plain, &mut [&mut found]);
                assert_eq!(found, small(&one));
            }
        }
    }
}
