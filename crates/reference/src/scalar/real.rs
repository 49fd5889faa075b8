//! `float32` and `float64`, after NumPy's inner loops and npymath.

use crate::value::Val;
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};

/// What a primitive of floats gives.
pub(super) enum Given<R> {
    Float(R),
    Bool(bool),
    Exponent(i32),
}

impl<R> Given<R> {
    pub(super) fn into_val(self, float: impl Fn(R) -> Val) -> Val {
        match self {
            Given::Float(r) => float(r),
            Given::Bool(b) => Val::Bool(b),
            Given::Exponent(e) => Val::Int(DType::I32, i128::from(e)),
        }
    }
}

/// The functions that `float32` and `float64` bring along.
pub(super) trait Real:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    const HALF: Self;
    const NAN: Self;
    const LN_2: Self;
    const LOG2_E: Self;
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    fn is_sign_negative(self) -> bool;
    fn abs(self) -> Self;
    fn copysign(self, sign: Self) -> Self;
    fn floor(self) -> Self;
    fn ldexp(self, exponent: i32) -> Self;
    fn frexp(self) -> (Self, i32);
    /// The next number, away from zero or towards it. Zero steps to the smallest positive number.
    fn step(self, away: bool) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn sqrt(self) -> Self;
    /// `self * factor + term`, rounded once.
    fn mul_add(self, factor: Self, term: Self) -> Self;
    /// Itself times a small whole number.
    fn times(self, n: i16) -> Self;
    /// The functions of one number that are nothing but a call.
    fn call(self, prim: Prim) -> Option<Self>;
    /// The functions of two numbers that are nothing but a call.
    fn call2(self, prim: Prim, other: Self) -> Option<Self>;
}

macro_rules! real {
    ($t:ident, $bits:ty, $ldexp:path, $frexp:path, $asinh:path, $acosh:path, $atanh:path) => {
        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const HALF: $t = 0.5;
            const NAN: $t = $t::NAN;
            const LN_2: $t = std::$t::consts::LN_2;
            const LOG2_E: $t = std::$t::consts::LOG2_E;
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            fn is_infinite(self) -> bool {
                self.is_infinite()
            }
            fn is_sign_negative(self) -> bool {
                self.is_sign_negative()
            }
            fn abs(self) -> $t {
                self.abs()
            }
            fn copysign(self, sign: $t) -> $t {
                self.copysign(sign)
            }
            fn floor(self) -> $t {
                self.floor()
            }
            fn ldexp(self, exponent: i32) -> $t {
                $ldexp(self, exponent)
            }
            fn frexp(self) -> ($t, i32) {
                if self == 0.0 || !self.is_finite() {
                    return (self, 0);
                }
                $frexp(self)
            }
            fn step(self, away: bool) -> $t {
                if self == 0.0 {
                    return $t::from_bits(1);
                }
                let bits = self.to_bits();
                $t::from_bits(if away { bits + 1 } else { bits - 1 })
            }
            fn sqrt(self) -> $t {
                self.sqrt()
            }
            fn mul_add(self, factor: $t, term: $t) -> $t {
                self.mul_add(factor, term)
            }
            fn times(self, n: i16) -> $t {
                self * $t::from(n)
            }
            fn hypot(self, other: $t) -> $t {
                self.hypot(other)
            }
            fn call(self, prim: Prim) -> Option<$t> {
                Some(match prim {
                    Prim::Sqrt => self.sqrt(),
                    Prim::Cbrt => self.cbrt(),
                    Prim::Rint => self.round_ties_even(),
                    Prim::Floor => self.floor(),
                    Prim::Ceil => self.ceil(),
                    Prim::Trunc | Prim::ModfInt => self.trunc(),
                    Prim::Exp => self.exp(),
                    Prim::Exp2 => self.exp2(),
                    Prim::Expm1 => self.exp_m1(),
                    Prim::Log => self.ln(),
                    Prim::Log2 => self.log2(),
                    Prim::Log10 => self.log10(),
                    Prim::Log1p => self.ln_1p(),
                    Prim::Sin => self.sin(),
                    Prim::Cos => self.cos(),
                    Prim::Tan => self.tan(),
                    Prim::Asin => self.asin(),
                    Prim::Acos => self.acos(),
                    Prim::Atan => self.atan(),
                    Prim::Sinh => self.sinh(),
                    Prim::Cosh => self.cosh(),
                    Prim::Tanh => self.tanh(),
                    Prim::Asinh => $asinh(self),
                    Prim::Acosh if self < 1.0 => $t::NAN,
                    Prim::Acosh => $acosh(self),
                    Prim::Atanh => $atanh(self),
                    _ => return None,
                })
            }
            fn call2(self, prim: Prim, other: $t) -> Option<$t> {
                Some(match prim {
                    Prim::Pow | Prim::FloatPow => self.powf(other),
                    Prim::Atan2 => self.atan2(other),
                    Prim::Hypot => self.hypot(other),
                    Prim::CopySign => self.copysign(other),
                    _ => return None,
                })
            }
        }
    };
}

real!(
    f32,
    u32,
    libm::ldexpf,
    libm::frexpf,
    libm::asinhf,
    libm::acoshf,
    libm::atanhf
);
real!(
    f64,
    u64,
    libm::ldexp,
    libm::frexp,
    libm::asinh,
    libm::acosh,
    libm::atanh
);

pub(super) fn unary<R: Real>(prim: Prim, x: R) -> Option<Given<R>> {
    Some(Given::Float(match prim {
        Prim::Imag => R::ZERO,
        Prim::Neg => -x,
        Prim::Abs => x.abs(),
        Prim::Square => x * x,
        Prim::Reciprocal => R::ONE / x,
        Prim::Sign if x > R::ZERO => R::ONE,
        Prim::Sign if x < R::ZERO => -R::ONE,
        Prim::Sign if x == R::ZERO => R::ZERO,
        Prim::Conj | Prim::Real | Prim::Sign => x,
        Prim::Spacing => spacing(x),
        Prim::FrexpMant => x.frexp().0,
        Prim::ModfFrac if x.is_infinite() => R::ZERO.copysign(x),
        Prim::ModfFrac => (x % R::ONE).copysign(x),
        Prim::SignBit => return Some(Given::Bool(x.is_sign_negative())),
        Prim::IsNan => return Some(Given::Bool(x.is_nan())),
        Prim::IsInf => return Some(Given::Bool(x.is_infinite())),
        Prim::IsFinite => return Some(Given::Bool(!x.is_nan() && !x.is_infinite())),
        Prim::FrexpExp => return Some(Given::Exponent(x.frexp().1)),
        _ => x.call(prim)?,
    }))
}

pub(super) fn binary<R: Real>(prim: Prim, a: R, b: R) -> Option<Given<R>> {
    let pick = |left: bool| if left { a } else { b };
    Some(Given::Float(match prim {
        Prim::Add => a + b,
        Prim::Sub => a - b,
        Prim::Mul => a * b,
        Prim::Div => a / b,
        Prim::FloorDiv if b == R::ZERO => a / b,
        Prim::FloorDiv => divmod(a, b).0,
        Prim::Rem if b == R::ZERO => a % b,
        Prim::Rem => divmod(a, b).1,
        Prim::Fmod => a % b,
        Prim::Min => pick(a < b || a.is_nan()),
        Prim::Max => pick(a > b || a.is_nan()),
        Prim::Fmin => pick(a < b || b.is_nan()),
        Prim::Fmax => pick(a > b || b.is_nan()),
        Prim::Eq => return Some(Given::Bool(a == b)),
        Prim::Ne => return Some(Given::Bool(a != b)),
        Prim::Lt => return Some(Given::Bool(a < b)),
        Prim::Le => return Some(Given::Bool(a <= b)),
        Prim::NextAfter => next_after(a, b),
        Prim::LogAddExp => log_add_exp(a, b, Prim::Exp)?,
        Prim::LogAddExp2 => log_add_exp(a, b, Prim::Exp2)?,
        _ => a.call2(prim, b)?,
    }))
}

/// Quotient rounded down and remainder, for a divisor that is not zero: `npy_divmod`.
fn divmod<R: Real>(a: R, b: R) -> (R, R) {
    let mut rest = a % b;
    let mut quotient = (a - rest) / b;
    if rest == R::ZERO {
        rest = R::ZERO.copysign(b);
    } else if (b < R::ZERO) != (rest < R::ZERO) {
        rest = rest + b;
        quotient = quotient - R::ONE;
    }
    if quotient == R::ZERO {
        return (R::ZERO.copysign(a / b), rest);
    }
    let down = quotient.floor();
    let near = if quotient - down > R::HALF {
        down + R::ONE
    } else {
        down
    };
    (near, rest)
}

fn spacing<R: Real>(x: R) -> R {
    if x.is_nan() || x.is_infinite() {
        return R::NAN;
    }
    x.step(true) - x
}

fn next_after<R: Real>(a: R, b: R) -> R {
    if a.is_nan() || b.is_nan() {
        return a + b;
    }
    if a == b {
        return b;
    }
    if a == R::ZERO {
        return a.step(true).copysign(b);
    }
    a.step((a > R::ZERO) == (b > a))
}

/// `npy_logaddexp` and `npy_logaddexp2`.
fn log_add_exp<R: Real>(a: R, b: R, power: Prim) -> Option<R> {
    let natural = power == Prim::Exp;
    if a == b {
        // Equal infinities: their difference is no number.
        return Some(a + if natural { R::LN_2 } else { R::ONE });
    }
    let gap = a - b;
    if gap.is_nan() {
        return Some(gap);
    }
    let (high, power) = (if gap > R::ZERO { a } else { b }, (-gap.abs()).call(power)?);
    let tail = power.call(Prim::Log1p)?;
    Some(high + if natural { tail } else { R::LOG2_E * tail })
}
