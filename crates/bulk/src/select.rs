//! The elements that stand at some places of a sorted vector, without sorting it.
//!
//! A sorted sample tells between which two values an element lies with near certainty (R. W. Floyd and
//! R. L. Rivest, Algorithm 489, 1975). One pass over the vector counts what is below and keeps the few between.

use crate::threads::{bands, on_threads, worth};
use bytemuck::Pod;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Elements of the sample.
const SAMPLE: usize = 1 << 14;
/// How far, in elements of the sample, an element may be from where it is expected: five standard deviations.
const MARGIN: usize = 320;
/// Elements that are looked at for all brackets, while they lie in the nearest cache.
const BLOCK: usize = 1024;

/// Comparisons that do not wait for one another, so that they vectorise.
const LANES: usize = 16;

/// An element that can be selected. Those that do not equal themselves, NaN, come last.
pub trait Element: Pod + PartialOrd + Send + Sync {}

impl<T: Pod + PartialOrd + Send + Sync> Element for T {}

#[expect(clippy::eq_op, reason = "a NaN does not equal itself")]
fn is_nan<T: PartialEq + Copy>(x: T) -> bool {
    x != x
}

/// What all elements say together.
#[derive(Clone, Copy)]
struct Extent<T> {
    least: T,
    most: T,
    /// One that is NaN, and how many are.
    nan: Option<T>,
    nans: usize,
}

impl<T: Element> Extent<T> {
    fn of(data: &[T]) -> Option<Extent<T>> {
        let nans = data.iter().filter(|x| is_nan(**x)).count();
        let is_number = |x: &&T| !is_nan(**x);
        let nan = data.iter().find(|x| is_nan(**x)).filter(|_| nans > 0);
        let first = *data.iter().find(is_number).or(nan)?;
        let (mut least, mut most) = ([first; LANES], [first; LANES]);
        for block in data.chunks(LANES) {
            for (x, (least, most)) in block.iter().zip(least.iter_mut().zip(&mut most)) {
                *least = if *x < *least { *x } else { *least };
                *most = if *x > *most { *x } else { *most };
            }
        }
        let less = |a: T, b: T| if b < a { b } else { a };
        let more = |a: T, b: T| if b > a { b } else { a };
        Some(Extent {
            least: least.into_iter().fold(first, less),
            most: most.into_iter().fold(first, more),
            nan: nan.copied(),
            nans,
        })
    }

    fn join(self, other: Extent<T>) -> Extent<T> {
        if is_nan(self.least) {
            return Extent {
                nans: self.nans + other.nans,
                nan: self.nan,
                ..other
            };
        }
        let below = other.least < self.least;
        let above = other.most > self.most;
        Extent {
            least: if below { other.least } else { self.least },
            most: if above { other.most } else { self.most },
            nan: self.nan.or(other.nan),
            nans: self.nans + other.nans,
        }
    }
}

/// Two values with the wanted elements between them, or equal to them.
struct Bracket<T> {
    low: T,
    high: T,
}

impl<T: Element> Bracket<T> {
    /// The bracket in which the element at `place` of `count` is expected, by a sorted sample.
    fn expected(sample: &[T], extent: &Extent<T>, place: usize, count: usize) -> Bracket<T> {
        let at = place * sample.len() / count;
        let low = at.checked_sub(MARGIN).map(|at| sample[at]);
        let high = sample.get(at + MARGIN).copied();
        Bracket {
            low: low.unwrap_or(extent.least),
            high: high.unwrap_or(extent.most),
        }
    }
}

/// What the vector has for a bracket.
struct Found<T> {
    /// Elements up to the lower value.
    below: usize,
    /// Elements above the lower and below the higher value.
    between: Vec<T>,
}

impl<T: Element> Found<T> {
    const NONE: Found<T> = Found {
        below: 0,
        between: Vec::new(),
    };

    /// Counts the elements of a block, and keeps those between. None if memory is short.
    fn take(&mut self, block: &[T], bracket: &Bracket<T>, kept: &mut [T; BLOCK]) -> Option<()> {
        let &Bracket { low, high } = bracket;
        self.below += block.iter().filter(|x| **x <= low).count();
        let mut count = 0;
        for &x in block {
            kept[count & (BLOCK - 1)] = x;
            count += usize::from(x > low && x < high);
        }
        self.keep(&kept[..count])
    }

    fn keep(&mut self, elements: &[T]) -> Option<()> {
        self.between.try_reserve(elements.len()).ok()?;
        self.between.extend_from_slice(elements);
        Some(())
    }

    /// The element at `place` of the whole sorted vector; none if it is not in the bracket.
    fn at(&mut self, place: usize, bracket: &Bracket<T>, data: &[T], threads: usize) -> Option<T> {
        let within = place.checked_sub(self.below);
        if let Some(within) = within.filter(|&within| within < self.between.len()) {
            return Some(*self.between.select_nth_unstable_by(within, order).1);
        }
        let end = within.map_or(bracket.low, |_| bracket.high);
        let below = total(data, threads, |x| x < end);
        let up_to = total(data, threads, |x| x <= end);
        (below..up_to).contains(&place).then_some(end)
    }
}

fn order<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or(Ordering::Equal)
}

/// Some elements, sorted, without NaN. They stand at arbitrary places, so that no period of the vector hides others.
fn sample<T: Element>(data: &[T]) -> Option<Vec<T>> {
    let mut sample = Vec::new();
    sample.try_reserve_exact(SAMPLE).ok()?;
    if data.len() <= SAMPLE {
        sample.extend(data.iter().copied().filter(|&x| !is_nan(x)));
    } else {
        // The generator of Knuth's MMIX; its upper bits are the arbitrary ones.
        let mut state = 0u64;
        for _ in 0..SAMPLE {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let x = data[(state >> 20) as usize % data.len()];
            sample.extend((!is_nan(x)).then_some(x));
        }
    }
    sample.sort_unstable_by(order);
    Some(sample)
}

/// Calls `work` for the parts of the vector on all threads, and joins what it gives.
fn joined<T: Element, R: Send>(
    data: &[T],
    threads: usize,
    work: impl Fn(&[T]) -> Option<R> + Sync,
    join: impl Fn(R, R) -> Option<R> + Sync,
) -> Option<R> {
    let all: Mutex<Option<Option<R>>> = Mutex::new(None);
    let ends = bands(data.len(), threads);
    on_threads(ends.windows(2).collect(), threads, |part: &[usize]| {
        let own = work(&data[part[0]..part[1]]);
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        *all = Some(match all.take() {
            None => own,
            Some(earlier) => earlier.zip(own).and_then(|(a, b)| join(a, b)),
        });
    });
    all.into_inner().unwrap_or_else(PoisonError::into_inner)?
}

/// How many elements `test` is true for.
fn total<T: Element>(data: &[T], threads: usize, test: impl Fn(T) -> bool + Sync) -> usize {
    let count = |part: &[T]| Some(part.iter().filter(|x| test(**x)).count());
    joined(data, threads, count, |a, b| Some(a + b)).unwrap_or(0)
}

/// The elements at these places, which ascend, of the sorted vector; NaN come last. None if an element has equals of
/// other bits, such as zeros of both signs, or memory is short.
///
/// # Panics
/// If a place is beyond the end.
pub fn select<T: Element>(data: &[T], places: &[usize], threads: usize) -> Option<Vec<T>> {
    let threads = worth(threads, data.len());
    let extent = joined(data, threads, Extent::of, |a, b| Some(a.join(b)))?;
    let numbers = data.len() - extent.nans;
    let (real, beyond) = places.split_at(places.partition_point(|&place| place < numbers));
    assert!(beyond.iter().all(|&place| place < data.len()), "a place");
    let sample = sample(data)?;
    let is_end = |place: usize| place == 0 || place + 1 == numbers;
    // Each bracket with the places that it is for.
    let mut brackets: Vec<(Bracket<T>, Range<usize>)> = Vec::new();
    for &place in real.iter().filter(|place| !is_end(**place)) {
        let bracket = Bracket::expected(&sample, &extent, place, numbers);
        match brackets.last_mut() {
            Some((last, places)) if bracket.low <= last.high => {
                last.high = bracket.high;
                places.end = place + 1;
            }
            _ => brackets.push((bracket, place..place + 1)),
        }
    }
    let gathered = |part: &[T]| gather(part, &brackets);
    let mut found = joined(data, threads, gathered, |mut all, own| {
        for (all, own) in all.iter_mut().zip(own) {
            all.below += own.below;
            all.keep(&own.between)?;
        }
        Some(all)
    })?;
    let mut element = |place: usize| match place {
        0 => Some(extent.least),
        last if last + 1 == numbers => Some(extent.most),
        _ => {
            let at = brackets
                .iter()
                .position(|(_, places)| places.contains(&place))?;
            found[at].at(place, &brackets[at].0, data, threads)
        }
    };
    let mut elements: Vec<T> = real
        .iter()
        .map(|&place| element(place))
        .collect::<Option<_>>()?;
    if has_other_bits(data, &elements) {
        return None;
    }
    elements.extend(beyond.iter().filter_map(|_| extent.nan));
    Some(elements)
}

/// What a part of the vector has for each bracket.
fn gather<T: Element>(
    data: &[T],
    brackets: &[(Bracket<T>, Range<usize>)],
) -> Option<Vec<Found<T>>> {
    let mut found: Vec<Found<T>> = brackets.iter().map(|_| Found::NONE).collect();
    let mut kept = [T::zeroed(); BLOCK];
    for block in data.chunks(BLOCK) {
        for (found, (bracket, _)) in found.iter_mut().zip(brackets) {
            found.take(block, bracket, &mut kept)?;
        }
    }
    Some(found)
}

/// True if an element of `data` equals a zero among `elements`, but has other bits.
fn has_other_bits<T: Element>(data: &[T], elements: &[T]) -> bool {
    let zero = elements.iter().find(|x| **x == T::zeroed());
    zero.is_some_and(|zero| {
        let bits = bytemuck::bytes_of(zero);
        let mut equal = data.iter().filter(|x| *x == zero);
        equal.any(|x| bytemuck::bytes_of(x) != bits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn agree<T: Element + Debug>(data: &[T]) {
        let mut sorted = data.to_vec();
        let nan_last = |a: &T, b: &T| {
            let by_nan = is_nan(*a).cmp(&is_nan(*b));
            a.partial_cmp(b).unwrap_or(by_nan)
        };
        sorted.sort_by(nan_last);
        let n = data.len();
        let mut places = vec![0, n / 20, n / 2 - 1, n / 2, n - n / 20, n - 2, n - 1];
        places.retain(|&place| place < n);
        places.sort_unstable();
        places.dedup();
        let wanted: Vec<T> = places.iter().map(|&at| sorted[at]).collect();
        for threads in [1, 3] {
            let found = select(data, &places, threads).expect("elements of one form");
            for (found, wanted) in found.iter().zip(&wanted) {
                let both = is_nan(*found) && is_nan(*wanted);
                assert!(both || found == wanted, "{found:?} for {wanted:?} of {n}");
            }
            assert_eq!(found.len(), wanted.len());
        }
        assert_eq!(select(data, &[], 2).map(|none| none.len()), Some(0));
    }

    fn mixed(n: u32) -> impl Iterator<Item = u32> {
        (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 3)
    }

    #[test]
    fn elements_are_those_of_the_sorted_vector() {
        for n in [3, 100, 20_000, 600_000] {
            agree(&mixed(n).collect::<Vec<u32>>());
            agree(&mixed(n).map(|x| (x % 251) as u8).collect::<Vec<u8>>());
            agree(
                &mixed(n)
                    .map(|x| 1.0 / f64::from(x + 1))
                    .collect::<Vec<f64>>(),
            );
            agree(&(0..n).map(|x| x % 97).collect::<Vec<u32>>());
            agree(&(0..n).rev().map(i64::from).collect::<Vec<i64>>());
            agree(&vec![7i16; n as usize]);
        }
    }

    #[test]
    fn nan_come_last() {
        for share in [1000, 3, 2, 1] {
            let number = |(at, x): (usize, u32)| match at % share {
                0 => f64::NAN,
                _ => f64::from(x) + 1.0,
            };
            agree(&mixed(50_000).enumerate().map(number).collect::<Vec<_>>());
        }
    }

    #[test]
    fn zeros_of_both_signs_are_left() {
        let mut data = vec![0.0; 1000];
        assert_eq!(select(&data, &[500], 1), Some(vec![0.0]));
        data[3] = -0.0;
        assert_eq!(select(&data, &[500], 1), None);
        data[999] = 1.0;
        assert_eq!(select(&data, &[999], 1), Some(vec![1.0]));
    }
}
