//! Eight `f64` in two registers.

use std::arch::x86_64::{
    __m128d, __m256d, _mm_add_pd, _mm_hadd_pd, _mm_storeu_pd, _mm256_add_pd, _mm256_blendv_pd,
    _mm256_castpd256_pd128, _mm256_castsi256_pd, _mm256_extractf128_pd, _mm256_hadd_pd,
    _mm256_loadu_pd, _mm256_maskload_pd, _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setzero_pd,
};

/// The eight accumulators of a leaf.
pub(super) type Lanes = [__m256d; 2];

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn zero() -> Lanes {
    [_mm256_setzero_pd(); 2]
}

/// # Safety
/// Eight elements may be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load(from: *const f64) -> Lanes {
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
pub(super) unsafe fn load_if(is_there: bool, from: *const f64) -> Lanes {
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
pub(super) fn add(a: Lanes, b: Lanes) -> Lanes {
    [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])]
}

/// For each of eight vectors, the sum of its eight elements in NumPy's order.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn totals(v: &[Lanes; 8]) -> [f64; 8] {
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
pub(super) fn pair_totals(v: &[Lanes; 8]) -> [[f64; 2]; 8] {
    let mut totals = [[0.0; 2]; 8];
    for (v, total) in v.iter().zip(&mut totals) {
        let all = _mm_add_pd(pairs(v[0]), pairs(v[1]));
        // SAFETY: room for two elements.
        unsafe { _mm_storeu_pd(total.as_mut_ptr(), all) };
    }
    totals
}
