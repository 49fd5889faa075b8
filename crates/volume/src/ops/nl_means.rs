//! Non-local means: a voxel becomes the mean of the voxels around it, weighted by how alike their
//! surroundings are.
//!
//! For one shift after the other the squared differences of a tile and the shifted tile are summed over
//! patches, one axis after the other, so the cost of a shift does not grow with the volume of a patch.
//! Shifts come in C order and sums in the order of axes, so bits do not depend on tiles. Small integers and
//! `float32` are weighed in single precision, all others, and by Fisher's distance, in double.
//!
//! Source: A. Buades, B. Coll and J.-M. Morel, A non-local algorithm for image denoising, CVPR 2005; sums
//! by shifts: J. Darbon et al., Fast nonlocal filtering applied to electron cryomicroscopy, ISBI 2008.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use super::exponential::Exponential;
use super::linear::{emit_f32, emit_f64, in_double};
use super::tiles::{self, Fill, LoadRow, Tile, tile_elems, tile_voxels, tiles};
use super::window::{self, Neighbourhood, WindowAxis};
use crate::VolumeError;
use crate::abroad::recipe::{OnDevice, Recipe};
use crate::abroad::windows::{self, Windows};
use crate::block::{View, ViewMut, axis_len};
use crate::fold::Real;
use crate::load::{doubles, singles};
use crate::op::{Mode, Op};
use crate::separable::{Ctx, Emit};
use crate::strips::{STRIP, strip};
use arrayloom_cpu::{Wide, wide};
use arrayloom_device::{Gather, Keys};
use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};

/// How alike two voxels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// The mean squared difference of their patches.
    Squares,
    /// Fisher's: the squared difference of the means of their patches over the sum of their variances.
    /// Operands are the volume, these means, and these variances.
    Fisher,
}

/// Patches of more points are left to the CPU, whose sums slide.
const POINTS: usize = 4096;

/// Non-local means.
#[derive(Clone, Debug)]
pub struct NlMeans {
    /// The box that a voxel reads: shifts, and patches around them.
    axes: Vec<WindowAxis>,
    /// Greatest shift along each axis.
    search: Vec<i64>,
    /// Reach of a patch along each axis; zero for Fisher's distance.
    patch: Vec<i64>,
    h: f64,
    distance: Distance,
    out: DType,
}

impl NlMeans {
    /// Weights `exp(-distance / h^2)`, with this reach of shifts and patches along each axis.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] for a negative reach, or an `h` that is not positive.
    pub fn new(
        reach: &[(i64, i64, Mode)],
        h: f64,
        distance: Distance,
        out: DType,
    ) -> Result<NlMeans, VolumeError> {
        let bad = reach.iter().any(|&(s, p, _)| s < 0 || p < 0);
        if bad || h.is_nan() || h <= 0.0 || reach.is_empty() {
            return Err(VolumeError::Argument(format!(
                "shifts and patches of {reach:?} with h {h}; give a positive h, and no negative reach"
            )));
        }
        let patch: Vec<i64> = reach
            .iter()
            .map(|&(_, p, _)| if distance == Distance::Squares { p } else { 0 })
            .collect();
        let axis = |(&(s, _, mode), p): (&(i64, i64, Mode), &i64)| WindowAxis {
            len: usize::try_from(2 * (s + p) + 1).unwrap_or(1),
            before: s + p,
            mode,
        };
        Ok(NlMeans {
            axes: reach.iter().zip(&patch).map(axis).collect(),
            search: reach.iter().map(|r| r.0).collect(),
            patch,
            h,
            distance,
            out,
        })
    }

    /// Elements of `size` bytes of working memory beside the tiles: two boxes of differences, three sums.
    fn extra(&self, extents: &[i64], size: usize) -> u64 {
        2 * tile_elems(&self.axes, extents, size) + 3 * tile_voxels(extents, size)
    }

    fn run_in<R: Exponential>(
        &self,
        ctx: &Ctx,
        inputs: &[View<'_>],
        out: ViewMut<'_>,
        load: LoadRow<'_, R>,
        emit: Emit<'_, R>,
    ) -> Result<(), VolumeError> {
        let constant = window::constant(&self.axes);
        let extents = out.region.extents();
        let size = size_of::<R>();
        let padded = usize::try_from(tile_elems(&self.axes, &extents, size)).unwrap_or(usize::MAX);
        let fill = Fill {
            axes: &self.axes,
            nothing: R::of(constant.unwrap_or(0.0)),
            extra: usize::try_from(self.extra(&extents, size)).unwrap_or(usize::MAX),
            load,
        };
        tiles(ctx, inputs, out, &fill, |tile, extra, result| {
            let count = usize::try_from(tile.region.voxels()).unwrap_or(0);
            let (differences, rest) = extra.split_at_mut(padded);
            let (patches, rest) = rest.split_at_mut(padded);
            let (sums, rest) = rest.split_at_mut(count);
            let (weights, rest) = rest.split_at_mut(count);
            wide(Patches {
                op: self,
                tile,
                space: [differences, patches],
                sums,
                weights,
                greatest: &mut rest[..count],
            });
            emit(&[sums], result);
        })
    }

    fn patch_points(&self) -> usize {
        let along = self
            .patch
            .iter()
            .map(|p| usize::try_from(2 * p + 1).unwrap_or(1));
        along.product()
    }

    /// What the squared difference of two voxels is multiplied with, to be an exponent.
    fn scale<R: Exponential>(&self) -> f64 {
        -R::UNIT / (self.h * self.h)
    }

    fn windows_in<R: Exponential + Into<f64>>(
        &self,
        work: DType,
        input: &View<'_>,
        region: &Region,
    ) -> Option<Recipe> {
        let reach = |each: &[i64]| each.iter().map(|&r| usize::try_from(r).ok()).collect();
        let points = self.patch_points();
        if points > POINTS {
            return None;
        }
        let window = Neighbourhood {
            axes: self.axes.clone(),
            points: [&self.search, &self.patch]
                .map(|each| reach(each))
                .into_iter()
                .collect::<Option<_>>()?,
        };
        let windows = Windows {
            window: &window,
            gather: Gather::Patches,
            rank: points,
            keys: Keys::Plain,
            more: Vec::new(),
            weights: &[],
            given: [0.0; 3],
            nothing: R::of(window.constant().unwrap_or(0.0)),
            work,
            out: self.out,
        };
        let mut recipe = windows.recipe(input, region)?;
        let scale = |count: u32| R::of(self.scale::<R>() / f64::from(count)).finite();
        let bits = |scale: R| Into::<f64>::into(scale).to_bits().cast_signed();
        let counts = 1..=u32::try_from(points).ok()?;
        let scales: Vec<i64> = counts.map(scale).map(bits).collect();
        // In place of the distances of points, which a device does not ask for here.
        let table = recipe.table(DType::I64, &scales);
        recipe.calls[0].ins[5] = table;
        Some(recipe)
    }

    /// All shifts, in C order.
    fn shifts(&self) -> impl Iterator<Item = Vec<i64>> + '_ {
        let count: i64 = self.search.iter().map(|s| 2 * s + 1).product();
        (0..count).map(|mut number| {
            let mut shift = vec![0; self.search.len()];
            for (d, s) in self.search.iter().enumerate().rev() {
                shift[d] = number % (2 * s + 1) - s;
                number /= 2 * s + 1;
            }
            shift
        })
    }
}

/// One tile and its sums.
struct Patches<'a, 't, R> {
    op: &'a NlMeans,
    tile: &'a Tile<'t, R>,
    /// Boxes of differences and of their sums.
    space: [&'a mut [R]; 2],
    sums: &'a mut [R],
    weights: &'a mut [R],
    greatest: &'a mut [R],
}

impl<R: Exponential> Patches<'_, '_, R> {
    /// True if coordinate `at` of axis `d` can be read.
    #[inline(always)]
    fn inside(&self, d: usize, at: i64) -> bool {
        self.op.axes[d].mode != Mode::Renormalize || (0..self.tile.shape[d]).contains(&at)
    }

    /// The rows of the box of the tile grown by `grow` along each axis: number, coordinates of the first
    /// voxel, its place in the padded tile.
    #[inline(always)]
    fn row_at(&self, row: usize, grow: &[i64], at: &mut [i64]) -> usize {
        let region = &self.tile.region;
        let last = at.len() - 1;
        let mut rest = row;
        for d in (0..last).rev() {
            let n = axis_len(region, d) + usize::try_from(2 * grow[d]).unwrap_or(0);
            at[d] = region.lo[d] - grow[d] + i64::try_from(rest % n).unwrap_or(0);
            rest /= n;
        }
        at[last] = region.lo[last] - grow[last];
        let place = |d: usize| {
            let step = at[d] - region.lo[d] + self.op.axes[d].before;
            usize::try_from(step).unwrap_or(0) * self.tile.steps[d]
        };
        (0..at.len()).map(place).sum()
    }

    /// The squared differences of the tile, grown by a patch, and itself shifted.
    #[inline(always)]
    fn differences(&mut self, shift: &[i64], jump: isize) -> Vec<usize> {
        let grow = &self.op.patch;
        let region = &self.tile.region;
        let extents: Vec<usize> = (0..shift.len())
            .map(|d| axis_len(region, d) + usize::try_from(2 * grow[d]).unwrap_or(0))
            .collect();
        let last = extents.len() - 1;
        let len = extents[last];
        let rows: usize = extents[..last].iter().product();
        let mut at = region.lo.to_vec();
        for row in 0..rows {
            let from = self.row_at(row, grow, &mut at);
            let clear =
                (0..last).all(|d| self.inside(d, at[d]) && self.inside(d, at[d] + shift[d]));
            let to = &mut self.space[0][row * len..(row + 1) * len];
            if !clear {
                to.fill(R::of(0.0));
                continue;
            }
            let own = &self.tile.data[from..from + len];
            let other = &self.tile.data[from.wrapping_add_signed(jump)..][..len];
            for j in 0..len {
                let far = own[j] - other[j];
                to[j] = far * far;
            }
            self.clip_row(at[last], shift[last], row * len..(row + 1) * len);
        }
        extents
    }

    /// Takes differences out of a row, beginning at coordinate `first` of the last axis, that do not exist.
    #[inline(always)]
    fn clip_row(&mut self, first: i64, shift: i64, row: std::ops::Range<usize>) {
        let last = self.op.axes.len() - 1;
        if self.op.axes[last].mode != Mode::Renormalize {
            return;
        }
        let n = self.tile.shape[last];
        for (at, difference) in (first..).zip(&mut self.space[0][row]) {
            if !(0..n).contains(&at) || !(0..n).contains(&(at + shift)) {
                *difference = R::of(0.0);
            }
        }
    }

    /// Sums over patches, one axis after the other; which of the two boxes holds them.
    #[inline(always)]
    fn patch_sums(&mut self, mut extents: Vec<usize>) -> usize {
        let mut from = 0;
        for d in 0..extents.len() {
            let window = usize::try_from(2 * self.op.patch[d] + 1).unwrap_or(1);
            if window == 1 {
                continue;
            }
            let outer: usize = extents[..d].iter().product();
            let inner: usize = extents[d + 1..].iter().product();
            let (n, wanted) = (extents[d], extents[d] + 1 - window);
            let (a, b) = self.space.split_at_mut(1);
            let (source, target) = if from == 0 {
                (&*a[0], &mut *b[0])
            } else {
                (&*b[0], &mut *a[0])
            };
            for o in 0..outer {
                let target = &mut target[o * wanted * inner..(o + 1) * wanted * inner];
                window_sums(
                    &source[o * n * inner..(o + 1) * n * inner],
                    target,
                    window,
                    inner,
                );
            }
            extents[d] = wanted;
            from = 1 - from;
        }
        from
    }

    /// Points of the patch around coordinate `at` of axis `d` that exist here and shifted.
    #[inline(always)]
    fn points(&self, d: usize, at: i64, shift: i64) -> f64 {
        let reach = self.op.patch[d];
        let there = |k: &i64| self.inside(d, at + k) && self.inside(d, at + k + shift);
        let count = (-reach..=reach).filter(there).count();
        f64::from(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Adds the voxels at one shift.
    #[inline(always)]
    fn add(&mut self, shift: &[i64]) {
        let steps = shift.iter().zip(&self.tile.steps);
        let jump: isize = steps
            .map(|(&s, &step)| isize::try_from(s).unwrap_or(0) * step.cast_signed())
            .sum();
        let fisher = self.op.distance == Distance::Fisher;
        let which = if fisher {
            0
        } else {
            let extents = self.differences(shift, jump);
            self.patch_sums(extents)
        };
        let (last, len) = (shift.len() - 1, self.tile.row_len());
        let rows = self.sums.len() / len.max(1);
        let none = vec![0; shift.len()];
        let each = self.op.scale::<R>();
        let center = shift.iter().all(|&s| s == 0);
        let mut at = self.tile.region.lo.to_vec();
        for row in 0..rows {
            let from = self.row_at(row, &none, &mut at);
            if !(0..last).all(|d| self.inside(d, at[d] + shift[d])) {
                continue;
            }
            let points: f64 = (0..last).map(|d| self.points(d, at[d], shift[d])).product();
            let whole = points * f64::from(u32::try_from(2 * self.op.patch[last] + 1).unwrap_or(1));
            let there = from.wrapping_add_signed(jump);
            let part = row * len..(row + 1) * len;
            let scale = R::of(each / whole).finite();
            self.likeness(which, part.clone(), (from, there), scale);
            if self.tile.clipped {
                self.clip_weights(which, part.clone(), at[last], (shift[last], points, each));
            }
            if center && fisher {
                continue;
            }
            let near = &self.space[1 - which][..len];
            let other = &self.tile.data[there..there + len];
            let (sums, weights) = (
                &mut self.sums[part.clone()],
                &mut self.weights[part.clone()],
            );
            for j in 0..len {
                sums[j] = near[j].fma(other[j], sums[j]);
                weights[j] = weights[j] + near[j];
            }
            if fisher {
                let greatest = self.greatest[part].iter_mut().zip(near);
                greatest.for_each(|(most, &v)| *most = if v > *most { v } else { *most });
            }
        }
    }

    /// The weights of a row of the tile, at `from`, and a shifted one, in the box that holds no sums: of
    /// distances times `scale`.
    #[inline(always)]
    fn likeness(
        &mut self,
        which: usize,
        part: std::ops::Range<usize>,
        (from, there): (usize, usize),
        scale: R,
    ) {
        let (low, high) = self.space.split_at_mut(1);
        let (found, free) = if which == 0 {
            (&*low[0], &mut *high[0])
        } else {
            (&*high[0], &mut *low[0])
        };
        let near = &mut free[..part.len()];
        if self.op.distance == Distance::Fisher {
            fisher_row(self.tile, from, there, near);
            for v in near {
                *v = (*v * scale).exp_of_negative();
            }
            return;
        }
        let found = &found[part];
        for j in 0..near.len() {
            near[j] = (found[j] * scale).exp_of_negative();
        }
    }

    /// Weights again, where patches or shifts leave the volume; the row begins at coordinate `first`. Distances of one
    /// point are multiplied with `each`.
    #[inline(always)]
    fn clip_weights(
        &mut self,
        which: usize,
        part: std::ops::Range<usize>,
        first: i64,
        (shift, points, each): (i64, f64, f64),
    ) {
        let last = self.op.axes.len() - 1;
        for (j, at) in (0..part.len()).zip(first..) {
            if !self.inside(last, at + shift) {
                self.space[1 - which][j] = R::of(0.0);
            } else if self.op.distance == Distance::Squares {
                let count = points * self.points(last, at, shift);
                let scale = R::of(each / count).finite();
                let sum = self.space[which][part.start + j];
                self.space[1 - which][j] = (sum * scale).exp_of_negative();
            }
        }
    }
}

/// Sums of `window` neighbours that are `step` apart, first to last.
#[inline(always)]
fn window_sums<R: Real>(from: &[R], to: &mut [R], window: usize, step: usize) {
    let (strips, rest) = to.as_chunks_mut::<STRIP>();
    let done = strips.len() * STRIP;
    for (at, to) in (0..).step_by(STRIP).zip(strips) {
        *to = window_sum(from, at, window, step);
    }
    for (at, to) in (done..).zip(rest) {
        [*to] = window_sum(from, at, window, step);
    }
}

#[inline(always)]
fn window_sum<R: Real, const N: usize>(
    from: &[R],
    at: usize,
    window: usize,
    step: usize,
) -> [R; N] {
    let mut sums: [R; N] = *strip(from, at);
    for k in 1..window {
        let next: &[R; N] = strip(from, at + k * step);
        for j in 0..N {
            sums[j] = sums[j] + next[j];
        }
    }
    sums
}

/// Fisher's distances of a row of a tile and another one.
#[inline(always)]
fn fisher_row<R: Exponential>(tile: &Tile<'_, R>, a: usize, b: usize, out: &mut [R]) {
    let (len, none) = (out.len(), R::of(0.0));
    let row = |operand: usize, at: usize| &tile.data[operand * tile.stride + at..][..len];
    let (mean_a, mean_b) = (row(1, a), row(1, b));
    let (variance_a, variance_b) = (row(2, a), row(2, b));
    for j in 0..len {
        let far = mean_a[j] - mean_b[j];
        let square = far * far;
        let spread = variance_a[j] + variance_b[j];
        out[j] = if square == none {
            none
        } else {
            square / spread
        };
    }
}

impl<R: Exponential> Wide for Patches<'_, '_, R> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        self.sums.fill(R::of(0.0));
        self.weights.fill(R::of(0.0));
        self.greatest.fill(R::of(0.0));
        for shift in self.op.shifts() {
            self.add(&shift);
        }
        let none = vec![0; self.op.axes.len()];
        let len = self.tile.row_len().max(1);
        let mut at = self.tile.region.lo.to_vec();
        for i in 0..self.sums.len() {
            let from = self.row_at(i / len, &none, &mut at) + i % len;
            let own = self.tile.data[from];
            if self.op.distance == Distance::Fisher {
                // The voxel itself counts as much as the one that is most like it.
                self.sums[i] = self.greatest[i].fma(own, self.sums[i]);
                self.weights[i] = self.weights[i] + self.greatest[i];
            }
            self.sums[i] = if self.weights[i] == R::of(0.0) {
                own
            } else {
                self.sums[i] / self.weights[i]
            };
        }
    }
}

impl OnDevice for NlMeans {
    fn device_scratch(&self, extents: &[i64], _: &[i64]) -> u64 {
        let window = Neighbourhood {
            axes: self.axes.clone(),
            points: vec![vec![]; 2],
        };
        windows::scratch(&window, extents) + 8 * self.patch_points() as u64
    }

    fn recipe(&self, inputs: &[View<'_>], region: &Region) -> Option<Recipe> {
        let [input] = inputs else { return None };
        match input.dtype {
            DType::C64 | DType::C128 => None,
            // The CPU may round twice on the way to halves.
            kind if in_double(kind) && self.out == DType::F16 => None,
            kind if in_double(kind) => self.windows_in::<f64>(DType::F64, input, region),
            _ => self.windows_in::<f32>(DType::F32, input, region),
        }
    }
}

impl Op for NlMeans {
    fn on_device(&self) -> Option<&dyn OnDevice> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "nl_means"
    }

    fn dtype(&self) -> DType {
        self.out
    }

    fn needs(&self, _: usize) -> Vec<AxisNeed> {
        window::needs(&self.axes)
    }

    fn scratch(&self, extents: &[i64], _: &[i64], threads: usize) -> u64 {
        let tiles = if self.distance == Distance::Fisher {
            3
        } else {
            1
        };
        tiles::scratch_in_either(
            (extents, threads, self.cost_ns()),
            self.out.size(),
            |size| tiles * tile_elems(&self.axes, extents, size) + self.extra(extents, size),
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn cost_ns(&self) -> f64 {
        let shifts: i64 = self.search.iter().map(|s| 2 * s + 1).product();
        4.0 * shifts as f64
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        if let Some(dtype) = inputs
            .iter()
            .map(|i| i.dtype)
            .find(|d| matches!(d, DType::C64 | DType::C128))
        {
            return Err(VolumeError::DType {
                op: "nl_means",
                dtype,
            });
        }
        let dtype = out.dtype;
        if self.distance == Distance::Fisher || inputs.iter().any(|i| in_double(i.dtype)) {
            let emit = move |v: &[&[f64]], out: &mut [u8]| emit_f64(dtype, v[0], out);
            self.run_in::<f64>(ctx, inputs, out, &doubles, &emit)
        } else {
            let emit = move |v: &[&[f32]], out: &mut [u8]| emit_f32(dtype, v[0], out);
            self.run_in::<f32>(ctx, inputs, out, &singles, &emit)
        }
    }
}
