//! `sinh`, `cosh`, `tanh`.
//!
//! With `x = n ln 2 + r`, `S = sinh(n ln 2)` and `C = cosh(n ln 2)`, which are halves of sums of powers
//! of two: `sinh x = S cosh r + C sinh r` and `cosh x = C cosh r + S sinh r`.

use crate::Unary;
use crate::exponential::{half_expm1, reduce, within};
use crate::pair::{WHOLE, choose, fast_two_sum, power_of_two, two_product, two_sum};

/// The larger of `a` and `b` times `cosh r`, the other times `sinh r`: an eighth of the sum, from
/// `|x|`. `swap` gives `C` to the hyperbolic cosine.
#[inline(always)]
fn sum(x: f64, swap: bool) -> f64 {
    let size = within(x.abs(), 0.0, 711.0);
    let reduced = reduce(size);
    let n = reduced.rounded - WHOLE;
    let up = power_of_two((n - 4.0) + WHOLE);
    let down = power_of_two((-4.0 - choose(n > 60.0, 60.0, n)) + WHOLE);
    let (sinh, sinh_low) = fast_two_sum(up, -down);
    let (cosh, cosh_low) = fast_two_sum(up, down);
    let (even, even_low) = if swap {
        (cosh, cosh_low)
    } else {
        (sinh, sinh_low)
    };
    let (odd, odd_low) = if swap {
        (sinh, sinh_low)
    } else {
        (cosh, cosh_low)
    };
    let (sinh_rest, cosh_rest) = reduced.halves();
    let (product, product_low) = two_product(odd, reduced.high);
    let (high, low) = fast_two_sum(even, product);
    let rest = odd_low.mul_add(reduced.high, even_low + product_low);
    let tail = even.mul_add(cosh_rest, odd * sinh_rest);
    high + (low + (rest + tail))
}

/// Hyperbolic sine.
pub struct Sinh;

impl Unary for Sinh {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        let value = sum(x, false) * 8.0;
        choose(x.abs() < 1e-9, x, value.copysign(x))
    }
}

/// Hyperbolic cosine.
pub struct Cosh;

impl Unary for Cosh {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        sum(x, true) * 8.0
    }
}

/// Hyperbolic tangent.
pub struct Tanh;

impl Unary for Tanh {
    #[inline(always)]
    fn easy(x: f64) -> f64 {
        // With E = exp(2|x|) - 1: E / (E + 2), both halved.
        let size = within(x.abs(), 0.0, 22.0);
        let (above, above_low) = half_expm1(2.0 * size);
        let (above, above_low) = fast_two_sum(above, above_low);
        let (below, below_low) = two_sum(above, 1.0);
        let below_low = below_low + above_low;
        let one_by = 1.0 / below;
        let quotient = above * one_by;
        let left = (-quotient).mul_add(below, above) + (-quotient).mul_add(below_low, above_low);
        let value = left.mul_add(one_by, quotient);
        choose(x.abs() < 1e-9, x, value.copysign(x))
    }
}
