//! Sorts of long vectors on all threads: runs are sorted, then merged.

use crate::merge::merge_runs;
use crate::number::{Number, are_mixed};
use crate::threads::{bands, on_threads, split};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// Sorts `data` with the help of `spare`, of the same length. False if equal elements have different bits, such as
/// zeros of both signs: then nothing has changed.
///
/// # Panics
/// If the lengths differ.
pub fn sort<T: Number>(data: &mut [T], spare: &mut [T::Key], threads: usize) -> bool {
    assert_eq!(data.len(), spare.len(), "room for as many elements");
    let ends = bands(data.len(), threads);
    let forms = AtomicU8::new(0);
    on_threads(split(data, &ends), threads, |run| {
        let own = run.iter().fold(0, |forms, x| forms | x.form());
        forms.fetch_or(own, Ordering::Relaxed);
    });
    let forms = forms.into_inner();
    if are_mixed(forms) {
        return false;
    }
    on_threads(split(data, &ends), threads, |run| {
        for x in &mut *run {
            *x = bytemuck::cast(x.key());
        }
        bytemuck::cast_slice_mut::<T, T::Key>(run).sort_unstable();
    });
    let keys: &mut [T::Key] = bytemuck::cast_slice_mut(data);
    if merge_runs(keys, spare, ends.clone(), threads) {
        let tasks = split(data, &ends).into_iter().zip(split(spare, &ends));
        on_threads(tasks.collect(), threads, |(run, keys)| {
            for (x, &mut key) in run.iter_mut().zip(keys) {
                *x = T::of_key(key, forms);
            }
        });
    } else {
        on_threads(split(data, &ends), threads, |run| {
            for x in run {
                *x = T::of_key(bytemuck::cast(*x), forms);
            }
        });
    }
    true
}

/// True if `count` elements probably have equal ones among them, by some of them in order: between two of these the
/// others are taken to be spread over all values that the type can tell apart.
pub fn has_equals_likely<T: Number>(sorted: &[T], count: usize) -> bool {
    let between = (count / sorted.len().max(1)) as u128;
    // Pairs that are expected to be equal, in millionths.
    let mut expected = sorted.windows(2).map(|two| {
        let values = two[1].rank() - two[0].rank();
        (between * between * 500_000).checked_div(values.into())
    });
    let sum = expected.try_fold(0u128, |sum, pairs| Some(sum.saturating_add(pairs?)));
    sum.is_none_or(|sum| sum > 100_000)
}

/// Rank and place as one number: who compares them compares ranks, and places of equal ones.
fn pair(rank: u64, place: usize) -> u128 {
    u128::from(rank) << 64 | place as u128
}

/// The place of a pair.
fn place(pair: u128) -> isize {
    (pair as usize).cast_signed()
}

/// Finds the places that sort `keys`; equal ones keep their order, if there may be any. The pairs are room for as many
/// elements.
///
/// False if keys are equal and must not be: then `places` hold anything.
///
/// # Panics
/// If the lengths differ.
pub fn argsort<T: Number>(
    (keys, places): (&[T], &mut [isize]),
    [mut pairs, mut spare]: [&mut [u128]; 2],
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
    let ends = bands(keys.len(), threads);
    let tasks = split(pairs, &ends).into_iter().zip(ends.windows(2));
    on_threads(tasks.collect(), threads, |(pairs, run)| {
        for (slot, at) in pairs.iter_mut().zip(run[0]..run[1]) {
            *slot = pair(keys[at].rank(), at);
        }
        pairs.sort_unstable();
        look(pairs);
    });
    if met.load(Ordering::Relaxed) {
        return false;
    }
    if merge_runs(pairs, spare, ends.clone(), threads) {
        std::mem::swap(&mut pairs, &mut spare);
    }
    let pairs = &*pairs;
    let tasks = split(places, &ends).into_iter().zip(ends.windows(2));
    on_threads(tasks.collect(), threads, |(places, run)| {
        for (slot, &pair) in places.iter_mut().zip(&pairs[run[0]..]) {
            *slot = place(pair);
        }
        // The first pair of the next part is looked at too.
        look(&pairs[run[0]..pairs.len().min(run[1] + 1)]);
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

    fn expected(keys: &[u32]) -> Vec<isize> {
        let mut all: Vec<usize> = (0..keys.len()).collect();
        all.sort_by_key(|&i| keys[i]);
        all.into_iter().map(usize::cast_signed).collect()
    }

    /// The places that sort keys, unless equal ones are met that may not be.
    fn places(keys: &[u32], equals: bool, threads: usize) -> Option<Vec<isize>> {
        let mut places = vec![-1; keys.len()];
        let mut room = [vec![7; keys.len()], vec![9; keys.len()]];
        let room = room.each_mut().map(Vec::as_mut_slice);
        argsort((keys, &mut places), room, equals, threads).then_some(places)
    }

    #[test]
    fn places_sort_stable() {
        for n in [0, 1, 2, 7, 100, 1001] {
            for threads in 1..9 {
                let keys = keys(n, 13);
                assert_eq!(places(&keys, true, threads), Some(expected(&keys)), "{n}");
            }
        }
    }

    #[test]
    fn equal_keys_are_met_wherever_they_stand() {
        let distinct: Vec<u32> = (0..100).map(|i| (i * 37) % 101).collect();
        for threads in 1..6 {
            assert_eq!(places(&distinct, false, threads), Some(expected(&distinct)));
            for (a, b) in [(0, 1), (10, 99), (49, 50), (98, 99)] {
                let mut keys = distinct.clone();
                keys[a] = keys[b];
                assert_eq!(places(&keys, false, threads), None);
            }
        }
    }

    #[test]
    fn vectors_are_sorted() {
        for n in [0, 1, 2, 7, 100, 1001] {
            for threads in 1..9 {
                let signed: Vec<i32> = keys(n, 40).iter().map(|&k| k.cast_signed() - 20).collect();
                let mut data = signed.clone();
                assert!(sort(&mut data, &mut vec![0; signed.len()], threads));
                assert!(data.is_sorted());
                let mut numbers: Vec<f64> = signed.iter().map(|&k| f64::from(k) / 8.0).collect();
                if let [first, .., last] = numbers.as_mut_slice() {
                    (*first, *last) = (f64::NAN, f64::NEG_INFINITY);
                }
                let mut wanted = numbers.clone();
                wanted.sort_by(f64::total_cmp);
                assert!(sort(&mut numbers, &mut vec![0; wanted.len()], threads));
                let bits = |all: &[f64]| all.iter().map(|x| x.to_bits()).collect::<Vec<u64>>();
                assert_eq!(bits(&numbers), bits(&wanted), "{n} on {threads}");
            }
        }
    }

    #[test]
    fn what_only_numpy_can_sort_is_left_as_it_was() {
        let mut data = [3.0, -0.0, 1.0, 0.0, f64::NAN];
        assert!(!sort(&mut data, &mut [0; 5], 2));
        assert_eq!(data[..4], [3.0, -0.0, 1.0, 0.0]);
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
        assert!(!has_equals_likely::<u64>(&[], 0));
    }
}
