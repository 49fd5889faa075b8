//! Selecting the value of a given rank from many rows at once.
//!
//! Small windows run a sorting network (Batcher's odd-even merge sort) from which everything is removed
//! that the wanted rank does not need. Large windows of short keys are searched bit by bit: a key is
//! built from its highest bit down by counting how many values lie below. Both are exact; which one runs
//! follows from the window and the key alone.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::pixel::Key;
use arrayloom_cpu::{Wide, wide};

/// Values that are selected at a time.
pub(crate) const LANES: usize = 32;
/// Windows with more points than this are always searched bit by bit.
const LARGEST_NETWORK: usize = 256;

/// A comparator: the smaller value goes to the first place, the greater one to the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Comparator {
    low: u16,
    high: u16,
    /// Which of the two is looked at later.
    keep: Keep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keep {
    Low,
    High,
    Both,
}

/// How the value of one rank is found among `n`.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    n: usize,
    rank: usize,
    network: Option<Vec<Comparator>>,
}

impl Selector {
    /// For `n` values and the one with `rank` smaller ones, in keys of `bits` bits.
    pub(crate) fn new(n: usize, rank: usize, bits: u32) -> Selector {
        let network = (n <= LARGEST_NETWORK).then(|| network(n, rank));
        let by_bits = 2 * bits as usize * n;
        let network = network.filter(|c| 6 * c.len() <= by_bits);
        Selector { n, rank, network }
    }

    /// Elements of working memory.
    pub(crate) fn work(&self) -> usize {
        if self.network.is_some() {
            self.n * LANES
        } else {
            0
        }
    }

    /// What all values of a tile have in common, as far as that helps.
    pub(crate) fn prefix<K: Key>(&self, tile: &[K]) -> Prefix<K> {
        if self.network.is_some() {
            return Prefix {
                key: K::MIN,
                bits: K::BITS,
            };
        }
        let (low, high) = tile
            .iter()
            .fold((K::MAX, K::MIN), |(a, b), &v| (a.lower(v), b.upper(v)));
        let bits = 64 - (low ^ high).widened().leading_zeros();
        let bits = bits.min(K::BITS);
        let top = low.widened().checked_shr(bits).unwrap_or(0);
        Prefix {
            key: K::narrowed(top.checked_shl(bits).unwrap_or(0)),
            bits,
        }
    }

    /// For each `i`, the value of the rank among `tile[base + offset + i]` over all offsets.
    pub(crate) fn row<K: Key>(
        &self,
        tile: (&[K], Prefix<K>),
        base: usize,
        offsets: &[usize],
        work: &mut [K],
        out: &mut [K],
    ) {
        wide(Row {
            selector: self,
            tile: &tile.0[base..],
            prefix: tile.1,
            offsets,
            work,
            out,
        });
    }
}

/// The leading bits that all keys of a tile share, and how many bits follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix<K> {
    key: K,
    bits: u32,
}

struct Row<'a, K> {
    selector: &'a Selector,
    tile: &'a [K],
    prefix: Prefix<K>,
    offsets: &'a [usize],
    work: &'a mut [K],
    out: &'a mut [K],
}

impl<K: Key> Wide for Row<'_, K> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let mut at = 0;
        let len = self.out.len();
        while at < len {
            let count = LANES.min(len - at);
            // The last strip overlaps the one before; a short row is filled up with its own end.
            let from = if count < LANES && len >= LANES {
                len - LANES
            } else {
                at
            };
            let found = match &self.selector.network {
                Some(network) => {
                    gather(self.tile, self.offsets, from, self.work);
                    run_network(network, self.work);
                    lanes(self.work, self.selector.rank)
                }
                None => by_bits(
                    (self.tile, self.prefix),
                    self.offsets,
                    from,
                    self.selector.rank,
                ),
            };
            let width = LANES.min(len - from);
            self.out[from..from + width].copy_from_slice(&found[..width]);
            at += LANES;
        }
    }
}

#[inline(always)]
fn strip<K: Key>(tile: &[K], at: usize) -> [K; LANES] {
    if let Some(full) = tile[at..].first_chunk::<LANES>() {
        return *full;
    }
    let mut part = [K::MAX; LANES];
    let rest = &tile[at..];
    part[..rest.len()].copy_from_slice(rest);
    part
}

#[inline(always)]
fn gather<K: Key>(tile: &[K], offsets: &[usize], at: usize, work: &mut [K]) {
    for (to, &offset) in work.chunks_exact_mut(LANES).zip(offsets) {
        to.copy_from_slice(&strip(tile, offset + at));
    }
}

#[inline(always)]
fn lanes<K: Key>(work: &[K], place: usize) -> [K; LANES] {
    *work[place * LANES..]
        .first_chunk()
        .unwrap_or_else(|| unreachable!("the place exists"))
}

#[inline(always)]
fn run_network<K: Key>(network: &[Comparator], work: &mut [K]) {
    let (values, _) = work.as_chunks_mut::<LANES>();
    for c in network {
        let (a, b) = (usize::from(c.low), usize::from(c.high));
        let (x, y) = (values[a], values[b]);
        if c.keep != Keep::High {
            for ((to, &x), &y) in values[a].iter_mut().zip(&x).zip(&y) {
                *to = x.lower(y);
            }
        }
        if c.keep != Keep::Low {
            for ((to, &x), &y) in values[b].iter_mut().zip(&x).zip(&y) {
                *to = x.upper(y);
            }
        }
    }
}

#[inline(always)]
fn by_bits<K: Key>(
    (tile, prefix): (&[K], Prefix<K>),
    offsets: &[usize],
    at: usize,
    rank: usize,
) -> [K; LANES] {
    let mut found = [prefix.key; LANES];
    for bit in (0..prefix.bits).rev() {
        let mut tried = found;
        for t in &mut tried {
            *t = t.with_bit(bit);
        }
        // Counts have the width of keys, so that lanes match; longer windows are counted in parts.
        let mut below = [0u32; LANES];
        for part in offsets.chunks(255) {
            let mut few = [K::MIN; LANES];
            for &offset in part {
                let values = strip(tile, offset + at);
                for ((few, &v), &t) in few.iter_mut().zip(&values).zip(&tried) {
                    *few = few.counted(v < t);
                }
            }
            for (below, &few) in below.iter_mut().zip(&few) {
                *below += few.to_count();
            }
        }
        for ((found, &t), &below) in found.iter_mut().zip(&tried).zip(&below) {
            if below as usize <= rank {
                *found = t;
            }
        }
    }
    found
}

/// The comparators that bring the value of `rank` to place `rank`.
fn network(n: usize, rank: usize) -> Vec<Comparator> {
    let mut all = Vec::new();
    let size = n.next_power_of_two();
    let mut p = 1;
    while p < size {
        let mut k = p;
        while k >= 1 {
            let mut j = k % p;
            while j + k < size {
                let pairs = (j..j + k.min(size - j - k)).map(|i| (i, i + k));
                all.extend(pairs.filter(|&(a, b)| a / (2 * p) == b / (2 * p) && b < n));
                j += 2 * k;
            }
            k /= 2;
        }
        p *= 2;
    }
    let mut needed = vec![false; n];
    needed[rank] = true;
    let mut kept = Vec::new();
    for &(low, high) in all.iter().rev() {
        let keep = match (needed[low], needed[high]) {
            (false, false) => continue,
            (true, false) => Keep::Low,
            (false, true) => Keep::High,
            (true, true) => Keep::Both,
        };
        (needed[low], needed[high]) = (true, true);
        let place = |i: usize| u16::try_from(i).unwrap_or(u16::MAX);
        kept.push(Comparator {
            low: place(low),
            high: place(high),
            keep,
        });
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<K: Key + std::fmt::Debug>(
        n: usize,
        rank: usize,
        network: bool,
        of: impl Fn(u64) -> K,
    ) {
        let mut selector = Selector::new(n, rank, K::BITS);
        selector.network = network.then(|| super::network(n, rank));
        let len = 70;
        let mut seed = 1u64 + n as u64;
        let tile: Vec<K> = (0..n * len)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(99);
                of(seed >> 33)
            })
            .collect();
        let offsets: Vec<usize> = (0..n).map(|i| i * len).collect();
        let mut work = vec![K::MIN; n * LANES];
        let mut out = vec![K::MIN; len];
        let prefix = selector.prefix(&tile);
        selector.row((&tile, prefix), 0, &offsets, &mut work, &mut out);
        for i in 0..len {
            let mut values: Vec<K> = offsets.iter().map(|o| tile[o + i]).collect();
            values.sort_unstable();
            assert_eq!(out[i], values[rank], "n {n} rank {rank}");
        }
    }

    #[test]
    #[expect(clippy::cast_possible_truncation, reason = "random keys")]
    fn networks_and_bits_find_every_rank() {
        for n in [1, 2, 3, 5, 9, 16, 27, 30, 75] {
            for rank in [0, n / 3, n / 2, n - 1] {
                for network in [false, true] {
                    check::<u8>(n, rank, network, |v| v as u8);
                    check::<u16>(n, rank, network, |v| v as u16);
                    check::<u64>(n, rank, network, |v| v % 7);
                }
            }
        }
        check::<u8>(700, 350, false, |v| v as u8);
        // Keys that share their leading bits, or all of them.
        check::<u16>(40, 11, false, |v| 0xA500 | (v as u16 % 200));
        check::<u64>(30, 29, false, |v| u64::MAX - v % 3);
        check::<u32>(30, 7, false, |_| 77);
    }
}
