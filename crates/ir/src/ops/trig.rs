//! Circular and hyperbolic functions, and angles.

use super::row;
use crate::{Builder, Loops, OpDef, Prim, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

const FLOATS: &[Loops] = &[each("efdFD", "T->T")];
const REAL: &[Loops] = &[each("efd", "T->T")];
const REAL_2: &[Loops] = &[each("efd", "TT->T")];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    row(
        "sin",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Sin, x[0])],
        "Sine.",
    ),
    row(
        "cos",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Cos, x[0])],
        "Cosine.",
    ),
    row(
        "tan",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Tan, x[0])],
        "Tangent.",
    ),
    row(
        "arcsin",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Asin, x[0])],
        "Inverse sine.",
    ),
    row(
        "arccos",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Acos, x[0])],
        "Inverse cosine.",
    ),
    row(
        "arctan",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Atan, x[0])],
        "Inverse tangent.",
    ),
    row(
        "sinh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Sinh, x[0])],
        "Hyperbolic sine.",
    ),
    row(
        "cosh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Cosh, x[0])],
        "Hyperbolic cosine.",
    ),
    row(
        "tanh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Tanh, x[0])],
        "Hyperbolic tangent.",
    ),
    row(
        "arcsinh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Asinh, x[0])],
        "Inverse hyperbolic sine.",
    ),
    row(
        "arccosh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Acosh, x[0])],
        "Inverse hyperbolic cosine.",
    ),
    row(
        "arctanh",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Atanh, x[0])],
        "Inverse hyperbolic tangent.",
    ),
    row(
        "arctan2",
        2,
        REAL_2,
        |b, x| smallvec![b.bin(Prim::Atan2, x[0], x[1])],
        "Angle of the point (second, first).",
    ),
    row(
        "hypot",
        2,
        REAL_2,
        |b, x| smallvec![b.bin(Prim::Hypot, x[0], x[1])],
        "Length of the vector of both.",
    ),
    row("deg2rad", 1, REAL, to_radians, "Degrees to radians."),
    row("radians", 1, REAL, to_radians, "Degrees to radians."),
    row("rad2deg", 1, REAL, to_degrees, "Radians to degrees."),
    row("degrees", 1, REAL, to_degrees, "Radians to degrees."),
];

fn to_radians(b: &mut Builder, x: &[Value]) -> Values {
    use std::{f32, f64};
    times(b, x[0], f32::consts::PI / 180.0, f64::consts::PI / 180.0)
}

fn to_degrees(b: &mut Builder, x: &[Value]) -> Values {
    use std::{f32, f64};
    times(b, x[0], 180.0 / f32::consts::PI, 180.0 / f64::consts::PI)
}

/// `x` times a factor, which is `float32` for `float16` too.
fn times(b: &mut Builder, x: Value, single: f32, double: f64) -> Values {
    let dtype = b.dtype(x);
    let (wide, factor) = match dtype {
        DType::F64 => (dtype, double),
        _ => (DType::F32, f64::from(single)),
    };
    let factor = b.constant(wide, factor);
    let wide = b.cast(x, wide);
    let product = b.bin(Prim::Mul, wide, factor);
    smallvec![b.cast(product, dtype)]
}
