//! Complex exponentials, logarithms, roots and the direct circular functions, in `float64`, with the
//! values of C99 annex G at infinities and zeros. The inverse functions stand in `inverse`.

use super::inverse;
use arrayloom_ir::Prim;
use num_complex::Complex64;
use std::f64::consts::LN_2;

fn complex(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

pub(super) fn unary(prim: Prim, z: Complex64) -> Option<Complex64> {
    // A function f with g(z) = -i f(iz): circular from hyperbolic.
    let turned = |f: fn(Complex64) -> Complex64| {
        let w = f(complex(-z.im, z.re));
        complex(w.im, -w.re)
    };
    Some(match prim {
        Prim::Sqrt => sqrt(z),
        Prim::Exp => exp(z),
        Prim::Log => log(z),
        Prim::Sinh => sinh(z),
        Prim::Cosh => cosh(z),
        Prim::Tanh => tanh(z),
        Prim::Sin if z.im.is_infinite() && !z.re.is_finite() => complex(f64::NAN, f64::INFINITY),
        Prim::Sin => turned(sinh),
        Prim::Cos => cosh(complex(-z.im, z.re)),
        Prim::Tan => turned(tanh),
        Prim::Asinh => inverse::asinh(z),
        Prim::Acosh => inverse::acosh(z),
        Prim::Atanh => inverse::atanh(z),
        Prim::Asin => inverse::asin(z),
        Prim::Acos => inverse::acos(z),
        Prim::Atan => inverse::atan(z),
        _ => return None,
    })
}

/// Powers that are no small whole ones.
pub(super) fn power(a: Complex64, b: Complex64) -> Complex64 {
    let l = log(a);
    exp(complex(
        b.re * l.re - b.im * l.im,
        b.re * l.im + b.im * l.re,
    ))
}

fn sqrt(z: Complex64) -> Complex64 {
    let (a, b) = (z.re, z.im);
    if a == 0.0 && b == 0.0 {
        return complex(0.0, b);
    }
    if b.is_infinite() {
        return complex(f64::INFINITY, b);
    }
    if a.is_nan() {
        return complex(a, f64::NAN);
    }
    if a.is_infinite() {
        let rest = if b.is_nan() { b } else { 0.0 };
        return if a < 0.0 {
            complex(rest, a.copysign(b))
        } else {
            complex(a, rest.copysign(b))
        };
    }
    // Scaled so that neither the modulus overflows nor tiny numbers lose bits.
    let scale = if a.abs().max(b.abs()) > 1e300 {
        0.25
    } else if a.abs().max(b.abs()) < 1e-280 {
        2f64.powi(108)
    } else {
        1.0
    };
    let (a, b, back) = (a * scale, b * scale, scale.sqrt().recip());
    let t = ((a.abs() + a.hypot(b)) * 0.5).sqrt();
    if a >= 0.0 {
        complex(t * back, b / (2.0 * t) * back)
    } else {
        complex(b.abs() / (2.0 * t) * back, t.copysign(b) * back)
    }
}

/// `size * factor` where `size` is e to the x, also where e to the x alone is too large.
fn exp_times(x: f64, factor: f64) -> f64 {
    if x > 700.0 && factor != 0.0 {
        let half = (x / 2.0).exp();
        factor * half * half
    } else {
        factor * x.exp()
    }
}

/// Half of `size * factor`, where half of the factor alone may be too small.
fn half_exp_times(x: f64, factor: f64) -> f64 {
    let half = (x / 2.0).exp();
    factor * half * (half * 0.5)
}

fn exp(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return complex(x.exp(), y);
    }
    if x == f64::NEG_INFINITY && !y.is_finite() {
        return complex(0.0, 0.0);
    }
    if x == f64::INFINITY && !y.is_finite() {
        return complex(x, f64::NAN);
    }
    if x.is_infinite() {
        return complex(x.exp() * y.cos(), x.exp() * y.sin());
    }
    complex(exp_times(x, y.cos()), exp_times(x, y.sin()))
}

/// The logarithm of the modulus, exact near modulus one, and the angle.
pub(super) fn log(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let (high, low) = (x.abs().max(y.abs()), x.abs().min(y.abs()));
    let size = if x.is_infinite() || y.is_infinite() {
        f64::INFINITY
    } else if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if high > 1e300 {
        (high / 2.0).hypot(low / 2.0).ln() + LN_2
    } else if high < 1e-300 {
        (high * 2f64.powi(60)).hypot(low * 2f64.powi(60)).ln() - 60.0 * LN_2
    } else if high > 0.5 && high < 2.0 && high * high + low * low < 3.0 {
        near_one(high, low)
    } else {
        high.hypot(low).ln()
    };
    complex(size, y.atan2(x))
}

/// The logarithm of a modulus near one: `high^2 + low^2 - 1` is summed with the rounding errors of its
/// products.
fn near_one(high: f64, low: f64) -> f64 {
    let (a, b) = (high - 1.0, high + 1.0);
    let first = a * b;
    let first_error = a.mul_add(b, -first) + a * ((high - b) + 1.0);
    let second = low * low;
    let second_error = low.mul_add(low, -second);
    let sum = first + second;
    let part = sum - first;
    let sum_error = (first - (sum - part)) + (second - part);
    0.5 * (sum + (sum_error + first_error + second_error)).ln_1p()
}

fn sinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return complex(x.sinh(), y);
    }
    if x.is_finite() && y.is_finite() {
        return hyperbolic(x, y, f64::sinh, f64::cosh, (x.signum(), 1.0));
    }
    if x == 0.0 {
        return complex(x, f64::NAN);
    }
    if x.is_infinite() {
        return if y.is_finite() {
            complex(x * y.cos(), f64::INFINITY * y.sin())
        } else {
            complex(f64::INFINITY, f64::NAN)
        };
    }
    complex(f64::NAN, f64::NAN)
}

fn cosh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        let zero = if x.is_nan() {
            0.0
        } else {
            0f64.copysign(x) * y
        };
        return complex(x.cosh(), zero);
    }
    if x.is_finite() && y.is_finite() {
        return hyperbolic(x, y, f64::cosh, f64::sinh, (1.0, x.signum()));
    }
    if x == 0.0 {
        return complex(f64::NAN, 0.0);
    }
    if x.is_infinite() {
        return if y.is_finite() {
            complex(f64::INFINITY * y.cos(), x * y.sin())
        } else {
            complex(f64::INFINITY, f64::NAN)
        };
    }
    complex(f64::NAN, f64::NAN)
}

/// `f(x) cos(y) + i g(x) sin(y)`; for large x both are half of e to the |x| with the given signs.
fn hyperbolic(
    x: f64,
    y: f64,
    f: fn(f64) -> f64,
    g: fn(f64) -> f64,
    signs: (f64, f64),
) -> Complex64 {
    let (c, s) = (y.cos(), y.sin());
    if x.abs() < 40.0 {
        return complex(f(x) * c, g(x) * s);
    }
    let size = x.abs();
    complex(
        half_exp_times(size, signs.0 * c),
        half_exp_times(size, signs.1 * s),
    )
}

fn tanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() {
        return complex(x, if y == 0.0 { y } else { f64::NAN });
    }
    if x.is_infinite() {
        let sign = if y.is_infinite() {
            y
        } else {
            y.sin() * y.cos()
        };
        return complex(1f64.copysign(x), 0f64.copysign(sign));
    }
    if !y.is_finite() {
        return complex(if x == 0.0 { x } else { f64::NAN }, f64::NAN);
    }
    if x.abs() >= 22.0 {
        let small = (-x.abs()).exp();
        let imag = 4.0 * y.sin() * y.cos() * small * small;
        return complex(1f64.copysign(x), imag);
    }
    let (t, s) = (y.tan(), x.sinh());
    let beta = 1.0 + t * t;
    let rho = (1.0 + s * s).sqrt();
    let below = 1.0 + beta * s * s;
    complex(beta * rho * s / below, t / below)
}
