//! Integer floor division and its remainder without a division instruction, by NumPy's rules: a zero
//! divisor gives 0 and a condition, the lowest number by -1 itself and another one.
//!
//! For one divisor of all, a division becomes a multiplication (Granlund and Montgomery, "Division by invariant
//! integers using multiplication", 1994).

mod long;
mod short;
#[cfg(test)]
mod tests;

use super::Kern;
use super::binary::Splat;
use crate::Isa;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;
use long::long;
use short::small;

fn conditions(by_zero: bool, over: bool) -> u8 {
    let flag = |met: bool, flag: FpFlags| if met { flag.0 } else { 0 };
    flag(by_zero, FpFlags::DIVIDE) | flag(over, FpFlags::OVERFLOW)
}

fn typed<const REST: bool>(dtype: DType, isa: Isa, splat: Splat) -> Option<Kern> {
    match dtype {
        DType::I8 => small::<i8, REST>(isa, splat),
        DType::I16 => small::<i16, REST>(isa, splat),
        DType::I32 => small::<i32, REST>(isa, splat),
        DType::U8 => small::<u8, REST>(isa, splat),
        DType::U16 => small::<u16, REST>(isa, splat),
        DType::U32 => small::<u32, REST>(isa, splat),
        DType::I64 => long::<i64, REST>(isa, splat),
        DType::U64 => long::<u64, REST>(isa, splat),
        _ => None,
    }
}

/// The kernel of a floor division or its remainder, if there is one for this form.
pub(super) fn find(prim: Prim, dtype: DType, isa: Isa, splat: Splat) -> Option<Kern> {
    match prim {
        Prim::FloorDiv => typed::<false>(dtype, isa, splat),
        Prim::Rem => typed::<true>(dtype, isa, splat),
        _ => None,
    }
}
