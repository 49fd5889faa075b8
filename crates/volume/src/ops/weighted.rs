//! Means and flows that weigh every voxel of a window by how far its value is from the center's: bilateral
//! means and anisotropic diffusion.
//!
//! A whole row of windows is computed point by point. The order of sums is that of the points, and the
//! exponential has one formula, so a window alone has the bits of one in a row.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::exponential::exp_of_negative;
use arrayloom_cpu::{Wide, wide};

/// A bilateral mean, with values as far apart as `1 / inverse` counting as one deviation.
#[derive(Clone, Copy)]
struct Bilateral {
    inverse: f64,
}

impl Bilateral {
    fn new(sigma: f64) -> Bilateral {
        Bilateral {
            inverse: (1.0 / sigma).min(f64::MAX),
        }
    }

    /// Adds a point at distance `far` with this weight to the sums of weighted distances and of weights.
    #[inline(always)]
    fn add(self, far: f64, weight: f64, (sum, all): (f64, f64)) -> (f64, f64) {
        let share = far * self.inverse;
        let w = weight * exp_of_negative(-0.5 * (share * share));
        (sum + w * far, all + w)
    }
}

/// What flows from a point.
#[derive(Clone, Copy)]
struct Flow {
    inverse: f64,
    rational: bool,
}

impl Flow {
    fn new(kappa: f64, rational: bool) -> Flow {
        Flow {
            inverse: (1.0 / kappa).min(f64::MAX),
            rational,
        }
    }

    #[inline(always)]
    fn of(self, far: f64) -> f64 {
        let share = far * self.inverse;
        let steep = share * share;
        if self.rational {
            far / (1.0 + steep)
        } else {
            far * exp_of_negative(-steep)
        }
    }
}

/// Bilateral means of a row: `rows` are the points of its windows, `all` is working memory.
pub(super) fn bilateral_row(
    (rows, weights): (&[&[f64]], &[f64]),
    sigma: f64,
    center: &[f64],
    all: &mut [f64],
    out: &mut [f64],
) {
    wide(BilateralRow {
        rows,
        weights,
        kind: Bilateral::new(sigma),
        center,
        all,
        out,
    });
}

/// The bilateral mean of the values of one window, each with its weight.
pub(super) fn bilateral_of(points: impl Iterator<Item = (f64, f64)>, sigma: f64, x: f64) -> f64 {
    let kind = Bilateral::new(sigma);
    let (sum, all) = points.fold((0.0, 0.0), |sums, (value, weight)| {
        kind.add(value - x, weight, sums)
    });
    x + sum / all
}

/// A step of diffusion for a row: `rows` are the points of its windows.
pub(super) fn diffusion_row(
    rows: &[&[f64]],
    (kappa, step, rational): (f64, f64, bool),
    center: &[f64],
    out: &mut [f64],
) {
    wide(DiffusionRow {
        rows,
        kind: Flow::new(kappa, rational),
        step,
        center,
        out,
    });
}

/// A step of diffusion for one window.
pub(super) fn diffusion_of(
    values: &[f64],
    (kappa, step, rational): (f64, f64, bool),
    x: f64,
) -> f64 {
    let kind = Flow::new(kappa, rational);
    let sum = values.iter().fold(0.0, |sum, v| sum + kind.of(v - x));
    x + step * sum
}

struct BilateralRow<'a> {
    rows: &'a [&'a [f64]],
    weights: &'a [f64],
    kind: Bilateral,
    center: &'a [f64],
    all: &'a mut [f64],
    out: &'a mut [f64],
}

impl Wide for BilateralRow<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.out.fill(0.0);
        self.all.fill(0.0);
        for (row, &weight) in self.rows.iter().zip(self.weights) {
            let sums = self.out.iter_mut().zip(self.all.iter_mut());
            for (((sum, all), &v), &x) in sums.zip(*row).zip(self.center) {
                (*sum, *all) = self.kind.add(v - x, weight, (*sum, *all));
            }
        }
        for ((sum, &all), &x) in self.out.iter_mut().zip(self.all.iter()).zip(self.center) {
            *sum = x + *sum / all;
        }
    }
}

struct DiffusionRow<'a> {
    rows: &'a [&'a [f64]],
    kind: Flow,
    step: f64,
    center: &'a [f64],
    out: &'a mut [f64],
}

impl Wide for DiffusionRow<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.out.fill(0.0);
        for row in self.rows {
            for ((sum, &v), &x) in self.out.iter_mut().zip(*row).zip(self.center) {
                *sum += self.kind.of(v - x);
            }
        }
        for (sum, &x) in self.out.iter_mut().zip(self.center) {
            *sum = x + self.step * *sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_alone_has_the_bits_of_one_in_a_row() {
        let value = |i: u32| f64::from((i * 7919) % 1013) / 7.0;
        let all: Vec<Vec<f64>> = (0..9)
            .map(|r| (0..37).map(|i| value(r * 37 + i)).collect())
            .collect();
        let rows: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
        let weights: Vec<f64> = (0..9).map(|i| 1.0 / (1.0 + f64::from(i))).collect();
        let (mut means, mut work, mut flows) = ([0.0; 37], [0.0; 37], [0.0; 37]);
        bilateral_row((&rows, &weights), 30.0, rows[4], &mut work, &mut means);
        for rational in [false, true] {
            diffusion_row(&rows, (20.0, 0.1, rational), rows[4], &mut flows);
            for i in 0..37 {
                let values: Vec<f64> = rows.iter().map(|r| r[i]).collect();
                let points = values.iter().copied().zip(weights.iter().copied());
                let mean = bilateral_of(points, 30.0, values[4]);
                assert_eq!(mean.to_bits(), means[i].to_bits());
                let flow = diffusion_of(&values, (20.0, 0.1, rational), values[4]);
                assert_eq!(flow.to_bits(), flows[i].to_bits());
            }
        }
    }
}
