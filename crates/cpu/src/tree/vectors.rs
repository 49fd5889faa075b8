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

use super::{LANES, LEAF, Sum, add};
use crate::Isa;
use crate::isa::ahead;
use crate::kern::{Kern, fetch_ahead, tile, tile_mut};
use arrayloom_plan::tree_split;

/// The kernel for subtrees of `f64`, if the processor has one.
pub(super) fn double(complex: bool, isa: Isa) -> Option<Kern> {
    match (isa, complex) {
        (Isa::Baseline, _) => None,
        (Isa::Avx2, false) => Some(f64_by_four::subtree::<false>),
        (Isa::Avx2, true) => Some(f64_by_four::subtree::<true>),
        (Isa::Avx512, false) => Some(f64_by_eight::subtree::<false>),
        (Isa::Avx512, true) => Some(f64_by_eight::subtree::<true>),
    }
}

/// The kernel for subtrees of `f32`, if the processor has one.
pub(super) fn single(complex: bool, isa: Isa) -> Option<Kern> {
    match (isa, complex) {
        (Isa::Baseline, _) => None,
        (_, false) => Some(f32_by_eight::subtree::<false>),
        (_, true) => Some(f32_by_eight::subtree::<true>),
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

            /// The sums of `K` leaves.
            #[inline]
            #[target_feature(enable = $feature)]
            fn leaves<const K: usize, const COMPLEX: bool>(values: &[$real]) -> [Sum<$real>; 8] {
                let groups = values.len() / LANES;
                let each = groups / K;
                let longer = LONGER[K.trailing_zeros() as usize][groups % K];
                let (mut lanes, mut place, ahead) = ([$ops::zero(); 8], 0, ahead());
                for (i, lanes) in lanes[..K].iter_mut().enumerate() {
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
                // All of them are wanted: what fills places that nobody reads might overflow.
                let mut totals = if COMPLEX {
                    std::hint::black_box($ops::pair_totals(&lanes))
                } else {
                    std::hint::black_box($ops::totals(&lanes)).map(|total| [total, 0.0])
                };
                // All leaves but the last are whole groups.
                totals[K - 1] = behind::<COMPLEX>(totals[K - 1], &values[groups * LANES..]);
                totals
            }
        }
    };
}

vectors!(f64_by_eight, f64, "avx512f", wide_f64);
vectors!(f64_by_four, f64, "avx2", pair_f64);
vectors!(f32_by_eight, f32, "avx2", wide_f32);

/// Eight `f64` in one register.
mod wide_f64 {
    use std::arch::x86_64::{
        __m512d, _mm512_add_pd, _mm512_loadu_pd, _mm512_mask_loadu_pd, _mm512_set1_pd,
        _mm512_setzero_pd, _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd,
        _mm512_unpacklo_pd,
    };

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn zero() -> __m512d {
        _mm512_setzero_pd()
    }

    /// # Safety
    /// Eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load(from: *const f64) -> __m512d {
        // SAFETY: promised by the caller.
        unsafe { _mm512_loadu_pd(from) }
    }

    /// Elements, or -0.0, which changes no sum.
    ///
    /// # Safety
    /// If `is_there`, eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn load_if(is_there: bool, from: *const f64) -> __m512d {
        let (none, mask) = (_mm512_set1_pd(-0.0), u8::from(is_there).wrapping_neg());
        // SAFETY: promised by the caller; elements outside of the mask are not read.
        unsafe { _mm512_mask_loadu_pd(none, mask, from) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn add(a: __m512d, b: __m512d) -> __m512d {
        _mm512_add_pd(a, b)
    }

    /// Sums of neighbours of two vectors, in turns.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn pairs(a: __m512d, b: __m512d) -> __m512d {
        _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
    }

    /// Sums of the even and the odd quarters of two vectors.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn quarters(a: __m512d, b: __m512d) -> __m512d {
        let even = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, b);
        _mm512_add_pd(even, _mm512_shuffle_f64x2::<0b11_01_11_01>(a, b))
    }

    /// For each of eight vectors, the sum of its eight elements in NumPy's order.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn totals(v: &[__m512d; 8]) -> [f64; 8] {
        let low = quarters(pairs(v[0], v[1]), pairs(v[2], v[3]));
        let high = quarters(pairs(v[4], v[5]), pairs(v[6], v[7]));
        let (all, mut totals) = (quarters(low, high), [0.0; 8]);
        // SAFETY: room for eight elements.
        unsafe { _mm512_storeu_pd(totals.as_mut_ptr(), all) };
        totals
    }

    /// For each of eight vectors, the sum of its four pairs.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn pair_totals(v: &[__m512d; 8]) -> [[f64; 2]; 8] {
        let mut totals = [[0.0; 2]; 8];
        for (v, totals) in v.chunks_exact(4).zip(totals.chunks_exact_mut(4)) {
            let four = quarters(quarters(v[0], v[1]), quarters(v[2], v[3]));
            // SAFETY: room for eight elements.
            unsafe { _mm512_storeu_pd(totals.as_mut_ptr().cast(), four) };
        }
        totals
    }
}

/// Eight `f64` in two registers.
mod pair_f64 {
    use std::arch::x86_64::{
        __m128d, __m256d, _mm_add_pd, _mm_hadd_pd, _mm_storeu_pd, _mm256_add_pd, _mm256_blendv_pd,
        _mm256_castpd256_pd128, _mm256_castsi256_pd, _mm256_extractf128_pd, _mm256_hadd_pd,
        _mm256_loadu_pd, _mm256_maskload_pd, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setzero_pd,
    };

    type Pair = [__m256d; 2];

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> Pair {
        [_mm256_setzero_pd(); 2]
    }

    /// # Safety
    /// Eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load(from: *const f64) -> Pair {
        // SAFETY: promised by the caller.
        let first = unsafe { _mm256_loadu_pd(from) };
        // SAFETY: as above.
        [first, unsafe { _mm256_loadu_pd(from.wrapping_add(4)) }]
    }

    /// Elements, or -0.0, which changes no sum.
    ///
    /// # Safety
    /// If `is_there`, eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load_if(is_there: bool, from: *const f64) -> Pair {
        let mask = _mm256_set1_epi64x(-i64::from(is_there));
        // SAFETY: promised by the caller; elements outside of the mask are not read.
        let first = unsafe { _mm256_maskload_pd(from, mask) };
        // SAFETY: as above.
        let second = unsafe { _mm256_maskload_pd(from.wrapping_add(4), mask) };
        let (none, mask) = (_mm256_set1_pd(-0.0), _mm256_castsi256_pd(mask));
        [
            _mm256_blendv_pd(none, first, mask),
            _mm256_blendv_pd(none, second, mask),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add(a: Pair, b: Pair) -> Pair {
        [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])]
    }

    /// For each of eight vectors, the sum of its eight elements in NumPy's order.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn totals(v: &[Pair; 8]) -> [f64; 8] {
        let mut totals = [0.0; 8];
        for (v, totals) in v.chunks_exact(2).zip(totals.chunks_exact_mut(2)) {
            let mut halves = [_mm256_castpd256_pd128(v[0][0]); 2];
            for (half, v) in halves.iter_mut().zip(v) {
                *half = pairs(_mm256_hadd_pd(v[0], v[1]));
            }
            let two = _mm_hadd_pd(halves[0], halves[1]);
            // SAFETY: room for two elements.
            unsafe { _mm_storeu_pd(totals.as_mut_ptr(), two) };
        }
        totals
    }

    /// Sum of the two pairs of a register.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn pairs(v: __m256d) -> __m128d {
        _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v))
    }

    /// For each of eight vectors, the sum of its four pairs.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pair_totals(v: &[Pair; 8]) -> [[f64; 2]; 8] {
        let mut totals = [[0.0; 2]; 8];
        for (v, total) in v.iter().zip(&mut totals) {
            let all = _mm_add_pd(pairs(v[0]), pairs(v[1]));
            // SAFETY: room for two elements.
            unsafe { _mm_storeu_pd(total.as_mut_ptr(), all) };
        }
        totals
    }
}

/// Eight `f32` in one register.
mod wide_f32 {
    use std::arch::x86_64::{
        __m256, _mm_add_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setzero_ps, _mm_storeu_ps,
        _mm256_add_ps, _mm256_blendv_ps, _mm256_castps256_ps128, _mm256_castsi256_ps,
        _mm256_extractf128_ps, _mm256_hadd_ps, _mm256_loadu_ps, _mm256_maskload_ps,
        _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps,
    };

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn zero() -> __m256 {
        _mm256_setzero_ps()
    }

    /// # Safety
    /// Eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load(from: *const f32) -> __m256 {
        // SAFETY: promised by the caller.
        unsafe { _mm256_loadu_ps(from) }
    }

    /// Elements, or -0.0, which changes no sum.
    ///
    /// # Safety
    /// If `is_there`, eight elements may be read.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn load_if(is_there: bool, from: *const f32) -> __m256 {
        let mask = _mm256_set1_epi32(-i32::from(is_there));
        // SAFETY: promised by the caller; elements outside of the mask are not read.
        let read = unsafe { _mm256_maskload_ps(from, mask) };
        _mm256_blendv_ps(_mm256_set1_ps(-0.0), read, _mm256_castsi256_ps(mask))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }

    /// For each of eight vectors, the sum of its eight elements in NumPy's order.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn totals(v: &[__m256; 8]) -> [f32; 8] {
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

    /// For each of eight vectors, the sum of its four pairs.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn pair_totals(v: &[__m256; 8]) -> [[f32; 2]; 8] {
        let mut totals = [[0.0; 2]; 8];
        for (v, totals) in v.chunks_exact(2).zip(totals.chunks_exact_mut(2)) {
            let mut halves = [_mm_setzero_ps(); 2];
            for (half, &v) in halves.iter_mut().zip(v) {
                let (low, high) = (_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
                let (even, odd) = (_mm_movelh_ps(low, high), _mm_movehl_ps(high, low));
                *half = _mm_add_ps(even, odd);
            }
            let (first, second) = (
                _mm_movelh_ps(halves[0], halves[1]),
                _mm_movehl_ps(halves[1], halves[0]),
            );
            let two = _mm_add_ps(first, second);
            // SAFETY: room for four elements.
            unsafe { _mm_storeu_ps(totals.as_mut_ptr().cast(), two) };
        }
        totals
    }
}
