//! Medians of 9 and of 25 values by networks that find nothing else: 19 and 99 comparators.
//!
//! Source: N. Devillard, Fast median search, 1998; that of 9 is A. Paeth's (Graphics Gems, 1990).
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::pixel::Key;

/// Runs comparators, of which each brings the smaller value to the first place.
macro_rules! run {
    ($values:ident: $(($low:literal, $high:literal))*) => {$(
        ($values[$low], $values[$high]) = (
            $values[$low].lower($values[$high]),
            $values[$low].upper($values[$high]),
        );
    )*};
}
pub(crate) use run;

#[inline(always)]
fn of_9<K: Key>(mut v: [K; 9]) -> K {
    run! {
        v:
        (1, 2) (4, 5) (7, 8) (0, 1) (3, 4) (6, 7) (1, 2) (4, 5) (7, 8) (0, 3) (5, 8) (4, 7)
        (3, 6) (1, 4) (2, 5) (4, 7) (2, 4) (4, 6) (2, 4)
    }
    v[4]
}

#[inline(always)]
fn of_25<K: Key>(mut v: [K; 25]) -> K {
    run! {
        v:
        (0, 1) (3, 4) (2, 4) (2, 3) (6, 7) (5, 7) (5, 6) (9, 10) (8, 10) (8, 9) (12, 13)
        (11, 13) (11, 12) (15, 16) (14, 16) (14, 15) (18, 19) (17, 19) (17, 18) (21, 22)
        (20, 22) (20, 21) (23, 24) (2, 5) (3, 6) (0, 6) (0, 3) (4, 7) (1, 7) (1, 4) (11, 14)
        (8, 14) (8, 11) (12, 15) (9, 15) (9, 12) (13, 16) (10, 16) (10, 13) (20, 23) (17, 23)
        (17, 20) (21, 24) (18, 24) (18, 21) (19, 22) (8, 17) (9, 18) (0, 18) (0, 9) (10, 19)
        (1, 19) (1, 10) (11, 20) (2, 20) (2, 11) (12, 21) (3, 21) (3, 12) (13, 22) (4, 22)
        (4, 13) (14, 23) (5, 23) (5, 14) (15, 24) (6, 24) (6, 15) (7, 16) (7, 19) (13, 21)
        (15, 23) (7, 13) (7, 15) (1, 9) (3, 11) (5, 17) (11, 17) (9, 17) (4, 10) (6, 12)
        (7, 14) (4, 6) (4, 7) (12, 14) (10, 14) (6, 7) (10, 12) (6, 10) (6, 17) (12, 17)
        (7, 17) (7, 10) (12, 18) (7, 12) (10, 18) (12, 20) (10, 20) (10, 12)
    }
    v[12]
}

/// Defines the median of each column of `N` rows. The places are written out: loops over them stay loops,
/// and values in registers have no numbers.
macro_rules! medians {
    ($name:ident, $of:ident, $n:literal, $($i:literal)*) => {
        /// The median of each column.
        #[inline(always)]
        pub(crate) fn $name<K: Key, const L: usize>(rows: &[[K; L]; $n]) -> [K; L] {
            let mut found = [K::MIN; L];
            for (i, found) in found.iter_mut().enumerate() {
                *found = $of([$(rows[$i][i]),*]);
            }
            found
        }
    };
}
medians!(median_of_9, of_9, 9, 0 1 2 3 4 5 6 7 8);
medians!(median_of_25, of_25, 25, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24);

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that is right for all rows of zeros and ones is right for all values (Knuth, volume 3, 5.3.4).
    #[test]
    fn medians_are_right_for_all_rows_of_zeros_and_ones() {
        for bits in 0..1u32 << 9 {
            let values: [u8; 9] = std::array::from_fn(|i| u8::from(bits >> i & 1 == 1));
            assert_eq!(of_9(values), u8::from(bits.count_ones() >= 5), "{bits:b}");
        }
        for bits in 0..1u32 << 25 {
            let values: [u8; 25] = std::array::from_fn(|i| u8::from(bits >> i & 1 == 1));
            assert_eq!(of_25(values), u8::from(bits.count_ones() >= 13), "{bits:b}");
        }
    }
}
