//! Places of values in a sorted table, and the points of a curve through a table.
//!
//! All values of a group take each step of their searches together: a step that cannot be foreseen is no
//! branch, and the memory that one value waits for is fetched while others are compared.

use crate::number::Number;
use crate::threads::{bands, on_threads, split, worth};

/// Values that are searched for together.
const GROUP: usize = 16;

/// How far from the place of the group before values are looked for first.
const NEAR: [usize; 4] = [0, 8, 64, 512];

/// A sorted table, as the ranks of its elements.
pub struct Table {
    ranks: Vec<u64>,
}

impl Table {
    /// The table of these elements; none if they are not sorted, NaN last, or memory is short.
    pub fn new<T: Number>(elements: &[T]) -> Option<Table> {
        let mut ranks = Vec::new();
        ranks.try_reserve_exact(elements.len()).ok()?;
        ranks.extend(elements.iter().map(|x| x.rank()));
        ranks.is_sorted().then_some(Table { ranks })
    }

    /// How many elements are less than each key, or, on the right, less or equal. The answers may lie near `near`.
    fn count<const RIGHT: bool>(&self, keys: &[u64; GROUP], near: usize) -> [usize; GROUP] {
        let below = |rank: u64, key: u64| if RIGHT { rank <= key } else { rank < key };
        let (least, most) = keys
            .iter()
            .fold((u64::MAX, 0), |(l, m), &key| (l.min(key), m.max(key)));
        let whole = (0, self.ranks.len());
        // Values that come sorted, or lie together, need few steps or none.
        let window = NEAR.iter().map(|&reach| {
            let end = (near + reach).min(self.ranks.len());
            (near.saturating_sub(reach), end)
        });
        let (first, end) = window
            .chain([whole])
            .find(|&(first, end)| {
                (first == 0 || below(self.ranks[first - 1], least))
                    && self.ranks.get(end).is_none_or(|&rank| !below(rank, most))
            })
            .unwrap_or(whole);
        let mut starts = [first; GROUP];
        let mut length = end - first;
        // The answer of each key lies in `start..=start + length`.
        while length > 1 {
            let half = length / 2;
            for (start, &key) in starts.iter_mut().zip(keys) {
                let later = below(self.ranks[*start + half - 1], key);
                *start += std::hint::select_unpredictable(later, half, 0);
            }
            length -= half;
        }
        if length == 1 {
            for (start, &key) in starts.iter_mut().zip(keys) {
                *start += usize::from(below(self.ranks[*start], key));
            }
        }
        starts
    }

    /// As [`Table::count`], for all values of a slice: calls `found` with the number of each.
    fn each<T: Number>(&self, values: &[T], right: bool, mut found: impl FnMut(usize, usize)) {
        let mut near = 0;
        for (group, values) in values.chunks(GROUP).enumerate() {
            // Those beyond the end are as the last one.
            let mut keys = [values.last().map_or(0, |last| last.rank()); GROUP];
            for (key, value) in keys.iter_mut().zip(values) {
                *key = value.rank();
            }
            let counts = if right {
                self.count::<true>(&keys, near)
            } else {
                self.count::<false>(&keys, near)
            };
            near = counts[GROUP - 1];
            for (at, &count) in counts[..values.len()].iter().enumerate() {
                found(group * GROUP + at, count);
            }
        }
    }

    /// The threads that so many searches are worth.
    fn threads(&self, values: usize, threads: usize) -> usize {
        let steps = usize::BITS - self.ranks.len().leading_zeros();
        worth(threads, values.saturating_mul(steps as usize))
    }

    /// How many elements are less than each value, or, on the right, less or equal: as NumPy's `searchsorted`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn places<T: Number>(
        &self,
        values: &[T],
        right: bool,
        places: &mut [isize],
        threads: usize,
    ) {
        assert_eq!(values.len(), places.len(), "a place for each value");
        let threads = self.threads(values.len(), threads);
        let ends = bands(values.len(), threads);
        let tasks = split(places, &ends).into_iter().zip(ends.windows(2));
        on_threads(tasks.collect(), threads, |(places, part)| {
            self.each(&values[part[0]..part[1]], right, |at, count| {
                places[at] = count.cast_signed();
            });
        });
    }
}

/// A curve through points, straight in between.
pub struct Curve<'a> {
    table: Table,
    x: &'a [f64],
    y: &'a [f64],
    /// Of the pieces, where they are fewer than the places that are asked for.
    slopes: Vec<f64>,
    left: f64,
    right: f64,
}

impl<'a> Curve<'a> {
    /// The curve through these points for so many places, with its values beyond the points. None if there are less than
    /// two, if their x are not sorted or no numbers, or memory is short.
    pub fn new(
        [x, y]: [&'a [f64]; 2],
        places: usize,
        left: Option<f64>,
        right: Option<f64>,
    ) -> Option<Curve<'a>> {
        let (&first, &last) = (y.first()?, y.last()?);
        if x.len() != y.len() || x.len() < 2 || x.last()?.is_nan() {
            return None;
        }
        let mut slopes = Vec::new();
        if x.len() <= places {
            slopes.try_reserve_exact(x.len() - 1).ok()?;
            let steps = x.windows(2).zip(y.windows(2));
            slopes.extend(steps.map(|(x, y)| (y[1] - y[0]) / (x[1] - x[0])));
        }
        Some(Curve {
            table: Table::new(x)?,
            x,
            y,
            slopes,
            left: left.unwrap_or(first),
            right: right.unwrap_or(last),
        })
    }

    /// The value at `x`, not left of which lie `count` points. The steps are those of NumPy's `interp`.
    #[expect(
        clippy::float_cmp,
        reason = "NumPy asks for points and values that are equal"
    )]
    fn at(&self, x: f64, count: usize) -> f64 {
        let (xs, ys) = (self.x, self.y);
        let Some(before) = count.checked_sub(1) else {
            return self.left;
        };
        let (x0, y0) = (xs[before], ys[before]);
        let Some((&x1, &y1)) = xs.get(count).zip(ys.get(count)) else {
            return if x > x0 { self.right } else { y0 };
        };
        if x0 == x {
            // The next point may be at infinity.
            return y0;
        }
        let known = self.slopes.get(before).copied();
        let slope = known.unwrap_or_else(|| (y1 - y0) / (x1 - x0));
        let value = slope * (x - x0) + y0;
        if !value.is_nan() {
            return value;
        }
        let value = slope * (x - x1) + y1;
        if value.is_nan() && y0 == y1 {
            y0
        } else {
            value
        }
    }

    /// The values at many places: as NumPy's `interp`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn values(&self, x: &[f64], out: &mut [f64], threads: usize) {
        assert_eq!(x.len(), out.len(), "a value for each place");
        let threads = self.table.threads(x.len(), threads);
        let ends = bands(x.len(), threads);
        let tasks = split(out, &ends).into_iter().zip(ends.windows(2));
        on_threads(tasks.collect(), threads, |(out, part)| {
            let x = &x[part[0]..part[1]];
            self.table.each(x, true, |at, count| {
                out[at] = if x[at].is_nan() {
                    x[at]
                } else {
                    self.at(x[at], count)
                };
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers in no order.
    fn numbers(n: u32, values: u32) -> Vec<f64> {
        let mix = |i: u32| f64::from((i.wrapping_mul(2_654_435_761) >> 7) % values) - 7.0;
        (0..n).map(mix).collect()
    }

    #[test]
    fn places_are_those_of_a_count() {
        for n in [0, 1, 2, 3, 5, 8, 33, 100] {
            let mut table = numbers(n, 40);
            table.sort_by(f64::total_cmp);
            let mut values = numbers(77, 43);
            values.extend([f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 3.5]);
            let ranks = Table::new(&table).expect("a sorted table");
            for threads in [1, 3] {
                let mut places = vec![-1; values.len()];
                ranks.places(&values, false, &mut places, threads);
                let below = |v: &f64| table.iter().filter(|x| *x < v).count().cast_signed();
                assert_eq!(places, values.iter().map(below).collect::<Vec<_>>());
                ranks.places(&values, true, &mut places, threads);
                let below = |v: &f64| table.iter().filter(|x| *x <= v).count().cast_signed();
                assert_eq!(places, values.iter().map(below).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn places_near_those_before_are_found() {
        let table: Vec<f64> = (0..500).map(f64::from).collect();
        let ranks = Table::new(&table).expect("a sorted table");
        for step in [0.0, 0.01, 0.3, 1.0, 2.5, 20.0, -0.5] {
            let values: Vec<f64> = (0..300)
                .map(|i| f64::from(i).mul_add(step, 240.0))
                .collect();
            for right in [false, true] {
                let mut places = vec![-1; values.len()];
                ranks.places(&values, right, &mut places, 1);
                let below = |v: &f64, x: &f64| if right { x <= v } else { x < v };
                let count = |v| table.iter().filter(|x| below(v, x)).count().cast_signed();
                assert_eq!(places, values.iter().map(count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn nan_comes_last() {
        let table = Table::new(&[1.0, 2.0, f64::NAN, -f64::NAN]).expect("a sorted table");
        let mut places = [0; 2];
        table.places(&[f64::NAN, f64::INFINITY], false, &mut places, 1);
        assert_eq!(places, [2, 2]);
        table.places(&[f64::NAN, f64::INFINITY], true, &mut places, 1);
        assert_eq!(places, [4, 2]);
        assert!(Table::new(&[f64::NAN, 1.0]).is_none());
        assert!(Table::new(&[2, 1]).is_none());
    }

    #[test]
    fn curves_pass_their_points() {
        let (x, y) = ([0.0, 1.0, 1.0, 4.0], [1.0, 3.0, 5.0, f64::INFINITY]);
        let places = [-1.0, 0.0, 0.25, 1.0, 2.0, 4.0, 4.5, f64::NAN];
        let wanted = [1.0, 1.0, 1.5, 5.0, f64::INFINITY, f64::INFINITY, 9.0];
        for expected in [1, 8] {
            let curve = Curve::new([&x, &y], expected, None, Some(9.0)).expect("a curve");
            let mut out = [0.0; 8];
            curve.values(&places, &mut out, 2);
            assert_eq!(out[..7], wanted);
            assert!(out[7].is_nan());
        }
        assert!(Curve::new([&[], &[]], 1, None, None).is_none());
        assert!(Curve::new([&[1.0, f64::NAN], &[1.0, 1.0]], 1, None, None).is_none());
    }
}
