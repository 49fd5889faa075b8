//! Rounding, and the parts of a float.

use super::{INTEGERS, row};
use crate::{Builder, Loops, OpDef, Prim, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

const TO_WHOLE: &[Loops] = &[
    each("?", "T->T"),
    each(INTEGERS, "T->T"),
    each("efd", "T->T"),
];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    row(
        "floor",
        1,
        TO_WHOLE,
        |b, x| whole(b, Prim::Floor, x[0]),
        "Largest whole number not above.",
    ),
    row(
        "ceil",
        1,
        TO_WHOLE,
        |b, x| whole(b, Prim::Ceil, x[0]),
        "Smallest whole number not below.",
    ),
    row(
        "trunc",
        1,
        TO_WHOLE,
        |b, x| whole(b, Prim::Trunc, x[0]),
        "Whole part.",
    ),
    row(
        "rint",
        1,
        &[each("efdFD", "T->T")],
        |b, x| match b.dtype(x[0]) {
            d if d.is_complex() => {
                let [re, im] = [Prim::Real, Prim::Imag].map(|part| {
                    let part = b.un_as(part, d.real(), x[0]);
                    b.un(Prim::Rint, part)
                });
                smallvec![b.bin_as(Prim::Complex, d, re, im)]
            }
            _ => smallvec![b.un(Prim::Rint, x[0])],
        },
        "Nearest whole number, halves to even.",
    ),
    row(
        "modf",
        1,
        &[each("efd", "T->TT")],
        |b, x| smallvec![b.un(Prim::ModfFrac, x[0]), b.un(Prim::ModfInt, x[0])],
        "Fractional part and whole part.",
    ),
    row(
        "frexp",
        1,
        &[each("efd", "T->Ti")],
        |b, x| {
            smallvec![
                b.un(Prim::FrexpMant, x[0]),
                b.un_as(Prim::FrexpExp, DType::I32, x[0])
            ]
        },
        "Mantissa in [0.5, 1) and exponent of two.",
    ),
    row(
        "ldexp",
        2,
        // In this order NumPy looks for them.
        &[
            each("e", "Ti->T"),
            each("f", "Ti->T"),
            each("e", "Tq->T"),
            each("f", "Tq->T"),
            each("d", "Ti->T"),
            each("d", "Tq->T"),
        ],
        |b, x| smallvec![b.bin(Prim::Ldexp, x[0], x[1])],
        "First operand times two to the power of the second.",
    ),
    row(
        "spacing",
        1,
        &[each("efd", "T->T")],
        |b, x| smallvec![b.un(Prim::Spacing, x[0])],
        "Distance to the next number away from zero.",
    ),
    row(
        "nextafter",
        2,
        &[each("efd", "TT->T")],
        |b, x| smallvec![b.bin(Prim::NextAfter, x[0], x[1])],
        "Next number towards the second operand.",
    ),
    row(
        "copysign",
        2,
        &[each("efd", "TT->T")],
        |b, x| smallvec![b.bin(Prim::CopySign, x[0], x[1])],
        "The first operand with the sign of the second.",
    ),
];

/// Integers and bools are whole already.
fn whole(b: &mut Builder, prim: Prim, x: Value) -> Values {
    if b.dtype(x).is_float() {
        smallvec![b.un(prim, x)]
    } else {
        smallvec![x]
    }
}
