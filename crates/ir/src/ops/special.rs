//! Operations that fit no other family.

use super::{INTEGERS, row};
use crate::{Builder, OpDef, Prim, Value, Values, each};
use arrayloom_types::DType;
use smallvec::smallvec;

/// The rows.
pub(super) static OPS: &[OpDef] = &[
    row(
        "conjugate",
        1,
        &[each(INTEGERS, "T->T"), each("efdFD", "T->T")],
        |b, x| match b.dtype(x[0]) {
            d if d.is_complex() => smallvec![b.un(Prim::Conj, x[0])],
            _ => smallvec![x[0]],
        },
        "Complex conjugate; real numbers stay.",
    ),
    row(
        "heaviside",
        2,
        &[each("efd", "TT->T")],
        heaviside,
        "0 below zero, 1 above, the second operand at zero.",
    ),
];

fn heaviside(b: &mut Builder, x: &[Value]) -> Values {
    let dtype = b.dtype(x[0]);
    let (zero, one) = (b.constant(dtype, 0.0), b.constant(dtype, 1.0));
    let below = b.compare(Prim::Lt, x[0], zero);
    let at = b.compare(Prim::Eq, x[0], zero);
    let no_number = b.un_as(Prim::IsNan, DType::Bool, x[0]);
    let step = b.select(below, zero, one);
    let step = b.select(at, x[1], step);
    smallvec![b.select(no_number, x[0], step)]
}
