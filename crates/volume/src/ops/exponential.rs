//! The exponential of weights: one formula in basic operations, so that its bits are the same for every
//! width of vectors.

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
}
