//! Elementary functions: those of `arrayloom-math` in a loop.
//!
//! The loop computes every element as an easy one, and notes on the way whether some were hard or some
//! results may have met a condition. Only then it goes over the tile once more.

#![expect(
    clippy::needless_bitwise_bool,
    reason = "comparisons are computed without branches"
)]

use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_math as math;
use arrayloom_math::{Binary, Unary};
use arrayloom_types::DType;
use std::marker::PhantomData;

/// `f32` and `f64`: both are computed in `f64`.
pub(super) trait Element: Copy {
    /// The smallest normal number and the largest number.
    const RANGE: (f64, f64);
    fn wide(self) -> f64;
    fn rounded(x: f64) -> Self;
}

impl Element for f64 {
    const RANGE: (f64, f64) = (f64::MIN_POSITIVE, f64::MAX);
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn rounded(x: f64) -> f64 {
        x
    }
}

impl Element for f32 {
    const RANGE: (f64, f64) = (f32::MIN_POSITIVE as f64, f32::MAX as f64);
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "the rounding is meant")]
    fn rounded(x: f64) -> f32 {
        x as f32
    }
}

/// True for a result that may have met a condition.
#[inline(always)]
fn odd<T: Element>(y: T) -> bool {
    let (size, (least, most)) = (y.wide().abs(), T::RANGE);
    !((size >= least) & (size <= most))
}

/// What is known of an operand or of a pair of them.
#[derive(Clone, Copy)]
struct Operand {
    nan: bool,
    finite: bool,
    /// The function has a pole there.
    pole: bool,
}

/// The conditions that result `y` has met; `zero` says that the first operand is zero.
#[inline(always)]
fn conditions<T: Element>(x: Operand, zero: bool, y: f64, fades: bool) -> u64 {
    let bit = |met: bool, flag: FpFlags| if met { u64::from(flag.0) } else { 0 };
    let endless = y.is_infinite() & x.finite;
    let small = (y.abs() < T::RANGE.0) & ((y != 0.0) | fades);
    bit(y.is_nan() & !x.nan, FpFlags::INVALID)
        | bit(endless & x.pole, FpFlags::DIVIDE)
        | bit(endless & !x.pole, FpFlags::OVERFLOW)
        | bit(small & x.finite & !zero, FpFlags::UNDERFLOW)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "conditions are the bits of a byte"
)]
#[inline(always)]
fn byte(conditions: u64) -> u8 {
    conditions as u8
}

struct One<F, T>(PhantomData<(F, T)>);

impl<F: Unary, T: Element> Body for One<F, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        let (mut hard, mut special) = (0, 0);
        for (o, &x) in out.iter_mut().zip(a) {
            let x = x.wide();
            let y = T::rounded(F::easy(x));
            *o = y;
            hard |= u64::from(F::hard(x));
            special |= u64::from(odd(y));
        }
        if hard != 0 {
            for (o, &x) in out.iter_mut().zip(a) {
                if F::hard(x.wide()) {
                    *o = T::rounded(F::rare(x.wide()));
                }
            }
        }
        let mut met = 0;
        if hard | special != 0 {
            for (o, &x) in out.iter().zip(a) {
                let x = x.wide();
                let operand = Operand {
                    nan: x.is_nan(),
                    finite: x.is_finite(),
                    pole: F::pole(x),
                };
                met |= conditions::<T>(operand, x == 0.0, o.wide(), F::FADES);
            }
        }
        byte(met)
    }
}

struct Two<F, T>(PhantomData<(F, T)>);

impl<F: Binary, T: Element> Body for Two<F, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        let (mut hard, mut special) = (0, 0);
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            let (x, y) = (x.wide(), y.wide());
            let z = T::rounded(F::easy(x, y));
            *o = z;
            hard |= u64::from(F::hard(x, y));
            special |= u64::from(odd(z));
        }
        if hard != 0 {
            for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                let (x, y) = (x.wide(), y.wide());
                if F::hard(x, y) {
                    *o = T::rounded(F::rare(x, y));
                }
            }
        }
        let mut met = 0;
        if hard | special != 0 {
            for ((o, &x), &y) in out.iter().zip(a).zip(b) {
                let (x, y) = (x.wide(), y.wide());
                let operand = Operand {
                    nan: x.is_nan() | y.is_nan(),
                    finite: x.is_finite() & y.is_finite(),
                    pole: F::pole(x, y),
                };
                met |= conditions::<T>(operand, x == 0.0, o.wide(), F::FADES);
            }
        }
        byte(met)
    }
}

fn one<F: Unary>(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::F32 => Some(pick::<One<F, f32>>(isa)),
        DType::F64 => Some(pick::<One<F, f64>>(isa)),
        _ => None,
    }
}

fn two<F: Binary>(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::F32 => Some(pick::<Two<F, f32>>(isa)),
        DType::F64 => Some(pick::<Two<F, f64>>(isa)),
        _ => None,
    }
}

/// The kernel of a function on operands of type `dtype`.
pub(super) fn find(prim: Prim, dtype: DType, isa: Isa) -> Option<Kern> {
    match prim {
        Prim::Cbrt => one::<math::Cbrt>(dtype, isa),
        Prim::Exp => one::<math::Exp>(dtype, isa),
        Prim::Exp2 => one::<math::Exp2>(dtype, isa),
        Prim::Expm1 => one::<math::Expm1>(dtype, isa),
        Prim::Log => one::<math::Log>(dtype, isa),
        Prim::Log2 => one::<math::Log2>(dtype, isa),
        Prim::Log10 => one::<math::Log10>(dtype, isa),
        Prim::Log1p => one::<math::Log1p>(dtype, isa),
        Prim::Sin => one::<math::Sin>(dtype, isa),
        Prim::Cos => one::<math::Cos>(dtype, isa),
        Prim::Tan => one::<math::Tan>(dtype, isa),
        Prim::Asin => one::<math::Asin>(dtype, isa),
        Prim::Acos => one::<math::Acos>(dtype, isa),
        Prim::Atan => one::<math::Atan>(dtype, isa),
        Prim::Sinh => one::<math::Sinh>(dtype, isa),
        Prim::Cosh => one::<math::Cosh>(dtype, isa),
        Prim::Tanh => one::<math::Tanh>(dtype, isa),
        Prim::Pow | Prim::FloatPow => two::<math::Pow>(dtype, isa),
        Prim::Atan2 => two::<math::Atan2>(dtype, isa),
        Prim::Hypot => two::<math::Hypot>(dtype, isa),
        _ => None,
    }
}
