//! Numbers as the sum of two: what one rounding loses, and the next operation can still use.
//!
//! Exact sums and products after Dekker, "A floating-point technique for extending the available
//! precision" (1971), and Knuth; products with a fused multiply-add.

/// `1.5 * 2^52`: a sum with it is rounded to a whole number, which stands in its low bits.
pub(crate) const WHOLE: f64 = 6_755_399_441_055_744.0;

/// `2^52`: the bits of a whole number below it, or-ed into its bits, make the number.
const COUNT: f64 = 4_503_599_627_370_496.0;

pub(crate) const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
pub(crate) const LOG2_E: [f64; 2] = [std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17];

/// The sum and what rounding took from it.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// As [`two_sum`], if `a` is zero or not smaller than `b`.
#[inline(always)]
pub(crate) fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, b - (sum - a))
}

/// The product and what rounding took from it.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// `c[0] + c[1] x + c[2] x^2 + ...`.
#[inline(always)]
pub(crate) fn polynomial<const N: usize>(x: f64, c: [f64; N]) -> f64 {
    let mut sum = c[N - 1];
    let mut at = N - 1;
    while at > 0 {
        at -= 1;
        sum = sum.mul_add(x, c[at]);
    }
    sum
}

/// `a` if `first`, else `b`; both are computed.
#[inline(always)]
pub(crate) fn choose(first: bool, a: f64, b: f64) -> f64 {
    if first { a } else { b }
}

/// Two to the whole number that was rounded with [`WHOLE`] to `rounded`; it must be a normal number.
#[inline(always)]
pub(crate) fn power_of_two(rounded: f64) -> f64 {
    f64::from_bits(rounded.to_bits().wrapping_add(1023) << 52)
}

/// The number with these bits, less than `2^52`.
#[inline(always)]
pub(crate) fn counted(bits: u64) -> f64 {
    f64::from_bits(bits | COUNT.to_bits()) - COUNT
}
