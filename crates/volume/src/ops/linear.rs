//! Separable weighted sums: Gaussian, box mean, derivatives.
//!
//! Arithmetic is in `f32` for small integers, `bool`, `f16` and `f32`, else in `f64`; taps are made in
//! `f64` and rounded once; the result is rounded once.

use crate::VolumeError;
use crate::block::{View, ViewMut};
use crate::fold::{EdgeTaps, Fir, Real};
use crate::op::{Mode, Op, voxels, worth};
use crate::pixel::{Pixel, with_pixel};
use crate::separable::{Ctx, Pass, Separable, scratch_elems};
use arrayloom_plan::{AxisNeed, Window};
use arrayloom_types::DType;

/// The taps along one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearAxis {
    /// The axis.
    pub axis: usize,
    /// Weights, in the order of coordinates.
    pub taps: Vec<f64>,
    /// Points of the window before its center.
    pub before: i64,
    /// What lies outside.
    pub mode: Mode,
}

/// A separable weighted sum.
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
        if twice || bad || origin || rank == 0 {
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
        let LinearAxis { taps, mode, .. } = &self.axes[pass];
        let all: f64 = taps.iter().sum();
        let inside: f64 = there.iter().map(|&t| taps[t]).sum();
        let size: f64 = taps.iter().map(|t| t.abs()).sum();
        #[expect(clippy::cast_precision_loss, reason = "windows are short")]
        let count = there.len() as f64;
        let (bias, tap): (f64, Box<dyn Fn(usize) -> f64>) = match mode {
            Mode::Constant(value) => {
                let outside = (0..taps.len()).filter(|t| !there.contains(t));
                let weight: f64 = outside.map(|t| taps[t]).sum();
                (
                    if weight == 0.0 { 0.0 } else { weight * value },
                    Box::new(|t| taps[t]),
                )
            }
            _ if all.abs() > 1e-12 * size && inside.abs() > 1e-12 * size => {
                (0.0, Box::new(move |t| taps[t] * (all / inside)))
            }
            _ => (0.0, Box::new(move |t| taps[t] - inside / count)),
        };
        EdgeTaps {
            taps: there.iter().map(|&t| (t, W::of(tap(t)))).collect(),
            bias: W::of(bias),
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a box is written once")]
    fn run_in<S: Pixel, W: Real>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        load: impl Fn(S) -> W + Copy + Sync,
        emit: &(dyn Fn(&[W], &mut [u8]) + Sync),
    ) -> Result<(), VolumeError> {
        let taps = self
            .axes
            .iter()
            .map(|a| a.taps.iter().map(|&t| W::of(t)).collect());
        let engine = Separable {
            rule: Fir::new(taps.collect()),
            passes: &self.passes,
            edge_taps: &|pass, there| self.edge_taps(pass, there),
            emit,
            out_size: out.dtype.size(),
        };
        engine.run(ctx, input, load, out.region, out.data)
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

    fn scratch(&self, extents: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents)) as u64;
        threads * (8 * scratch_elems(&self.passes, extents) + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        self.axes
            .iter()
            .map(|a| 0.3 + 0.08 * a.taps.len() as f64)
            .sum()
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let (input, dtype) = (&inputs[0], out.dtype);
        let refused = Err(VolumeError::DType {
            op: "a linear filter",
            dtype: input.dtype,
        });
        with_pixel!(input.dtype, S => {
            if in_double(input.dtype) {
                let emit = move |v: &[f64], out: &mut [u8]| emit_f64(dtype, v, out);
                self.run_in::<S, f64>(ctx, input, out, Pixel::to_f64, &emit)
            } else {
                let emit = move |v: &[f32], out: &mut [u8]| emit_f32(dtype, v, out);
                self.run_in::<S, f32>(ctx, input, out, Pixel::to_f32, &emit)
            }
        }, complex => refused)
    }
}
