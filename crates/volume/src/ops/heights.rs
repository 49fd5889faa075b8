//! Erosion and dilation by heights: the smallest voxel minus its height, or the greatest one plus its height, in
//! double precision.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::extrema::Extremum;
use super::tiles::{self, Fill, Span, Tile, tile_elems, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut};
use crate::load::doubles;
use crate::op::Op;
use crate::separable::Ctx;
use crate::strips::{Strips, strip, strip_mut, strips};
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

/// The extremum over the points of a window, with a height for each point.
#[derive(Clone, Debug)]
pub struct Heights {
    which: Extremum,
    window: Neighbourhood,
    /// One for each point.
    each: Vec<f64>,
}

impl Heights {
    /// One height for each point of `window`: taken from voxels for minima, added to them for maxima.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] if their numbers differ.
    pub fn new(
        which: Extremum,
        window: Neighbourhood,
        heights: Vec<f64>,
    ) -> Result<Heights, VolumeError> {
        if heights.len() != window.points.len() {
            return Err(VolumeError::Argument(format!(
                "{} heights for a window of {} points",
                heights.len(),
                window.points.len()
            )));
        }
        Ok(Heights {
            which,
            window,
            each: heights,
        })
    }

    /// What no voxel is beyond.
    fn nothing(&self) -> f64 {
        match self.which {
            Extremum::Minimum => f64::INFINITY,
            Extremum::Maximum => f64::NEG_INFINITY,
        }
    }

    fn found(&self, rows: &[&[f64]], heights: &[f64], out: &mut [f64]) {
        let start = self.nothing();
        match self.which {
            Extremum::Minimum => strips(Job::<false> {
                start,
                rows,
                heights,
                out,
            }),
            Extremum::Maximum => strips(Job::<true> {
                start,
                rows,
                heights,
                out,
            }),
        }
    }

    /// Clipped windows beside constant faces: the points that exist, one by one.
    fn mend(&self, tile: &Tile<'_, f64>, (span, offsets): (&Span, &[usize]), found: &mut [f64]) {
        for (i, there, rows) in tile.clipped_windows(&self.window, span, offsets) {
            let heights: Vec<f64> = there.iter().map(|&p| self.each[p]).collect();
            self.found(&rows, &heights, &mut found[i..=i]);
        }
    }
}

/// The least or, if `MAX`, the greatest sum of rows and heights; NaN is found before all others.
struct Job<'a, const MAX: bool> {
    start: f64,
    rows: &'a [&'a [f64]],
    heights: &'a [f64],
    out: &'a mut [f64],
}

impl<const MAX: bool> Strips for Job<'_, MAX> {
    const BYTES: usize = 8;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let mut found = [self.start; N];
        for (row, &height) in self.rows.iter().zip(self.heights) {
            let voxels: &[f64; N] = strip(row, at);
            for j in 0..N {
                let v = if MAX {
                    voxels[j] + height
                } else {
                    voxels[j] - height
                };
                let beyond = if MAX { v > found[j] } else { v < found[j] };
                found[j] = if beyond || v.is_nan() { v } else { found[j] };
            }
        }
        *strip_mut(self.out, at) = found;
    }
}

impl OnDevice for Heights {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        // What is not there is skipped on devices; here it is infinite, and less such a height it is no number.
        let known = !input.dtype.is_complex() && self.each.iter().all(|h| h.is_finite());
        let windows = Windows {
            window: &self.window,
            gather: match self.which {
                Extremum::Minimum => Gather::Lowest,
                Extremum::Maximum => Gather::Highest,
            },
            rank: 0,
            keys: Keys::Plain,
            more: Vec::new(),
            weights: &self.each,
            given: [0.0; 3],
            nothing: self.window.constant().unwrap_or(self.nothing()),
            work: DType::F64,
            out: DType::F64,
        };
        known.then(|| windows.recipe(input, region)).flatten()
    }
}

impl Op for Heights {
    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        match self.which {
            Extremum::Minimum => "grey_erosion",
            Extremum::Maximum => "grey_dilation",
        }
    }

    fn dtype(&self) -> DType {
        DType::F64
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        tiles::scratch_in_either((extents, threads, self.cost_ns()), 8, |size| {
            tile_elems(&self.window.axes, extents, size)
                + tiles::span_elems(&self.window.axes, extents, size) as u64
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        1.0 + 0.2 * self.each.len() as f64
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        if matches!(input.dtype, DType::C64 | DType::C128) {
            return Err(VolumeError::DType {
                op: "grey_erosion",
                dtype: input.dtype,
            });
        }
        let constant = self.window.constant();
        let mixed = constant.is_some() && self.window.clips();
        let fill = Fill {
            axes: &self.window.axes,
            nothing: constant.unwrap_or(self.nothing()),
            extra: tiles::span_elems(&self.window.axes, &out.region.extents(), 8),
            load: &doubles,
        };
        let inputs = std::slice::from_ref(input);
        tiles(ctx, inputs, out, &fill, |tile, found, result| {
            let offsets = tile.offsets(&self.window);
            let mut rows: Vec<&[f64]> = Vec::with_capacity(offsets.len());
            for span in tile.spans() {
                let (base, len) = (span.base, span.elems());
                let found = &mut found[..len];
                rows.clear();
                rows.extend(offsets.iter().map(|o| &tile.data[base + o..base + o + len]));
                self.found(&rows, &self.each, found);
                if mixed {
                    self.mend(tile, (&span, &offsets), found);
                }
                let place = span.row * span.len..(span.row + span.rows) * span.len;
                let to = &mut result[place.start * 8..place.end * 8];
                to.copy_from_slice(bytemuck::cast_slice(span.joined(found)));
            }
        })
    }
}
