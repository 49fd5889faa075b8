//! Anisotropic diffusion: what flows from a voxel's neighbours, less over steep differences.
//!
//! A whole row of windows is computed point by point. The order of sums is that of the points, and the
//! exponential has one formula, so a window alone has the bits of one in a row.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::exponential::exp_of_negative;
use arrayloom_cpu::{Wide, wide};

/// What flows from a point.
#[derive(Clone, Copy)]
struct Flow {
    inverse: f64,
    rational: bool,
}

/// What differences are multiplied with, so that steep ones are above one.
pub(super) fn inverse(kappa: f64) -> f64 {
    (1.0 / kappa).min(f64::MAX)
}

impl Flow {
    fn new(kappa: f64, rational: bool) -> Flow {
        Flow {
            inverse: inverse(kappa),
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
        let mut flows = [0.0; 37];
        for rational in [false, true] {
            diffusion_row(&rows, (20.0, 0.1, rational), rows[4], &mut flows);
            for i in 0..37 {
                let values: Vec<f64> = rows.iter().map(|r| r[i]).collect();
                let flow = diffusion_of(&values, (20.0, 0.1, rational), values[4]);
                assert_eq!(flow.to_bits(), flows[i].to_bits());
            }
        }
    }
}
