//! The greatest value of a box minus the smallest one: both ends are found together, one axis after the other, so
//! nothing but the input is read, and nothing but the result written.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::extrema::{BoxExtremum, Extremum};
use crate::VolumeError;
use crate::abroad::passes::{self, Passes};
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::block::{View, ViewMut};
use crate::fold::{EdgeTaps, GROUP, Rule};
use crate::joined::joined;
use crate::keys::{Keys, Order};
use crate::load::{Load, Plain};
use crate::low::{Lower, Upper, with_bias};
use crate::needed::{ring_elems, scratch_elems};
use crate::op::{Op, voxels, worth};
use crate::ops::WindowAxis;
use crate::pixel::{Key, Pixel, with_pixel};
use crate::separable::{Ctx, Engine as _, Separable};
use arrayloom_cpu::{Wide, wide};
use arrayloom_device::Fold;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};
use bytemuck::Pod;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// The greatest value of a box minus the smallest one. Differences of integers saturate, those of booleans are true
/// where both occur, and a NaN in the box gives NaN.
#[derive(Clone, Debug)]
pub struct BoxRange {
    lowest: BoxExtremum,
    highest: BoxExtremum,
}

impl BoxRange {
    /// The range over the box of `axes`, one entry for each axis of the array.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] for a window that does not hold its center.
    pub fn new(axes: Vec<WindowAxis>, dtype: DType) -> Result<BoxRange, VolumeError> {
        Ok(BoxRange {
            lowest: BoxExtremum::new(Extremum::Minimum, axes.clone(), dtype)?,
            highest: BoxExtremum::new(Extremum::Maximum, axes, dtype)?,
        })
    }

    /// Where rows are missing: what stands for the smallest key, and for the greatest one.
    fn edge_taps<K: Key>(&self, pass: usize, there: &[usize]) -> EdgeTaps<K> {
        let low = self.lowest.edge_taps((pass, there), (self.keys(), K::MAX));
        let high = self.highest.edge_taps((pass, there), (self.keys(), K::MIN));
        EdgeTaps {
            bias: [low.bias[0], high.bias[0]],
            ..low
        }
    }

    fn keys(&self) -> Keys {
        Keys {
            dtype: self.lowest.dtype(),
            order: Order::Rising,
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a box is written once")]
    fn run_in<K: Key>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError>
    where
        Keys: Load<K, K>,
    {
        let (passes, dtype) = (self.lowest.passes(), self.lowest.dtype());
        let emit = |found: &[&[K]], out: &mut [u8]| differences(dtype, found, out);
        let engine = Separable {
            rule: Ends {
                lens: passes.iter().map(|p| p.len).collect(),
                kind: PhantomData,
            },
            passes,
            edge_taps: &|pass, there: &[usize]| self.edge_taps(pass, there),
            emit: &emit,
            plain: false,
            out_size: dtype.size(),
        };
        engine.run::<K, _>(ctx, input, self.keys(), (out.region, out.data))
    }
}

impl BoxRange {
    fn passes_in<K: Key>(&self, work: DType, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let axes = self.lowest.passes();
        let inner = 1..axes.len();
        let passes = Passes {
            axes,
            edge_taps: &|pass, there: &[usize]| self.edge_taps(pass, there),
            fold: &|_| Fold::Range,
            weights: &|_| Vec::new(),
            bias: &|_, edge| edge.map_or(vec![K::MAX, K::MIN], |edge| edge.bias.to_vec()),
            work,
            between: self.dtype(),
            channels: &|pass| if inner.contains(&pass) { 2 } else { 1 },
            keys: self.keys().on_device(),
            points: 0.0,
            spread: None,
            out: self.dtype(),
        };
        passes.recipe(input, region)
    }
}

impl OnDevice for BoxRange {
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64 {
        let size = self.dtype().size() as u64;
        passes::scratch(self.lowest.passes(), 2, size, (extents, shape))
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        match (input.dtype, input.dtype.size()) {
            (DType::C64 | DType::C128, _) => None,
            (_, 1) => self.passes_in::<u8>(DType::U8, input, region),
            (_, 2) => self.passes_in::<u16>(DType::U16, input, region),
            (_, 4) => self.passes_in::<u32>(DType::U32, input, region),
            _ => self.passes_in::<u64>(DType::U64, input, region),
        }
    }
}

/// The smallest key of a window, and the greatest one, which is a NaN's if the window has one.
struct Ends<K> {
    /// Points of the window along each filtered axis.
    lens: Vec<usize>,
    kind: PhantomData<K>,
}

impl<K: Key> Ends<K> {
    /// Joins the rows of windows of `n` rows: those of voxels, or of both ends.
    fn joined<S: Pod, L: Load<S, K>>(
        pass: usize,
        n: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        let mut lows: SmallVec<[&mut [K]; GROUP]> = SmallVec::new();
        let mut highs: SmallVec<[&mut [K]; GROUP]> = SmallVec::new();
        for pair in outs.chunks_exact_mut(2) {
            if let [low, high] = pair {
                lows.push(low);
                highs.push(high);
            }
        }
        let (first, second) = if pass == 0 {
            (rows, rows)
        } else {
            rows.split_at(rows.len() / 2)
        };
        joined(Lower, n, first, load, &mut lows);
        joined(Upper, n, second, load, &mut highs);
    }
}

impl<K: Key> Rule for Ends<K> {
    type W = K;

    fn channels(&self, pass: usize) -> usize {
        if pass == 0 { 1 } else { 2 }
    }

    fn fold<S: Pod, L: Load<S, K>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        Ends::joined(pass, self.lens[pass], rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, K>>(
        &self,
        pass: usize,
        edge: &EdgeTaps<K>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        let n = rows.len() / self.channels(pass);
        Ends::joined(pass, n, rows, load, outs);
        if let [low, high] = outs {
            with_bias(Lower, edge.bias[0], low);
            with_bias(Upper, edge.bias[1], high);
        }
    }

    fn join(&self, rows: &[&[K]], outs: &mut [&mut [K]]) -> bool {
        Ends::joined(1, rows.len() / 2, rows, Plain, outs);
        true
    }
}

/// The greatest values minus the smallest ones, of their keys.
struct Differences<'a, T: Pixel> {
    low: &'a [T::Key],
    high: &'a [T::Key],
    to: &'a mut [T],
}

impl<T: Pixel> Wide for Differences<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for ((to, &low), &high) in self.to.iter_mut().zip(self.low).zip(self.high) {
            *to = T::of_key(high).minus(T::of_key(low));
        }
    }
}

fn differences<K: Key>(dtype: DType, found: &[&[K]], out: &mut [u8]) {
    with_pixel!(dtype, T => wide(Differences::<T> {
        low: bytemuck::cast_slice(found[0]),
        high: bytemuck::cast_slice(found[1]),
        to: bytemuck::cast_slice_mut(out),
    }), complex => ());
}

impl Op for BoxRange {
    fn name(&self) -> &'static str {
        "morphological_gradient"
    }

    fn dtype(&self) -> DType {
        self.lowest.dtype()
    }

    fn needs(&self, operand: usize) -> Vec<AxisNeed> {
        self.lowest.needs(operand)
    }

    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents), self.cost_ns()) as u64;
        let passes = self.lowest.passes();
        let slow = Extremum::Minimum.keys(self.dtype()).are_slow();
        let ring = if slow {
            ring_elems(passes, (extents, shape))
        } else {
            0
        };
        let elems = scratch_elems(passes, 2, (extents, shape)) + ring;
        threads * (self.dtype().size() as u64 * elems + 64)
    }

    fn cost_ns(&self) -> f64 {
        2.0 * self.lowest.cost_ns()
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        let refused = Err(VolumeError::DType {
            op: "morphological_gradient",
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
