//! Kernels over several rows of memory at a time: folds across rows, and running folds of rows.

use super::binary::{Add, And, Bin, Fmax, Fmin, Max, Min, Mul, Or, Xor};
use super::{Body, Kern, pick, plain, tile, tile_mut};
use crate::Isa;
use arrayloom_ir::ReduceOp;
use arrayloom_types::DType;
use std::marker::PhantomData;

/// Rows of memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Rows {
    /// How many.
    pub(crate) count: usize,
    /// Bytes from row to row.
    pub(crate) step: isize,
}

/// Rows of at most this many values are folded in registers.
const NARROW: usize = 32;

/// `out[i] = out[i] op a[0][i] op a[1][i] ...` for the rows at `a`; `b` points to their [`Rows`].
struct Across<O, T>(PhantomData<(O, T)>);

/// Folds narrow rows.
#[inline(always)]
fn narrow<'a, O: Bin<T, R = T>, T: Copy + 'a>(
    out: &mut [T],
    count: usize,
    row: impl Fn(usize) -> &'a [T],
) {
    let Some(&any) = out.first() else { return };
    let mut all = [any; NARROW];
    let all = &mut all[..out.len()];
    all.copy_from_slice(out);
    for i in 0..count {
        for (o, &x) in all.iter_mut().zip(row(i)) {
            *o = O::f(*o, x);
        }
    }
    out.copy_from_slice(all);
}

/// Folds narrow rows of a length that the compiler knows.
#[inline(always)]
fn fixed<'a, O: Bin<T, R = T>, T: Copy + 'a, const N: usize>(
    out: &mut [T],
    count: usize,
    row: impl Fn(usize) -> &'a [T],
) {
    let Some(out) = out.first_chunk_mut::<N>() else {
        return;
    };
    let mut all = *out;
    for i in 0..count {
        if let Some(row) = row(i).first_chunk::<N>() {
            all = std::array::from_fn(|k| O::f(all[k], row[k]));
        }
    }
    *out = all;
}

impl<T: Copy + 'static, O: Bin<T, R = T>> Body for Across<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`: `b` points to one `Rows`.
        let rows = unsafe { tile::<Rows>(b, 1) }[0];
        // SAFETY: promised by the caller of `Body::run`.
        let out = unsafe { tile_mut::<T>(out, n) };
        let row = |i: usize| -> &[T] {
            let start = a.wrapping_offset(i.cast_signed() * rows.step);
            // SAFETY: promised by the caller: `count` rows of `n` elements.
            unsafe { tile::<T>(start, n) }
        };
        match n {
            2 => fixed::<O, T, 2>(out, rows.count, row),
            3 => fixed::<O, T, 3>(out, rows.count, row),
            4 => fixed::<O, T, 4>(out, rows.count, row),
            0..=NARROW => narrow::<O, T>(out, rows.count, row),
            _ => {
                let whole = rows.count - rows.count % 4;
                for i in (0..whole).step_by(4) {
                    let rows = row(i).iter().zip(row(i + 1));
                    let rows = rows.zip(row(i + 2)).zip(row(i + 3));
                    for (o, (((&p, &q), &r), &s)) in out.iter_mut().zip(rows) {
                        *o = O::f(O::f(O::f(O::f(*o, p), q), r), s);
                    }
                }
                for i in whole..rows.count {
                    for (o, &x) in out.iter_mut().zip(row(i)) {
                        *o = O::f(*o, x);
                    }
                }
            }
        }
        0
    }
}

/// Rows that go side by side through [`Along`]: the result of each step waits for the one before.
pub(crate) const SIDE: usize = 4;

/// Running folds of [`SIDE`] rows at `a`, `b` pointing to their [`Rows`]. The rows of the result are as
/// far apart at `out` as there are values; `c` points to the last results before, one for each row.
struct Along<O, T>(PhantomData<(O, T)>);

impl<T: Copy, O: Bin<T, R = T>> Body for Along<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`: `b` points to one `Rows`.
        let step = unsafe { tile::<Rows>(b, 1) }[0].step;
        // SAFETY: promised by the caller of `Body::run`.
        let before = unsafe { tile::<T>(c, SIDE) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, SIDE * n) };
        let row = |i: usize| -> &[T] {
            let start = a.wrapping_offset(i.cast_signed() * step);
            // SAFETY: promised by the caller: rows of `n` elements.
            unsafe { tile::<T>(start, n) }
        };
        let [mut p, mut q, mut r, mut s] = [before[0], before[1], before[2], before[3]];
        let (first, rest) = out.split_at_mut(n);
        let (second, rest) = rest.split_at_mut(n);
        let (third, fourth) = rest.split_at_mut(n);
        let outs = first.iter_mut().zip(second).zip(third).zip(fourth);
        let rows = row(0).iter().zip(row(1)).zip(row(2)).zip(row(3));
        for ((((o, u), v), w), (((&x, &y), &z), &t)) in outs.zip(rows) {
            (p, q) = (O::f(p, x), O::f(q, y));
            (r, s) = (O::f(r, z), O::f(s, t));
            (*o, *u, *v, *w) = (p, q, r, s);
        }
        0
    }
}

fn reals<O>(dtype: DType, isa: Isa) -> Option<Kern>
where
    O: Bin<f32, R = f32> + Bin<f64, R = f64>,
{
    Some(match dtype {
        DType::F32 => pick::<Across<O, f32>>(isa),
        DType::F64 => pick::<Across<O, f64>>(isa),
        _ => return None,
    })
}

fn whole<O>(dtype: DType, isa: Isa) -> Option<Kern>
where
    O: Bin<u8, R = u8> + Bin<u16, R = u16> + Bin<u32, R = u32> + Bin<u64, R = u64>,
{
    if !dtype.is_integer() {
        return None;
    }
    Some(match dtype.size() {
        1 => pick::<Across<O, u8>>(isa),
        2 => pick::<Across<O, u16>>(isa),
        4 => pick::<Across<O, u32>>(isa),
        _ => pick::<Across<O, u64>>(isa),
    })
}

fn extremes<O>(dtype: DType, isa: Isa) -> Option<Kern>
where
    O: Bin<i8, R = i8> + Bin<i16, R = i16> + Bin<i32, R = i32> + Bin<i64, R = i64>,
    O: Bin<u8, R = u8> + Bin<u16, R = u16> + Bin<u32, R = u32> + Bin<u64, R = u64>,
    O: Bin<f32, R = f32> + Bin<f64, R = f64>,
{
    Some(match dtype {
        DType::I8 => pick::<Across<O, i8>>(isa),
        DType::I16 => pick::<Across<O, i16>>(isa),
        DType::I32 => pick::<Across<O, i32>>(isa),
        DType::I64 => pick::<Across<O, i64>>(isa),
        DType::Bool | DType::U8 => pick::<Across<O, u8>>(isa),
        DType::U16 => pick::<Across<O, u16>>(isa),
        DType::U32 => pick::<Across<O, u32>>(isa),
        DType::U64 => pick::<Across<O, u64>>(isa),
        _ => return reals::<O>(dtype, isa),
    })
}

/// One if either value is not zero.
struct Any;

impl Bin<u8> for Any {
    type R = u8;
    #[inline(always)]
    fn f(a: u8, b: u8) -> u8 {
        (a | b).min(1)
    }
}

/// Folds rows of memory into one row of results, value by value; `None` where rows are folded one by
/// one. A complex number counts as two reals for sums, and only for those.
pub(crate) fn fold_rows(op: ReduceOp, dtype: DType, isa: Isa) -> Option<Kern> {
    let single = |dtype| match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    };
    match op {
        // Any byte but zero is true, and results are zeros and ones.
        ReduceOp::Or if dtype == DType::Bool => Some(pick::<Across<Any, u8>>(isa)),
        ReduceOp::And if dtype == DType::Bool => Some(pick::<Across<Min, u8>>(isa)),
        ReduceOp::Add => whole::<Add>(dtype, isa).or_else(|| reals::<Add>(single(dtype), isa)),
        ReduceOp::Mul => whole::<Mul>(dtype, isa).or_else(|| reals::<Mul>(dtype, isa)),
        ReduceOp::Min => extremes::<Min>(dtype, isa),
        ReduceOp::Max => extremes::<Max>(dtype, isa),
        ReduceOp::Fmin => reals::<Fmin>(dtype, isa),
        ReduceOp::Fmax => reals::<Fmax>(dtype, isa),
        ReduceOp::And if dtype.size() == 1 => Some(pick::<Across<And, u8>>(isa)),
        ReduceOp::Or if dtype.size() == 1 => Some(pick::<Across<Or, u8>>(isa)),
        ReduceOp::Xor if dtype.size() == 1 => Some(pick::<Across<Xor, u8>>(isa)),
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => None,
    }
}

/// Running folds of rows side by side; `None` where a row is folded by itself.
pub(crate) fn scan_rows(op: ReduceOp, dtype: DType) -> Option<Kern> {
    Some(match (op, dtype) {
        (ReduceOp::Add, DType::F32) => plain::<Along<Add, f32>>(),
        (ReduceOp::Add, DType::F64) => plain::<Along<Add, f64>>(),
        (ReduceOp::Mul, DType::F32) => plain::<Along<Mul, f32>>(),
        (ReduceOp::Mul, DType::F64) => plain::<Along<Mul, f64>>(),
        (ReduceOp::Add, DType::I64 | DType::U64) => plain::<Along<Add, u64>>(),
        (ReduceOp::Mul, DType::I64 | DType::U64) => plain::<Along<Mul, u64>>(),
        (ReduceOp::Min, DType::F64) => plain::<Along<Min, f64>>(),
        (ReduceOp::Max, DType::F64) => plain::<Along<Max, f64>>(),
        _ => return None,
    })
}
