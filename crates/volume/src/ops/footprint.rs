//! Minimum and maximum over windows of any shape.
//!
//! The window is a set of runs along the last axis. For each length of a run the extremum over that
//! many neighbours is computed once for the tile, by doubling; then each output row combines one row for
//! each run: 29 of them for a ball of radius 3 with 123 points.

use super::extrema::Extremum;
use super::window::{self, Fill, Neighbourhood, Tile, tile_elems, tile_voxels, tiles};
use crate::VolumeError;
use crate::block::{View, ViewMut};
use crate::fold::{High, Low, Rule};
use crate::op::{Mode, Op, voxels, worth};
use crate::pixel::{Pixel, with_pixel};
use crate::separable::Ctx;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType};
use std::marker::PhantomData;

/// Minimum or maximum over the points of a window.
#[derive(Clone, Debug)]
pub struct FootprintExtremum {
    which: Extremum,
    window: Neighbourhood,
    /// Runs along the last axis: first point, number of points.
    runs: Vec<(Vec<usize>, usize)>,
    /// The lengths of runs, and the powers of two on the way, rising.
    lengths: Vec<usize>,
    dtype: DType,
}

impl FootprintExtremum {
    /// The extremum over `window`.
    pub fn new(which: Extremum, window: Neighbourhood, dtype: DType) -> FootprintExtremum {
        let mut runs: Vec<(Vec<usize>, usize)> = Vec::new();
        for point in &window.points {
            let last = point.len() - 1;
            let follows = runs.last().is_some_and(|(first, len)| {
                first[..last] == point[..last] && first[last] + len == point[last]
            });
            match runs.last_mut() {
                Some(run) if follows => run.1 += 1,
                _ => runs.push((point.clone(), 1)),
            }
        }
        let longest = runs.iter().map(|r| r.1).max().unwrap_or(1);
        let mut lengths: Vec<usize> = runs.iter().map(|r| r.1).collect();
        lengths.extend(
            (0..usize::BITS)
                .map(|b| 1 << b)
                .take_while(|&p| p <= longest),
        );
        lengths.sort_unstable();
        lengths.dedup();
        FootprintExtremum {
            which,
            window,
            runs,
            lengths,
            dtype,
        }
    }

    fn run_in<T: Pixel, R: Rule<W = T::Key>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        rule: &R,
        nothing: T::Key,
    ) -> Result<(), VolumeError> {
        let first = self.which == Extremum::Minimum;
        let constant = self.window.axes.iter().find_map(|a| match a.mode {
            Mode::Constant(value) => Some(T::from_f64(value).key(first)),
            _ => None,
        });
        let extents = out.region.extents();
        let padded = usize::try_from(tile_elems(&self.window.axes, &extents)).unwrap_or(usize::MAX);
        let fill = Fill {
            axes: &self.window.axes,
            nothing: constant.unwrap_or(nothing),
            extra: padded * (self.lengths.len() - 1) + window::row_elems(&extents),
        };
        let mixed = constant.is_some() && self.window.clips();
        tiles(
            ctx,
            input,
            out,
            &fill,
            |v: T| v.key(first),
            |tile, extra, result| {
                let result: &mut [T] = bytemuck::cast_slice_mut(result);
                let (extra, keys) = extra.split_at_mut(padded * (self.lengths.len() - 1));
                let used = tile.data.len();
                self.doubling(rule, tile.data, extra);
                let all = |length: usize| {
                    let at = self.lengths.iter().position(|&l| l == length).unwrap_or(0);
                    if at == 0 {
                        tile.data
                    } else {
                        &extra[(at - 1) * used..at * used]
                    }
                };
                let place =
                    |p: &[usize]| -> usize { p.iter().zip(&tile.steps).map(|(a, b)| a * b).sum() };
                let runs: Vec<(usize, &[T::Key])> = self
                    .runs
                    .iter()
                    .map(|(first, len)| (place(first), all(*len)))
                    .collect();
                let len = tile.row_len();
                let keys = &mut keys[..len];
                let mut rows: Vec<&[T::Key]> = Vec::with_capacity(runs.len());
                let offsets = tile.offsets(&self.window);
                for (row, base, at) in tile.rows() {
                    rows.clear();
                    rows.extend(runs.iter().map(|(o, data)| &data[base + o..base + o + len]));
                    rule.fold(0, &rows, |k| k, keys);
                    if mixed {
                        self.mend(rule, tile, (base, &offsets), at, keys);
                    }
                    crate::emit::cast(keys, &mut result[row * len..(row + 1) * len], T::of_key);
                }
            },
        )
    }

    /// The extremum of each length at every place of the tile; behind the end there is garbage.
    fn doubling<R: Rule>(&self, rule: &R, tile: &[R::W], extra: &mut [R::W]) {
        let used = tile.len();
        for (i, &length) in self.lengths.iter().enumerate().skip(1) {
            let half = 1 << (length - 1).ilog2();
            let from = self.lengths.iter().position(|&l| l == half).unwrap_or(0);
            let (before, here) = extra.split_at_mut((i - 1) * used);
            let source = if from == 0 {
                tile
            } else {
                &before[(from - 1) * used..from * used]
            };
            let len = used - (length - half);
            rule.fold(
                0,
                &[&source[..len], &source[length - half..]],
                |k| k,
                &mut here[..len],
            );
        }
    }

    /// Clipped windows beside constant faces: the points that exist, one by one.
    fn mend<R: Rule>(
        &self,
        rule: &R,
        tile: &Tile<'_, R::W>,
        (base, offsets): (usize, &[usize]),
        mut at: Coords,
        keys: &mut [R::W],
    ) {
        let last = at.len() - 1;
        for (i, key) in keys.iter_mut().enumerate() {
            at[last] = tile.region.lo[last] + i64::try_from(i).unwrap_or(0);
            let Some(there) = tile.present(&self.window, &at) else {
                continue;
            };
            let place = |&p: &usize| {
                let at = base + offsets[p] + i;
                &tile.data[at..=at]
            };
            let rows: Vec<&[R::W]> = there.iter().map(place).collect();
            rule.fold(0, &rows, |k| k, std::slice::from_mut(key));
        }
    }
}

impl Op for FootprintExtremum {
    fn name(&self) -> &'static str {
        match self.which {
            Extremum::Minimum => "minimum_filter",
            Extremum::Maximum => "maximum_filter",
        }
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], threads: usize) -> u64 {
        let tile = tile_elems(&self.window.axes, extents) * self.lengths.len() as u64;
        let each = tile + tile_voxels(extents) + window::row_elems(extents) as u64;
        worth(threads, voxels(extents)) as u64 * (self.dtype.size() as u64 * each + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        1.0 + 0.1 * self.runs.len() as f64
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let refused = Err(VolumeError::DType {
            op: "minimum_filter",
            dtype: input.dtype,
        });
        with_pixel!(input.dtype, T => match self.which {
            Extremum::Minimum => {
                self.run_in::<T, _>(ctx, input, out, &Low(PhantomData), <T as Pixel>::Key::MAX)
            }
            Extremum::Maximum => {
                self.run_in::<T, _>(ctx, input, out, &High(PhantomData), <T as Pixel>::Key::MIN)
            }
        }, complex => refused)
    }
}
