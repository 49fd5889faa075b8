//! Places that sort runs become places that sort the whole.

use crate::merge::{Order, merge_runs};
use crate::threads::{bands, on_threads};
use std::sync::atomic::{AtomicBool, Ordering};

/// Rank and place as one number: who compares them compares ranks, and places of equal ones.
fn pair(rank: u64, place: usize) -> u128 {
    u128::from(rank) << 64 | place as u128
}

/// The place of a pair.
fn place(pair: u128) -> isize {
    (pair as usize).cast_signed()
}

/// True if `count` elements probably have equal ones among them, by some of them in order: between two of these the
/// others are taken to be spread over all values that the type can tell apart.
pub fn has_equals_likely<T: Order>(sorted: &[T], count: usize) -> bool {
    let between = (count / sorted.len().max(1)) as u128;
    // Pairs that are expected to be equal, in millionths.
    let mut expected = sorted.windows(2).map(|two| {
        let values = two[1].rank() - two[0].rank();
        (between * between * 500_000).checked_div(values.into())
    });
    let sum = expected.try_fold(0u128, |sum, pairs| Some(sum.saturating_add(pairs?)));
    sum.is_none_or(|sum| sum > 100_000)
}

/// Turns `places` that sort the runs of `keys` into places that sort all of them.
///
/// Runs end at `ends` (the first entry is zero), and their places count from their start. Equal keys keep their order,
/// if there may be any. The pairs are room for as many elements.
///
/// False if keys are equal and must not be: then `places` hold anything.
///
/// # Panics
/// If the lengths differ, or if a place lies outside its run.
pub fn merge_places<T: Order>(
    (keys, places): (&[T], &mut [isize]),
    [mut pairs, mut spare]: [&mut [u128]; 2],
    ends: Vec<usize>,
    equals: bool,
    threads: usize,
) -> bool {
    assert_eq!(keys.len(), places.len(), "a place for each key");
    assert_eq!(keys.len(), pairs.len(), "room for all pairs");
    let met = AtomicBool::new(false);
    let look = |pairs: &[u128]| {
        if !equals && pairs.windows(2).any(|two| two[0] >> 64 == two[1] >> 64) {
            met.store(true, Ordering::Relaxed);
        }
    };
    let (mut rest, mut tasks) = (&mut *pairs, Vec::with_capacity(ends.len()));
    for run in ends.windows(2) {
        let (part, later) = rest.split_at_mut(run[1] - run[0]);
        rest = later;
        tasks.push((part, &keys[run[0]..run[1]], &places[run[0]..run[1]], run[0]));
    }
    on_threads(tasks, threads, |(pairs, keys, places, start)| {
        for (slot, &place) in pairs.iter_mut().zip(places) {
            let place = place.cast_unsigned();
            *slot = pair(keys[place].rank(), start + place);
        }
        look(pairs);
    });
    if met.load(Ordering::Relaxed) {
        return false;
    }
    if merge_runs(pairs, spare, ends, threads) {
        std::mem::swap(&mut pairs, &mut spare);
    }
    let cuts = bands(places.len(), threads);
    let (mut rest, mut tasks) = (places, Vec::with_capacity(threads));
    for cut in cuts.windows(2) {
        let (part, later) = rest.split_at_mut(cut[1] - cut[0]);
        rest = later;
        // The first pair of the next part is looked at too.
        tasks.push((part, &pairs[cut[0]..pairs.len().min(cut[1] + 1)]));
    }
    on_threads(tasks, threads, |(places, pairs)| {
        for (slot, &pair) in places.iter_mut().zip(pairs) {
            *slot = place(pair);
        }
        look(pairs);
    });
    !met.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys in no order, of so many values.
    fn keys(n: u32, values: u32) -> Vec<u32> {
        let mix = |i: u32| (i.wrapping_mul(2_654_435_761) >> 7) % values;
        (0..n).map(mix).collect()
    }

    fn places_of_runs(keys: &[u32], ends: &[usize]) -> Vec<isize> {
        let mut places = Vec::new();
        for run in ends.windows(2) {
            let mut own: Vec<usize> = (0..run[1] - run[0]).collect();
            own.sort_by_key(|&i| keys[run[0] + i]);
            places.extend(own.into_iter().map(usize::cast_signed));
        }
        places
    }

    fn expected(keys: &[u32]) -> Vec<isize> {
        let mut all: Vec<usize> = (0..keys.len()).collect();
        all.sort_by_key(|&i| keys[i]);
        all.into_iter().map(usize::cast_signed).collect()
    }

    /// The merged places of so many runs, unless equal keys are met that may not be.
    fn merged(keys: &[u32], runs: usize, equals: bool, threads: usize) -> Option<Vec<isize>> {
        let ends = bands(keys.len(), runs);
        let mut places = places_of_runs(keys, &ends);
        let mut room = [vec![7; keys.len()], vec![9; keys.len()]];
        let [pairs, spare] = room.each_mut().map(Vec::as_mut_slice);
        let told = merge_places((keys, &mut places), [pairs, spare], ends, equals, threads);
        told.then_some(places)
    }

    #[test]
    fn places_sort_the_whole_stable() {
        for n in [0, 1, 2, 7, 100, 1001] {
            for (runs, threads) in [(1, 1), (2, 2), (3, 2), (5, 3), (8, 1)] {
                let keys = keys(n, 13);
                let places = merged(&keys, runs, true, threads);
                assert_eq!(places, Some(expected(&keys)), "{n} in {runs} runs");
            }
        }
    }

    #[test]
    fn equal_keys_are_met_wherever_they_stand() {
        let distinct: Vec<u32> = (0..100).map(|i| (i * 37) % 101).collect();
        for threads in 1..4 {
            assert_eq!(
                merged(&distinct, 2, false, threads),
                Some(expected(&distinct))
            );
            for (a, b) in [(0, 1), (10, 99), (49, 50), (98, 99)] {
                let mut keys = distinct.clone();
                keys[a] = keys[b];
                assert_eq!(merged(&keys, 2, false, threads), None);
            }
        }
    }

    #[test]
    fn equal_keys_are_foreseen() {
        let even = |step: u64| (0..4000).map(|i| i * step).collect::<Vec<u64>>();
        assert!(has_equals_likely(&even(1 << 20), 1_000_000));
        assert!(!has_equals_likely(&even(1 << 40), 1_000_000));
        assert!(has_equals_likely(&even(1 << 40), 10_000_000_000));
        assert!(has_equals_likely(&[1.0, f64::NAN, f64::NAN], 3));
        assert!(has_equals_likely(&[-0.0, 0.0], 2));
        assert!(!has_equals_likely(&[1.0, 2.0, f64::NAN], 1000));
        assert!(has_equals_likely(&[1.0f32, 2.0, 3.0], 100_000));
        assert!(!has_equals_likely::<u8>(&[], 0));
    }
}
