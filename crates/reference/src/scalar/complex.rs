//! Complex numbers, after NumPy's inner loops. Functions beyond arithmetic are computed in `float64`.

use super::catrig;
use super::real::Real;
use crate::value::Val;
use arrayloom_ir::Prim;
use num_complex::{Complex, Complex32, Complex64};

/// What the arithmetic gives.
enum Given<R> {
    Complex(Complex<R>),
    Real(R),
    Bool(bool),
}

pub(super) fn unary_double(prim: Prim, z: Complex64) -> Option<Val> {
    match arithmetic(prim, z) {
        Some(Given::Complex(w)) => Some(Val::C128(w)),
        Some(Given::Real(x)) => Some(Val::F64(x)),
        Some(Given::Bool(b)) => Some(Val::Bool(b)),
        None => catrig::unary(prim, z).map(Val::C128),
    }
}

pub(super) fn unary_single(prim: Prim, z: Complex32) -> Option<Val> {
    match arithmetic(prim, z) {
        Some(Given::Complex(w)) => Some(Val::C64(w)),
        Some(Given::Real(x)) => Some(Val::F32(x)),
        Some(Given::Bool(b)) => Some(Val::Bool(b)),
        None => catrig::unary(prim, widened(z)).map(|w| Val::C64(narrowed(w))),
    }
}

pub(super) fn binary_double(prim: Prim, a: Complex64, b: Complex64) -> Option<Val> {
    if prim == Prim::Pow {
        return Some(Val::C128(power(a, b, catrig::power)));
    }
    Some(match arithmetic2(prim, a, b)? {
        Given::Complex(w) => Val::C128(w),
        Given::Real(x) => Val::F64(x),
        Given::Bool(b) => Val::Bool(b),
    })
}

pub(super) fn binary_single(prim: Prim, a: Complex32, b: Complex32) -> Option<Val> {
    if prim == Prim::Pow {
        let general = |a, b| narrowed(catrig::power(widened(a), widened(b)));
        return Some(Val::C64(power(a, b, general)));
    }
    Some(match arithmetic2(prim, a, b)? {
        Given::Complex(w) => Val::C64(w),
        Given::Real(x) => Val::F32(x),
        Given::Bool(b) => Val::Bool(b),
    })
}

fn widened(z: Complex32) -> Complex64 {
    Complex64::new(f64::from(z.re), f64::from(z.im))
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is meant")]
fn narrowed(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

fn arithmetic<R: Real>(prim: Prim, z: Complex<R>) -> Option<Given<R>> {
    let (x, y) = (z.re, z.im);
    Some(Given::Complex(match prim {
        Prim::Real => return Some(Given::Real(x)),
        Prim::Imag => return Some(Given::Real(y)),
        Prim::Abs => return Some(Given::Real(modulus(z))),
        Prim::IsNan => return Some(Given::Bool(x.is_nan() || y.is_nan())),
        Prim::IsInf => return Some(Given::Bool(x.is_infinite() || y.is_infinite())),
        Prim::IsFinite => {
            let finite = |v: R| !v.is_nan() && !v.is_infinite();
            return Some(Given::Bool(finite(x) && finite(y)));
        }
        Prim::Conj => Complex { re: x, im: -y },
        Prim::Neg => Complex { re: -x, im: -y },
        Prim::Square => fused_product(z, z),
        Prim::Reciprocal => reciprocal(z),
        Prim::Sign => sign(z),
        Prim::Rint => Complex {
            re: x.call(Prim::Rint)?,
            im: y.call(Prim::Rint)?,
        },
        // These two are made of real functions in the precision of the parts.
        Prim::Expm1 => {
            let half = (y / R::ONE.times(2)).call(Prim::Sin)?;
            Complex {
                re: x.call(Prim::Expm1)? * y.call(Prim::Cos)? - R::ONE.times(2) * half * half,
                im: x.call(Prim::Exp)? * y.call(Prim::Sin)?,
            }
        }
        Prim::Log1p => Complex {
            re: (x + R::ONE).hypot(y).call(Prim::Log)?,
            im: y.call2(Prim::Atan2, x + R::ONE)?,
        },
        _ => return None,
    }))
}

fn arithmetic2<R: Real>(prim: Prim, a: Complex<R>, b: Complex<R>) -> Option<Given<R>> {
    let nan = |z: Complex<R>| z.re.is_nan() || z.im.is_nan();
    let pick = |left: bool| if left { a } else { b };
    Some(Given::Complex(match prim {
        Prim::Add => Complex {
            re: a.re + b.re,
            im: a.im + b.im,
        },
        Prim::Sub => Complex {
            re: a.re - b.re,
            im: a.im - b.im,
        },
        Prim::Mul => fused_product(a, b),
        Prim::Div => quotient(a, b),
        Prim::Min => pick(nan(a) || (!nan(b) && less_equal(a, b))),
        Prim::Max => pick(nan(a) || (!nan(b) && less_equal(b, a))),
        Prim::Fmin => pick(nan(b) || less_equal(a, b)),
        Prim::Fmax => pick(nan(b) || less_equal(b, a)),
        Prim::Eq => return Some(Given::Bool(a.re == b.re && a.im == b.im)),
        Prim::Ne => return Some(Given::Bool(a.re != b.re || a.im != b.im)),
        Prim::Lt => return Some(Given::Bool(less(a, b))),
        Prim::Le => return Some(Given::Bool(less_equal(a, b))),
        _ => return None,
    }))
}

/// What a fold along a run multiplies with.
pub(crate) fn fold_product(a: Val, b: Val) -> Option<Val> {
    match (a, b) {
        (Val::C64(a), Val::C64(b)) => Some(Val::C64(product(a, b))),
        (Val::C128(a), Val::C128(b)) => Some(Val::C128(product(a, b))),
        _ => None,
    }
}

fn less<R: Real>(a: Complex<R>, b: Complex<R>) -> bool {
    let known = !a.im.is_nan() && !b.im.is_nan();
    (a.re < b.re && known) || (a.re == b.re && a.im < b.im)
}

fn less_equal<R: Real>(a: Complex<R>, b: Complex<R>) -> bool {
    let known = !a.im.is_nan() && !b.im.is_nan();
    (a.re < b.re && known) || (a.re == b.re && a.im <= b.im)
}

/// The product in NumPy's loops over arrays: one product of each part is not rounded by itself.
fn fused_product<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    Complex {
        re: a.re.mul_add(b.re, -(a.im * b.im)),
        im: a.re.mul_add(b.im, a.im * b.re),
    }
}

/// The modulus in NumPy's loops over arrays.
fn modulus<R: Real>(z: Complex<R>) -> R {
    let (x, y) = (z.re.abs(), z.im.abs());
    if x.is_infinite() || y.is_infinite() {
        return R::ONE / R::ZERO;
    }
    if x.is_nan() || y.is_nan() {
        return R::NAN;
    }
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    if large == R::ZERO {
        return R::ZERO;
    }
    let ratio = small / large;
    ratio.mul_add(ratio, R::ONE).sqrt() * large
}

/// The product of single numbers, in powers and in folds.
fn product<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    Complex {
        re: a.re * b.re - a.im * b.im,
        im: a.re * b.im + a.im * b.re,
    }
}

/// Smith's quotient, as in NumPy's loops.
fn quotient<R: Real>(a: Complex<R>, b: Complex<R>) -> Complex<R> {
    let (re, im) = (b.re.abs(), b.im.abs());
    if re >= im {
        if re == R::ZERO && im == R::ZERO {
            return Complex {
                re: a.re / re,
                im: a.im / re,
            };
        }
        let ratio = b.im / b.re;
        let scale = R::ONE / (b.re + b.im * ratio);
        Complex {
            re: (a.re + a.im * ratio) * scale,
            im: (a.im - a.re * ratio) * scale,
        }
    } else {
        let ratio = b.re / b.im;
        let scale = R::ONE / (b.im + b.re * ratio);
        Complex {
            re: (a.re * ratio + a.im) * scale,
            im: (a.im * ratio - a.re) * scale,
        }
    }
}

fn reciprocal<R: Real>(z: Complex<R>) -> Complex<R> {
    if z.im.abs() <= z.re.abs() {
        let ratio = z.im / z.re;
        let size = z.re + z.im * ratio;
        Complex {
            re: R::ONE / size,
            im: -ratio / size,
        }
    } else {
        let ratio = z.re / z.im;
        let size = z.re * ratio + z.im;
        Complex {
            re: ratio / size,
            im: -R::ONE / size,
        }
    }
}

/// The number divided by its modulus.
fn sign<R: Real>(z: Complex<R>) -> Complex<R> {
    let size = z.re.hypot(z.im);
    let unit = |x: R| if x > R::ZERO { R::ONE } else { -R::ONE };
    let (re, im) = match (z.re.is_infinite(), z.im.is_infinite()) {
        (true, true) => (R::NAN, R::NAN),
        _ if size.is_nan() => (R::NAN, R::NAN),
        (true, false) => (unit(z.re), R::ZERO),
        (false, true) => (R::ZERO, unit(z.im)),
        _ if size == R::ZERO => (R::ZERO, R::ZERO),
        _ => (z.re / size, z.im / size),
    };
    Complex { re, im }
}

/// `npy_cpow`: small whole exponents by multiplication, else `general`.
fn power<R: Real>(
    a: Complex<R>,
    b: Complex<R>,
    general: impl Fn(Complex<R>, Complex<R>) -> Complex<R>,
) -> Complex<R> {
    let complex = |re, im| Complex { re, im };
    if b.re == R::ZERO && b.im == R::ZERO {
        return complex(R::ONE, R::ZERO);
    }
    if a.re == R::ZERO && a.im == R::ZERO {
        return if b.re > R::ZERO {
            complex(R::ZERO, R::ZERO)
        } else {
            complex(R::NAN, R::NAN)
        };
    }
    let whole = (-99..100).find(|n| b.im == R::ZERO && b.re == R::ONE.times(*n));
    match whole {
        None => general(a, b),
        Some(1) => a,
        Some(2) => product(a, a),
        Some(3) => product(a, product(a, a)),
        Some(n) => {
            let (mut result, mut square, mut rest) = (complex(R::ONE, R::ZERO), a, n.abs());
            loop {
                if rest & 1 == 1 {
                    result = product(result, square);
                }
                rest >>= 1;
                if rest == 0 {
                    break;
                }
                square = product(square, square);
            }
            if n < 0 {
                quotient(complex(R::ONE, R::ZERO), result)
            } else {
                result
            }
        }
    }
}
