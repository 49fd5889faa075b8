//! The smallest key of the rows of a window, for erosions, dilations and extrema.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::fold::{EdgeTaps, Rule};
use crate::joined::{Join, joined};
use crate::load::{Load, Plain};
use crate::pixel::Key;
use bytemuck::Pod;
use std::marker::PhantomData;

/// The smallest key.
pub(crate) struct Low<K> {
    /// Points of the window along each filtered axis.
    lens: Vec<usize>,
    kind: PhantomData<K>,
}

/// Of two keys the smaller one.
#[derive(Clone, Copy)]
pub(crate) struct Lower;

impl<K: Key> Join<K> for Lower {
    #[inline(always)]
    fn join<const N: usize>(self, mut low: [K; N], v: [K; N]) -> [K; N] {
        for j in 0..N {
            low[j] = low[j].lower(v[j]);
        }
        low
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
        if rows.is_empty() {
            out.fill(K::MAX);
            return;
        }
        joined(Lower, rows.len(), rows, Plain, &mut [out]);
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
        joined(Lower, self.lens[pass], rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, K>>(
        &self,
        _: usize,
        edge: &EdgeTaps<K>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        joined(Lower, rows.len(), rows, load, outs);
        for v in &mut *outs[0] {
            *v = v.lower(edge.bias[0]);
        }
    }
}
