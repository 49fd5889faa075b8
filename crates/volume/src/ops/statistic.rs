//! What the voxels of a window give: variance and what follows from it, entropy, bilateral means.
//!
//! Everything is in double precision and in an order that the window alone fixes. Variances are taken
//! in two passes around one of the points of the window, so nothing cancels.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::diffusion::{diffusion_of, diffusion_row};
use crate::VolumeError;
use arrayloom_cpu::{Wide, wide};
use arrayloom_device::Spread;

/// A number that the voxels of a window give.
#[derive(Clone, Debug, PartialEq)]
pub enum Statistic {
    /// The mean squared distance from the mean.
    Variance,
    /// The square root of the variance.
    Deviation,
    /// The deviation over the mean; 0 for windows of zeros.
    Variation,
    /// Wiener's estimate of the center for noise of this variance.
    Wiener(f64),
    /// Niblack's threshold: the mean minus so many deviations.
    Niblack(f64),
    /// Sauvola's threshold `mean * (1 + k * (deviation / r - 1))`.
    Sauvola {
        /// How much the deviation counts.
        k: f64,
        /// The deviation at which the threshold is the mean.
        r: f64,
    },
    /// Bits of the distribution of values over bins of equal width.
    Entropy {
        /// Where the first bin begins.
        low: f64,
        /// Where the last bin ends.
        high: f64,
        /// Number of bins.
        bins: usize,
    },
    /// A mean that counts points by their place, and by how near their value is to the center's.
    Bilateral {
        /// One for each point of the window.
        weights: Vec<f64>,
        /// Deviation of the weight of values.
        sigma: f64,
    },
    /// A step of anisotropic diffusion: what flows in from every point, less over steep differences.
    Diffusion {
        /// Differences that count as steep.
        kappa: f64,
        /// How much flows.
        step: f64,
        /// The share `1 / (1 + (d / kappa)^2)` of a difference flows, else `exp(-(d / kappa)^2)`.
        rational: bool,
    },
}

impl Statistic {
    /// Refuses parameters that make no sense for a window of `points` points.
    pub(super) fn check(&self, points: usize) -> Result<(), VolumeError> {
        let refused = |message: String| Err(VolumeError::Argument(message));
        match self {
            Statistic::Entropy { low, high, bins }
                if *bins == 0 || !low.is_finite() || !high.is_finite() || high < low =>
            {
                return refused(format!(
                    "{bins} bins from {low} to {high}; give at least one bin and a rising range"
                ));
            }
            Statistic::Bilateral { weights, sigma }
                if weights.len() != points || sigma.is_nan() || *sigma <= 0.0 =>
            {
                return refused(format!(
                    "{} weights for a window of {points} points, and a sigma of {sigma}; give one \
                     weight for each point and a positive sigma",
                    weights.len()
                ));
            }
            Statistic::Diffusion { kappa, step, .. }
                if kappa.is_nan() || *kappa <= 0.0 || !step.is_finite() =>
            {
                return refused(format!(
                    "a kappa of {kappa} and a step of {step}; give a positive kappa and a finite step"
                ));
            }
            Statistic::Sauvola { r, .. } if *r == 0.0 => {
                return refused("a range r of 0; give a positive one".to_owned());
            }
            _ => {}
        }
        Ok(())
    }

    /// A voxel as the statistic looks at it: its bin for an entropy.
    pub(super) fn load(&self, value: f64) -> f64 {
        let Statistic::Entropy { low, high, bins } = self else {
            return value;
        };
        if value.is_nan() {
            return value;
        }
        if high <= low {
            return 0.0;
        }
        #[expect(clippy::cast_precision_loss, reason = "bins are few")]
        let bins = *bins as f64;
        // Halves, so that a range of all numbers is finite.
        let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
        (share * bins).floor().clamp(0.0, bins - 1.0)
    }

    /// The name of the filter.
    pub(super) fn filter(&self) -> &'static str {
        match self {
            Statistic::Variance => "var_filter",
            Statistic::Deviation => "std_filter",
            Statistic::Variation => "cv_filter",
            Statistic::Wiener(_) => "wiener_filter",
            Statistic::Niblack(_) => "threshold_niblack",
            Statistic::Sauvola { .. } => "threshold_sauvola",
            Statistic::Entropy { .. } => "entropy_filter",
            Statistic::Bilateral { .. } => "bilateral_filter",
            Statistic::Diffusion { .. } => "anisotropic_diffusion",
        }
    }

    /// Bins of an entropy.
    pub(super) fn bins(&self) -> usize {
        match self {
            Statistic::Entropy { bins, .. } => *bins,
            _ => 0,
        }
    }

    /// True if it follows from mean and variance.
    pub(super) fn is_of_moments(&self) -> bool {
        !matches!(
            self,
            Statistic::Entropy { .. } | Statistic::Bilateral { .. } | Statistic::Diffusion { .. }
        )
    }

    /// What it is called on devices, and the numbers that it needs; nothing if it follows from other things than mean
    /// and variance.
    pub(super) fn on_device(&self) -> Option<(Spread, [f64; 2])> {
        Some(match *self {
            Statistic::Variance => (Spread::Variance, [0.0; 2]),
            Statistic::Deviation => (Spread::Deviation, [0.0; 2]),
            Statistic::Variation => (Spread::Variation, [0.0; 2]),
            Statistic::Wiener(noise) => (Spread::Wiener, [noise, 0.0]),
            Statistic::Niblack(k) => (Spread::Niblack, [k, 0.0]),
            Statistic::Sauvola { k, r } => (Spread::Sauvola, [k, r]),
            _ => return None,
        })
    }

    /// True if it looks at the center of the window itself.
    pub(super) fn is_of_center(&self) -> bool {
        matches!(self, Statistic::Wiener(_))
    }

    /// Nanoseconds for one voxel, roughly.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(super) fn cost_ns(&self, points: usize) -> f64 {
        let each = match self {
            Statistic::Entropy { .. } => 2.0,
            Statistic::Diffusion { .. } => 1.5,
            _ => 0.4,
        };
        2.0 + each * points as f64
    }

    /// The statistic of a full window for every voxel of a row, of all but entropies and bilateral means: `rows` are its points,
    /// `anchor` is the one that variances are taken from, `center` the voxels themselves; `space` is a row.
    pub(super) fn row(
        &self,
        rows: &[&[f64]],
        anchor: &[f64],
        center: &[f64],
        space: &mut [f64],
        out: &mut [f64],
    ) {
        let variance = &mut space[..center.len()];
        if let Statistic::Diffusion {
            kappa,
            step,
            rational,
        } = self
        {
            return diffusion_row(rows, (*kappa, *step, *rational), center, out);
        }
        wide(Moments {
            rows,
            anchor,
            mean: out,
            variance,
        });
        self.of_moments(variance, center, out);
    }

    /// The statistic for every voxel of a row of variances, and of centers if it looks at them; `means`
    /// becomes it.
    pub(super) fn of_moments(&self, variances: &[f64], centers: &[f64], means: &mut [f64]) {
        wide(OfMoments {
            statistic: self,
            variances,
            centers,
            means,
        });
    }

    /// The statistic of a clipped window around `x` whose points have these values, of all but entropies and bilateral
    /// means; see `row` for the anchor.
    pub(super) fn clipped(&self, values: &[f64], anchor: usize, x: f64) -> f64 {
        if let Statistic::Diffusion {
            kappa,
            step,
            rational,
        } = self
        {
            return diffusion_of(values, (*kappa, *step, *rational), x);
        }
        let (mut mean, mut variance) = ([0.0], [0.0]);
        let rows: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
        wide(Moments {
            rows: &rows,
            anchor: rows.get(anchor).copied().unwrap_or(&[0.0]),
            mean: &mut mean,
            variance: &mut variance,
        });
        self.of_one(mean[0], variance[0], x)
    }

    #[inline(always)]
    fn of_one(&self, mean: f64, variance: f64, x: f64) -> f64 {
        match self {
            Statistic::Variance => variance,
            Statistic::Deviation => variance.sqrt(),
            Statistic::Variation if variance == 0.0 && mean == 0.0 => 0.0,
            Statistic::Variation => variance.sqrt() / mean,
            Statistic::Wiener(_) if variance.is_nan() => f64::NAN,
            Statistic::Wiener(noise) if variance > *noise => {
                mean + (1.0 - noise / variance) * (x - mean)
            }
            Statistic::Niblack(k) => mean - k * variance.sqrt(),
            Statistic::Sauvola { k, r } => mean * (1.0 + k * (variance.sqrt() / r - 1.0)),
            _ => mean,
        }
    }
}

struct OfMoments<'a> {
    statistic: &'a Statistic,
    variances: &'a [f64],
    centers: &'a [f64],
    means: &'a mut [f64],
}

impl Wide for OfMoments<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let each = self.means.iter_mut().zip(self.variances);
        match self.statistic {
            Statistic::Variance => each.for_each(|(m, &v)| *m = v),
            Statistic::Deviation => each.for_each(|(m, &v)| *m = v.sqrt()),
            other if other.is_of_center() => {
                for ((m, &v), &x) in each.zip(self.centers) {
                    *m = other.of_one(*m, v, x);
                }
            }
            other => each.for_each(|(m, &v)| *m = other.of_one(*m, v, 0.0)),
        }
    }
}

/// Means and variances of the points of many windows.
struct Moments<'a> {
    rows: &'a [&'a [f64]],
    anchor: &'a [f64],
    mean: &'a mut [f64],
    variance: &'a mut [f64],
}

impl Wide for Moments<'_> {
    type Out = ();

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn run(self) {
        let Moments {
            rows,
            anchor,
            mean,
            variance,
        } = self;
        let count = rows.len() as f64;
        mean.fill(0.0);
        variance.fill(0.0);
        for row in rows {
            for ((sum, &x), &c) in mean.iter_mut().zip(*row).zip(anchor) {
                *sum += x - c;
            }
        }
        for sum in mean.iter_mut() {
            *sum /= count;
        }
        for row in rows {
            let each = variance.iter_mut().zip(*row).zip(anchor).zip(mean.iter());
            for (((sum, &x), &c), &m) in each {
                let far = (x - c) - m;
                *sum += far * far;
            }
        }
        for ((v, m), &c) in variance.iter_mut().zip(mean.iter_mut()).zip(anchor) {
            *v /= count;
            *m += c;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(values: &[f64], anchor: usize) -> f64 {
        Statistic::Deviation.clipped(values, anchor, values[anchor])
    }

    #[test]
    fn large_values_do_not_cancel() {
        let values: Vec<f64> = (0..27).map(|i| 1e9 + f64::from(i % 2)).collect();
        let exact = (13.0_f64 * 14.0).sqrt() / 27.0;
        assert!((deviation(&values, 13) - exact).abs() < 1e-9);
        assert!(deviation(&[0.1; 27], 3) == 0.0);
    }

    #[test]
    fn the_last_bin_has_what_lies_above() {
        let kind = Statistic::Entropy {
            low: 0.0,
            high: 8.0,
            bins: 4,
        };
        let bins = [0.0, 8.0, 7.9, 1.9, 9.0, -3.0].map(|v| kind.load(v));
        let wanted = [0.0_f64, 3.0, 3.0, 0.0, 3.0, 0.0];
        assert_eq!(bins.map(f64::to_bits), wanted.map(f64::to_bits));
    }

    #[test]
    fn parameters_are_checked() {
        let bad = Statistic::Bilateral {
            weights: vec![1.0],
            sigma: 1.0,
        };
        assert!(bad.check(2).is_err());
        assert!(Statistic::Sauvola { k: 0.2, r: 0.0 }.check(2).is_err());
        assert!(Statistic::Wiener(1.0).check(2).is_ok());
    }
}
