//! Sums of small whole numbers over boxes, and sums of their squares. They are exact, so means and variances
//! are rounded once.
#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::crossed::{Across, Along, Near};
use crate::fold::{EdgeTaps, GROUP, Rule};
use crate::joined::{Join, joined};
use crate::load::{Load, Plain, each};
use crate::means::{Long, greatest, halved, long};
use crate::op::Mode;
use crate::separable::Pass;
use crate::store::Store;
use crate::strips::{STRIP, strip, strip_mut};
use arrayloom_cpu::{Wide, running_sums, wide};
use arrayloom_types::DType;
use bytemuck::Pod;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// True if variances of `points` points are made from [`Squares`].
pub(crate) fn squares_fit(dtype: DType, points: f64, modes: impl Iterator<Item = Mode>) -> bool {
    greatest(dtype, modes).is_some_and(|most| points * most * most < 2.0f64.powi(53))
}

/// What a missing row adds to the sums of pass `pass`: `value` for each voxel that it stands for.
pub(crate) fn missing(passes: &[Pass], pass: usize, value: f64) -> f64 {
    let voxels: usize = passes[..pass].iter().map(|p| p.len).product();
    #[expect(clippy::cast_precision_loss, reason = "windows are small")]
    let voxels = voxels as f64;
    voxels * value
}

/// Sums that fit their numbers.
pub(crate) struct Sums<W, E> {
    /// For each filtered axis: points of the window, and the number that stands beyond the axis.
    axes: Vec<(usize, i128)>,
    /// How sums become elements of the output, if that is done while they are in registers.
    store: Option<E>,
    kind: PhantomData<W>,
}

impl<W: Whole, E> Sums<W, E> {
    /// For each filtered axis: points of the window, and the number that stands beyond the axis; and how sums become
    /// elements, if that is known.
    pub(crate) fn new(axes: Vec<(usize, i128)>, store: Option<E>) -> Sums<W, E> {
        Sums {
            axes,
            store,
            kind: PhantomData,
        }
    }

    /// What `rows` rows beyond the axis of pass `pass` add to a sum, behind the first `before` passes.
    pub(crate) fn beyond(&self, pass: usize, before: usize, rows: usize) -> W {
        let voxels: usize = self.axes[..before]
            .iter()
            .map(|&(points, _)| points)
            .product();
        let count = i128::try_from(rows * voxels).unwrap_or(0);
        W::narrowed(count * self.axes[pass].1)
    }
}

/// Sums of numbers.
#[derive(Clone, Copy)]
pub(crate) struct Add;

/// Whole numbers whose sums may go around.
pub(crate) trait Whole: Pod + Send + Sync {
    /// Fewest points of windows whose sums are quicker made from those of the windows before, row by row.
    const ROLLED: usize;
    /// The same along a line, one after the other.
    const SLID: usize;
    /// This sum with one number more.
    fn plus(self, more: Self) -> Self;
    /// This sum with one number more, and without another.
    fn moved(self, more: Self, less: Self) -> Self;
    /// A number that fits.
    fn narrowed(number: i128) -> Self;
    /// Sums of all windows of `n` numbers of a line.
    fn running(line: &[Self], n: usize, out: &mut [Self]) {
        let Some((first, rest)) = out.split_first_mut() else {
            return;
        };
        let mut sum = line[1..n].iter().fold(line[0], |sum, &v| sum.plus(v));
        *first = sum;
        for ((out, &more), &less) in rest.iter_mut().zip(&line[n..]).zip(line) {
            sum = sum.moved(more, less);
            *out = sum;
        }
    }
}

impl<W: Whole> Join<W> for Add {
    #[inline(always)]
    fn join<const N: usize>(self, mut sum: [W; N], v: [W; N]) -> [W; N] {
        for j in 0..N {
            sum[j] = sum[j].plus(v[j]);
        }
        sum
    }
}

macro_rules! whole {
    ($($w:ty, $slid:literal $(, $running:path)?;)*) => {$(
        impl Whole for $w {
            const ROLLED: usize = 12;
            const SLID: usize = $slid;
            #[inline(always)]
            fn plus(self, more: $w) -> $w {
                self.wrapping_add(more)
            }
            #[inline(always)]
            fn moved(self, more: $w, less: $w) -> $w {
                self.wrapping_add(more.wrapping_sub(less))
            }
            fn narrowed(number: i128) -> $w {
                <$w>::try_from(number).unwrap_or_default()
            }
            $(
                fn running(line: &[$w], n: usize, out: &mut [$w]) {
                    $running(line, n, out);
                }
            )?
        }
    )*};
}
whole!(i32, 6, running_sums; u16, 80; i64, 8;);

impl Whole for Long {
    const ROLLED: usize = 4;
    const SLID: usize = 4;

    #[inline(always)]
    fn plus(self, more: Long) -> Long {
        halved(long(self).wrapping_add(long(more)))
    }
    #[inline(always)]
    fn moved(self, more: Long, less: Long) -> Long {
        halved(long(self).wrapping_add(long(more).wrapping_sub(long(less))))
    }
    fn narrowed(number: i128) -> Long {
        halved(number)
    }
}

impl Join<f64> for Add {
    #[inline(always)]
    fn join<const N: usize>(self, mut sum: [f64; N], v: [f64; N]) -> [f64; N] {
        for j in 0..N {
            sum[j] += v[j];
        }
        sum
    }
}

/// Rows that enter and leave four neighbouring windows, and the sums of the window before them in place of the last.
struct Roll<'a, 'o, S, W, L> {
    rows: &'a [&'a [S]],
    load: L,
    outs: &'a mut [&'o mut [W]],
}

impl<S: Pod, W: Whole, L: Load<S, W>> Roll<'_, '_, S, W, L> {
    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let n = self.rows.len() - GROUP;
        let mut sum: [W; N] = *strip(self.outs[GROUP - 1], at);
        for m in 0..GROUP {
            let more = self.load.map::<N>(strip(self.rows[n + m], at));
            let less = self.load.map::<N>(strip(self.rows[m], at));
            for j in 0..N {
                sum[j] = sum[j].moved(more[j], less[j]);
            }
            *strip_mut(self.outs[m], at) = sum;
        }
    }
}

impl<S: Pod, W: Whole, L: Load<S, W>> Wide for Roll<'_, '_, S, W, L> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        // Every element is computed once: its sum is replaced.
        let len = self.outs[0].len();
        let whole = len / STRIP * STRIP;
        for at in (0..whole).step_by(STRIP) {
            self.at::<STRIP>(at);
        }
        for at in whole..len {
            self.at::<1>(at);
        }
    }
}

impl<W: Whole, E: Store<W>> Rule for Sums<W, E> {
    type W = W;

    fn fold<S: Pod, L: Load<S, W>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        joined(Add, self.axes[pass].0, rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, W>>(
        &self,
        _: usize,
        edge: &EdgeTaps<W>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        joined(Add, rows.len(), rows, load, outs);
        for v in &mut *outs[0] {
            *v = v.plus(edge.bias[0]);
        }
    }

    fn crosses(&self, across: usize, along: usize) -> bool {
        self.store.is_some() && !self.rolls(across) && self.axes[along].0 < W::SLID
    }

    fn outside(&self, pass: usize, before: usize) -> W {
        self.beyond(pass, before, 1)
    }

    fn along<S: Pod, L: Load<S, W>>(&self, rows: Along<'_, '_, S, W, L>) {
        rows.join(Add);
    }

    fn across(&self, rows: Across<'_, '_, '_, W, 1>) {
        if let Some(store) = self.store {
            rows.join(Add, store);
        }
    }

    fn near(&self, rows: Near<'_, '_, '_, W>) {
        if let Some(store) = self.store {
            rows.join(Add, store);
        }
    }

    fn rolls(&self, pass: usize) -> bool {
        self.axes[pass].0 >= W::ROLLED
    }

    fn roll<S: Pod, L: Load<S, W>>(&self, rows: &[&[S]], load: L, outs: &mut [&mut [W]]) {
        wide(Roll { rows, load, outs });
    }

    fn slide(&self, pass: usize, line: &[W], out: &mut [W]) -> bool {
        let n = self.axes[pass].0;
        if n < W::SLID {
            return false;
        }
        W::running(line, n, out);
        true
    }

    fn join(&self, rows: &[&[W]], outs: &mut [&mut [W]]) -> bool {
        joined(Add, rows.len(), rows, Plain, outs);
        true
    }
}

/// Sums and sums of squares below 2^53, in double precision.
pub(crate) struct Squares {
    /// Points of the window along each filtered axis.
    pub(crate) lens: Vec<usize>,
}

#[derive(Clone, Copy)]
struct AddSquared;

impl Join<f64> for AddSquared {
    #[inline(always)]
    fn lift<const N: usize>(self, mut values: [f64; N]) -> [f64; N] {
        for j in 0..N {
            values[j] *= values[j];
        }
        values
    }

    #[inline(always)]
    fn join<const N: usize>(self, a: [f64; N], b: [f64; N]) -> [f64; N] {
        Add.join(a, b)
    }
}

impl Squares {
    /// Sums the rows of windows of `n` rows: those of voxels, or of sums and of sums of squares.
    fn sums<S: Pod, L: Load<S, f64>>(
        pass: usize,
        n: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        let mut sums: SmallVec<[&mut [f64]; GROUP]> = SmallVec::new();
        let mut squares: SmallVec<[&mut [f64]; GROUP]> = SmallVec::new();
        for pair in outs.chunks_exact_mut(2) {
            if let [sum, square] = pair {
                sums.push(sum);
                squares.push(square);
            }
        }
        if pass == 0 {
            joined(Add, n, rows, load, &mut sums);
            joined(AddSquared, n, rows, load, &mut squares);
        } else {
            let (first, second) = rows.split_at(rows.len() / 2);
            joined(Add, n, first, load, &mut sums);
            joined(Add, n, second, load, &mut squares);
        }
    }
}

impl Rule for Squares {
    type W = f64;

    fn channels(&self, pass: usize) -> usize {
        if pass == 0 { 1 } else { 2 }
    }

    fn fold<S: Pod, L: Load<S, f64>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        Squares::sums(pass, self.lens[pass], rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, f64>>(
        &self,
        pass: usize,
        edge: &EdgeTaps<f64>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [f64]],
    ) {
        let n = rows.len() / self.channels(pass);
        Squares::sums(pass, n, rows, load, outs);
        for (out, bias) in outs.iter_mut().zip(edge.bias) {
            for v in &mut **out {
                *v += bias;
            }
        }
    }

    fn join(&self, rows: &[&[f64]], outs: &mut [&mut [f64]]) -> bool {
        Squares::sums(1, rows.len() / 2, rows, Plain, outs);
        true
    }
}

/// Means and variances of windows of `points` points, given their sums and sums of squares.
pub(crate) struct Spreads<'a> {
    pub(crate) points: f64,
    pub(crate) sums: &'a [f64],
    pub(crate) squares: &'a [f64],
    pub(crate) means: &'a mut [f64],
    pub(crate) variances: &'a mut [f64],
}

impl Spreads<'_> {
    /// Finds them. The variance is the quotient of a difference that is exact but for its last bit.
    pub(crate) fn find(self) {
        wide(self);
    }
}

impl Wide for Spreads<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let n = self.points;
        let (share, square) = (1.0 / n, 1.0 / (n * n));
        let from = self.sums.iter().zip(self.squares);
        let to = self.means.iter_mut().zip(self.variances);
        for ((&sum, &squares), (mean, variance)) in from.zip(to) {
            // n * squares - sum * sum, in two numbers each.
            let (a, b) = (n * squares, sum * sum);
            let rest = n.mul_add(squares, -a) - sum.mul_add(sum, -b);
            *variance = ((a - b) + rest) * square;
            *mean = sum * share;
        }
    }
}

/// Means of bytes: `sum / points`, rounded half to even, by a multiplication of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteMeans {
    points: u16,
    half: u16,
    factor: u16,
    shift: u32,
    even: bool,
}

impl ByteMeans {
    /// For windows of so many points at these faces, if sums and products fit.
    pub(crate) fn new(points: u64, mut modes: impl Iterator<Item = Mode>) -> Option<ByteMeans> {
        let whole = |mode: Mode| match mode {
            Mode::Constant(value) => value.fract() == 0.0 && (0.0..=255.0).contains(&value),
            Mode::Renormalize => false,
            _ => true,
        };
        let (n, most) = (points, 255 * points + points / 2);
        if !(2..=256).contains(&n) || most > u64::from(u16::MAX) || !modes.all(whole) {
            return None;
        }
        // The quotient is right if the factor exceeds its real number by less than what the greatest sum forgives.
        let shift = 16 + (n - 1).ilog2();
        let factor = (1u64 << shift).div_ceil(n);
        let right = (factor * n - (1 << shift)) * most < 1 << shift;
        let narrow = |v: u64| u16::try_from(v).ok();
        right.then_some(())?;
        Some(ByteMeans {
            points: narrow(n)?,
            half: narrow(n / 2)?,
            factor: narrow(factor)?,
            shift: shift - 16,
            even: n % 2 == 0,
        })
    }

    /// The mean of a window with this sum.
    #[inline(always)]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the upper half of a product, and a mean of bytes"
    )]
    pub(crate) fn of(self, sum: u16) -> u8 {
        let sum = sum + self.half;
        let mean = ((u32::from(sum) * u32::from(self.factor)) >> 16) as u16 >> self.shift;
        // Halfway, the greater neighbour was taken; an odd one gives way to the even one below.
        let above = if self.even {
            u16::from(mean.wrapping_mul(self.points) == sum) & mean & 1
        } else {
            0
        };
        (mean - above) as u8
    }
}

impl Store<u16> for ByteMeans {
    type To = u8;

    #[inline(always)]
    fn map<const N: usize>(self, sums: [u16; N]) -> [u8; N] {
        each(&sums, |sum| self.of(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Numbers;

    #[test]
    fn sums_are_made_from_those_of_the_windows_before() {
        let (n, len) = (13, 2 * STRIP + 7);
        let data: Vec<Vec<u16>> = (0..n + 2 * GROUP)
            .map(|r| (0..len).map(move |i| (r * 7919 + i * 104_729) % 65_536))
            .map(|row| row.map(|v| u16::try_from(v).unwrap_or(0)).collect())
            .collect();
        let rows: Vec<&[u16]> = data.iter().map(Vec::as_slice).collect();
        let rule = Sums::<i32, Plain>::new(vec![(n, 0)], None);
        let numbers = Numbers(DType::I16);
        let mut made = vec![vec![0; len]; GROUP];
        let mut outs: Vec<&mut [i32]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        rule.fold(0, &rows[..n + GROUP - 1], numbers, &mut outs);
        rule.roll(&rows[GROUP - 1..n + 2 * GROUP - 1], numbers, &mut outs);
        for (m, rolled) in made.iter().enumerate() {
            let mut sums = vec![0; len];
            let window = &rows[GROUP + m..GROUP + m + n];
            rule.fold(0, window, numbers, &mut [&mut sums]);
            assert_eq!(*rolled, sums, "output {m}");
        }
        assert!(rule.rolls(0) && !Sums::<u16, Plain>::new(vec![(3, 0)], None).rolls(0));
    }

    #[test]
    fn sums_along_a_line_are_made_one_from_the_other() {
        fn check<W: Whole + PartialEq + std::fmt::Debug>(number: impl Fn(usize) -> i128) {
            let line: Vec<W> = (0..200).map(|i| W::narrowed(number(i))).collect();
            for n in [W::SLID, W::SLID + 1, 150, 200] {
                let rule = Sums::<W, Plain>::new(vec![(n, 0)], None);
                let len = line.len() + 1 - n;
                let (mut slid, mut joined) = (vec![W::zeroed(); len], vec![W::zeroed(); len]);
                assert!(rule.slide(0, &line, &mut slid));
                let rows: Vec<&[W]> = (0..n).map(|t| &line[t..t + len]).collect();
                rule.fold(0, &rows, Plain, &mut [&mut joined]);
                assert_eq!(slid, joined, "{n} points");
            }
            let short = Sums::<W, Plain>::new(vec![(W::SLID - 1, 0)], None);
            assert!(!short.slide(0, &line, &mut [W::zeroed()]));
        }
        let number = |i: usize| (i as i128 * 7919 % 1009) - 500;
        check::<i32>(number);
        check::<i64>(number);
        check::<Long>(|i| number(i) << 62);
        check::<u16>(|i| number(i) + 500);
    }

    #[test]
    fn means_of_bytes_are_rounded_half_to_even() {
        let modes = || std::iter::once(Mode::Reflect);
        for points in 2..=256u16 {
            let Some(means) = ByteMeans::new(u64::from(points), modes()) else {
                assert!(points > 128, "{points} points are few enough");
                continue;
            };
            for sum in 0..=255 * points {
                let wanted = (f64::from(sum) / f64::from(points)).round_ties_even();
                assert!(
                    (f64::from(means.of(sum)) - wanted).abs() < 0.5,
                    "{sum} / {points}"
                );
            }
        }
        assert_eq!(ByteMeans::new(257, modes()), None);
        let constant = |value| std::iter::once(Mode::Constant(value));
        assert_eq!(ByteMeans::new(9, constant(-1.0)), None);
        assert!(ByteMeans::new(9, constant(7.0)).is_some());
    }

    #[test]
    fn variances_of_near_values_do_not_cancel() {
        let values: Vec<f64> = (0..27).map(|i| 65_534.0 + f64::from(i % 2)).collect();
        let sums = [values.iter().sum::<f64>(), 27.0 * 65_535.0];
        let squares = [
            values.iter().map(|v| v * v).sum::<f64>(),
            27.0 * 65_535.0 * 65_535.0,
        ];
        let (mut means, mut variances) = ([0.0; 2], [0.0; 2]);
        Spreads {
            points: 27.0,
            sums: &sums,
            squares: &squares,
            means: &mut means,
            variances: &mut variances,
        }
        .find();
        assert!((variances[0] - 13.0 * 14.0 / 729.0).abs() < 1e-15);
        assert!((means[0] - 65_534.0 - 13.0 / 27.0).abs() < 1e-10);
        assert!(variances[1] == 0.0, "equal values have no variance");
    }

    #[test]
    fn only_squares_of_small_whole_numbers_are_exact() {
        let modes = |mode| [Mode::Reflect, mode].into_iter();
        assert!(squares_fit(DType::I16, 40_000.0, modes(Mode::Wrap)));
        assert!(!squares_fit(DType::U32, 3.0, modes(Mode::Wrap)));
        assert!(!squares_fit(DType::U8, 3.0, modes(Mode::Renormalize)));
    }
}
