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
pub(super) static OPS: &[OpDef] = &[
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
            let raised = clip(b, Prim::Max, x[0], x[1]);
            smallvec![clip(b, Prim::Min, raised, x[2])]
        },
        "The first operand, not below the second and not above the third.",
    ),
];

/// The value, or the bound where that is larger (`Max`) or smaller (`Min`). What equals the bound stays as it is, zeros
/// of the other sign too; a complex number becomes the bound.
fn clip(b: &mut Builder, prim: Prim, value: Value, bound: Value) -> Value {
    let dtype = b.dtype(value);
    if !dtype.is_complex() {
        let second = matches!(dtype, DType::F32 | DType::F64);
        let (left, right) = if second {
            (bound, value)
        } else {
            (value, bound)
        };
        return b.bin(prim, left, right);
    }
    // The parts alone are compared: a bound with a number and a NaN is none by its first part, where that differs.
    let mut beyond = |part| {
        let (value, bound) = (
            b.un_as(part, dtype.real(), value),
            b.un_as(part, dtype.real(), bound),
        );
        let (low, high) = if prim == Prim::Max {
            (bound, value)
        } else {
            (value, bound)
        };
        (
            b.compare(Prim::Lt, low, high),
            b.compare(Prim::Eq, low, high),
        )
    };
    let ((inside, same), (inside_by_second, _)) = (beyond(Prim::Real), beyond(Prim::Imag));
    let inside = b.select(same, inside_by_second, inside);
    let nan = b.un_as(Prim::IsNan, DType::Bool, value);
    let stays = b.bin(Prim::Or, nan, inside);
    b.select(stays, value, bound)
}

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
