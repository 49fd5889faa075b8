//! One value that knows its dtype.

use arrayloom_types::DType;
use half::f16;
use num_complex::{Complex32, Complex64};

/// A value. Integers of all widths are held in 128 bits, wrapped to their dtype; `float16` is held in
/// `float32`, rounded to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Val {
    Bool(bool),
    Int(DType, i128),
    F16(f32),
    F32(f32),
    F64(f64),
    C64(Complex32),
    C128(Complex64),
}

impl Val {
    pub(crate) fn dtype(self) -> DType {
        match self {
            Val::Bool(_) => DType::Bool,
            Val::Int(dtype, _) => dtype,
            Val::F16(_) => DType::F16,
            Val::F32(_) => DType::F32,
            Val::F64(_) => DType::F64,
            Val::C64(_) => DType::C64,
            Val::C128(_) => DType::C128,
        }
    }

    /// An integer wrapped into `dtype`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "wrapping is the purpose"
    )]
    pub(crate) fn int(dtype: DType, value: i128) -> Val {
        let wrapped = match dtype {
            DType::I8 => i128::from(value as i8),
            DType::I16 => i128::from(value as i16),
            DType::I32 => i128::from(value as i32),
            DType::I64 => i128::from(value as i64),
            DType::U8 => i128::from(value as u8),
            DType::U16 => i128::from(value as u16),
            DType::U32 => i128::from(value as u32),
            _ => i128::from(value as u64),
        };
        Val::Int(dtype, wrapped)
    }

    /// A `float16` rounded from `float32`.
    pub(crate) fn f16(value: f32) -> Val {
        Val::F16(f16::from_f32(value).to_f32())
    }

    /// The value whose first bytes these are.
    pub(crate) fn from_bytes(dtype: DType, b: [u8; 16]) -> Val {
        let four = |at: usize| f32::from_le_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let low = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
        let high = u64::from_le_bytes([b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]]);
        match dtype {
            DType::Bool => Val::Bool(b[0] != 0),
            DType::F16 => Val::F16(f16::from_le_bytes([b[0], b[1]]).to_f32()),
            DType::F32 => Val::F32(four(0)),
            DType::F64 => Val::F64(f64::from_bits(low)),
            DType::C64 => Val::C64(Complex32::new(four(0), four(4))),
            DType::C128 => Val::C128(Complex64::new(f64::from_bits(low), f64::from_bits(high))),
            _ => Val::int(dtype, i128::from(low)),
        }
    }

    /// The bytes in memory order; those past the size of the dtype are of no meaning.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let mut out = [0; 16];
        match self {
            Val::Bool(v) => out[0] = u8::from(v),
            Val::Int(_, v) => out = v.to_le_bytes(),
            Val::F16(v) => out[..2].copy_from_slice(&f16::from_f32(v).to_le_bytes()),
            Val::F32(v) => out[..4].copy_from_slice(&v.to_le_bytes()),
            Val::F64(v) => out[..8].copy_from_slice(&v.to_le_bytes()),
            Val::C64(v) => {
                out[..4].copy_from_slice(&v.re.to_le_bytes());
                out[4..8].copy_from_slice(&v.im.to_le_bytes());
            }
            Val::C128(v) => {
                out[..8].copy_from_slice(&v.re.to_le_bytes());
                out[8..].copy_from_slice(&v.im.to_le_bytes());
            }
        }
        out
    }
}
