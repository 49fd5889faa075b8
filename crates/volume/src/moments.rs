//! Means and variances over boxes, one axis after the other.
//!
//! A voxel has a mean and a variance between passes, those of the box so far. A pass joins boxes of the
//! same number of voxels: the variance of all is the mean of their variances plus the variance of their
//! means (the law of total variance; for sums it is due to T. F. Chan, G. H. Golub and R. Leveque,
//! Updating formulae and a pairwise algorithm for computing sample variances, 1979). Everything is taken
//! from the center of the window, so that nothing cancels and constants have no variance.
#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::fold::{EdgeTaps, Rule};
use crate::load::Load;
use crate::strips::{Strips, strip, strip_mut, strips};
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;

/// Mean, variance, and the center itself where it is wanted.
pub(crate) struct Moments {
    /// For each pass: points before the center, points.
    pub(crate) passes: Vec<(usize, usize)>,
    /// Keep the center of the window as a third channel.
    pub(crate) center: bool,
}

/// One window.
struct Job<'a, 'o, S, L> {
    /// Means of boxes, or voxels.
    means: &'a [&'a [S]],
    /// Variances of boxes; none for voxels.
    variances: &'a [&'a [S]],
    center: &'a [S],
    load: L,
    /// What stands for rows that do not exist, and how many those are.
    missing: [f64; 2],
    mean: &'o mut [f64],
    variance: &'o mut [f64],
}

impl<S: Pod, L: Load<S, f64>> Strips for Job<'_, '_, S, L> {
    #[inline(always)]
    fn elems(&self) -> usize {
        self.mean.len()
    }

    #[inline(always)]
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn at<const N: usize>(&mut self, at: usize) {
        let [outside, missing] = self.missing;
        let share = 1.0 / (self.means.len() as f64 + missing);
        let center: [f64; N] = self.load.map(strip(self.center, at));
        let (mut sum, mut spread) = ([0.0; N], [0.0; N]);
        for row in self.means {
            let v = self.load.map(strip::<S, N>(row, at));
            for j in 0..N {
                sum[j] += v[j] - center[j];
            }
        }
        if missing > 0.0 {
            for j in 0..N {
                sum[j] += missing * (outside - center[j]);
            }
        }
        for j in 0..N {
            sum[j] *= share;
        }
        for row in self.means {
            let v = self.load.map(strip::<S, N>(row, at));
            for j in 0..N {
                let far = (v[j] - center[j]) - sum[j];
                spread[j] = far.mul_add(far, spread[j]);
            }
        }
        for row in self.variances {
            let v = self.load.map(strip::<S, N>(row, at));
            for j in 0..N {
                spread[j] += v[j];
            }
        }
        if missing > 0.0 {
            for j in 0..N {
                let far = (outside - center[j]) - sum[j];
                spread[j] = missing.mul_add(far * far, spread[j]);
            }
        }
        for j in 0..N {
            sum[j] += center[j];
            spread[j] *= share;
        }
        *strip_mut(self.mean, at) = sum;
        *strip_mut(self.variance, at) = spread;
    }
}

/// Copies a row.
struct Copy<'a, S, L>(&'a [S], L, &'a mut [f64]);

impl<S: Pod, L: Load<S, f64>> Wide for Copy<'_, S, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        self.1.row(self.0, self.2);
    }
}

impl Moments {
    fn join<S: Pod, L: Load<S, f64>>(
        &self,
        pass: usize,
        (rows, center): (&[&[S]], usize),
        missing: [f64; 2],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        let channels = self.channels(pass);
        let n = rows.len() / channels;
        if let [_, _, keep] = outs {
            let from = if pass == 0 {
                rows[center]
            } else {
                rows[2 * n + center]
            };
            wide(Copy(from, load, keep));
        }
        if let [mean, variance, ..] = outs {
            strips(Job {
                means: &rows[..n],
                variances: if pass == 0 { &[] } else { &rows[n..2 * n] },
                center: rows[center],
                load,
                missing,
                mean,
                variance,
            });
        }
    }
}

impl Rule for Moments {
    type W = f64;

    fn channels(&self, pass: usize) -> usize {
        match (pass, self.center) {
            (0, _) => 1,
            (_, false) => 2,
            (_, true) => 3,
        }
    }

    fn fold<S: Pod, L: Load<S, f64>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        let (before, n) = self.passes[pass];
        let stride = rows.len() / self.channels(pass);
        let wanted = self.channels(pass + 1);
        for (m, outs) in outs.chunks_exact_mut(wanted).enumerate() {
            let each =
                (0..self.channels(pass)).flat_map(|c| &rows[c * stride + m..c * stride + m + n]);
            let rows: Vec<&[S]> = each.copied().collect();
            self.join(pass, (&rows, before), [0.0; 2], load, outs);
        }
    }

    fn fold_edge<S: Pod, L: Load<S, f64>>(
        &self,
        pass: usize,
        edge: &EdgeTaps<f64>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        let before = self.passes[pass].0;
        let center = edge.places.iter().position(|&p| p == before).unwrap_or(0);
        self.join(pass, (rows, center), edge.bias, load, outs);
    }
}
