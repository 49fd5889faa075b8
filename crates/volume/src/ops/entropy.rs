//! Entropies of windows that slide along a row.
//!
//! A histogram is kept; a step takes out and puts in one voxel for each run of the window. What a bin of
//! `c` voxels adds is a whole number, so the sum is exact and does not depend on where the row began.

/// `c * log2(c)` in units of `2^-32`, for all counts up to the points of a window.
#[derive(Clone, Debug)]
pub(super) struct Table(Vec<i64>);

const UNIT: f64 = 4_294_967_296.0;

impl Table {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "counts are small; products fit 63 bits"
    )]
    pub(super) fn new(points: usize) -> Table {
        let term = |c: usize| (c as f64 * (c.max(1) as f64).log2() * UNIT).round() as i64;
        Table((0..=points).map(term).collect())
    }

    /// What a bin with one more voxel adds, for all counts before.
    #[expect(clippy::cast_precision_loss, reason = "whole numbers below 2^53")]
    pub(super) fn steps(&self) -> Vec<f64> {
        self.0
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) as f64)
            .collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "the result is rounded once")]
    fn bits(&self, sum: i64, points: usize) -> f64 {
        (self.0[points] - sum) as f64 / (UNIT * points as f64)
    }

    /// The entropy of every window of a row, given the bin of each voxel: `rows` are the points of the
    /// window, `runs` the first and last point of each run. `counts` has a place for each bin.
    pub(super) fn row(
        &self,
        rows: &[&[f64]],
        runs: &[(usize, usize)],
        counts: &mut [u32],
        out: &mut [f64],
    ) {
        counts.fill(0);
        let mut now = Histogram {
            sum: 0,
            nans: 0,
            table: &self.0,
            counts,
        };
        for (i, out) in out.iter_mut().enumerate() {
            if i == 0 {
                for row in rows {
                    now.put(row[0]);
                }
            } else {
                for &(first, last) in runs {
                    now.take(rows[first][i - 1]);
                    now.put(rows[last][i]);
                }
            }
            *out = if now.nans > 0 {
                f64::NAN
            } else {
                self.bits(now.sum, rows.len())
            };
        }
    }
}

struct Histogram<'a> {
    sum: i64,
    nans: usize,
    table: &'a [i64],
    counts: &'a mut [u32],
}

impl Histogram<'_> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bins are small whole numbers"
    )]
    fn put(&mut self, bin: f64) {
        if bin.is_nan() {
            self.nans += 1;
            return;
        }
        let count = &mut self.counts[bin as usize];
        let at = *count as usize;
        self.sum += self.table[at + 1] - self.table[at];
        *count += 1;
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bins are small whole numbers"
    )]
    fn take(&mut self, bin: f64) {
        if bin.is_nan() {
            self.nans -= 1;
            return;
        }
        let count = &mut self.counts[bin as usize];
        *count -= 1;
        let at = *count as usize;
        self.sum -= self.table[at + 1] - self.table[at];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sliding_window_has_the_entropy_of_each_window() {
        let data: Vec<f64> = (0u16..40).map(|i| f64::from(i * i % 7)).collect();
        let rows: Vec<&[f64]> = (0..5).map(|t| &data[t..t + 30]).collect();
        let (mut counts, mut out) = ([3; 7], [0.0; 30]);
        Table::new(5).row(&rows, &[(0, 4)], &mut counts, &mut out);
        for (i, &found) in out.iter().enumerate() {
            let share = |bin: u16| {
                let n: f64 = (0..5)
                    .map(|t| f64::from(u8::from(data[i + t].to_bits() == f64::from(bin).to_bits())))
                    .sum();
                if n == 0.0 {
                    0.0
                } else {
                    -n / 5.0 * (n / 5.0).log2()
                }
            };
            let wanted: f64 = (0..7).map(share).sum();
            assert!((found - wanted).abs() < 1e-9);
        }
        let flat = [1.0; 9];
        let mut out = [1.0];
        let points: Vec<&[f64]> = flat.iter().map(std::slice::from_ref).collect();
        Table::new(9).row(&points, &[(0, 8)], &mut counts, &mut out);
        assert!(out[0] == 0.0, "exactly");
    }
}
