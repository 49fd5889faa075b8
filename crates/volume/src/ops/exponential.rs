//! The exponential of weights: one formula in basic operations, so that its bits are the same for every
//! width of vectors.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::fold::Real;

/// Numbers with the exponential of what is not positive.
pub(super) trait Exponential: Real + PartialOrd {
    /// The unit of exponents: `e^x` is `(x * UNIT).exp_of_negative()`.
    const UNIT: f64;

    /// The exponential of `self <= 0`, zero where it is negligible. NaN stays NaN.
    fn exp_of_negative(self) -> Self;

    /// The nearest finite number.
    fn finite(self) -> Self;
}

impl Exponential for f64 {
    const UNIT: f64 = 1.0;

    #[inline(always)]
    fn exp_of_negative(self) -> f64 {
        exp_of_negative(self)
    }

    fn finite(self) -> f64 {
        self.clamp(f64::MIN, f64::MAX)
    }
}

impl Exponential for f32 {
    const UNIT: f64 = std::f64::consts::LOG2_E;

    #[inline(always)]
    fn exp_of_negative(self) -> f32 {
        exp2_of_negative(self)
    }

    fn finite(self) -> f32 {
        self.clamp(f32::MIN, f32::MAX)
    }
}

/// `exp(x)` for `x <= 0`, to a few units in the last place; zero below -700. NaN stays NaN.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
pub(super) fn exp_of_negative(x: f64) -> f64 {
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    let safe = if x < -700.0 { -700.0 } else { x };
    let k = (safe * std::f64::consts::LOG2_E).round_ties_even();
    let r = (-k).mul_add(LOW, (-k).mul_add(HIGH, safe));
    let mut p = 1.0 / 479_001_600.0;
    for c in [
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ] {
        p = r.mul_add(p, c);
    }
    let scale = f64::from_bits((1023 + k as i64).cast_unsigned() << 52);
    if x < -700.0 { 0.0 } else { p * scale }
}

/// `2^x` for `x <= 0`, to three units in the last place; zero below -126. NaN stays NaN.
///
/// The polynomial is that of degree five with the least relative error on `[-1/2, 1/2]` that is 1 at 0.
#[inline(always)]
fn exp2_of_negative(x: f32) -> f32 {
    const POWERS: [f32; 6] = [
        0.001_326_472_7,
        0.009_671_513,
        0.055_507_336,
        0.240_222_42,
        std::f32::consts::LN_2,
        1.0,
    ];
    // Added to this, a number has its nearest integer in its lowest bits.
    const UNIT: f32 = 12_582_912.0;
    let safe = if x < -126.0 { -126.0 } else { x };
    let moved = safe + UNIT;
    let r = safe - (moved - UNIT);
    let mut p = POWERS[0];
    for c in &POWERS[1..] {
        p = r.mul_add(p, *c);
    }
    let scale = f32::from_bits((moved.to_bits() << 23).wrapping_add(1.0f32.to_bits()));
    if x < -126.0 { 0.0 } else { p * scale }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_that_of_the_library() {
        for i in 0..7000 {
            let x = -f64::from(i) / 10.0;
            let (found, wanted) = (exp_of_negative(x), x.exp());
            assert!(
                (found - wanted).abs() <= 4.0 * f64::EPSILON * wanted,
                "{x}: {found} {wanted}"
            );
        }
        assert!(exp_of_negative(f64::NAN).is_nan());
        assert!(exp_of_negative(-1e300) == 0.0);
    }

    #[test]
    fn powers_of_two_are_those_of_the_library() {
        for i in 0..126_000u32 {
            let x = -f64::from(i) / 1000.0;
            #[expect(clippy::cast_possible_truncation, reason = "tested numbers")]
            let x = x as f32;
            let (found, wanted) = (exp2_of_negative(x), f64::from(x).exp2());
            assert!(
                (f64::from(found) - wanted).abs() <= 3.0 * f64::from(f32::EPSILON) * wanted,
                "{x}: {found} {wanted}"
            );
        }
        assert!(exp2_of_negative(f32::NAN).is_nan());
        assert_eq!(exp2_of_negative(0.0).to_bits(), 1.0f32.to_bits());
        assert!(exp2_of_negative(f32::NEG_INFINITY) == 0.0);
        assert!(exp2_of_negative(-126.5) == 0.0);
    }
}
