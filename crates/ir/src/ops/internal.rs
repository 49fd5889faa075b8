//! Operations without a ufunc: copies, choices and number ranges. A name such as `_power.sqrt` is that of a ufunc and of the way
//! that NumPy does it in some cases; warnings name the ufunc.

use super::{INTEGERS, row};
use crate::{Builder, OpDef, Prim, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    row(
        "_copy",
        1,
        &[each("?bBhHiIqQefdFD", "T->T")],
        |_, x| smallvec![x[0]],
        "The operand itself; also casts and fills.",
    ),
    row(
        "_where",
        3,
        &[each("?bBhHiIqQefdFD", "?TT->T")],
        |b, x| smallvec![b.select(x[0], x[1], x[2])],
        "The second operand where the first is true, else the third.",
    ),
    row(
        "_clip_by_arrays",
        3,
        &[each("fd", "TTT->T")],
        |b, x| {
            let raised = b.bin(Prim::Max, x[0], x[1]);
            smallvec![b.bin(Prim::Min, raised, x[2])]
        },
        "The operation clip, but what equals a bound becomes the bound, as in NumPy if one of the two is no single number.",
    ),
    row(
        "_power.reciprocal",
        1,
        &[each("fd", "T->T")],
        |b, x| smallvec![b.un(Prim::Reciprocal, x[0])],
        "The operation power with the single number -1 as exponent.",
    ),
    row(
        "_power.sqrt",
        1,
        &[each("fd", "T->T")],
        |b, x| smallvec![b.un(Prim::Sqrt, x[0])],
        "The operation power with the single number 0.5 as exponent.",
    ),
    row(
        "_power.square",
        1,
        &[each("fd", "T->T")],
        |b, x| smallvec![b.un(Prim::Square, x[0])],
        "The operation power with the single number 2 as exponent.",
    ),
    row(
        "_iota",
        2,
        &[each(INTEGERS, "TT->T"), each("efdFD", "TT->T")],
        iota,
        "The range with these first and second values along axis 0, as arange fills it.",
    ),
    row(
        "_linspace",
        4,
        &[each("efdFD", "TTTq->T")],
        linspace,
        "Start plus index times step along axis 0; at the index of the fourth operand, the third operand.",
    ),
];

/// The first two values are given and the others are `first + i * (second - first)`, with no rounding
/// to `float16` in between.
fn iota(b: &mut Builder, x: &[Value]) -> Values {
    let index = b.iota(0);
    let (zero, one) = (b.constant(DType::I64, 0.0), b.constant(DType::I64, 1.0));
    let filled = match b.dtype(x[0]) {
        d if d.is_complex() => {
            let [re, im] = [Prim::Real, Prim::Imag].map(|part| {
                let (first, second) =
                    (b.un_as(part, d.real(), x[0]), b.un_as(part, d.real(), x[1]));
                step_from(b, first, second, index)
            });
            b.bin_as(Prim::Complex, d, re, im)
        }
        DType::F16 => {
            let (first, second) = (b.cast(x[0], DType::F32), b.cast(x[1], DType::F32));
            let wide = step_from(b, first, second, index);
            b.cast(wide, DType::F16)
        }
        _ => step_from(b, x[0], x[1], index),
    };
    let is_second = b.compare(Prim::Eq, index, one);
    let is_first = b.compare(Prim::Eq, index, zero);
    let later = b.select(is_second, x[1], filled);
    smallvec![b.select(is_first, x[0], later)]
}

fn step_from(b: &mut Builder, first: Value, second: Value, index: Value) -> Value {
    let delta = b.bin(Prim::Sub, second, first);
    let count = b.cast(index, b.dtype(first));
    let way = b.bin(Prim::Mul, count, delta);
    b.bin(Prim::Add, first, way)
}

fn linspace(b: &mut Builder, x: &[Value]) -> Values {
    let index = b.iota(0);
    let count = b.cast(index, b.dtype(x[0]));
    let way = b.bin(Prim::Mul, count, x[1]);
    let inner = b.bin(Prim::Add, way, x[0]);
    let is_last = b.compare(Prim::Eq, index, x[3]);
    smallvec![b.select(is_last, x[2], inner)]
}
