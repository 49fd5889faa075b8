//! Element types as DLPack names them: a family and a number of bits.

use crate::DlpackError;
use crate::abi::DLDataType;

/// Families of the header that are whole bytes wide, by their code.
const NAMES: [(&str, u8, u8); 24] = [
    ("bool", 6, 8),
    ("int8", 0, 8),
    ("int16", 0, 16),
    ("int32", 0, 32),
    ("int64", 0, 64),
    ("uint8", 1, 8),
    ("uint16", 1, 16),
    ("uint32", 1, 32),
    ("uint64", 1, 64),
    ("float16", 2, 16),
    ("float32", 2, 32),
    ("float64", 2, 64),
    ("bfloat16", 4, 16),
    ("complex64", 5, 64),
    ("complex128", 5, 128),
    ("float8_e3m4", 7, 8),
    ("float8_e4m3", 8, 8),
    ("float8_e4m3b11fnuz", 9, 8),
    ("float8_e4m3fn", 10, 8),
    ("float8_e4m3fnuz", 11, 8),
    ("float8_e5m2", 12, 8),
    ("float8_e5m2fnuz", 13, 8),
    ("float8_e8m0fnu", 14, 8),
    ("complex32", 5, 32),
];

/// An element type that can be exchanged: whole bytes, one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    code: u8,
    bits: u8,
}

impl Element {
    /// The type with this name, as NumPy and `ml_dtypes` spell it.
    pub fn from_name(name: &str) -> Option<Element> {
        let row = NAMES.iter().find(|row| row.0 == name)?;
        Some(Element {
            code: row.1,
            bits: row.2,
        })
    }

    /// Reads DLPack's form.
    ///
    /// # Errors
    /// [`DlpackError::Element`] for vectors, types below one byte, and pairs the header lacks.
    pub fn from_dl(dtype: DLDataType) -> Result<Element, DlpackError> {
        if is_known(dtype.code, dtype.bits) && dtype.lanes == 1 {
            return Ok(Element {
                code: dtype.code,
                bits: dtype.bits,
            });
        }
        Err(DlpackError::Element {
            code: dtype.code,
            bits: dtype.bits,
            lanes: dtype.lanes,
        })
    }

    /// DLPack's form.
    pub const fn to_dl(self) -> DLDataType {
        DLDataType {
            code: self.code,
            bits: self.bits,
            lanes: 1,
        }
    }

    /// The name, as NumPy and `ml_dtypes` spell it.
    pub fn name(self) -> &'static str {
        let found = NAMES
            .iter()
            .find(|row| row.1 == self.code && row.2 == self.bits);
        found.map_or("unknown", |row| row.0)
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        self.bits as usize / 8
    }

    /// The family's number.
    pub const fn code(self) -> u8 {
        self.code
    }

    /// Bits of one element.
    pub const fn bits(self) -> u8 {
        self.bits
    }
}

/// True for the pairs of [`NAMES`]. Each export and import asks, so it searches no list.
const fn is_known(code: u8, bits: u8) -> bool {
    match code {
        0 | 1 => matches!(bits, 8 | 16 | 32 | 64),
        2 => matches!(bits, 16 | 32 | 64),
        4 => bits == 16,
        5 => matches!(bits, 32 | 64 | 128),
        6..=14 => bits == 8,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_name_is_known() {
        for code in 0..=255 {
            for bits in 0..=255 {
                let named = NAMES.iter().any(|row| row.1 == code && row.2 == bits);
                assert_eq!(is_known(code, bits), named, "code {code}, {bits} bits");
            }
        }
    }

    #[test]
    fn names_and_codes_lead_to_one_another() {
        for (name, code, bits) in NAMES {
            let element = Element::from_name(name).unwrap();
            assert_eq!((element.code(), element.bits()), (code, bits));
            assert_eq!(Element::from_dl(element.to_dl()), Ok(element));
            assert_eq!(element.name(), name);
            assert_eq!(element.size() * 8, usize::from(bits));
        }
        assert_eq!(Element::from_name("float128"), None);
    }

    #[test]
    fn vectors_and_small_types_are_refused() {
        for (code, bits, lanes) in [(2, 32, 4), (17, 4, 1), (3, 64, 1), (0, 24, 1), (2, 32, 0)] {
            let dtype = DLDataType { code, bits, lanes };
            assert_eq!(
                Element::from_dl(dtype),
                Err(DlpackError::Element { code, bits, lanes })
            );
        }
    }
}
