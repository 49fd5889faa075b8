//! Conversions between real types, as a C cast does on x86-64.
//!
//! A float goes to an integer of up to 32 bits by way of the processor's conversion to 32 bits with a
//! sign (to 64 for `uint32` and `int64`), which answers the smallest number and an `INVALID` condition
//! when the value does not fit; the low bits of that are the result.

#![expect(
    clippy::cast_precision_loss,
    reason = "the bounds are powers of two, which floats hold exactly"
)]

use super::unary::{Un, one};
use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::FpFlags;
use arrayloom_types::DType;
use std::marker::PhantomData;

struct To<R>(PhantomData<R>);
struct ToBool;

macro_rules! plain_casts {
    ($($from:ty)*, $to:ty) => { $(
        impl Un<$from> for To<$to> {
            type R = $to;
            #[expect(
                clippy::allow_attributes,
                reason = "which of the lints fires depends on the pair of types"
            )]
            #[allow(
                trivial_numeric_casts,
                clippy::unnecessary_cast,
                clippy::cast_lossless,
                clippy::cast_precision_loss,
                clippy::cast_possible_truncation,
                clippy::cast_possible_wrap,
                clippy::cast_sign_loss,
                reason = "the cast is the purpose"
            )]
            #[inline(always)]
            fn f(x: $from) -> $to { x as $to }
        }
    )* };
}
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64, u8);
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64, u16);
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64, u32);
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64, u64);
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64 f64, f32);
plain_casts!(u8 u16 u32 u64 i8 i16 i32 i64 f32, f64);

macro_rules! truth {
    ($($from:ty)*, $zero:expr) => { $(
        impl Un<$from> for ToBool {
            type R = u8;
            #[inline(always)]
            fn f(x: $from) -> u8 { u8::from(x != $zero) }
        }
    )* };
}
truth!(u8 u16 u32 u64, 0);
truth!(f32 f64, 0.0);

/// A float type that can be cut to whole numbers.
trait Cut: Copy {
    /// 2 to the 63, exactly.
    const TOP: Self;
    /// The processor's conversion to 32 bits.
    fn narrow(self, flags: &mut u8) -> i32;
    /// The processor's conversion to 64 bits.
    fn wide(self, flags: &mut u8) -> i64;
    /// To 64 bits without a sign, as compilers do it with conversions to 64 bits.
    fn unsigned(self, flags: &mut u8) -> u64;
}

macro_rules! cuts {
    ($t:ty) => {
        impl Cut for $t {
            const TOP: $t = -(i64::MIN as $t);
            #[inline(always)]
            fn narrow(self, flags: &mut u8) -> i32 {
                // Both bounds are exact in `f64`.
                let x = f64::from(self);
                let fits = (x > -2_147_483_649.0) & (x < 2_147_483_648.0);
                *flags |= if fits { 0 } else { FpFlags::INVALID.0 };
                if fits {
                    // SAFETY: the value was just found to fit.
                    unsafe { x.to_int_unchecked() }
                } else {
                    i32::MIN
                }
            }
            #[inline(always)]
            fn wide(self, flags: &mut u8) -> i64 {
                let fits = (-Self::TOP..Self::TOP).contains(&self);
                *flags |= if fits { 0 } else { FpFlags::INVALID.0 };
                if fits {
                    // SAFETY: the value was just found to fit.
                    unsafe { self.to_int_unchecked() }
                } else {
                    i64::MIN
                }
            }
            #[inline(always)]
            fn unsigned(self, flags: &mut u8) -> u64 {
                if self >= Self::TOP {
                    let rest = (self - Self::TOP).wide(flags);
                    rest.cast_unsigned() ^ 1 << 63
                } else {
                    self.wide(flags).cast_unsigned()
                }
            }
        }
    };
}
cuts!(f32);
cuts!(f64);

/// A way from a float to an integer.
trait Way<F> {
    type R;
    fn f(x: F, flags: &mut u8) -> Self::R;
}

struct Narrow<R>(PhantomData<R>);
struct Wide<R>(PhantomData<R>);
struct Unsigned;

macro_rules! ways {
    ($way:ident $verb:ident $($to:ty)*) => { $(
        impl<F: Cut> Way<F> for $way<$to> {
            type R = $to;
            #[expect(
                clippy::allow_attributes,
                reason = "which of the lints fires depends on the type"
            )]
            #[allow(
                trivial_numeric_casts,
                clippy::unnecessary_cast,
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the low bits are the result"
            )]
            #[inline(always)]
            fn f(x: F, flags: &mut u8) -> $to { x.$verb(flags) as $to }
        }
    )* };
}
ways!(Narrow narrow u8 u16 u32);
ways!(Wide wide u32 u64);

impl<F: Cut> Way<F> for Unsigned {
    type R = u64;
    #[inline(always)]
    fn f(x: F, flags: &mut u8) -> u64 {
        x.unsigned(flags)
    }
}

struct CutTile<W, F>(PhantomData<(W, F)>);

impl<F: Cut, W: Way<F>> Body for CutTile<W, F> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<F>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<W::R>(out, n) };
        let mut flags = 0;
        for (o, &x) in out.iter_mut().zip(a) {
            *o = W::f(x, &mut flags);
        }
        flags
    }
}

/// Numbers below 2 to the 51, signed ones too, stand in the low bits of their sum with this.
const ABOVE: f64 = 6_755_399_441_055_744.0;

/// The integer of a whole float below 2 to the 51, without the processor's conversion.
#[inline(always)]
pub(super) fn number_of(whole: f64) -> u64 {
    (whole + ABOVE).to_bits().wrapping_sub(ABOVE.to_bits())
}

/// The float of an integer below 2 to the 51.
#[inline(always)]
pub(super) fn float_of(number: u64) -> f64 {
    f64::from_bits(number.wrapping_add(ABOVE.to_bits())) - ABOVE
}

/// To 64 bits, where the processor rounds vectors but has no such conversion for them.
struct NearTile<F>(PhantomData<F>);

/// Values that are looked at together.
const NEAR: usize = 64;

impl<F: Cut + Into<f64>> Body for NearTile<F> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        const LIMIT: f64 = 2_251_799_813_685_248.0;
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<F>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<u64>(out, n) };
        let mut flags = 0;
        for (out, a) in out.chunks_mut(NEAR).zip(a.chunks(NEAR)) {
            let near = |&x: &F| Into::<f64>::into(x).abs() < LIMIT;
            if a.iter().fold(true, |all, x| all & near(x)) {
                for (o, &x) in out.iter_mut().zip(a) {
                    *o = number_of(Into::<f64>::into(x).trunc());
                }
            } else {
                for (o, &x) in out.iter_mut().zip(a) {
                    *o = x.wide(&mut flags).cast_unsigned();
                }
            }
        }
        flags
    }
}

fn from_float<F: Cut + Into<f64>>(to: DType, isa: Isa) -> Option<Kern>
where
    ToBool: Un<F>,
{
    Some(match to {
        DType::Bool => return Some(one::<ToBool, F>(isa)),
        DType::I8 | DType::U8 => pick::<CutTile<Narrow<u8>, F>>(isa),
        DType::I16 | DType::U16 => pick::<CutTile<Narrow<u16>, F>>(isa),
        DType::I32 => pick::<CutTile<Narrow<u32>, F>>(isa),
        DType::U32 => pick::<CutTile<Wide<u32>, F>>(isa),
        DType::I64 if isa == Isa::Avx2 => pick::<NearTile<F>>(isa),
        DType::I64 => pick::<CutTile<Wide<u64>, F>>(isa),
        DType::U64 => pick::<CutTile<Unsigned, F>>(isa),
        _ => return None,
    })
}

fn from_integer<T: Copy>(to: DType, isa: Isa) -> Option<Kern>
where
    To<u8>: Un<T>,
    To<u16>: Un<T>,
    To<u32>: Un<T>,
    To<u64>: Un<T>,
    To<f32>: Un<T>,
    To<f64>: Un<T>,
{
    match to {
        DType::I8 | DType::U8 => Some(one::<To<u8>, T>(isa)),
        DType::I16 | DType::U16 => Some(one::<To<u16>, T>(isa)),
        DType::I32 | DType::U32 => Some(one::<To<u32>, T>(isa)),
        DType::I64 | DType::U64 => Some(one::<To<u64>, T>(isa)),
        DType::F32 => Some(one::<To<f32>, T>(isa)),
        DType::F64 => Some(one::<To<f64>, T>(isa)),
        _ => None,
    }
}

/// From one real type to another; `float16` and equal types are not among them.
pub(super) fn find(from: DType, to: DType, isa: Isa) -> Option<Kern> {
    match (from, to) {
        (DType::I8 | DType::U8, DType::Bool) => Some(one::<ToBool, u8>(isa)),
        (DType::I16 | DType::U16, DType::Bool) => Some(one::<ToBool, u16>(isa)),
        (DType::I32 | DType::U32, DType::Bool) => Some(one::<ToBool, u32>(isa)),
        (DType::I64 | DType::U64, DType::Bool) => Some(one::<ToBool, u64>(isa)),
        (DType::F32, DType::F64) => Some(one::<To<f64>, f32>(isa)),
        (DType::F64, DType::F32) => Some(one::<To<f32>, f64>(isa)),
        (DType::F32, _) => from_float::<f32>(to, isa),
        (DType::F64, _) => from_float::<f64>(to, isa),
        (DType::Bool | DType::U8, _) => from_integer::<u8>(to, isa),
        (DType::I8, _) => from_integer::<i8>(to, isa),
        (DType::I16, _) => from_integer::<i16>(to, isa),
        (DType::U16, _) => from_integer::<u16>(to, isa),
        (DType::I32, _) => from_integer::<i32>(to, isa),
        (DType::U32, _) => from_integer::<u32>(to, isa),
        (DType::I64, _) => from_integer::<i64>(to, isa),
        (DType::U64, _) => from_integer::<u64>(to, isa),
        _ => None,
    }
}
