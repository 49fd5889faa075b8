//! A statistic of the window around every voxel.

use super::bilateral::Bilateral;
use super::entropy::Table;
use super::linear::emit_f64;
use super::spread::Spread;
use super::statistic::Statistic;
use super::window::{self, Fill, Neighbourhood, Tile, tile_elems, tile_voxels, tiles};
use crate::VolumeError;
use crate::block::{View, ViewMut};
use crate::load::doubles;
use crate::op::{Op, voxels, worth};
use crate::separable::Ctx;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType};
use std::sync::Arc;

/// A statistic over the points of a window, rounded once: in double precision, but for bilateral means of small
/// integers and `float32`.
///
/// # Errors
/// [`VolumeError::Argument`] if the parameters of the statistic make no sense.
pub fn local(
    window: Neighbourhood,
    statistic: Statistic,
    out: DType,
) -> Result<Arc<dyn Op>, VolumeError> {
    statistic.check(window.points.len())?;
    let size: usize = window.axes.iter().map(|a| a.len).product();
    if statistic.is_of_moments() && size == window.points.len() {
        return Ok(Arc::new(Spread::new(window.axes, statistic, out)));
    }
    if let Statistic::Bilateral { weights, sigma } = statistic {
        return Ok(Arc::new(Bilateral::new(window, weights, sigma, out)));
    }
    let entropy = matches!(statistic, Statistic::Entropy { .. });
    Ok(Arc::new(Local {
        table: entropy.then(|| Table::new(window.points.len())),
        runs: window.runs(),
        anchor: window.center().unwrap_or(0),
        window,
        statistic,
        out,
    }))
}

/// A statistic of all points of a window.
#[derive(Clone, Debug)]
struct Local {
    window: Neighbourhood,
    statistic: Statistic,
    /// For entropies.
    table: Option<Table>,
    /// The point of the window that variances are taken from: the center, or the first if that is none.
    anchor: usize,
    /// First and last point of each run along the last axis.
    runs: Vec<(usize, usize)>,
    out: DType,
}

impl Local {
    /// Elements of working memory of a thread, beside the tile.
    fn extra(&self, extents: &[i64]) -> usize {
        2 * window::row_elems(extents, 8) + self.work()
    }

    fn work(&self) -> usize {
        self.statistic.work(self.window.points.len())
    }

    fn run_in(&self, ctx: &Ctx, input: &View<'_>, out: ViewMut<'_>) -> Result<(), VolumeError> {
        let constant = self.window.constant();
        let fill = Fill {
            axes: &self.window.axes,
            nothing: self.statistic.load(constant.unwrap_or(0.0)),
            extra: self.extra(&out.region.extents()),
            load: &|dtype, from: &[u8], to: &mut [f64]| self.load(dtype, from, to),
        };
        let (dtype, size) = (out.dtype, out.dtype.size());
        tiles(
            ctx,
            std::slice::from_ref(input),
            out,
            &fill,
            |tile, extra, result| {
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
                    if let Some(table) = &self.table {
                        let counts = &mut bytemuck::cast_slice_mut(work)[..self.statistic.bins()];
                        table.row(&rows, &self.runs, counts, found);
                        work.fill(0.0);
                    } else {
                        let anchor = rows[self.anchor];
                        self.statistic.row(&rows, anchor, own, variance, found);
                    }
                    if tile.clipped {
                        self.mend(tile, &rows, own, at, (work, found));
                    }
                    emit_f64(
                        dtype,
                        found,
                        &mut result[row * len * size..(row + 1) * len * size],
                    );
                }
            },
        )
    }

    fn load(&self, dtype: DType, from: &[u8], to: &mut [f64]) {
        doubles(dtype, from, to);
        if self.table.is_some() {
            for v in to {
                *v = self.statistic.load(*v);
            }
        }
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
            let anchor = there.iter().position(|&p| p == self.anchor).unwrap_or(0);
            *found = self.statistic.clipped(&values, anchor, own[i], counts);
        }
    }
}

impl Op for Local {
    fn name(&self) -> &'static str {
        self.statistic.filter()
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        let elems = tile_elems(&self.window.axes, extents, 8) + self.extra(extents) as u64;
        let each = 8 * elems + self.out.size() as u64 * tile_voxels(extents, 8) + 64;
        worth(threads, voxels(extents), self.cost_ns()) as u64 * each
    }

    fn cost_ns(&self) -> f64 {
        self.statistic.cost_ns(self.window.points.len())
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let refused = Err(VolumeError::DType {
            op: self.statistic.filter(),
            dtype: input.dtype,
        });
        match input.dtype {
            DType::C64 | DType::C128 => refused,
            _ => self.run_in(ctx, input, out),
        }
    }
}
