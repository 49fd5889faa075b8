//! Inverse circular and hyperbolic functions of complex numbers.
//!
//! After Hull, Fairgrieve and Tang, "Implementing the complex arcsine and arccosine functions using
//! exception handling", in the shape of FreeBSD's `catrig`.

#![expect(clippy::float_cmp, reason = "exact comparison is what is meant")]

use super::catrig::log;
use num_complex::Complex64;
use std::f64::consts::{FRAC_PI_2, LN_2};

const EPSILON: f64 = f64::EPSILON;
/// Beyond it, one is lost beside the number.
const LARGE: f64 = 1.0 / EPSILON;

fn complex(re: f64, im: f64) -> Complex64 {
    Complex64::new(re, im)
}

fn swapped(z: Complex64) -> Complex64 {
    complex(z.im, z.re)
}

/// `hypot(a, b) - b` over two, without cancellation.
fn half_gap(a: f64, b: f64, hypot: f64) -> f64 {
    if b < 0.0 {
        (hypot - b) / 2.0
    } else if b == 0.0 {
        a / 2.0
    } else {
        a * a / (hypot + b) / 2.0
    }
}

/// What the inverse sine and cosine share, for positive parts.
struct Work {
    /// The logarithmic part.
    log: f64,
    /// The angle is that of the point (`across`, `along`).
    across: f64,
    along: f64,
}

fn work(x: f64, y: f64) -> Work {
    let (r, s) = (x.hypot(y + 1.0), x.hypot(y - 1.0));
    let a = f64::midpoint(r, s).max(1.0);
    let split = x >= EPSILON * (y - 1.0).abs();
    let log = if a >= 10.0 {
        (a + (a * a - 1.0).sqrt()).ln()
    } else if y == 1.0 && x < EPSILON * EPSILON / 128.0 {
        x.sqrt()
    } else if split {
        let less = half_gap(x, 1.0 + y, r) + half_gap(x, 1.0 - y, s);
        (less + (less * (a + 1.0)).sqrt()).ln_1p()
    } else if y < 1.0 {
        x / ((1.0 - y) * (1.0 + y)).sqrt()
    } else {
        ((y - 1.0) + ((y - 1.0) * (y + 1.0)).sqrt()).ln_1p()
    };
    let (mut across, mut along) = (y, 0.0);
    if y == 1.0 && x < EPSILON / 128.0 {
        along = x.sqrt() * f64::midpoint(a, y).sqrt();
    } else if split {
        let gap = half_gap(x, y + 1.0, r) + half_gap(x, y - 1.0, s);
        along = (gap * (a + y)).sqrt();
    } else if y > 1.0 {
        let scale = 4.0 / EPSILON / EPSILON;
        along = x * scale * y / ((y + 1.0) * (y - 1.0)).sqrt();
        across = y * scale;
    } else {
        along += ((1.0 - y) * (1.0 + y)).sqrt();
    }
    Work { log, across, along }
}

fn is_large(z: Complex64) -> bool {
    z.re.abs() > LARGE || z.im.abs() > LARGE
}

pub(super) fn asinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return match (x.is_infinite(), y.is_infinite()) {
            (true, _) => complex(x, f64::NAN),
            (_, true) => complex(f64::INFINITY, f64::NAN),
            _ if y == 0.0 => complex(f64::NAN, y),
            _ => complex(f64::NAN, f64::NAN),
        };
    }
    if is_large(z) {
        let w = log(if x.is_sign_negative() { -z } else { z });
        return complex((w.re + LN_2).copysign(x), w.im.copysign(y));
    }
    if x.abs().max(y.abs()) < 9e-9 {
        return z;
    }
    let w = work(x.abs(), y.abs());
    complex(w.log.copysign(x), w.across.atan2(w.along).copysign(y))
}

pub(super) fn asin(z: Complex64) -> Complex64 {
    swapped(asinh(swapped(z)))
}

pub(super) fn acos(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_nan() || y.is_nan() {
        return match (x.is_infinite(), y.is_infinite()) {
            (true, _) => complex(f64::NAN, f64::NEG_INFINITY),
            (_, true) => complex(f64::NAN, -y),
            _ if x == 0.0 => complex(FRAC_PI_2, f64::NAN),
            _ => complex(f64::NAN, f64::NAN),
        };
    }
    let signed = |size: f64| if y.is_sign_negative() { size } else { -size };
    if is_large(z) {
        let w = log(z);
        return complex(w.im.abs(), signed(w.re + LN_2));
    }
    if x == 1.0 && y == 0.0 {
        return complex(0.0, -y);
    }
    if x.abs().max(y.abs()) < 9e-9 {
        return complex(FRAC_PI_2 - x, -y);
    }
    let w = work(y.abs(), x.abs());
    complex(w.along.atan2(w.across.copysign(x)), signed(w.log))
}

pub(super) fn acosh(z: Complex64) -> Complex64 {
    let w = acos(z);
    match (w.re.is_nan(), w.im.is_nan()) {
        (true, false) => complex(w.im.abs(), f64::NAN),
        (_, true) => complex(f64::NAN, w.re),
        (false, false) => complex(w.im.abs(), w.re.copysign(z.im)),
    }
}

pub(super) fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let (ax, ay) = (x.abs(), y.abs());
    if y == 0.0 && ax <= 1.0 {
        return complex(libm::atanh(x), y);
    }
    if x == 0.0 {
        return complex(x, y.atan());
    }
    if x.is_nan() || y.is_nan() {
        return match (x.is_infinite(), y.is_infinite()) {
            (true, _) => complex(0f64.copysign(x), f64::NAN),
            (_, true) => complex(0f64.copysign(x), FRAC_PI_2.copysign(y)),
            _ => complex(f64::NAN, f64::NAN),
        };
    }
    if is_large(z) {
        let size = x.hypot(y);
        let re = if size.is_infinite() {
            0f64.copysign(x)
        } else {
            x / size / size
        };
        return complex(re, FRAC_PI_2.copysign(y));
    }
    if ax.max(ay) < 1e-8 {
        return z;
    }
    let re = if ax == 1.0 && ay < EPSILON {
        (LN_2 - ay.ln()) / 2.0
    } else {
        (4.0 * ax / ((ax - 1.0) * (ax - 1.0) + ay * ay)).ln_1p() / 4.0
    };
    let gap = (1.0 - ax) * (1.0 + ax);
    let im = if ax == 1.0 {
        2f64.atan2(-ay)
    } else if ay < EPSILON {
        (2.0 * ay).atan2(gap)
    } else {
        (2.0 * ay).atan2(gap - ay * ay)
    };
    complex(re.copysign(x), (im / 2.0).copysign(y))
}

pub(super) fn atan(z: Complex64) -> Complex64 {
    swapped(atanh(swapped(z)))
}
