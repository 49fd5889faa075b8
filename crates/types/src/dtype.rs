//! The fourteen element types and their table.

use std::fmt;

/// The family an element type belongs to, in NumPy's order of promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// One byte that is 0 or 1.
    Bool,
    /// Two's complement integers.
    Signed,
    /// Integers without a sign.
    Unsigned,
    /// IEEE 754 binary floating point.
    Float,
    /// Pairs of floats: real part, imaginary part.
    Complex,
}

/// An element type. The order is the order of NumPy's type letters `?bhiqBHIQefdFD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum DType {
    /// `bool`, one byte.
    Bool,
    /// `int8`.
    I8,
    /// `int16`.
    I16,
    /// `int32`.
    I32,
    /// `int64`.
    I64,
    /// `uint8`.
    U8,
    /// `uint16`.
    U16,
    /// `uint32`.
    U32,
    /// `uint64`.
    U64,
    /// `float16`.
    F16,
    /// `float32`.
    F32,
    /// `float64`.
    F64,
    /// `complex64`.
    C64,
    /// `complex128`.
    C128,
}

/// All element types, in the order of their discriminants.
pub const ALL_DTYPES: [DType; 14] = [
    DType::Bool,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// One row of the table: what is known of an element type.
struct Row {
    name: &'static str,
    letter: char,
    size: usize,
    align: usize,
    kind: Kind,
}

const fn row(name: &'static str, letter: char, size: usize, align: usize, kind: Kind) -> Row {
    Row {
        name,
        letter,
        size,
        align,
        kind,
    }
}

/// Indexed by discriminant.
const TABLE: [Row; 14] = [
    row("bool", '?', 1, 1, Kind::Bool),
    row("int8", 'b', 1, 1, Kind::Signed),
    row("int16", 'h', 2, 2, Kind::Signed),
    row("int32", 'i', 4, 4, Kind::Signed),
    row("int64", 'q', 8, 8, Kind::Signed),
    row("uint8", 'B', 1, 1, Kind::Unsigned),
    row("uint16", 'H', 2, 2, Kind::Unsigned),
    row("uint32", 'I', 4, 4, Kind::Unsigned),
    row("uint64", 'Q', 8, 8, Kind::Unsigned),
    row("float16", 'e', 2, 2, Kind::Float),
    row("float32", 'f', 4, 4, Kind::Float),
    row("float64", 'd', 8, 8, Kind::Float),
    row("complex64", 'F', 8, 4, Kind::Complex),
    row("complex128", 'D', 16, 8, Kind::Complex),
];

impl DType {
    const fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// NumPy's name, such as `float64`.
    pub const fn name(self) -> &'static str {
        self.row().name
    }

    /// NumPy's type letter, such as `d`.
    pub const fn letter(self) -> char {
        self.row().letter
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        self.row().size
    }

    /// Alignment in bytes that an element needs.
    pub const fn align(self) -> usize {
        self.row().align
    }

    /// The family.
    pub const fn kind(self) -> Kind {
        self.row().kind
    }

    /// True for signed and unsigned integers; false for `bool`.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    /// True for floating point, not for complex.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// True for complex numbers.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// The type of the real part: itself unless complex.
    pub const fn real(self) -> DType {
        match self {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            other => other,
        }
    }

    /// A type that moves and compares elements of so many bytes (1, 2, 4, 8 or 16) as they are: unsigned integers,
    /// and `complex128` for 16 bytes.
    pub const fn of_bytes(size: usize) -> DType {
        match size {
            1 => DType::U8,
            2 => DType::U16,
            4 => DType::U32,
            16 => DType::C128,
            _ => DType::U64,
        }
    }

    /// The type with this letter. `l`, `L`, `p`, `P` are 64-bit integers, as on 64-bit Unix.
    pub const fn from_letter(letter: char) -> Option<DType> {
        let mut i = 0;
        while i < TABLE.len() {
            if TABLE[i].letter == letter {
                return Some(ALL_DTYPES[i]);
            }
            i += 1;
        }
        match letter {
            'l' | 'p' => Some(DType::I64),
            'L' | 'P' => Some(DType::U64),
            _ => None,
        }
    }

    /// The type with this discriminant.
    pub const fn from_index(index: u8) -> Option<DType> {
        if (index as usize) < ALL_DTYPES.len() {
            Some(ALL_DTYPES[index as usize])
        } else {
            None
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_discriminants() {
        for (i, d) in ALL_DTYPES.iter().enumerate() {
            assert_eq!(*d as usize, i);
            assert_eq!(DType::from_letter(d.letter()), Some(*d));
            assert_eq!(DType::from_index(u8::try_from(i).unwrap()), Some(*d));
        }
        assert_eq!(DType::from_index(14), None);
        assert_eq!(DType::from_letter('l'), Some(DType::I64));
        assert_eq!(DType::from_letter('O'), None);
    }

    #[test]
    fn a_type_moves_elements_of_its_size() {
        for d in ALL_DTYPES {
            assert_eq!(DType::of_bytes(d.size()).size(), d.size());
        }
    }
}
