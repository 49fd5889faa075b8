//! The index of the smallest or largest value.

use crate::eval::Run;
use crate::scalar;
use crate::value::Val;
use arrayloom_device::points;
use arrayloom_ir::AxisMask;
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;

/// Splits the extents: those of the kept axes with ones for the others, and the other way round.
pub(crate) fn split(shape: &[usize], axes: AxisMask) -> (Vec<usize>, Vec<usize>) {
    let part = |folded: bool| {
        let pick = |(axis, &n): (usize, &usize)| {
            if (axes >> axis & 1 == 1) == folded {
                n
            } else {
                1
            }
        };
        shape.iter().enumerate().map(pick).collect()
    };
    (part(false), part(true))
}

/// Writes for every kept point the place of the first extreme value, counted in C order.
pub(crate) fn arg(run: &Run<'_>, number: usize, max: bool, axes: AxisMask) -> Result<(), String> {
    let (kept, folded) = split(run.launch.shape, axes);
    let value = run.kernel.outputs[number].value;
    for outer in points(&kept) {
        let mut best: Option<(i128, Val)> = None;
        for (place, inner) in (0..).zip(points(&folded)) {
            let point: Vec<usize> = outer.iter().zip(&inner).map(|(a, b)| a + b).collect();
            let x = run.value(value, &point)?;
            let wins = match best {
                None => true,
                Some((_, b)) => !is_nan(b) && (is_nan(x) || beats(x, b, max)?),
            };
            if wins {
                best = Some((place, x));
            }
        }
        if let Some((place, _)) = best {
            run.put(number, &outer, Val::Int(DType::I64, place));
        }
    }
    Ok(())
}

fn beats(x: Val, best: Val, max: bool) -> Result<bool, String> {
    let (low, high) = if max { (best, x) } else { (x, best) };
    match scalar::binary(Prim::Lt, DType::Bool, low, high, &mut FpFlags::default()) {
        Some(Val::Bool(less)) => Ok(less),
        _ => Err(format!("{} values are not ordered", x.dtype())),
    }
}

fn is_nan(v: Val) -> bool {
    match v {
        Val::Bool(_) | Val::Int(..) => false,
        Val::F16(v) | Val::F32(v) => v.is_nan(),
        Val::F64(v) => v.is_nan(),
        Val::C64(v) => v.re.is_nan() || v.im.is_nan(),
        Val::C128(v) => v.re.is_nan() || v.im.is_nan(),
    }
}
