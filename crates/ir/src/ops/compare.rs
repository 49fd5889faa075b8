//! Comparisons, the smaller, the larger and what lies between.

use super::{INTEGERS, row};
use crate::{Builder, Loops, OpDef, Prim, ReduceOp, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

/// `int64` against `uint64` is compared exactly, not in `float64`.
const COMPARE: &[Loops] = &[
    each("?", "TT->?"),
    each(INTEGERS, "TT->?"),
    each("q", "TQ->?"),
    each("Q", "Tq->?"),
    each("efdFD", "TT->?"),
];
const ORDERED: &[Loops] = &[
    each("?", "TT->T"),
    each(INTEGERS, "TT->T"),
    each("efdFD", "TT->T"),
];
const CLIP: &[Loops] = &[
    each("?", "TTT->T"),
    each(INTEGERS, "TTT->T"),
    each("efdFD", "TTT->T"),
];

/// The rows.
pub(super) const OPS: &[OpDef] = &[
    row(
        "equal",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Eq, x[0], x[1]),
        "True where equal.",
    ),
    row(
        "not_equal",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Ne, x[0], x[1]),
        "True where not equal.",
    ),
    row(
        "less",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Lt, x[0], x[1]),
        "True where the first is less.",
    ),
    row(
        "less_equal",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Le, x[0], x[1]),
        "True where the first is not greater.",
    ),
    row(
        "greater",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Lt, x[1], x[0]),
        "True where the first is greater.",
    ),
    row(
        "greater_equal",
        2,
        COMPARE,
        |b, x| compare(b, Prim::Le, x[1], x[0]),
        "True where the first is not less.",
    ),
    OpDef {
        fold: Some(ReduceOp::Max),
        ..row(
            "maximum",
            2,
            ORDERED,
            |b, x| smallvec![b.bin(Prim::Max, x[0], x[1])],
            "The larger; NaN wins.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Min),
        ..row(
            "minimum",
            2,
            ORDERED,
            |b, x| smallvec![b.bin(Prim::Min, x[0], x[1])],
            "The smaller; NaN wins.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Fmax),
        ..row(
            "fmax",
            2,
            ORDERED,
            |b, x| smallvec![b.bin(Prim::Fmax, x[0], x[1])],
            "The larger; NaN loses.",
        )
    },
    OpDef {
        fold: Some(ReduceOp::Fmin),
        ..row(
            "fmin",
            2,
            ORDERED,
            |b, x| smallvec![b.bin(Prim::Fmin, x[0], x[1])],
            "The smaller; NaN loses.",
        )
    },
    row(
        "clip",
        3,
        CLIP,
        |b, x| {
            // What equals a bound stays as it is, zeros of the other sign too; a complex number becomes the bound.
            let dtype = b.dtype(x[0]);
            let second = dtype.is_complex() || matches!(dtype, DType::F32 | DType::F64);
            let mut bound = |prim, value, by| {
                let (left, right) = if second { (by, value) } else { (value, by) };
                b.bin(prim, left, right)
            };
            let raised = bound(Prim::Max, x[0], x[1]);
            smallvec![bound(Prim::Min, raised, x[2])]
        },
        "The first operand, not below the second and not above the third.",
    ),
];

/// A comparison that also takes `int64` against `uint64`.
fn compare(b: &mut Builder, prim: Prim, left: Value, right: Value) -> Values {
    // A negative number is below every number without a sign; else both compare without signs.
    let (signed, if_negative) = match (b.dtype(left), b.dtype(right)) {
        (DType::I64, DType::U64) => (left, prim != Prim::Eq),
        (DType::U64, DType::I64) => (right, prim == Prim::Ne),
        _ => return smallvec![b.compare(prim, left, right)],
    };
    let zero = b.constant(DType::I64, 0.0);
    let negative = b.compare(Prim::Lt, signed, zero);
    let (left, right) = (b.cast(left, DType::U64), b.cast(right, DType::U64));
    let plain = b.compare(prim, left, right);
    let decided = b.constant(DType::Bool, f64::from(u8::from(if_negative)));
    smallvec![b.select(negative, decided, plain)]
}
