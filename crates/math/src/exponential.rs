//! `exp`, `exp2`, `expm1`.
//!
//! `x = n ln 2 + r` with `|r|` up to half of `ln 2`, in two parts (Cody and Waite). `exp(r)` is its even
//! part plus its odd part, two polynomials in `r^2` fitted to the smallest largest error.

use crate::Unary;
use crate::pair::{
    LN_2, LOG2_E, WHOLE, choose, fast_two_sum, polynomial, power_of_two, two_product, two_sum,
};

/// `(sinh(r) - r) / r^3` in `r^2`.
const ODD: [f64; 5] = [
    0.166_666_666_666_666_77,
    0.008_333_333_333_321_489,
    0.000_198_412_698_864_733_41,
    2.755_724_386_885_963_3e-6,
    2.510_915_374_595_754_4e-8,
];

/// `(cosh(r) - 1 - r^2/2) / r^4` in `r^2`.
const EVEN: [f64; 5] = [
    0.041_666_666_666_666_685,
    0.001_388_888_888_887_330_3,
    2.480_158_734_911_928e-5,
    2.755_725_192_275_592e-7,
    2.092_172_917_821_570_6e-9,
];

/// `n ln 2 + high + low`.
#[derive(Clone, Copy)]
pub(crate) struct Reduced {
    /// `n`, rounded with [`WHOLE`].
    pub(crate) rounded: f64,
    pub(crate) high: f64,
    pub(crate) low: f64,
}

/// Takes multiples of `ln 2` from `x`.
#[inline(always)]
pub(crate) fn reduce(x: f64) -> Reduced {
    let rounded = x.mul_add(LOG2_E[0], WHOLE);
    let n = rounded - WHOLE;
    let near = n.mul_add(-LN_2[0], x);
    let high = n.mul_add(-LN_2[1], near);
    let low = n.mul_add(-LN_2[1], near - high);
    Reduced { rounded, high, low }
}

impl Reduced {
    /// With a part of `x` that did not show in it.
    #[inline(always)]
    pub(crate) fn plus(self, low: f64) -> Reduced {
        let (high, low) = fast_two_sum(self.high, self.low + low);
        Reduced { high, low, ..self }
    }

    /// `sinh(high + low) - high` and `cosh(high + low) - 1`.
    #[inline(always)]
    pub(crate) fn halves(self) -> (f64, f64) {
        let (square, square_low) = two_product(self.high, self.high);
        let odd = (square * self.high).mul_add(polynomial(square, ODD), self.low);
        let small = 0.5f64.mul_add(square_low, self.low * self.high);
        let even = (square * square).mul_add(polynomial(square, EVEN), small);
        (odd, square.mul_add(0.5, even))
    }

    /// `exp(high + low) - 1 - high`.
    #[inline(always)]
    fn tail(self) -> f64 {
        let (odd, even) = self.halves();
        odd + even
    }

    /// `2^n exp(high + low)`, rounded into the subnormal numbers or to infinity if need be.
    #[inline(always)]
    pub(crate) fn exp(self) -> f64 {
        let (one, rest) = fast_two_sum(1.0, self.high);
        let value = one + (rest + self.tail());
        let n = self.rounded - WHOLE;
        let half = n.mul_add(0.5, WHOLE);
        let other = (n - (half - WHOLE)) + WHOLE;
        value * power_of_two(half) * power_of_two(other)
    }
}

/// `x` within limits beyond which nothing changes; NaN stays.
#[inline(always)]
pub(crate) fn within(x: f64, least: f64, most: f64) -> f64 {
    let x = choose(x < least, least, x);
    choose(x > most, most, x)
}

/// e to the x.
pub struct Exp;

impl Unary for Exp {
    const FADES: bool = true;

    #[inline(always)]
    fn easy(x: f64) -> f64 {
        reduce(within(x, -760.0, 720.0)).exp()
    }
}

/// 2 to the x.
pub struct Exp2;

impl Unary for Exp2 {
    const FADES: bool = true;

    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let x = within(x, -1100.0, 1040.0);
        let rounded = x + WHOLE;
        let rest = x - (rounded - WHOLE);
        let (high, low) = two_product(rest, LN_2[0]);
        let low = rest.mul_add(LN_2[1], low);
        Reduced { rounded, high, low }.exp()
    }
}

/// `exp(x) - 1` as `high + low`, halved so that it cannot overflow: `x` lies within -60 and 710.
#[inline(always)]
pub(crate) fn half_expm1(x: f64) -> (f64, f64) {
    let reduced = reduce(x);
    let scale = power_of_two(reduced.rounded - 1.0);
    let (base, base_low) = two_sum(scale, -0.5);
    let (high, low) = fast_two_sum(base, scale * reduced.high);
    (high, scale.mul_add(reduced.tail(), low + base_low))
}

/// e to the x, less one.
pub struct Expm1;

impl Unary for Expm1 {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let (high, low) = half_expm1(within(x, -60.0, 710.0));
        choose(x.abs() < 5e-17, x, (high + low) * 2.0)
    }
}
