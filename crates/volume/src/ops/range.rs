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
use crate::crossed::{self, Near};
use crate::fold::{EdgeTaps, GROUP, Rule};
use crate::joined::{Both, Merge, joined};
use crate::keys::{Keys, Order};
use crate::load::{Load, Plain};
use crate::low::{Lower, Upper, with_bias};
use crate::needed::{crossed_elems, ring_elems, scratch_elems};
use crate::op::{Op, voxels, worth};
use crate::ops::WindowAxis;
use crate::pixel::{Key, Pixel, with_pixel};
use crate::separable::{Ctx, Engine as _, Separable};
use arrayloom_cpu::{Wide, wide};
use arrayloom_device::Fold;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};
use bytemuck::Pod;
use half::f16;
use smallvec::SmallVec;

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
        EdgeTaps {
            bias: self.beyond(pass),
            ..low
        }
    }

    /// What stands for the smallest key beyond the axis of a pass, and for the greatest one: the key of a value, if one is
    /// given.
    fn beyond<K: Key>(&self, pass: usize) -> [K; 2] {
        [
            self.lowest.beyond(pass, (self.keys(), K::MAX)),
            self.highest.beyond(pass, (self.keys(), K::MIN)),
        ]
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
        Differences: Merge<K, To = K>,
    {
        let (passes, dtype) = (self.lowest.passes(), self.lowest.dtype());
        let merge = Differences(dtype);
        let emit = |found: &[&[K]], out: &mut [u8]| emit_differences(dtype, found, out);
        let axes = passes.iter().enumerate();
        let engine = Separable {
            rule: Ends {
                axes: axes.map(|(i, p)| (p.len, self.beyond(i)[0])).collect(),
                clips: self.lowest.clips(),
                merge,
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
            long: false,
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

/// How both ends of windows are found.
const ENDS: Both<Lower, Upper> = Both(Lower, Upper);

/// The smallest key of a window, and the greatest one, which is a NaN's if the window has one.
struct Ends<K> {
    /// For each filtered axis: points of the window, and the key of a value that stands beyond the axis.
    axes: Vec<(usize, K)>,
    /// True if windows are clipped: then nothing stands there.
    clips: bool,
    merge: Differences,
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

impl<K: Key> Rule for Ends<K>
where
    Differences: Merge<K>,
{
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
        Ends::joined(pass, self.axes[pass].0, rows, load, outs);
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

    fn crosses(&self, across: usize, along: usize) -> bool {
        // Both ends of a window are found in the same rows.
        let same = self.axes.len() == 2 && !self.clips;
        same && crossed::are_near(self.axes[across].0, self.axes[along].0)
    }

    fn outside(&self, pass: usize, _: usize) -> K {
        self.axes[pass].1
    }

    fn near(&self, rows: Near<'_, '_, '_, K>) {
        rows.join_both(ENDS, self.merge);
    }

    fn join(&self, rows: &[&[K]], outs: &mut [&mut [K]]) -> bool {
        Ends::joined(1, rows.len() / 2, rows, Plain, outs);
        true
    }
}

/// The greatest values of this dtype minus the smallest ones, of their keys.
#[derive(Clone, Copy)]
struct Differences(DType);

macro_rules! differences {
    ($($raw:ty: $plain:ty $(, $name:ident => $t:ty)*;)*) => {$(
        impl Merge<$raw> for Differences {
            type To = $raw;

            #[inline(always)]
            fn map<const N: usize>(self, low: [$raw; N], high: [$raw; N]) -> [$raw; N] {
                match self.0 {
                    $(DType::$name => differences::<$t, N>(low, high),)*
                    _ => differences::<$plain, N>(low, high),
                }
            }
        }
    )*};
}
differences! {
    u8: u8, I8 => i8;
    u16: u16, I16 => i16, F16 => f16;
    u32: u32, I32 => i32, F32 => f32;
    u64: u64, I64 => i64, F64 => f64;
}

#[inline(always)]
fn differences<T: Pixel, const N: usize>(low: [T::Key; N], mut high: [T::Key; N]) -> [T::Key; N] {
    for (high, low) in high.iter_mut().zip(low) {
        *high = bytemuck::cast(difference::<T>(low, *high));
    }
    high
}

#[inline(always)]
fn difference<T: Pixel>(low: T::Key, high: T::Key) -> T {
    T::of_key(high).minus(T::of_key(low))
}

/// The differences of whole rows.
struct Rows<'a, T: Pixel> {
    low: &'a [T::Key],
    high: &'a [T::Key],
    to: &'a mut [T],
}

impl<T: Pixel> Wide for Rows<'_, T> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for ((to, &low), &high) in self.to.iter_mut().zip(self.low).zip(self.high) {
            *to = difference(low, high);
        }
    }
}

fn emit_differences<K: Key>(dtype: DType, found: &[&[K]], out: &mut [u8]) {
    with_pixel!(dtype, T => wide(Rows::<T> {
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
        let size = self.dtype().size();
        let rings = match passes {
            [across, along] if crossed::are_near(across.len, along.len) => {
                ring.max(crossed_elems(passes, size, (extents, shape)))
            }
            _ => ring,
        };
        let elems = scratch_elems(passes, 2, (extents, shape)) + rings;
        threads * (size as u64 * elems + 64)
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
