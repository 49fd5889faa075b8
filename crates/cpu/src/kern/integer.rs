//! Integer division and its kin, by NumPy's rules: a zero divisor gives 0 and a condition.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "divisors and multiples of small integers are computed in 64 bits, and wrap as in C"
)]

use super::binary::{Bin, Splat};
use super::{Body, Kern, plain, tile, tile_mut};
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;
use std::marker::PhantomData;

/// A function of two integers that may meet a condition.
trait Checked<T> {
    fn f(a: T, b: T, flags: &mut u8) -> T;
}

struct Pair<O, T>(PhantomData<(O, T)>);

impl<T: Copy, O: Checked<T>> Body for Pair<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        let mut flags = 0;
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = O::f(x, y, &mut flags);
        }
        flags
    }
}

struct FloorDiv;
struct Rem;
struct Fmod;
/// Greatest common divisor.
pub(super) struct Gcd;
/// Least common multiple.
pub(super) struct Lcm;
/// Power with an exponent that is not negative.
pub(super) struct Pow;

macro_rules! signed {
    ($($t:ty)*) => { $(
        impl Checked<$t> for FloorDiv {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t {
                match a.checked_div(b) {
                    Some(q) if (a % b != 0) & ((a < 0) != (b < 0)) => q - 1,
                    Some(q) => q,
                    None if b == 0 => { *flags |= FpFlags::DIVIDE.0; 0 }
                    None => { *flags |= FpFlags::OVERFLOW.0; <$t>::MIN }
                }
            }
        }
        impl Checked<$t> for Rem {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t {
                if b == 0 { *flags |= FpFlags::DIVIDE.0; return 0; }
                let r = a.wrapping_rem(b);
                if (r != 0) & ((r < 0) != (b < 0)) { r + b } else { r }
            }
        }
        impl Checked<$t> for Fmod {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t {
                if b == 0 { *flags |= FpFlags::DIVIDE.0; return 0; }
                a.wrapping_rem(b)
            }
        }
        impl Bin<$t> for Gcd {
            type R = $t;
            fn f(a: $t, b: $t) -> $t {
                gcd(u64::from(a.unsigned_abs()), u64::from(b.unsigned_abs())) as $t
            }
        }
        impl Bin<$t> for Lcm {
            type R = $t;
            fn f(a: $t, b: $t) -> $t {
                let (x, y) = (a.unsigned_abs(), b.unsigned_abs());
                match gcd(u64::from(x), u64::from(y)) {
                    0 => 0,
                    g => (u64::from(x) / g).wrapping_mul(u64::from(y)) as $t,
                }
            }
        }
    )* };
}

macro_rules! unsigned {
    ($($t:ty)*) => { $(
        impl Checked<$t> for FloorDiv {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t {
                a.checked_div(b).unwrap_or_else(|| { *flags |= FpFlags::DIVIDE.0; 0 })
            }
        }
        impl Checked<$t> for Rem {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t {
                a.checked_rem(b).unwrap_or_else(|| { *flags |= FpFlags::DIVIDE.0; 0 })
            }
        }
        impl Checked<$t> for Fmod {
            #[inline(always)]
            fn f(a: $t, b: $t, flags: &mut u8) -> $t { <Rem as Checked<$t>>::f(a, b, flags) }
        }
        impl Bin<$t> for Gcd {
            type R = $t;
            fn f(a: $t, b: $t) -> $t { gcd(u64::from(a), u64::from(b)) as $t }
        }
        impl Bin<$t> for Lcm {
            type R = $t;
            fn f(a: $t, b: $t) -> $t {
                match gcd(u64::from(a), u64::from(b)) {
                    0 => 0,
                    g => (u64::from(a) / g).wrapping_mul(u64::from(b)) as $t,
                }
            }
        }
    )* };
}

macro_rules! powers {
    ($($t:ty)*) => { $(
        impl Bin<$t> for Pow {
            type R = $t;
            fn f(a: $t, b: $t) -> $t {
                let (mut base, mut left, mut all) = (a, b, 1 as $t);
                while left > 0 {
                    if left & 1 == 1 { all = all.wrapping_mul(base); }
                    base = base.wrapping_mul(base);
                    left >>= 1;
                }
                all
            }
        }
    )* };
}

signed!(i8 i16 i32 i64);
unsigned!(u8 u16 u32 u64);
powers!(i8 i16 i32 i64 u8 u16 u32 u64);

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn pair<T: Copy>(prim: Prim) -> Option<Kern>
where
    FloorDiv: Checked<T>,
    Rem: Checked<T>,
    Fmod: Checked<T>,
    Gcd: Bin<T, R = T>,
    Lcm: Bin<T, R = T>,
    Pow: Bin<T, R = T>,
{
    Some(match prim {
        Prim::FloorDiv => plain::<Pair<FloorDiv, T>>(),
        Prim::Rem => plain::<Pair<Rem, T>>(),
        Prim::Fmod => plain::<Pair<Fmod, T>>(),
        Prim::Gcd => return super::binary::once::<Gcd, T>(Splat::No),
        Prim::Lcm => return super::binary::once::<Lcm, T>(Splat::No),
        Prim::Pow => return super::binary::once::<Pow, T>(Splat::No),
        _ => return None,
    })
}

/// The kernel of an integer primitive that is not vectorised.
pub(super) fn find(prim: Prim, dtype: DType) -> Option<Kern> {
    match dtype {
        DType::I8 => pair::<i8>(prim),
        DType::I16 => pair::<i16>(prim),
        DType::I32 => pair::<i32>(prim),
        DType::I64 => pair::<i64>(prim),
        DType::U8 => pair::<u8>(prim),
        DType::U16 => pair::<u16>(prim),
        DType::U32 => pair::<u32>(prim),
        DType::U64 => pair::<u64>(prim),
        _ => None,
    }
}
