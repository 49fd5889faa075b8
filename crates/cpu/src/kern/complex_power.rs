//! Powers of complex numbers: small whole exponents by multiplication, as NumPy does, others as
//! `e^(w log z)`.

#![expect(
    clippy::float_cmp,
    reason = "whether an exponent is whole is an exact question"
)]

use super::binary::Bin;
use super::complex::{MulAlone, divide, divide_by_any, unordered};
use super::complex_math::{CHUNK, is_odd};
use super::math::Element;
use super::scalar::Real;
use super::{Body, Kern, pick, tile, tile_mut};
use crate::{Isa, mxcsr};
use arrayloom_ir::FpFlags;
use arrayloom_math::{ComplexUnary as _, complex as easy};
use arrayloom_types::DType;
use num_complex::Complex;
use std::marker::PhantomData;

/// Whole exponents from here on are no small ones.
const MANY: f64 = 100.0;

#[inline(always)]
fn is_small_whole<T: Element>(w: Complex<T>) -> bool {
    let (re, im) = (w.re.wide(), w.im.wide());
    (im == 0.0) & (re == re.trunc()) & (re.abs() < MANY)
}

/// The exponent as a small whole number, if it is one.
fn small_whole<T: Element>(w: Complex<T>) -> Option<i32> {
    #[expect(clippy::cast_possible_truncation, reason = "whole and below a hundred")]
    is_small_whole(w).then_some(w.re.wide() as i32)
}

fn is_zero<T: Real>(z: Complex<T>) -> bool {
    z.re == T::zero() && z.im == T::zero()
}

#[inline(always)]
fn mul<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    <MulAlone as Bin<Complex<T>>>::f(a, b)
}

/// Numbers that are not zero to a whole power that is not zero, by repeated squaring; and conditions
/// beside those in the processor's register.
#[inline(always)]
fn whole_powers<T: Real>(z: &[Complex<T>], exponent: i32, out: &mut [Complex<T>]) -> u8 {
    match exponent {
        1 => out.copy_from_slice(z),
        2 => (out.iter_mut().zip(z)).for_each(|(o, &z)| *o = mul(z, z)),
        3 => (out.iter_mut().zip(z)).for_each(|(o, &z)| *o = mul(z, mul(z, z))),
        _ => {
            let one = Complex::new(T::one(), T::zero());
            let mut all = [one; CHUNK];
            let square = &mut all[..z.len()];
            square.copy_from_slice(z);
            out.fill(one);
            let mut left = exponent.unsigned_abs();
            loop {
                if left & 1 == 1 {
                    (out.iter_mut().zip(&*square)).for_each(|(o, &z)| *o = mul(*o, z));
                }
                left >>= 1;
                if left == 0 {
                    break;
                }
                for z in square.iter_mut() {
                    *z = mul(*z, *z);
                }
            }
            if exponent < 0 {
                return reciprocals(out);
            }
        }
    }
    0
}

/// One by each number.
#[inline(always)]
fn reciprocals<T: Real>(numbers: &mut [Complex<T>]) -> u8 {
    let one = Complex::new(T::one(), T::zero());
    let met = numbers.iter().fold(0, |met, &z| met | unordered(z));
    if numbers.iter().any(|&z| is_zero(z)) {
        for z in numbers {
            *z = divide_by_any(one, *z);
        }
    } else {
        for z in numbers {
            *z = divide(one, *z);
        }
    }
    met
}

/// `z` to the power `w`, one number at a time; and conditions as above.
fn power<T: Real + Element>(z: Complex<T>, w: Complex<T>) -> (Complex<T>, u8) {
    let mut out = [Complex::new(T::one(), T::zero())];
    if is_zero(w) {
        return (out[0], 0);
    }
    if is_zero(z) && w.re > T::zero() {
        return (Complex::new(T::zero(), T::zero()), 0);
    }
    if is_zero(z) {
        return (Complex::new(T::nan(), T::nan()), FpFlags::INVALID.0);
    }
    match small_whole(w) {
        Some(exponent) => {
            let met = whole_powers(&[z], exponent, &mut out);
            (out[0], met)
        }
        None => (T::pow_c(z, w), 0),
    }
}

/// The power by the quick way, and whether that does not do.
#[inline(always)]
fn quick<T: Real + Element>(z: Complex<T>, w: Complex<T>) -> (Complex<T>, bool) {
    let (re, im) = (z.re.wide(), z.im.wide());
    let (size, angle) = easy::Log::easy(re, im);
    let (u, v) = (w.re.wide(), w.im.wide());
    let (x, y) = (u * size - v * angle, u * angle + v * size);
    let (real, imaginary) = easy::Exp::easy(x, y);
    let value = Complex::new(T::rounded(real), T::rounded(imaginary));
    let special = is_zero(z) | is_small_whole(w);
    let hard = easy::Log::hard(re, im) | easy::Exp::hard(x, y) | special;
    let odd = is_odd(value.re, y == 0.0) | is_odd(value.im, y == 0.0);
    (value, hard | odd)
}

struct Power<T>(PhantomData<T>);

impl<T: Real + Element> Body for Power<T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<Complex<T>>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<Complex<T>>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        let mut met = 0;
        for ((z, w), out) in a
            .chunks(CHUNK)
            .zip(b.chunks(CHUNK))
            .zip(out.chunks_mut(CHUNK))
        {
            let one_exponent = small_whole(w[0]).filter(|&exponent| {
                exponent != 0 && w.iter().all(|&w2| w2 == w[0]) && !z.iter().any(|&z| is_zero(z))
            });
            if let Some(exponent) = one_exponent {
                met |= whole_powers(z, exponent, out) | mxcsr::take();
                continue;
            }
            let (mut hard, mut any) = ([0; CHUNK], 0);
            for (((o, &z), &w), hard) in out.iter_mut().zip(z).zip(w).zip(&mut hard) {
                let (value, is_hard) = quick(z, w);
                *o = value;
                *hard = u64::from(is_hard);
                any |= *hard;
            }
            if any != 0 {
                met |= one_by_one((z, w), out, &hard);
            }
        }
        met
    }
}

/// Computes the powers that are `hard` one by one.
#[cold]
fn one_by_one<T: Real + Element>(
    operands: (&[Complex<T>], &[Complex<T>]),
    out: &mut [Complex<T>],
    hard: &[u64; CHUNK],
) -> u8 {
    mxcsr::take();
    let mut met = 0;
    let pairs = operands.0.iter().zip(operands.1);
    for ((o, (&z, &w)), _) in out
        .iter_mut()
        .zip(pairs)
        .zip(hard)
        .filter(|(_, hard)| **hard != 0)
    {
        let (value, conditions) = power(z, w);
        *o = value;
        met |= conditions;
    }
    mxcsr::join_x87();
    met | mxcsr::take()
}

/// The kernel for operands of type `dtype`.
pub(super) fn find(dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::C64 => Some(pick::<Power<f32>>(isa)),
        DType::C128 => Some(pick::<Power<f64>>(isa)),
        _ => None,
    }
}
