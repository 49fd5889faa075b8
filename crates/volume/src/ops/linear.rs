//! Separable weighted sums: Gaussian, box mean, derivatives, and sums of second derivatives.
//!
//! Arithmetic is in `f32` for small integers, `bool`, `f16` and `f32`, else in `f64`; taps are made in
//! `f64` and rounded once; the result is rounded once. Means of integers over boxes are quotients of
//! exact sums.

use super::long_means::LongMeans;
use crate::VolumeError;
use crate::abroad::passes::{self, Passes};
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::block::{View, ViewMut};
use crate::fold::{EdgeTaps, Real};
use crate::load::{Bytes, Load, Numbers, Plain};
use crate::long;
use crate::means::{Long, ShortMeans, Total, Width, emit_means, width, width_for};
use crate::needed::{crossed_elems, long_bytes, scratch_elems};
use crate::op::{Mode, Op, voxels, worth};
use crate::pixel::{Pixel as _, with_pixel};
use crate::rules::{Fir, Laplacian, is_odd};
use crate::separable::{Ctx, Emit, Engine, Pass, Separable};
use crate::store::Store;
use crate::sums::{ByteMeans, Sums, Whole};
use arrayloom_device::{Fold, Keys};
use arrayloom_plan::{AxisNeed, Window};
use arrayloom_types::{DType, Region};
use bytemuck::Pod;

/// The taps along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearAxis {
    /// The axis.
    pub axis: usize,
    /// Weights, in the order of coordinates.
    pub taps: Vec<f64>,
    /// For a Laplacian: as many weights that derive, while `taps` smooth. Otherwise nothing.
    pub derive: Vec<f64>,
    /// Points of the window before its center.
    pub before: i64,
    /// What lies outside.
    pub mode: Mode,
}

/// A separable weighted sum, or the sum over axes of one that derives along this axis and smooths along
/// the others.
#[derive(Clone, Debug)]
pub struct Linear {
    rank: usize,
    axes: Vec<LinearAxis>,
    passes: Vec<Pass>,
    out: DType,
}

impl Linear {
    /// A filter on arrays of `rank` axes with results of dtype `out`.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] for an axis that does not exist or comes twice, an empty window, or an
    /// origin outside of the window.
    pub fn new(rank: usize, mut axes: Vec<LinearAxis>, out: DType) -> Result<Linear, VolumeError> {
        if axes.is_empty() && rank > 0 {
            axes.push(LinearAxis {
                axis: rank - 1,
                taps: vec![1.0],
                derive: Vec::new(),
                before: 0,
                mode: Mode::Reflect,
            });
        }
        axes.sort_by_key(|a| a.axis);
        let twice = axes.windows(2).any(|w| w[0].axis == w[1].axis);
        let bad = axes.iter().any(|a| a.axis >= rank || a.taps.is_empty());
        let origin = axes
            .iter()
            .any(|a| !(0..a.taps.len() as u64).contains(&a.before.unsigned_abs()) || a.before < 0);
        let derives = axes.iter().filter(|a| !a.derive.is_empty()).count();
        let uneven = axes
            .iter()
            .any(|a| derives > 0 && a.derive.len() != a.taps.len());
        if twice || bad || origin || uneven || rank == 0 {
            return Err(VolumeError::Argument(format!(
                "taps for {} axes do not fit an array of {rank} axes; give each axis once, with its \
                 center inside of the window",
                axes.len()
            )));
        }
        let passes = axes.iter().map(|a| Pass {
            axis: a.axis,
            before: a.before,
            len: a.taps.len(),
            edge: a.mode.edge(),
        });
        Ok(Linear {
            rank,
            passes: passes.collect(),
            axes,
            out,
        })
    }

    fn edge_taps<W: Real>(&self, pass: usize, there: &[usize]) -> EdgeTaps<W> {
        let LinearAxis {
            taps, derive, mode, ..
        } = &self.axes[pass];
        let (smooth_bias, smooth) = near_face(taps, *mode, there);
        let (derive_bias, derive) = if derive.is_empty() {
            (0.0, Vec::new())
        } else {
            near_face(derive, *mode, there)
        };
        // What was derived along one of the axes before is smoothed here, each with its own outside.
        let before = i32::try_from(pass).unwrap_or(i32::MAX);
        let derive_bias = f64::from(before) * smooth_bias + derive_bias;
        let rounded = |taps: Vec<f64>| taps.into_iter().map(W::of).collect();
        EdgeTaps {
            places: there.to_vec(),
            taps: [rounded(smooth), rounded(derive)],
            bias: [W::of(smooth_bias), W::of(derive_bias)],
        }
    }

    /// True if this is a mean over a box.
    #[expect(
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "windows are small; a tap is this quotient or it is another filter"
    )]
    fn is_mean(&self) -> bool {
        let mean = |a: &LinearAxis| {
            let share = 1.0 / a.taps.len() as f64;
            a.derive.is_empty() && a.taps.iter().all(|&t| t == share)
        };
        self.axes.iter().all(mean)
    }

    fn modes(&self) -> impl Iterator<Item = Mode> {
        self.axes.iter().map(|a| a.mode)
    }

    /// How wide sums are and the points of the box, if this is a mean over one whose sums are exact.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn exact_sums(&self, dtype: DType) -> Option<(Width, f64)> {
        let points = self.axes.iter().map(|a| a.taps.len() as f64).product();
        let width = width(dtype, points, self.modes()).filter(|_| self.is_mean());
        width.map(|width| (width, points))
    }

    /// True if windows of numbers that are not whole are too long to be read point by point.
    fn is_long(&self) -> bool {
        long::pays(&self.passes, self.rank, LONG) && self.is_mean()
    }

    /// The mean over a box of so many points, from sums.
    fn run_sums(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        (width, points): (Width, f64),
    ) -> Result<(), VolumeError> {
        let numbers = Numbers(input.dtype);
        let width = width_for(width, input, points, self.modes());
        match (width, input.dtype.size()) {
            (Width::Long, _) => {
                self.run_total::<u64, Long, Plain>(ctx, input, numbers, (out, points, None))
            }
            (Width::Middle, 8) => {
                self.run_total::<u64, i64, Plain>(ctx, input, numbers, (out, points, None))
            }
            (Width::Middle, 4) => {
                self.run_total::<u32, i64, Plain>(ctx, input, numbers, (out, points, None))
            }
            (Width::Middle, 2) => {
                self.run_total::<u16, i64, Plain>(ctx, input, numbers, (out, points, None))
            }
            (Width::Middle, _) => {
                self.run_total::<u8, i64, Plain>(ctx, input, numbers, (out, points, None))
            }
            (Width::Short, 2) => {
                let means = ShortMeans::new((input.dtype, out.dtype), points);
                self.run_total::<u16, i32, _>(ctx, input, numbers, (out, points, means))
            }
            (Width::Short, _) => match self.byte_means(input.dtype, out.dtype) {
                Some(means) => {
                    let emit = |sums: &[&[u16]], out: &mut [u8]| {
                        crate::emit::cast(sums[0], out, |sum| means.of(sum));
                    };
                    self.sum_up::<u8, u16, _>(ctx, input, Bytes, (out, &emit), Some(means))
                }
                None => self.run_total::<u8, i32, Plain>(ctx, input, numbers, (out, points, None)),
            },
        }
    }

    /// How means of bytes become bytes, if sums are short.
    fn byte_means(&self, from: DType, to: DType) -> Option<ByteMeans> {
        let count = self.axes.iter().map(|a| a.taps.len() as u64).product();
        let bytes = (from, to) == (DType::U8, DType::U8);
        ByteMeans::new(count, self.modes()).filter(|_| bytes)
    }

    fn run_total<S: Pod + Sync, W: Whole + Total, E: Store<W>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: impl Load<S, W>,
        (out, points, store): (ViewMut<'_>, f64, Option<E>),
    ) -> Result<(), VolumeError> {
        let dtype = out.dtype;
        let emit = |sums: &[&[W]], out: &mut [u8]| emit_means(dtype, points, sums[0], out);
        self.sum_up(ctx, input, load, (out, &emit), store)
    }

    fn sum_up<S: Pod + Sync, W: Whole, E: Store<W>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        load: impl Load<S, W>,
        (out, emit): (ViewMut<'_>, Emit<'_, W>),
        store: Option<E>,
    ) -> Result<(), VolumeError> {
        let engine = Separable {
            rule: self.sums(store),
            passes: &self.passes,
            edge_taps: &|pass, there: &[usize]| self.sum_taps(pass, there),
            emit,
            out_size: out.dtype.size(),
            plain: false,
        };
        engine.run::<S, _>(ctx, input, load, (out.region, out.data))
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "whole numbers, as the width of the sums says"
    )]
    fn sums<W: Whole, E>(&self, store: Option<E>) -> Sums<W, E> {
        let axes = self.axes.iter().map(|axis| match axis.mode {
            Mode::Constant(value) => (axis.taps.len(), value as i128),
            _ => (axis.taps.len(), 0),
        });
        Sums::new(axes.collect(), store)
    }

    /// What the rows that are missing of a window add to its sum.
    fn sum_taps<W: Whole>(&self, pass: usize, there: &[usize]) -> EdgeTaps<W> {
        let rows = self.passes[pass].len - there.len();
        EdgeTaps {
            places: there.to_vec(),
            taps: [Vec::new(), Vec::new()],
            bias: [self.sums::<W, Plain>(None).beyond(pass, pass, rows); 2],
        }
    }

    fn run_in<W: Arithmetic>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        emit: Emit<'_, W>,
    ) -> Result<(), VolumeError> {
        let rounded = |t: &[f64]| -> Vec<W> { t.iter().map(|&t| W::of(t)).collect() };
        let (passes, out_size) = (&self.passes[..], out.dtype.size());
        let edge_taps = &|pass, there: &[usize]| self.edge_taps(pass, there);
        if self.axes.iter().any(|a| !a.derive.is_empty()) {
            let both = |a: &LinearAxis| [rounded(&a.taps), rounded(&a.derive)];
            let rule = Laplacian {
                passes: self.axes.iter().map(both).collect(),
            };
            let engine = Separable {
                rule,
                passes,
                edge_taps,
                emit,
                out_size,
                plain: out.dtype == W::DTYPE,
            };
            return W::drive(&engine, ctx, input, out);
        }
        if self.is_long() {
            let means = LongMeans::<W>::new(&self.axes, passes);
            return means.run(ctx, input, out, emit);
        }
        let rule = Fir::new(self.axes.iter().map(|a| rounded(&a.taps)).collect());
        let engine = Separable {
            rule,
            passes,
            edge_taps,
            emit,
            out_size,
            plain: out.dtype == W::DTYPE,
        };
        W::drive(&engine, ctx, input, out)
    }
}

impl Linear {
    /// The passes of a device in this arithmetic.
    fn passes_in<W: Arithmetic>(&self, input: &View<'_>, region: &Region) -> Option<Recipe> {
        if self.is_long() {
            let means = LongMeans::<W>::new(&self.axes, &self.passes);
            return means.recipe(input, (region, self.out));
        }
        let rounded = |t: &[f64]| -> Vec<W> { t.iter().map(|&t| W::of(t)).collect() };
        let derives = self.axes.iter().any(|a| !a.derive.is_empty());
        let inner = 1..self.passes.len();
        let fold = |pass: usize| match derives {
            true => Fold::Laplacian,
            false if is_odd(&rounded(&self.axes[pass].taps)) => Fold::Odd,
            false => Fold::Weights,
        };
        let weights = |pass: usize| {
            let axis = &self.axes[pass];
            let mut lists = vec![rounded(&axis.taps)];
            if derives {
                lists.push(rounded(&axis.derive));
            }
            lists
        };
        let passes = Passes {
            axes: &self.passes,
            edge_taps: &|pass, there: &[usize]| self.edge_taps(pass, there),
            long: false,
            fold: &fold,
            weights: &weights,
            bias: &|_, edge| {
                if derives {
                    passes::first::<W, 2>(edge)
                } else {
                    passes::first::<W, 1>(edge)
                }
            },
            work: W::DTYPE,
            between: W::DTYPE,
            channels: &|pass| {
                if derives && inner.contains(&pass) {
                    2
                } else {
                    1
                }
            },
            keys: Keys::Plain,
            points: 0.0,
            spread: None,
            out: self.out,
        };
        passes.recipe(input, region)
    }

    /// The passes of a device that sum whole numbers, each in `words` numbers of this dtype.
    fn sums_on_device<W: Whole>(
        &self,
        (work, words): (DType, u8),
        points: f64,
        input: &View<'_>,
        region: &Region,
    ) -> Option<Recipe> {
        let inner = 1..self.passes.len();
        let passes = Passes {
            axes: &self.passes,
            edge_taps: &|pass, there: &[usize]| self.sum_taps::<W>(pass, there),
            long: false,
            fold: &|_| Fold::Sum,
            weights: &|_| Vec::new(),
            bias: &|_, edge| passes::first::<W, 1>(edge),
            work,
            between: work,
            channels: &|pass| if inner.contains(&pass) { words } else { 1 },
            keys: Keys::Plain,
            points,
            spread: None,
            out: self.out,
        };
        passes.recipe(input, region)
    }
}

impl OnDevice for Linear {
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64 {
        // Two numbers of a Laplacian, or one sum of 128 bits.
        let two = self.axes.iter().any(|a| !a.derive.is_empty()) || self.is_mean();
        passes::scratch(&self.passes, 1 + u64::from(two), 8, (extents, shape))
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        let wide = in_double(input.dtype);
        // The CPU may round twice on the way to halves.
        if wide && self.out == DType::F16 {
            return None;
        }
        match (self.exact_sums(input.dtype), input.dtype) {
            (Some((Width::Short, points)), _) => {
                self.sums_on_device::<i32>((DType::I32, 1), points, input, region)
            }
            (Some((Width::Middle, points)), _) => {
                self.sums_on_device::<i64>((DType::I64, 1), points, input, region)
            }
            (Some((Width::Long, points)), _) => {
                self.sums_on_device::<Long>((DType::U64, 2), points, input, region)
            }
            (None, DType::C64 | DType::C128) => None,
            _ if wide => self.passes_in::<f64>(input, region),
            _ => self.passes_in::<f32>(input, region),
        }
    }
}

/// The taps of the places that exist of a window, and what the others add.
fn near_face(taps: &[f64], mode: Mode, there: &[usize]) -> (f64, Vec<f64>) {
    let all: f64 = taps.iter().sum();
    let inside: f64 = there.iter().map(|&t| taps[t]).sum();
    let size: f64 = taps.iter().map(|t| t.abs()).sum();
    #[expect(clippy::cast_precision_loss, reason = "windows are short")]
    let count = there.len() as f64;
    let each = |tap: &dyn Fn(f64) -> f64| there.iter().map(|&t| tap(taps[t])).collect();
    match mode {
        Mode::Constant(value) => {
            let outside = (0..taps.len()).filter(|t| there.binary_search(t).is_err());
            let bias = if value.is_finite() {
                let weight: f64 = outside.map(|t| taps[t]).sum();
                if weight == 0.0 { 0.0 } else { weight * value }
            } else {
                // Weights that cancel, or are zero, do not make infinity or NaN vanish.
                outside.map(|t| taps[t] * value).sum()
            };
            (bias, each(&|t| t))
        }
        _ if all.abs() > 1e-12 * size && inside.abs() > 1e-12 * size => {
            (0.0, each(&|t| t * (all / inside)))
        }
        _ => (0.0, each(&|t| t - inside / count)),
    }
}

/// Fewest points along a line of means of floats that are joined from boxes.
const LONG: usize = 48;

/// The arithmetic of linear filters.
pub(super) trait Arithmetic: Real {
    /// The dtype of its numbers.
    const DTYPE: DType;

    /// Runs a filter on elements that are computed in this arithmetic.
    fn drive(
        engine: &impl Engine<Self>,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError>;
}

impl Arithmetic for f32 {
    const DTYPE: DType = DType::F32;

    fn drive(
        engine: &impl Engine<f32>,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError> {
        let (numbers, to) = (Numbers(input.dtype), (out.region, out.data));
        match input.dtype.size() {
            1 => engine.run::<u8, _>(ctx, input, numbers, to),
            2 => engine.run::<u16, _>(ctx, input, numbers, to),
            _ => engine.run::<f32, _>(ctx, input, Plain, to),
        }
    }
}

impl Arithmetic for f64 {
    const DTYPE: DType = DType::F64;

    fn drive(
        engine: &impl Engine<f64>,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError> {
        let (numbers, to) = (Numbers(input.dtype), (out.region, out.data));
        match (input.dtype, input.dtype.size()) {
            (DType::F64, _) => engine.run::<f64, _>(ctx, input, Plain, to),
            (_, 4) => engine.run::<u32, _>(ctx, input, numbers, to),
            _ => engine.run::<u64, _>(ctx, input, numbers, to),
        }
    }
}

/// True if filters of this dtype compute in double precision.
pub(crate) fn in_double(dtype: DType) -> bool {
    use DType::{F64, I32, I64, U32, U64};
    matches!(dtype, I32 | I64 | U32 | U64 | F64)
}

/// Rounds single precision to `dtype`.
pub(crate) fn emit_f32(dtype: DType, values: &[f32], out: &mut [u8]) {
    with_pixel!(dtype, T => crate::emit::cast(values, bytemuck::cast_slice_mut::<u8, T>(out), T::from_f32), complex => ());
}

/// Rounds double precision to `dtype`.
pub(crate) fn emit_f64(dtype: DType, values: &[f64], out: &mut [u8]) {
    with_pixel!(dtype, T => crate::emit::cast(values, bytemuck::cast_slice_mut::<u8, T>(out), T::from_f64), complex => ());
}

impl Op for Linear {
    fn name(&self) -> &'static str {
        "linear filter"
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        let mut needs: Vec<AxisNeed> = (0..self.rank).map(AxisNeed::same).collect();
        for a in &self.axes {
            let after = i64::try_from(a.taps.len()).unwrap_or(i64::MAX) - 1 - a.before;
            needs[a.axis] = AxisNeed::Window {
                axis: a.axis,
                window: Window::halo(a.before, after),
                edge: a.mode.edge(),
            };
        }
        needs
    }

    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents), self.cost_ns()) as u64;
        // Two numbers of a Laplacian, or one sum of 128 bits.
        let rows = 8 * scratch_elems(&self.passes, 2, (extents, shape)) + 64;
        // Sums of bytes and of 16 bits are crossed.
        let crossed =
            |size: usize| size as u64 * crossed_elems(&self.passes, size, (extents, shape));
        let crossed = if self.is_mean() {
            crossed(size_of::<u16>()).max(crossed(size_of::<i32>()))
        } else {
            0
        };
        let short = threads * (rows + crossed);
        if !self.is_long() {
            return short;
        }
        short.max(long_bytes(&self.passes, (8, threads), (extents, shape)))
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        if self.is_long() {
            return 4.0 * self.axes.len() as f64;
        }
        self.axes
            .iter()
            .map(|a| 0.08 * (a.taps.len() + 2 * a.derive.len()) as f64)
            .sum()
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let (input, dtype) = (&inputs[0], out.dtype);
        let refused = Err(VolumeError::DType {
            op: "a linear filter",
            dtype: input.dtype,
        });
        if let Some(sums) = self.exact_sums(input.dtype) {
            return self.run_sums(ctx, input, out, sums);
        }
        match input.dtype {
            DType::C64 | DType::C128 => refused,
            in_64 if in_double(in_64) => {
                let emit = move |v: &[&[f64]], out: &mut [u8]| emit_f64(dtype, v[0], out);
                self.run_in::<f64>(ctx, input, out, &emit)
            }
            _ => {
                let emit = move |v: &[&[f32]], out: &mut [u8]| emit_f32(dtype, v[0], out);
                self.run_in::<f32>(ctx, input, out, &emit)
            }
        }
    }
}
