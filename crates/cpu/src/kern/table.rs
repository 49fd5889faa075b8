//! From a primitive and its dtypes to a kernel.

use super::binary::{self, Bin, Splat};
use super::pair::Plain;
use super::unary::{self, Un, one};
use super::{
    Kern, cast, complex, complex_math, complex_power, divide, exponent, half, integer, math,
    scalar, select,
};
use crate::Isa;
use arrayloom_ir::Prim;
use arrayloom_types::DType;

/// Where the conditions of a kernel are to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Raise {
    /// It has none, and does not touch the processor's register.
    Never,
    /// In the processor's register.
    Register,
    /// In its answer; what the processor collected meanwhile does not count.
    Answer,
}

/// A kernel with what the interpreter must know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    /// The kernel.
    pub(crate) kern: Kern,
    /// Where its conditions are.
    pub(crate) raise: Raise,
    /// Elements of the kernel for one element of the tile: 2 where a complex number is two reals.
    pub(crate) scale: u8,
    /// What it computes, if it may be joined with another kernel.
    pub(crate) plain: Option<Plain>,
}

fn found(kern: Kern, raise: Raise) -> Found {
    Found {
        kern,
        raise,
        scale: 1,
        plain: None,
    }
}

/// Sums, differences, products: one kernel for signed and unsigned.
fn wrapping<O>(dtype: DType, isa: Isa, splat: Splat) -> Option<Kern>
where
    O: Bin<u8> + Bin<u16> + Bin<u32> + Bin<u64> + Bin<f32> + Bin<f64>,
{
    match dtype {
        DType::I8 | DType::U8 | DType::Bool => Some(binary::any::<O, u8>(isa, splat)),
        DType::I16 | DType::U16 => Some(binary::any::<O, u16>(isa, splat)),
        DType::I32 | DType::U32 => Some(binary::any::<O, u32>(isa, splat)),
        DType::I64 | DType::U64 => Some(binary::any::<O, u64>(isa, splat)),
        DType::F32 => Some(binary::any::<O, f32>(isa, splat)),
        DType::F64 => Some(binary::any::<O, f64>(isa, splat)),
        _ => None,
    }
}

fn bits<O>(size: usize, isa: Isa, splat: Splat) -> Option<Kern>
where
    O: Bin<u8> + Bin<u16> + Bin<u32> + Bin<u64>,
{
    match size {
        1 => Some(binary::any::<O, u8>(isa, splat)),
        2 => binary::tiles::<O, u16>(isa, splat),
        4 => binary::tiles::<O, u32>(isa, splat),
        8 => binary::tiles::<O, u64>(isa, splat),
        _ => None,
    }
}

fn ordered<O>(dtype: DType, isa: Isa, splat: Splat) -> Option<Kern>
where
    O: Bin<i8> + Bin<i16> + Bin<i32> + Bin<i64> + Bin<u8> + Bin<u16> + Bin<u32> + Bin<u64>,
    O: Bin<f32> + Bin<f64>,
{
    match dtype {
        DType::I8 => Some(binary::any::<O, i8>(isa, splat)),
        DType::I16 => Some(binary::any::<O, i16>(isa, splat)),
        DType::I32 => Some(binary::any::<O, i32>(isa, splat)),
        DType::I64 => Some(binary::any::<O, i64>(isa, splat)),
        DType::U8 | DType::Bool => Some(binary::any::<O, u8>(isa, splat)),
        DType::U16 => Some(binary::any::<O, u16>(isa, splat)),
        DType::U32 => Some(binary::any::<O, u32>(isa, splat)),
        DType::U64 => Some(binary::any::<O, u64>(isa, splat)),
        DType::F32 => Some(binary::any::<O, f32>(isa, splat)),
        DType::F64 => Some(binary::any::<O, f64>(isa, splat)),
        _ => None,
    }
}

fn shifts<O>(dtype: DType, isa: Isa, splat: Splat) -> Option<Kern>
where
    O: Bin<i8> + Bin<i16> + Bin<i32> + Bin<i64> + Bin<u8> + Bin<u16> + Bin<u32> + Bin<u64>,
{
    match dtype {
        DType::I8 => binary::tiles::<O, i8>(isa, splat),
        DType::I16 => binary::tiles::<O, i16>(isa, splat),
        DType::I32 => binary::tiles::<O, i32>(isa, splat),
        DType::I64 => binary::tiles::<O, i64>(isa, splat),
        DType::U8 => binary::tiles::<O, u8>(isa, splat),
        DType::U16 => binary::tiles::<O, u16>(isa, splat),
        DType::U32 => binary::tiles::<O, u32>(isa, splat),
        DType::U64 => binary::tiles::<O, u64>(isa, splat),
        _ => None,
    }
}

fn floats<O: Un<f32> + Un<f64>>(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::F32 => Some(one::<O, f32>(isa)),
        DType::F64 => Some(one::<O, f64>(isa)),
        _ => None,
    }
}

fn unsigned<O: Un<u8> + Un<u16> + Un<u32> + Un<u64>>(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::I8 | DType::U8 => Some(one::<O, u8>(isa)),
        DType::I16 | DType::U16 => Some(one::<O, u16>(isa)),
        DType::I32 | DType::U32 => Some(one::<O, u32>(isa)),
        DType::I64 | DType::U64 => Some(one::<O, u64>(isa)),
        _ => None,
    }
}

fn signed<O: Un<i8> + Un<i16> + Un<i32> + Un<i64>>(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::I8 => Some(one::<O, i8>(isa)),
        DType::I16 => Some(one::<O, i16>(isa)),
        DType::I32 => Some(one::<O, i32>(isa)),
        DType::I64 => Some(one::<O, i64>(isa)),
        _ => None,
    }
}

/// A copy, for elements of `size` bytes.
fn same(size: usize, isa: Isa) -> Kern {
    match size {
        1 => one::<unary::Same, u8>(isa),
        2 => one::<unary::Same, u16>(isa),
        4 => one::<unary::Same, u32>(isa),
        8 => one::<unary::Same, u64>(isa),
        _ => one::<unary::Same, [u64; 2]>(isa),
    }
}

fn real_unary(prim: Prim, d: DType, isa: Isa) -> Option<Kern> {
    let whole = d.is_integer() || d == DType::Bool;
    match prim {
        Prim::Neg => unsigned::<unary::Neg>(d, isa).or_else(|| floats::<unary::Neg>(d, isa)),
        Prim::Abs if !whole => floats::<unary::Abs>(d, isa),
        Prim::Abs => signed::<unary::Abs>(d, isa).or_else(|| Some(same(d.size(), isa))),
        Prim::Not if d == DType::Bool => Some(one::<unary::NotBool, u8>(isa)),
        Prim::Not => unsigned::<unary::Not>(d, isa),
        Prim::Sign => floats::<unary::Sign>(d, isa)
            .or_else(|| signed::<unary::Sign>(d, isa))
            .or_else(|| unsigned::<unary::Sign>(d, isa)),
        Prim::PopCount => {
            signed::<unary::PopCount>(d, isa).or_else(|| unsigned::<unary::PopCount>(d, isa))
        }
        Prim::Square => {
            unsigned::<unary::Square>(d, isa).or_else(|| floats::<unary::Square>(d, isa))
        }
        Prim::Real | Prim::Conj => Some(same(d.size(), isa)),
        Prim::Rint | Prim::Floor | Prim::Ceil | Prim::Trunc if whole => Some(same(d.size(), isa)),
        Prim::SignBit => floats::<unary::SignBit>(d, isa),
        Prim::Sqrt => floats::<unary::Sqrt>(d, isa),
        Prim::Reciprocal => floats::<unary::Reciprocal>(d, isa),
        Prim::Rint => floats::<unary::Rint>(d, isa),
        Prim::Floor => floats::<unary::Floor>(d, isa),
        Prim::Ceil => floats::<unary::Ceil>(d, isa),
        Prim::Trunc => floats::<unary::Trunc>(d, isa),
        Prim::IsNan => floats::<unary::IsNan>(d, isa),
        Prim::IsInf => floats::<unary::IsInf>(d, isa),
        Prim::IsFinite => floats::<unary::IsFinite>(d, isa),
        _ => None,
    }
}

fn real_binary(prim: Prim, d: DType, isa: Isa, splat: Splat) -> Option<Kern> {
    let truth = d == DType::Bool;
    match prim {
        Prim::Add if truth => bits::<binary::Or>(1, isa, splat),
        Prim::Mul if truth => bits::<binary::And>(1, isa, splat),
        Prim::Add => wrapping::<binary::Add>(d, isa, splat),
        Prim::Sub => wrapping::<binary::Sub>(d, isa, splat),
        Prim::Mul => wrapping::<binary::Mul>(d, isa, splat),
        Prim::Div if d == DType::F32 => Some(binary::any::<binary::Div, f32>(isa, splat)),
        Prim::Div if d == DType::F64 => Some(binary::any::<binary::Div, f64>(isa, splat)),
        Prim::Min => ordered::<binary::Min>(d, isa, splat),
        Prim::Max => ordered::<binary::Max>(d, isa, splat),
        Prim::Fmin => ordered::<binary::Fmin>(d, isa, splat),
        Prim::Fmax => ordered::<binary::Fmax>(d, isa, splat),
        Prim::And if !d.is_float() => bits::<binary::And>(d.size(), isa, splat),
        Prim::Or if !d.is_float() => bits::<binary::Or>(d.size(), isa, splat),
        Prim::Xor if !d.is_float() => bits::<binary::Xor>(d.size(), isa, splat),
        Prim::Shl => shifts::<binary::Shl>(d, isa, splat),
        Prim::Shr => shifts::<binary::Shr>(d, isa, splat),
        Prim::Eq => wrapping::<binary::Eq>(d, isa, splat),
        Prim::Ne => wrapping::<binary::Ne>(d, isa, splat),
        Prim::Lt => ordered::<binary::Lt>(d, isa, splat),
        Prim::Le => ordered::<binary::Le>(d, isa, splat),
        Prim::CopySign if d == DType::F32 => binary::tiles::<binary::CopySign, f32>(isa, splat),
        Prim::CopySign if d == DType::F64 => binary::tiles::<binary::CopySign, f64>(isa, splat),
        _ => None,
    }
}

/// Conditions that NumPy reports for a vectorised primitive on operands of type `d`.
fn raises(prim: Prim, d: DType) -> Raise {
    if !d.is_float() {
        return Raise::Never;
    }
    match prim {
        Prim::Add
        | Prim::Sub
        | Prim::Mul
        | Prim::Div
        | Prim::Sqrt
        | Prim::Square
        | Prim::Reciprocal => Raise::Register,
        Prim::Neg | Prim::Abs | Prim::SignBit | Prim::CopySign | Prim::Real | Prim::Conj => {
            Raise::Never
        }
        _ => Raise::Answer,
    }
}

/// Complex sums, differences and negation as twice as many reals.
fn as_reals(prim: Prim, d: DType, isa: Isa) -> Option<Found> {
    let real = d.real();
    let (kern, raise) = match prim {
        Prim::Add | Prim::Sub => (real_binary(prim, real, isa, Splat::No)?, Raise::Register),
        Prim::Neg => (real_unary(prim, real, isa)?, Raise::Never),
        _ => return None,
    };
    Some(Found {
        kern,
        raise,
        scale: 2,
        plain: None,
    })
}

/// Which conversions are one kernel.
fn find_cast(from: DType, to: DType, isa: Isa) -> Option<Found> {
    let cut = from.is_float() && !to.is_float() && !to.is_complex();
    let raise = match (cut, from.kind() == to.kind()) {
        (true, _) => Raise::Answer,
        (false, true) => Raise::Register,
        (false, false) => Raise::Never,
    };
    let plain = |kern: Option<Kern>, raise| kern.map(|k| found(k, raise));
    match (from, to) {
        _ if from == to => plain(Some(same(from.size(), isa)), Raise::Never),
        (DType::F16, DType::F32) => plain(Some(half::single_from_half(isa)), Raise::Never),
        (DType::F32, DType::F16) => plain(Some(half::half_from_single(isa)), Raise::Register),
        (DType::C64 | DType::C128, DType::Bool) => plain(complex::truth(from), Raise::Answer),
        (DType::C64, DType::C128) | (DType::C128, DType::C64) => Some(Found {
            kern: cast::find(from.real(), to.real(), isa)?,
            raise: Raise::Register,
            scale: 2,
            plain: None,
        }),
        (DType::F32, DType::C64) | (DType::F64, DType::C128) => {
            plain(complex::join(to, 1), Raise::Never)
        }
        _ => plain(cast::find(from, to, isa), raise),
    }
}

/// The kernel of `prim` on operands of types `first` and `second` (equal unless the primitive says
/// otherwise) with result type `to`. `None` when there is none for this form of operands: without
/// splat operands, that means the conversion or the half-precision operation must be taken apart.
pub(crate) fn find(
    prim: Prim,
    operands: (DType, DType),
    to: DType,
    isa: Isa,
    splat: Splat,
) -> Option<Found> {
    let (first, second) = operands;
    let tiles = splat == Splat::No;
    match prim {
        Prim::Cast => return find_cast(first, to, isa),
        Prim::Select => return Some(found(select::select(to.size(), isa), Raise::Never)),
        Prim::Complex if !tiles => return None,
        Prim::Complex => return complex::join(to, 2).map(|k| found(k, Raise::Never)),
        Prim::Spacing | Prim::NextAfter if first == DType::F16 => {
            return half::stepping(prim)
                .filter(|_| tiles)
                .map(|k| found(k, Raise::Register));
        }
        _ => {}
    }
    if first.is_complex() {
        // NumPy clears what its loop of sizes has met.
        let part = matches!(prim, Prim::Real | Prim::Imag | Prim::Conj | Prim::Abs);
        let quiet = part || prim.is_extreme() || to == DType::Bool;
        let raise = if quiet {
            Raise::Answer
        } else {
            Raise::Register
        };
        if !tiles {
            return None;
        }
        let function = || {
            let kern = match prim {
                Prim::Pow => complex_power::find(first, isa),
                _ => complex_math::find(prim, first, isa),
            };
            kern.map(|k| found(k, Raise::Answer))
        };
        let other = || complex::find(prim, first, isa).map(|k| found(k, raise));
        return as_reals(prim, first, isa).or_else(function).or_else(other);
    }
    real_unary(prim, first, isa)
        .or_else(|| real_binary(prim, first, isa, splat))
        .map(|k| Found {
            plain: Some(Plain {
                prim,
                dtype: first,
                splat,
            }),
            ..found(k, raises(prim, first))
        })
        .or_else(|| {
            let quick = divide::find(prim, first, isa, splat);
            let kern = quick.or_else(|| integer::find(prim, first).filter(|_| tiles))?;
            Some(found(kern, Raise::Answer))
        })
        .or_else(|| {
            let kern = math::find(prim, first, isa).filter(|_| tiles)?;
            Some(found(kern, Raise::Answer))
        })
        .or_else(|| {
            let kern = exponent::find(prim, first, second, isa).filter(|_| tiles)?;
            let raise = match prim {
                Prim::Ldexp => Raise::Register,
                _ => Raise::Answer,
            };
            Some(found(kern, raise))
        })
        .or_else(|| {
            let kern = scalar::find(prim, first).filter(|_| tiles)?;
            Some(found(kern, Raise::Register))
        })
}

/// `float64` to `float32` on the way to `float16`.
pub(crate) fn toward_half(isa: Isa) -> Found {
    found(half::odd_from_double(isa), Raise::Register)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_comparisons_do_not_count() {
        assert_eq!(raises(Prim::Lt, DType::F64), Raise::Answer);
        assert_eq!(raises(Prim::Add, DType::I32), Raise::Never);
    }
}
