//! Sums of subtrees with vectors: the eight accumulators of a leaf are one vector (or two), and the sums of the accumulators
//! of up to eight leaves are made together.
//!
//! Leaves are read one after another, as they lie in memory. Each is a chain of additions, but the processor begins the
//! next leaves meanwhile; to read several leaves in turns is slower on most, and half as fast where the values come from
//! memory (docs/decisions/0017-sums-in-the-order-of-memory.md).
//!
//! The compiler makes scalars of the same loops in `tree`, which is several times slower.

#![expect(
    unsafe_code,
    reason = "vectors are read at places inside of a slice, by functions for one instruction set"
)]

mod pair_f64;
mod wide_f32;
mod wide_f64;

use super::{LANES, LEAF, Sum, add};
use crate::Isa;
use crate::isa::ahead;
use crate::kern::{Kern, Rows, fetch_ahead, tile, tile_mut};
use arrayloom_plan::tree_split;

/// The kernels for a subtree of `f64` and for many runs, if the processor has them.
pub(super) fn double(complex: bool, isa: Isa) -> Option<(Kern, Option<Kern>)> {
    match (isa, complex) {
        (Isa::Baseline, _) => None,
        (Isa::Avx2, false) => Some((f64_by_four::subtree::<false>, Some(f64_by_four::runs))),
        (Isa::Avx2, true) => Some((f64_by_four::subtree::<true>, None)),
        (Isa::Avx512, false) => Some((f64_by_eight::subtree::<false>, Some(f64_by_eight::runs))),
        (Isa::Avx512, true) => Some((f64_by_eight::subtree::<true>, None)),
    }
}

/// The kernels for a subtree of `f32` and for many runs, if the processor has them.
pub(super) fn single(complex: bool, isa: Isa) -> Option<(Kern, Option<Kern>)> {
    match (isa, complex) {
        (Isa::Baseline, _) => None,
        (_, false) => Some((f32_by_eight::subtree::<false>, Some(f32_by_eight::runs))),
        (_, true) => Some((f32_by_eight::subtree::<true>, None)),
    }
}

/// True when a subtree of `n` values has `leaves` leaves (a power of two), all splits equally deep.
fn is_perfect(n: usize, leaves: usize) -> bool {
    let groups = n / LANES;
    let (least_parent, last) = (groups / (leaves / 2), groups.div_ceil(leaves));
    least_parent * LANES > LEAF && last * LANES + n % LANES <= LEAF
}

/// For each number of leaves (1, 2, 4, 8) and the rest that it leaves of a number of groups: which leaves, as bits, have one
/// group more than the others. Halves are rounded down to whole groups on the left.
const LONGER: [[u8; 8]; 4] = {
    let mut table = [[0; 8]; 4];
    let mut depth = 1;
    while depth < 4 {
        let leaves = 1 << depth;
        let mut leaf: u8 = 0;
        while leaf < leaves {
            let rank = (!leaf << (8 - depth)).reverse_bits();
            let mut rest = rank + 1;
            while rest < leaves {
                table[depth][rest as usize] |= 1 << leaf;
                rest += 1;
            }
            leaf += 1;
        }
        depth += 1;
    }
    table
};

/// The functions for one element type and instruction set, on what `$ops` says of its vectors.
macro_rules! vectors {
    ($name:ident, $real:ty, $feature:literal, $ops:ident) => {
        mod $name {
            use super::*;

            /// Sums a subtree of reals, or of complex numbers as pairs of reals; see `tree::WHOLE`.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn subtree<const COMPLEX: bool>(
                a: *const u8,
                _: *const u8,
                _: *const u8,
                out: *mut u8,
                n: usize,
            ) -> u8 {
                // SAFETY: promised by the caller.
                let values = unsafe { tile::<$real>(a, n) };
                // SAFETY: as above; two reals.
                let out = unsafe { tile_mut::<$real>(out, 2) };
                out.copy_from_slice(&sum::<COMPLEX>(values));
                0
            }

            /// A sum and the values behind it.
            #[inline]
            fn behind<const COMPLEX: bool>(mut sum: Sum<$real>, values: &[$real]) -> Sum<$real> {
                for (i, &x) in values.iter().enumerate() {
                    sum[if COMPLEX { i % 2 } else { 0 }] += x;
                }
                sum
            }

            #[target_feature(enable = $feature)]
            fn sum<const COMPLEX: bool>(values: &[$real]) -> Sum<$real> {
                let n = values.len();
                if n < LANES {
                    return behind::<COMPLEX>([-0.0; 2], values);
                }
                if n <= LEAF {
                    return leaves::<1, COMPLEX>(values)[0];
                }
                if is_perfect(n, 8) {
                    let s = leaves::<8, COMPLEX>(values);
                    let halves = [
                        add(add(s[0], s[1]), add(s[2], s[3])),
                        add(add(s[4], s[5]), add(s[6], s[7])),
                    ];
                    return add(halves[0], halves[1]);
                }
                if is_perfect(n, 4) {
                    let s = leaves::<4, COMPLEX>(values);
                    return add(add(s[0], s[1]), add(s[2], s[3]));
                }
                if is_perfect(n, 2) {
                    let s = leaves::<2, COMPLEX>(values);
                    return add(s[0], s[1]);
                }
                let (left, right) = values.split_at(tree_split(n).unwrap_or(n));
                add(sum::<COMPLEX>(left), sum::<COMPLEX>(right))
            }

            /// Sums each of many runs of `n` reals at `a`, `b` pointing to their [`Rows`]; see `TreeKern::runs`.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn runs(
                a: *const u8,
                b: *const u8,
                _: *const u8,
                out: *mut u8,
                n: usize,
            ) -> u8 {
                // SAFETY: promised by the caller: `b` points to one `Rows`.
                let rows = unsafe { tile::<Rows>(b, 1) }[0];
                // SAFETY: as above; a sum for each run.
                let sums = unsafe { tile_mut::<$real>(out, rows.count) };
                let run = |i: usize| -> &[$real] {
                    let start = a.wrapping_offset(i.cast_signed() * rows.step);
                    // SAFETY: as above; `count` runs of `n` reals.
                    unsafe { tile::<$real>(start, n) }
                };
                match n {
                    0..LANES => {}
                    LANES..=LEAF => return together::<1>(sums, run),
                    _ if is_perfect(n, 2) => return together::<2>(sums, run),
                    _ if is_perfect(n, 4) => return together::<4>(sums, run),
                    _ => {}
                }
                for (i, o) in sums.iter_mut().enumerate() {
                    *o = sum::<false>(run(i))[0];
                }
                0
            }

            /// Sums runs of `K` leaves each: the accumulators of as many as make eight leaves are added together.
            #[inline]
            #[target_feature(enable = $feature)]
            fn together<'a, const K: usize>(
                sums: &mut [$real],
                run: impl Fn(usize) -> &'a [$real],
            ) -> u8 {
                for (number, sums) in sums.chunks_mut(8 / K).enumerate() {
                    let first = number * (8 / K);
                    let mut lanes = [$ops::zero(); 8];
                    for i in 0..sums.len() {
                        accumulate::<K>(run(first + i), &mut lanes[i * K..][..K]);
                    }
                    let mut totals = std::hint::black_box($ops::totals(&lanes));
                    for (i, o) in sums.iter_mut().enumerate() {
                        let run = run(first + i);
                        let leaves = &mut totals[i * K..][..K];
                        for &x in &run[run.len() / LANES * LANES..] {
                            leaves[K - 1] += x;
                        }
                        *o = match K {
                            1 => leaves[0],
                            2 => leaves[0] + leaves[1],
                            _ => (leaves[0] + leaves[1]) + (leaves[2] + leaves[3]),
                        };
                    }
                }
                0
            }

            /// The sums of `K` leaves.
            #[inline]
            #[target_feature(enable = $feature)]
            fn leaves<const K: usize, const COMPLEX: bool>(values: &[$real]) -> [Sum<$real>; 8] {
                let mut lanes = [$ops::zero(); 8];
                accumulate::<K>(values, &mut lanes[..K]);
                // All of them are wanted: what fills places that nobody reads might overflow.
                let mut totals = if COMPLEX {
                    std::hint::black_box($ops::pair_totals(&lanes))
                } else {
                    std::hint::black_box($ops::totals(&lanes)).map(|total| [total, 0.0])
                };
                // All leaves but the last are whole groups.
                let whole = values.len() / LANES * LANES;
                totals[K - 1] = behind::<COMPLEX>(totals[K - 1], &values[whole..]);
                totals
            }

            /// The accumulators of `K` leaves after all whole groups.
            #[inline]
            #[target_feature(enable = $feature)]
            fn accumulate<const K: usize>(values: &[$real], lanes: &mut [$ops::Lanes]) {
                let groups = values.len() / LANES;
                let each = groups / K;
                let longer = LONGER[K.trailing_zeros() as usize][groups % K];
                let (mut place, ahead) = (0, ahead());
                for (i, lanes) in lanes.iter_mut().enumerate() {
                    if ahead != 0 {
                        fetch_ahead(&values[place..place + each * LANES], ahead);
                    }
                    // SAFETY: leaves lie in the slice, and this one has so many groups.
                    let mut sum = unsafe { $ops::load(values.as_ptr().add(place)) };
                    for number in 1..each {
                        let at = place + number * LANES;
                        // SAFETY: as above.
                        sum = $ops::add(sum, unsafe { $ops::load(values.as_ptr().add(at)) });
                    }
                    place += each * LANES;
                    if longer != 0 {
                        let is_longer = longer >> i & 1 == 1;
                        // SAFETY: as above; nothing is read unless there is one group more.
                        let more = unsafe { $ops::load_if(is_longer, values.as_ptr().add(place)) };
                        sum = $ops::add(sum, more);
                        place += LANES * usize::from(is_longer);
                    }
                    *lanes = sum;
                }
            }
        }
    };
}

vectors!(f64_by_eight, f64, "avx512f", wide_f64);
vectors!(f64_by_four, f64, "avx2", pair_f64);
vectors!(f32_by_eight, f32, "avx2", wide_f32);
