//! Whether two results agree.

use super::exec::{Found, Job};
use super::place::offsets;
use arrayloom_ir::Prim;
use arrayloom_types::{DType, Layout};
use half::f16;

/// How close results must be. NaN equals NaN, whatever its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Closeness {
    /// The same bits.
    Bits,
    /// The same bits, but zeros may differ in sign.
    ZeroSign,
    /// At most this many units in the last place; for complex numbers, in that of the modulus.
    Ulp(u32),
    /// At most this many units of the modulus of a complex power. Where both are endless, no numbers or zero,
    /// systems differ: the exponent is too large for a direction, or not finite, which C leaves open.
    Power(u32),
    /// The same, or as many units in the last place of one: for a sum of about one and a logarithm that
    /// takes it away again.
    UlpOfOne(u32),
}

impl Closeness {
    /// What a primitive must keep. Transcendental functions of two sources differ: each is within one
    /// unit (`float64`) or two (`float32`) of the truth.
    pub(super) fn of(prim: Prim, operand: DType) -> Closeness {
        use Prim::{
            Abs, Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cbrt, Cos, Cosh, Exp, Exp2, Expm1,
            FloatPow, Fmax, Fmin, Hypot, Log, Log1p, Log2, Log10, LogAddExp, LogAddExp2, Max, Min,
            Pow, Sign, Sin, Sinh, Sqrt, Tan, Tanh,
        };
        let rounded = operand.is_float() || operand.is_complex();
        match prim {
            Cbrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Asin
            | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh | Atanh | Atan2 | Hypot => {
                Closeness::transcendental(operand)
            }
            LogAddExp | LogAddExp2 if operand != DType::F16 => Closeness::UlpOfOne(4),
            LogAddExp | LogAddExp2 => Closeness::transcendental(operand),
            // The exponent `b` multiplies the error of the logarithm of the base `a`: systems are within two units
            // for each one of `1 + |b log a|`, which is below 800 for the exponents of the cases.
            Pow if operand.is_complex() => Closeness::Power(2048),
            Pow | FloatPow if rounded => Closeness::transcendental(operand),
            Abs | Sqrt | Sign if operand.is_complex() => Closeness::transcendental(operand),
            Min | Max | Fmin | Fmax => Closeness::ZeroSign,
            _ => Closeness::Bits,
        }
    }

    fn transcendental(operand: DType) -> Closeness {
        match operand {
            DType::F16 => Closeness::Ulp(1),
            d if d.is_complex() => Closeness::Ulp(16),
            _ => Closeness::Ulp(4),
        }
    }
}

/// Compares all results of a case, and the bytes between their elements.
pub(super) fn blocks(
    job: &Job,
    found: &Found,
    expected: &Found,
    closeness: Closeness,
) -> Result<(), String> {
    for (i, layout) in job.outs.iter().enumerate() {
        let (a, b) = (&found.blocks[i], &expected.blocks[i]);
        if a.len() != b.len() {
            return Err(format!("result {i} has {} bytes, not {}", a.len(), b.len()));
        }
        elements(layout, a, b, closeness).map_err(|what| format!("result {i}, {what}"))?;
        let (a, b) = (without_elements(layout, a), without_elements(layout, b));
        if let Some(at) = (0..a.len()).find(|&at| a[at] != b[at]) {
            return Err(format!(
                "result {i}: byte {at} lies between elements but was written"
            ));
        }
    }
    Ok(())
}

fn without_elements(layout: &Layout, block: &[u8]) -> Vec<u8> {
    let mut rest = block.to_vec();
    for at in offsets(layout) {
        rest[at..at + layout.dtype.size()].fill(0);
    }
    rest
}

fn elements(layout: &Layout, a: &[u8], b: &[u8], closeness: Closeness) -> Result<(), String> {
    let size = layout.dtype.size();
    for (number, at) in offsets(layout).into_iter().enumerate() {
        let (x, y) = (&a[at..at + size], &b[at..at + size]);
        if !close(layout.dtype, x, y, closeness) {
            return Err(format!(
                "element {number} of {:?}: {} instead of {}",
                layout.shape,
                shown(layout.dtype, x),
                shown(layout.dtype, y)
            ));
        }
    }
    Ok(())
}

/// Whether two elements agree.
pub(super) fn close(dtype: DType, x: &[u8], y: &[u8], closeness: Closeness) -> bool {
    if x == y {
        return true;
    }
    if !dtype.is_complex() {
        return dtype.is_float() && parts_close(dtype, x, y, closeness);
    }
    let part = dtype.real();
    let half = part.size();
    if let Closeness::Ulp(n) | Closeness::Power(n) = closeness {
        let number = |z: &[u8]| (value(part, &z[..half]), value(part, &z[half..]));
        let ((xr, xi), (yr, yi)) = (number(x), number(y));
        let extreme = |p: f64, q: f64| !(p + q).is_finite() || (p == 0.0 && q == 0.0);
        if closeness == Closeness::Power(n) && extreme(xr, xi) && extreme(yr, yi) {
            return true;
        }
        let bound = f64::from(n) * epsilon(part) * yr.hypot(yi);
        let near = |p: f64, q: f64| (p - q).abs() <= bound;
        if bound.is_finite() && near(xr, yr) && near(xi, yi) {
            return true;
        }
    }
    parts_close(part, &x[..half], &y[..half], closeness)
        && parts_close(part, &x[half..], &y[half..], closeness)
}

fn parts_close(dtype: DType, x: &[u8], y: &[u8], closeness: Closeness) -> bool {
    let (p, q) = (value(dtype, x), value(dtype, y));
    if x == y || p.is_nan() && q.is_nan() {
        return true;
    }
    match closeness {
        Closeness::Bits => false,
        Closeness::ZeroSign => p == 0.0 && q == 0.0,
        Closeness::Ulp(n) | Closeness::Power(n) => places_apart(dtype, x, y) <= u64::from(n),
        Closeness::UlpOfOne(n) => {
            let absolute = (p - q).abs() <= f64::from(n) * epsilon(dtype);
            absolute || places_apart(dtype, x, y) <= u64::from(n)
        }
    }
}

fn places_apart(dtype: DType, x: &[u8], y: &[u8]) -> u64 {
    place(dtype, x).abs_diff(place(dtype, y))
}

fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => f64::from(f16::EPSILON),
        DType::F32 => f64::from(f32::EPSILON),
        _ => f64::EPSILON,
    }
}

/// The place of a float among all floats of its dtype, zero in the middle.
fn place(dtype: DType, x: &[u8]) -> i64 {
    let mut bytes = [0; 8];
    bytes[..x.len()].copy_from_slice(x);
    let bits = u64::from_le_bytes(bytes);
    let sign = 1u64 << (8 * dtype.size() - 1);
    let magnitude = (bits & (sign - 1)).cast_signed();
    if bits & sign == 0 {
        magnitude
    } else {
        -magnitude
    }
}

fn value(dtype: DType, x: &[u8]) -> f64 {
    let mut bytes = [0; 8];
    bytes[..x.len()].copy_from_slice(x);
    let [a, b, c, d, ..] = bytes;
    match dtype {
        DType::F16 => f16::from_le_bytes([a, b]).to_f64(),
        DType::F32 => f64::from(f32::from_le_bytes([a, b, c, d])),
        _ => f64::from_le_bytes(bytes),
    }
}

fn shown(dtype: DType, x: &[u8]) -> String {
    let mut bytes = [0; 16];
    bytes[..x.len()].copy_from_slice(x);
    let hex = format!(
        "{:0width$x}",
        u128::from_le_bytes(bytes),
        width = 2 * x.len()
    );
    if dtype.is_float() {
        format!("{:e} ({hex})", value(dtype, x))
    } else if dtype.is_complex() {
        let half = dtype.size() / 2;
        let part = |z| value(dtype.real(), z);
        format!("{:e} + {:e}i ({hex})", part(&x[..half]), part(&x[half..]))
    } else {
        format!("0x{hex}")
    }
}
