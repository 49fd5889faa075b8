//! The smallest or the greatest key of the rows of a window, for erosions, dilations and extrema.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::fold::{EdgeTaps, GROUP, Rule};
use crate::joined::{Join, joined, stored};
use crate::keys::Keys;
use crate::load::{Load, Plain};
use crate::pixel::Key;
use crate::store::Store;
use bytemuck::Pod;
use smallvec::SmallVec;
use std::marker::PhantomData;

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

/// True if windows of keys of so many bytes are joined along rows first. Rows of shorter ones are so quickly done that
/// what a row costs beside its elements counts for more.
pub(crate) fn commutes(bytes: usize) -> bool {
    bytes >= 4
}

/// One end of the keys of a window.
pub(crate) struct End<K, J> {
    /// Which one.
    how: J,
    /// Points of the window along each filtered axis.
    lens: Vec<usize>,
    /// What keys are.
    keys: Keys,
    kind: PhantomData<K>,
}

impl<K: Key, J: Join<K>> End<K, J> {
    /// Of such keys, for windows of these numbers of points along the filtered axes.
    pub(crate) fn new(how: J, keys: Keys, lens: Vec<usize>) -> End<K, J> {
        End {
            how,
            lens,
            keys,
            kind: PhantomData,
        }
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
        joined(self.how, self.lens[pass], rows, load, outs);
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

    fn commutes(&self) -> bool {
        commutes(size_of::<K>())
    }

    fn finish(&self, pass: usize, rows: &[&[K]], outs: &mut [&mut [u8]]) {
        let outs = outs.iter_mut().map(|out| bytemuck::cast_slice_mut(out));
        let mut outs: SmallVec<[&mut [K]; GROUP]> = outs.collect();
        let as_elements = (Plain, self.keys);
        stored(self.how, self.lens[pass], rows, as_elements, &mut outs);
    }

    fn join(&self, rows: &[&[K]], outs: &mut [&mut [K]]) -> bool {
        joined(self.how, rows.len(), rows, Plain, outs);
        true
    }
}
