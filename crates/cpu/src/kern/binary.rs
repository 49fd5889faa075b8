//! Binary kernels: arithmetic, comparisons, bits, smaller and larger.

#![expect(clippy::float_cmp, reason = "comparison kernels compare exactly")]

use super::{Body, Kern, pick, plain, tile, tile_mut};
use crate::Isa;
use std::marker::PhantomData;

/// A function of two values.
pub(crate) trait Bin<T> {
    /// The result.
    type R;
    /// The function.
    fn f(a: T, b: T) -> Self::R;
    /// The function where `a` may be a result so far: NaN that it takes for anything else is looked for apart.
    #[inline(always)]
    fn next(a: T, b: T) -> Self::R {
        Self::f(a, b)
    }
    /// True if there are values such as [`Bin::wins`] looks for.
    const LOOKS: bool = false;
    /// True for NaN that [`Bin::next`] may lose, and that is the result if there is any.
    #[inline(always)]
    fn wins(_: &T) -> bool {
        false
    }
}

/// Which operands are one value for the whole tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Splat {
    /// None.
    No,
    /// The second.
    B,
    /// The first.
    A,
}

struct Both<O, T>(PhantomData<(O, T)>);
struct ConstB<O, T>(PhantomData<(O, T)>);
struct ConstA<O, T>(PhantomData<(O, T)>);

impl<T: Copy, O: Bin<T>> Body for Both<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<O::R>(out, n) };
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = O::f(x, y);
        }
        0
    }
}

impl<T: Copy, O: Bin<T>> Body for ConstB<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value.
        let y = unsafe { tile::<T>(b, 1) }[0];
        // SAFETY: as above.
        let out = unsafe { tile_mut::<O::R>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            *o = O::f(x, y);
        }
        0
    }
}

impl<T: Copy, O: Bin<T>> Body for ConstA<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`; one value.
        let x = unsafe { tile::<T>(a, 1) }[0];
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<O::R>(out, n) };
        for (o, &y) in out.iter_mut().zip(b) {
            *o = O::f(x, y);
        }
        0
    }
}

/// The kernel for every form of operands.
pub(super) fn any<O: Bin<T>, T: Copy>(isa: Isa, splat: Splat) -> Kern {
    match splat {
        Splat::No => pick::<Both<O, T>>(isa),
        Splat::B => pick::<ConstB<O, T>>(isa),
        Splat::A => pick::<ConstA<O, T>>(isa),
    }
}

/// The kernel for two tiles only.
pub(super) fn tiles<O: Bin<T>, T: Copy>(isa: Isa, splat: Splat) -> Option<Kern> {
    (splat == Splat::No).then(|| pick::<Both<O, T>>(isa))
}

/// The kernel for two tiles only, compiled once.
pub(super) fn once<O: Bin<T>, T: Copy>(splat: Splat) -> Option<Kern> {
    (splat == Splat::No).then(plain::<Both<O, T>>)
}

macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident,)*) => { $($(#[$doc])* pub(crate) struct $name;)* };
}

marks! {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// Smaller, NaN wins.
    Min,
    /// Larger, NaN wins.
    Max,
    /// Smaller, NaN loses.
    Fmin,
    /// Larger, NaN loses.
    Fmax,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Shift to the left.
    Shl,
    /// Shift to the right.
    Shr,
    /// Magnitude of the first, sign of the second.
    CopySign,
}

macro_rules! bin {
    ($op:ident $r:ty, $($t:ty)*, |$a:ident, $b:ident| $e:expr) => { $(
        impl Bin<$t> for $op {
            type R = $r;
            #[inline(always)]
            fn f($a: $t, $b: $t) -> $r { $e }
        }
    )* };
}

macro_rules! same {
    ($op:ident, $($t:ty)*, |$a:ident, $b:ident| $e:expr) => { $(bin!($op $t, $t, |$a, $b| $e);)* };
}

/// An extreme of floats where NaN wins. What comes next is compared as the processor's own instruction does.
macro_rules! extreme {
    ($op:ident, $($t:ty)*, |$a:ident, $b:ident| $keeps:expr, |$c:ident, $d:ident| $takes:expr) => { $(
        impl Bin<$t> for $op {
            type R = $t;
            #[inline(always)]
            fn f($a: $t, $b: $t) -> $t {
                if $keeps | $a.is_nan() { $a } else { $b }
            }
            const LOOKS: bool = true;
            #[inline(always)]
            fn next($c: $t, $d: $t) -> $t {
                if $takes { $d } else { $c }
            }
            #[inline(always)]
            fn wins(value: &$t) -> bool {
                value.is_nan()
            }
        }
    )* };
}

same!(Add, u8 u16 u32 u64, |a, b| a.wrapping_add(b));
same!(Sub, u8 u16 u32 u64, |a, b| a.wrapping_sub(b));
same!(Mul, u8 u16 u32 u64, |a, b| a.wrapping_mul(b));
same!(Add, f32 f64, |a, b| a + b);
same!(Sub, f32 f64, |a, b| a - b);
same!(Mul, f32 f64, |a, b| a * b);
same!(Div, f32 f64, |a, b| a / b);
same!(Min, i8 i16 i32 i64 u8 u16 u32 u64, |a, b| a.min(b));
same!(Max, i8 i16 i32 i64 u8 u16 u32 u64, |a, b| a.max(b));
same!(Fmin, i8 i16 i32 i64 u8 u16 u32 u64, |a, b| a.min(b));
same!(Fmax, i8 i16 i32 i64 u8 u16 u32 u64, |a, b| a.max(b));
extreme!(Min, f32 f64, |a, b| a < b, |a, b| b <= a);
extreme!(Max, f32 f64, |a, b| a > b, |a, b| b >= a);
same!(Fmin, f32 f64, |a, b| if (a < b) | b.is_nan() { a } else { b });
same!(Fmax, f32 f64, |a, b| if (a > b) | b.is_nan() { a } else { b });
same!(And, u8 u16 u32 u64, |a, b| a & b);
same!(Or, u8 u16 u32 u64, |a, b| a | b);
same!(Xor, u8 u16 u32 u64, |a, b| a ^ b);
same!(CopySign, f32 f64, |a, b| a.copysign(b));
bin!(Eq u8, u8 u16 u32 u64 f32 f64, |a, b| u8::from(a == b));
bin!(Ne u8, u8 u16 u32 u64 f32 f64, |a, b| u8::from(a != b));
bin!(Lt u8, i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, |a, b| u8::from(a < b));
bin!(Le u8, i8 i16 i32 i64 u8 u16 u32 u64 f32 f64, |a, b| u8::from(a <= b));

macro_rules! shifts {
    ($sign:expr, $($t:ty)*) => { $(
        impl Bin<$t> for Shl {
            type R = $t;
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t {
                let count = i64::try_from(b).ok().and_then(|b| u32::try_from(b).ok());
                match count {
                    Some(count) if count < <$t>::BITS => a.wrapping_shl(count),
                    _ => 0,
                }
            }
        }
        impl Bin<$t> for Shr {
            type R = $t;
            #[inline(always)]
            fn f(a: $t, b: $t) -> $t {
                let count = i64::try_from(b).ok().and_then(|b| u32::try_from(b).ok());
                let fill: fn($t) -> $t = $sign;
                match count {
                    Some(count) if count < <$t>::BITS => a.wrapping_shr(count),
                    _ => fill(a),
                }
            }
        }
    )* };
}
shifts!(|a| if a < 0 { -1 } else { 0 }, i8 i16 i32 i64);
shifts!(|_| 0, u8 u16 u32 u64);
