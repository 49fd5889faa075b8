//! Logical operations, and what kind of number a float is.

use super::{INTEGERS, row};
use crate::{Builder, Loops, OpDef, Prim, ReduceOp, Rule, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

const TO_BOOL: &[Loops] = &[
    each("?", "T->?"),
    each(INTEGERS, "T->?"),
    each("efdFD", "T->?"),
];
const TO_BOOL_2: &[Loops] = &[
    each("?", "TT->?"),
    each(INTEGERS, "TT->?"),
    each("efdFD", "TT->?"),
];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        rule: Rule::Logical,
        fold: Some(ReduceOp::And),
        ..row(
            "logical_and",
            2,
            TO_BOOL_2,
            |b, x| logical(b, Prim::And, x),
            "True where both are true.",
        )
    },
    OpDef {
        rule: Rule::Logical,
        fold: Some(ReduceOp::Or),
        ..row(
            "logical_or",
            2,
            TO_BOOL_2,
            |b, x| logical(b, Prim::Or, x),
            "True where one is true.",
        )
    },
    OpDef {
        rule: Rule::Logical,
        ..row(
            "logical_xor",
            2,
            TO_BOOL_2,
            |b, x| logical(b, Prim::Xor, x),
            "True where exactly one is true.",
        )
    },
    row(
        "logical_not",
        1,
        TO_BOOL,
        |b, x| {
            let yes = truth(b, x[0]);
            smallvec![b.un(Prim::Not, yes)]
        },
        "True where the number is zero.",
    ),
    row(
        "isnan",
        1,
        TO_BOOL,
        |b, x| of_parts(b, Prim::IsNan, Prim::Or, x[0]),
        "True for NaN, also in one part.",
    ),
    row(
        "isinf",
        1,
        TO_BOOL,
        |b, x| of_parts(b, Prim::IsInf, Prim::Or, x[0]),
        "True for an infinity, also in one part.",
    ),
    row(
        "isfinite",
        1,
        TO_BOOL,
        |b, x| of_parts(b, Prim::IsFinite, Prim::And, x[0]),
        "True for neither NaN nor an infinity, in both parts.",
    ),
    row(
        "signbit",
        1,
        &[each("efd", "T->?")],
        |b, x| smallvec![b.un_as(Prim::SignBit, DType::Bool, x[0])],
        "True where the sign bit is set, also for zero and NaN.",
    ),
];

/// Bool: the number is not zero. NaN is true.
fn truth(b: &mut Builder, x: Value) -> Value {
    let dtype = b.dtype(x);
    if dtype == DType::Bool {
        return x;
    }
    let zero = b.constant(dtype, 0.0);
    b.compare(Prim::Ne, x, zero)
}

fn logical(b: &mut Builder, prim: Prim, x: &[Value]) -> Values {
    let (left, right) = (truth(b, x[0]), truth(b, x[1]));
    smallvec![b.bin(prim, left, right)]
}

/// A test of floats, joined over the parts of complex numbers. Whole numbers are always finite.
fn of_parts(b: &mut Builder, test: Prim, join: Prim, x: Value) -> Values {
    let dtype = b.dtype(x);
    if dtype.is_complex() {
        let re = b.un_as(Prim::Real, dtype.real(), x);
        let im = b.un_as(Prim::Imag, dtype.real(), x);
        let re = b.un_as(test, DType::Bool, re);
        let im = b.un_as(test, DType::Bool, im);
        smallvec![b.bin(join, re, im)]
    } else if dtype.is_float() {
        smallvec![b.un_as(test, DType::Bool, x)]
    } else {
        let answer = f64::from(u8::from(test == Prim::IsFinite));
        smallvec![b.constant(DType::Bool, answer)]
    }
}
