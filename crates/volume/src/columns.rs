//! Medians of squares of 3 x 3 and 5 x 5 points: columns are sorted once for all windows that they are part of.
//!
//! The network of 25 values is a sort of every row, and of the 13 values that may then be the median, from
//! which everything is removed that columns in order do not need (Adams, "Fast median filters using separable
//! sorting networks", 2021, describes the idea).
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::medians::run;
use crate::pixel::Key;
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
        self.points() * (len + self.points() - 1)
    }

    /// The medians of a row of windows as elements, `L` at a time; there are at least as many. Run `r` of the first
    /// window begins at `tile[starts[r]]`.
    pub(crate) fn row<K: Key, E: Store<K>, const L: usize>(
        self,
        tile: &[K],
        starts: &[usize],
        work: &mut [K],
        (store, out): (E, &mut [E::To]),
    ) {
        let len = out.len() + self.points() - 1;
        let rows = |r: usize| &tile[starts[r]..][..len];
        let mut lines = work.chunks_exact_mut(len);
        let mut line = || lines.next().unwrap_or_default();
        match self {
            Square::Three => wide(Sorted3::<K, E, L> {
                rows: [rows(0), rows(1), rows(2)],
                sorted: [line(), line(), line()],
                store,
                out,
            }),
            Square::Five => wide(Sorted5::<K, E, L> {
                rows: [rows(0), rows(1), rows(2), rows(3), rows(4)],
                sorted: [line(), line(), line(), line(), line()],
                store,
                out,
            }),
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

/// The median of nine values in three sorted columns: rows hold the lowest, middle and highest.
#[inline(always)]
fn of_columns_3<K: Key>(v: [K; 9]) -> K {
    let low = v[0].upper(v[1]).upper(v[2]);
    let high = v[6].lower(v[7]).lower(v[8]);
    median_of_3([low, median_of_3([v[3], v[4], v[5]]), high])
}

#[inline(always)]
fn sorted_5<K: Key>(mut v: [K; 5]) -> [K; 5] {
    run! { v: (0, 1) (3, 4) (2, 4) (2, 3) (1, 4) (0, 3) (0, 2) (1, 3) (1, 2) }
    v
}

/// The median of 25 values in five sorted columns.
#[inline(always)]
fn of_columns_5<K: Key>(mut v: [K; 25]) -> K {
    run! {
        v:
        (0, 1) (3, 4) (2, 4) (2, 3) (1, 4) (0, 3) (1, 3) (5, 6) (8, 9) (7, 9) (7, 8) (6, 9) (5,
        8) (6, 8) (6, 7) (10, 11) (13, 14) (12, 14) (12, 13) (11, 14) (10, 13) (10, 12) (11, 13)
        (15, 16) (18, 19) (17, 18) (16, 19) (15, 18) (15, 17) (16, 18) (16, 17) (20, 21) (23,
        24) (22, 24) (22, 23) (20, 23) (20, 22) (21, 22) (12, 15) (20, 11) (16, 7) (8, 21) (9,
        13) (12, 20) (15, 11) (7, 4) (15, 20) (7, 3) (21, 9) (15, 7) (20, 3) (11, 4) (8, 17)
        (20, 16) (11, 7) (11, 16) (7, 3) (16, 8) (7, 21) (3, 8) (7, 3)
    }
    v[3]
}

/// Sorts columns of rows into rows, and takes the median of neighbouring ones. All strips of a row but the last one,
/// which overlaps the one before, are counted beforehand: so no place is looked at twice.
macro_rules! squares {
    ($name:ident, $n:literal, $sort:ident, $median:ident, $($row:literal)*; $(($r:literal, $c:literal))*) => {
        struct $name<'a, K, E: Store<K>, const L: usize> {
            rows: [&'a [K]; $n],
            sorted: [&'a mut [K]; $n],
            store: E,
            out: &'a mut [E::To],
        }

        impl<K: Key, E: Store<K>, const L: usize> $name<'_, K, E, L> {
            #[inline(always)]
            fn columns(from: [&[K; L]; $n]) -> [[K; L]; $n] {
                let mut to = [[K::MIN; L]; $n];
                for i in 0..L {
                    let sorted = $sort([$(from[$row][i]),*]);
                    $(to[$row][i] = sorted[$row];)*
                }
                to
            }

            #[inline(always)]
            fn medians(from: [&[K; L]; $n * $n]) -> [K; L] {
                let mut found = [K::MIN; L];
                for i in 0..L {
                    found[i] = $median([$(from[$r * $n + $c][i]),*]);
                }
                found
            }
        }

        impl<K: Key, E: Store<K>, const L: usize> Wide for $name<'_, K, E, L> {
            type Out = ();

            #[inline(always)]
            fn run(self) {
                let $name { rows, mut sorted, store, out } = self;
                let len = rows[0].len();
                let count = len / L;
                let from = rows.map(|row| strips_of::<K, L>(row, count));
                let to = sorted.each_mut().map(|row| strips_of_mut::<K, L>(row, count));
                for at in 0..count {
                    let columns = Self::columns([$(&from[$row][at]),*]);
                    $(to[$row][at] = columns[$row];)*
                }
                let columns = Self::columns([$(strip(rows[$row], len - L)),*]);
                $(*strip_mut(sorted[$row], len - L) = columns[$row];)*
                let count = out.len() / L;
                let from = [$(strips_of::<K, L>(&sorted[$r][$c..], count)),*];
                for (at, to) in strips_of_mut(out, count).iter_mut().enumerate() {
                    *to = store.map(Self::medians([$(&from[$r * $n + $c][at]),*]));
                }
                let rest = out.len() - L;
                let last = Self::medians([$(strip(sorted[$r], rest + $c)),*]);
                *strip_mut(out, rest) = store.map(last);
            }
        }
    };
}
squares!(Sorted3, 3, sorted_3, of_columns_3, 0 1 2;
    (0, 0) (0, 1) (0, 2) (1, 0) (1, 1) (1, 2) (2, 0) (2, 1) (2, 2));
squares!(Sorted5, 5, sorted_5, of_columns_5, 0 1 2 3 4;
    (0, 0) (0, 1) (0, 2) (0, 3) (0, 4) (1, 0) (1, 1) (1, 2) (1, 3) (1, 4) (2, 0) (2, 1) (2, 2) (2, 3) (2, 4)
    (3, 0) (3, 1) (3, 2) (3, 3) (3, 4) (4, 0) (4, 1) (4, 2) (4, 3) (4, 4));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Plain;

    /// A network that is right for all columns of zeros and ones is right for all values (Knuth, volume 3, 5.3.4).
    #[test]
    fn medians_are_right_for_all_sorted_columns_of_zeros_and_ones() {
        for state in 0..6usize.pow(5) {
            let ones: [usize; 5] = std::array::from_fn(|c| state / [1, 6, 36, 216, 1296][c] % 6);
            let columns: [u8; 25] = std::array::from_fn(|i| u8::from(4 - i / 5 < ones[i % 5]));
            let median = u8::from(ones.iter().sum::<usize>() >= 13);
            assert_eq!(of_columns_5(columns), median, "{ones:?}");
        }
        for state in 0..4usize.pow(3) {
            let ones: [usize; 3] = std::array::from_fn(|c| state / [1, 4, 16][c] % 4);
            let columns: [u8; 9] = std::array::from_fn(|i| u8::from(2 - i / 3 < ones[i % 3]));
            let median = u8::from(ones.iter().sum::<usize>() >= 5);
            assert_eq!(of_columns_3(columns), median, "{ones:?}");
        }
        for bits in 0..32u8 {
            let values: [u8; 5] = std::array::from_fn(|i| bits >> i & 1);
            assert!(sorted_5(values).is_sorted(), "{bits:b}");
        }
    }

    #[test]
    fn rows_of_windows_have_their_medians() {
        for (square, len) in [Square::Three, Square::Five]
            .into_iter()
            .flat_map(|s| [8, 9, 15, 16, 41].map(|len| (s, len)))
        {
            let (n, stride) = (square.points(), 60);
            assert!(n * stride <= 300);
            let tile: Vec<u16> = (0..300u16).map(|i| i * 109 % 1009).collect();
            let starts: Vec<usize> = (0..n).map(|r| r * stride + 3).collect();
            let (mut work, mut out) = (vec![0; square.work(len)], vec![0; len]);
            square.row::<u16, _, 8>(&tile, &starts, &mut work, (Plain, &mut out));
            for (i, &found) in out.iter().enumerate() {
                let window = starts.iter().flat_map(|s| &tile[s + i..s + i + n]);
                let mut window: Vec<u16> = window.copied().collect();
                window.sort_unstable();
                assert_eq!(found, window[n * n / 2], "{square:?} {len} {i}");
            }
        }
    }
}
