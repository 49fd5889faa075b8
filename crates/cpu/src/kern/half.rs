//! `float16` tiles to and from `float32` tiles. All other arithmetic on `float16` runs in `float32`.

#![expect(
    clippy::float_cmp,
    reason = "whether rounding was exact is what is asked"
)]

use super::binary::{self, Add, Bin, Fmax, Fmin, Max, Min, Mul, Splat};
use super::unary::{self, Un};
use super::{Body, Kern, plain, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::Prim;
use half::f16;

struct Widen;

impl Body for Widen {
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<f16>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<f32>(out, n) };
        for (o, x) in out.iter_mut().zip(a) {
            *o = x.to_f32();
        }
        0
    }
}

struct Narrow;

impl Body for Narrow {
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<f32>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<f16>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            *o = f16::from_f32(x);
        }
        0
    }
}

struct NarrowDouble;

impl Body for NarrowDouble {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<f64>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<f32>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            *o = to_odd(x);
        }
        0
    }
}

/// `x` in `float32`, rounded to odd: rounding the result to `float16` then rounds `x` once.
#[inline(always)]
fn to_odd(x: f64) -> f32 {
    #[expect(clippy::cast_possible_truncation, reason = "rounding is meant")]
    let near = x as f32;
    let back = f64::from(near);
    let bits = near.to_bits();
    if back == x || near.is_nan() || bits & 1 == 1 {
        near
    } else if back.abs().to_bits() > x.abs().to_bits() {
        // Compared as integers: vectors compare NaN, too, which as floats would be an invalid value.
        f32::from_bits(bits - 1)
    } else {
        f32::from_bits(bits + 1)
    }
}

/// `float64` to `float32`, so that a further step to `float16` rounds once.
pub(super) fn odd_from_double(isa: Isa) -> Kern {
    super::pick::<NarrowDouble>(isa)
}

/// `float16` to `float32`.
pub(crate) fn single_from_half(isa: Isa) -> Kern {
    #[cfg(target_arch = "x86_64")]
    if isa >= Isa::Avx2 {
        return f16c::widen;
    }
    let _ = isa;
    plain::<Widen>()
}

/// `float32` to `float16`.
pub(crate) fn half_from_single(isa: Isa) -> Kern {
    #[cfg(target_arch = "x86_64")]
    if isa >= Isa::Avx2 {
        return f16c::narrow;
    }
    let _ = isa;
    plain::<Narrow>()
}

/// The next number towards `to`.
fn next(x: f16, to: f16) -> f16 {
    if x.is_nan() || to.is_nan() {
        f16::NAN
    } else if x == to {
        x
    } else if x == f16::ZERO {
        f16::from_bits(1).copysign(to)
    } else if (x < to) == (x > f16::ZERO) {
        f16::from_bits(x.to_bits() + 1)
    } else {
        f16::from_bits(x.to_bits() - 1)
    }
}

struct Spacing;
impl Un<f16> for Spacing {
    type R = f16;
    fn f(x: f16) -> f16 {
        if x.is_infinite() {
            return f16::NAN;
        }
        // Up to the next larger number, unlike the wider floats.
        f16::from_f32(next(x, f16::INFINITY).to_f32() - x.to_f32())
    }
}

struct NextAfter;
impl Bin<f16> for NextAfter {
    type R = f16;
    fn f(x: f16, to: f16) -> f16 {
        next(x, to)
    }
}

/// The kernels that go by the steps of `float16` itself.
pub(super) fn stepping(prim: Prim) -> Option<Kern> {
    match prim {
        Prim::Spacing => Some(unary::once::<Spacing, f16>()),
        Prim::NextAfter => binary::once::<NextAfter, f16>(Splat::No),
        _ => None,
    }
}

macro_rules! folds {
    (|$a:ident, $b:ident| $first:ident $second:ident, $($op:ident)*) => { $(
        impl Bin<f16> for $op {
            type R = f16;
            #[inline]
            fn f($a: f16, $b: f16) -> f16 {
                f16::from_f32(<$op as Bin<f32>>::f($first.to_f32(), $second.to_f32()))
            }
        }
    )* };
}
folds!(|a, b| a b, Add Mul);
// The first of equal ones, where wider floats take the second.
folds!(|a, b| b a, Min Max Fmin Fmax);

#[cfg(target_arch = "x86_64")]
mod f16c {
    use crate::kern::{tile, tile_mut};
    use std::arch::x86_64::{
        __m128i, __m256, _MM_FROUND_TO_NEAREST_INT, _mm256_cvtph_ps, _mm256_cvtps_ph,
    };

    #[target_feature(enable = "avx2,f16c")]
    fn widen_8(x: [u16; 8]) -> [f32; 8] {
        // SAFETY: both are sixteen bytes of plain numbers.
        let packed = unsafe { std::mem::transmute::<[u16; 8], __m128i>(x) };
        let wide = _mm256_cvtph_ps(packed);
        // SAFETY: both are 32 bytes of plain numbers.
        unsafe { std::mem::transmute::<__m256, [f32; 8]>(wide) }
    }

    #[target_feature(enable = "avx2,f16c")]
    fn narrow_8(x: [f32; 8]) -> [u16; 8] {
        // SAFETY: both are 32 bytes of plain numbers.
        let wide = unsafe { std::mem::transmute::<[f32; 8], __m256>(x) };
        let packed = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
        // SAFETY: both are sixteen bytes of plain numbers.
        unsafe { std::mem::transmute::<__m128i, [u16; 8]>(packed) }
    }

    /// See [`super::single_from_half`]; a [`super::Kern`].
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn widen(
        a: *const u8,
        _: *const u8,
        _: *const u8,
        out: *mut u8,
        n: usize,
    ) -> u8 {
        // SAFETY: promised by the caller, see `Kern`.
        let (a, a_rest) = unsafe { tile::<u16>(a, n) }.as_chunks::<8>();
        // SAFETY: as above.
        let (out, out_rest) = unsafe { tile_mut::<f32>(out, n) }.as_chunks_mut::<8>();
        for (o, &x) in out.iter_mut().zip(a) {
            *o = widen_8(x);
        }
        let mut last = [0; 8];
        last[..a_rest.len()].copy_from_slice(a_rest);
        out_rest.copy_from_slice(&widen_8(last)[..a_rest.len()]);
        0
    }

    /// See [`super::half_from_single`]; a [`super::Kern`].
    #[target_feature(enable = "avx2,f16c")]
    pub(super) unsafe fn narrow(
        a: *const u8,
        _: *const u8,
        _: *const u8,
        out: *mut u8,
        n: usize,
    ) -> u8 {
        // SAFETY: promised by the caller, see `Kern`.
        let (a, a_rest) = unsafe { tile::<f32>(a, n) }.as_chunks::<8>();
        // SAFETY: as above.
        let (out, out_rest) = unsafe { tile_mut::<u16>(out, n) }.as_chunks_mut::<8>();
        for (o, &x) in out.iter_mut().zip(a) {
            *o = narrow_8(x);
        }
        let mut last = [0.0; 8];
        last[..a_rest.len()].copy_from_slice(a_rest);
        out_rest.copy_from_slice(&narrow_8(last)[..a_rest.len()]);
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_once() {
        // Just above the middle of two halves; by way of the nearest single it would go down.
        let x = 1.0 + f64::powi(2.0, -11) + f64::powi(2.0, -40);
        assert_eq!(f16::from_f32(to_odd(x)).to_bits(), 0x3c01);
        assert_eq!(f16::from_f32(to_odd(-x)).to_bits(), 0xbc01);
        assert!(to_odd(f64::NAN).is_nan());
        assert_eq!(f16::from_f32(to_odd(1e300)), f16::INFINITY);
        assert_eq!(to_odd(f64::INFINITY), f32::INFINITY);
    }
}
