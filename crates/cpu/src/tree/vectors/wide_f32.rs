//! Eight `f32` in one register.

use std::arch::x86_64::{
    __m256, _mm_add_ps, _mm_movehl_ps, _mm_movelh_ps, _mm_setzero_ps, _mm_storeu_ps, _mm256_add_ps,
    _mm256_blendv_ps, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_extractf128_ps,
    _mm256_hadd_ps, _mm256_loadu_ps, _mm256_maskload_ps, _mm256_set1_epi32, _mm256_set1_ps,
    _mm256_setzero_ps,
};

/// The eight accumulators of a leaf.
pub(super) type Lanes = __m256;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn zero() -> Lanes {
    _mm256_setzero_ps()
}

/// # Safety
/// Eight elements may be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load(from: *const f32) -> Lanes {
    // SAFETY: promised by the caller.
    unsafe { _mm256_loadu_ps(from) }
}

/// Elements, or -0.0, which changes no sum.
///
/// # Safety
/// If `is_there`, eight elements may be read.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load_if(is_there: bool, from: *const f32) -> Lanes {
    let mask = _mm256_set1_epi32(-i32::from(is_there));
    // SAFETY: promised by the caller; elements outside of the mask are not read.
    let read = unsafe { _mm256_maskload_ps(from, mask) };
    _mm256_blendv_ps(_mm256_set1_ps(-0.0), read, _mm256_castsi256_ps(mask))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn add(a: Lanes, b: Lanes) -> Lanes {
    _mm256_add_ps(a, b)
}

/// For each of eight vectors, the sum of its eight elements in NumPy's order.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn totals(v: &[Lanes; 8]) -> [f32; 8] {
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
pub(super) fn pair_totals(v: &[Lanes; 8]) -> [[f32; 2]; 8] {
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
