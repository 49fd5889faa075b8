//! Combining rows element by element: the inner loops of all separable filters.
//!
//! The order of arithmetic for one element is a function of the rows and taps alone. Vector width, the
//! length of a row and the place of an element in it do not matter.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::pixel::Key;
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;

/// Elements that are combined in registers at a time.
const STRIP: usize = 32;

/// A point near a face, where some rows do not exist: the taps of those that do, and what the others
/// add.
#[derive(Clone, Debug)]
pub(crate) struct EdgeTaps<W> {
    /// Places in the window, and their taps.
    pub(crate) taps: Vec<(usize, W)>,
    /// What the missing rows add.
    pub(crate) bias: W,
}

/// How rows become one row.
pub(crate) trait Rule: Sync {
    /// The arithmetic.
    type W: Pod + Send + Sync;

    /// Combines the rows of a full window along filtered axis number `pass`.
    fn fold<S: Pod>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: impl Fn(S) -> Self::W + Copy,
        out: &mut [Self::W],
    );

    /// Combines the rows that exist, in the order of `edge.taps`.
    fn fold_edge<S: Pod>(
        &self,
        edge: &EdgeTaps<Self::W>,
        rows: &[&[S]],
        load: impl Fn(S) -> Self::W + Copy,
        out: &mut [Self::W],
    );
}

/// Where the strip begins that holds element `at`: the last strip overlaps the one before.
#[inline(always)]
fn start(at: usize, len: usize) -> usize {
    at.min(len - STRIP)
}

#[inline(always)]
fn strip<T>(row: &[T], at: usize) -> &[T; STRIP] {
    row[at..]
        .first_chunk()
        .unwrap_or_else(|| unreachable!("a strip lies inside its row"))
}

#[inline(always)]
fn strip_mut<T>(row: &mut [T], at: usize) -> &mut [T; STRIP] {
    row[at..]
        .first_chunk_mut()
        .unwrap_or_else(|| unreachable!("a strip lies inside its row"))
}

/// Real arithmetic of filters.
pub(crate) trait Real:
    Pod
    + Send
    + Sync
    + PartialEq
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Neg<Output = Self>
{
    fn fma(self, b: Self, c: Self) -> Self;
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn fma(self, b: f32, c: f32) -> f32 {
        self.mul_add(b, c)
    }
    #[expect(clippy::cast_possible_truncation, reason = "taps are rounded once")]
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn fma(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    fn of(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// Weighted sums: one list of taps for each filtered axis.
pub(crate) struct Fir<W> {
    passes: Vec<(Vec<W>, Shape)>,
}

/// Taps that mirror one another share a multiplication.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Even,
    Odd,
    Any,
}

impl<W: Real> Fir<W> {
    pub(crate) fn new(taps: Vec<Vec<W>>) -> Fir<W> {
        let shape = |t: &[W]| {
            let pairs = || t.iter().zip(t.iter().rev());
            if t.len() % 2 == 1 && pairs().all(|(a, b)| a == b) {
                Shape::Even
            } else if t.len() % 2 == 1 && pairs().all(|(a, b)| *a == -*b) {
                Shape::Odd
            } else {
                Shape::Any
            }
        };
        Fir {
            passes: taps
                .into_iter()
                .map(|t| {
                    let s = shape(&t);
                    (t, s)
                })
                .collect(),
        }
    }
}

struct FirJob<'a, S, W, F> {
    taps: &'a [W],
    shape: Shape,
    rows: &'a [&'a [S]],
    load: F,
    out: &'a mut [W],
}

impl<S: Pod, W: Real, F: Fn(S) -> W + Copy> FirJob<'_, S, W, F> {
    #[inline(always)]
    fn pair(&self, a: S, b: S) -> W {
        let (a, b) = ((self.load)(a), (self.load)(b));
        if self.shape == Shape::Even {
            a + b
        } else {
            b - a
        }
    }

    #[inline(always)]
    fn any(&self, at: usize) -> [W; STRIP] {
        let mut acc = [W::zeroed(); STRIP];
        for (&tap, row) in self.taps.iter().zip(self.rows) {
            let row = strip(row, at);
            for j in 0..STRIP {
                acc[j] = tap.fma((self.load)(row[j]), acc[j]);
            }
        }
        acc
    }

    #[inline(always)]
    fn paired(&self, at: usize) -> [W; STRIP] {
        let middle = self.taps.len() / 2;
        let (first, center) = (self.taps[middle], strip(self.rows[middle], at));
        let mut acc = [W::zeroed(); STRIP];
        for j in 0..STRIP {
            acc[j] = first * (self.load)(center[j]);
        }
        let (low, high) = (&self.rows[..middle], &self.rows[middle + 1..]);
        let taps = &self.taps[middle + 1..];
        for ((&tap, a), b) in taps.iter().zip(low.iter().rev()).zip(high) {
            let (a, b) = (strip(a, at), strip(b, at));
            for j in 0..STRIP {
                acc[j] = tap.fma(self.pair(a[j], b[j]), acc[j]);
            }
        }
        acc
    }

    /// One element, with the arithmetic of the strips.
    #[inline(always)]
    fn single(&self, i: usize) -> W {
        if self.shape == Shape::Any {
            let each = self.taps.iter().zip(self.rows);
            return each.fold(W::zeroed(), |acc, (&tap, row)| {
                tap.fma((self.load)(row[i]), acc)
            });
        }
        let middle = self.taps.len() / 2;
        let first = self.taps[middle] * (self.load)(self.rows[middle][i]);
        (1..=middle).fold(first, |acc, t| {
            let sum = self.pair(self.rows[middle - t][i], self.rows[middle + t][i]);
            self.taps[middle + t].fma(sum, acc)
        })
    }
}

impl<S: Pod, W: Real, F: Fn(S) -> W + Copy> Wide for FirJob<'_, S, W, F> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let out = std::mem::take(&mut self.out);
        let len = out.len();
        if len < STRIP {
            for (i, out) in out.iter_mut().enumerate() {
                *out = self.single(i);
            }
            return;
        }
        let mut at = 0;
        if self.shape == Shape::Any {
            while at < len {
                let from = start(at, len);
                *strip_mut(out, from) = self.any(from);
                at += STRIP;
            }
            return;
        }
        while at < len {
            let from = start(at, len);
            *strip_mut(out, from) = self.paired(from);
            at += STRIP;
        }
    }
}

/// Any fold of two values, starting with the first row.
struct PairJob<'a, S, W, F, G> {
    rows: &'a [&'a [S]],
    load: F,
    join: G,
    out: &'a mut [W],
}

impl<S: Pod, W: Pod, F: Fn(S) -> W + Copy, G: Fn(W, W) -> W + Copy> Wide
    for PairJob<'_, S, W, F, G>
{
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let PairJob {
            rows,
            load,
            join,
            out,
        } = self;
        let Some((first, rest)) = rows.split_first() else {
            return;
        };
        let len = out.len();
        if len < STRIP {
            for (i, out) in out.iter_mut().enumerate() {
                *out = rest
                    .iter()
                    .fold(load(first[i]), |acc, row| join(acc, load(row[i])));
            }
            return;
        }
        let mut at = 0;
        while at < len {
            let from = start(at, len);
            let mut acc = [W::zeroed(); STRIP];
            let row = strip(first, from);
            for j in 0..STRIP {
                acc[j] = load(row[j]);
            }
            for row in rest {
                let row = strip(row, from);
                for j in 0..STRIP {
                    acc[j] = join(acc[j], load(row[j]));
                }
            }
            *strip_mut(out, from) = acc;
            at += STRIP;
        }
    }
}

impl<W: Real> Rule for Fir<W> {
    type W = W;

    fn fold<S: Pod>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: impl Fn(S) -> W + Copy,
        out: &mut [W],
    ) {
        let (taps, shape) = &self.passes[pass];
        wide(FirJob {
            taps,
            shape: *shape,
            rows,
            load,
            out,
        });
    }

    fn fold_edge<S: Pod>(
        &self,
        edge: &EdgeTaps<W>,
        rows: &[&[S]],
        load: impl Fn(S) -> W + Copy,
        out: &mut [W],
    ) {
        let taps: Vec<W> = edge.taps.iter().map(|&(_, tap)| tap).collect();
        wide(FirJob {
            taps: &taps,
            shape: Shape::Any,
            rows,
            load,
            out,
        });
        if edge.bias != W::zeroed() {
            for v in out {
                *v = *v + edge.bias;
            }
        }
    }
}

/// The smallest key.
pub(crate) struct Low<K>(pub(crate) std::marker::PhantomData<K>);
/// The greatest key.
pub(crate) struct High<K>(pub(crate) std::marker::PhantomData<K>);
macro_rules! pair_rule {
    ($rule:ident, $($bound:path),+; |$a:ident, $b:ident| $join:expr) => {
        impl<W: Pod + Send + Sync $(+ $bound)+> Rule for $rule<W> {
            type W = W;

            fn fold<S: Pod>(&self, _: usize, rows: &[&[S]], load: impl Fn(S) -> W + Copy, out: &mut [W]) {
                wide(PairJob { rows, load, join: |$a: W, $b: W| $join, out });
            }

            fn fold_edge<S: Pod>(&self, edge: &EdgeTaps<W>, rows: &[&[S]], load: impl Fn(S) -> W + Copy, out: &mut [W]) {
                if rows.is_empty() {
                    out.fill(edge.bias);
                    return;
                }
                self.fold(0, rows, load, out);
                for v in out {
                    let ($a, $b) = (*v, edge.bias);
                    *v = $join;
                }
            }
        }
    };
}
pair_rule!(Low, Key; |a, b| a.lower(b));
pair_rule!(High, Key; |a, b| a.upper(b));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_folded_alike_wherever_it_stands() {
        let data: Vec<f32> = (0u16..400).map(|i| f32::from(i * 37 % 101) / 7.0).collect();
        let taps = vec![0.1f32, 0.25, 0.3, 0.25, 0.1];
        for (taps, lens) in [(taps, 1..200), (vec![0.5, 0.2, 0.3, 0.1, 0.9], 1..200)] {
            let fir = Fir::new(vec![taps]);
            for len in lens {
                let rows: Vec<&[f32]> = (0..5).map(|t| &data[t * 40..t * 40 + len]).collect();
                let mut whole = vec![0.0; len];
                fir.fold(0, &rows, |v| v, &mut whole);
                for i in 0..len {
                    let one: Vec<&[f32]> = rows.iter().map(|r| &r[i..=i]).collect();
                    let mut out = [0.0];
                    fir.fold(0, &one, |v| v, &mut out);
                    assert_eq!(out[0].to_bits(), whole[i].to_bits());
                }
            }
        }
    }
}
