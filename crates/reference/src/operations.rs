//! Operations that are no kernels: products of matrices, and sorts.

#![expect(unsafe_code, reason = "a call names memory by address")]

use crate::value::Val;
use crate::{memory, scalar};
use arrayloom_device::{ExtCall, Tensor, points};
use arrayloom_ir::{FpFlags, Prim};
use arrayloom_types::DType;
use std::cmp::Ordering;

/// Why a call cannot be served; `None` if it can.
pub(crate) fn lacks(call: &ExtCall<'_>) -> Option<String> {
    let shape = |tensor: &Tensor| tensor.layout.shape.to_vec();
    let dtype = |tensor: &Tensor| tensor.layout.dtype;
    let fits = match (call.name, call.ins, call.outs) {
        ("matmul", [a, b], [c]) => {
            let ends = [a, b, c].map(|t| t.layout.shape.split_last_chunk::<2>());
            let alike = dtype(a) == dtype(b) && dtype(a) == dtype(c);
            let [Some((x, a)), Some((y, b)), Some((z, c))] = ends else {
                return Some("a product of what is no matrix".to_owned());
            };
            alike && x == z && y == z && a[1] == b[0] && *c == [a[0], b[1]]
        }
        ("sort", [a], [b]) => shape(a) == shape(b) && dtype(a) == dtype(b) && has_axis(call),
        ("argsort", [a], [b, rest @ ..]) => {
            let ties = rest.iter().all(|t| dtype(t) == DType::U32);
            shape(a) == shape(b) && dtype(b) == DType::I64 && ties && has_axis(call)
        }
        _ => return Some(format!("the operation {}", call.name)),
    };
    (!fits).then(|| format!("{} of such arrays", call.name))
}

/// Runs a call that can be served; its buffers are host addresses.
pub(crate) fn run(call: &ExtCall<'_>) {
    match (call.ins, call.outs) {
        ([a, b], [c]) => product([a, b], c),
        ([a], outs) => sort(call.name == "sort", a, outs, axis(call)),
        _ => {}
    }
}

fn axis(call: &ExtCall<'_>) -> usize {
    call.attrs.first().map_or(usize::MAX, |&axis| axis.into())
}

fn has_axis(call: &ExtCall<'_>) -> bool {
    call.ins.iter().all(|t| axis(call) < t.layout.shape.len())
}

fn load(tensor: &Tensor, index: &[usize]) -> Val {
    let at = tensor.arg().address(index).unwrap_or_default();
    // SAFETY: whoever calls `Device::ext` vouches that the elements of an operand are readable.
    unsafe { memory::load(at, tensor.layout.dtype) }
}

fn store(tensor: &Tensor, index: &[usize], value: Val) {
    let at = tensor.arg().address(index).unwrap_or_default();
    // SAFETY: whoever calls `Device::ext` vouches that the elements of a result are writable, and nobody else's.
    unsafe { memory::store(at, value) };
}

fn product([left, right]: [&Tensor; 2], out: &Tensor) {
    let dtype = out.layout.dtype;
    let [add, mul] = match dtype {
        DType::Bool => [Prim::Or, Prim::And],
        _ => [Prim::Add, Prim::Mul],
    };
    // Halves are added in single precision.
    let (wide, half) = (DType::F32, dtype == DType::F16);
    let of = if half { wide } else { dtype };
    let widened = |value: Val| match value {
        Val::F16(x) => Val::F32(x),
        other => other,
    };
    let apply = |prim, a, b| scalar::binary(prim, of, a, b, &mut FpFlags::default());
    let inner = left.layout.shape.last().copied().unwrap_or(0);
    for place in points(&out.layout.shape) {
        let (outer, [row, column]) = match place.split_last_chunk::<2>() {
            Some((outer, ends)) => (outer, *ends),
            None => continue,
        };
        let mut sum = Val::from_bytes(of, [0; 16]);
        for k in 0..inner {
            let [a, b] = [(left, [row, k]), (right, [k, column])]
                .map(|(t, ends)| widened(load(t, &[outer, &ends].concat())));
            let next = apply(mul, a, b).and_then(|term| apply(add, sum, term));
            sum = next.unwrap_or(sum);
        }
        let result = match sum {
            Val::F32(x) if half => Val::f16(x),
            other => other,
        };
        store(out, &place, result);
    }
}

/// Writes the elements of each line in order, or their numbers and whether two of any line are equal.
fn sort(elements: bool, from: &Tensor, outs: &[Tensor], axis: usize) {
    let mut heads = from.layout.shape.to_vec();
    let length = std::mem::replace(&mut heads[axis], 1);
    let mut tied = false;
    for head in points(&heads) {
        let at = |n: usize| {
            let mut place = head.clone();
            place[axis] = n;
            place
        };
        let values: Vec<Val> = (0..length).map(|n| load(from, &at(n))).collect();
        let mut order: Vec<usize> = (0..length).collect();
        order.sort_by(|&a, &b| compare(values[a], values[b]));
        let same = |pair: &[usize]| compare(values[pair[0]], values[pair[1]]).is_eq();
        tied |= order.windows(2).any(same);
        for (to, &number) in order.iter().enumerate() {
            let value = if elements {
                values[number]
            } else {
                Val::int(DType::I64, number as i128)
            };
            store(&outs[0], &at(to), value);
        }
    }
    if let [_, ties] = outs {
        store(ties, &[], Val::int(DType::U32, tied.into()));
    }
}

/// NumPy's order: NaN last; complex numbers by their real parts first, with a NaN part behind all others.
fn compare(a: Val, b: Val) -> Ordering {
    let whole = |value: Val| match value {
        Val::Bool(v) => i128::from(v),
        Val::Int(_, v) => v,
        _ => 0,
    };
    let parts = |value: Val| match value {
        Val::Bool(_) | Val::Int(..) => [0.0; 2],
        Val::F16(v) | Val::F32(v) => [f64::from(v), 0.0],
        Val::F64(v) => [v, 0.0],
        Val::C64(v) => [f64::from(v.re), f64::from(v.im)],
        Val::C128(v) => [v.re, v.im],
    };
    let (x, y) = (parts(a), parts(b));
    let pairs = x.iter().zip(&y).filter_map(|(x, y)| x.partial_cmp(y));
    let order = pairs.fold(Ordering::Equal, Ordering::then);
    let nans = [x, y].map(|parts| parts.map(f64::is_nan));
    nans[0]
        .cmp(&nans[1])
        .then(whole(a).cmp(&whole(b)))
        .then(order)
}
