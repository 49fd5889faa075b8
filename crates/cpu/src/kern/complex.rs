//! Complex numbers, by NumPy's formulas.

#![expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the loops over tiles are vectorised"
)]

use super::binary::{
    Add, Bin, Eq, Fmax, Fmin, Le, Lt, Max, Min, Mul, Ne, Splat, Sub, once as once2, tiles,
};
use super::scalar::Real;
use super::unary::{Un, once, one};
use super::{Body, Kern, pick, plain, tile, tile_mut};
use crate::{Isa, mxcsr};
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;
use num_complex::Complex;
use std::marker::PhantomData;

macro_rules! bin {
    ($op:ident $r:ty, |$a:ident, $b:ident| $e:expr) => {
        impl<T: Real> Bin<Complex<T>> for $op {
            type R = $r;
            #[inline(always)]
            fn f($a: Complex<T>, $b: Complex<T>) -> $r {
                $e
            }
        }
    };
}

bin!(Add Complex<T>, |a, b| Complex::new(a.re + b.re, a.im + b.im));
bin!(Sub Complex<T>, |a, b| Complex::new(a.re - b.re, a.im - b.im));
bin!(Mul Complex<T>, |a, b| Complex::new(
    a.re.mul_add(b.re, -(a.im * b.im)),
    a.re.mul_add(b.im, a.im * b.re)
));
bin!(MulAlone Complex<T>, |a, b| Complex::new(
    a.re * b.re - a.im * b.im,
    a.re * b.im + a.im * b.re
));
bin!(FirstFmin Complex<T>, |a, b| if a.re.is_unset() { b } else { Fmin::f(a, b) });
bin!(FirstFmax Complex<T>, |a, b| if a.re.is_unset() { b } else { Fmax::f(a, b) });
bin!(Eq u8, |a, b| u8::from((a.re == b.re) & (a.im == b.im)));
bin!(Ne u8, |a, b| u8::from((a.re != b.re) | (a.im != b.im)));
bin!(Lt u8, |a, b| u8::from(less(a, b)));
bin!(Le u8, |a, b| u8::from(less_or_equal(a, b)));
bin!(Min Complex<T>, |a, b| if less_or_equal(a, b) || no_number(a) { a } else { b });
bin!(Max Complex<T>, |a, b| if less_or_equal(b, a) || no_number(a) { a } else { b });
bin!(Fmin Complex<T>, |a, b| if less_or_equal(a, b) || no_number(b) { a } else { b });
bin!(Fmax Complex<T>, |a, b| if less_or_equal(b, a) || no_number(b) { a } else { b });

fn no_number<T: Real>(z: Complex<T>) -> bool {
    z.re.is_nan() | z.im.is_nan()
}

fn less<T: Real>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re && !a.im.is_nan() && !b.im.is_nan()) || (a.re == b.re && a.im < b.im)
}

fn less_or_equal<T: Real>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re && !a.im.is_nan() && !b.im.is_nan()) || (a.re == b.re && a.im <= b.im)
}

/// An ordering of complex numbers: tells when it met a NaN that decides, as the processor does when
/// NumPy compares the parts one after another.
struct Ordered<O, T>(PhantomData<(O, T)>);

impl<T: Real, O: Bin<Complex<T>, R = u8>> Body for Ordered<O, T> {
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<Complex<T>>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<Complex<T>>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<u8>(out, n) };
        let mut unordered = false;
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = O::f(x, y);
            unordered |= (x.re.is_nan() | y.re.is_nan())
                | ((x.re == y.re) & (x.im.is_nan() | y.im.is_nan()));
        }
        if unordered { FpFlags::INVALID.0 } else { 0 }
    }
}

/// The product of single numbers, in powers and in folds along a run. The product of tiles does not
/// round one of the two products of each part, as NumPy's loops over arrays do not.
pub(super) struct MulAlone;
/// [`Fmin`] in a fold that has no value yet.
pub(super) struct FirstFmin;
/// [`Fmax`] in a fold that has no value yet.
pub(super) struct FirstFmax;

/// The modulus in NumPy's loops over arrays.
#[inline(always)]
fn modulus<T: Real>(z: Complex<T>) -> T {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (large, small) = choose(x > y, x, y);
    let zero = large == T::zero();
    let ratio = small / choose(zero, T::one(), large).0;
    let size = ratio.mul_add(ratio, T::one()).sqrt() * large;
    let endless = x.is_infinite() | y.is_infinite();
    choose(endless, T::infinity(), size).0
}

/// Both, the second one first unless `as_they_are`.
#[inline(always)]
fn choose<T: Copy>(as_they_are: bool, a: T, b: T) -> (T, T) {
    (
        if as_they_are { a } else { b },
        if as_they_are { b } else { a },
    )
}

/// Smith's division: the larger part of the divisor is divided by.
#[inline(always)]
pub(super) fn divide<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let right = b.re.abs() >= b.im.abs();
    let (large, small) = choose(right, b.re, b.im);
    let ratio = small / large;
    let scale = T::one() / (large + small * ratio);
    let (u, v) = choose(right, a.re, a.im);
    let (plus, minus) = choose(right, v, u * ratio);
    Complex::new((u + v * ratio) * scale, (plus - minus) * scale)
}

#[inline(always)]
fn reciprocal<T: Real>(z: Complex<T>) -> Complex<T> {
    let right = z.re.abs() >= z.im.abs();
    let (large, small) = choose(right, z.re, z.im);
    let ratio = small / large;
    let down = large + small * ratio;
    let (re, im) = choose(right, T::one(), ratio);
    Complex::new(re / down, -im / down)
}

/// Smith's division where a divisor may be zero.
pub(super) fn divide_by_any<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if b.re == T::zero() && b.im == T::zero() {
        divide_by_zero(a, b)
    } else {
        divide_by_other(a, b)
    }
}

// Each is a call: the compiler must not compute both, as both meet conditions.
#[inline(never)]
fn divide_by_zero<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    Complex::new(a.re / b.re.abs(), a.im / b.re.abs())
}

#[inline(never)]
fn divide_by_other<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    divide(a, b)
}

/// The condition that comparing the parts of a divisor meets.
#[inline(always)]
pub(super) fn unordered<T: Real>(z: Complex<T>) -> u8 {
    u8::from(no_number(z)) * FpFlags::INVALID.0
}

/// Quotients.
struct Quotient<T>(PhantomData<T>);

impl<T: Real> Body for Quotient<T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<Complex<T>>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<Complex<T>>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        let (mut met, mut zero) = (0, 0);
        for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
            *o = divide(x, y);
            met |= unordered(y);
            zero |= u8::from((y.re == T::zero()) & (y.im == T::zero()));
        }
        if zero != 0 {
            mxcsr::take();
            for ((o, &x), &y) in out.iter_mut().zip(a).zip(b) {
                *o = divide_by_any(x, y);
            }
        }
        met
    }
}

/// Reciprocals.
struct Inverse<T>(PhantomData<T>);

impl<T: Real> Body for Inverse<T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<Complex<T>>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        let mut met = 0;
        for (o, &z) in out.iter_mut().zip(a) {
            *o = reciprocal(z);
            met |= unordered(z);
        }
        met
    }
}

/// `z / |z|`, with the limits at infinity and zero.
fn sign<T: Real>(z: Complex<T>) -> Complex<T> {
    let length = z.re.hypot(z.im);
    let (zero, one) = (T::from_small(0.0), T::from_small(1.0));
    let part = |x: T, other: T| match (x.is_infinite(), other.is_infinite()) {
        (true, false) => one.copysign(x),
        _ => zero,
    };
    if length.is_nan() {
        Complex::new(length, length)
    } else if length.is_infinite() {
        if z.re.is_infinite() && z.im.is_infinite() {
            Complex::new(T::from_small(f64::NAN), T::from_small(f64::NAN))
        } else {
            Complex::new(part(z.re, z.im), part(z.im, z.re))
        }
    } else if length == zero {
        Complex::new(zero, zero)
    } else {
        Complex::new(z.re / length, z.im / length)
    }
}

macro_rules! un {
    ($($op:ident $r:ty, |$z:ident| $e:expr;)*) => { $(
        struct $op;
        impl<T: Real> Un<Complex<T>> for $op {
            type R = $r;
            #[inline(always)]
            fn f($z: Complex<T>) -> $r { $e }
        }
    )* };
}

un! {
    RealPart T, |z| z.re;
    ImagPart T, |z| z.im;
    Conj Complex<T>, |z| Complex::new(z.re, -z.im);
    Abs T, |z| modulus(z);
    Sign Complex<T>, |z| sign(z);
    Square Complex<T>, |z| <Mul as Bin<Complex<T>>>::f(z, z);
    Truth u8, |z| u8::from((z.re != T::from_small(0.0)) | (z.im != T::from_small(0.0)));
    Rint Complex<T>, |z| Complex::new(z.re.rint(), z.im.rint());
    Exp2 Complex<T>, |z| T::exp_c(z * T::from_small(std::f64::consts::LN_2));
    Expm1 Complex<T>, |z| {
        let half = (z.im * T::from_small(0.5)).sin();
        Complex::new(
            z.re.exp_m1() * z.im.cos() - T::from_small(2.0) * half * half,
            z.re.exp() * z.im.sin(),
        )
    };
    Log1p Complex<T>, |z| {
        let shifted = z.re + T::from_small(1.0);
        Complex::new(shifted.hypot(z.im).ln(), z.im.atan2(shifted))
    };
    Asin Complex<T>, |z| T::asin_c(z);
    Acos Complex<T>, |z| T::acos_c(z);
    Atan Complex<T>, |z| T::atan_c(z);
    Asinh Complex<T>, |z| T::asinh_z(z);
    Acosh Complex<T>, |z| T::acosh_z(z);
    Atanh Complex<T>, |z| T::atanh_z(z);
    IsNan u8, |z| u8::from(no_number(z));
    IsInf u8, |z| u8::from(z.re.is_infinite() | z.im.is_infinite());
    IsFinite u8, |z| u8::from(z.re.is_finite() & z.im.is_finite());
}

/// A complex number from two tiles of reals.
struct Join<T>(PhantomData<T>);

impl<T: Real> Body for Join<T> {
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        for ((o, &re), &im) in out.iter_mut().zip(a).zip(b) {
            *o = Complex::new(re, im);
        }
        0
    }
}

/// A complex number from a tile of reals; the imaginary part is zero.
struct Widen<T>(PhantomData<T>);

impl<T: Real> Body for Widen<T> {
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<Complex<T>>(out, n) };
        for (o, &re) in out.iter_mut().zip(a) {
            *o = Complex::new(re, T::from_small(0.0));
        }
        0
    }
}

fn typed<T: Real>(prim: Prim, isa: Isa) -> Option<Kern> {
    match prim {
        Prim::Real => Some(one::<RealPart, Complex<T>>(isa)),
        Prim::Imag => Some(one::<ImagPart, Complex<T>>(isa)),
        Prim::Conj => Some(one::<Conj, Complex<T>>(isa)),
        Prim::Abs => Some(one::<Abs, Complex<T>>(isa)),
        Prim::Sign => Some(once::<Sign, Complex<T>>()),
        Prim::Square => Some(one::<Square, Complex<T>>(isa)),
        Prim::Reciprocal => Some(pick::<Inverse<T>>(isa)),
        Prim::Rint => Some(one::<Rint, Complex<T>>(isa)),
        Prim::Exp2 => Some(once::<Exp2, Complex<T>>()),
        Prim::Expm1 => Some(once::<Expm1, Complex<T>>()),
        Prim::Log1p => Some(once::<Log1p, Complex<T>>()),
        Prim::Asin => Some(once::<Asin, Complex<T>>()),
        Prim::Acos => Some(once::<Acos, Complex<T>>()),
        Prim::Atan => Some(once::<Atan, Complex<T>>()),
        Prim::Asinh => Some(once::<Asinh, Complex<T>>()),
        Prim::Acosh => Some(once::<Acosh, Complex<T>>()),
        Prim::Atanh => Some(once::<Atanh, Complex<T>>()),
        Prim::IsNan => Some(one::<IsNan, Complex<T>>(isa)),
        Prim::IsInf => Some(one::<IsInf, Complex<T>>(isa)),
        Prim::IsFinite => Some(one::<IsFinite, Complex<T>>(isa)),
        Prim::Mul => tiles::<Mul, Complex<T>>(isa, Splat::No),
        Prim::Div => Some(pick::<Quotient<T>>(isa)),
        Prim::Min => once2::<Min, Complex<T>>(Splat::No),
        Prim::Max => once2::<Max, Complex<T>>(Splat::No),
        Prim::Fmin => once2::<Fmin, Complex<T>>(Splat::No),
        Prim::Fmax => once2::<Fmax, Complex<T>>(Splat::No),
        Prim::Eq => once2::<Eq, Complex<T>>(Splat::No),
        Prim::Ne => once2::<Ne, Complex<T>>(Splat::No),
        Prim::Lt => Some(plain::<Ordered<Lt, T>>()),
        Prim::Le => Some(plain::<Ordered<Le, T>>()),
        _ => None,
    }
}

/// The kernel of a primitive on complex operands of type `dtype`.
pub(super) fn find(prim: Prim, dtype: DType, isa: Isa) -> Option<Kern> {
    match dtype {
        DType::C64 => typed::<f32>(prim, isa),
        DType::C128 => typed::<f64>(prim, isa),
        _ => None,
    }
}

/// Whether a complex number of type `dtype` is not zero.
pub(super) fn truth(dtype: DType) -> Option<Kern> {
    match dtype {
        DType::C64 => Some(once::<Truth, Complex<f32>>()),
        DType::C128 => Some(once::<Truth, Complex<f64>>()),
        _ => None,
    }
}

/// A complex number of type `dtype` from its parts, or from its real part alone.
pub(super) fn join(dtype: DType, parts: usize) -> Option<Kern> {
    Some(match (dtype, parts) {
        (DType::C64, 2) => plain::<Join<f32>>(),
        (DType::C128, 2) => plain::<Join<f64>>(),
        (DType::C64, _) => plain::<Widen<f32>>(),
        (DType::C128, _) => plain::<Widen<f64>>(),
        _ => return None,
    })
}
