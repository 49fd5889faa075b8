//! Means of floats over long windows, which are joined in an order of their own: on the CPU (`long.rs`), and on devices.

use super::linear::{Arithmetic, LinearAxis};
use crate::VolumeError;
use crate::abroad::passes::Passes;
use crate::abroad::recipe::Recipe;
use crate::block::{View, ViewMut};
use crate::fold::EdgeTaps;
use crate::long::LongWindows;
use crate::op::Mode;
use crate::separable::{Ctx, Emit, Pass};
use crate::unions::Means;
use arrayloom_device::{Fold, Keys};
use arrayloom_types::{DType, Region};

/// A mean over a box in the arithmetic `W`.
pub(super) struct LongMeans<'a, W> {
    axes: &'a [LinearAxis],
    passes: &'a [Pass],
    means: Means<W>,
}

impl<'a, W: Arithmetic> LongMeans<'a, W> {
    /// The mean over windows of as many points along each axis as it has taps.
    pub(super) fn new(axes: &'a [LinearAxis], passes: &'a [Pass]) -> LongMeans<'a, W> {
        let each = axes.iter();
        let means = Means::new(each.map(|a| (a.taps.len(), a.mode == Mode::Renormalize)));
        LongMeans {
            axes,
            passes,
            means,
        }
    }

    /// What stands for a missing row of pass `pass`.
    fn outside(&self, pass: usize) -> W {
        match self.axes[pass].mode {
            Mode::Constant(value) => self.means.scaled(pass, W::of(value)),
            _ => W::zeroed(),
        }
    }

    /// Computes it here.
    pub(super) fn run(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        emit: Emit<'_, W>,
    ) -> Result<(), VolumeError> {
        let engine = LongWindows {
            union: &self.means,
            passes: self.passes,
            outside: &|pass| [self.outside(pass)],
            emit,
            out_size: out.dtype.size(),
        };
        W::drive(&engine, ctx, input, out)
    }

    /// What a device does for it, with results of dtype `out`.
    pub(super) fn recipe(
        &self,
        input: &View<'_>,
        (region, out): (&Region, DType),
    ) -> Option<Recipe> {
        let bias = |pass: usize, edge: Option<&EdgeTaps<W>>| {
            let there = edge.map_or(self.passes[pass].len, |edge| edge.places.len());
            let [by, times] = self.means.quotient(pass, there);
            vec![self.outside(pass), self.means.lifted(pass), by, times]
        };
        let passes = Passes {
            axes: self.passes,
            edge_taps: &|_, there: &[usize]| EdgeTaps {
                places: there.to_vec(),
                taps: [Vec::new(), Vec::new()],
                bias: [W::zeroed(); 2],
            },
            long: true,
            fold: &|_| Fold::Mean,
            weights: &|_| Vec::new(),
            bias: &bias,
            work: W::DTYPE,
            between: W::DTYPE,
            channels: &|_| 1,
            keys: Keys::Plain,
            points: 0.0,
            spread: None,
            out,
        };
        passes.recipe(input, region)
    }
}
