//! Functions of complex numbers, `re + i im`.
//!
//! Each is made of functions of the parts; `docs/math.md` has how far results are from the exact ones.
//! Arguments with parts so large, small or endless that a step on the way would leave the normal numbers
//! are hard, and for the C library, which the caller has to ask.

use crate::angle::sin_cos;
use crate::exponential::reduce;
use crate::logarithm::of_sum;
use crate::pair::{choose, fast_two_sum, two_product};
use crate::{Atan2, Binary as _, ComplexUnary, Hypot, Unary as _, hyperbolic};
use std::f64::consts::{FRAC_PI_2, LOG2_E, LOG10_E, PI};

/// Angles that are reduced here.
const FAR: f64 = 1e9;
/// Exponents of e whose products with sines are normal numbers.
const STEEP: f64 = 650.0;
/// Smallest and largest sizes whose squares, and sums of two of them, keep all digits.
const SMALL: f64 = f64::from_bits((1023 - 450) << 52);
const LARGE: f64 = f64::from_bits((1023 + 500) << 52);

#[inline(always)]
fn within(x: f64, most: f64) -> bool {
    x.abs() <= most
}

/// The larger size of both parts, and the smaller one.
#[inline(always)]
fn sizes(re: f64, im: f64) -> (f64, f64) {
    let (x, y) = (re.abs(), im.abs());
    (choose(y > x, y, x), choose(y > x, x, y))
}

/// True when the squares of the parts, but for a zero, are far from the ends of the range.
#[inline(always)]
fn squares_are_normal(re: f64, im: f64) -> bool {
    let (long, short) = sizes(re, im);
    let fine = (long >= SMALL) & ((short >= SMALL) | (short == 0.0));
    // A NaN may stand in either part.
    fine & within(re, LARGE) & within(im, LARGE)
}

/// e to the z: `e^x (cos y + i sin y)`.
pub struct Exp;

impl ComplexUnary for Exp {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let size = reduce(re).exp();
        let (sin, cos) = sin_cos(im);
        (size * cos, size * sin)
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        !(within(re, STEEP) & within(im, FAR))
    }
}

/// `|z|^2` in two parts.
#[inline(always)]
fn square(re: f64, im: f64) -> (f64, f64) {
    let (long, short) = sizes(re, im);
    let (first, first_low) = two_product(long, long);
    let (second, second_low) = two_product(short, short);
    let (sum, low) = fast_two_sum(first, second);
    fast_two_sum(sum, low + (first_low + second_low))
}

/// Natural logarithm: `log |z| + i arg z`.
///
/// Half of the logarithm of the square, which is kept in two parts so that all digits are there near the
/// unit circle too.
pub struct Log;

impl ComplexUnary for Log {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let (sum, low) = square(re, im);
        let real = choose(re < 0.0, PI, 0.0);
        let axis = choose(im == 0.0, real, FRAC_PI_2).copysign(im);
        let angle = choose((re == 0.0) | (im == 0.0), axis, Atan2::easy(im, re));
        (0.5 * of_sum(sum, low), angle)
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        // Two parts do not suffice where nearly all digits cancel.
        let (sum, low) = square(re, im);
        let near = ((sum - 1.0) + low).abs();
        let cancels = (near < 1e-12) & (near != 0.0);
        let slanted = (re != 0.0) & (im != 0.0);
        !squares_are_normal(re, im) | cancels | (slanted & Atan2::hard(im, re))
    }
}

macro_rules! scaled {
    ($(#[$doc:meta] $name:ident $scale:expr;)*) => { $(
        #[$doc]
        pub struct $name;

        impl ComplexUnary for $name {
            #[inline(always)]
            fn easy(re: f64, im: f64) -> (f64, f64) {
                let (size, angle) = Log::easy(re, im);
                (size * $scale, angle * $scale)
            }

            #[inline(always)]
            fn hard(re: f64, im: f64) -> bool {
                Log::hard(re, im)
            }
        }
    )* };
}

scaled! {
    /// Logarithm to base 2: the natural one times a constant, as NumPy has it.
    Log2 LOG2_E;
    /// Logarithm to base 10, likewise.
    Log10 LOG10_E;
}

/// Square root with a real part that is not negative.
///
/// The larger part is the root of half of `|z| + |x|`, the other one follows from the product.
pub struct Sqrt;

impl ComplexUnary for Sqrt {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let long = (0.5 * (Hypot::easy(re, im) + re.abs())).sqrt();
        let short = im.abs() / (long + long);
        let right = re >= 0.0;
        let up = choose(right, short, long).copysign(im);
        (choose(right, long, short), up)
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        !squares_are_normal(re, im)
    }
}

/// Hyperbolic sine: `sinh x cos y + i cosh x sin y`.
pub struct Sinh;

impl ComplexUnary for Sinh {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(im);
        (
            hyperbolic::Sinh::easy(re) * cos,
            hyperbolic::Cosh::easy(re) * sin,
        )
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        Exp::hard(re, im)
    }
}

/// Hyperbolic cosine: `cosh x cos y + i sinh x sin y`.
pub struct Cosh;

impl ComplexUnary for Cosh {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let (sin, cos) = sin_cos(im);
        (
            hyperbolic::Cosh::easy(re) * cos,
            hyperbolic::Sinh::easy(re) * sin,
        )
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        Exp::hard(re, im)
    }
}

/// Hyperbolic tangent: with `t = tan y` and `s = sinh x`, both parts of
/// `((1 + t^2) s cosh x + i t) / (1 + (1 + t^2) s^2)`.
///
/// After W. Kahan, "Branch cuts for complex elementary functions" (1987).
pub struct Tanh;

impl ComplexUnary for Tanh {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        let t = crate::Tan::easy(im);
        let (s, cosh) = (hyperbolic::Sinh::easy(re), hyperbolic::Cosh::easy(re));
        let slope = t.mul_add(t, 1.0);
        let below = (slope * s).mul_add(s, 1.0);
        (slope * s * cosh / below, t / below)
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        !(within(re, 200.0) & within(im, FAR))
    }
}

macro_rules! turned {
    ($(#[$doc:meta] $name:ident $of:ident;)*) => { $(
        #[$doc]
        pub struct $name;

        impl ComplexUnary for $name {
            #[inline(always)]
            fn easy(re: f64, im: f64) -> (f64, f64) {
                let (down, right) = $of::easy(-im, re);
                (right, -down)
            }

            #[inline(always)]
            fn hard(re: f64, im: f64) -> bool {
                $of::hard(im, re)
            }
        }
    )* };
}

turned! {
    /// Sine: `-i sinh(i z)`.
    Sin Sinh;
    /// Tangent: `-i tanh(i z)`.
    Tan Tanh;
}

/// Cosine: `cosh(i z)`.
pub struct Cos;

impl ComplexUnary for Cos {
    #[inline(always)]
    fn easy(re: f64, im: f64) -> (f64, f64) {
        Cosh::easy(-im, re)
    }

    #[inline(always)]
    fn hard(re: f64, im: f64) -> bool {
        Cosh::hard(im, re)
    }
}
