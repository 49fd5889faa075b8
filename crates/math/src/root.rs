//! `cbrt`, `hypot`.

use crate::pair::{WHOLE, choose, counted, fast_two_sum, polynomial, two_product};
use crate::{Binary, Unary};

/// `m^(-1/3)` for `m` from 1 to 2, to 17 bits.
const INVERSE: [f64; 6] = [
    1.777_647_168_489_005_4,
    -1.554_027_407_710_659_7,
    1.227_149_620_020_715_5,
    -0.586_514_161_588_980_6,
    0.152_249_564_382_217_62,
    -0.016_511_679_091_286_462,
];
/// Inverse cube roots of two and of four.
const OF_TWO: f64 = 0.793_700_525_984_099_8;
const OF_FOUR: f64 = 0.629_960_524_947_436_6;
const THIRD: f64 = 1.0 / 3.0;

/// Cube root.
///
/// The inverse root of the mantissa is improved by one step of third order, which needs no division; a
/// last step in two parts makes the root itself.
pub struct Cbrt;

impl Unary for Cbrt {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let bits = x.abs().to_bits();
        // Exponents as they stand are 1023 too large, which is a multiple of three.
        let exponent = counted(bits >> 52);
        let rounded = (exponent - 1.0).mul_add(THIRD, WHOLE);
        let thirds = rounded - WHOLE;
        let rest = (-3.0f64).mul_add(thirds, exponent);
        let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) | (1023 << 52));
        let (one, two) = (rest == 1.0, rest == 2.0);
        let whole = mantissa * choose(two, 4.0, choose(one, 2.0, 1.0));
        let inverse =
            polynomial(mantissa, INVERSE) * choose(two, OF_FOUR, choose(one, OF_TWO, 1.0));
        let error = 1.0 - whole * inverse * inverse * inverse;
        let inverse = (inverse * error).mul_add(error.mul_add(2.0 / 9.0, THIRD), inverse);
        let root = whole * inverse * inverse;
        let (square, square_low) = two_product(root, root);
        let (cube, cube_low) = two_product(square, root);
        let left = (whole - cube) - square_low.mul_add(root, cube_low);
        let root = (left * THIRD).mul_add(inverse * inverse, root);
        let scale = f64::from_bits(rounded.to_bits().wrapping_add(1023 - 341) << 52);
        (root * scale).copysign(x)
    }

    #[inline(always)]
    fn hard(x: f64) -> bool {
        !((x.abs() >= f64::MIN_POSITIVE) & (x.abs() <= f64::MAX))
    }

    fn rare(x: f64) -> f64 {
        libm::cbrt(x)
    }
}

/// Largest easy size, `2^510`, and the smallest, `2^-450`.
const LARGE: f64 = f64::from_bits((1023 + 510) << 52);
const SMALL: f64 = f64::from_bits((1023 - 450) << 52);

/// Length of the hypotenuse.
///
/// The sum of squares and its root are kept in two parts.
pub struct Hypot;

impl Binary for Hypot {
    #[inline(always)]
    fn easy(a: f64, b: f64) -> f64 {
        let (x, y) = (a.abs(), b.abs());
        let (long, short) = (choose(y > x, y, x), choose(y > x, x, y));
        let (first, first_low) = two_product(long, long);
        let (second, second_low) = two_product(short, short);
        let (sum, low) = fast_two_sum(first, second);
        let root = sum.sqrt();
        let left = (-root).mul_add(root, sum) + (low + (first_low + second_low));
        let correction = left / (root + root);
        choose(root == 0.0, 0.0, root + correction)
    }

    #[inline(always)]
    fn hard(a: f64, b: f64) -> bool {
        let (x, y) = (a.abs(), b.abs());
        let long = choose(y > x, y, x);
        let fine = ((long >= SMALL) | (long == 0.0)) & (long <= LARGE);
        // A NaN may stand in either operand.
        !(fine & (x <= LARGE) & (y <= LARGE))
    }

    fn rare(a: f64, b: f64) -> f64 {
        if a.is_infinite() || b.is_infinite() {
            return f64::INFINITY;
        }
        let scale = if a.abs().max(b.abs()) > 1.0 {
            600
        } else {
            -600
        };
        let value = Self::easy(libm::ldexp(a, -scale), libm::ldexp(b, -scale));
        libm::ldexp(value, scale)
    }
}
