//! Bilateral means: every voxel of a window counts by its place, and by how far its value is from the center's.
//!
//! A strip of windows is computed point by point, in registers. The order of sums is that of the points, and the
//! exponential has one formula, so a window alone has the bits of one in a row.
//!
//! Source: C. Tomasi and R. Manduchi, Bilateral filtering for gray and color images, ICCV 1998.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::exponential::Exponential;
use super::linear::{emit_f32, emit_f64, in_double};
use super::tiles::{self, Fill, LoadRow, Tile, tile_elems, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut};
use crate::load::{doubles, singles};
use crate::op::Op;
use crate::separable::{Ctx, Emit};
use crate::strips::{Strips, strip, strip_mut, strips};
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType, Region};

/// A bilateral mean over the points of a window.
#[derive(Clone, Debug)]
pub(super) struct Bilateral {
    window: Neighbourhood,
    /// One for each point.
    weights: Vec<f64>,
    /// Deviation of the weight of differences.
    sigma: f64,
    out: DType,
}

impl Bilateral {
    /// The mean over `window`; there is a weight for each of its points, and `sigma` is positive.
    pub(super) fn new(
        window: Neighbourhood,
        weights: Vec<f64>,
        sigma: f64,
        out: DType,
    ) -> Bilateral {
        Bilateral {
            window,
            weights,
            sigma,
            out,
        }
    }

    /// What differences are multiplied with, so that their negative squares are exponents.
    fn inverse<R: Exponential>(&self) -> R {
        R::of((R::UNIT / 2.0).sqrt() / self.sigma).finite()
    }

    fn windows_in<R: Exponential + Into<f64>>(
        &self,
        work: DType,
        input: &View<'_>,
        region: &Region,
    ) -> Option<Recipe> {
        let weights: Vec<R> = self.weights.iter().map(|&w| R::of(w)).collect();
        let before = self.window.axes.iter().map(|a| usize::try_from(a.before));
        let windows = Windows {
            window: &self.window,
            gather: Gather::Bilateral,
            rank: 0,
            keys: Keys::Plain,
            more: vec![before.collect::<Result<_, _>>().ok()?],
            weights: &weights,
            given: [self.inverse::<R>().into(), 0.0, 0.0],
            nothing: R::of(self.window.constant().unwrap_or(0.0)),
            work,
            out: self.out,
        };
        windows.recipe(input, region)
    }

    fn run_in<R: Exponential>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        load: LoadRow<'_, R>,
        emit: Emit<'_, R>,
    ) -> Result<(), VolumeError> {
        let constant = self.window.constant();
        let fill = Fill {
            axes: &self.window.axes,
            nothing: R::of(constant.unwrap_or(0.0)),
            extra: tiles::row_elems(&out.region.extents(), size_of::<R>()),
            load,
        };
        let weights: Vec<R> = self.weights.iter().map(|&w| R::of(w)).collect();
        let inverse = self.inverse::<R>();
        let axes = &self.window.axes;
        let size = out.dtype.size();
        tiles(
            ctx,
            std::slice::from_ref(input),
            out,
            &fill,
            |tile, means, result| {
                let offsets = tile.offsets(&self.window);
                let steps = axes.iter().zip(&tile.steps);
                let center: usize = steps
                    .map(|(a, step)| usize::try_from(a.before).unwrap_or(0) * step)
                    .sum();
                let len = tile.row_len();
                let mut rows: Vec<&[R]> = Vec::with_capacity(offsets.len());
                for (row, base, at) in tile.rows() {
                    rows.clear();
                    rows.extend(offsets.iter().map(|o| &tile.data[base + o..base + o + len]));
                    let mut job = Row {
                        rows: &rows,
                        weights: &weights,
                        inverse,
                        center: &tile.data[base + center..base + center + len],
                        out: &mut means[..len],
                    };
                    strips(&mut job);
                    if tile.clipped {
                        self.mend(tile, &mut job, at);
                    }
                    emit(
                        &[&means[..len]],
                        &mut result[row * len * size..(row + 1) * len * size],
                    );
                }
            },
        )
    }

    /// Computes the voxels of a row again whose window is clipped.
    fn mend<R: Exponential>(&self, tile: &Tile<'_, R>, job: &mut Row<'_, R>, mut at: Coords) {
        let last = at.len() - 1;
        for i in 0..job.out.len() {
            at[last] = tile.region.lo[last] + i64::try_from(i).unwrap_or(0);
            if let Some(there) = tile.present(&self.window, &at) {
                let points = there.iter().map(|&p| (job.rows[p], job.weights[p]));
                let [mean] = means([job.center[i]], points, job.inverse, i);
                job.out[i] = mean;
            }
        }
    }
}

/// The means of `N` neighbouring windows with these centers: of each point its row and its weight.
#[inline(always)]
fn means<'a, R: Exponential, const N: usize>(
    centers: [R; N],
    points: impl Iterator<Item = (&'a [R], R)>,
    inverse: R,
    at: usize,
) -> [R; N] {
    let (mut sum, mut all) = ([R::of(0.0); N], [R::of(0.0); N]);
    for (row, weight) in points {
        let values: &[R; N] = strip(row, at);
        for j in 0..N {
            let far = values[j] - centers[j];
            let share = far * inverse;
            let near = weight * (-(share * share)).exp_of_negative();
            sum[j] = near.fma(far, sum[j]);
            all[j] = all[j] + near;
        }
    }
    let mut found = centers;
    for j in 0..N {
        found[j] = centers[j] + sum[j] / all[j];
    }
    found
}

/// A row of windows: the rows of its points, and the voxels themselves.
struct Row<'a, R> {
    rows: &'a [&'a [R]],
    weights: &'a [R],
    inverse: R,
    center: &'a [R],
    out: &'a mut [R],
}

impl<R: Exponential> Strips for &mut Row<'_, R> {
    #[inline(always)]
    fn elems(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let points = self.rows.iter().copied().zip(self.weights.iter().copied());
        let found: [R; N] = means(*strip(self.center, at), points, self.inverse, at);
        *strip_mut(self.out, at) = found;
    }
}

impl OnDevice for Bilateral {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        match input.dtype {
            DType::C64 | DType::C128 => None,
            // The CPU may round twice on the way to halves.
            kind if in_double(kind) && self.out == DType::F16 => None,
            kind if in_double(kind) => self.windows_in::<f64>(DType::F64, input, region),
            _ => self.windows_in::<f32>(DType::F32, input, region),
        }
    }
}

impl Op for Bilateral {
    fn name(&self) -> &'static str {
        "bilateral_filter"
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        tiles::scratch_in_either(
            (extents, threads, self.cost_ns()),
            self.out.size(),
            |size| {
                tile_elems(&self.window.axes, extents, size)
                    + tiles::row_elems(extents, size) as u64
            },
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        2.0 + 0.4 * self.weights.len() as f64
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let (input, dtype) = (&inputs[0], out.dtype);
        match input.dtype {
            DType::C64 | DType::C128 => Err(VolumeError::DType {
                op: "bilateral_filter",
                dtype: input.dtype,
            }),
            kind if in_double(kind) => {
                let emit = move |v: &[&[f64]], out: &mut [u8]| emit_f64(dtype, v[0], out);
                self.run_in::<f64>(ctx, input, out, &doubles, &emit)
            }
            _ => {
                let emit = move |v: &[&[f32]], out: &mut [u8]| emit_f32(dtype, v[0], out);
                self.run_in::<f32>(ctx, input, out, &singles, &emit)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_alone_has_the_bits_of_one_in_a_row() {
        let value = |i: u32| f32::from(u16::try_from((i * 7919) % 1013).unwrap()) / 7.0;
        let all: Vec<Vec<f32>> = (0..9)
            .map(|r| (0..37).map(|i| value(r * 37 + i)).collect())
            .collect();
        let rows: Vec<&[f32]> = all.iter().map(Vec::as_slice).collect();
        let weights: Vec<f32> = (1..10u8).map(|i| 1.0 / f32::from(i)).collect();
        let mut out = [0.0; 37];
        strips(&mut Row {
            rows: &rows,
            weights: &weights,
            inverse: 0.03,
            center: rows[4],
            out: &mut out,
        });
        for i in 0..37 {
            let points = rows.iter().copied().zip(weights.iter().copied());
            let [mean] = means([rows[4][i]], points, 0.03, i);
            assert_eq!(mean.to_bits(), out[i].to_bits());
        }
    }
}
