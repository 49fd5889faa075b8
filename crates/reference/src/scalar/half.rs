//! `float16`: computed in `float32` and rounded, but for steps from one number to the next.

#![expect(clippy::float_cmp, reason = "exact comparison is what is meant")]

use super::real::{self, Given};
use crate::value::Val;
use arrayloom_ir::Prim;
use half::f16;

fn rounded(given: Given<f32>) -> Val {
    given.into_val(Val::f16)
}

pub(super) fn unary(prim: Prim, x: f32) -> Option<Val> {
    if prim == Prim::Spacing {
        if !x.is_finite() {
            return Some(Val::F16(f32::NAN));
        }
        // Up to the next larger number, unlike the wider floats.
        return Some(Val::f16(step(x, x > 0.0) - x));
    }
    real::unary(prim, x).map(rounded)
}

pub(super) fn binary(prim: Prim, a: f32, b: f32) -> Option<Val> {
    if prim == Prim::NextAfter {
        return Some(Val::F16(next_after(a, b)));
    }
    // The first of equal ones, where wider floats take the second.
    let (a, b) = if prim.is_extreme() { (b, a) } else { (a, b) };
    real::binary(prim, a, b).map(rounded)
}

fn step(x: f32, away: bool) -> f32 {
    let bits = f16::from_f32(x).to_bits();
    let next = match (x == 0.0, away) {
        (true, _) => 1,
        (false, true) => bits + 1,
        (false, false) => bits - 1,
    };
    f16::from_bits(next).to_f32()
}

fn next_after(a: f32, b: f32) -> f32 {
    if a.is_nan() || b.is_nan() {
        return f32::NAN;
    }
    if a == b {
        return a;
    }
    if a == 0.0 {
        return step(a, true).copysign(b);
    }
    step(a, (a > 0.0) == (b > a))
}
