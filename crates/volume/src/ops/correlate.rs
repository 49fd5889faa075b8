//! Weighted sums over windows of any shape. Means of integers are quotients of exact sums.

use super::linear::{Arithmetic, emit_f32, emit_f64, in_double};
use super::tiles::{self, Fill, Span, Tile, tile_elems, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut};
use crate::fold::{Real, Rule as _};
use crate::joined::joined;
use crate::load::{Plain, doubles, longs, middles, shorts, singles};
use crate::means::{Long, Total, Width, emit_means, width, width_for};
use crate::op::{Mode, Op};
use crate::rules::{Fir, is_odd};
use crate::separable::Ctx;
use crate::sums::{Add, Whole};
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};
use bytemuck::Pod;

/// A weighted sum over the points of a window, in C order.
#[derive(Clone, Debug)]
pub struct Correlate {
    window: Neighbourhood,
    weights: Vec<f64>,
    out: DType,
}

impl Correlate {
    /// One weight for each point of `window`.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] if their numbers differ.
    pub fn new(
        window: Neighbourhood,
        weights: Vec<f64>,
        out: DType,
    ) -> Result<Correlate, VolumeError> {
        if weights.len() != window.points.len() {
            return Err(VolumeError::Argument(format!(
                "{} weights for a window of {} points",
                weights.len(),
                window.points.len()
            )));
        }
        Ok(Correlate {
            window,
            weights,
            out,
        })
    }

    /// What stands outside where a constant does.
    fn constant(&self) -> f64 {
        self.window.constant().unwrap_or(0.0)
    }

    fn windows_in<W: Real>(
        &self,
        work: DType,
        input: &View<'_>,
        region: &Region,
    ) -> Option<Recipe> {
        let weights: Vec<W> = self.weights.iter().map(|&w| W::of(w)).collect();
        let windows = Windows {
            window: &self.window,
            gather: if is_odd(&weights) {
                Gather::Odd
            } else {
                Gather::Weights
            },
            rank: 0,
            keys: Keys::Plain,
            more: Vec::new(),
            weights: &weights,
            given: [0.0; 3],
            nothing: W::of(self.constant()),
            work,
            out: self.out,
        };
        windows.recipe(input, region)
    }

    /// Means of whole numbers, from sums in this arithmetic.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole numbers, as the width of the sums says"
    )]
    fn means_in<W: Whole>(&self, work: DType, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let windows = Windows {
            window: &self.window,
            gather: Gather::Mean,
            rank: 0,
            keys: Keys::Plain,
            more: Vec::new(),
            weights: &[],
            given: [0.0; 3],
            nothing: W::narrowed(self.constant() as i128),
            work,
            out: self.out,
        };
        windows.recipe(input, region)
    }

    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn points(&self) -> f64 {
        self.weights.len() as f64
    }

    /// How wide sums are, if this is a mean of integers. Clipped windows are summed one by one.
    fn exact_sums(&self, dtype: DType) -> Option<Width> {
        let modes = self.window.axes.iter().map(|a| a.mode);
        let whole = modes.filter(|&mode| mode != Mode::Renormalize);
        width(dtype, self.points(), whole).filter(|_| self.is_mean())
    }

    /// True if all points count alike.
    #[expect(
        clippy::float_cmp,
        reason = "a weight is this quotient or it is another filter"
    )]
    fn is_mean(&self) -> bool {
        let share = 1.0 / self.points();
        self.weights.iter().all(|&w| w == share)
    }

    /// Sums in floating point.
    fn run_weighted<W: Arithmetic>(
        &self,
        call: (&Ctx, &View<'_>, ViewMut<'_>),
        load: tiles::LoadRow<'_, W>,
        emit: &(dyn Fn(&[W], &mut [u8]) + Sync),
    ) -> Result<(), VolumeError> {
        let rule = Fir::new(vec![self.weights.iter().map(|&w| W::of(w)).collect()]);
        let how = How {
            nothing: W::of(self.constant()),
            load,
            sum: &|rows: &[&[W]], sums: &mut [W]| rule.fold(0, rows, Plain, &mut [sums]),
            emit,
            clipped: &|there: &[usize], rows: &[&[W]], to: &mut [u8]| {
                emit(&[W::of(self.clipped(there, rows))], to);
            },
            // Sums are elements of the output as they are.
            plain: call.2.dtype == W::DTYPE,
        };
        self.run_in(call, &how)
    }

    /// Means from sums of whole numbers.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "whole numbers, as the width of the sums says; windows are small"
    )]
    fn run_whole<W: Whole + Total>(
        &self,
        call: (&Ctx, &View<'_>, ViewMut<'_>),
        load: tiles::LoadRow<'_, W>,
    ) -> Result<(), VolumeError> {
        let (dtype, points) = (call.2.dtype, self.points());
        let sum = |rows: &[&[W]], sums: &mut [W]| joined(Add, rows.len(), rows, Plain, &mut [sums]);
        let how = How {
            nothing: W::narrowed(self.constant() as i128),
            load,
            sum: &sum,
            emit: &|sums: &[W], to: &mut [u8]| emit_means(dtype, points, sums, to),
            clipped: &|there: &[usize], rows: &[&[W]], to: &mut [u8]| {
                let zero = W::narrowed(0);
                let total = rows.iter().fold(zero, |sum, row| sum.plus(row[0]));
                // A window without points gives 0, as a sum does.
                emit_means(dtype, there.len().max(1) as f64, &[total], to);
            },
            plain: false,
        };
        self.run_in(call, &how)
    }

    fn run_in<W: Pod + Send + Sync>(
        &self,
        (ctx, input, out): (&Ctx, &View<'_>, ViewMut<'_>),
        how: &How<'_, W>,
    ) -> Result<(), VolumeError> {
        let fill = Fill {
            axes: &self.window.axes,
            nothing: how.nothing,
            extra: tiles::span_elems(&self.window.axes, &out.region.extents(), size_of::<W>()),
            load: how.load,
        };
        let size = out.dtype.size();
        tiles(
            ctx,
            std::slice::from_ref(input),
            out,
            &fill,
            |tile, sums, result| {
                let offsets = tile.offsets(&self.window);
                let mut rows: Vec<&[W]> = Vec::with_capacity(offsets.len());
                for span in tile.spans() {
                    let (base, len) = (span.base, span.elems());
                    rows.clear();
                    rows.extend(offsets.iter().map(|o| &tile.data[base + o..base + o + len]));
                    let place = span.row * span.len..(span.row + span.rows) * span.len;
                    let to = &mut result[place.start * size..place.end * size];
                    if let (true, Ok(to)) = (
                        how.plain && span.rows == 1 && !tile.clipped,
                        bytemuck::try_cast_slice_mut(to),
                    ) {
                        (how.sum)(&rows, to);
                        continue;
                    }
                    let sums = &mut sums[..len];
                    (how.sum)(&rows, sums);
                    (how.emit)(span.joined(sums), to);
                    if tile.clipped {
                        self.mend(tile, (&span, &offsets), how, to);
                    }
                }
            },
        )
    }

    /// Computes the elements again whose windows are clipped.
    fn mend<W>(
        &self,
        tile: &Tile<'_, W>,
        (span, offsets): (&Span, &[usize]),
        how: &How<'_, W>,
        to: &mut [u8],
    ) {
        let size = self.out.size();
        for (at, there, rows) in tile.clipped_windows(&self.window, span, offsets) {
            let at = span.result(at) * size;
            (how.clipped)(&there, &rows, &mut to[at..at + size]);
        }
    }

    /// The sum over a clipped window: weights are scaled to those that are left, or made to cancel.
    fn clipped<W: Real>(&self, there: &[usize], rows: &[&[W]]) -> f64 {
        let all: f64 = self.weights.iter().sum();
        let size: f64 = self.weights.iter().map(|w| w.abs()).sum();
        let left: f64 = there.iter().map(|&p| self.weights[p]).sum();
        #[expect(clippy::cast_precision_loss, reason = "windows are small")]
        let count = there.len() as f64;
        let scaled = all.abs() > 1e-12 * size && left.abs() > 1e-12 * size;
        let weight = |p: usize| {
            let w = self.weights[p];
            if scaled {
                w * (all / left)
            } else {
                w - left / count
            }
        };
        let each = there.iter().zip(rows);
        each.map(|(&p, row)| weight(p) * row[0].to_f64()).sum()
    }
}

/// Makes sums of full windows, given a row for each point.
type Sum<'a, W> = &'a (dyn Fn(&[&[W]], &mut [W]) + Sync);

/// Makes the element of a clipped window, given its points and a row of one voxel for each.
type Clipped<'a, W> = &'a (dyn Fn(&[usize], &[&[W]], &mut [u8]) + Sync);

/// How windows are summed in the arithmetic `W`.
struct How<'a, W> {
    /// What stands outside where nothing is.
    nothing: W,
    load: tiles::LoadRow<'a, W>,
    sum: Sum<'a, W>,
    /// What sums are as elements.
    emit: &'a (dyn Fn(&[W], &mut [u8]) + Sync),
    clipped: Clipped<'a, W>,
    /// True if sums are elements as they are.
    plain: bool,
}

impl OnDevice for Correlate {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        let wide = in_double(input.dtype);
        // The CPU may round twice on the way to halves.
        if input.dtype.is_complex() || wide && self.out == DType::F16 {
            return None;
        }
        match self.exact_sums(input.dtype) {
            Some(Width::Short) => self.means_in::<i32>(DType::I32, input, region),
            Some(Width::Middle) => self.means_in::<i64>(DType::I64, input, region),
            Some(Width::Long) => self.means_in::<Long>(DType::U64, input, region),
            // Clipped windows have weights of their own, one by one.
            None if self.window.clips() => None,
            None if wide => self.windows_in::<f64>(DType::F64, input, region),
            None => self.windows_in::<f32>(DType::F32, input, region),
        }
    }
}

impl Op for Correlate {
    fn name(&self) -> &'static str {
        "correlate"
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.window.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        // Sums of 128 bits, for means alone.
        let sizes: &[usize] = if self.is_mean() { &[4, 8, 16] } else { &[4, 8] };
        tiles::scratch_in_any(
            sizes,
            (extents, threads, self.cost_ns()),
            self.out.size(),
            |size| {
                tile_elems(&self.window.axes, extents, size)
                    + tiles::span_elems(&self.window.axes, extents, size) as u64
            },
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        1.0 + 0.08 * self.weights.len() as f64
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let (input, dtype) = (&inputs[0], out.dtype);
        let (kind, points) = (input.dtype, self.points());
        let modes = self.window.axes.iter().map(|a| a.mode);
        let exact = self.exact_sums(kind);
        let exact = exact.map(|width| width_for(width, input, points, modes));
        let call = (ctx, input, out);
        match exact {
            Some(Width::Short) => return self.run_whole(call, &shorts),
            Some(Width::Middle) => return self.run_whole(call, &middles),
            Some(Width::Long) => return self.run_whole(call, &longs),
            None => {}
        }
        match kind {
            DType::C64 | DType::C128 => Err(VolumeError::DType {
                op: "correlate",
                dtype: kind,
            }),
            _ if in_double(kind) => {
                let emit = move |v: &[f64], out: &mut [u8]| emit_f64(dtype, v, out);
                self.run_weighted::<f64>(call, &doubles, &emit)
            }
            _ => {
                let emit = move |v: &[f32], out: &mut [u8]| emit_f32(dtype, v, out);
                self.run_weighted::<f32>(call, &singles, &emit)
            }
        }
    }
}
