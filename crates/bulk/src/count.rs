//! Counting values: by bins of equal width, as NumPy's `histogram` does, and numbers one by one, as its
//! `bincount` does.
//!
//! Each thread counts a part of the values in a table of its own; the tables are added. Which bin a value
//! falls into depends on the value alone, so the counts are those of one thread.

use crate::threads::{bands, on_threads, worth};
use std::sync::{Mutex, PoisonError};

/// A type in which bins are found: `f64` or `f32`.
pub trait Real: Copy + PartialOrd + Send + Sync {
    /// Not a number: no value is below it, at it or above it.
    const NAN: Self;
    /// `(self - low) / width * bins`, rounded after each step and then toward zero; 0 for what is no such
    /// number.
    fn place(self, low: Self, width: Self, bins: Self) -> i32;
}

macro_rules! reals {
    ($($t:ty)*) => { $(
        impl Real for $t {
            const NAN: $t = <$t>::NAN;
            #[inline]
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the cast saturates, and places are bounded afterwards"
            )]
            fn place(self, low: $t, width: $t, bins: $t) -> i32 {
                ((self - low) / width * bins) as i32
            }
        }
    )* };
}
reals!(f32 f64);

/// Bins of equal width.
#[derive(Clone, Copy, Debug)]
pub struct Bins<'a, R> {
    /// Values below it are not counted.
    pub low: R,
    /// Values above it are not counted.
    pub high: R,
    /// What NumPy divides by: the distance of both.
    pub width: R,
    /// The number of bins.
    pub count: R,
    /// The ends of the bins, one more than there are bins; they decide where a value is close to one.
    pub edges: &'a [R],
}

/// Values whose bins are looked for in one go.
const BLOCK: usize = 256;

/// Where each bin begins and ends; the first has no begin and the last no end. One bin more takes what
/// belongs to none.
struct Finder<'a, R> {
    bins: Bins<'a, R>,
    begins: Vec<R>,
    ends: Vec<R>,
}

impl<'a, R: Real> Finder<'a, R> {
    fn new(bins: Bins<'a, R>) -> Finder<'a, R> {
        let inner = &bins.edges[1..bins.edges.len() - 1];
        let begins = [R::NAN].into_iter().chain(inner.iter().copied());
        let ends = inner.iter().copied().chain([R::NAN]);
        Finder {
            bins,
            begins: begins.chain([R::NAN]).collect(),
            ends: ends.chain([R::NAN]).collect(),
        }
    }

    /// The bins of some values, in two passes: arithmetic, which vectorises, and edges.
    fn find(&self, values: &[R], places: &mut [i32; BLOCK]) {
        let Bins {
            low,
            high,
            width,
            count,
            ..
        } = self.bins;
        let last = i32::try_from(self.ends.len()).unwrap_or(i32::MAX) - 2;
        for (place, &value) in places.iter_mut().zip(values) {
            let inside = value >= low && value <= high;
            let at = value.place(low, width, count).min(last);
            *place = if inside { at } else { last + 1 };
        }
        for (place, &value) in places.iter_mut().zip(values) {
            let at = usize::try_from(*place).unwrap_or_default();
            *place -= i32::from(value < self.begins[at]);
            *place += i32::from(value >= self.ends[at]);
        }
    }
}

/// Adds the tables of parts of `values`, each made by `fill`.
fn tables<V: Sync>(
    values: &[V],
    size: usize,
    threads: usize,
    fill: impl Fn(&[V], &mut [u64]) + Sync,
) -> Vec<u64> {
    let cuts = bands(values.len(), threads);
    let all = Mutex::new(vec![0u64; size]);
    let threads = worth(threads, values.len());
    on_threads(cuts.windows(2).collect(), threads, |part: &[usize]| {
        let mut own = vec![0u64; size];
        fill(&values[part[0]..part[1]], &mut own);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        for (sum, count) in all.iter_mut().zip(own) {
            *sum += count;
        }
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How many values, converted by `real`, fall into each bin.
pub fn histogram<V: Copy + Sync, R: Real>(
    values: &[V],
    real: impl Fn(V) -> R + Sync,
    bins: Bins<'_, R>,
    threads: usize,
) -> Vec<u64> {
    let count = bins.edges.len().saturating_sub(1);
    if count == 0 {
        return Vec::new();
    }
    let finder = Finder::new(bins);
    let mut counts = tables(values, count + 1, threads, |values, own| {
        let (mut block, mut places) = ([bins.low; BLOCK], [0; BLOCK]);
        for values in values.chunks(BLOCK) {
            for (to, &value) in block.iter_mut().zip(values) {
                *to = real(value);
            }
            finder.find(&block[..values.len()], &mut places);
            for &place in &places[..values.len()] {
                own[usize::try_from(place).unwrap_or(count)] += 1;
            }
        }
    });
    counts.truncate(count);
    counts
}

/// How often each number below `size` is among `values`, converted by `number`. Larger ones are left out.
pub fn occurrences<V: Copy + Sync>(
    values: &[V],
    number: impl Fn(V) -> usize + Sync,
    size: usize,
    threads: usize,
) -> Vec<u64> {
    tables(values, size, threads, |values, own| {
        for &value in values {
            if let Some(count) = own.get_mut(number(value)) {
                *count += 1;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_on_edges_belong_to_the_bin_above_but_for_the_last() {
        let edges: Vec<f64> = (0..=10).map(|i| f64::from(i) / 10.0).collect();
        let bins = Bins {
            low: 0.0,
            high: 1.0,
            width: 1.0,
            count: 10.0,
            edges: &edges,
        };
        let finder = Finder::new(bins);
        let find = |value: f64| {
            let mut places = [0; BLOCK];
            finder.find(&[value], &mut places);
            usize::try_from(places[0]).unwrap()
        };
        for (i, &edge) in edges.iter().enumerate() {
            assert_eq!(find(edge), i.min(9));
            assert_eq!(find(edge.next_down()), i.checked_sub(1).unwrap_or(10));
        }
        for outside in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0f64.next_up()] {
            assert_eq!(find(outside), 10);
        }
    }

    #[test]
    fn counts_do_not_depend_on_threads() {
        let values: Vec<i32> = (0..1000).map(|i| i * i % 37 - 3).collect();
        let edges: Vec<f64> = (0..=7).map(|i| f64::from(i) * 4.0).collect();
        let bins = Bins {
            low: 0.0,
            high: 28.0,
            width: 28.0,
            count: 7.0,
            edges: &edges,
        };
        let mut expected = [0u64; 7];
        for &v in values.iter().filter(|&&v| (0..=28).contains(&v)) {
            expected[usize::try_from(v / 4).unwrap().min(6)] += 1;
        }
        for threads in 1..5 {
            assert_eq!(histogram(&values, f64::from, bins, threads), expected);
            let numbers = occurrences(
                &values,
                |v| usize::try_from(v).unwrap_or(usize::MAX),
                5,
                threads,
            );
            let of = |n: i32| values.iter().filter(|&&v| v == n).count() as u64;
            assert_eq!(numbers, [of(0), of(1), of(2), of(3), of(4)]);
        }
    }
}
