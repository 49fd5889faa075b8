//! `sin`, `cos`, `tan`.
//!
//! `x = n pi/2 + r` with `|r|` up to `pi/4` in two parts: three words of `pi/2` are taken off with fused
//! multiply-adds, the first of which is exact (Cody and Waite). Beyond [`FAR`] the library reduces with
//! as many digits of `2/pi` as it takes (Payne and Hanek).

use crate::Unary;
use crate::pair::{WHOLE, choose, fast_two_sum, polynomial, two_product, two_sum};

const HALF_PI: [f64; 3] = [
    std::f64::consts::FRAC_PI_2,
    6.123_233_995_736_766e-17,
    -1.497_384_904_859_169_8e-33,
];

/// `(sin(r) - r) / r^3` in `r^2`.
const SIN: [f64; 6] = [
    -0.166_666_666_666_666_32,
    0.008_333_333_333_322_366,
    -0.000_198_412_698_297_685_3,
    2.755_731_367_788_194e-6,
    -2.505_075_585_317_667e-8,
    1.589_666_086_404_835_5e-10,
];

/// `(cos(r) - 1 + r^2/2) / r^4` in `r^2`.
const COS: [f64; 6] = [
    0.041_666_666_666_666_595,
    -0.001_388_888_888_887_354_4,
    2.480_158_728_915_706e-5,
    -2.755_731_426_635_709_5e-7,
    2.087_571_241_339_054_2e-9,
    -1.135_911_936_530_337_5e-11,
];

/// From here on the library reduces.
const FAR: f64 = 1_073_741_824.0;

#[inline(always)]
fn far(x: f64) -> bool {
    !(x.abs() <= FAR)
}

/// `r` in two parts, its sine and cosine in two parts each, and the quadrant in the lowest two bits.
struct Turned {
    quadrant: u64,
    sin: (f64, f64),
    cos: (f64, f64),
}

#[inline(always)]
fn turn(x: f64) -> Turned {
    let rounded = x.mul_add(std::f64::consts::FRAC_2_PI, WHOLE);
    let n = rounded - WHOLE;
    let near = n.mul_add(-HALF_PI[0], x);
    let (second, second_low) = two_product(n, -HALF_PI[1]);
    let (r, lost) = two_sum(near, second);
    let low = n.mul_add(-HALF_PI[2], lost + second_low);
    let square = r * r;
    // sin(r + low) = r + r^3 S + low cos(r)
    let half = 0.5 * square;
    let sin_tail = (square * r).mul_add(polynomial(square, SIN), low.mul_add(-half, low));
    // cos(r + low) = 1 - r^2/2 + r^4 C - low sin(r)
    let one_less = 1.0 - half;
    let half_lost = (0.5 * r).mul_add(r, -half);
    let lost = ((1.0 - one_less) - half) - half_lost;
    let cos_tail = (square * square).mul_add(polynomial(square, COS), low.mul_add(-r, lost));
    Turned {
        quadrant: rounded.to_bits(),
        sin: (r, sin_tail),
        cos: (one_less, cos_tail),
    }
}

impl Turned {
    /// The sine, `quarters` of a turn further.
    #[inline(always)]
    fn wave(&self, quarters: u64) -> f64 {
        let quadrant = self.quadrant.wrapping_add(quarters);
        let (sin, cos) = (self.sin.0 + self.sin.1, self.cos.0 + self.cos.1);
        let value = choose(quadrant & 1 == 0, sin, cos);
        f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
    }

    #[inline(always)]
    fn sine_of(&self, x: f64) -> f64 {
        choose(x.abs() < 1e-9, x, self.wave(0))
    }
}

/// Sine and cosine of what is not [`far`].
#[inline(always)]
pub(crate) fn sin_cos(x: f64) -> (f64, f64) {
    let turned = turn(x);
    (turned.sine_of(x), turned.wave(1))
}

/// Sine.
pub struct Sin;

impl Unary for Sin {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        turn(x).sine_of(x)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        far(x)
    }

    fn rare(x: f64) -> f64 {
        libm::sin(x)
    }
}

/// Cosine.
pub struct Cos;

impl Unary for Cos {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        turn(x).wave(1)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        far(x)
    }

    fn rare(x: f64) -> f64 {
        libm::cos(x)
    }
}

/// Tangent.
pub struct Tan;

impl Unary for Tan {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let Turned { quadrant, sin, cos } = turn(x);
        let sin = fast_two_sum(sin.0, sin.1);
        let cos = fast_two_sum(cos.0, cos.1);
        let even = quadrant & 1 == 0;
        let above = choose(even, sin.0, -cos.0);
        let above_low = choose(even, sin.1, -cos.1);
        let below = choose(even, cos.0, sin.0);
        let below_low = choose(even, cos.1, sin.1);
        let one_by = 1.0 / below;
        let quotient = above * one_by;
        let left = (-quotient).mul_add(below, above) + (-quotient).mul_add(below_low, above_low);
        let value = left.mul_add(one_by, quotient);
        choose(x.abs() < 1e-9, x, value)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        far(x)
    }

    fn rare(x: f64) -> f64 {
        libm::tan(x)
    }
}
