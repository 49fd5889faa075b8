//! Weighted sums over windows of any shape.

use super::linear::{Arithmetic, emit_f32, emit_f64, in_double};
use super::tiles::{self, Fill, Span, Tile, tile_elems, tiles};
use super::window::{self, Neighbourhood};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut};
use crate::fold::{Real, Rule as _};
use crate::load::{Plain, doubles, singles};
use crate::op::Op;
use crate::rules::{Fir, is_odd};
use crate::separable::Ctx;
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

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

    fn run_in<W: Arithmetic>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        load: tiles::LoadRow<'_, W>,
        emit: &(dyn Fn(&[W], &mut [u8]) + Sync),
    ) -> Result<(), VolumeError> {
        let fill = Fill {
            axes: &self.window.axes,
            nothing: W::of(self.constant()),
            extra: tiles::span_elems(&self.window.axes, &out.region.extents(), size_of::<W>()),
            load,
        };
        let rule = Fir::new(vec![self.weights.iter().map(|&w| W::of(w)).collect()]);
        // Sums are elements of the output as they are.
        let plain = out.dtype == W::DTYPE;
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
                        plain && span.rows == 1 && !tile.clipped,
                        bytemuck::try_cast_slice_mut(to),
                    ) {
                        rule.fold(0, &rows, Plain, &mut [to]);
                        continue;
                    }
                    let sums = &mut sums[..len];
                    rule.fold(0, &rows, Plain, &mut [&mut *sums]);
                    if tile.clipped {
                        self.mend(tile, (&span, &offsets), sums);
                    }
                    emit(span.joined(sums), to);
                }
            },
        )
    }

    /// Clipped windows: weights are scaled to those that are left, or made to cancel.
    fn mend<W: Real>(
        &self,
        tile: &Tile<'_, W>,
        (span, offsets): (&Span, &[usize]),
        sums: &mut [W],
    ) {
        let all: f64 = self.weights.iter().sum();
        let size: f64 = self.weights.iter().map(|w| w.abs()).sum();
        for (i, there, rows) in tile.clipped_windows(&self.window, span, offsets) {
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
            let total: f64 = each.map(|(&p, row)| weight(p) * row[0].to_f64()).sum();
            sums[i] = W::of(total);
        }
    }
}

impl OnDevice for Correlate {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        windows::scratch(&self.window, extents)
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        match input.dtype {
            DType::C64 | DType::C128 => None,
            // Clipped windows have weights of their own, one by one.
            _ if self.window.clips() => None,
            // The CPU may round twice on the way to halves.
            in_64 if in_double(in_64) && self.out == DType::F16 => None,
            in_64 if in_double(in_64) => self.windows_in::<f64>(DType::F64, input, region),
            _ => self.windows_in::<f32>(DType::F32, input, region),
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
        tiles::scratch_in_either(
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
        let refused = Err(VolumeError::DType {
            op: "correlate",
            dtype: input.dtype,
        });
        let kind = input.dtype;
        match kind {
            DType::C64 | DType::C128 => refused,
            _ if in_double(kind) => {
                let emit = move |v: &[f64], out: &mut [u8]| emit_f64(dtype, v, out);
                self.run_in::<f64>(ctx, input, out, &doubles, &emit)
            }
            _ => {
                let emit = move |v: &[f32], out: &mut [u8]| emit_f32(dtype, v, out);
                self.run_in::<f32>(ctx, input, out, &singles, &emit)
            }
        }
    }
}
