//! Integers and bools. Integers are computed in 128 bits and wrapped to their width.

use super::cast;
use crate::value::Val;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::{DType, Kind};

fn bits(dtype: DType) -> i128 {
    if dtype.size() == 8 {
        64
    } else {
        dtype.size() as i128 * 8
    }
}

fn smallest(dtype: DType) -> i128 {
    match dtype.kind() {
        Kind::Signed => -(1 << (bits(dtype) - 1)),
        _ => 0,
    }
}

pub(super) fn unary(prim: Prim, dtype: DType, x: i128, met: &mut FpFlags) -> Option<Val> {
    let value = match prim {
        Prim::Imag => 0,
        Prim::Neg => -x,
        Prim::Abs => x.abs(),
        Prim::Not => !x,
        Prim::Sign => x.signum(),
        Prim::Square => x.wrapping_mul(x),
        Prim::Conj | Prim::Real | Prim::Rint | Prim::Floor | Prim::Ceil | Prim::Trunc => x,
        Prim::Reciprocal => return Some(reciprocal(dtype, x, met)),
        Prim::SignBit => return Some(Val::Bool(x < 0)),
        Prim::PopCount => return Some(Val::int(DType::U8, i128::from(x.abs().count_ones()))),
        Prim::IsNan | Prim::IsInf => return Some(Val::Bool(false)),
        Prim::IsFinite => return Some(Val::Bool(true)),
        _ => return None,
    };
    Some(Val::int(dtype, value))
}

/// NumPy divides in `float64` and converts back.
fn reciprocal(dtype: DType, x: i128, met: &mut FpFlags) -> Val {
    if x == 0 {
        met.0 |= FpFlags::DIVIDE.0;
    }
    let inverse = 1.0 / cast::double(Val::Int(dtype, x));
    cast::cast(Val::F64(inverse), dtype, met)
}

pub(super) fn binary(prim: Prim, dtype: DType, a: i128, b: i128, met: &mut FpFlags) -> Option<Val> {
    let value = match prim {
        Prim::Add => a + b,
        Prim::Sub => a - b,
        Prim::Mul => a.wrapping_mul(b),
        Prim::FloorDiv | Prim::Rem | Prim::Fmod => divide(prim, dtype, a, b, met),
        Prim::Pow => power(a, b),
        Prim::Min | Prim::Fmin => a.min(b),
        Prim::Max | Prim::Fmax => a.max(b),
        Prim::And => a & b,
        Prim::Or => a | b,
        Prim::Xor => a ^ b,
        Prim::Shl if (0..bits(dtype)).contains(&b) => a << b,
        Prim::Shl => 0,
        Prim::Shr if (0..bits(dtype)).contains(&b) => a >> b,
        Prim::Shr => -i128::from(a < 0),
        Prim::Gcd => gcd(a.abs(), b.abs()),
        Prim::Lcm => match gcd(a.abs(), b.abs()) {
            0 => 0,
            divisor => (a.abs() / divisor).wrapping_mul(b.abs()),
        },
        Prim::Eq => return Some(Val::Bool(a == b)),
        Prim::Ne => return Some(Val::Bool(a != b)),
        Prim::Lt => return Some(Val::Bool(a < b)),
        Prim::Le => return Some(Val::Bool(a <= b)),
        _ => return None,
    };
    Some(Val::int(dtype, value))
}

/// Quotients and remainders; everything by zero is zero.
fn divide(prim: Prim, dtype: DType, a: i128, b: i128, met: &mut FpFlags) -> i128 {
    if b == 0 {
        met.0 |= FpFlags::DIVIDE.0;
        return 0;
    }
    if prim == Prim::FloorDiv && dtype.kind() == Kind::Signed && b == -1 && a == smallest(dtype) {
        met.0 |= FpFlags::OVERFLOW.0;
    }
    match prim {
        Prim::Fmod => a % b,
        Prim::Rem => a - floor_div(a, b) * b,
        _ => floor_div(a, b),
    }
}

fn floor_div(a: i128, b: i128) -> i128 {
    let down = a % b != 0 && (a < 0) != (b < 0);
    a / b - i128::from(down)
}

/// The low bits of the power. Negative exponents are an error before this; they give zero here.
fn power(base: i128, exponent: i128) -> i128 {
    let (mut result, mut square, mut rest) = (i128::from(exponent >= 0), base, exponent);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest >>= 1;
    }
    result
}

fn gcd(mut a: i128, mut b: i128) -> i128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

pub(super) fn unary_bool(prim: Prim, x: bool) -> Option<Val> {
    Some(Val::Bool(match prim {
        Prim::Not => !x,
        Prim::Conj
        | Prim::Real
        | Prim::Abs
        | Prim::Square
        | Prim::Rint
        | Prim::Floor
        | Prim::Ceil
        | Prim::Trunc => x,
        Prim::Imag | Prim::SignBit | Prim::IsNan | Prim::IsInf => false,
        Prim::IsFinite => true,
        _ => return None,
    }))
}

pub(super) fn binary_bool(prim: Prim, a: bool, b: bool) -> Option<Val> {
    Some(Val::Bool(match prim {
        Prim::Add | Prim::Or | Prim::Max | Prim::Fmax => a | b,
        Prim::Mul | Prim::And | Prim::Min | Prim::Fmin => a & b,
        Prim::Xor | Prim::Ne => a != b,
        Prim::Eq => a == b,
        Prim::Lt => !a & b,
        Prim::Le => !a | b,
        _ => return None,
    }))
}
