//! Conversions as C casts do them on x86-64.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "conversions are the subject; each says what it means"
)]

use crate::value::Val;
use arrayloom_ir::FpFlags;
use arrayloom_types::DType;
use num_complex::{Complex32, Complex64};

/// The value in `dtype`. Complex numbers give their real part.
pub(crate) fn cast(x: Val, dtype: DType, met: &mut FpFlags) -> Val {
    if x.dtype() == dtype {
        return x;
    }
    match dtype {
        DType::Bool => Val::Bool(truth(x)),
        DType::F16 => {
            let half = match x {
                Val::F64(v) => Val::f16(odd_single(v)),
                Val::C128(v) => Val::f16(odd_single(v.re)),
                _ => Val::f16(single(x)),
            };
            overflowed(x, half, met);
            half
        }
        DType::F32 => {
            let value = Val::F32(single(x));
            overflowed(x, value, met);
            value
        }
        DType::F64 => Val::F64(double(x)),
        DType::C64 => {
            let im = match x {
                Val::C128(z) => z.im as f32,
                _ => 0.0,
            };
            let value = Val::C64(Complex32::new(single(x), im));
            overflowed(x, value, met);
            value
        }
        DType::C128 => {
            let im = match x {
                Val::C64(z) => f64::from(z.im),
                _ => 0.0,
            };
            Val::C128(Complex64::new(double(x), im))
        }
        _ => match x {
            Val::Bool(v) => Val::int(dtype, i128::from(v)),
            Val::Int(_, v) => Val::int(dtype, v),
            _ => Val::int(dtype, whole(double(x), dtype, met)),
        },
    }
}

/// True unless zero in all parts.
pub(crate) fn truth(x: Val) -> bool {
    match x {
        Val::Bool(v) => v,
        Val::Int(_, v) => v != 0,
        Val::F16(v) | Val::F32(v) => v != 0.0,
        Val::F64(v) => v != 0.0,
        Val::C64(v) => v.re != 0.0 || v.im != 0.0,
        Val::C128(v) => v.re != 0.0 || v.im != 0.0,
    }
}

fn single(x: Val) -> f32 {
    match x {
        Val::Bool(v) => f32::from(u8::from(v)),
        Val::Int(_, v) => v as f32,
        Val::F16(v) | Val::F32(v) => v,
        Val::F64(v) => v as f32,
        Val::C64(v) => v.re,
        Val::C128(v) => v.re as f32,
    }
}

/// The real part in `float64`.
pub(crate) fn double(x: Val) -> f64 {
    match x {
        Val::Bool(v) => f64::from(u8::from(v)),
        Val::Int(_, v) => v as f64,
        Val::F16(v) | Val::F32(v) => f64::from(v),
        Val::F64(v) => v,
        Val::C64(v) => f64::from(v.re),
        Val::C128(v) => v.re,
    }
}

/// Rounded to `float32` so that rounding the result again to `float16` gives what rounding once would:
/// towards zero, and the last bit set if anything was lost.
fn odd_single(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() || near.is_infinite() {
        return near;
    }
    let towards_zero = if f64::from(near).abs() > x.abs() {
        near.to_bits() - 1
    } else {
        near.to_bits()
    };
    f32::from_bits(towards_zero | 1)
}

/// A float as an integer. The processor converts to 32 or 64 bits with sign, and gives the smallest
/// number of that width for everything that does not fit; narrower types take the low bits.
fn whole(x: f64, dtype: DType, met: &mut FpFlags) -> i128 {
    let mut convert = |x: f64, width: u32| {
        let limit = 2f64.powi(width.cast_signed() - 1);
        let whole = x.trunc();
        if whole >= -limit && whole < limit {
            whole as i128
        } else {
            met.0 |= FpFlags::INVALID.0;
            -(1i128 << (width - 1))
        }
    };
    let half = 2f64.powi(63);
    match dtype {
        DType::U64 if x >= half => convert(x - half, 64) + (1 << 63),
        DType::I64 | DType::U64 | DType::U32 => convert(x, 64),
        _ => convert(x, 32),
    }
}

/// Notes that a finite number became infinite.
fn overflowed(from: Val, to: Val, met: &mut FpFlags) {
    let infinite = |v: Val| match v {
        Val::F16(v) | Val::F32(v) => v.is_infinite(),
        Val::F64(v) => v.is_infinite(),
        Val::C64(z) => z.re.is_infinite() || z.im.is_infinite(),
        Val::C128(z) => z.re.is_infinite() || z.im.is_infinite(),
        Val::Bool(_) | Val::Int(..) => false,
    };
    if infinite(to) && !infinite(from) {
        met.0 |= FpFlags::OVERFLOW.0;
    }
}
