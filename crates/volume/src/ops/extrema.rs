//! Minimum and maximum over boxes, one axis after the other, in integers that sort as the values do. NaN comes
//! first for minima and last for maxima. Devices, which know minima only, take falling keys for maxima.

use crate::VolumeError;
use crate::abroad::passes::{self, Passes};
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::block::{View, ViewMut};
use crate::fold::EdgeTaps;
use crate::joined::Join;
use crate::keys::{Keys, Order, emit_keys, key_of};
use crate::load::Load;
use crate::long::{self, LongWindows};
use crate::low::{End, Lower, Upper};
use crate::needed::{crossed_elems, long_bytes, ring_elems, scratch_elems};
use crate::op::{Mode, Op, voxels, worth};
use crate::ops::WindowAxis;
use crate::pixel::Key;
use crate::separable::{Ctx, Engine as _, Pass, Separable};
use crate::store::Store;
use crate::unions::Ends;
use arrayloom_device::Fold;
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

/// Which end of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extremum {
    /// The smallest value.
    Minimum,
    /// The greatest value.
    Maximum,
}

impl Extremum {
    /// Keys of which the smallest one is the extremum.
    pub(super) fn keys(self, dtype: DType) -> Keys {
        let order = match self {
            Extremum::Minimum => Order::Lowest,
            Extremum::Maximum => Order::Highest,
        };
        Keys { dtype, order }
    }
}

/// Fewest points along a line of windows that are joined from boxes.
const LONG: usize = 32;

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

    /// The filtered axes.
    pub(super) fn passes(&self) -> &[Pass] {
        &self.passes
    }

    /// True if windows are clipped somewhere.
    pub(super) fn clips(&self) -> bool {
        self.axes.iter().any(|a| a.mode == Mode::Renormalize)
    }

    /// True if windows are too long to be read point by point.
    fn is_long(&self) -> bool {
        long::pays(&self.passes, self.rank, LONG)
    }

    /// The key of what stands beyond the axis of a pass: `nothing` where no value does.
    pub(super) fn beyond<K: Key>(&self, pass: usize, (keys, nothing): (Keys, K)) -> K {
        match self.axes[self.passes[pass].axis].mode {
            Mode::Constant(value) => key_of(keys, value),
            _ => nothing,
        }
    }

    /// What stands where only the places `there` of a window exist, in such keys: `nothing` where no value does.
    pub(super) fn edge_taps<K: Key>(
        &self,
        (pass, there): (usize, &[usize]),
        nothing: (Keys, K),
    ) -> EdgeTaps<K> {
        let bias = self.beyond(pass, nothing);
        EdgeTaps {
            places: there.to_vec(),
            taps: [Vec::new(), Vec::new()],
            bias: [bias; 2],
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
        match self.which {
            Extremum::Minimum => self.run_as((Lower, Order::Lowest, K::MAX), ctx, input, out),
            Extremum::Maximum => self.run_as((Upper, Order::Rising, K::MIN), ctx, input, out),
        }
    }

    /// The end `how` of keys in an order in which NaN is at that end, and `nothing` at the other one.
    #[expect(clippy::needless_pass_by_value, reason = "a box is written once")]
    fn run_as<K: Key>(
        &self,
        (how, order, nothing): (impl Join<K> + Sync, Order, K),
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
    ) -> Result<(), VolumeError>
    where
        Keys: Load<K, K> + Store<K, To = K>,
    {
        let dtype = self.dtype;
        let keys = Keys { dtype, order };
        let edge_taps = |pass, there: &[usize]| self.edge_taps((pass, there), (keys, nothing));
        let emit = |found: &[&[K]], out: &mut [u8]| emit_keys(keys, found[0], out);
        let outside = |pass| [self.beyond(pass, (keys, nothing))];
        if self.is_long() {
            let engine = LongWindows {
                union: Ends(how),
                passes: &self.passes,
                outside: &outside,
                emit: &emit,
                out_size: self.dtype.size(),
            };
            return engine.run::<K, _>(ctx, input, keys, (out.region, out.data));
        }
        let axes = self.passes.iter().enumerate();
        let axes = axes.map(|(pass, p)| (p.len, outside(pass)[0]));
        let engine = Separable {
            rule: End::new(how, keys, axes.collect()),
            passes: &self.passes,
            edge_taps: &edge_taps,
            emit: &emit,
            plain: keys.are_elements(),
            out_size: self.dtype.size(),
        };
        engine.run::<K, _>(ctx, input, keys, (out.region, out.data))
    }
}

impl BoxExtremum {
    fn passes_in<K: Key>(&self, work: DType, input: &View<'_>, region: &Region) -> Option<Recipe> {
        let keys = self.which.keys(self.dtype);
        let passes = Passes {
            axes: &self.passes,
            edge_taps: &|pass, there: &[usize]| self.edge_taps((pass, there), (keys, K::MAX)),
            long: false,
            fold: &|_| Fold::Least,
            weights: &|_| Vec::new(),
            bias: &|_, edge| vec![edge.map_or(K::MAX, |edge| edge.bias[0])],
            work,
            between: self.dtype,
            channels: &|_| 1,
            keys: keys.on_device(),
            points: 0.0,
            spread: None,
            out: self.dtype,
        };
        passes.recipe(input, region)
    }
}

impl OnDevice for BoxExtremum {
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64 {
        passes::scratch(&self.passes, 1, self.dtype.size() as u64, (extents, shape))
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

    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents), self.cost_ns()) as u64;
        let size = self.dtype.size();
        if self.is_long() {
            return long_bytes(&self.passes, (size, threads), (extents, shape));
        }
        let slow = self.which.keys(self.dtype).are_slow();
        let ring = if slow {
            ring_elems(&self.passes, (extents, shape))
        } else {
            0
        };
        let crossed = crossed_elems(&self.passes, size, (extents, shape));
        // Where the only two passes are crossed, rows are converted in the ring of joined ones.
        let rings = match self.passes.len() {
            2 => ring.max(crossed),
            _ => ring + crossed,
        };
        let elems = scratch_elems(&self.passes, 1, (extents, shape)) + rings;
        threads * (size as u64 * elems + 64)
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        if self.is_long() {
            return 3.0 * self.passes.len() as f64;
        }
        self.passes.iter().map(|p| 0.2 + 0.02 * p.len as f64).sum()
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        debug_assert_eq!(self.rank, out.region.rank(), "one window for each axis");
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
