//! One value of any element type, as its little-endian bytes.

use crate::DType;
use half::f16;
use num_complex::{Complex32, Complex64};

/// One element: its type and its bytes, unused bytes zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scalar {
    /// The element type.
    pub dtype: DType,
    /// The bytes in memory order; those past `dtype.size()` are zero.
    pub bytes: [u8; 16],
}

impl Scalar {
    /// The value whose bytes these are.
    ///
    /// `bytes` must hold at least `dtype.size()` bytes; the rest is ignored.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Scalar {
        let mut all = [0; 16];
        all[..dtype.size()].copy_from_slice(&bytes[..dtype.size()]);
        Scalar { dtype, bytes: all }
    }

    /// A real number in type `dtype`, rounded or wrapped as a C cast does. Exact for small whole
    /// numbers, which is what tables need.
    #[expect(clippy::cast_possible_truncation, reason = "the cast is the purpose")]
    pub fn from_f64(dtype: DType, value: f64) -> Scalar {
        match dtype {
            DType::Bool => Self::from_bytes(dtype, &[u8::from(value != 0.0)]),
            DType::F16 => Self::from_bytes(dtype, &f16::from_f64(value).to_le_bytes()),
            DType::F32 => Self::from_bytes(dtype, &(value as f32).to_le_bytes()),
            DType::F64 => Self::from_bytes(dtype, &value.to_le_bytes()),
            DType::C64 | DType::C128 => Self::from_c128(dtype, Complex64::new(value, 0.0)),
            _ => Self::from_bytes(dtype, &(value as i64).to_le_bytes()),
        }
    }

    /// A whole number in type `dtype`, wrapped into integers.
    pub fn from_i64(dtype: DType, value: i64) -> Scalar {
        if dtype.is_integer() {
            Self::from_bytes(dtype, &value.to_le_bytes())
        } else {
            #[expect(
                clippy::cast_precision_loss,
                reason = "rounding to the nearest is meant"
            )]
            let rounded = value as f64;
            Self::from_f64(dtype, rounded)
        }
    }

    /// A complex number in a complex type.
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
    pub fn from_c128(dtype: DType, value: Complex64) -> Scalar {
        let mut bytes = [0; 16];
        if dtype == DType::C64 {
            let v = Complex32::new(value.re as f32, value.im as f32);
            bytes[..4].copy_from_slice(&v.re.to_le_bytes());
            bytes[4..8].copy_from_slice(&v.im.to_le_bytes());
        } else {
            bytes[..8].copy_from_slice(&value.re.to_le_bytes());
            bytes[8..].copy_from_slice(&value.im.to_le_bytes());
        }
        Scalar { dtype, bytes }
    }

    /// The first eight bytes, as constants of kernels have them.
    pub fn bits(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }

    /// The bytes of the element.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.dtype.size()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_their_bytes() {
        assert_eq!(
            Scalar::from_f64(DType::I32, -3.0).as_bytes(),
            (-3i32).to_le_bytes()
        );
        assert_eq!(
            Scalar::from_f64(DType::F64, 0.1).as_bytes(),
            0.1f64.to_le_bytes()
        );
        assert_eq!(Scalar::from_i64(DType::U8, 300).as_bytes(), [44]);
        assert_eq!(
            Scalar::from_f64(DType::C64, 2.0).as_bytes()[..4],
            2f32.to_le_bytes()
        );
        assert_eq!(Scalar::from_f64(DType::Bool, 7.0).as_bytes(), [1]);
    }
}
