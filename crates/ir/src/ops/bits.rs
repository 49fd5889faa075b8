//! Bitwise operations and shifts.

use super::{INTEGERS, row};
use crate::{Loops, OpDef, Prim, ReduceOp, each};
use arrayloom_types::DType;
use smallvec::smallvec;

const BITS: &[Loops] = &[each("?", "TT->T"), each(INTEGERS, "TT->T")];
const SHIFTS: &[Loops] = &[each(INTEGERS, "TT->T")];

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    OpDef {
        fold: Some(ReduceOp::And),
        ..row(
            "bitwise_and",
            2,
            BITS,
            |b, x| smallvec![b.bin(Prim::And, x[0], x[1])],
            "Bitwise and.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Or),
        ..row(
            "bitwise_or",
            2,
            BITS,
            |b, x| smallvec![b.bin(Prim::Or, x[0], x[1])],
            "Bitwise or.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Xor),
        ..row(
            "bitwise_xor",
            2,
            BITS,
            |b, x| smallvec![b.bin(Prim::Xor, x[0], x[1])],
            "Bitwise exclusive or.",
        )
    },
    row(
        "invert",
        1,
        &[each("?", "T->T"), each(INTEGERS, "T->T")],
        |b, x| smallvec![b.un(Prim::Not, x[0])],
        "Bitwise complement; logical not for bool.",
    ),
    row(
        "left_shift",
        2,
        SHIFTS,
        |b, x| smallvec![b.bin(Prim::Shl, x[0], x[1])],
        "Bits moved to the left.",
    ),
    row(
        "right_shift",
        2,
        SHIFTS,
        |b, x| smallvec![b.bin(Prim::Shr, x[0], x[1])],
        "Bits moved to the right, with the sign.",
    ),
    row(
        "bitwise_count",
        1,
        &[each(INTEGERS, "T->B")],
        |b, x| smallvec![b.un_as(Prim::PopCount, DType::U8, x[0])],
        "Number of one bits of the absolute value.",
    ),
];
