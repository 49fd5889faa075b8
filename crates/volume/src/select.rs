//! Selecting the value of a given rank from many rows at once.
//!
//! Small windows run a sorting network (Batcher's odd-even merge sort) from which everything is removed
//! that the wanted rank does not need; medians of 9 and 25 have shorter ones (`medians.rs`). Large windows of
//! short keys are searched bit by bit: a key is built from its highest bit down by counting how many values
//! lie below. All are exact; which one runs follows from the window and the key alone.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::medians::{median_of_9, median_of_25};
use crate::pixel::Key;
use arrayloom_cpu::{Wide, wide};

/// Windows with more points than this are always searched bit by bit.
const LARGEST_NETWORK: usize = 256;
/// Values that are compared begin at multiples of so many bytes: loads across lines of the cache are slow.
const ALIGNMENT: usize = 64;

/// A comparator: the smaller value goes to the first place, the greater one to the second.
type Comparator = [u16; 2];

/// How the value of one rank is found among `n`, `L` values at a time.
#[derive(Clone, Debug)]
pub(crate) struct Selector<const L: usize> {
    rank: usize,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Median9,
    Median25,
    Network {
        n: usize,
        comparators: Vec<Comparator>,
    },
    Bits,
}

impl<const L: usize> Selector<L> {
    /// For `n` values and the one with `rank` smaller ones, in keys of `bits` bits.
    pub(crate) fn new(n: usize, rank: usize, bits: u32) -> Selector<L> {
        let network = (n <= LARGEST_NETWORK).then(|| network(n, rank));
        let by_bits = 2 * bits as usize * n;
        let way = match (n, network) {
            (9, _) if rank == 4 => Way::Median9,
            (25, _) if rank == 12 => Way::Median25,
            (_, Some(comparators)) if 6 * comparators.len() <= by_bits => {
                Way::Network { n, comparators }
            }
            _ => Way::Bits,
        };
        Selector { rank, way }
    }

    /// Elements of working memory.
    pub(crate) fn work(&self) -> usize {
        match self.way {
            Way::Network { n, .. } => Self::most_work(n),
            _ => 0,
        }
    }

    /// The most elements of working memory that any rank of `n` values takes.
    pub(crate) fn most_work(n: usize) -> usize {
        n.min(LARGEST_NETWORK) * L + ALIGNMENT
    }

    /// What all values of a tile have in common, as far as that helps.
    pub(crate) fn prefix<K: Key>(&self, tile: &[K]) -> Prefix<K> {
        if !matches!(self.way, Way::Bits) {
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
        let skipped = work.as_ptr().align_offset(ALIGNMENT).min(work.len());
        wide(Row {
            selector: self,
            tile: &tile.0[base..],
            prefix: tile.1,
            offsets,
            work: &mut work[skipped..],
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

struct Row<'a, K, const L: usize> {
    selector: &'a Selector<L>,
    tile: &'a [K],
    prefix: Prefix<K>,
    offsets: &'a [usize],
    work: &'a mut [K],
    out: &'a mut [K],
}

impl<K: Key, const L: usize> Wide for Row<'_, K, L> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let mut at = 0;
        let len = self.out.len();
        while at < len {
            let count = L.min(len - at);
            // The last strip overlaps the one before; a short row is filled up with its own end.
            let from = if count < L && len >= L { len - L } else { at };
            let found: [K; L] = match &self.selector.way {
                Way::Median9 => median_of_9(&gathered(self.tile, self.offsets, from)),
                Way::Median25 => median_of_25(&gathered(self.tile, self.offsets, from)),
                Way::Network { comparators, .. } => {
                    let (values, _) = self.work.as_chunks_mut::<L>();
                    for (to, &offset) in values.iter_mut().zip(self.offsets) {
                        *to = strip(self.tile, offset + from);
                    }
                    run_network(comparators, values);
                    values[self.selector.rank]
                }
                Way::Bits => by_bits(
                    (self.tile, self.prefix),
                    self.offsets,
                    from,
                    self.selector.rank,
                ),
            };
            let width = L.min(len - from);
            self.out[from..from + width].copy_from_slice(&found[..width]);
            at += L;
        }
    }
}

#[inline(always)]
fn strip<K: Key, const L: usize>(tile: &[K], at: usize) -> [K; L] {
    if let Some(full) = tile[at..].first_chunk::<L>() {
        return *full;
    }
    let mut part = [K::MAX; L];
    let rest = &tile[at..];
    part[..rest.len()].copy_from_slice(rest);
    part
}

#[inline(always)]
fn gathered<K: Key, const L: usize, const N: usize>(
    tile: &[K],
    offsets: &[usize],
    at: usize,
) -> [[K; L]; N] {
    let mut values = [[K::MIN; L]; N];
    for (to, &offset) in values.iter_mut().zip(offsets) {
        *to = strip(tile, offset + at);
    }
    values
}

#[inline(always)]
fn run_network<K: Key, const L: usize>(network: &[Comparator], values: &mut [[K; L]]) {
    for &[low, high] in network {
        let places = [usize::from(low), usize::from(high)];
        let Ok([low, high]) = values.get_disjoint_mut(places) else {
            continue;
        };
        for (x, y) in low.iter_mut().zip(high) {
            (*x, *y) = (x.lower(*y), x.upper(*y));
        }
    }
}

#[inline(always)]
fn by_bits<K: Key, const L: usize>(
    (tile, prefix): (&[K], Prefix<K>),
    offsets: &[usize],
    at: usize,
    rank: usize,
) -> [K; L] {
    let mut found = [prefix.key; L];
    for bit in (0..prefix.bits).rev() {
        let mut tried = found;
        for t in &mut tried {
            *t = t.with_bit(bit);
        }
        // Counts have the width of keys, so that lanes match; longer windows are counted in parts.
        let mut below = [0u32; L];
        for part in offsets.chunks(255) {
            let mut few = [K::MIN; L];
            for &offset in part {
                let values: [K; L] = strip(tile, offset + at);
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
        if needed[low] || needed[high] {
            (needed[low], needed[high]) = (true, true);
            let place = |i: usize| u16::try_from(i).unwrap_or(u16::MAX);
            kept.push([place(low), place(high)]);
        }
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
        let mut selector = Selector::<32>::new(n, rank, K::BITS);
        let medians = matches!(selector.way, Way::Median9 | Way::Median25);
        if network && !medians {
            let comparators = super::network(n, rank);
            selector.way = Way::Network { n, comparators };
        } else if !network {
            selector.way = Way::Bits;
        }
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
        let mut work = vec![K::MIN; selector.work()];
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
        for n in [1, 2, 3, 5, 9, 16, 25, 27, 30, 75] {
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
