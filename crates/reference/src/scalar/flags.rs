//! Which floating-point conditions an instruction met, told from its operands and its result.

use super::cast::truth;
use crate::value::Val;
use arrayloom_ir::{FpFlags, Prim};

/// What matters of a value.
#[derive(Clone, Copy)]
struct Class {
    nan: bool,
    infinite: bool,
    /// Zero or below the normal numbers, in a part that is not zero by itself.
    tiny: bool,
}

/// `None` for integers and bools.
fn class(v: Val) -> Option<Class> {
    let of = |parts: [f64; 2], limit: f64| {
        Some(Class {
            nan: parts.iter().any(|p| p.is_nan()),
            infinite: parts.iter().any(|p| p.is_infinite()),
            tiny: parts.iter().all(|p| p.abs() < limit),
        })
    };
    let single = f64::from(f32::MIN_POSITIVE);
    match v {
        Val::Bool(_) | Val::Int(..) => None,
        // The smallest normal number of float16 is 2 to the -14.
        Val::F16(x) => of([f64::from(x), 0.0], 1.0 / 16384.0),
        Val::F32(x) => of([f64::from(x), 0.0], single),
        Val::F64(x) => of([x, 0.0], f64::MIN_POSITIVE),
        Val::C64(z) => of([f64::from(z.re), f64::from(z.im)], single),
        Val::C128(z) => of([z.re, z.im], f64::MIN_POSITIVE),
    }
}

/// Notes what a primitive of one operand met.
pub(super) fn unary(prim: Prim, x: Val, result: Val, met: &mut FpFlags) {
    let (Some(from), Some(to)) = (class(x), class(result)) else {
        return;
    };
    // Only the spacing of float16 tells when there is none.
    if prim == Prim::Spacing && to.nan {
        if matches!(x, Val::F16(_)) {
            met.0 |= FpFlags::INVALID.0;
        }
        return;
    }
    if from.nan || is_exact(prim) {
        return;
    }
    if to.nan {
        met.0 |= FpFlags::INVALID.0;
    } else if to.infinite && !from.infinite {
        met.0 |= if is_pole(prim, x) {
            FpFlags::DIVIDE.0
        } else {
            FpFlags::OVERFLOW.0
        };
    } else if to.tiny && !from.infinite && can_underflow(prim) && truth(x) {
        met.0 |= FpFlags::UNDERFLOW.0;
    }
}

/// Notes what a primitive of two operands met.
pub(super) fn binary(prim: Prim, a: Val, b: Val, result: Val, met: &mut FpFlags) {
    let (Some(left), Some(to)) = (class(a), class(result)) else {
        if matches!(prim, Prim::Lt | Prim::Le) && unordered(a, b) {
            met.0 |= FpFlags::INVALID.0;
        }
        return;
    };
    // Only the exponent of `Ldexp` is no float, and it meets nothing.
    let right = class(b).unwrap_or(Class {
        nan: false,
        infinite: false,
        tiny: false,
    });
    if left.nan || right.nan {
        // These order their operands, which a NaN does not allow.
        if matches!(prim, Prim::LogAddExp | Prim::LogAddExp2) {
            met.0 |= FpFlags::INVALID.0;
        }
        return;
    }
    if is_exact(prim) {
        return;
    }
    let finite = !left.infinite && !right.infinite;
    if prim == Prim::Div && !truth(b) && to.infinite && finite {
        met.0 |= FpFlags::DIVIDE.0;
    }
    if to.nan {
        met.0 |= FpFlags::INVALID.0;
    } else if to.infinite && matches!(prim, Prim::Pow | Prim::FloatPow) && !truth(a) {
        met.0 |= FpFlags::DIVIDE.0;
    } else if to.infinite && (finite || (prim == Prim::NextAfter && !left.infinite)) {
        met.0 |= match prim {
            Prim::Div if !truth(b) => 0,
            Prim::FloorDiv if !truth(b) => FpFlags::DIVIDE.0,
            // The remainder of the infinite quotient is no number.
            Prim::FloorDiv if !matches!(a, Val::F16(_)) => FpFlags::OVERFLOW.0 | FpFlags::INVALID.0,
            _ => FpFlags::OVERFLOW.0,
        };
    } else if to.tiny && finite && can_underflow(prim) && truth(a) && truth(b) {
        met.0 |= FpFlags::UNDERFLOW.0;
    }
}

/// True when the part of two complex numbers that decides which is less has a NaN.
fn unordered(a: Val, b: Val) -> bool {
    let parts = |v: Val| match v {
        Val::C64(z) => Some((f64::from(z.re), f64::from(z.im))),
        Val::C128(z) => Some((z.re, z.im)),
        _ => None,
    };
    let (Some(a), Some(b)) = (parts(a), parts(b)) else {
        return false;
    };
    let same = a.0.partial_cmp(&b.0);
    same.is_none() || (same == Some(std::cmp::Ordering::Equal) && (a.1.is_nan() || b.1.is_nan()))
}

/// What a sum of many values met.
pub(crate) fn of_sum(values: &[Val], sum: Val) -> FpFlags {
    let (mut any_nan, mut any_infinite) = (false, false);
    for c in values.iter().filter_map(|v| class(*v)) {
        any_nan |= c.nan;
        any_infinite |= c.infinite;
    }
    let Some(to) = class(sum) else {
        return FpFlags::NONE;
    };
    match (any_nan, any_infinite) {
        (false, false) if to.nan => FpFlags(FpFlags::INVALID.0 | FpFlags::OVERFLOW.0),
        (false, false) if to.infinite => FpFlags::OVERFLOW,
        (false, true) if to.nan => FpFlags::INVALID,
        _ => FpFlags::NONE,
    }
}

/// Primitives that move bits and meet nothing.
fn is_exact(prim: Prim) -> bool {
    use Prim::{Complex, Conj, CopySign, FrexpMant, Imag, ModfFrac, Neg, Real, Sign};
    let moves = matches!(prim, Conj | Neg | Real | Imag | CopySign | Complex);
    moves || matches!(prim, Sign | FrexpMant | ModfFrac)
}

/// Functions whose infinite results at finite places are poles.
fn is_pole(prim: Prim, x: Val) -> bool {
    use Prim::{Atan, Atanh, Log, Log1p, Log2, Log10, Reciprocal};
    match prim {
        Reciprocal => !truth(x),
        _ => matches!(prim, Log | Log2 | Log10 | Log1p | Atan | Atanh),
    }
}

fn can_underflow(prim: Prim) -> bool {
    use Prim::{Div, Exp, Exp2, FloatPow, Mul, Pow, Reciprocal, Square};
    matches!(
        prim,
        Mul | Div | Square | Reciprocal | Exp | Exp2 | Pow | FloatPow
    )
}
