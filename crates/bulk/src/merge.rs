//! Merging sorted runs, stable, on all threads.
//!
//! Neighbouring runs are merged in rounds. A pair is cut where its result is cut into equal parts (the
//! *merge path* of Odeh and others, 2012): a binary search tells how much of each run comes before the
//! cut, so every part is merged by itself.

use crate::threads::{bands, on_threads};

/// How many of the first `count` elements of the merged result come from `left`.
fn cut<T: Ord + Copy + Send + Sync>(left: &[T], right: &[T], count: usize) -> usize {
    let (mut low, mut high) = (count.saturating_sub(right.len()), count.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        // One more of the left belongs before the cut unless what stands right of it goes first.
        if right[count - middle - 1] < left[middle] {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Merges two runs; of equal elements those of `left` go first. Which run goes on is no branch: nobody
/// could foresee it.
fn merge<T: Ord + Copy + Send + Sync>(left: &[T], right: &[T], out: &mut [T]) {
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() && i + j < out.len() {
        let (l, r) = (left[i], right[j]);
        let take_right = r < l;
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
fn parts<'a, T: Ord + Copy + Send + Sync>(
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
pub(crate) fn merge_runs<T: Ord + Copy + Send + Sync>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    /// Keys of few values with a mark of their place; only keys are compared.
    #[derive(Clone, Copy, Debug, Default)]
    struct Marked(u32, usize);

    impl PartialEq for Marked {
        fn eq(&self, other: &Marked) -> bool {
            self.0 == other.0
        }
    }

    impl Eq for Marked {}

    impl PartialOrd for Marked {
        fn partial_cmp(&self, other: &Marked) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Marked {
        fn cmp(&self, other: &Marked) -> Ordering {
            self.0.cmp(&other.0)
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
                let all =
                    |list: Vec<Marked>| list.into_iter().map(|m| (m.0, m.1)).collect::<Vec<_>>();
                assert_eq!(all(result), all(expected), "{n} in {runs} runs");
            }
        }
    }
}
