//! Medians and other ranks over any window.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::sliding::{Sliding, Wanted};
use super::tiles::{self, Fill, Tile, tile_elems, tile_voxels, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows;
use crate::block::{View, ViewMut, axis_len};
use crate::histograms::Histograms;
use crate::keys::{Keys, Order, as_keys, emit_keys, key_of};
use crate::load::Load;
use crate::op::{Op, voxels, worth};
use crate::pixel::Key;
use crate::select::Selector;
use crate::separable::Ctx;
use crate::squares::Square;
use crate::store::Store;
use arrayloom_cpu::{Wide, wide};
use arrayloom_device::Gather;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{Coords, DType, Region};

/// Fewest rows for which histograms of columns are made.
const ROWS: i64 = 4;

/// The value of one rank among the points of a window.
///
/// In a clipped window of `m` of `n` points it is the value of rank `r * m / n`, or the same percentile of the `m`
/// points; a median is that of 50 percent. A window with a NaN gives NaN.
#[derive(Clone, Debug)]
pub struct Rank {
    window: Neighbourhood,
    place: usize,
    /// The percentile that the rank was made from.
    percent: Option<f64>,
    /// Medians of squares have a way of their own.
    square: Option<Square>,
    /// So have large boxes of bytes.
    histograms: Option<Histograms>,
    /// So have long windows along one axis.
    sliding: Option<Sliding>,
    dtype: DType,
}

impl Rank {
    /// The value with `rank` smaller ones among the points of `window`.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] for a rank that the window does not have.
    pub fn new(window: Neighbourhood, rank: usize, dtype: DType) -> Result<Rank, VolumeError> {
        let n = window.points.len();
        if rank >= n {
            return Err(VolumeError::Argument(format!(
                "rank {rank} of a window of {n} points; ranks go from 0 to {}",
                n - 1
            )));
        }
        Ok(Rank {
            square: square(&window).filter(|_| rank == n / 2),
            histograms: Histograms::of(&window, rank).filter(|_| dtype.size() == 1),
            sliding: Sliding::of(&window, dtype.size()),
            window,
            place: rank,
            percent: None,
            dtype,
        })
    }

    /// The same rank, which clipped windows take as `percent` percent of the points that they have.
    #[must_use]
    pub fn of_percent(self, percent: f64) -> Rank {
        Rank {
            percent: Some(percent),
            ..self
        }
    }

    /// The rank among the `m` points of a clipped window.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a window has less than 2^53 points, and a percentile lies between 0 and 100"
    )]
    fn clipped(&self, m: usize) -> usize {
        let n = self.window.points.len();
        match self.percent {
            Some(percent) => ((m as f64 * percent / 100.0) as usize).min(m.saturating_sub(1)),
            None => self.place * m / n,
        }
    }

    /// Runs on keys `K`: `L` windows at a time, or of squares `V`.
    fn run_in<K: Key, const L: usize, const V: usize>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError>
    where
        Keys: Load<K, K> + Store<K, To = K>,
    {
        let keys = self.keys();
        let n = self.window.points.len();
        let float = matches!(self.dtype, DType::F16 | DType::F32 | DType::F64);
        if let Some(sliding) = &self.sliding {
            let wanted = Wanted {
                keys,
                rank: &|m| if m == n { self.place } else { self.clipped(m) },
                spreads: float,
            };
            return sliding.run::<K>(ctx, input, out, &wanted);
        }
        let selector = Selector::<L>::new(n, self.place, K::BITS);
        let constant: Option<K> = self.window.constant().map(|value| key_of(keys, value));
        let longest = tiles::row_elems(&out.region.extents(), self.dtype.size());
        let fill = Fill {
            axes: &self.window.axes,
            nothing: constant.unwrap_or(K::MAX),
            extra: self.work(selector.work(), &out.region.extents()) + longest,
            load: &|_, from: &[u8], to: &mut [K]| as_keys(keys, from, to),
        };
        let size = self.dtype.size();
        let nan = float.then_some(K::MAX);
        tiles(
            ctx,
            std::slice::from_ref(input),
            out,
            &fill,
            |tile, extra, result| {
                let offsets = tile.offsets(&self.window);
                let len = tile.row_len();
                let (found, work) = extra.split_at_mut(longest);
                let found = &mut found[..len];
                let has_nan = nan.is_some() && has_nan(tile.data);
                let prefix = selector.prefix(tile.data);
                let square = self.square.filter(|_| len >= V);
                let histograms = self.histograms_for(&tile.region.extents());
                if let Some(square) = square {
                    squares::<K, V>(square, tile, &offsets, work, (keys, result));
                } else if let Some(histograms) = histograms {
                    let bases: Vec<usize> = tile.rows().map(|(_, base, _)| base).collect();
                    let run = axis_len(&tile.region, tile.region.rank() - 2);
                    let (data, work) = (
                        bytemuck::cast_slice(tile.data),
                        bytemuck::cast_slice_mut(work),
                    );
                    histograms.tile(data, (&offsets, &bases, run), work, result);
                }
                let mends = tile.clipped || has_nan;
                if square.is_some() && !mends {
                    return;
                }
                for (row, base, at) in tile.rows() {
                    let result = &mut result[row * len * size..(row + 1) * len * size];
                    if square.is_some() {
                        as_keys(keys, result, found);
                    } else if histograms.is_some() {
                        found.copy_from_slice(bytemuck::cast_slice(result));
                    } else {
                        selector.row((tile.data, prefix), base, &offsets, work, found);
                    }
                    if mends {
                        let window = Place {
                            base,
                            offsets: &offsets,
                            nan: nan.filter(|_| has_nan),
                        };
                        self.mend(tile, &window, at, found);
                    }
                    emit_keys(keys, found, result);
                }
            },
        )
    }

    /// Elements of working memory beside a row of results, where a selector wants so many.
    fn work(&self, selector: usize, extents: &[i64]) -> usize {
        let row = tiles::row_elems(extents, self.dtype.size());
        let histograms = self.histograms_for(extents).map_or(0, |h| h.work(row));
        selector
            .max(self.square.map_or(0, |s| s.work(row)))
            .max(histograms)
    }

    /// Histograms pay for boxes of some rows.
    fn histograms_for(&self, extents: &[i64]) -> Option<&Histograms> {
        let rows = extents.iter().rev().nth(1).is_some_and(|&n| n >= ROWS);
        self.histograms.as_ref().filter(|_| rows)
    }

    /// Computes the voxels of a row again whose window is clipped or holds a NaN.
    fn mend<K: Key>(
        &self,
        tile: &Tile<'_, K>,
        place: &Place<'_, K>,
        mut at: Coords,
        keys: &mut [K],
    ) {
        let last = at.len() - 1;
        let mut values = Vec::new();
        for (i, key) in keys.iter_mut().enumerate() {
            at[last] = tile.region.lo[last] + i64::try_from(i).unwrap_or(0);
            let there = tile.present(&self.window, &at);
            if there.is_none() && place.nan.is_none() {
                continue;
            }
            let value = |p: usize| tile.data[place.base + place.offsets[p] + i];
            values.clear();
            match &there {
                Some(points) => values.extend(points.iter().map(|&p| value(p))),
                None => values.extend((0..place.offsets.len()).map(value)),
            }
            let rank = if there.is_some() {
                self.clipped(values.len())
            } else {
                self.place
            };
            if place.nan.is_some_and(|nan| values.contains(&nan)) {
                *key = K::MAX;
            } else if !values.is_empty() {
                *key = *values.select_nth_unstable(rank).1;
            }
        }
    }
}

/// The square that a window is, if its medians have a way of their own.
fn square(window: &Neighbourhood) -> Option<Square> {
    let runs = window.runs();
    let last = |i: usize| window.points[i].last().copied();
    let (&(first, end), len) = (runs.first()?, window.points.len() / runs.len());
    let even = |&(a, b): &(usize, usize)| b - a == end - first && last(a) == last(first);
    runs.iter().all(even).then(|| Square::of(runs.len(), len))?
}

/// The medians of a tile as elements: of rows of windows one below the other, or of each row of them where the rows of a
/// window are no neighbours.
fn squares<K: Key, const L: usize>(
    square: Square,
    tile: &Tile<'_, K>,
    offsets: &[usize],
    work: &mut [K],
    (keys, result): (Keys, &mut [u8]),
) where
    Keys: Store<K, To = K>,
{
    let (points, len) = (square.points(), tile.row_len());
    let starts: Vec<usize> = offsets.iter().copied().step_by(points).collect();
    let step = starts[1] - starts[0];
    let even = starts.windows(2).all(|pair| pair[1] - pair[0] == step);
    let (rank, extent) = (tile.region.rank(), |d| axis_len(&tile.region, d));
    let axis = (0..rank - 1).find(|&d| even && tile.steps[d] == step);
    let below = axis.map_or(1, extent);
    // From a row of results to the one below it.
    let apart: usize = axis.map_or(1, |axis| (axis + 1..rank - 1).map(extent).product());
    let results: &mut [K] = bytemuck::cast_slice_mut(result);
    let mut results: Vec<&mut [K]> = results.chunks_exact_mut(len).collect();
    for (row, base, _) in tile.rows() {
        if !(row / apart).is_multiple_of(below) {
            continue;
        }
        let start = |r: usize| base + starts.get(r).copied().unwrap_or(starts[0] + r * step);
        let rows = (0..below + points - 1).map(|r| &tile.data[start(r)..][..len + points - 1]);
        let rows: Vec<&[K]> = rows.collect();
        let outs = (0..below).map(|i| std::mem::take(&mut results[row + i * apart]));
        let mut outs: Vec<&mut [K]> = outs.collect();
        square.rows::<K, _, L>(&rows, work, (keys, &mut outs));
    }
}

/// True if some key is that of a NaN.
fn has_nan<K: Key>(keys: &[K]) -> bool {
    struct Greatest<'a, K>(&'a [K]);
    impl<K: Key> Wide for Greatest<'_, K> {
        type Out = K;

        #[inline(always)]
        fn run(self) -> K {
            self.0.iter().fold(K::MIN, |all, &key| all.upper(key))
        }
    }
    wide(Greatest(keys)) == K::MAX
}

struct Place<'a, K> {
    base: usize,
    offsets: &'a [usize],
    nan: Option<K>,
}

impl Rank {
    fn keys(&self) -> Keys {
        Keys {
            dtype: self.dtype,
            order: Order::Rising,
        }
    }
}

impl OnDevice for Rank {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        // Devices take ranks in proportion, and the middle one as a median.
        let n = self.window.points.len();
        let alike = match self.percent {
            Some(percent) => (percent - 50.0).abs() == 0.0,
            None => self.place != n / 2 || n.is_multiple_of(2),
        };
        if self.window.clips() && !alike {
            return None;
        }
        windows::of_keys(
            &self.window,
            (Gather::Rank, self.place),
            self.keys(),
            &inputs[0],
            region,
        )
    }
}

impl Op for Rank {
    fn name(&self) -> &'static str {
        "rank_filter"
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        let size = self.dtype.size() as u64;
        if let Some(sliding) = &self.sliding {
            let threads = worth(threads, voxels(extents), self.cost_ns()) as u64;
            return threads * sliding.scratch(extents, self.dtype.size());
        }
        let points = self.window.points.len();
        let work = match self.dtype.size() {
            8 => Selector::<32>::most_work(points),
            _ => Selector::<64>::most_work(points),
        };
        let work = self.work(work, extents) + tiles::row_elems(extents, self.dtype.size());
        let each = size
            * (tile_elems(&self.window.axes, extents, self.dtype.size())
                + work as u64
                + tile_voxels(extents, self.dtype.size()));
        worth(threads, voxels(extents), self.cost_ns()) as u64 * (each + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        if self.sliding.is_some() {
            return 60.0;
        }
        0.1 * (self.window.points.len() * self.dtype.size()) as f64
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let refused = Err(VolumeError::DType {
            op: "rank_filter",
            dtype: input.dtype,
        });
        match (input.dtype, input.dtype.size()) {
            (DType::C64 | DType::C128, _) => refused,
            (_, 1) => self.run_in::<u8, 64, 64>(ctx, input, out),
            (_, 2) => self.run_in::<u16, 64, 32>(ctx, input, out),
            (_, 4) => self.run_in::<u32, 64, 16>(ctx, input, out),
            _ => self.run_in::<u64, 32, 16>(ctx, input, out),
        }
    }
}
