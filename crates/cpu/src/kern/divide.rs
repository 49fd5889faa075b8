//! Integer floor division and its remainder without a division instruction, by NumPy's rules: a zero
//! divisor gives 0 and a condition, the lowest number by -1 itself and another one.
//!
//! Integers of up to 32 bits go through floats that hold them exactly. `(a + 1/2) / d` is at least
//! `1 / 2d` away from every integer, more than the rounding of a quotient or of a product with `1 / d` can
//! move it, so its floor is that of `a / d`. So do blocks of 64-bit integers if all of them are small. For
//! others, and for bytes, one divisor for all becomes a multiplication (Granlund and Montgomery, "Division by
//! invariant integers using multiplication", 1994; crate `strength_reduce`).

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "integers move between types that hold them, as the module's head says"
)]

use super::binary::Splat;
use super::cast::{float_of, number_of};
use super::{Body, Kern, pick, plain, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;
use std::marker::PhantomData;
use strength_reduce::StrengthReducedU64;

/// Integers that a float type holds exactly, with a half.
trait Small: Copy + PartialEq {
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

/// Which number is kept: the remainder, or the quotient.
struct Division<T, const REST: bool>(PhantomData<T>);
struct ByOne<T, const REST: bool>(PhantomData<T>);
struct DivisionLong<T, const REST: bool>(PhantomData<T>);
/// `FLOATS` where the processor rounds vectors of floats to whole numbers.
struct ByOneLong<T, const REST: bool, const FLOATS: bool>(PhantomData<T>);

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

fn conditions(by_zero: bool, over: bool) -> u8 {
    let flag = |met: bool, flag: FpFlags| if met { flag.0 } else { 0 };
    flag(by_zero, FpFlags::DIVIDE) | flag(over, FpFlags::OVERFLOW)
}

/// 64-bit integers that are looked at together.
const BLOCK: usize = 64;
/// The exponent of the numbers that are small: a quotient of theirs is rounded by less than a quarter of `1 / d`.
const SMALL: u32 = 49;

/// 64-bit integers.
trait Long: Copy {
    const ZERO: Self;
    /// Zero for small numbers.
    fn high(self) -> u64;
    /// The float of a small number, and the number of a whole float.
    fn float(self) -> f64;
    fn whole(x: f64) -> Self;
    fn is_positive(self) -> bool;
    /// The magnitude of a divisor that this way can take.
    fn divisor(self) -> Option<StrengthReducedU64>;
    fn floor_by(a: Self, d: StrengthReducedU64) -> Self;
    /// The floor of the quotient and the remainder, for other divisors, and whether the quotient overflows.
    fn slowly(a: Self, d: Self) -> (Self, Self, bool);
    fn less_product(a: Self, q: Self, d: Self) -> Self;
    fn is_zero(self) -> bool;
}

impl Long for u64 {
    const ZERO: u64 = 0;
    #[inline(always)]
    fn high(self) -> u64 {
        self >> SMALL
    }
    #[inline(always)]
    fn float(self) -> f64 {
        float_of(self)
    }
    #[inline(always)]
    fn whole(x: f64) -> u64 {
        number_of(x)
    }
    #[inline(always)]
    fn is_positive(self) -> bool {
        self > 0
    }
    fn divisor(self) -> Option<StrengthReducedU64> {
        Some(StrengthReducedU64::new(self))
    }
    #[inline(always)]
    fn floor_by(a: u64, d: StrengthReducedU64) -> u64 {
        a / d
    }
    fn slowly(a: u64, d: u64) -> (u64, u64, bool) {
        (a / d, a % d, false)
    }
    #[inline(always)]
    fn less_product(a: u64, q: u64, d: u64) -> u64 {
        a.wrapping_sub(q.wrapping_mul(d))
    }
    fn is_zero(self) -> bool {
        self == 0
    }
}

impl Long for i64 {
    const ZERO: i64 = 0;
    #[inline(always)]
    fn high(self) -> u64 {
        (self as u64).wrapping_add(1 << SMALL) >> (SMALL + 1)
    }
    #[inline(always)]
    fn float(self) -> f64 {
        float_of(self as u64)
    }
    #[inline(always)]
    fn whole(x: f64) -> i64 {
        number_of(x) as i64
    }
    #[inline(always)]
    fn is_positive(self) -> bool {
        self > 0
    }
    fn divisor(self) -> Option<StrengthReducedU64> {
        (self > 0).then(|| StrengthReducedU64::new(self.unsigned_abs()))
    }
    #[inline(always)]
    fn floor_by(a: i64, d: StrengthReducedU64) -> i64 {
        // Of a negative number the bitwise complement is divided, and the quotient complemented.
        let sign = a >> 63;
        (((a ^ sign) as u64) / d) as i64 ^ sign
    }
    fn slowly(a: i64, d: i64) -> (i64, i64, bool) {
        let (q, over) = a.overflowing_div(d);
        let r = a.wrapping_rem(d);
        if r != 0 && (r < 0) != (d < 0) {
            (q - 1, r + d, over)
        } else {
            (q, r, over)
        }
    }
    #[inline(always)]
    fn less_product(a: i64, q: i64, d: i64) -> i64 {
        a.wrapping_sub(q.wrapping_mul(d))
    }
    fn is_zero(self) -> bool {
        self == 0
    }
}

/// The floor of a quotient of small numbers, or the remainder.
#[inline(always)]
fn near<T: Long, const REST: bool>(x: f64, quotient: f64, d: f64) -> T {
    let q = quotient.floor();
    // The product is at most `x` and `d` together, so it is exact.
    T::whole(if REST { x - q * d } else { q })
}

impl<T: Long, const REST: bool> Body for DivisionLong<T, REST> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        let (mut by_zero, mut over) = (false, false);
        let blocks = out.chunks_mut(BLOCK).zip(a.chunks(BLOCK));
        for ((out, a), b) in blocks.zip(b.chunks(BLOCK)) {
            let all = out.iter_mut().zip(a).zip(b);
            let small = a.iter().chain(b).fold(0, |all, x| all | x.high()) == 0;
            if small && b.iter().fold(true, |all, d| all & d.is_positive()) {
                for ((o, &x), &d) in all {
                    let (x, d) = (x.float(), d.float());
                    *o = near::<T, REST>(x, (x + 0.5) / d, d);
                }
                continue;
            }
            for ((o, &x), &d) in all {
                by_zero |= d.is_zero();
                if d.is_zero() {
                    *o = T::ZERO;
                    continue;
                }
                let (q, r, overflows) = T::slowly(x, d);
                *o = if REST { r } else { q };
                over |= overflows;
            }
        }
        conditions(by_zero, over && !REST)
    }
}

impl<T: Long, const REST: bool, const FLOATS: bool> Body for ByOneLong<T, REST, FLOATS> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value.
        let d = unsafe { tile::<T>(b, 1) }[0];
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        if d.is_zero() {
            out.fill(T::ZERO);
            return conditions(n > 0, false);
        }
        let Some(reduced) = d.divisor() else {
            let mut over = false;
            for (o, &x) in out.iter_mut().zip(a) {
                let (q, r, overflows) = T::slowly(x, d);
                *o = if REST { r } else { q };
                over |= overflows;
            }
            return conditions(false, over && !REST);
        };
        let floats = FLOATS && d.high() == 0;
        let divisor = if floats { d.float() } else { 1.0 };
        let inverse = 1.0 / divisor;
        for (out, a) in out.chunks_mut(BLOCK).zip(a.chunks(BLOCK)) {
            let all = out.iter_mut().zip(a);
            if floats && a.iter().fold(0, |all, x| all | x.high()) == 0 {
                for (o, &x) in all {
                    let x = x.float();
                    *o = near::<T, REST>(x, (x + 0.5) * inverse, divisor);
                }
                continue;
            }
            for (o, &x) in all {
                let q = T::floor_by(x, reduced);
                *o = if REST { T::less_product(x, q, d) } else { q };
            }
        }
        0
    }
}

fn small<T: Small, const REST: bool>(isa: Isa, splat: Splat) -> Option<Kern> {
    match splat {
        Splat::No => Some(pick::<Division<T, REST>>(isa)),
        Splat::B => Some(pick::<ByOne<T, REST>>(isa)),
        Splat::A => None,
    }
}

fn long<T: Long, const REST: bool>(isa: Isa, splat: Splat) -> Option<Kern> {
    match (splat, isa) {
        (Splat::B, Isa::Baseline) => Some(plain::<ByOneLong<T, REST, false>>()),
        (Splat::B, _) => Some(pick::<ByOneLong<T, REST, true>>(isa)),
        (Splat::No, Isa::Avx2 | Isa::Avx512) => Some(pick::<DivisionLong<T, REST>>(isa)),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kern::integer;

    const LEVELS: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

    fn run<T: Copy + Default>(kern: Kern, a: &[T], b: &[T]) -> (Vec<T>, u8) {
        let mut out = vec![T::default(); a.len()];
        let (a, b) = (a.as_ptr().cast(), b.as_ptr().cast());
        let to = out.as_mut_ptr().cast();
        // SAFETY: the slices hold that many elements, or one where the kernel reads one.
        let flags = unsafe { kern(a, b, std::ptr::null(), to, out.len()) };
        (out, flags)
    }

    /// Every form of one division, with the plain loop's numbers and conditions.
    fn check_one<T>((prim, dtype, isa): (Prim, DType, Isa), a: &[T], d: T)
    where
        T: Copy + Default + PartialEq + std::fmt::Debug,
    {
        let all = vec![d; a.len()];
        let expected = run(integer::find(prim, dtype).unwrap(), a, &all);
        let by_one = find(prim, dtype, isa, Splat::B).unwrap();
        assert_eq!(run(by_one, a, &[d]), expected, "{prim:?} {isa:?} by {d:?}");
        if let Some(tiles) = find(prim, dtype, isa, Splat::No) {
            assert_eq!(run(tiles, a, &all), expected, "{prim:?} {isa:?} {d:?}");
        }
    }

    fn check<T>(dtype: DType, a: &[T], divisors: &[T])
    where
        T: Copy + Default + PartialEq + std::fmt::Debug,
    {
        for isa in LEVELS.into_iter().filter(|&isa| isa <= Isa::detect()) {
            for &d in divisors {
                check_one((Prim::FloorDiv, dtype, isa), a, d);
                check_one((Prim::Rem, dtype, isa), a, d);
            }
        }
    }

    #[test]
    fn all_bytes() {
        let signed: Vec<i8> = (i8::MIN..=i8::MAX).collect();
        check(DType::I8, &signed, &signed);
        let unsigned: Vec<u8> = (0..=u8::MAX).collect();
        check(DType::U8, &unsigned, &unsigned);
    }

    #[test]
    fn all_short_integers() {
        let signed: Vec<i16> = (i16::MIN..=i16::MAX).collect();
        check(
            DType::I16,
            &signed,
            &[0, 1, -1, 2, 3, -3, 7, 255, 1000, -32767, i16::MAX, i16::MIN],
        );
        let unsigned: Vec<u16> = (0..=u16::MAX).collect();
        check(
            DType::U16,
            &unsigned,
            &[0, 1, 2, 3, 7, 255, 1000, 32767, 65534, u16::MAX],
        );
    }

    /// Numbers around multiples of the divisor, where a rounded quotient would go wrong.
    macro_rules! near_multiples {
        ($t:ty, $d:expr) => {{
            let d: $t = $d;
            let edges = [
                <$t>::MIN,
                <$t>::MAX,
                0,
                1,
                <$t>::MAX / 2,
                <$t>::MAX / 3,
                12345,
            ];
            let near = edges.iter().flat_map(|&e| {
                let multiple = if d == 0 {
                    e
                } else {
                    (e.wrapping_div(d)).wrapping_mul(d)
                };
                [
                    e,
                    multiple,
                    multiple.wrapping_sub(1),
                    multiple.wrapping_add(1),
                ]
            });
            near.collect::<Vec<$t>>()
        }};
    }

    #[test]
    fn longer_integers_near_multiples() {
        for d in [
            0,
            1,
            -1,
            2,
            3,
            -3,
            5,
            10,
            641,
            65537,
            -65536,
            i32::MAX,
            i32::MIN,
            i32::MAX - 1,
        ] {
            check(DType::I32, &near_multiples!(i32, d), &[d]);
        }
        for d in [
            0,
            1,
            2,
            3,
            5,
            10,
            641,
            65537,
            1 << 31,
            u32::MAX,
            u32::MAX - 1,
        ] {
            check(DType::U32, &near_multiples!(u32, d), &[d]);
        }
        for d in [
            0,
            1,
            -1,
            2,
            3,
            -3,
            5,
            10,
            641,
            1 << 40,
            i64::MAX,
            i64::MIN,
            6_700_417,
        ] {
            check(DType::I64, &near_multiples!(i64, d), &[d]);
        }
        for d in [
            0,
            1,
            2,
            3,
            5,
            10,
            641,
            1 << 40,
            1 << 63,
            u64::MAX,
            u64::MAX - 1,
            6_700_417,
        ] {
            check(DType::U64, &near_multiples!(u64, d), &[d]);
        }
    }

    #[test]
    fn small_numbers_near_multiples() {
        let limit = 1i64 << SMALL;
        for d in [1, 2, 3, 5, 7, 10, 641, 6_700_417, 1 << 40, limit - 1, limit] {
            let most = limit / d;
            let quotients = [0, 1, 2, most / 3, most / 2, most - 1, most];
            let near = quotients.iter().flat_map(|q| [q * d - 1, q * d, q * d + 1]);
            let both = near.flat_map(|x| [x, -x]);
            let within: Vec<i64> = both.filter(|x| (-limit..limit).contains(x)).collect();
            check(DType::I64, &within, &[d]);
            let unsigned: Vec<u64> = within.iter().filter_map(|&x| x.try_into().ok()).collect();
            check(DType::U64, &unsigned, &[d.unsigned_abs()]);
        }
        check(DType::I64, &[limit, 5, -limit, -limit - 1], &[7, -7, limit]);
    }
}
