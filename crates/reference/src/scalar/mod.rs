//! What every primitive does to values, by dtype.

pub(crate) mod cast;
mod catrig;
pub(crate) mod complex;
pub(crate) mod flags;
mod half;
mod int;
mod inverse;
mod real;

use crate::value::Val;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;

/// A primitive of one operand with result dtype `to`; `None` if it does not exist for these dtypes.
pub(crate) fn unary(prim: Prim, to: DType, x: Val, met: &mut FpFlags) -> Option<Val> {
    let result = match (prim, x) {
        (Prim::Cast, _) => return Some(cast::cast(x, to, met)),
        (_, Val::Bool(v)) => int::unary_bool(prim, v),
        (_, Val::Int(dtype, v)) => int::unary(prim, dtype, v, met),
        (_, Val::F16(v)) => half::unary(prim, v),
        (_, Val::F32(v)) => real::unary(prim, v).map(|r| r.into_val(Val::F32)),
        (_, Val::F64(v)) => real::unary(prim, v).map(|r| r.into_val(Val::F64)),
        (_, Val::C64(z)) => complex::unary_single(prim, z),
        (_, Val::C128(z)) => complex::unary_double(prim, z),
    }?;
    flags::unary(prim, x, result, met);
    (result.dtype() == to).then_some(result)
}

/// A primitive of two operands with result dtype `to`; `None` if it does not exist for these dtypes.
pub(crate) fn binary(prim: Prim, to: DType, a: Val, b: Val, met: &mut FpFlags) -> Option<Val> {
    let result = match (a, b) {
        (Val::Bool(x), Val::Bool(y)) => int::binary_bool(prim, x, y),
        (Val::Int(dtype, x), Val::Int(_, y)) => int::binary(prim, dtype, x, y, met),
        (Val::F16(x), Val::F16(y)) => half::binary(prim, x, y),
        (Val::F16(x), Val::Int(_, n)) => ldexp(prim, x, n).map(Val::f16),
        (Val::F32(x), Val::Int(_, n)) => ldexp(prim, x, n).map(Val::F32),
        (Val::F64(x), Val::Int(_, n)) => ldexp(prim, x, n).map(Val::F64),
        (Val::F32(x), Val::F32(y)) if prim == Prim::Complex => {
            Some(Val::C64(num_complex::Complex::new(x, y)))
        }
        (Val::F64(x), Val::F64(y)) if prim == Prim::Complex => {
            Some(Val::C128(num_complex::Complex::new(x, y)))
        }
        (Val::F32(x), Val::F32(y)) => real::binary(prim, x, y).map(|r| r.into_val(Val::F32)),
        (Val::F64(x), Val::F64(y)) => real::binary(prim, x, y).map(|r| r.into_val(Val::F64)),
        (Val::C64(x), Val::C64(y)) => complex::binary_single(prim, x, y),
        (Val::C128(x), Val::C128(y)) => complex::binary_double(prim, x, y),
        _ => None,
    }?;
    flags::binary(prim, a, b, result, met);
    (result.dtype() == to).then_some(result)
}

fn ldexp<R: real::Real>(prim: Prim, x: R, exponent: i128) -> Option<R> {
    (prim == Prim::Ldexp).then(|| {
        let far = exponent.clamp(-10_000, 10_000);
        x.ldexp(i32::try_from(far).unwrap_or(0))
    })
}
