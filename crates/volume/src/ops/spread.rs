//! What mean and variance of a box give, one axis after the other.

use super::linear::emit_f64;
use super::statistic::Statistic;
use super::window::{self, WindowAxis};
use crate::VolumeError;
use crate::abroad::passes::{self, Passes};
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::block::{View, ViewMut};
use crate::boxes::Union;
use crate::fold::{EdgeTaps, Rule};
use crate::load::Numbers;
use crate::long::LongWindows;
use crate::moments::Moments;
use crate::needed::{long_bytes, scratch_elems};
use crate::op::{Mode, Op, voxels, worth};
use crate::separable::{Ctx, EdgeTapsOf, Emit, Engine, Pass, Separable};
use crate::sums::{Spreads, Squares, missing, squares_fit};
use crate::unions::{self, Squared};
use arrayloom_device::{Fold, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

/// Elements that are rounded at a time.
const PIECE: usize = 256;

/// Fewest points along an axis of windows that are not read point by point: before, reading the window is quicker, the more
/// so where sums are exact.
const LONG: [usize; 2] = [24, 40];

/// A statistic of mean and variance over a box, in double precision, rounded once.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    axes: Vec<WindowAxis>,
    passes: Vec<Pass>,
    statistic: Statistic,
    out: DType,
}

impl Spread {
    /// The statistic over the box of `axes`, which has been checked.
    pub(super) fn new(axes: Vec<WindowAxis>, statistic: Statistic, out: DType) -> Spread {
        let mut filtered: Vec<usize> = (0..axes.len()).filter(|&d| axes[d].len > 1).collect();
        if filtered.is_empty() {
            filtered.push(axes.len() - 1);
        }
        let pass = |axis: usize| Pass {
            axis,
            before: axes[axis].before,
            len: axes[axis].len,
            edge: axes[axis].mode.edge(),
        };
        Spread {
            passes: filtered.into_iter().map(pass).collect(),
            axes,
            statistic,
            out,
        }
    }

    /// Where rows are missing: what stands for them, and how many count.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn edge_taps(&self, pass: usize, there: &[usize]) -> EdgeTaps<f64> {
        let axis = &self.axes[self.passes[pass].axis];
        let bias = match axis.mode {
            Mode::Constant(value) => [value, (axis.len - there.len()) as f64],
            _ => [0.0; 2],
        };
        EdgeTaps {
            places: there.to_vec(),
            taps: [Vec::new(), Vec::new()],
            bias,
        }
    }

    /// Where rows are missing: what they add to sums and sums of squares.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn edge_sums(&self, pass: usize, there: &[usize]) -> EdgeTaps<f64> {
        let axis = &self.axes[self.passes[pass].axis];
        let rows = (axis.len - there.len()) as f64;
        let bias = match axis.mode {
            Mode::Constant(value) => {
                [value, value * value].map(|v| rows * missing(&self.passes, pass, v))
            }
            _ => [0.0; 2],
        };
        EdgeTaps {
            places: there.to_vec(),
            taps: [Vec::new(), Vec::new()],
            bias,
        }
    }

    /// The points of the box, if sums over it are exact and the center itself is not asked for.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn exact_points(&self, dtype: DType) -> Option<f64> {
        let points = self.passes.iter().map(|p| p.len as f64).product();
        let modes = self.passes.iter().map(|p| self.axes[p.axis].mode);
        (!self.statistic.is_of_center() && squares_fit(dtype, points, modes)).then_some(points)
    }

    /// What stands for missing rows, how many those are, and the share of one row in all.
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    fn shares(&self, pass: usize, edge: Option<&EdgeTaps<f64>>) -> Vec<f64> {
        let there = edge.map_or(self.passes[pass].len, |edge| edge.places.len());
        let [outside, missing] = edge.map(|edge| edge.bias).unwrap_or_default();
        vec![outside, missing, 1.0 / (there as f64 + missing)]
    }

    fn emit_sums(&self, points: f64, rows: &[&[f64]], out: &mut [u8]) {
        let [sums, squares] = rows else {
            return;
        };
        let size = self.out.size();
        let (mut found, mut variance) = ([0.0; PIECE], [0.0; PIECE]);
        for (i, out) in out.chunks_mut(PIECE * size).enumerate() {
            let part = i * PIECE..i * PIECE + out.len() / size;
            let (found, variance) = (&mut found[..part.len()], &mut variance[..part.len()]);
            Spreads {
                points,
                sums: &sums[part.clone()],
                squares: &squares[part],
                means: found,
                variances: variance,
            }
            .find();
            self.statistic.of_moments(variance, &[], found);
            emit_f64(self.out, found, out);
        }
    }

    /// Runs it on elements of any dtype.
    fn drive(
        (ctx, input, out): (&Ctx, &View<'_>, ViewMut<'_>),
        engine: &impl Engine<f64>,
    ) -> Result<(), VolumeError> {
        let (numbers, to) = (Numbers(input.dtype), (out.region, out.data));
        match input.dtype.size() {
            1 => engine.run::<u8, _>(ctx, input, numbers, to),
            2 => engine.run::<u16, _>(ctx, input, numbers, to),
            4 => engine.run::<u32, _>(ctx, input, numbers, to),
            _ => engine.run::<u64, _>(ctx, input, numbers, to),
        }
    }

    /// Windows that are read point by point.
    fn reading<'a, R: Rule<W = f64>>(
        &'a self,
        rule: R,
        edge_taps: EdgeTapsOf<'a, f64>,
        emit: Emit<'a, f64>,
    ) -> Separable<'a, R> {
        Separable {
            rule,
            passes: &self.passes,
            edge_taps,
            emit,
            out_size: self.out.size(),
            plain: false,
        }
    }

    /// Windows that are too long for that.
    fn joining<'a, U: Union<f64, 2>>(
        &'a self,
        union: U,
        outside: &'a (dyn Fn(usize) -> [f64; 2] + Sync),
        emit: Emit<'a, f64>,
    ) -> LongWindows<'a, U, f64, 2> {
        LongWindows {
            union,
            passes: &self.passes,
            outside,
            emit,
            out_size: self.out.size(),
        }
    }

    /// True if windows are not read point by point: those of voxels that count alike, without the center itself.
    fn is_long(&self, exact: bool) -> bool {
        let clipped = |p: &Pass| self.axes[p.axis].mode == Mode::Renormalize;
        let center = self.statistic.is_of_center();
        self.passes
            .iter()
            .any(|p| p.len >= LONG[usize::from(exact)])
            && !center
            && !self.passes.iter().any(clipped)
    }

    /// What stands outside of pass `pass`: a constant, or nothing that is looked at.
    fn outside(&self, pass: usize) -> f64 {
        match self.axes[self.passes[pass].axis].mode {
            Mode::Constant(value) => value,
            _ => 0.0,
        }
    }

    fn emit(&self, rows: &[&[f64]], out: &mut [u8]) {
        let [mean, variance, center @ ..] = rows else {
            return;
        };
        let center = center.first().unwrap_or(mean);
        let size = self.out.size();
        let mut found = [0.0; PIECE];
        for (i, out) in out.chunks_mut(PIECE * size).enumerate() {
            let part = i * PIECE..i * PIECE + out.len() / size;
            let found = &mut found[..part.len()];
            found.copy_from_slice(&mean[part.clone()]);
            self.statistic
                .of_moments(&variance[part.clone()], &center[part], found);
            emit_f64(self.out, found, out);
        }
    }
}

impl OnDevice for Spread {
    fn device_scratch(&self, extents: &[i64], shape: &[i64]) -> u64 {
        passes::scratch(&self.passes, 3, 8, (extents, shape))
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let input = &inputs[0];
        // The CPU may round twice on the way to halves.
        if matches!(input.dtype, DType::C64 | DType::C128) || self.out == DType::F16 {
            return None;
        }
        let points = self.exact_points(input.dtype);
        let squares = |pass: usize, there: &[usize]| self.edge_sums(pass, there);
        let moments = |pass: usize, there: &[usize]| self.edge_taps(pass, there);
        let last = self.passes.len();
        let center = self.statistic.is_of_center();
        let passes = Passes {
            axes: &self.passes,
            edge_taps: if points.is_some() { &squares } else { &moments },
            long: points.is_none() && self.is_long(false),
            fold: &|_| match points {
                Some(_) => Fold::Squares,
                None => Fold::Moments,
            },
            weights: &|_| Vec::new(),
            bias: &|pass, edge| match points {
                Some(_) => passes::first::<f64, 2>(edge),
                None => self.shares(pass, edge),
            },
            work: DType::F64,
            between: DType::F64,
            channels: &|pass| match pass {
                0 => 1,
                pass if pass == last => 1,
                _ => 2 + u8::from(center),
            },
            keys: Keys::Plain,
            points: points.unwrap_or(0.0),
            spread: self.statistic.on_device(),
            out: self.out,
        };
        passes.recipe(input, region)
    }
}

impl Op for Spread {
    fn name(&self) -> &'static str {
        self.statistic.filter()
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.axes)
    }

    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64 {
        let threads = worth(threads, voxels(extents), self.cost_ns()) as u64;
        let short = threads * (8 * scratch_elems(&self.passes, 3, (extents, shape)) + 64);
        if !self.is_long(false) {
            return short;
        }
        short.max(long_bytes(&self.passes, (16, threads), (extents, shape)))
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        if self.is_long(false) {
            return 9.0 * self.passes.len() as f64;
        }
        self.passes.iter().map(|p| 0.8 + 0.1 * p.len as f64).sum()
    }

    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let input = &inputs[0];
        if matches!(input.dtype, DType::C64 | DType::C128) {
            return Err(VolumeError::DType {
                op: self.statistic.filter(),
                dtype: input.dtype,
            });
        }
        let call = (ctx, input, out);
        let exact = self.exact_points(input.dtype);
        let moments = |rows: &[&[f64]], out: &mut [u8]| self.emit(rows, out);
        let sums = |rows: &[&[f64]], out: &mut [u8]| {
            self.emit_sums(exact.unwrap_or_default(), rows, out);
        };
        if self.is_long(exact.is_some()) {
            let value = |pass: usize| self.outside(pass);
            if exact.is_some() {
                let outside = |pass: usize| {
                    [1, 2].map(|power| missing(&self.passes, pass, value(pass).powi(power)))
                };
                return Spread::drive(call, &self.joining(Squared, &outside, &sums));
            }
            let outside = |pass: usize| [value(pass), 0.0];
            return Spread::drive(call, &self.joining(unions::Moments, &outside, &moments));
        }
        let edge_sums = |pass: usize, there: &[usize]| self.edge_sums(pass, there);
        let edge_taps = |pass: usize, there: &[usize]| self.edge_taps(pass, there);
        if exact.is_some() {
            let rule = Squares {
                lens: self.passes.iter().map(|p| p.len).collect(),
            };
            return Spread::drive(call, &self.reading(rule, &edge_sums, &sums));
        }
        let windows = self
            .passes
            .iter()
            .map(|p| (usize::try_from(p.before).unwrap_or(0), p.len));
        let rule = Moments {
            passes: windows.collect(),
            center: self.statistic.is_of_center(),
        };
        Spread::drive(call, &self.reading(rule, &edge_taps, &moments))
    }
}
