//! The smallest key of the rows of a window, for erosions, dilations and extrema.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors, several arrays at a time"
)]

use crate::fold::{EdgeTaps, Rule, STRIP, strip, strip_mut};
use crate::load::Load;
use crate::pixel::Key;
use crate::rules::{Tap, full};
use arrayloom_cpu::{Wide, wide};
use bytemuck::Pod;
use std::marker::PhantomData;

/// The smallest key.
pub(crate) struct Low<K> {
    /// Points of the window along each filtered axis.
    lens: Vec<usize>,
    kind: PhantomData<K>,
}

#[derive(Clone, Copy)]
struct Lower<K>(PhantomData<K>);

impl<K: Key> Tap<K, 1, 1> for Lower<K> {
    #[inline(always)]
    fn start<const N: usize>(&self) -> [[K; N]; 1] {
        [[K::MAX; N]]
    }

    #[inline(always)]
    fn add<const N: usize>(
        &self,
        _: usize,
        [mut low]: [[K; N]; 1],
        [v]: [[K; N]; 1],
    ) -> [[K; N]; 1] {
        for j in 0..N {
            low[j] = low[j].lower(v[j]);
        }
        [low]
    }
}

impl<K: Key> Low<K> {
    /// For windows of these numbers of points along the filtered axes.
    pub(crate) fn new(lens: Vec<usize>) -> Low<K> {
        Low {
            lens,
            kind: PhantomData,
        }
    }

    /// The smallest keys of rows, element by element.
    pub(crate) fn of(rows: &[&[K]], out: &mut [K]) {
        wide(Lowest { rows, out });
    }
}

/// The smallest of any number of rows.
struct Lowest<'a, K> {
    rows: &'a [&'a [K]],
    out: &'a mut [K],
}

impl<K: Key> Lowest<'_, K> {
    #[inline(always)]
    fn at<const N: usize>(&mut self, at: usize) {
        let mut low = [K::MAX; N];
        for row in self.rows {
            let row = strip::<K, N>(row, at);
            for j in 0..N {
                low[j] = low[j].lower(row[j]);
            }
        }
        *strip_mut(self.out, at) = low;
    }
}

impl<K: Key> Wide for Lowest<'_, K> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let len = self.out.len();
        let mut at = if len < STRIP { len } else { 0 };
        while at < len {
            self.at::<STRIP>(at.min(len - STRIP));
            at += STRIP;
        }
        if len < STRIP {
            for i in 0..len {
                self.at::<1>(i);
            }
        }
    }
}

impl<K: Key> Rule for Low<K> {
    type W = K;

    fn fold<S: Pod, L: Load<S, K>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        full(Lower(PhantomData), self.lens[pass], rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, K>>(
        &self,
        _: usize,
        edge: &EdgeTaps<K>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        full(Lower(PhantomData), rows.len(), rows, load, outs);
        for v in &mut *outs[0] {
            *v = v.lower(edge.bias[0]);
        }
    }
}
