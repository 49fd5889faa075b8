//! Mantissas and exponents: `frexp` and `ldexp`, without branches, so that they become vectors.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "floats are taken apart into bit fields of known width"
)]

use super::unary::{Un, one};
use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use std::marker::PhantomData;

/// `f32` and `f64`.
trait Parts: Copy {
    /// Mantissa in [0.5, 1) and exponent.
    fn frexp(self) -> (Self, i32);
    /// `self * 2^count`, rounded once.
    fn scale(self, count: i64) -> Self;
}

macro_rules! parts {
    ($t:ty, $bits:ty, $width:expr, $mantissa:expr, $bias:expr) => {
        impl Parts for $t {
            #[inline(always)]
            fn frexp(self) -> ($t, i32) {
                let whole = self == 0.0 || self.is_nan() || self.is_infinite();
                let tiny = self.abs() < <$t>::MIN_POSITIVE;
                // Large numbers must not overflow here, though the result would not be used.
                let raised = (if tiny { self } else { 0.0 }) * (1u64 << 60) as $t;
                let bits = if tiny { raised } else { self }.to_bits();
                let field: $bits = (1 << ($width - 1 - $mantissa)) - 1;
                let half: $bits = $bias - 1;
                let mantissa = <$t>::from_bits(bits & !(field << $mantissa) | half << $mantissa);
                let exponent = (bits >> $mantissa & field) as i32 - half as i32;
                let exponent = exponent - if tiny { 60 } else { 0 };
                (
                    if whole { self } else { mantissa },
                    if whole { 0 } else { exponent },
                )
            }

            #[inline(always)]
            fn scale(self, count: i64) -> $t {
                let power = |n: i64| <$t>::from_bits(((n + $bias) as $bits) << $mantissa);
                let (top, bottom) = ($bias, 1 - $bias);
                // Steps downwards end with a whole mantissa to spare: only the last one rounds.
                let low = bottom + $mantissa;
                let mut left = count.clamp(2 * low + bottom, 3 * top);
                let mut x = self;
                for _ in 0..2 {
                    let up = if left > top { top } else { 0 };
                    let step = if left < bottom {
                        (left - bottom).max(low)
                    } else {
                        up
                    };
                    x *= power(step);
                    left -= step;
                }
                x * power(left)
            }
        }
    };
}

parts!(f32, u32, 32, 23, 127);
parts!(f64, u64, 64, 52, 1023);

struct Mantissa;
impl<T: Parts> Un<T> for Mantissa {
    type R = T;
    #[inline(always)]
    fn f(x: T) -> T {
        x.frexp().0
    }
}

struct Exponent;
impl<T: Parts> Un<T> for Exponent {
    type R = i32;
    #[inline(always)]
    fn f(x: T) -> i32 {
        x.frexp().1
    }
}

/// `a * 2^b` with whole `b`.
struct Ldexp<T, B>(PhantomData<(T, B)>);

impl<T: Parts, B: Copy + Into<i64>> Body for Ldexp<T, B> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<B>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        for ((o, &x), &count) in out.iter_mut().zip(a).zip(b) {
            *o = x.scale(count.into());
        }
        0
    }
}

fn typed<T: Parts>(prim: Prim, second: DType, isa: Isa) -> Option<Kern> {
    match prim {
        Prim::FrexpMant => Some(one::<Mantissa, T>(isa)),
        Prim::FrexpExp => Some(one::<Exponent, T>(isa)),
        Prim::Ldexp if second == DType::I32 => Some(pick::<Ldexp<T, i32>>(isa)),
        Prim::Ldexp if second == DType::I64 => Some(pick::<Ldexp<T, i64>>(isa)),
        _ => None,
    }
}

/// The kernel of a primitive on operands of types `first` and `second`.
pub(super) fn find(prim: Prim, first: DType, second: DType, isa: Isa) -> Option<Kern> {
    match first {
        DType::F32 => typed::<f32>(prim, second, isa),
        DType::F64 => typed::<f64>(prim, second, isa),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of all kinds of numbers.
    fn doubles() -> Vec<f64> {
        let ends = [0, 1, 0x000f_ffff_ffff_ffff, 0x0010_0000_0000_0000];
        let special = [
            0x7fef_ffff_ffff_ffff,
            0x7ff0_0000_0000_0000,
            0x7ff8_0000_0000_0000,
        ];
        let spread = (0..2000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
        let all = ends.into_iter().chain(special).chain(spread);
        let signed = all.flat_map(|bits| [bits, bits | 1 << 63]);
        signed.map(f64::from_bits).collect()
    }

    #[test]
    fn parts_are_those_of_the_c_library() {
        for x in doubles() {
            let (mantissa, exponent) = x.frexp();
            let (expected, of) = libm::frexp(x);
            let of = if x == 0.0 || !x.is_finite() { 0 } else { of };
            assert_eq!(mantissa.to_bits(), expected.to_bits(), "{x:e}");
            assert_eq!(exponent, of, "{x:e}");
            let single = x as f32;
            let (mantissa, exponent) = single.frexp();
            let (expected, of) = libm::frexpf(single);
            let of = if single == 0.0 || !single.is_finite() {
                0
            } else {
                of
            };
            assert_eq!(
                (mantissa.to_bits(), exponent),
                (expected.to_bits(), of),
                "{single:e}"
            );
        }
    }

    #[test]
    fn powers_are_those_of_the_c_library() {
        let counts = (-2300..2300)
            .step_by(7)
            .chain([i32::MIN, -53, -52, -1, 0, 1, i32::MAX]);
        for count in counts {
            for x in doubles().into_iter().step_by(11) {
                let (own, expected) = (x.scale(count.into()), libm::scalbn(x, count));
                assert_eq!(own.to_bits(), expected.to_bits(), "{x:e} by {count}");
                let x = x as f32;
                let (own, expected) = (x.scale(count.into()), libm::scalbnf(x, count));
                assert_eq!(own.to_bits(), expected.to_bits(), "{x:e} by {count}");
            }
        }
    }
}
