//! Sums of subtrees of a few leaves with vectors: the eight accumulators of a leaf are one vector, those
//! of up to eight leaves run side by side.
//!
//! The compiler makes scalars of the same loops in `tree`, which is several times slower.

#![expect(
    unsafe_code,
    reason = "vectors are read at places inside of a slice, by functions for one instruction set"
)]

use super::{LANES, LEAF, is_eight};
use crate::Isa;
use crate::kern::{Kern, fetch_line, tile, tile_mut};
use arrayloom_plan::tree_split;
use std::arch::x86_64::{
    __m256, __m512d, _mm_add_ps, _mm_storeu_ps, _mm256_add_ps, _mm256_castps256_ps128,
    _mm256_extractf128_ps, _mm256_hadd_ps, _mm256_loadu_ps, _mm256_setzero_ps, _mm512_add_pd,
    _mm512_loadu_pd, _mm512_setzero_pd, _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd,
    _mm512_unpacklo_pd,
};

/// The kernel for subtrees of `f64`, if the processor has one.
pub(super) fn double(isa: Isa) -> Option<Kern> {
    (isa == Isa::Avx512).then_some(f64_vectors::subtree as Kern)
}

/// The kernel for subtrees of `f32`, if the processor has one.
pub(super) fn single(isa: Isa) -> Option<Kern> {
    (isa >= Isa::Avx2).then_some(f32_vectors::subtree as Kern)
}

/// True when a subtree of `n` values has `leaves` leaves (a power of two), all splits equally deep.
fn is_perfect(n: usize, leaves: usize) -> bool {
    let mut smallest = n;
    for _ in 1..leaves.trailing_zeros() {
        smallest = tree_split(smallest).unwrap_or(0);
    }
    smallest > LEAF && n <= leaves * (LEAF - 2 * LANES)
}

/// Where the leaves of such a subtree start and end.
fn bounds<const K: usize>(n: usize) -> [usize; 9] {
    let mut bounds = [0; 9];
    bounds[K] = n;
    let mut step = K;
    while step > 1 {
        for at in (0..K).step_by(step) {
            let part = bounds[at + step] - bounds[at];
            bounds[at + step / 2] = bounds[at] + tree_split(part).unwrap_or(part);
        }
        step /= 2;
    }
    bounds
}

/// Sums of neighbours of two vectors, in turns.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_f64(a: __m512d, b: __m512d) -> __m512d {
    _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
}

/// Sums of the even and the odd quarters of two vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters_f64(a: __m512d, b: __m512d) -> __m512d {
    let even = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, b);
    _mm512_add_pd(even, _mm512_shuffle_f64x2::<0b11_01_11_01>(a, b))
}

/// For each of eight vectors, the sum of its eight elements in NumPy's order.
#[inline]
#[target_feature(enable = "avx512f")]
fn totals_f64(v: &[__m512d; 8]) -> [f64; 8] {
    let low = quarters_f64(pairs_f64(v[0], v[1]), pairs_f64(v[2], v[3]));
    let high = quarters_f64(pairs_f64(v[4], v[5]), pairs_f64(v[6], v[7]));
    let (all, mut totals) = (quarters_f64(low, high), [0.0; 8]);
    // SAFETY: room for eight elements.
    unsafe { _mm512_storeu_pd(totals.as_mut_ptr(), all) };
    totals
}

/// As `totals_f64`.
#[inline]
#[target_feature(enable = "avx2")]
fn totals_f32(v: &[__m256; 8]) -> [f32; 8] {
    let mut totals = [0.0; 8];
    for (v, totals) in v.chunks_exact(4).zip(totals.chunks_exact_mut(4)) {
        let halves = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
        let (low, high) = (
            _mm256_castps256_ps128(halves),
            _mm256_extractf128_ps::<1>(halves),
        );
        let four = _mm_add_ps(low, high);
        // SAFETY: room for four elements.
        unsafe { _mm_storeu_ps(totals.as_mut_ptr(), four) };
    }
    totals
}

/// The functions for one element type.
macro_rules! vectors {
    ($name:ident, $real:ty, $vector:ty, $feature:literal, $zero:ident, $load:ident, $add:ident, $totals:ident) => {
        mod $name {
            use super::*;

            /// Sums a subtree, see `tree::is_whole`.
            #[target_feature(enable = $feature)]
            pub(super) unsafe fn subtree(
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
                out.copy_from_slice(&[sum(values), 0.0]);
                0
            }

            /// A sum and the values behind it.
            #[inline]
            fn behind(mut sum: $real, values: &[$real]) -> $real {
                for &x in values {
                    sum += x;
                }
                sum
            }

            #[target_feature(enable = $feature)]
            fn sum(values: &[$real]) -> $real {
                let n = values.len();
                if n < LANES {
                    return behind(-0.0, values);
                }
                if n <= LEAF {
                    return leaves::<1>(values)[0];
                }
                if is_eight(n) {
                    let s = leaves::<8>(values);
                    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
                }
                if is_perfect(n, 4) {
                    let s = leaves::<4>(values);
                    return (s[0] + s[1]) + (s[2] + s[3]);
                }
                if is_perfect(n, 2) {
                    let s = leaves::<2>(values);
                    return s[0] + s[1];
                }
                let (left, right) = values.split_at(tree_split(n).unwrap_or(n));
                sum(left) + sum(right)
            }

            /// A group of eight elements of the leaf that starts at `start`; there must be so many.
            #[inline]
            #[target_feature(enable = $feature)]
            fn group(values: &[$real], start: usize, number: usize) -> $vector {
                let start = start + number * LANES;
                debug_assert!(start + LANES <= values.len(), "leaves lie in the slice");
                // SAFETY: eight elements of the slice: whoever calls counts the groups of the leaf.
                unsafe { $load(values.as_ptr().wrapping_add(start)) }
            }

            /// Asks for a line ahead of a group of eight elements, if one begins there.
            #[inline(always)]
            fn ahead(values: &[$real], number: usize) {
                const LINE: usize = 64 / size_of::<$real>();
                if (number * LANES).is_multiple_of(LINE) {
                    fetch_line(values.as_ptr().wrapping_add(number * LANES).cast());
                }
            }

            /// The sums of `K` leaves. As many lines are asked for ahead, a few at a time, so that memory is
            /// busy all along.
            #[inline]
            #[target_feature(enable = $feature)]
            fn leaves<const K: usize>(values: &[$real]) -> [$real; 8] {
                let bounds = bounds::<K>(values.len());
                // Loops, because closures are not compiled into the functions that call them here.
                let (mut groups, mut least) = ([0; K], usize::MAX);
                for (i, groups) in groups.iter_mut().enumerate() {
                    *groups = (bounds[i + 1] - bounds[i]) / LANES;
                    least = least.min(*groups);
                }
                let mut lanes = [$zero(); 8];
                for (i, lanes) in lanes[..K].iter_mut().enumerate() {
                    *lanes = group(values, bounds[i], 0);
                    ahead(values, i);
                }
                for number in 1..least {
                    for (i, lanes) in lanes[..K].iter_mut().enumerate() {
                        ahead(values, number * K + i);
                        *lanes = $add(*lanes, group(values, bounds[i], number));
                    }
                }
                for (i, lanes) in lanes[..K].iter_mut().enumerate() {
                    for number in least..groups[i] {
                        *lanes = $add(*lanes, group(values, bounds[i], number));
                    }
                }
                for number in least * K..values.len() / LANES {
                    ahead(values, number);
                }
                // All of them are wanted: what fills places that nobody reads might overflow.
                let mut totals = std::hint::black_box($totals(&lanes));
                // All leaves but the last are whole groups.
                let tail = &values[bounds[K - 1] + groups[K - 1] * LANES..];
                totals[K - 1] = behind(totals[K - 1], tail);
                totals
            }
        }
    };
}

vectors!(
    f64_vectors,
    f64,
    __m512d,
    "avx512f",
    _mm512_setzero_pd,
    _mm512_loadu_pd,
    _mm512_add_pd,
    totals_f64
);
vectors!(
    f32_vectors,
    f32,
    __m256,
    "avx2",
    _mm256_setzero_ps,
    _mm256_loadu_ps,
    _mm256_add_ps,
    totals_f32
);
