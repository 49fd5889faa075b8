//! Real functions without a vectorised form: one value at a time, with the mathematics library.
//!
//! Inside NumPy its own loops take their place (`HostLoops`).

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    reason = "floats are taken apart into bit fields of known width; comparisons are exact by intent"
)]

use super::binary::{Bin, Splat, once as once2};
use super::clib::CLib;
use super::unary::{Un, once};
use super::{Body, Kern, plain, tile, tile_mut};
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use num_traits::Float;
use std::marker::PhantomData;

/// `f32` and `f64`.
pub(super) trait Real: Float + CLib + 'static {
    /// A constant.
    fn from_small(x: f64) -> Self;
    /// A small whole number that is not negative.
    fn small_to_usize(self) -> usize;
    /// True for the NaN that stands for no value in a fold.
    fn is_unset(self) -> bool;
    /// To the nearest whole number, halves to even.
    fn rint(self) -> Self;
    /// The next number towards `to`.
    fn next(self, to: Self) -> Self;
    /// Mantissa in [0.5, 1) and exponent.
    fn frexp(self) -> (Self, i32);
    /// `self * 2^count`, rounded once.
    fn scale(self, count: i64) -> Self;
}

macro_rules! real {
    ($t:ty, $bits:ty, $mantissa:expr, $bias:expr, $unset:expr) => {
        impl Real for $t {
            #[inline(always)]
            fn from_small(x: f64) -> $t {
                x as $t
            }

            fn small_to_usize(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn is_unset(self) -> bool {
                self.to_bits() == $unset
            }

            fn rint(self) -> $t {
                self.round_ties_even()
            }

            fn next(self, to: $t) -> $t {
                if self.is_nan() || to.is_nan() {
                    self + to
                } else if self == to {
                    to
                } else if self == 0.0 {
                    <$t>::from_bits(1).copysign(to)
                } else if (self < to) == (self > 0.0) {
                    <$t>::from_bits(self.to_bits() + 1)
                } else {
                    <$t>::from_bits(self.to_bits() - 1)
                }
            }

            fn frexp(self) -> ($t, i32) {
                if self == 0.0 || !self.is_finite() {
                    return (self, 0);
                }
                let (x, less) = if self.is_normal() {
                    (self, 0)
                } else {
                    (self * (1u64 << 60) as $t, 60)
                };
                let field: $bits = (1 << (<$t>::BITS_ALL - 1 - $mantissa)) - 1;
                let exponent = (x.to_bits() >> $mantissa) & field;
                let rest = x.to_bits() & !(field << $mantissa);
                let half: $bits = $bias - 1;
                (
                    <$t>::from_bits(rest | half << $mantissa),
                    exponent as i32 - half as i32 - less,
                )
            }

            fn scale(self, count: i64) -> $t {
                let power = |n: i64| <$t>::from_bits(((n + $bias) as $bits) << $mantissa);
                let (top, low) = ($bias, 1 - $bias + $mantissa);
                let (mut x, mut left) = (self, count.clamp(-3 * $bias, 3 * $bias));
                while left > top {
                    x *= power(top);
                    left -= top;
                }
                // Steps that end with a whole mantissa to spare: only the last one rounds.
                while left < 1 - $bias {
                    let step = (left + $bias - 1).max(low);
                    x *= power(step);
                    left -= step;
                }
                x * power(left)
            }
        }
    };
}

/// The width of a float.
trait Width {
    const BITS_ALL: u32;
}
impl Width for f32 {
    const BITS_ALL: u32 = 32;
}
impl Width for f64 {
    const BITS_ALL: u32 = 64;
}

real!(f32, u32, 23, 127, UNSET_SINGLE);
real!(f64, u64, 52, 1023, UNSET_DOUBLE);

/// A NaN with bits that no operation makes: no value yet.
pub(super) const UNSET_SINGLE: u32 = 0x7fda_11e5;
/// The same for `float64`.
pub(super) const UNSET_DOUBLE: u64 = 0x7ffb_a11e_5eed_5eed;

/// Quotient rounded down and remainder with the sign of the divisor; `b` is not zero.
fn divmod<T: Real>(a: T, b: T) -> (T, T) {
    let (zero, one) = (T::zero(), T::one());
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == zero {
        rest = zero.copysign(b);
    } else if (b < zero) != (rest < zero) {
        rest = rest + b;
        quotient = quotient - one;
    }
    let down = if quotient == zero {
        zero.copysign(a / b)
    } else {
        let down = quotient.floor();
        if quotient - down > T::from_small(0.5) {
            down + one
        } else {
            down
        }
    };
    (down, rest)
}

/// `log(exp(a) + exp(b))` from `log(1 + exp(-|a - b|))` and `log 2`.
fn log_add<T: Real>(a: T, b: T, two: f64, tail: impl Fn(T) -> T) -> T {
    if a == b {
        return a + T::from_small(two);
    }
    let gap = a - b;
    if gap > T::zero() {
        a + tail(-gap)
    } else if gap <= T::zero() {
        b + tail(gap)
    } else {
        gap
    }
}

macro_rules! un {
    ($($op:ident |$x:ident| $e:expr;)*) => { $(
        struct $op;
        impl<T: Real> Un<T> for $op {
            type R = T;
            fn f($x: T) -> T { $e }
        }
    )* };
}

un! {
    Asinh |x| x.asinh_c();
    Acosh |x| x.acosh_c();
    Atanh |x| x.atanh_c();
    Spacing |x| if x.is_infinite() {
        T::nan()
    } else if x < T::zero() {
        x.next(T::neg_infinity()) - x
    } else {
        x.next(T::infinity()) - x
    };
    FrexpMant |x| x.frexp().0;
    ModfFrac |x| if x.is_infinite() { T::zero().copysign(x) } else { (x - x.trunc()).copysign(x) };
    ModfInt |x| x.trunc();
}

struct FrexpExp;
impl<T: Real> Un<T> for FrexpExp {
    type R = i32;
    fn f(x: T) -> i32 {
        x.frexp().1
    }
}

macro_rules! bin {
    ($($op:ident |$a:ident, $b:ident| $e:expr;)*) => { $(
        struct $op;
        impl<T: Real> Bin<T> for $op {
            type R = T;
            fn f($a: T, $b: T) -> T { $e }
        }
    )* };
}

bin! {
    FloorDiv |a, b| if b == T::zero() { a / b } else { divmod(a, b).0 };
    Rem |a, b| if b == T::zero() { a % b } else { divmod(a, b).1 };
    Fmod |a, b| a % b;
    NextAfter |a, b| a.next(b);
    LogAddExp |a, b| log_add(a, b, std::f64::consts::LN_2, |gap| gap.exp().ln_1p());
    LogAddExp2 |a, b| log_add(a, b, 1.0, |gap| {
        T::from_small(std::f64::consts::LOG2_E) * gap.exp2().ln_1p()
    });
}

/// `a * 2^b` with whole `b`.
struct Ldexp<T, B>(PhantomData<(T, B)>);

impl<T: Real, B: Copy + Into<i64>> Body for Ldexp<T, B> {
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

fn typed<T: Real>(prim: Prim, second: DType) -> Option<Kern> {
    match prim {
        Prim::Asinh => Some(once::<Asinh, T>()),
        Prim::Acosh => Some(once::<Acosh, T>()),
        Prim::Atanh => Some(once::<Atanh, T>()),
        Prim::Spacing => Some(once::<Spacing, T>()),
        Prim::FrexpMant => Some(once::<FrexpMant, T>()),
        Prim::FrexpExp => Some(once::<FrexpExp, T>()),
        Prim::ModfFrac => Some(once::<ModfFrac, T>()),
        Prim::ModfInt => Some(once::<ModfInt, T>()),
        Prim::FloorDiv => once2::<FloorDiv, T>(Splat::No),
        Prim::Rem => once2::<Rem, T>(Splat::No),
        Prim::Fmod => once2::<Fmod, T>(Splat::No),
        Prim::NextAfter => once2::<NextAfter, T>(Splat::No),
        Prim::LogAddExp => once2::<LogAddExp, T>(Splat::No),
        Prim::LogAddExp2 => once2::<LogAddExp2, T>(Splat::No),
        Prim::Ldexp if second == DType::I32 => Some(plain::<Ldexp<T, i32>>()),
        Prim::Ldexp if second == DType::I64 => Some(plain::<Ldexp<T, i64>>()),
        _ => None,
    }
}

/// The kernel of a primitive on operands of types `first` and `second`.
pub(super) fn find(prim: Prim, first: DType, second: DType) -> Option<Kern> {
    match first {
        DType::F32 => typed::<f32>(prim, second),
        DType::F64 => typed::<f64>(prim, second),
        _ => None,
    }
}
