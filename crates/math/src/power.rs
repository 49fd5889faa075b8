//! `pow`: `exp(b log a)` with a logarithm of 65 bits.

use crate::Binary;
use crate::exponential::reduce;
use crate::logarithm::{Split, split, times_ln_2};
use crate::pair::{WHOLE, choose, fast_two_sum, polynomial, two_product, two_sum};

/// `(atanh(s)/s - 1 - s^2/3 - s^4/5) / s^6` in `s^2`.
const SERIES: [f64; 6] = [
    0.142_857_142_855_199_24,
    0.111_111_111_850_756_45,
    0.090_908_981_327_605_37,
    0.076_931_267_164_000_08,
    0.066_338_541_107_767_84,
    0.065_509_052_957_567_44,
];
const THIRD: [f64; 2] = [1.0 / 3.0, 1.850_371_707_708_594e-17];

/// Exponents from here on are left to the library: all are even, and powers end.
const LARGE: f64 = 1e15;

/// `log(x)` of a normal number above zero in two parts.
#[inline(always)]
fn long_log(x: f64) -> (f64, f64) {
    let Split { k, f } = split(x);
    let (below, below_low) = two_sum(2.0, f);
    let one_by = 1.0 / below;
    let s = f * one_by;
    let s_low = ((-s).mul_add(below, f) - s * below_low) * one_by;
    // 2 s (1 + z/3 + z^2/5 + ...) with z = s^2
    let (z, z_low) = two_product(s, s);
    let z_low = (2.0 * s).mul_add(s_low, z_low);
    let (first, first_low) = two_product(z, THIRD[0]);
    let first_low = z.mul_add(THIRD[1], z_low.mul_add(THIRD[0], first_low));
    let others = z * z * z.mul_add(polynomial(z, SERIES), 0.2);
    let (w, w_low) = fast_two_sum(first, others);
    let w_low = w_low + first_low;
    let (s, s_low) = (2.0 * s, 2.0 * s_low);
    let (product, product_low) = two_product(s, w);
    let product_low = s.mul_add(w_low, s_low.mul_add(w, product_low));
    let (near, near_low) = fast_two_sum(s, product);
    let near_low = near_low + (s_low + product_low);
    let (base, base_low) = times_ln_2(k);
    let (high, low) = fast_two_sum(base, near);
    fast_two_sum(high, low + (near_low + base_low))
}

/// `a` to the `b`.
pub struct Pow;

impl Binary for Pow {
    const FADES: bool = true;

    #[inline(always)]
    fn easy(a: f64, b: f64) -> f64 {
        let size = a.abs();
        let (log, log_low) = long_log(size);
        let (high, high_low) = two_product(b, log);
        let low = b.mul_add(log_low, high_low);
        let (beyond, below) = (high > 720.0, high < -760.0);
        let low = choose(beyond | below, 0.0, low);
        let high = choose(beyond, 720.0, choose(below, -760.0, high));
        let value = reduce(high).plus(low).exp();
        let at_zero = choose(b < 0.0, f64::INFINITY, choose(b > 0.0, 0.0, 1.0));
        let value = choose(size == 0.0, at_zero, value);
        // The sign of a negative base stays with odd exponents; with fractions there is no value.
        let whole = (b + WHOLE) - WHOLE == b;
        let half = 0.5 * b;
        let odd = whole & ((half + WHOLE) - WHOLE != half);
        let negative = a.is_sign_negative();
        let value = choose(negative & odd, -value, value);
        choose((a < 0.0) & !whole, f64::NAN, value)
    }

    #[inline(always)]
    fn hard(a: f64, b: f64) -> bool {
        let size = a.abs();
        let base = ((size >= f64::MIN_POSITIVE) & (size <= f64::MAX)) | (size == 0.0);
        !(base & (b.abs() < LARGE))
    }

    fn rare(a: f64, b: f64) -> f64 {
        let small = a != 0.0 && a.abs() < f64::MIN_POSITIVE && b.abs() < LARGE;
        if !small {
            return libm::pow(a, b);
        }
        // A subnormal base: an even power of two is taken out and put back.
        let easy = Self::easy(a * f64::from_bits((1023 + 54) << 52), b);
        let (log, log_low) = long_log(a.abs() * f64::from_bits((1023 + 54) << 52));
        let (shift, shift_low) = times_ln_2(-54.0);
        let (log, lost) = two_sum(log, shift);
        let (log, log_low) = fast_two_sum(log, log_low + lost + shift_low);
        let (high, high_low) = two_product(b, log);
        let low = b.mul_add(log_low, high_low);
        let low = if high.abs() > 760.0 { 0.0 } else { low };
        let value = reduce(high.clamp(-760.0, 720.0)).plus(low).exp();
        if easy.is_nan() {
            easy
        } else {
            value.copysign(easy)
        }
    }

    #[inline(always)]
    fn pole(a: f64, _b: f64) -> bool {
        a == 0.0
    }
}
