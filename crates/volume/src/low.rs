//! The smallest or the greatest key of the rows of a window, for erosions, dilations and extrema.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::crossed::{Across, Along, Near};
use crate::fold::{EdgeTaps, Rule};
use crate::joined::{Join, joined};
use crate::keys::Keys;
use crate::load::{Load, Plain};
use crate::pixel::Key;
use crate::store::Store;
use bytemuck::Pod;

/// Of two keys the smaller one.
#[derive(Clone, Copy)]
pub(crate) struct Lower;

/// Of two keys the greater one.
#[derive(Clone, Copy)]
pub(crate) struct Upper;

impl<K: Key> Join<K> for Lower {
    #[inline(always)]
    fn join<const N: usize>(self, mut low: [K; N], v: [K; N]) -> [K; N] {
        for j in 0..N {
            low[j] = low[j].lower(v[j]);
        }
        low
    }
}

impl<K: Key> Join<K> for Upper {
    #[inline(always)]
    fn join<const N: usize>(self, mut high: [K; N], v: [K; N]) -> [K; N] {
        for j in 0..N {
            high[j] = high[j].upper(v[j]);
        }
        high
    }
}

/// One end of the keys of a window.
pub(crate) struct End<K, J> {
    /// Which one.
    how: J,
    /// For each filtered axis: points of the window, and the key that stands beyond the axis.
    axes: Vec<(usize, K)>,
    /// What keys are.
    keys: Keys,
}

impl<K: Key, J: Join<K>> End<K, J> {
    /// Of such keys. For each filtered axis: points of the window, and the key that stands beyond the axis.
    pub(crate) fn new(how: J, keys: Keys, axes: Vec<(usize, K)>) -> End<K, J> {
        End { how, axes, keys }
    }
}

/// The smallest keys of rows, element by element.
pub(crate) fn lowest<K: Key>(rows: &[&[K]], out: &mut [K]) {
    if rows.is_empty() {
        out.fill(K::MAX);
        return;
    }
    joined(Lower, rows.len(), rows, Plain, &mut [out]);
}

/// Joins every key of a row with this one, which stands for the rows that do not exist.
pub(crate) fn with_bias<K: Key>(how: impl Join<K>, bias: K, row: &mut [K]) {
    for key in row {
        [*key] = how.join([*key], [bias]);
    }
}

impl<K: Key, J: Join<K> + Sync> Rule for End<K, J>
where
    Keys: Store<K, To = K>,
{
    type W = K;

    fn fold<S: Pod, L: Load<S, K>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        joined(self.how, self.axes[pass].0, rows, load, outs);
    }

    fn fold_edge<S: Pod, L: Load<S, K>>(
        &self,
        _: usize,
        edge: &EdgeTaps<K>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [K]],
    ) {
        joined(self.how, rows.len(), rows, load, outs);
        with_bias(self.how, edge.bias[0], outs[0]);
    }

    fn crosses(&self, _: usize, _: usize) -> bool {
        true
    }

    fn outside(&self, pass: usize, _: usize) -> K {
        self.axes[pass].1
    }

    fn along<S: Pod, L: Load<S, K>>(&self, rows: Along<'_, '_, S, K, L>) {
        rows.join(self.how);
    }

    fn across(&self, rows: Across<'_, '_, '_, K, 1>) {
        rows.join(self.how, self.keys);
    }

    fn near(&self, rows: Near<'_, '_, '_, K>) {
        rows.join(self.how, self.keys);
    }

    fn join(&self, rows: &[&[K]], outs: &mut [&mut [K]]) -> bool {
        joined(self.how, rows.len(), rows, Plain, outs);
        true
    }
}
