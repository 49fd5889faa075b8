//! `log`, `log2`, `log10`, `log1p`.
//!
//! `x = 2^k m` with `m` between the roots of one half and of two. With `f = m - 1` and `s = f / (2 + f)`
//! is `log m = f - f^2/2 + s (f^2/2 + R(s^2))`, the series of the inverse hyperbolic tangent, fitted (the
//! form of fdlibm's `log`). The first difference is kept in two parts.

use crate::Unary;
use crate::pair::{LOG2_E, choose, counted, fast_two_sum, polynomial, two_product, two_sum};

/// `(2 atanh(s) - 2 s) / s^3` in `s^2`.
const SERIES: [f64; 7] = [
    0.666_666_666_666_673_6,
    0.399_999_999_994_048_45,
    0.285_714_287_441_978_8,
    0.222_221_984_123_739_53,
    0.181_835_717_742_654_86,
    0.153_138_772_217_110_97,
    0.147_975_512_450_272_43,
];

/// `ln 2`, so short that its products with exponents are exact, and the rest.
const LN_2_SHORT: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// The same for the decimal logarithm of two.
const LOG10_2_SHORT: [f64; 2] = [0.301_029_995_549_470_2, 1.145_110_089_802_183_8e-10];
const LOG10_E: [f64; 2] = [std::f64::consts::LOG10_E, 1.098_319_650_216_765e-17];

/// Bits of the root of one half.
const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;

/// `k`, and `m - 1`.
pub(crate) struct Split {
    pub(crate) k: f64,
    pub(crate) f: f64,
}

/// Takes a normal number above zero apart.
#[inline(always)]
pub(crate) fn split(x: f64) -> Split {
    let bits = x.to_bits();
    let biased = bits.wrapping_sub(ROOT_HALF).wrapping_add(1023 << 52) >> 52;
    let shift = biased.wrapping_sub(1023) << 52;
    Split {
        k: counted(biased) - 1023.0,
        f: f64::from_bits(bits.wrapping_sub(shift)) - 1.0,
    }
}

/// `log(1 + f)` in two parts.
#[inline(always)]
fn near_one(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let square = s * s;
    let series = square * polynomial(square, SERIES);
    let half = 0.5 * f * f;
    let half_low = (0.5 * f).mul_add(f, -half);
    let high = f - half;
    let low = ((f - high) - half) - half_low;
    (high, s.mul_add(half + series, low))
}

/// What the logarithms leave to the library: nothing but normal numbers above zero is easy.
#[inline(always)]
fn not_normal(x: f64) -> bool {
    !((x >= f64::MIN_POSITIVE) & (x <= f64::MAX))
}

/// Natural logarithm.
pub struct Log;

impl Unary for Log {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let Split { k, f } = split(x);
        let (near, near_low) = near_one(f);
        let (high, low) = fast_two_sum(k * LN_2_SHORT[0], near);
        high + (low + k.mul_add(LN_2_SHORT[1], near_low))
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        not_normal(x)
    }

    fn rare(x: f64) -> f64 {
        libm::log(x)
    }

    #[inline(always)]
    fn pole(x: f64) -> bool {
        x == 0.0
    }
}

/// Logarithm to base 2.
pub struct Log2;

impl Unary for Log2 {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let Split { k, f } = split(x);
        let (near, near_low) = near_one(f);
        let (scaled, scaled_low) = two_product(near, LOG2_E[0]);
        let scaled_low = near.mul_add(LOG2_E[1], near_low.mul_add(LOG2_E[0], scaled_low));
        let (high, low) = fast_two_sum(k, scaled);
        high + (low + scaled_low)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        not_normal(x)
    }

    fn rare(x: f64) -> f64 {
        libm::log2(x)
    }

    #[inline(always)]
    fn pole(x: f64) -> bool {
        x == 0.0
    }
}

/// Logarithm to base 10.
pub struct Log10;

impl Unary for Log10 {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let Split { k, f } = split(x);
        let (near, near_low) = near_one(f);
        let (scaled, scaled_low) = two_product(near, LOG10_E[0]);
        let scaled_low = near.mul_add(LOG10_E[1], near_low.mul_add(LOG10_E[0], scaled_low));
        let (high, low) = fast_two_sum(k * LOG10_2_SHORT[0], scaled);
        high + (low + k.mul_add(LOG10_2_SHORT[1], scaled_low))
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        not_normal(x)
    }

    fn rare(x: f64) -> f64 {
        libm::log10(x)
    }

    #[inline(always)]
    fn pole(x: f64) -> bool {
        x == 0.0
    }
}

/// The natural logarithm of `sum + low`, two parts of a normal number above zero.
#[inline(always)]
pub(crate) fn of_sum(sum: f64, low: f64) -> f64 {
    let Split { k, f } = split(sum);
    let (near, near_low) = near_one(f);
    // log(sum + low) = log(sum) + low / sum, as the low part is small.
    let rest = low / sum;
    let (high, low) = fast_two_sum(k * LN_2_SHORT[0], near);
    high + (low + (k.mul_add(LN_2_SHORT[1], near_low) + rest))
}

/// Natural logarithm of one plus x.
pub struct Log1p;

impl Unary for Log1p {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let (one, lost) = two_sum(1.0, x);
        let value = of_sum(one, lost);
        choose(x.abs() < 1e-17, x, value)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        !((x > -1.0) & (x <= f64::MAX))
    }

    fn rare(x: f64) -> f64 {
        libm::log1p(x)
    }

    #[inline(always)]
    fn pole(x: f64) -> bool {
        x == -1.0
    }
}

/// `k ln 2` in two parts, the first of which is exact.
#[inline(always)]
pub(crate) fn times_ln_2(k: f64) -> (f64, f64) {
    (k * LN_2_SHORT[0], k * LN_2_SHORT[1])
}
