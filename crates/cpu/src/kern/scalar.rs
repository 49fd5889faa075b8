//! Real functions without a vectorised form: one value at a time, with the mathematics library.
//!
//! Inside NumPy its own loops take their place (`HostLoops`).

#![expect(
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "floats are taken apart into bit fields of known width; comparisons are exact by intent"
)]

use super::Kern;
use super::binary::{Bin, Splat, once as once2};
use super::clib::CLib;
use super::unary::{Un, once};
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use num_traits::Float;

/// `f32` and `f64`.
pub(super) trait Real: Float + CLib + 'static {
    /// A constant.
    fn from_small(x: f64) -> Self;
    /// True for the NaN that stands for no value in a fold.
    fn is_unset(self) -> bool;
    /// To the nearest whole number, halves to even.
    fn rint(self) -> Self;
    /// The next number towards `to`.
    fn next(self, to: Self) -> Self;
}

macro_rules! real {
    ($t:ty, $unset:expr) => {
        impl Real for $t {
            #[inline(always)]
            fn from_small(x: f64) -> $t {
                x as $t
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
        }
    };
}

real!(f32, UNSET_SINGLE);
real!(f64, UNSET_DOUBLE);

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
    ModfFrac |x| if x.is_infinite() { T::zero().copysign(x) } else { (x - x.trunc()).copysign(x) };
    ModfInt |x| x.trunc();
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

fn typed<T: Real>(prim: Prim) -> Option<Kern> {
    match prim {
        Prim::Asinh => Some(once::<Asinh, T>()),
        Prim::Acosh => Some(once::<Acosh, T>()),
        Prim::Atanh => Some(once::<Atanh, T>()),
        Prim::Spacing => Some(once::<Spacing, T>()),
        Prim::ModfFrac => Some(once::<ModfFrac, T>()),
        Prim::ModfInt => Some(once::<ModfInt, T>()),
        Prim::FloorDiv => once2::<FloorDiv, T>(Splat::No),
        Prim::Rem => once2::<Rem, T>(Splat::No),
        Prim::Fmod => once2::<Fmod, T>(Splat::No),
        Prim::NextAfter => once2::<NextAfter, T>(Splat::No),
        Prim::LogAddExp => once2::<LogAddExp, T>(Splat::No),
        Prim::LogAddExp2 => once2::<LogAddExp2, T>(Splat::No),
        _ => None,
    }
}

/// The kernel of a primitive on operands of type `first`.
pub(super) fn find(prim: Prim, first: DType) -> Option<Kern> {
    match first {
        DType::F32 => typed::<f32>(prim),
        DType::F64 => typed::<f64>(prim),
        _ => None,
    }
}
