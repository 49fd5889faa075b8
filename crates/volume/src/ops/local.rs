//! A statistic of the window around every voxel.

use super::bilateral::Bilateral;
use super::diffusion::inverse;
use super::entropy::Table;
use super::linear::emit_f64;
use super::spread::Spread;
use super::statistic::Statistic;
use super::tiles::{self, Fill, Tile, tile_elems, tile_voxels, tiles};
use super::window::{self, Neighbourhood, WindowAxis};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut};
use crate::load::doubles;
use crate::op::{Mode, Op, voxels, worth};
use crate::separable::Ctx;
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType, Region};
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
    /// Elements of working memory of a thread, beside the tile: two rows, and the counts of bins.
    fn extra(&self, extents: &[i64]) -> usize {
        2 * tiles::row_elems(extents, 8) + self.statistic.bins()
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
                let (counts, pair) = extra.split_at_mut(self.statistic.bins());
                let counts = &mut bytemuck::cast_slice_mut(counts)[..self.statistic.bins()];
                let (found, variance) = pair.split_at_mut(len);
                let mut rows: Vec<&[f64]> = Vec::with_capacity(offsets.len());
                for (row, base, at) in tile.rows() {
                    rows.clear();
                    rows.extend(offsets.iter().map(|o| &tile.data[base + o..base + o + len]));
                    let own = &tile.data[base + center..base + center + len];
                    if let Some(table) = &self.table {
                        table.row(&rows, &self.runs, counts, found);
                    } else {
                        let anchor = rows[self.anchor];
                        self.statistic.row(&rows, anchor, own, variance, found);
                    }
                    if tile.clipped {
                        self.mend(tile, &rows, own, at, (counts, found));
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
        (counts, found): (&mut [u32], &mut [f64]),
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
            if let Some(table) = &self.table {
                let points: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
                table.row(&points, &[], counts, std::slice::from_mut(found));
                continue;
            }
            let anchor = there.iter().position(|&p| p == self.anchor).unwrap_or(0);
            *found = self.statistic.clipped(&values, anchor, own[i]);
        }
    }
}

/// Windows of an entropy with more points are left to the CPU, whose windows slide: a device looks at every pair of
/// points.
const PAIRS: usize = 256;
/// Numbers of bins that `float32` has exactly.
const BINS: usize = 1 << 24;

impl Local {
    fn windows<'a>(&'a self, gather: Gather, weights: &'a [f64]) -> Windows<'a, f64> {
        Windows {
            window: &self.window,
            gather,
            rank: 0,
            keys: Keys::Plain,
            more: Vec::new(),
            weights,
            given: [0.0; 3],
            nothing: self.statistic.load(self.window.constant().unwrap_or(0.0)),
            work: DType::F64,
            out: self.out,
        }
    }

    /// The bin of each voxel first, then the entropies.
    fn entropy(&self, table: &Table, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let Statistic::Entropy { low, high, bins } = self.statistic else {
            return None;
        };
        if bins > BINS || self.window.points.len() > PAIRS {
            return None;
        }
        let own = WindowAxis {
            len: 1,
            before: 0,
            mode: Mode::Nearest,
        };
        let rank = self.window.axes.len();
        let voxel = Neighbourhood::new(vec![own; rank], &[true]).ok()?;
        #[expect(clippy::cast_precision_loss, reason = "bins are few")]
        let given = if high > low {
            [low / 2.0, high / 2.0 - low / 2.0, bins as f64]
        } else {
            [0.0, 1.0, 1.0]
        };
        let bins = Windows {
            window: &voxel,
            given,
            out: DType::F32,
            ..self.windows(Gather::Bin, &[])
        };
        let steps = table.steps();
        let numbers = View {
            dtype: DType::F32,
            ..*input
        };
        let entropies = self.windows(Gather::Entropy, &steps);
        let entropies = entropies.recipe(&numbers, region)?;
        Some(bins.recipe(input, input.region)?.then(entropies))
    }

    /// Diffusion, or what follows from mean and variance: what looks at the voxel itself.
    fn of_center(&self, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let flag = |is: bool| f64::from(u8::from(is));
        let (gather, given) = if let Statistic::Diffusion {
            kappa,
            step,
            rational,
        } = self.statistic
        {
            (Gather::Diffusion, [inverse(kappa), step, flag(rational)])
        } else {
            let (spread, [factor, range]) = self.statistic.on_device()?;
            let own = flag(self.window.center().is_some());
            (Gather::Spread(spread), [factor, range, own])
        };
        let before = self.window.axes.iter().map(|a| usize::try_from(a.before));
        let windows = Windows {
            more: vec![before.collect::<Result<_, _>>().ok()?],
            given,
            ..self.windows(gather, &[])
        };
        windows.recipe(input, region)
    }
}

impl OnDevice for Local {
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64 {
        let tables = windows::scratch(&self.window, extents);
        if self.table.is_none() {
            return tables;
        }
        let along = self.window.axes.iter().zip(extents).zip(shape);
        let read = along.map(|((a, &e), &n)| {
            e.saturating_add_unsigned(a.len as u64 - 1)
                .min(n)
                .max(0)
                .unsigned_abs()
        });
        let tables_of_bins = 8 * read.clone().sum::<u64>() + 4096;
        tables + tables_of_bins + 4 * read.product::<u64>()
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        // The CPU may round twice on the way to halves.
        if input.dtype.is_complex() || self.out == DType::F16 {
            return None;
        }
        match &self.table {
            Some(table) => self.entropy(table, input, region),
            None => self.of_center(input, region),
        }
    }
}

impl Op for Local {
    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

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
