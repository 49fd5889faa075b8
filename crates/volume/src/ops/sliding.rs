//! Ranks over long windows along one axis: each window is the one before without one value, and with another.
//!
//! The values of a line are sorted once. A window is a set of places in that order, and its rank a mark among them, which
//! moves by a place or two from one window to the next; so a voxel takes as long for any window. (W. Härdle and W. Steiger,
//! Optimal median smoothing, 1995, keep two heaps instead.)

use super::window::Neighbourhood;
use crate::block::{View, ViewMut, axis_len};
use crate::keys::{Keys, emit_keys, key_of};
use crate::levels::in_threads;
use crate::load::{self, Load};
use crate::op::Mode;
use crate::pixel::Key;
use crate::places::{Places, Run, runs_in};
use crate::separable::Ctx;
use crate::{Scratch, VolumeError};
use bytemuck::Pod;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Outputs of a line that are made at a time, at least.
const OUTPUTS: usize = 4096;

/// A window along one axis, all points of which count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sliding {
    axis: usize,
    len: usize,
    before: i64,
    mode: Mode,
}

/// What the windows of a filter are asked for.
pub(super) struct Wanted<'a> {
    pub(super) keys: Keys,
    /// The rank among so many values.
    pub(super) rank: &'a (dyn Fn(usize) -> usize + Sync),
    /// True if a window with the greatest key has that.
    pub(super) spreads: bool,
}

/// Buffers of one thread.
struct Buffers<K> {
    /// Elements of a line.
    raw: Scratch<K>,
    /// The same as keys, and these in order.
    keys: Scratch<K>,
    sorted: Scratch<K>,
    /// Keys with their places, the upper half first.
    pairs: Scratch<[u64; 2]>,
    /// For each place of a line its place in the order.
    order: Scratch<u32>,
    /// A bit for each place in the order.
    present: Scratch<u64>,
    found: Scratch<K>,
    elements: Scratch<u8>,
}

impl<K: Key> Buffers<K> {
    fn new(ctx: &Ctx, padded: usize, made: usize) -> Result<Buffers<K>, VolumeError> {
        let meter = &ctx.meter;
        Ok(Buffers {
            raw: Scratch::new(meter, padded)?,
            keys: Scratch::new(meter, padded)?,
            sorted: Scratch::new(meter, padded)?,
            pairs: Scratch::new(meter, padded)?,
            order: Scratch::new(meter, padded)?,
            present: Scratch::new(meter, padded / 64 + 1)?,
            found: Scratch::new(meter, made)?,
            elements: Scratch::new(meter, made * size_of::<K>())?,
        })
    }
}

/// The values of a window: places in the order of all values, and the mark.
struct Values<'a> {
    present: &'a mut [u64],
    count: usize,
    mark: usize,
    /// Values before the mark.
    below: usize,
}

impl Values<'_> {
    fn has(&self, place: usize) -> bool {
        self.present[place / 64] >> (place % 64) & 1 == 1
    }

    fn add(&mut self, place: usize) {
        self.present[place / 64] |= 1 << (place % 64);
        self.count += 1;
        self.below += usize::from(place < self.mark);
    }

    fn remove(&mut self, place: usize) {
        self.present[place / 64] &= !(1 << (place % 64));
        self.count -= 1;
        self.below -= usize::from(place < self.mark);
    }

    /// The first value from `place` on; there is one.
    fn next(&self, place: usize) -> usize {
        let mut word = place / 64;
        let mut bits = self.present[word] & (u64::MAX << (place % 64));
        while bits == 0 {
            word += 1;
            bits = self.present[word];
        }
        64 * word + bits.trailing_zeros() as usize
    }

    /// The last value before `place`; there is one.
    fn previous(&self, place: usize) -> usize {
        let mut word = place / 64;
        let mut bits = self.present[word] & !(u64::MAX << (place % 64));
        while bits == 0 {
            word -= 1;
            bits = self.present[word];
        }
        64 * word + 63 - bits.leading_zeros() as usize
    }

    /// The place of the value with so many before it; there are more.
    fn of_rank(&mut self, rank: usize) -> usize {
        while self.below > rank {
            self.mark = self.previous(self.mark);
            self.below -= 1;
        }
        if !self.has(self.mark) {
            self.mark = self.next(self.mark);
        }
        while self.below < rank {
            self.mark = self.next(self.mark + 1);
            self.below += 1;
        }
        self.mark
    }
}

/// Sorts keys; `order` becomes the place of each.
fn sort<K: Key>(keys: &[K], pairs: &mut [[u64; 2]], order: &mut [u32], sorted: &mut [K]) {
    for ((pair, key), at) in pairs.iter_mut().zip(keys).zip(0u64..) {
        *pair = [key.widened(), at];
    }
    pairs.sort_unstable();
    for ((pair, sorted), place) in pairs.iter().zip(sorted).zip(0u32..) {
        *sorted = K::narrowed(pair[0]);
        order[usize::try_from(pair[1]).unwrap_or(0)] = place;
    }
}

impl Sliding {
    /// The way of a window over keys of so many bytes, if it is long enough.
    pub(super) fn of(window: &Neighbourhood, bytes: usize) -> Option<Sliding> {
        let mut long = window.axes.iter().enumerate().filter(|(_, a)| a.len > 1);
        let (axis, along) = long.next()?;
        let least = match bytes {
            1 => 320,
            2 => 128,
            4 => 64,
            _ => 32,
        };
        let whole = long.next().is_none() && window.points.len() == along.len;
        (whole && along.len >= least).then_some(Sliding {
            axis,
            len: along.len,
            before: along.before,
            mode: along.mode,
        })
    }

    /// Outputs that are made at a time of lines with so many.
    fn together(&self, outputs: usize) -> usize {
        outputs.min(self.len.max(OUTPUTS))
    }

    /// Bytes of working memory for each thread.
    pub(super) fn scratch(&self, extents: &[i64], bytes: usize) -> u64 {
        let outputs = usize::try_from(extents[self.axis]).unwrap_or(0);
        let made = self.together(outputs);
        let padded = made + self.len;
        (padded * (3 * bytes + 16 + 4 + 1) + made * 2 * bytes + 128) as u64
    }

    /// Finds the values of all windows of the box `out`.
    pub(super) fn run<K: Key>(
        &self,
        ctx: &Ctx,
        input: &View<'_>,
        out: ViewMut<'_>,
        wanted: &Wanted<'_>,
    ) -> Result<(), VolumeError>
    where
        Keys: Load<K, K>,
    {
        let (a, region) = (self.axis, out.region);
        let n_out = axis_len(region, a);
        let padded = n_out + self.len - 1;
        let first = region.lo[a] - self.before;
        let inside = (input.region.lo[a], input.region.hi[a]);
        let places = Places::new(self.mode.edge(), (first, padded), input.shape[a], inside);
        let row: usize = (a + 1..region.rank())
            .map(|d| axis_len(region, d))
            .product();
        let outer: usize = (0..a).map(|d| axis_len(region, d)).product();
        let line = Line {
            sliding: self,
            wanted,
            source: bytemuck::cast_slice(input.data),
            n_in: axis_len(input.region, a),
            row,
            runs: places.runs(),
            missing: places.missing().collect(),
        };
        let each = self.together(n_out);
        let blocks = n_out.div_ceil(each.max(1));
        let next = AtomicUsize::new(0);
        let to = Mutex::new(out.data);
        in_threads(ctx.threads, &|| {
            let mut buffers = Buffers::<K>::new(ctx, each + self.len, each)?;
            loop {
                let task = next.fetch_add(1, Relaxed);
                if task >= outer * row * blocks {
                    return Ok(());
                }
                let (at, block) = (task / blocks, task % blocks * each);
                let outputs = block..(block + each).min(n_out);
                line.find((at / row, at % row), outputs.clone(), &mut buffers);
                let found = &buffers.found.get()[..outputs.len()];
                let elements = &mut buffers.elements.get_mut()[..size_of_val(found)];
                emit_keys(wanted.keys, found, elements);
                let start = (at / row * n_out + outputs.start) * row + at % row;
                let mut to = to.lock().unwrap_or_else(PoisonError::into_inner);
                scatter::<K>(elements, &mut to[start * size_of::<K>()..], row);
            }
        })
    }
}

/// Writes elements of the size of `K`, so many elements apart.
fn scatter<K: Pod>(from: &[u8], to: &mut [u8], row: usize) {
    if row == 1 {
        to[..from.len()].copy_from_slice(from);
        return;
    }
    let size = size_of::<K>();
    for (to, from) in to.chunks_mut(row * size).zip(from.chunks_exact(size)) {
        to[..size].copy_from_slice(from);
    }
}

/// The lines of a box.
struct Line<'a, K> {
    sliding: &'a Sliding,
    wanted: &'a Wanted<'a>,
    source: &'a [K],
    n_in: usize,
    /// Elements behind the axis.
    row: usize,
    runs: Vec<Run>,
    /// Coordinates where nothing stands, in order.
    missing: Vec<usize>,
}

impl<K: Key> Line<'_, K>
where
    Keys: Load<K, K>,
{
    /// Finds the keys of the outputs of the line at `(outer, column)`.
    fn find(
        &self,
        (outer, column): (usize, usize),
        outputs: std::ops::Range<usize>,
        buffers: &mut Buffers<K>,
    ) {
        let n = self.sliding.len;
        let coordinates = outputs.start..outputs.end + n - 1;
        let raw = &mut buffers.raw.get_mut()[..coordinates.len()];
        for run in runs_in(&self.runs, coordinates.clone()) {
            let start = (outer * self.n_in + run.row) * self.row + column;
            let from = self.source[start..].iter().step_by(self.row);
            let to = &mut raw[run.at.start - coordinates.start..run.at.end - coordinates.start];
            for (to, from) in to.iter_mut().zip(from) {
                *to = *from;
            }
        }
        let keys = &mut buffers.keys.get_mut()[..raw.len()];
        load::row(self.wanted.keys, raw, keys);
        let constant = match self.sliding.mode {
            Mode::Constant(value) => Some(key_of(self.wanted.keys, value)),
            _ => None,
        };
        let first = self.missing.partition_point(|&m| m < coordinates.start);
        let missing = self.missing[first..].iter().map(|m| m - coordinates.start);
        let missing = missing.take_while(|&m| m < coordinates.len());
        for at in missing.clone() {
            keys[at] = constant.unwrap_or(K::MAX);
        }
        let pairs = &mut buffers.pairs.get_mut()[..keys.len()];
        let order = &mut buffers.order.get_mut()[..keys.len()];
        let sorted = &mut buffers.sorted.get_mut()[..keys.len()];
        sort(keys, pairs, order, sorted);
        if constant.is_none() {
            // What is missing is in no window.
            missing.for_each(|at| order[at] = u32::MAX);
        }
        let present = buffers.present.get_mut();
        present.fill(0);
        self.slide((keys, order, sorted), present, buffers.found.get_mut());
    }

    /// Goes through the windows of a line of keys, given their places in order; those without one are in no window.
    fn slide(
        &self,
        (keys, order, sorted): (&[K], &[u32], &[K]),
        present: &mut [u64],
        found: &mut [K],
    ) {
        let n = self.sliding.len;
        let mut values = Values {
            present,
            count: 0,
            mark: 0,
            below: 0,
        };
        let place = |at: usize| {
            usize::try_from(order[at])
                .ok()
                .filter(|_| order[at] != u32::MAX)
        };
        let endless = |at: usize| usize::from(self.wanted.spreads && keys[at] == K::MAX);
        let mut unknown = 0;
        for at in 0..keys.len() {
            if let Some(place) = place(at) {
                values.add(place);
                unknown += endless(at);
            }
            let Some(gone) = (at + 1).checked_sub(n) else {
                continue;
            };
            let rank = (self.wanted.rank)(values.count);
            found[gone] = match unknown {
                0 => sorted[values.of_rank(rank)],
                _ => K::MAX,
            };
            if let Some(place) = place(gone) {
                values.remove(place);
                unknown -= endless(gone);
            }
        }
    }
}
