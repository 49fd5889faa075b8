//! Exponentials and logarithms.
//!
//! Complex functions that NumPy writes with others are written so here.

use super::row;
use crate::{Builder, Loops, OpDef, Prim, Value, Values, each};
use smallvec::smallvec;
use std::f64::consts::{LN_2, LOG2_E, LOG10_E};

const FLOATS: &[Loops] = &[each("efdFD", "T->T")];
const REAL_2: &[Loops] = &[each("efd", "TT->T")];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    row(
        "exp",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Exp, x[0])],
        "e to the power of the number.",
    ),
    row("exp2", 1, FLOATS, exp2, "Two to the power of the number."),
    row(
        "expm1",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Expm1, x[0])],
        "e to the power of the number, less one.",
    ),
    row(
        "log",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Log, x[0])],
        "Natural logarithm.",
    ),
    row(
        "log2",
        1,
        FLOATS,
        |b, x| log_to_base(b, Prim::Log2, LOG2_E, x[0]),
        "Logarithm to base 2.",
    ),
    row(
        "log10",
        1,
        FLOATS,
        |b, x| log_to_base(b, Prim::Log10, LOG10_E, x[0]),
        "Logarithm to base 10.",
    ),
    row(
        "log1p",
        1,
        FLOATS,
        |b, x| smallvec![b.un(Prim::Log1p, x[0])],
        "Natural logarithm of one plus the number.",
    ),
    row(
        "logaddexp",
        2,
        REAL_2,
        |b, x| smallvec![b.bin(Prim::LogAddExp, x[0], x[1])],
        "Logarithm of the sum of the exponentials.",
    ),
    row(
        "logaddexp2",
        2,
        REAL_2,
        |b, x| smallvec![b.bin(Prim::LogAddExp2, x[0], x[1])],
        "Logarithm to base 2 of the sum of the powers of two.",
    ),
];

/// The real and the imaginary part.
fn parts(b: &mut Builder, z: Value) -> (Value, Value) {
    let real = b.dtype(z).real();
    (b.un_as(Prim::Real, real, z), b.un_as(Prim::Imag, real, z))
}

/// Both parts times a real factor.
fn scaled(b: &mut Builder, z: Value, factor: f64) -> Value {
    let (re, im) = parts(b, z);
    let factor = b.constant(b.dtype(re), factor);
    let (re, im) = (b.bin(Prim::Mul, re, factor), b.bin(Prim::Mul, im, factor));
    b.bin_as(Prim::Complex, b.dtype(z), re, im)
}

fn exp2(b: &mut Builder, x: &[Value]) -> Values {
    if !b.dtype(x[0]).is_complex() {
        return smallvec![b.un(Prim::Exp2, x[0])];
    }
    let exponent = scaled(b, x[0], LN_2);
    smallvec![b.un(Prim::Exp, exponent)]
}

fn log_to_base(b: &mut Builder, prim: Prim, factor: f64, x: Value) -> Values {
    if !b.dtype(x).is_complex() {
        return smallvec![b.un(prim, x)];
    }
    let natural = b.un(Prim::Log, x);
    smallvec![scaled(b, natural, factor)]
}
