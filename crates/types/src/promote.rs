//! NumPy's promotion and safe casts (NEP 50).

use crate::{DType, Kind};

/// What stands at one place of an operation, as far as promotion is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// An array or a NumPy scalar of this type.
    Strong(DType),
    /// A Python `int`: takes the type of the others, at least an integer.
    WeakInt,
    /// A Python `float`: takes the type of the others, at least a float.
    WeakFloat,
    /// A Python `complex`: takes the type of the others, at least complex.
    WeakComplex,
}

/// True when every value of `from` is a value of `to`, as `np.can_cast(from, to, 'safe')` says.
pub fn can_cast_safely(from: DType, to: DType) -> bool {
    promote(from, to) == to
}

/// The smallest type that holds both, as `np.promote_types` says.
pub fn promote(a: DType, b: DType) -> DType {
    if a == b {
        return a;
    }
    let (low, high) = if a.kind() <= b.kind() { (a, b) } else { (b, a) };
    match (low.kind(), high.kind()) {
        (Kind::Bool, _) => high,
        (l, h) if l == h => {
            if low.size() > high.size() {
                low
            } else {
                high
            }
        }
        (Kind::Signed, Kind::Unsigned) => {
            if low.size() > high.size() {
                low
            } else {
                match high.size() {
                    1 => DType::I16,
                    2 => DType::I32,
                    4 => DType::I64,
                    _ => DType::F64,
                }
            }
        }
        (Kind::Signed | Kind::Unsigned, Kind::Float) => wider(float_for(low), high),
        (Kind::Signed | Kind::Unsigned, _) => complex_of(wider(float_for(low), high.real())),
        _ => complex_of(wider(low, high.real())),
    }
}

/// The larger of two floats.
fn wider(a: DType, b: DType) -> DType {
    if a.size() >= b.size() { a } else { b }
}

/// The smallest float that holds all values of an integer type (64-bit integers: `float64`).
fn float_for(integer: DType) -> DType {
    match integer.size() {
        1 => DType::F16,
        2 => DType::F32,
        _ => DType::F64,
    }
}

/// The complex type whose parts hold this float (`float16`: `complex64`).
fn complex_of(float: DType) -> DType {
    if float == DType::F64 {
        DType::C128
    } else {
        DType::C64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DType::*;

    #[test]
    fn promotion_is_numpys() {
        // Rows and columns in the order of ALL_DTYPES; letters as np.promote_types(..).char prints.
        let expected = [
            "?bhiqBHIQefdFD",
            "bbhiqhiqdefdFD",
            "hhhiqhiqdffdFD",
            "iiiiqiiqddddDD",
            "qqqqqqqqddddDD",
            "BhhiqBHIQefdFD",
            "HiiiqHHIQffdFD",
            "IqqqqIIIQdddDD",
            "QddddQQQQdddDD",
            "eefddefddefdFD",
            "fffddffddffdFD",
            "ddddddddddddDD",
            "FFFDDFFDDFFDFD",
            "DDDDDDDDDDDDDD",
        ];
        for (row, letters) in crate::ALL_DTYPES.iter().zip(expected) {
            for (column, letter) in crate::ALL_DTYPES.iter().zip(letters.chars()) {
                assert_eq!(promote(*row, *column).letter(), letter, "{row} {column}");
            }
        }
    }

    #[test]
    fn safe_casts() {
        assert!(can_cast_safely(I32, F64));
        assert!(!can_cast_safely(I64, F32));
        assert!(can_cast_safely(I64, F64));
        assert!(!can_cast_safely(F32, I64));
        assert!(can_cast_safely(Bool, I8));
        assert!(!can_cast_safely(C64, F64));
    }
}
