//! Eight `f64` in one register.

use std::arch::x86_64::{
    __m512d, _mm512_add_pd, _mm512_loadu_pd, _mm512_mask_loadu_pd, _mm512_set1_pd,
    _mm512_setzero_pd, _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd,
    _mm512_unpacklo_pd,
};

/// The eight accumulators of a leaf.
pub(super) type Lanes = __m512d;

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn zero() -> Lanes {
    _mm512_setzero_pd()
}

/// # Safety
/// Eight elements may be read.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load(from: *const f64) -> Lanes {
    // SAFETY: promised by the caller.
    unsafe { _mm512_loadu_pd(from) }
}

/// Elements, or -0.0, which changes no sum.
///
/// # Safety
/// If `is_there`, eight elements may be read.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn load_if(is_there: bool, from: *const f64) -> Lanes {
    let (none, mask) = (_mm512_set1_pd(-0.0), u8::from(is_there).wrapping_neg());
    // SAFETY: promised by the caller; elements outside of the mask are not read.
    unsafe { _mm512_mask_loadu_pd(none, mask, from) }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add(a: Lanes, b: Lanes) -> Lanes {
    _mm512_add_pd(a, b)
}

/// Sums of neighbours of two vectors, in turns.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs(a: Lanes, b: Lanes) -> Lanes {
    _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
}

/// Sums of the even and the odd quarters of two vectors.
#[inline]
#[target_feature(enable = "avx512f")]
fn quarters(a: Lanes, b: Lanes) -> Lanes {
    let even = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, b);
    _mm512_add_pd(even, _mm512_shuffle_f64x2::<0b11_01_11_01>(a, b))
}

/// For each of eight vectors, the sum of its eight elements in NumPy's order.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn totals(v: &[Lanes; 8]) -> [f64; 8] {
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
pub(super) fn pair_totals(v: &[Lanes; 8]) -> [[f64; 2]; 8] {
    let mut totals = [[0.0; 2]; 8];
    for (v, totals) in v.chunks_exact(4).zip(totals.chunks_exact_mut(4)) {
        let four = quarters(quarters(v[0], v[1]), quarters(v[2], v[3]));
        // SAFETY: room for eight elements.
        unsafe { _mm512_storeu_pd(totals.as_mut_ptr().cast(), four) };
    }
    totals
}
