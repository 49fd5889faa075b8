//! Complex numbers, by NumPy's formulas.

#![expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the loops over tiles are vectorised"
)]

use super::binary::{
    Add, Bin, Div, Eq, Fmax, Fmin, Le, Lt, Max, Min, Mul, Ne, Splat, Sub, once as once2, tiles,
};
use super::scalar::Real;
use super::unary::{Un, once, one};
use super::{Body, Kern, plain, tile, tile_mut};
use crate::Isa;
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
bin!(Div Complex<T>, |a, b| divide(a, b));
bin!(Eq u8, |a, b| u8::from((a.re == b.re) & (a.im == b.im)));
bin!(Ne u8, |a, b| u8::from((a.re != b.re) | (a.im != b.im)));
bin!(Lt u8, |a, b| u8::from(less(a, b)));
bin!(Le u8, |a, b| u8::from(less_or_equal(a, b)));
bin!(Min Complex<T>, |a, b| if less_or_equal(a, b) || no_number(a) { a } else { b });
bin!(Max Complex<T>, |a, b| if less_or_equal(b, a) || no_number(a) { a } else { b });
bin!(Fmin Complex<T>, |a, b| if less_or_equal(a, b) || no_number(b) { a } else { b });
bin!(Fmax Complex<T>, |a, b| if less_or_equal(b, a) || no_number(b) { a } else { b });

fn no_number<T: Real>(z: Complex<T>) -> bool {
    z.re.is_nan() || z.im.is_nan()
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
fn modulus<T: Real>(z: Complex<T>) -> T {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_infinite() || y.is_infinite() {
        return T::infinity();
    }
    if x.is_nan() || y.is_nan() {
        return T::nan();
    }
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if large == T::zero() {
        return T::zero();
    }
    let ratio = small / large;
    ratio.mul_add(ratio, T::one()).sqrt() * large
}

/// Smith's division.
fn divide<T: Real>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    let one = T::from_small(1.0);
    if b.re.abs() >= b.im.abs() {
        if b.re.abs() == T::from_small(0.0) && b.im.abs() == T::from_small(0.0) {
            return Complex::new(a.re / b.re.abs(), a.im / b.re.abs());
        }
        let ratio = b.im / b.re;
        let scale = one / (b.re + b.im * ratio);
        Complex::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = one / (b.im + b.re * ratio);
        Complex::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
    }
}

fn reciprocal<T: Real>(z: Complex<T>) -> Complex<T> {
    let one = T::from_small(1.0);
    if z.re.abs() >= z.im.abs() {
        let ratio = z.im / z.re;
        let down = z.re + z.im * ratio;
        Complex::new(one / down, -ratio / down)
    } else {
        let ratio = z.re / z.im;
        let down = z.re * ratio + z.im;
        Complex::new(ratio / down, -one / down)
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

/// `x` to the power `y`; small whole exponents by multiplication, as NumPy does.
fn power<T: Real>(x: Complex<T>, y: Complex<T>) -> Complex<T> {
    let (zero, one) = (T::from_small(0.0), T::from_small(1.0));
    if y.re == zero && y.im == zero {
        return Complex::new(one, zero);
    }
    if x.re == zero && x.im == zero {
        return if y.re > zero {
            Complex::new(zero, zero)
        } else {
            Complex::new(T::from_small(f64::NAN), T::from_small(f64::NAN))
        };
    }
    let mul = <MulAlone as Bin<Complex<T>>>::f;
    if y.im == zero && y.re == y.re.floor() && y.re.abs() < T::from_small(100.0) {
        let mut left = y.re.abs().small_to_usize();
        let (mut base, mut all) = (x, Complex::new(one, zero));
        loop {
            if left & 1 == 1 {
                all = mul(all, base);
            }
            left >>= 1;
            if left == 0 {
                break;
            }
            base = mul(base, base);
        }
        return if y.re < zero {
            divide(Complex::new(one, zero), all)
        } else {
            all
        };
    }
    T::pow_c(x, y)
}

struct Pow;
bin!(Pow Complex<T>, |a, b| power(a, b));

macro_rules! un {
    ($($op:ident $r:ty, |$z:ident| $e:expr;)*) => { $(
        struct $op;
        impl<T: Real> Un<Complex<T>> for $op {
            type R = $r;
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
    Reciprocal Complex<T>, |z| reciprocal(z);
    Truth u8, |z| u8::from((z.re != T::from_small(0.0)) | (z.im != T::from_small(0.0)));
    Rint Complex<T>, |z| Complex::new(z.re.rint(), z.im.rint());
    Sqrt Complex<T>, |z| T::sqrt_c(z);
    Exp Complex<T>, |z| T::exp_c(z);
    Exp2 Complex<T>, |z| T::exp_c(z * T::from_small(std::f64::consts::LN_2));
    Expm1 Complex<T>, |z| {
        let half = (z.im * T::from_small(0.5)).sin();
        Complex::new(
            z.re.exp_m1() * z.im.cos() - T::from_small(2.0) * half * half,
            z.re.exp() * z.im.sin(),
        )
    };
    Log Complex<T>, |z| T::log_c(z);
    Log2 Complex<T>, |z| T::log_c(z) * T::from_small(std::f64::consts::LOG2_E);
    Log10 Complex<T>, |z| T::log_c(z) * T::from_small(std::f64::consts::LOG10_E);
    Log1p Complex<T>, |z| {
        let shifted = z.re + T::from_small(1.0);
        Complex::new(shifted.hypot(z.im).ln(), z.im.atan2(shifted))
    };
    Sin Complex<T>, |z| T::sin_c(z);
    Cos Complex<T>, |z| T::cos_c(z);
    Tan Complex<T>, |z| T::tan_c(z);
    Asin Complex<T>, |z| T::asin_c(z);
    Acos Complex<T>, |z| T::acos_c(z);
    Atan Complex<T>, |z| T::atan_c(z);
    Sinh Complex<T>, |z| T::sinh_c(z);
    Cosh Complex<T>, |z| T::cosh_c(z);
    Tanh Complex<T>, |z| T::tanh_c(z);
    Asinh Complex<T>, |z| T::asinh_z(z);
    Acosh Complex<T>, |z| T::acosh_z(z);
    Atanh Complex<T>, |z| T::atanh_z(z);
    IsNan u8, |z| u8::from(no_number(z));
    IsInf u8, |z| u8::from(z.re.is_infinite() || z.im.is_infinite());
    IsFinite u8, |z| u8::from(z.re.is_finite() && z.im.is_finite());
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
        Prim::Real => Some(once::<RealPart, Complex<T>>()),
        Prim::Imag => Some(once::<ImagPart, Complex<T>>()),
        Prim::Conj => Some(once::<Conj, Complex<T>>()),
        Prim::Abs => Some(once::<Abs, Complex<T>>()),
        Prim::Sign => Some(once::<Sign, Complex<T>>()),
        Prim::Square => Some(one::<Square, Complex<T>>(isa)),
        Prim::Reciprocal => Some(once::<Reciprocal, Complex<T>>()),
        Prim::Rint => Some(once::<Rint, Complex<T>>()),
        Prim::Sqrt => Some(once::<Sqrt, Complex<T>>()),
        Prim::Exp => Some(once::<Exp, Complex<T>>()),
        Prim::Exp2 => Some(once::<Exp2, Complex<T>>()),
        Prim::Expm1 => Some(once::<Expm1, Complex<T>>()),
        Prim::Log => Some(once::<Log, Complex<T>>()),
        Prim::Log2 => Some(once::<Log2, Complex<T>>()),
        Prim::Log10 => Some(once::<Log10, Complex<T>>()),
        Prim::Log1p => Some(once::<Log1p, Complex<T>>()),
        Prim::Sin => Some(once::<Sin, Complex<T>>()),
        Prim::Cos => Some(once::<Cos, Complex<T>>()),
        Prim::Tan => Some(once::<Tan, Complex<T>>()),
        Prim::Asin => Some(once::<Asin, Complex<T>>()),
        Prim::Acos => Some(once::<Acos, Complex<T>>()),
        Prim::Atan => Some(once::<Atan, Complex<T>>()),
        Prim::Sinh => Some(once::<Sinh, Complex<T>>()),
        Prim::Cosh => Some(once::<Cosh, Complex<T>>()),
        Prim::Tanh => Some(once::<Tanh, Complex<T>>()),
        Prim::Asinh => Some(once::<Asinh, Complex<T>>()),
        Prim::Acosh => Some(once::<Acosh, Complex<T>>()),
        Prim::Atanh => Some(once::<Atanh, Complex<T>>()),
        Prim::IsNan => Some(once::<IsNan, Complex<T>>()),
        Prim::IsInf => Some(once::<IsInf, Complex<T>>()),
        Prim::IsFinite => Some(once::<IsFinite, Complex<T>>()),
        Prim::Mul => tiles::<Mul, Complex<T>>(isa, Splat::No),
        Prim::Div => once2::<Div, Complex<T>>(Splat::No),
        Prim::Pow => once2::<Pow, Complex<T>>(Splat::No),
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
