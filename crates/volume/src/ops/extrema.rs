//! Minimum and maximum over boxes, one axis after the other, in integers that sort as the values do.

use crate::VolumeError;
use crate::block::{View, ViewMut};
use crate::fold::{EdgeTaps, High, Low, Rule};
use crate::op::{Mode, Op, voxels, worth};
use crate::ops::WindowAxis;
use crate::pixel::{Pixel, with_pixel};
use crate::separable::{Ctx, Pass, Separable, scratch_elems};
use arrayloom_plan::AxisNeed;
use arrayloom_types::DType;
use std::marker::PhantomData;

/// Which end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The smallest value.
    Minimum,
    /// The greatest value.
    Maximum,
}

/// Minimum or maximum over a box.
#[derive(Clone, Debug)]
pub struct BoxExtremum {
    rank: usize,
    which: Extremum,
    axes: Vec<WindowAxis>,
    passes: Vec<Pass>,
    dtype: DType,
}

impl BoxExtremum {
    /// The extremum over the box of `axes`, one entry for each axis of the array.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] for a window that does not hold its center.
    pub fn new(
        which: Extremum,
        axes: Vec<WindowAxis>,
        dtype: DType,
    ) -> Result<BoxExtremum, VolumeError> {
        super::window::check(&axes)?;
        let rank = axes.len();
        let mut filtered: Vec<usize> = (0..rank).filter(|&d| axes[d].len > 1).collect();
        if filtered.is_empty() {
            filtered.push(rank - 1);
        }
        let passes = filtered.into_iter().map(|axis| Pass {
            axis,
            before: axes[axis].before,
            len: axes[axis].len,
            edge: axes[axis].mode.edge(),
        });
        Ok(BoxExtremum {
            rank,
            which,
            passes: passes.collect(),
            axes,
            dtype,
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a box is written once")]
    fn run_in<T: Pixel, R: Rule<W = T::Key>>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        rule: R,
        nothing: T::Key,
    ) -> Result<(), VolumeError> {
        let first = self.which == Extremum::Minimum;
        let edge_taps = |pass: usize, there: &[usize]| EdgeTaps {
            taps: there.iter().map(|&t| (t, nothing)).collect(),
            bias: match self.axes[self.passes[pass].axis].mode {
                Mode::Constant(value) => T::from_f64(value).key(first),
                _ => nothing,
            },
        };
        let emit = |keys: &[T::Key], out: &mut [u8]| {
            crate::emit::cast(keys, bytemuck::cast_slice_mut::<u8, T>(out), T::of_key);
        };
        let engine = Separable {
            rule,
            passes: &self.passes,
            edge_taps: &edge_taps,
            emit: &emit,
            out_size: size_of::<T>(),
        };
        engine.run(ctx, input, |v: T| v.key(first), out.region, out.data)
    }
}

impl Op for BoxExtremum {
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
        super::window::needs(&self.axes)
    }

    fn scratch(&self, extents: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents)) as u64;
        threads * (self.dtype.size() as u64 * scratch_elems(&self.passes, extents) + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        self.passes.iter().map(|p| 0.2 + 0.02 * p.len as f64).sum()
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        debug_assert_eq!(self.rank, out.region.rank(), "one window for each axis");
        let refused = Err(VolumeError::DType {
            op: "minimum_filter",
            dtype: input.dtype,
        });
        with_pixel!(input.dtype, T => match self.which {
            Extremum::Minimum => {
                self.run_in::<T, _>(ctx, input, out, Low(PhantomData), <T as Pixel>::Key::MAX)
            }
            Extremum::Maximum => {
                self.run_in::<T, _>(ctx, input, out, High(PhantomData), <T as Pixel>::Key::MIN)
            }
        }, complex => refused)
    }
}
