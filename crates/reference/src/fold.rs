//! Folds over axes in NumPy's order, and running folds.

use crate::arg::split;
use crate::eval::Run;
use crate::scalar::{self, flags};
use crate::value::Val;
use arrayloom_device::ReduceArgs;
use arrayloom_device::points;
use arrayloom_ir::{AxisMask, FpFlags, Prim, ReduceOp};
use arrayloom_types::DType;
use num_complex::Complex;
use std::collections::BTreeMap;
use std::ops::AddAssign;

/// One step of a fold.
fn step(run: &Run<'_>, output: usize, prim: Prim, a: Val, b: Val) -> Result<Val, String> {
    let mut flags = FpFlags::NONE;
    let result = scalar::binary(prim, a.dtype(), a, b, &mut flags);
    run.flag(run.kernel.outputs[output].value as usize, flags);
    result.ok_or_else(|| format!("a fold with {} of {}", prim.name(), a.dtype()))
}

/// Folds over `axes` as the `ReduceOrder` of the launch says.
pub(crate) fn reduce(
    run: &Run<'_>,
    number: usize,
    op: ReduceOp,
    axes: AxisMask,
) -> Result<(), String> {
    let Some(args) = &run.launch.reduces[number] else {
        return Err(format!("output {number} is folded without an order"));
    };
    let value = run.kernel.outputs[number].value;
    let dtype = run.kernel.output_dtype(number);
    let initial = match args.initial {
        Some(s) => Some(Val::from_bytes(dtype, s.bytes)),
        None => op.identity(dtype).map(|s| Val::from_bytes(dtype, s.bytes)),
    };
    let (kept, _) = split(run.launch.shape, axes);
    // The state of every kept point, found by its index with zeros on the folded axes.
    let mut state: BTreeMap<Vec<usize>, Option<Val>> =
        points(&kept).map(|index| (index, initial)).collect();
    for piece in pieces(run.launch.shape, args) {
        let Some(first) = piece.first() else { continue };
        let mut place = first.clone();
        for (axis, i) in place.iter_mut().enumerate() {
            *i *= usize::from(axes >> axis & 1 == 0);
        }
        let mut values = Vec::with_capacity(piece.len());
        for point in &piece {
            values.push(run.value(value, point)?);
        }
        let Some(slot) = state.get_mut(&place) else {
            return Err(format!(
                "the order of output {number} does not fit its axes"
            ));
        };
        *slot = add_piece(run, number, op, *slot, &values)?;
    }
    for (index, value) in state {
        if let Some(v) = value {
            run.put(number, &index, v);
        }
    }
    Ok(())
}

/// The pieces in order, each the list of its points.
fn pieces(shape: &[usize], args: &ReduceArgs) -> Vec<Vec<Vec<usize>>> {
    let order = &args.order;
    // `indices` runs the last axis fastest, the order names the fastest first.
    let axes: Vec<usize> = order.axes.iter().rev().map(|&a| usize::from(a)).collect();
    let extents: Vec<usize> = axes.iter().map(|&a| shape[a]).collect();
    let points: Vec<Vec<usize>> = points(&extents)
        .map(|loops| {
            let mut point = vec![0; shape.len()];
            for (&axis, i) in axes.iter().zip(loops) {
                point[axis] = i;
            }
            point
        })
        .collect();
    let run: usize = order.axes[..usize::from(order.stream)]
        .iter()
        .map(|&a| shape[usize::from(a)])
        .product();
    points
        .chunks(run.max(1))
        .flat_map(|run| run.chunks(order.piece.max(1)))
        .map(<[_]>::to_vec)
        .collect()
}

/// The state after one piece: NumPy's tree for sums of floats, else one value after another.
fn add_piece(
    run: &Run<'_>,
    number: usize,
    op: ReduceOp,
    state: Option<Val>,
    values: &[Val],
) -> Result<Option<Val>, String> {
    let value = run.kernel.outputs[number].value as usize;
    if op == ReduceOp::Add
        && let (Some(state), Some(sum)) = (state, tree_sum(values))
    {
        run.flag(value, flags::of_sum(values, sum));
        // `float16` is summed in `float32` and rounded once.
        if let (Val::F16(a), Val::F32(b)) = (state, sum) {
            let half = Val::f16(a + b);
            run.flag(value, flags::of_sum(&[state, sum], half));
            return Ok(Some(half));
        }
        return step(run, number, Prim::Add, state, sum).map(Some);
    }
    if op == ReduceOp::Mul
        && let Some(Val::F16(start)) = state
        && values.len() > 1
    {
        // And multiplied too.
        let all: Vec<f32> = values.iter().filter_map(single).collect();
        let half = Val::f16(all.iter().fold(start, |product, v| product * v));
        run.flag(value, flags::of_sum(values, half));
        return Ok(Some(half));
    }
    let mut state = state;
    for &v in values {
        state = Some(match state {
            None => v,
            Some(s) if values.len() > 1 => along(run, number, op, s, v)?,
            Some(s) => step(run, number, op.prim(), s, v)?,
        });
    }
    Ok(state)
}

/// One step of a fold along a run, where complex products are those of single numbers.
fn along(run: &Run<'_>, number: usize, op: ReduceOp, a: Val, b: Val) -> Result<Val, String> {
    let plain = match op {
        ReduceOp::Mul => scalar::complex::fold_product(a, b),
        _ => None,
    };
    match plain {
        Some(product) => {
            let value = run.kernel.outputs[number].value as usize;
            run.flag(value, flags::of_sum(&[a, b], product));
            Ok(product)
        }
        None => step(run, number, op.prim(), a, b),
    }
}

/// NumPy's pairwise sum of floats (`float16` gives a `float32`) or complex numbers; `None` for others.
fn tree_sum(values: &[Val]) -> Option<Val> {
    let dtype = values.first()?.dtype();
    let singles = || values.iter().filter_map(single).collect::<Vec<f32>>();
    match dtype {
        DType::F16 | DType::F32 => Some(Val::F32(tree(&singles()))),
        DType::F64 => Some(Val::F64(tree(&doubles(values)))),
        DType::C64 => {
            let z = complex_tree(&values.iter().flat_map(pair_of_singles).collect::<Vec<_>>());
            Some(Val::C64(z))
        }
        DType::C128 => {
            let z = complex_tree(&values.iter().flat_map(pair_of_doubles).collect::<Vec<_>>());
            Some(Val::C128(z))
        }
        _ => None,
    }
}

fn single(v: &Val) -> Option<f32> {
    match *v {
        Val::F16(x) | Val::F32(x) => Some(x),
        _ => None,
    }
}

fn doubles(values: &[Val]) -> Vec<f64> {
    let double = |v: &Val| match *v {
        Val::F64(x) => Some(x),
        _ => None,
    };
    values.iter().filter_map(double).collect()
}

fn pair_of_singles(v: &Val) -> Vec<f32> {
    match *v {
        Val::C64(z) => vec![z.re, z.im],
        _ => Vec::new(),
    }
}

fn pair_of_doubles(v: &Val) -> Vec<f64> {
    match *v {
        Val::C128(z) => vec![z.re, z.im],
        _ => Vec::new(),
    }
}

/// What a tree needs of a float.
trait Sum:
    Copy + AddAssign + std::ops::Add<Output = Self> + std::ops::Neg<Output = Self> + Default
{
}
impl Sum for f32 {}
impl Sum for f64 {}

/// Where a tree of more than 128 numbers is cut.
fn cut(n: usize) -> usize {
    n / 2 - n / 2 % 8
}

/// NumPy's pairwise sum.
fn tree<R: Sum>(x: &[R]) -> R {
    let n = x.len();
    if n < 8 {
        let mut sum = -R::default();
        for &v in x {
            sum += v;
        }
        return sum;
    }
    if n > 128 {
        let (left, right) = x.split_at(cut(n));
        return tree(left) + tree(right);
    }
    let (r, tail) = eight(x);
    let mut sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    for &v in tail {
        sum += v;
    }
    sum
}

/// NumPy's pairwise sum of complex numbers, given as real, imaginary, real and so on.
fn complex_tree<R: Sum>(x: &[R]) -> Complex<R> {
    let n = x.len();
    let mut sum = Complex {
        re: -R::default(),
        im: -R::default(),
    };
    if n > 128 {
        let (left, right) = x.split_at(cut(n));
        let (left, right) = (complex_tree(left), complex_tree(right));
        sum.re = left.re + right.re;
        sum.im = left.im + right.im;
        return sum;
    }
    let mut tail = x;
    if n >= 8 {
        let (r, rest) = eight(x);
        sum.re = (r[0] + r[2]) + (r[4] + r[6]);
        sum.im = (r[1] + r[3]) + (r[5] + r[7]);
        tail = rest;
    }
    for z in tail.chunks(2) {
        sum.re += z[0];
        sum.im += z[1];
    }
    sum
}

/// Eight sums of every eighth value, and the values that are left.
fn eight<R: Sum>(x: &[R]) -> ([R; 8], &[R]) {
    let mut r = [R::default(); 8];
    r.copy_from_slice(&x[..8]);
    let groups = x[8..].chunks_exact(8);
    let tail = groups.remainder();
    for group in groups {
        for (sum, &v) in r.iter_mut().zip(group) {
            *sum += v;
        }
    }
    (r, tail)
}

/// Running fold along `axis`, one value after another.
pub(crate) fn scan(run: &Run<'_>, number: usize, op: ReduceOp, axis: usize) -> Result<(), String> {
    let value = run.kernel.outputs[number].value;
    let (kept, _) = split(run.launch.shape, 1 << axis);
    if run.launch.shape.contains(&0) {
        return Ok(());
    }
    for mut index in points(&kept) {
        let mut state: Option<Val> = None;
        for i in 0..run.launch.shape[axis] {
            index[axis] = i;
            let x = run.value(value, &index)?;
            let next = match state {
                None => x,
                Some(s) => along(run, number, op, s, x)?,
            };
            run.put(number, &index, next);
            state = Some(next);
        }
    }
    Ok(())
}
