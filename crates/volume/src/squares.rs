//! Medians of squares of 3 x 3 and 5 x 5 points: the neighbours at each place of a row are sorted once, for all windows
//! that they are part of.
//!
//! Two windows of nine, one below the other, have two rows in common, and share what these tell; the sorted neighbours of
//! a strip of columns stay in registers while windows go down. Those of five do not fit there, and lie in a [`Ring`]. The
//! network of 25 values is a sort of every row, and of the 13 values that may then be the median, from which everything is
//! removed that columns in order do not need (Adams, "Fast median filters using separable sorting networks", 2021,
//! describes the ideas).
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::load::Plain;
use crate::medians::run;
use crate::pixel::Key;
use crate::ring::{self, Ring};
use crate::store::Store;
use crate::strips::{strip, strip_mut};
use arrayloom_cpu::{Wide, wide};

/// A window of as many rows as each of them has points, one below the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Square {
    Three,
    Five,
}

impl Square {
    /// The square of so many runs of `len` points.
    pub(crate) fn of(runs: usize, len: usize) -> Option<Square> {
        match (runs, len) {
            (3, 3) => Some(Square::Three),
            (5, 5) => Some(Square::Five),
            _ => None,
        }
    }

    /// Points along an axis.
    pub(crate) fn points(self) -> usize {
        match self {
            Square::Three => 3,
            Square::Five => 5,
        }
    }

    /// Elements of working memory for rows of up to `len` results.
    pub(crate) fn work(self, len: usize) -> usize {
        match self {
            Square::Three => 0,
            Square::Five => 5 * ring::step(5 * ring::step(len)) + ALIGNMENT,
        }
    }

    /// The medians of rows of windows, one below the other, as elements, `L` at a time; a row has at least as many.
    /// Windows of the first ones begin with `rows[0]`, those of the next ones with `rows[1]`.
    pub(crate) fn rows<K: Key, E: Store<K>, const L: usize>(
        self,
        rows: &[&[K]],
        work: &mut [K],
        (store, outs): (E, &mut [&mut [E::To]]),
    ) {
        match self {
            Square::Three => wide(Threes::<K, E, L> { rows, store, outs }),
            Square::Five => wide(Fives::<K, E, L> {
                rows,
                work,
                store,
                outs,
            }),
        }
    }
}

/// Windows of 3 x 3.
struct Threes<'a, 'o, K, E: Store<K>, const L: usize> {
    rows: &'a [&'a [K]],
    store: E,
    outs: &'a mut [&'o mut [E::To]],
}

/// Rows of results that a strip of columns goes down: what they read stays in a level-1 cache.
const DOWN: usize = 8;

impl<K: Key, E: Store<K>, const L: usize> Threes<'_, '_, K, E, L> {
    /// Three neighbours at places from `at` on, in order.
    #[inline(always)]
    fn sorted(row: &[K], at: usize) -> [[K; L]; 3] {
        let row = &row[at..][..L + 2];
        sorts_3([strip(row, 0), strip(row, 1), strip(row, 2)])
    }

    /// The windows of a strip of columns.
    #[inline(always)]
    fn down(rows: &[&[K]], store: E, outs: &mut [&mut [E::To]], at: usize) {
        let (mut a, mut b) = (Self::sorted(rows[0], at), Self::sorted(rows[1], at));
        let below = rows[2..].chunks_exact(2);
        let last = below.remainder();
        let mut pairs = outs.chunks_exact_mut(2);
        for (outs, rows) in pairs.by_ref().zip(below) {
            let (c, d) = (Self::sorted(rows[0], at), Self::sorted(rows[1], at));
            let found = middles_of_two([
                &a[0], &b[0], &c[0], &d[0], &a[1], &b[1], &c[1], &d[1], &a[2], &b[2], &c[2], &d[2],
            ]);
            *strip_mut(outs[0], at) = store.map(found[0]);
            *strip_mut(outs[1], at) = store.map(found[1]);
            (a, b) = (c, d);
        }
        if let ([out], [row]) = (pairs.into_remainder(), last) {
            let c = Self::sorted(row, at);
            let [found] = middles_of_9([
                &a[0], &b[0], &c[0], &a[1], &b[1], &c[1], &a[2], &b[2], &c[2],
            ]);
            *strip_mut(out, at) = store.map(found);
        }
    }
}

impl<K: Key, E: Store<K>, const L: usize> Wide for Threes<'_, '_, K, E, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for (first, outs) in (0..).step_by(DOWN).zip(self.outs.chunks_mut(DOWN)) {
            let (len, rows) = (outs[0].len(), &self.rows[first..first + outs.len() + 2]);
            for strip in 0..len.div_ceil(L) {
                Self::down(rows, self.store, outs, (strip * L).min(len - L));
            }
        }
    }
}

/// Sorted neighbours begin at multiples of so many bytes.
const ALIGNMENT: usize = 64;

/// Windows of 5 x 5.
struct Fives<'a, 'o, K, E: Store<K>, const L: usize> {
    rows: &'a [&'a [K]],
    /// Room for five rows of sorted neighbours: first the smallest of each place, then the next ones.
    work: &'a mut [K],
    store: E,
    outs: &'a mut [&'o mut [E::To]],
}

impl<K: Key, E: Store<K>, const L: usize> Wide for Fives<'_, '_, K, E, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let len = self.outs[0].len();
        let step = ring::step(len);
        let skipped = self.work.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        let mut ring = Ring::new(&mut self.work[skipped..], 5, 5 * step);
        for (first, out) in self.outs.iter_mut().enumerate() {
            for at in ring.entering(first..first + 5) {
                let mut lines = ring.at_mut(at).chunks_exact_mut(step);
                let lines = [(); 5].map(|()| &mut lines.next().unwrap_or_default()[..len]);
                let row = self.rows[at];
                sort_5::<K, Plain, L>([0, 1, 2, 3, 4].map(|t| &row[t..]), Plain, lines);
            }
            let line = |i: usize| &ring.at(first + i % 5)[i / 5 * step..][..len];
            medians_of_25::<K, E, L>(std::array::from_fn(line), self.store, [out]);
        }
    }
}

/// The first `count` strips of `L` elements of a row.
#[inline(always)]
fn strips_of<K, const L: usize>(row: &[K], count: usize) -> &[[K; L]] {
    &row.as_chunks().0[..count]
}

/// The same, to be written.
#[inline(always)]
fn strips_of_mut<K, const L: usize>(row: &mut [K], count: usize) -> &mut [[K; L]] {
    &mut row.as_chunks_mut().0[..count]
}

#[inline(always)]
fn sorted_3<K: Key>(mut v: [K; 3]) -> [K; 3] {
    run! { v: (0, 1) (1, 2) (0, 1) }
    v
}

#[inline(always)]
fn median_of_3<K: Key>(mut v: [K; 3]) -> K {
    run! { v: (0, 1) (1, 2) (0, 1) }
    v[1]
}

/// The median of nine values in three sorted rows: the smallest of each, the middle ones, the greatest.
#[inline(always)]
fn of_rows_3<K: Key>(v: [K; 9]) -> [K; 1] {
    let low = v[0].upper(v[1]).upper(v[2]);
    let high = v[6].lower(v[7]).lower(v[8]);
    [median_of_3([low, median_of_3([v[3], v[4], v[5]]), high])]
}

/// The same of the first three of four sorted rows, and of the last three. Both have the rows in the middle.
#[inline(always)]
fn of_rows_4<K: Key>(v: [K; 12]) -> [K; 2] {
    let (low, high) = (v[1].upper(v[2]), v[9].lower(v[10]));
    let (less, more) = (v[5].lower(v[6]), v[5].upper(v[6]));
    let median = |other: [K; 3]| {
        let middle = less.upper(more.lower(other[1]));
        median_of_3([low.upper(other[0]), middle, high.lower(other[2])])
    };
    [median([v[0], v[4], v[8]]), median([v[3], v[7], v[11]])]
}

#[inline(always)]
fn sorted_5<K: Key>(mut v: [K; 5]) -> [K; 5] {
    run! { v: (0, 1) (3, 4) (2, 4) (2, 3) (1, 4) (0, 3) (0, 2) (1, 3) (1, 2) }
    v
}

/// The median of 25 values in five sorted rows.
#[inline(always)]
fn of_rows_5<K: Key>(mut v: [K; 25]) -> [K; 1] {
    run! {
        v:
        (0, 1) (3, 4) (2, 4) (2, 3) (1, 4) (0, 3) (1, 3) (5, 6) (8, 9) (7, 9) (7, 8) (6, 9) (5,
        8) (6, 8) (6, 7) (10, 11) (13, 14) (12, 14) (12, 13) (11, 14) (10, 13) (10, 12) (11, 13)
        (15, 16) (18, 19) (17, 18) (16, 19) (15, 18) (15, 17) (16, 18) (16, 17) (20, 21) (23,
        24) (22, 24) (22, 23) (20, 23) (20, 22) (21, 22) (12, 15) (20, 11) (16, 7) (8, 21) (9,
        13) (12, 20) (15, 11) (7, 4) (15, 20) (7, 3) (21, 9) (15, 7) (20, 3) (11, 4) (8, 17)
        (20, 16) (11, 7) (11, 16) (7, 3) (16, 8) (7, 21) (3, 8) (7, 3)
    }
    [v[3]]
}

/// Defines a function of `L` places of some rows. Numbers are written out, since loops over them stay loops.
macro_rules! of_places {
    ($name:ident, $of:ident, $n:literal, $($i:literal)*; $outs:literal, $($o:literal)*) => {
        #[inline(always)]
        fn $name<K: Key, const L: usize>(from: [&[K; L]; $n]) -> [[K; L]; $outs] {
            let mut all = [[K::MIN; L]; $outs];
            for i in 0..L {
                let one = $of([$(from[$i][i]),*]);
                $(all[$o][i] = one[$o];)*
            }
            all
        }
    };
}

/// Defines what such a function makes of whole rows, as elements. All strips of a row but the last one, which overlaps the
/// one before, are counted beforehand, so no place is looked at twice.
macro_rules! of_rows {
    ($name:ident, $of:ident, $n:literal, $($i:literal)*; $outs:literal, $($o:literal)*) => {
        #[inline(always)]
        fn $name<K: Key, E: Store<K>, const L: usize>(
            rows: [&[K]; $n],
            store: E,
            mut outs: [&mut [E::To]; $outs],
        ) {
            let len = outs[0].len();
            let count = len / L;
            let from = [$(strips_of::<K, L>(rows[$i], count)),*];
            let strips = outs.each_mut().map(|out| strips_of_mut::<E::To, L>(out, count));
            for at in 0..count {
                let all = $of([$(&from[$i][at]),*]);
                $(strips[$o][at] = store.map(all[$o]);)*
            }
            let rest = len - L;
            let all = $of::<K, L>([$(strip(rows[$i], rest)),*]);
            $(*strip_mut(outs[$o], rest) = store.map(all[$o]);)*
        }
    };
}
of_places!(sorts_3, sorted_3, 3, 0 1 2; 3, 0 1 2);
of_places!(middles_of_9, of_rows_3, 9, 0 1 2 3 4 5 6 7 8; 1, 0);
of_places!(middles_of_two, of_rows_4, 12, 0 1 2 3 4 5 6 7 8 9 10 11; 2, 0 1);
of_places!(sorts_5, sorted_5, 5, 0 1 2 3 4; 5, 0 1 2 3 4);
of_rows!(sort_5, sorts_5, 5, 0 1 2 3 4; 5, 0 1 2 3 4);
of_places!(
    middles_of_25, of_rows_5, 25,
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; 1, 0
);
of_rows!(
    medians_of_25, middles_of_25, 25,
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; 1, 0
);

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that is right for all rows of zeros and ones is right for all values (Knuth, volume 3, 5.3.4).
    #[test]
    fn medians_are_right_for_all_sorted_rows_of_zeros_and_ones() {
        for state in 0..6usize.pow(5) {
            let ones: [usize; 5] = std::array::from_fn(|c| state / [1, 6, 36, 216, 1296][c] % 6);
            let rows: [u8; 25] = std::array::from_fn(|i| u8::from(4 - i / 5 < ones[i % 5]));
            let median = u8::from(ones.iter().sum::<usize>() >= 13);
            assert_eq!(of_rows_5(rows), [median], "{ones:?}");
        }
        for state in 0..4usize.pow(4) {
            let ones: [usize; 4] = std::array::from_fn(|c| state / [1, 4, 16, 64][c] % 4);
            let rows: [u8; 12] = std::array::from_fn(|i| u8::from(2 - i / 4 < ones[i % 4]));
            let median = |ones: &[usize]| u8::from(ones.iter().sum::<usize>() >= 5);
            let both = [median(&ones[..3]), median(&ones[1..])];
            assert_eq!(of_rows_4(rows), both, "{ones:?}");
            let first: [u8; 9] = std::array::from_fn(|i| rows[i / 3 * 4 + i % 3]);
            assert_eq!(of_rows_3(first), both[..1], "{ones:?}");
        }
        for bits in 0..32u8 {
            let values: [u8; 5] = std::array::from_fn(|i| bits >> i & 1);
            assert!(sorted_5(values).is_sorted(), "{bits:b}");
        }
    }

    #[test]
    fn rows_of_windows_have_their_medians() {
        let squares = [Square::Three, Square::Five];
        let sizes = [8, 9, 15, 16, 41].into_iter();
        let sizes = sizes.flat_map(|len| [1, 2, 3, 6].map(|count| (len, count)));
        for (square, (len, count)) in squares
            .into_iter()
            .flat_map(|s| sizes.clone().map(move |z| (s, z)))
        {
            let (n, stride) = (square.points(), len + 11);
            let tile: Vec<u16> = (0..)
                .map(|i: u32| (i * 97 % 1009) as u16)
                .take(11 * stride)
                .collect();
            let rows: Vec<&[u16]> = (0..count + n - 1)
                .map(|r| &tile[r * stride + 3..][..len + n - 1])
                .collect();
            let (mut work, mut out) = (vec![0; square.work(len)], vec![0; count * len]);
            let mut outs: Vec<&mut [u16]> = out.chunks_exact_mut(len).collect();
            square.rows::<u16, _, 8>(&rows, &mut work, (Plain, &mut outs));
            for (at, &found) in out.iter().enumerate() {
                let (row, i) = (at / len, at % len);
                let window = rows[row..row + n].iter().flat_map(|r| &r[i..i + n]);
                let mut window: Vec<u16> = window.copied().collect();
                window.sort_unstable();
                assert_eq!(found, window[n * n / 2], "{square:?} {len} {row} {i}");
            }
        }
    }
}
