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

/// Full windows of `n` rows: one output, or four neighbours.
struct Job<'a, 'o, S, W, L, J, E: Store<W>> {
    how: J,
    n: usize,
    rows: &'a [&'a [S]],
    load: L,
    store: E,
    outs: &'a mut [&'o mut [E::To]],
    kind: PhantomData<W>,
}

impl<'a, 'o, S: Pod, W: Pod, L: Load<S, W>, J: Join<W>, E: Store<W>> Job<'a, 'o, S, W, L, J, E> {
    #[inline(always)]
    fn new(
        how: J,
        n: usize,
        rows: &'a [&'a [S]],
        (load, store): (L, E),
        outs: &'a mut [&'o mut [E::To]],
    ) -> Self {
        Job {
            how,
            n,
            rows,
            load,
            store,
            outs,
            kind: PhantomData,
        }
    }

    #[inline(always)]
    fn row<const N: usize>(&self, row: usize, at: usize) -> [W; N] {
        self.how.lift(self.load.map(strip(self.rows[row], at)))
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
    fn four<const N: usize>(&mut self, at: usize) {
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
        for (out, found) in self.outs.iter_mut().zip([a, b, c, d]) {
            *strip_mut(out, at) = self.store.map(found);
        }
    }

    /// Two neighbouring windows of at least two rows.
    #[inline(always)]
    fn two<const N: usize>(&mut self, at: usize) {
        let middle = self.span::<N>(1, self.n, at);
        let a = self.how.join(self.row(0, at), middle);
        let b = self.how.join(middle, self.row(self.n, at));
        for (out, found) in self.outs.iter_mut().zip([a, b]) {
            *strip_mut(out, at) = self.store.map(found);
        }
    }
}

impl<S: Pod, W: Pod, L: Load<S, W>, J: Join<W>, E: Store<W>> Strips for Job<'_, '_, S, W, L, J, E> {
    const BYTES: usize = size_of::<W>();

    #[inline(always)]
    fn elems(&self) -> usize {
        self.outs[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        if self.outs.len() == GROUP && self.n >= 3 {
            self.four::<N>(at);
            return;
        }
        if self.outs.len() == 2 && self.n >= 2 {
            self.two::<N>(at);
            return;
        }
        for m in 0..self.outs.len() {
            let found = self.span::<N>(m, m + self.n, at);
            *strip_mut(self.outs[m], at) = self.store.map(found);
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
    strips(Job::new(how, n, rows, by, outs));
}

/// The same, inside of other work that is compiled for wide vectors.
#[inline(always)]
pub(crate) fn stored_here<S: Pod, W: Pod, E: Store<W>>(
    how: impl Join<W>,
    n: usize,
    rows: &[&[S]],
    by: (impl Load<S, W>, E),
    outs: &mut [&mut [E::To]],
) {
    here(Job::new(how, n, rows, by, outs));
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
