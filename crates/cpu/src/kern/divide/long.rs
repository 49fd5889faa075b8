//! Integers of 64 bits.
//!
//! Blocks of them go through floats if all are small. For others, one divisor for all becomes a multiplication (crate
//! `strength_reduce`).

#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "integers move between types that hold them, as the module's head says"
)]

use super::conditions;
use crate::Isa;
use crate::kern::binary::Splat;
use crate::kern::cast::{float_of, number_of};
use crate::kern::{Body, Kern, pick, plain, tile, tile_mut};
use std::marker::PhantomData;
use strength_reduce::StrengthReducedU64;

/// 64-bit integers that are looked at together.
const BLOCK: usize = 64;
/// The exponent of the numbers that are small: a quotient of theirs is rounded by less than a quarter of `1 / d`.
pub(super) const SMALL: u32 = 49;

/// `REST` where the remainder is kept, else the quotient.
struct DivisionLong<T, const REST: bool>(PhantomData<T>);
/// `FLOATS` where the processor rounds vectors of floats to whole numbers.
struct ByOneLong<T, const REST: bool, const FLOATS: bool>(PhantomData<T>);

/// 64-bit integers.
pub(super) trait Long: Copy {
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
/// The kernel of a division of 64-bit integers, if there is one for this form.
pub(super) fn long<T: Long, const REST: bool>(isa: Isa, splat: Splat) -> Option<Kern> {
    match (splat, isa) {
        (Splat::B, Isa::Baseline) => Some(plain::<ByOneLong<T, REST, false>>()),
        (Splat::B, _) => Some(pick::<ByOneLong<T, REST, true>>(isa)),
        (Splat::No, Isa::Avx2 | Isa::Avx512) => Some(pick::<DivisionLong<T, REST>>(isa)),
        _ => None,
    }
}
