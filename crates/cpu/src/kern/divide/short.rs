//! Integers of up to 32 bits.
//!
//! They go through floats that hold them exactly. `(a + 1/2) / d` is at least `1 / 2d` away from every integer, more
//! than the rounding of a quotient or of a product with `1 / d` can move it, so its floor is that of `a / d`.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "integers move between types that hold them, as the module's head says"
)]

use super::conditions;
use crate::Isa;
use crate::kern::binary::Splat;
use crate::kern::{Body, Kern, pick, tile, tile_mut};
use std::marker::PhantomData;

/// Integers that a float type holds exactly, with a half.
pub(super) trait Small: Copy + PartialEq {
    /// What replaces one divisor.
    type Inverse: Copy;
    const ZERO: Self;
    const ONE: Self;
    /// True for the lowest number and -1.
    fn overflows(a: Self, b: Self) -> bool;
    /// The floor of `a / d`; `d` is not zero, and the two do not overflow.
    fn floor(a: Self, d: Self) -> Self;
    fn inverse(d: Self) -> Self::Inverse;
    /// The floor of `a / d`, given what [`Small::inverse`] says of `d`.
    fn floor_by(a: Self, inverse: Self::Inverse) -> Self;
    fn less_product(a: Self, q: Self, d: Self) -> Self;
}

/// A product with the inverse, and the divisor's sign.
macro_rules! by_float {
    ($t:ty, $f:ty, $wide:ty) => {
        type Inverse = ($f, $f);
        #[inline(always)]
        fn inverse(d: $t) -> ($f, $f) {
            let d = d as $f;
            (1.0 / d.abs(), if d < 0.0 { -1.0 } else { 1.0 })
        }
        #[inline(always)]
        fn floor_by(a: $t, (inverse, sign): ($f, $f)) -> $t {
            // SAFETY: finite, and the quotient of two numbers that do not overflow is in range.
            unsafe {
                ((a as $f * sign + 0.5) * inverse)
                    .floor()
                    .to_int_unchecked::<$wide>() as $t
            }
        }
    };
}

/// Division of a byte in 16 bits, after Granlund and Montgomery, "Division by invariant integers using
/// multiplication" (1994), figure 4.1: a product with `2^8 (2^l - d) / d + 1` and two shifts, where `2^l` is the least
/// power of two that is not below `d`.
macro_rules! by_byte {
    ($t:ty, $f:ty, $wide:ty) => {
        type Inverse = (u16, u16, u16);
        #[inline(always)]
        fn inverse(d: $t) -> (u16, u16, u16) {
            let d = u32::from(d);
            let power = d.next_power_of_two();
            let factor = ((power - d) << 8) / d + 1;
            let shift = power.trailing_zeros() as u16;
            (factor as u16, shift.min(1), shift.saturating_sub(1))
        }
        #[inline(always)]
        fn floor_by(a: $t, (factor, first, then): (u16, u16, u16)) -> $t {
            let a = u16::from(a);
            let high = a.wrapping_mul(factor) >> 8;
            ((high + ((a - high) >> first)) >> then) as $t
        }
    };
}

/// The upper half of a product of 16 bits with `2^16 / d`, rounded up. It is above `a / d` by less than
/// `a / 2^16`, which is less than `1 / d`. Of a negative number the bitwise complement is divided, and the quotient
/// complemented.
macro_rules! by_product {
    ($t:ty, $f:ty, $wide:ty) => {
        type Inverse = (u16, i16);
        #[inline(always)]
        fn inverse(d: $t) -> (u16, i16) {
            let d = i16::from(d);
            // Zero for 1, whose inverse has 17 bits.
            let inverse = 65536u32.div_ceil(u32::from(d.unsigned_abs())) as u16;
            (inverse, if d < 0 { -1 } else { 1 })
        }
        #[inline(always)]
        fn floor_by(a: $t, (inverse, sign): (u16, i16)) -> $t {
            let a = i16::from(a) * sign;
            let below = a >> 15;
            let high = (u32::from((a ^ below) as u16) * u32::from(inverse)) >> 16;
            (if inverse == 0 { a } else { high as i16 ^ below }) as $t
        }
    };
}

macro_rules! small {
    ($($t:ty, $f:ty, $wide:ty, $signed:expr, $inverse:ident;)*) => { $(
        impl Small for $t {
            $inverse!($t, $f, $wide);
            const ZERO: $t = 0;
            const ONE: $t = 1;
            #[inline(always)]
            fn overflows(a: $t, b: $t) -> bool {
                $signed & (a == <$t>::MIN) & (b == (0 as $t).wrapping_sub(1))
            }
            #[inline(always)]
            fn floor(a: $t, d: $t) -> $t {
                let d = d as $f;
                let sign = if d < 0.0 { -1.0 } else { 1.0 };
                // SAFETY: finite, and the quotient of two numbers that do not overflow is in range.
                unsafe { ((a as $f * sign + 0.5) / (d * sign)).floor().to_int_unchecked::<$wide>() as $t }
            }
            #[inline(always)]
            fn less_product(a: $t, q: $t, d: $t) -> $t {
                a.wrapping_sub(q.wrapping_mul(d))
            }
        }
    )* };
}

small! {
    i8, f32, i32, true, by_product;
    i16, f32, i32, true, by_float;
    i32, f64, i32, true, by_float;
    u8, f32, i32, false, by_byte;
    u16, f32, i32, false, by_float;
    u32, f64, u32, false, by_float;
}
/// `REST` where the remainder is kept, else the quotient.
struct Division<T, const REST: bool>(PhantomData<T>);
struct ByOne<T, const REST: bool>(PhantomData<T>);

impl<T: Small, const REST: bool> Body for Division<T, REST> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        let (mut by_zero, mut over) = (false, false);
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            let (zero, overflows) = (y == T::ZERO, T::overflows(x, y));
            // The lowest number by -1 is itself, and leaves nothing: as by 1.
            let d = if zero | overflows { T::ONE } else { y };
            let q = T::floor(x, d);
            let kept = if REST { T::less_product(x, q, d) } else { q };
            *o = if zero { T::ZERO } else { kept };
            by_zero |= zero;
            over |= overflows;
        }
        conditions(by_zero, over && !REST)
    }
}

impl<T: Small, const REST: bool> Body for ByOne<T, REST> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value.
        let d = unsafe { tile::<T>(b, 1) }[0];
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        if d == T::ZERO {
            out.fill(T::ZERO);
            return conditions(n > 0, false);
        }
        let inverse = T::inverse(d);
        let mut over = false;
        for (o, &x) in out.iter_mut().zip(a) {
            let overflows = T::overflows(x, d);
            let q = if overflows {
                x
            } else {
                T::floor_by(if overflows { T::ZERO } else { x }, inverse)
            };
            *o = if REST { T::less_product(x, q, d) } else { q };
            over |= overflows;
        }
        conditions(false, over && !REST)
    }
}
/// The kernel of a division of short integers, if there is one for this form.
pub(super) fn small<T: Small, const REST: bool>(isa: Isa, splat: Splat) -> Option<Kern> {
    match splat {
        Splat::No => Some(pick::<Division<T, REST>>(isa)),
        Splat::B => Some(pick::<ByOne<T, REST>>(isa)),
        Splat::A => None,
    }
}
