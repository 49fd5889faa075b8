//! Merging sorted runs, stable, on all threads.
//!
//! Neighbouring runs are merged in rounds. A pair is cut where its result is cut into equal parts (the
//! *merge path* of Odeh and others, 2012): a binary search tells how much of each run comes before the
//! cut, so every part is merged by itself.

use crate::threads::{bands, on_threads};

/// A total order in which equal elements may have different bits. NaN comes last, as NumPy sorts it.
pub trait Order: Copy + Send + Sync {
    /// True when `self` comes before `other` whatever their places are.
    fn before(self, other: Self) -> bool;

    /// A number in the same order: equal for equal elements, and for all that are no number.
    fn rank(self) -> u64;

    /// True for a zero with a minus sign.
    fn is_negative_zero(self) -> bool {
        false
    }
}

macro_rules! whole {
    ($($t:ty)*) => { $(impl Order for $t {
        #[inline]
        fn before(self, other: Self) -> bool {
            self < other
        }

        #[inline]
        fn rank(self) -> u64 {
            // The least number becomes zero.
            i64::from(self).cast_unsigned() ^ 1 << 63
        }
    })* };
}
whole!(i8 i16 i32 i64 u8 u16 u32);

impl Order for u128 {
    #[inline]
    fn before(self, other: u128) -> bool {
        self < other
    }

    #[inline]
    fn rank(self) -> u64 {
        (self >> 64) as u64
    }
}

impl Order for u64 {
    #[inline]
    fn before(self, other: u64) -> bool {
        self < other
    }

    #[inline]
    fn rank(self) -> u64 {
        self
    }
}

macro_rules! real {
    ($($t:ty, $bits:ty;)*) => { $(impl Order for $t {
        #[inline]
        fn before(self, other: Self) -> bool {
            (self < other) | (other.is_nan() & !self.is_nan())
        }

        #[inline]
        fn rank(self) -> u64 {
            let top: $bits = 1 << (<$bits>::BITS - 1);
            let bits = self.to_bits();
            let size = bits & !top;
            // Numbers below zero are turned round; both zeros become one.
            let ordered = if bits & top == 0 { size + top } else { top - size };
            (if self.is_nan() { <$bits>::MAX } else { ordered }).into()
        }

        fn is_negative_zero(self) -> bool {
            self == 0.0 && self.is_sign_negative()
        }
    })* };
}
real! {
    f32, u32;
    f64, u64;
}

/// How many of the first `count` elements of the merged result come from `left`.
fn cut<T: Order>(left: &[T], right: &[T], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(right.len()), count.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        // One more of the left belongs before the cut unless what stands right of it goes first.
        if right[count - middle - 1].before(left[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Merges two runs; of equal elements those of `left` go first. Which run goes on is no branch: nobody
/// could foresee it.
fn merge<T: Order>(left: &[T], right: &[T], out: &mut [T]) {
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() && i + j < out.len() {
        let (l, r) = (left[i], right[j]);
        let take_right = r.before(l);
        out[i + j] = if take_right { r } else { l };
        i += usize::from(!take_right);
        j += usize::from(take_right);
    }
    let rest = out[i + j..].iter_mut();
    for (place, &x) in rest.zip(left[i..].iter().chain(&right[j..])) {
        *place = x;
    }
}

/// One part of a round.
type Part<'a, T> = (&'a [T], &'a [T], &'a mut [T]);

/// The parts of a round that merges the runs between `ends` pairwise from `from` to `to`.
fn parts<'a, T: Order>(
    from: &'a [T],
    to: &'a mut [T],
    ends: &[usize],
    pieces: usize,
) -> Vec<Part<'a, T>> {
    let mut parts = Vec::new();
    let mut to = to;
    for pair in (0..ends.len() - 1).step_by(2) {
        let (start, middle) = (ends[pair], ends[pair + 1]);
        let end = ends.get(pair + 2).copied().unwrap_or(middle);
        let (left, right) = (&from[start..middle], &from[middle..end]);
        let share = (pieces * (end - start)).div_ceil(from.len().max(1));
        let cuts = bands(end - start, share);
        for piece in cuts.windows(2) {
            let (l, m) = (cut(left, right, piece[0]), cut(left, right, piece[1]));
            let (out, rest) = to.split_at_mut(piece[1] - piece[0]);
            to = rest;
            parts.push((&left[l..m], &right[piece[0] - l..piece[1] - m], out));
        }
    }
    parts
}

/// Merges the sorted runs of `data`, which end at `ends` (the first entry is zero, the last one the
/// length), with the help of `spare` of the same length. True if the result lies in `spare`.
///
/// Equal elements keep their order.
///
/// # Panics
/// If the lengths differ.
pub fn merge_runs<T: Order>(
    data: &mut [T],
    spare: &mut [T],
    mut ends: Vec<usize>,
    threads: usize,
) -> bool {
    assert_eq!(data.len(), spare.len(), "room for as many elements");
    let (mut from, mut to, mut swapped) = (data, spare, false);
    while ends.len() > 2 {
        let tasks = parts(from, to, &ends, 2 * threads);
        on_threads(tasks, threads, |(left, right, out)| merge(left, right, out));
        let last = ends.last().copied();
        ends = ends.into_iter().step_by(2).collect();
        if ends.last().copied() != last {
            ends.extend(last);
        }
        (from, to, swapped) = (to, from, !swapped);
    }
    swapped
}

/// True if zeros of both signs are among the elements, which are sorted in runs that end at `ends`.
pub fn has_both_zeros<T: Order + PartialEq + Default>(data: &[T], ends: &[usize]) -> bool {
    let zero = T::default();
    let zeros = |run: &[usize]| {
        let run = &data[run[0]..run[1]];
        let start = run.partition_point(|x| x.before(zero));
        run[start..].iter().take_while(move |&&x| x == zero)
    };
    let mut signs = ends.windows(2).flat_map(zeros);
    let first = signs.next().map(|x| x.is_negative_zero());
    signs.any(|x| Some(x.is_negative_zero()) != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of few values with a mark of their place; only keys are compared.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    struct Marked(u32, usize);

    impl Order for Marked {
        fn before(self, other: Marked) -> bool {
            self.0 < other.0
        }

        fn rank(self) -> u64 {
            self.0.into()
        }
    }

    fn noise(n: usize, seed: u32) -> Vec<u32> {
        let mut state = seed;
        let step = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 20
        };
        (0..n).map(step).collect()
    }

    /// Sorts `n` marked keys in so many runs, which are then merged.
    fn sorted(n: usize, runs: usize, threads: usize) -> (Vec<Marked>, Vec<Marked>) {
        let keys = noise(n, 7).into_iter().map(|k| k % 13);
        let mut data: Vec<Marked> = keys.enumerate().map(|(i, k)| Marked(k, i)).collect();
        let mut expected = data.clone();
        expected.sort_by_key(|m| m.0);
        let ends = bands(n, runs);
        for run in ends.windows(2) {
            data[run[0]..run[1]].sort_by_key(|m| m.0);
        }
        let mut spare = vec![Marked::default(); n];
        let moved = merge_runs(&mut data, &mut spare, ends, threads);
        (if moved { spare } else { data }, expected)
    }

    #[test]
    fn merged_runs_are_a_stable_sort() {
        for n in [0, 1, 2, 3, 10, 100, 1001] {
            for (runs, threads) in (1..8).flat_map(|r| [(r, 1), (r, 2), (r, 5)]) {
                let (result, expected) = sorted(n, runs, threads);
                assert_eq!(result, expected, "{n} in {runs} runs");
            }
        }
    }

    #[test]
    fn not_a_number_comes_last() {
        let mut data = [-1.0, 5.0, f64::NAN, -2.0, f64::INFINITY, f64::NAN];
        let mut spare = [0.0; 6];
        assert!(merge_runs(&mut data, &mut spare, vec![0, 3, 6], 2));
        assert_eq!(spare[..4], [-2.0, -1.0, 5.0, f64::INFINITY]);
        assert!(spare[4..].iter().all(|x| x.is_nan()));
    }

    #[test]
    fn ranks_are_in_the_same_order() {
        fn agree<T: Order>(all: &[T]) {
            for (&a, &b) in all.iter().flat_map(|a| all.iter().map(move |b| (a, b))) {
                assert_eq!(a.before(b), a.rank() < b.rank());
                assert_eq!(b.before(a), a.rank() > b.rank());
            }
        }
        agree(&[i64::MIN, -7, -1, 0, 1, 7, i64::MAX]);
        agree(&[u64::MIN, 1, 7, u64::MAX]);
        agree(&[i8::MIN, -1, 0, 1, i8::MAX]);
        agree(&[u32::MIN, 1, u32::MAX]);
        let ends = [f64::NEG_INFINITY, -f64::MIN_POSITIVE, -5e-324, -0.0];
        let all = ends.into_iter().flat_map(|x| [x, -x]);
        agree(
            &all.chain([f64::NAN, -f64::NAN, 1.5, -1.5])
                .collect::<Vec<f64>>(),
        );
        agree(&[-0.0f32, 0.0, 1e-45, -1e-45, f32::NAN, f32::INFINITY, -3.0]);
    }

    #[test]
    fn signs_of_zeros_are_seen() {
        assert!(has_both_zeros(&[-1.0, -0.0, 0.0, 2.0], &[0, 4]));
        assert!(has_both_zeros(&[-1.0, -0.0, 0.0, 2.0], &[0, 2, 4]));
        assert!(!has_both_zeros(&[-1.0, -0.0, -0.0, 2.0], &[0, 2, 4]));
        assert!(!has_both_zeros(&[0.0f32], &[0, 1]));
        assert!(!has_both_zeros(&[1.0, 2.0], &[0, 1, 2]));
        assert!(!has_both_zeros(&[0u8, 0], &[0, 2]));
    }
}
