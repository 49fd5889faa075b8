//! What separable filters do with the rows of a window: windows that are summed in the order of their taps,
//! weighted sums and Laplacians. Minima are in `low.rs`, sums of whole numbers in `sums.rs`, moments in
//! `moments.rs`.
#![expect(
    clippy::inline_always,
    clippy::needless_range_loop,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::fold::{EdgeTaps, GROUP, Real, Rule};
use crate::load::Load;
use crate::strips::{Strips, strip, strip_mut, strips};
use bytemuck::Pod;

/// One tap of a window: how the `I` channels of `N` voxels are added to `O` sums.
pub(crate) trait Tap<W, const I: usize, const O: usize> {
    /// The sums of nothing.
    fn start<const N: usize>(&self) -> [[W; N]; O];
    /// The sums with the voxels at place `place` of the window.
    fn add<const N: usize>(
        &self,
        place: usize,
        sums: [[W; N]; O],
        values: [[W; N]; I],
    ) -> [[W; N]; O];
}

/// Full windows of `n` rows: one output, or four neighbours.
struct Job<'a, 'o, S, W, L, T, const I: usize, const O: usize> {
    tap: T,
    n: usize,
    rows: &'a [&'a [S]],
    load: L,
    outs: &'a mut [&'o mut [W]],
}

impl<S: Pod, W: Pod, L: Load<S, W>, T: Tap<W, I, O>, const I: usize, const O: usize>
    Job<'_, '_, S, W, L, T, I, O>
{
    #[inline(always)]
    fn values<const N: usize>(&self, row: usize, stride: usize, at: usize) -> [[W; N]; I] {
        let mut all = [[W::zeroed(); N]; I];
        for c in 0..I {
            all[c] = self.load.map(strip(self.rows[c * stride + row], at));
        }
        all
    }

    /// One window.
    #[inline(always)]
    fn one<const N: usize>(&mut self, at: usize) {
        let n = self.n;
        let mut sums = self.tap.start::<N>();
        for t in 0..n {
            sums = self.tap.add(t, sums, self.values(t, n, at));
        }
        self.store(0, at, sums);
    }

    /// Four neighbouring windows of three rows or more, each in the order of [`Job::one`].
    #[inline(always)]
    fn four<const N: usize>(&mut self, at: usize) {
        let (n, tap) = (self.n, &self.tap);
        let stride = n + GROUP - 1;
        let (mut a, mut b, mut c, mut d) =
            (tap.start::<N>(), tap.start(), tap.start(), tap.start());
        let v = self.values(0, stride, at);
        a = tap.add(0, a, v);
        let v = self.values(1, stride, at);
        a = tap.add(1, a, v);
        b = tap.add(0, b, v);
        let v = self.values(2, stride, at);
        a = tap.add(2, a, v);
        b = tap.add(1, b, v);
        c = tap.add(0, c, v);
        for t in 3..n {
            let v = self.values(t, stride, at);
            a = tap.add(t, a, v);
            b = tap.add(t - 1, b, v);
            c = tap.add(t - 2, c, v);
            d = tap.add(t - 3, d, v);
        }
        let v = self.values(n, stride, at);
        b = tap.add(n - 1, b, v);
        c = tap.add(n - 2, c, v);
        d = tap.add(n - 3, d, v);
        let v = self.values(n + 1, stride, at);
        c = tap.add(n - 1, c, v);
        d = tap.add(n - 2, d, v);
        let v = self.values(n + 2, stride, at);
        d = tap.add(n - 1, d, v);
        self.store(0, at, a);
        self.store(1, at, b);
        self.store(2, at, c);
        self.store(3, at, d);
    }

    #[inline(always)]
    fn store<const N: usize>(&mut self, m: usize, at: usize, sums: [[W; N]; O]) {
        for c in 0..O {
            *strip_mut(self.outs[m * O + c], at) = sums[c];
        }
    }
}

/// A job for one output.
struct One<J>(J);

/// A job for four neighbours.
struct Four<J>(J);

impl<S: Pod, W: Pod, L: Load<S, W>, T: Tap<W, I, O>, const I: usize, const O: usize> Strips
    for One<Job<'_, '_, S, W, L, T, I, O>>
{
    // A sum waits for the tap before; others go on meanwhile.
    const PAIRS: bool = O == 1 && size_of::<W>() == 4;

    #[inline(always)]
    fn elems(&self) -> usize {
        self.0.outs[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        self.0.one::<N>(at);
    }
}

impl<S: Pod, W: Pod, L: Load<S, W>, T: Tap<W, I, O>, const I: usize, const O: usize> Strips
    for Four<Job<'_, '_, S, W, L, T, I, O>>
{
    #[inline(always)]
    fn elems(&self) -> usize {
        self.0.outs[0].len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        self.0.four::<N>(at);
    }
}

/// Runs a job, in parts of one output where windows are too short for four.
pub(crate) fn full<
    S: Pod,
    W: Pod,
    L: Load<S, W>,
    T: Tap<W, I, O> + Copy,
    const I: usize,
    const O: usize,
>(
    tap: T,
    n: usize,
    rows: &[&[S]],
    load: L,
    outs: &mut [&mut [W]],
) {
    if outs.len() == O * GROUP && n < 3 {
        let stride = n + GROUP - 1;
        for (m, outs) in outs.chunks_exact_mut(O).enumerate() {
            let each = (0..I).flat_map(|c| &rows[c * stride + m..c * stride + m + n]);
            let rows: Vec<&[S]> = each.copied().collect();
            full::<S, W, L, T, I, O>(tap, n, &rows, load, outs);
        }
        return;
    }
    let four = outs.len() == O * GROUP;
    let job = Job::<S, W, L, T, I, O> {
        tap,
        n,
        rows,
        load,
        outs,
    };
    if four {
        strips(Four(job));
    } else {
        strips(One(job));
    }
}

/// Weighted sums: one list of taps for each filtered axis.
pub(crate) struct Fir<W> {
    passes: Vec<(Vec<W>, bool)>,
}

/// True for taps that are the negative of their mirror image.
pub(crate) fn is_odd<W: Real>(taps: &[W]) -> bool {
    let mut pairs = taps.iter().zip(taps.iter().rev());
    taps.len() % 2 == 1 && pairs.all(|(a, b)| *a == -*b)
}

impl<W: Real> Fir<W> {
    /// Lists of taps. Those that are the negative of their mirror image are summed in pairs, so that
    /// constants give exactly nothing.
    pub(crate) fn new(taps: Vec<Vec<W>>) -> Fir<W> {
        let with = |t: Vec<W>| {
            let odd = is_odd(&t);
            (t, odd)
        };
        Fir {
            passes: taps.into_iter().map(with).collect(),
        }
    }
}

#[derive(Clone, Copy)]
struct Weights<'a, W>(&'a [W]);

impl<W: Real> Tap<W, 1, 1> for Weights<'_, W> {
    #[inline(always)]
    fn start<const N: usize>(&self) -> [[W; N]; 1] {
        [[W::zeroed(); N]]
    }

    #[inline(always)]
    fn add<const N: usize>(
        &self,
        place: usize,
        [mut sum]: [[W; N]; 1],
        [v]: [[W; N]; 1],
    ) -> [[W; N]; 1] {
        let tap = self.0[place];
        for j in 0..N {
            sum[j] = tap.fma(v[j], sum[j]);
        }
        [sum]
    }
}

/// Differences of the two halves of a window, and its center, whose weight is zero.
struct Odd<'a, S, W, L> {
    taps: &'a [W],
    rows: &'a [&'a [S]],
    load: L,
    out: &'a mut [W],
}

impl<S: Pod, W: Real, L: Load<S, W>> Strips for Odd<'_, S, W, L> {
    #[inline(always)]
    fn elems(&self) -> usize {
        self.out.len()
    }

    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let middle = self.taps.len() / 2;
        let center = self.load.map(strip::<S, N>(self.rows[middle], at));
        let mut sum = [W::zeroed(); N];
        // Nothing, but for infinity and NaN.
        for j in 0..N {
            sum[j] = self.taps[middle].fma(center[j], sum[j]);
        }
        for t in 1..=middle {
            let a = self.load.map(strip::<S, N>(self.rows[middle - t], at));
            let b = self.load.map(strip::<S, N>(self.rows[middle + t], at));
            for j in 0..N {
                sum[j] = self.taps[middle + t].fma(b[j] - a[j], sum[j]);
            }
        }
        *strip_mut(self.out, at) = sum;
    }
}

fn biased<W: Real>(out: &mut [W], bias: W) {
    if bias != W::zeroed() {
        for v in out {
            *v = *v + bias;
        }
    }
}

impl<W: Real> Rule for Fir<W> {
    type W = W;

    fn fold<S: Pod, L: Load<S, W>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        let (taps, odd) = &self.passes[pass];
        if !odd {
            full(Weights(taps), taps.len(), rows, load, outs);
            return;
        }
        for (m, out) in outs.iter_mut().enumerate() {
            strips(Odd {
                taps,
                rows: &rows[m..m + taps.len()],
                load,
                out,
            });
        }
    }

    fn fold_edge<S: Pod, L: Load<S, W>>(
        &self,
        _: usize,
        edge: &EdgeTaps<W>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        full(Weights(&edge.taps[0]), rows.len(), rows, load, outs);
        biased(outs[0], edge.bias[0]);
    }
}

/// The sum, over all filtered axes, of one filter along this axis and another along all others: of second
/// derivatives and smoothing.
///
/// Between passes a voxel has two numbers: smooth along the axes so far, and the sum of what was derived
/// along one of them.
pub(crate) struct Laplacian<W> {
    /// For each pass: taps that smooth, taps that derive.
    pub(crate) passes: Vec<[Vec<W>; 2]>,
}

#[derive(Clone, Copy)]
struct Both<'a, W> {
    smooth: &'a [W],
    derive: &'a [W],
}

impl<W: Real> Tap<W, 1, 2> for Both<'_, W> {
    #[inline(always)]
    fn start<const N: usize>(&self) -> [[W; N]; 2] {
        [[W::zeroed(); N]; 2]
    }

    #[inline(always)]
    fn add<const N: usize>(
        &self,
        place: usize,
        [mut g, mut h]: [[W; N]; 2],
        [v]: [[W; N]; 1],
    ) -> [[W; N]; 2] {
        let (smooth, derive) = (self.smooth[place], self.derive[place]);
        for j in 0..N {
            g[j] = smooth.fma(v[j], g[j]);
            h[j] = derive.fma(v[j], h[j]);
        }
        [g, h]
    }
}

impl<W: Real> Tap<W, 2, 2> for Both<'_, W> {
    #[inline(always)]
    fn start<const N: usize>(&self) -> [[W; N]; 2] {
        [[W::zeroed(); N]; 2]
    }

    #[inline(always)]
    fn add<const N: usize>(
        &self,
        place: usize,
        [mut g, mut h]: [[W; N]; 2],
        [a, b]: [[W; N]; 2],
    ) -> [[W; N]; 2] {
        let (smooth, derive) = (self.smooth[place], self.derive[place]);
        for j in 0..N {
            g[j] = smooth.fma(a[j], g[j]);
            h[j] = derive.fma(a[j], smooth.fma(b[j], h[j]));
        }
        [g, h]
    }
}

impl<W: Real> Tap<W, 2, 1> for Both<'_, W> {
    #[inline(always)]
    fn start<const N: usize>(&self) -> [[W; N]; 1] {
        [[W::zeroed(); N]]
    }

    #[inline(always)]
    fn add<const N: usize>(
        &self,
        place: usize,
        [mut h]: [[W; N]; 1],
        [a, b]: [[W; N]; 2],
    ) -> [[W; N]; 1] {
        let (smooth, derive) = (self.smooth[place], self.derive[place]);
        for j in 0..N {
            h[j] = derive.fma(a[j], smooth.fma(b[j], h[j]));
        }
        [h]
    }
}

impl<W: Real> Laplacian<W> {
    fn with<S: Pod, L: Load<S, W>>(
        &self,
        pass: usize,
        taps: Both<'_, W>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        let n = taps.smooth.len();
        match (pass == 0, pass + 1 == self.passes.len()) {
            (true, true) => full(Weights(taps.derive), n, rows, load, outs),
            (true, false) => full::<S, W, L, _, 1, 2>(taps, n, rows, load, outs),
            (false, false) => full::<S, W, L, _, 2, 2>(taps, n, rows, load, outs),
            (false, true) => full::<S, W, L, _, 2, 1>(taps, n, rows, load, outs),
        }
    }
}

impl<W: Real> Rule for Laplacian<W> {
    type W = W;

    fn channels(&self, pass: usize) -> usize {
        if (1..self.passes.len()).contains(&pass) {
            2
        } else {
            1
        }
    }

    fn fold<S: Pod, L: Load<S, W>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        let [smooth, derive] = &self.passes[pass];
        self.with(pass, Both { smooth, derive }, rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, W>>(
        &self,
        pass: usize,
        edge: &EdgeTaps<W>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [W]],
    ) {
        let [smooth, derive] = &edge.taps;
        self.with(pass, Both { smooth, derive }, rows, load, outs);
        let last = outs.len() - 1;
        biased(outs[last], edge.bias[1]);
        if last == 1 {
            biased(outs[0], edge.bias[0]);
        }
    }
}
