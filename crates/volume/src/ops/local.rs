//! A statistic of the window around every voxel.

use super::linear::emit_f64;
use super::statistic::Statistic;
use super::window::{self, Fill, Neighbourhood, Tile, tile_elems, tile_voxels, tiles};
use crate::VolumeError;
use crate::block::{View, ViewMut};
use crate::op::{Mode, Op, voxels, worth};
use crate::pixel::{Pixel, with_pixel};
use crate::separable::Ctx;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType};

/// A statistic over the points of a window, in double precision, rounded once.
#[derive(Clone, Debug)]
pub struct Local {
    window: Neighbourhood,
    statistic: Statistic,
    out: DType,
}

impl Local {
    /// The statistic of `window` as `out`.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] if the parameters of the statistic make no sense.
    pub fn new(
        window: Neighbourhood,
        statistic: Statistic,
        out: DType,
    ) -> Result<Local, VolumeError> {
        statistic.check(window.points.len())?;
        Ok(Local {
            window,
            statistic,
            out,
        })
    }

    /// The name of the filter.
    fn filter(&self) -> &'static str {
        match self.statistic {
            Statistic::Variance => "var_filter",
            Statistic::Deviation => "std_filter",
            Statistic::Variation => "cv_filter",
            Statistic::Wiener(_) => "wiener_filter",
            Statistic::Niblack(_) => "threshold_niblack",
            Statistic::Sauvola { .. } => "threshold_sauvola",
            Statistic::Entropy { .. } => "entropy_filter",
            Statistic::Bilateral { .. } => "bilateral_filter",
        }
    }

    /// Elements of working memory of a thread, beside the tile.
    fn extra(&self, extents: &[i64]) -> usize {
        2 * window::row_elems(extents) + self.work()
    }

    fn work(&self) -> usize {
        self.statistic.work(self.window.points.len())
    }

    fn run_in<S: Pixel>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError> {
        let constant = self.window.axes.iter().find_map(|a| match a.mode {
            Mode::Constant(value) => Some(value),
            _ => None,
        });
        let fill = Fill {
            axes: &self.window.axes,
            nothing: self.statistic.load(constant.unwrap_or(0.0)),
            extra: self.extra(&out.region.extents()),
        };
        let (dtype, size) = (out.dtype, out.dtype.size());
        let load = |v: S| self.statistic.load(v.to_f64());
        tiles(ctx, input, out, &fill, load, |tile, extra, result| {
            let offsets = tile.offsets(&self.window);
            let axes = self.window.axes.iter().zip(&tile.steps);
            let center: usize = axes
                .map(|(a, step)| usize::try_from(a.before).unwrap_or(0) * step)
                .sum();
            let len = tile.row_len();
            // Counts stay where they are, whatever the length of rows: they are zero between windows.
            let (work, pair) = extra.split_at_mut(self.work());
            let (found, variance) = pair.split_at_mut(len);
            let mut rows: Vec<&[f64]> = Vec::with_capacity(offsets.len());
            for (row, base, at) in tile.rows() {
                rows.clear();
                rows.extend(offsets.iter().map(|o| &tile.data[base + o..base + o + len]));
                let own = &tile.data[base + center..base + center + len];
                self.statistic.row(&rows, own, (variance, work), found);
                if tile.clipped {
                    self.mend(tile, &rows, own, at, (work, found));
                }
                emit_f64(
                    dtype,
                    found,
                    &mut result[row * len * size..(row + 1) * len * size],
                );
            }
        })
    }

    /// Computes the voxels of a row again whose window is clipped.
    fn mend(
        &self,
        tile: &Tile<'_, f64>,
        rows: &[&[f64]],
        own: &[f64],
        mut at: Coords,
        (work, found): (&mut [f64], &mut [f64]),
    ) {
        let last = at.len() - 1;
        let mut values = Vec::new();
        for (i, found) in found.iter_mut().enumerate() {
            at[last] = tile.region.lo[last] + i64::try_from(i).unwrap_or(0);
            let Some(there) = tile.present(&self.window, &at) else {
                continue;
            };
            values.clear();
            values.extend(there.iter().map(|&p| rows[p][i]));
            let counts = work.get_mut(rows.len()..).unwrap_or_default();
            *found = self.statistic.clipped(&values, &there, own[i], counts);
        }
    }
}

impl Op for Local {
    fn name(&self) -> &'static str {
        self.filter()
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], threads: usize) -> u64 {
        let elems = tile_elems(&self.window.axes, extents) + self.extra(extents) as u64;
        let each = 8 * elems + self.out.size() as u64 * tile_voxels(extents) + 64;
        worth(threads, voxels(extents)) as u64 * each
    }

    fn cost_ns(&self) -> f64 {
        self.statistic.cost_ns(self.window.points.len())
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let ctx = &Ctx {
            threads: worth(ctx.threads, out.region.voxels()),
            ..ctx.clone()
        };
        let refused = Err(VolumeError::DType {
            op: self.filter(),
            dtype: input.dtype,
        });
        with_pixel!(input.dtype, S => self.run_in::<S>(ctx, input, out), complex => refused)
    }
}
