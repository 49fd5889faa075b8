//! Minimum and maximum over windows of any shape.
//!
//! The window is a set of runs along the last axis. For each length of a run the extremum over that
//! many neighbours is computed once for the tile, by doubling; then each output row combines one row for
//! each run: 29 of them for a ball of radius 3 with 123 points.

use super::extrema::Extremum;
use super::tiles::{self, Fill, Span, Tile, tile_elems, tile_voxels, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows;
use crate::block::{View, ViewMut};
use crate::joined::stored;
use crate::keys::{Keys, as_keys, emit_keys, key_of};
use crate::load::{Load, Plain};
use crate::low::{Lower, lowest};
use crate::op::{Op, voxels, worth};
use crate::pixel::Key;
use crate::separable::Ctx;
use crate::store::Store;
use arrayloom_device::Gather;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

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
        let each = window.runs().into_iter();
        let runs: Vec<(Vec<usize>, usize)> = each
            .map(|(first, last)| (window.points[first].clone(), last - first + 1))
            .collect();
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

    fn run_in<K: Key>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError>
    where
        Keys: Load<K, K> + Store<K, To = K>,
    {
        let keys = self.which.keys(self.dtype);
        let constant: Option<K> = self.window.constant().map(|value| key_of(keys, value));
        let extents = out.region.extents();
        let padded = usize::try_from(tile_elems(&self.window.axes, &extents, self.dtype.size()))
            .unwrap_or(usize::MAX);
        let fill = Fill {
            axes: &self.window.axes,
            nothing: constant.unwrap_or(K::MAX),
            extra: padded * (self.lengths.len() - 1)
                + tiles::span_elems(&self.window.axes, &extents, self.dtype.size()),
            load: &|_, from: &[u8], to: &mut [K]| as_keys(keys, from, to),
        };
        let mixed = constant.is_some() && self.window.clips();
        let size = self.dtype.size();
        tiles(
            ctx,
            std::slice::from_ref(input),
            out,
            &fill,
            |tile, extra, result| {
                let (extra, lows) = extra.split_at_mut(padded * (self.lengths.len() - 1));
                Self::doubling(&self.lengths, tile.data, extra);
                let runs = self.runs_in(tile, extra);
                let mut rows: Vec<&[K]> = Vec::with_capacity(runs.len());
                let offsets = tile.offsets(&self.window);
                for span in tile.spans() {
                    let (base, len) = (span.base, span.elems());
                    rows.clear();
                    rows.extend(runs.iter().map(|(o, data)| &data[base + o..base + o + len]));
                    let place = span.row * span.len..(span.row + span.rows) * span.len;
                    let to = &mut result[place.start * size..place.end * size];
                    if let (true, Ok(to)) =
                        (span.rows == 1 && !mixed, bytemuck::try_cast_slice_mut(to))
                    {
                        stored(Lower, rows.len(), &rows, (Plain, keys), &mut [to]);
                        continue;
                    }
                    let lows = &mut lows[..len];
                    lowest(&rows, lows);
                    if mixed {
                        self.mend(tile, (&span, &offsets), lows);
                    }
                    emit_keys(keys, span.joined(lows), to);
                }
            },
        )
    }

    /// For each run: where it begins, and the extrema over its length.
    fn runs_in<'t, K>(&self, tile: &Tile<'t, K>, extra: &'t [K]) -> Vec<(usize, &'t [K])> {
        let used = tile.data.len();
        let all = |length: usize| {
            let at = self.lengths.iter().position(|&l| l == length).unwrap_or(0);
            if at == 0 {
                tile.data
            } else {
                &extra[(at - 1) * used..at * used]
            }
        };
        let place = |p: &[usize]| -> usize { p.iter().zip(&tile.steps).map(|(a, b)| a * b).sum() };
        self.runs
            .iter()
            .map(|(first, len)| (place(first), all(*len)))
            .collect()
    }

    /// The extremum of each length at every place of the tile; behind the end there is garbage.
    fn doubling<K: Key>(lengths: &[usize], tile: &[K], extra: &mut [K]) {
        let used = tile.len();
        for (i, &length) in lengths.iter().enumerate().skip(1) {
            let half = 1 << (length - 1).ilog2();
            let from = lengths.iter().position(|&l| l == half).unwrap_or(0);
            let (before, here) = extra.split_at_mut((i - 1) * used);
            let source = if from == 0 {
                tile
            } else {
                &before[(from - 1) * used..from * used]
            };
            let len = used - (length - half);
            lowest(
                &[&source[..len], &source[length - half..]],
                &mut here[..len],
            );
        }
    }

    /// Clipped windows beside constant faces: the points that exist, one by one.
    fn mend<K: Key>(&self, tile: &Tile<'_, K>, (span, offsets): (&Span, &[usize]), keys: &mut [K]) {
        for (i, _, rows) in tile.clipped_windows(&self.window, span, offsets) {
            lowest(&rows, &mut keys[i..=i]);
        }
    }
}

impl OnDevice for FootprintExtremum {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        windows::of_keys(
            &self.window,
            (Gather::Least, 0),
            self.which.keys(self.dtype),
            &inputs[0],
            region,
        )
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

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        let tile =
            tile_elems(&self.window.axes, extents, self.dtype.size()) * self.lengths.len() as u64;
        let each = tile
            + tile_voxels(extents, self.dtype.size())
            + tiles::span_elems(&self.window.axes, extents, self.dtype.size()) as u64;
        worth(threads, voxels(extents), self.cost_ns()) as u64
            * (self.dtype.size() as u64 * each + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        1.0 + 0.1 * self.runs.len() as f64
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let refused = Err(VolumeError::DType {
            op: "minimum_filter",
            dtype: input.dtype,
        });
        match (input.dtype, input.dtype.size()) {
            (DType::C64 | DType::C128, _) => refused,
            (_, 1) => self.run_in::<u8>(ctx, input, out),
            (_, 2) => self.run_in::<u16>(ctx, input, out),
            (_, 4) => self.run_in::<u32>(ctx, input, out),
            _ => self.run_in::<u64>(ctx, input, out),
        }
    }
}
