//! `asin`, `acos`, `atan`, `atan2`.
//!
//! Arguments are brought near zero: `atan q = pi/4 + atan((q - 1) / (q + 1))` and
//! `atan q = pi/2 - atan(1/q)`; `asin x = pi/2 - 2 asin(sqrt((1 - x)/2))`. Quotients and roots are kept
//! in two parts; the rest is an odd polynomial, fitted to the smallest largest error.

use crate::pair::{choose, fast_two_sum, polynomial, two_sum};
use crate::{Binary, Unary};

const QUARTER_PI: [f64; 2] = [std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17];

/// `(atan(t) - t) / t^3` in `t^2`, up to the tangent of `pi/8`.
const ATAN: [f64; 12] = [
    -0.333_333_333_333_333_26,
    0.199_999_999_999_976_03,
    -0.142_857_142_853_806_4,
    0.111_111_110_877_534_9,
    -0.090_909_081_301_568_36,
    0.076_922_824_502_770_19,
    -0.066_662_224_015_984_51,
    0.058_769_807_534_619_77,
    -0.052_181_489_153_720_32,
    0.045_025_410_149_571_42,
    -0.033_451_592_131_505_36,
    0.015_172_473_903_308_86,
];

/// `(asin(t) - t) / t^3` in `t^2`, up to one half.
const ASIN: [f64; 13] = [
    0.166_666_666_666_667_63,
    0.074_999_999_999_701_25,
    0.044_642_857_175_248_79,
    0.030_381_942_677_431_897,
    0.022_372_215_838_603_47,
    0.017_351_596_789_545_325,
    0.013_981_002_417_222_575,
    0.011_397_428_630_199_262,
    0.010_788_547_214_125_123,
    0.003_675_143_082_110_197,
    0.021_783_398_055_302_623,
    -0.021_106_420_703_997_392,
    0.032_695_712_177_196_18,
];

/// The tangent of `pi/8`.
const EIGHTH: f64 = 0.414_213_562_373_095_03;

/// `atan(above / below)` in two parts, for a quotient up to the tangent of `pi/8`.
#[inline(always)]
fn atan_ratio(above: (f64, f64), below: (f64, f64)) -> (f64, f64) {
    let one_by = 1.0 / below.0;
    let t = above.0 * one_by;
    let left = (-t).mul_add(below.0, above.0) + (-t).mul_add(below.1, above.1);
    let low = left * one_by;
    let square = t * t;
    let low = low.mul_add(-square, low);
    (t, (t * square).mul_add(polynomial(square, ATAN), low))
}

/// `quarters pi/4 + (t + tail)`.
#[inline(always)]
fn from_quarters(quarters: f64, t: f64, tail: f64) -> f64 {
    let base = quarters * QUARTER_PI[0];
    let base_low = quarters.mul_add(QUARTER_PI[1], quarters.mul_add(QUARTER_PI[0], -base));
    let (high, low) = fast_two_sum(base, t);
    high + (low + (tail + base_low))
}

/// Inverse tangent.
pub struct Atan;

impl Unary for Atan {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let size = choose(x.abs() > 1e20, 1e20, x.abs());
        let (near, far) = (size <= EIGHTH, size > 1.0 / EIGHTH);
        let (minus, minus_low) = two_sum(size, -1.0);
        let (plus, plus_low) = two_sum(size, 1.0);
        let middle = !near & !far;
        let above = choose(near, size, choose(far, -1.0, minus));
        let above_low = choose(middle, minus_low, 0.0);
        let below = choose(near, 1.0, choose(far, size, plus));
        let below_low = choose(middle, plus_low, 0.0);
        let (t, tail) = atan_ratio((above, above_low), (below, below_low));
        let quarters = choose(near, 0.0, choose(far, 2.0, 1.0));
        from_quarters(quarters, t, tail).copysign(x)
    }
}

/// The sine `s` of the half angle or the angle, its rest, and `asin(s) - s`.
#[inline(always)]
fn asin_parts(x: f64) -> (bool, f64, f64) {
    let size = x.abs();
    let steep = size > 0.5;
    let square = choose(steep, (1.0 - size) * 0.5, size * size);
    let root = square.sqrt();
    let left = (-root).mul_add(root, square) * 0.5;
    let root_low = choose(root > 0.0, left / root, 0.0);
    let s = choose(steep, root, size);
    let low = choose(steep, root_low, 0.0);
    (
        steep,
        s,
        (s * square).mul_add(polynomial(square, ASIN), low),
    )
}

/// Inverse sine.
pub struct Asin;

impl Unary for Asin {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let (steep, s, tail) = asin_parts(x);
        let folded = from_quarters(2.0, -2.0 * s, -2.0 * tail);
        choose(steep, folded, s + tail).copysign(x)
    }
}

/// Inverse cosine.
pub struct Acos;

impl Unary for Acos {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let (steep, s, tail) = asin_parts(x);
        let (low, t) = (x < 0.0, choose(steep, 2.0 * s, s));
        let tail = choose(steep, 2.0 * tail, tail);
        // acos x = pi/2 - asin x; near one the angle itself, near minus one pi less the angle.
        let quarters = choose(steep, choose(low, 4.0, 0.0), 2.0);
        let forward = steep != low;
        from_quarters(
            quarters,
            choose(forward, t, -t),
            choose(forward, tail, -tail),
        )
    }
}

/// Largest size of an easy operand of [`Atan2`]; the smallest is its inverse.
const WIDE: f64 = 1e150;

/// The angle of the point `(b, a)`.
pub struct Atan2;

impl Atan2 {
    /// The angle of a point far from both axes and from infinity.
    #[inline(always)]
    fn angle(a: f64, b: f64) -> f64 {
        let (y, x) = (a.abs(), b.abs());
        let swap = y > x;
        let (short, long) = (choose(swap, x, y), choose(swap, y, x));
        let middle = short > long * EIGHTH;
        let (minus, minus_low) = two_sum(short, -long);
        let (plus, plus_low) = two_sum(short, long);
        let above = (choose(middle, minus, short), choose(middle, minus_low, 0.0));
        let below = (choose(middle, plus, long), choose(middle, plus_low, 0.0));
        let (t, tail) = atan_ratio(above, below);
        let quarters = choose(middle, 1.0, 0.0);
        let quarters = choose(swap, 2.0 - quarters, quarters);
        let left = b < 0.0;
        let quarters = choose(left, 4.0 - quarters, quarters);
        let turned = swap != left;
        let value = from_quarters(quarters, choose(turned, -t, t), choose(turned, -tail, tail));
        value.copysign(a)
    }
}

impl Binary for Atan2 {
    const FADES: bool = true;

    #[inline(always)]
    fn easy(a: f64, b: f64) -> f64 {
        Self::angle(a, b)
    }

    #[inline(always)]
    fn hard(a: f64, b: f64) -> bool {
        let fine = |x: f64| (x.abs() >= 1.0 / WIDE) & (x.abs() <= WIDE);
        !(fine(a) & fine(b))
    }

    fn rare(a: f64, b: f64) -> f64 {
        if a == 0.0 || b == 0.0 || !a.is_finite() || !b.is_finite() {
            return libm::atan2(a, b);
        }
        let ratio = a.abs() / b.abs();
        if ratio < 1e-20 && b > 0.0 {
            return a / b;
        }
        // Powers of two bring both near one; what is still far away is as good as on an axis.
        let scale = if a.abs().max(b.abs()) > 1.0 {
            -1000
        } else {
            1000
        };
        let (y, x) = (libm::ldexp(a, scale), libm::ldexp(b, scale));
        if ratio < 1e-20 || ratio > 1e20 {
            return from_quarters(if ratio > 1.0 { 2.0 } else { 4.0 }, 0.0, 0.0).copysign(a);
        }
        Self::angle(y, x)
    }
}
