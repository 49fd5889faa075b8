//! Two operations in one pass over a tile: `(a op b) op c`, and `f(a op b)`. Each rounds by itself.

use super::binary::{Add, Bin, Mul, Splat, Sub};
use super::unary::{Abs, Square, Un};
use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use std::marker::PhantomData;

/// What a vectorised kernel of floats computes, so that it can be joined with another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plain {
    pub(crate) prim: Prim,
    pub(crate) dtype: DType,
    pub(crate) splat: Splat,
}

/// `Q(P(a, b), c)`, or `Q(c, P(a, b))` if `BACK`; `KB`, `KC`: that operand is one value.
struct Pair<P, Q, T, const KB: bool, const KC: bool, const BACK: bool>(PhantomData<(P, Q, T)>);

impl<P, Q, T, const KB: bool, const KC: bool, const BACK: bool> Body for Pair<P, Q, T, KB, KC, BACK>
where
    T: Copy,
    P: Bin<T, R = T>,
    Q: Bin<T, R = T>,
{
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value or a tile.
        let b = unsafe { tile::<T>(b, if KB { 1 } else { n }) };
        // SAFETY: as above; one value or a tile.
        let c = unsafe { tile::<T>(c, if KC { 1 } else { n }) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        if n == 0 {
            return 0;
        }
        let (one_b, one_c) = (b[0], c[0]);
        for (i, (o, &a)) in out.iter_mut().zip(a).enumerate() {
            let first = P::f(a, if KB { one_b } else { b[i] });
            let c = if KC { one_c } else { c[i] };
            *o = if BACK { Q::f(c, first) } else { Q::f(first, c) };
        }
        0
    }
}

/// `F(P(a, b))`.
struct Then<P, F, T, const KB: bool>(PhantomData<(P, F, T)>);

impl<P, F, T, const KB: bool> Body for Then<P, F, T, KB>
where
    T: Copy,
    P: Bin<T, R = T>,
    F: Un<T, R = T>,
{
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value or a tile.
        let b = unsafe { tile::<T>(b, if KB { 1 } else { n }) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        if n == 0 {
            return 0;
        }
        let one_b = b[0];
        for (i, (o, &a)) in out.iter_mut().zip(a).enumerate() {
            *o = F::f(P::f(a, if KB { one_b } else { b[i] }));
        }
        0
    }
}

fn forms<P, Q, T>(one: (bool, bool), back: bool, isa: Isa) -> Kern
where
    T: Copy,
    P: Bin<T, R = T>,
    Q: Bin<T, R = T>,
{
    match (one.0, one.1, back) {
        (false, false, false) => pick::<Pair<P, Q, T, false, false, false>>(isa),
        (false, true, false) => pick::<Pair<P, Q, T, false, true, false>>(isa),
        (true, false, false) => pick::<Pair<P, Q, T, true, false, false>>(isa),
        (true, true, false) => pick::<Pair<P, Q, T, true, true, false>>(isa),
        (false, false, true) => pick::<Pair<P, Q, T, false, false, true>>(isa),
        (false, true, true) => pick::<Pair<P, Q, T, false, true, true>>(isa),
        (true, false, true) => pick::<Pair<P, Q, T, true, false, true>>(isa),
        (true, true, true) => pick::<Pair<P, Q, T, true, true, true>>(isa),
    }
}

fn second<P, T>(then: Prim, one: (bool, bool), back: bool, isa: Isa) -> Option<Kern>
where
    T: Copy,
    P: Bin<T, R = T>,
    Add: Bin<T, R = T>,
    Sub: Bin<T, R = T>,
    Mul: Bin<T, R = T>,
    Abs: Un<T, R = T>,
    Square: Un<T, R = T>,
{
    // Sums and products are the same either way.
    match (then, one.0) {
        (Prim::Add, _) => Some(forms::<P, Add, T>(one, false, isa)),
        (Prim::Mul, _) => Some(forms::<P, Mul, T>(one, false, isa)),
        (Prim::Sub, _) => Some(forms::<P, Sub, T>(one, back, isa)),
        (Prim::Abs, false) => Some(pick::<Then<P, Abs, T, false>>(isa)),
        (Prim::Abs, true) => Some(pick::<Then<P, Abs, T, true>>(isa)),
        (Prim::Square, false) => Some(pick::<Then<P, Square, T, false>>(isa)),
        (Prim::Square, true) => Some(pick::<Then<P, Square, T, true>>(isa)),
        _ => None,
    }
}

fn typed<T>(first: Prim, then: Prim, one: (bool, bool), back: bool, isa: Isa) -> Option<Kern>
where
    T: Copy,
    Add: Bin<T, R = T>,
    Sub: Bin<T, R = T>,
    Mul: Bin<T, R = T>,
    Abs: Un<T, R = T>,
    Square: Un<T, R = T>,
{
    match first {
        Prim::Add => second::<Add, T>(then, one, back, isa),
        Prim::Sub => second::<Sub, T>(then, one, back, isa),
        Prim::Mul => second::<Mul, T>(then, one, back, isa),
        _ => None,
    }
}

/// The kernel that does `first` on `a`, `b` and `then` on that and `c`. `one`: which of `b` and `c` are
/// one value; `back`: the result of `first` is the second operand.
pub(crate) fn pair(
    first: Plain,
    then: Plain,
    one: (bool, bool),
    back: bool,
    isa: Isa,
) -> Option<Kern> {
    match (first.dtype, then.dtype) {
        (DType::F32, DType::F32) => typed::<f32>(first.prim, then.prim, one, back, isa),
        (DType::F64, DType::F64) => typed::<f64>(first.prim, then.prim, one, back, isa),
        _ => None,
    }
}
