//! Elementary functions without branches, for loops that the compiler vectorises.
//!
//! A function is written once, as plain arithmetic on one `f64`: additions, products, fused
//! multiply-adds, comparisons that choose. A loop around it becomes vector code of whatever instruction
//! set the loop is compiled for, and since every operation rounds as IEEE 754 says, all of them give the
//! same bits. `f32` is computed in `f64` and rounded once.
//!
//! No result is further from the exact one than 1 ulp (`f64`) or 0.501 ulp (`f32`); `docs/math.md` has
//! what was found for each function, `tests/` how it was found.
//!
//! What an easy element is, [`Unary::hard`] tells: the others (endless, huge, subnormal) are computed
//! one by one by [`Unary::rare`]. Conditions that the processor notes on the way mean nothing, as both
//! sides of every choice are computed; callers derive them from operand and result.

#![expect(
    clippy::inline_always,
    reason = "a function must be compiled inside the loop that enables the instruction set"
)]
#![expect(
    clippy::float_cmp,
    clippy::manual_range_contains,
    clippy::needless_bitwise_bool,
    clippy::neg_cmp_op_on_partial_ord,
    reason = "comparisons are exact, computed without branches, and say where NaN belongs"
)]

mod angle;
pub mod complex;
mod exponential;
mod hyperbolic;
mod inverse;
mod logarithm;
mod pair;
mod power;
mod root;

pub use angle::{Cos, Sin, Tan};
pub use exponential::{Exp, Exp2, Expm1};
pub use hyperbolic::{Cosh, Sinh, Tanh};
pub use inverse::{Acos, Asin, Atan, Atan2};
pub use logarithm::{Log, Log1p, Log2, Log10};
pub use power::Pow;
pub use root::{Cbrt, Hypot};

/// A function of one value.
pub trait Unary {
    /// It falls to zero where the exact value is not zero: such a zero is an underflow.
    const FADES: bool = false;

    /// The value, if `x` is not [`hard`](Unary::hard); a number without meaning otherwise.
    fn easy(x: f64) -> f64;

    /// True for what [`easy`](Unary::easy) cannot do.
    #[inline(always)]
    fn hard(_x: f64) -> bool {
        false
    }

    /// The value for what is hard.
    fn rare(x: f64) -> f64 {
        Self::easy(x)
    }

    /// True where the function has a pole: an infinite value there is a division by zero.
    #[inline(always)]
    fn pole(_x: f64) -> bool {
        false
    }

    /// The value.
    #[inline(always)]
    fn of(x: f64) -> f64 {
        if Self::hard(x) {
            Self::rare(x)
        } else {
            Self::easy(x)
        }
    }
}

/// A function of two values.
pub trait Binary {
    /// As [`Unary::FADES`].
    const FADES: bool = false;

    /// As [`Unary::easy`].
    fn easy(a: f64, b: f64) -> f64;

    /// As [`Unary::hard`].
    fn hard(a: f64, b: f64) -> bool;

    /// As [`Unary::rare`].
    fn rare(a: f64, b: f64) -> f64;

    /// As [`Unary::pole`].
    #[inline(always)]
    fn pole(_a: f64, _b: f64) -> bool {
        false
    }

    /// The value.
    #[inline(always)]
    fn of(a: f64, b: f64) -> f64 {
        if Self::hard(a, b) {
            Self::rare(a, b)
        } else {
            Self::easy(a, b)
        }
    }
}

/// A function of one complex number, `re + i im`.
pub trait ComplexUnary {
    /// Both parts of the value, if the number is not [`hard`](ComplexUnary::hard); numbers without
    /// meaning otherwise.
    fn easy(re: f64, im: f64) -> (f64, f64);

    /// True for what [`easy`](ComplexUnary::easy) cannot do. Parts of the value that are no normal
    /// numbers may be wrong as well, but for a zero of an argument on an axis.
    fn hard(re: f64, im: f64) -> bool;
}
