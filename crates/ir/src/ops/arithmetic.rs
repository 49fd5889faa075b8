//! Sums, products, quotients, powers, roots, absolute values and signs.

use super::{INTEGERS, row};
use crate::{Loops, OpDef, Prim, ReduceOp, Rule, each};
use arrayloom_types::DType;
use smallvec::smallvec;

const REAL: &[Loops] = &[each(INTEGERS, "TT->T"), each("efd", "TT->T")];
const NUMERIC: &[Loops] = &[each(INTEGERS, "TT->T"), each("efdFD", "TT->T")];
const NUMERIC_OR_BOOL: &[Loops] = &[
    each("?", "TT->T"),
    each(INTEGERS, "TT->T"),
    each("efdFD", "TT->T"),
];
const NUMERIC_1: &[Loops] = &[each(INTEGERS, "T->T"), each("efdFD", "T->T")];
const INTEGERS_2: &[Loops] = &[each(INTEGERS, "TT->T")];
const REAL_OR_BOOL_1: &[Loops] = &[
    each("?", "T->T"),
    each(INTEGERS, "T->T"),
    each("efd", "T->T"),
    each("F", "T->f"),
    each("D", "T->d"),
];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        fold: Some(ReduceOp::Add),
        ..row(
            "add",
            2,
            NUMERIC_OR_BOOL,
            |b, x| smallvec![b.bin(Prim::Add, x[0], x[1])],
            "Sum; logical or for bool.",
        )
    },
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "subtract",
            2,
            NUMERIC,
            |b, x| smallvec![b.bin(Prim::Sub, x[0], x[1])],
            "Difference.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Mul),
        ..row(
            "multiply",
            2,
            NUMERIC_OR_BOOL,
            |b, x| smallvec![b.bin(Prim::Mul, x[0], x[1])],
            "Product; logical and for bool.",
        )
    },
    OpDef {
        rule: Rule::TrueDivide,
        ..row(
            "divide",
            2,
            &[each("efdFD", "TT->T")],
            |b, x| smallvec![b.bin(Prim::Div, x[0], x[1])],
            "Quotient.",
        )
    },
    row(
        "floor_divide",
        2,
        REAL,
        |b, x| smallvec![b.bin(Prim::FloorDiv, x[0], x[1])],
        "Quotient rounded down.",
    ),
    row(
        "remainder",
        2,
        REAL,
        |b, x| smallvec![b.bin(Prim::Rem, x[0], x[1])],
        "Remainder with the sign of the divisor.",
    ),
    row(
        "fmod",
        2,
        REAL,
        |b, x| smallvec![b.bin(Prim::Fmod, x[0], x[1])],
        "Remainder with the sign of the dividend.",
    ),
    row(
        "divmod",
        2,
        &[each(INTEGERS, "TT->TT"), each("efd", "TT->TT")],
        |b, x| {
            smallvec![
                b.bin(Prim::FloorDiv, x[0], x[1]),
                b.bin(Prim::Rem, x[0], x[1])
            ]
        },
        "Quotient rounded down and remainder.",
    ),
    row(
        "power",
        2,
        NUMERIC,
        |b, x| smallvec![b.bin(Prim::Pow, x[0], x[1])],
        "First operand to the power of the second.",
    ),
    row(
        "float_power",
        2,
        &[each("dD", "TT->T")],
        |b, x| {
            let complex = b.dtype(x[0]).is_complex();
            let prim = if complex { Prim::Pow } else { Prim::FloatPow };
            smallvec![b.bin(prim, x[0], x[1])]
        },
        "Power in float64 or complex128.",
    ),
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "negative",
            1,
            NUMERIC_1,
            |b, x| smallvec![b.un(Prim::Neg, x[0])],
            "The number with the other sign.",
        )
    },
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "positive",
            1,
            NUMERIC_1,
            |_, x| smallvec![x[0]],
            "The number itself.",
        )
    },
    row(
        "absolute",
        1,
        REAL_OR_BOOL_1,
        |b, x| match b.dtype(x[0]) {
            DType::Bool => smallvec![x[0]],
            d => smallvec![b.un_as(Prim::Abs, d.real(), x[0])],
        },
        "Absolute value; the modulus of complex numbers.",
    ),
    row(
        "fabs",
        1,
        &[each("efd", "T->T")],
        |b, x| smallvec![b.un(Prim::Abs, x[0])],
        "Absolute value as a float.",
    ),
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "sign",
            1,
            NUMERIC_1,
            |b, x| smallvec![b.un(Prim::Sign, x[0])],
            "-1, 0 or 1; complex numbers divided by their modulus.",
        )
    },
    row(
        "square",
        1,
        NUMERIC_1,
        |b, x| smallvec![b.un(Prim::Square, x[0])],
        "The number times itself.",
    ),
    row(
        "reciprocal",
        1,
        NUMERIC_1,
        |b, x| smallvec![b.un(Prim::Reciprocal, x[0])],
        "One divided by the number.",
    ),
    row(
        "sqrt",
        1,
        &[each("efdFD", "T->T")],
        |b, x| smallvec![b.un(Prim::Sqrt, x[0])],
        "Square root.",
    ),
    row(
        "cbrt",
        1,
        &[each("efd", "T->T")],
        |b, x| smallvec![b.un(Prim::Cbrt, x[0])],
        "Cube root.",
    ),
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "gcd",
            2,
            INTEGERS_2,
            |b, x| smallvec![b.bin(Prim::Gcd, x[0], x[1])],
            "Greatest common divisor.",
        )
    },
    OpDef {
        rule: Rule::NotBool,
        ..row(
            "lcm",
            2,
            INTEGERS_2,
            |b, x| smallvec![b.bin(Prim::Lcm, x[0], x[1])],
            "Least common multiple.",
        )
    },
];
