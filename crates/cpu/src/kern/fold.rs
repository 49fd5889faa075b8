//! Kernels of folds: tile into tile, and a run of values into one.

use super::binary::{Add, And, Bin, Fmax, Fmin, Max, Min, Mul, Or, Xor};
use super::complex::{FirstFmax, FirstFmin, MulAlone};
use super::scalar::{Real, UNSET_DOUBLE, UNSET_SINGLE};
use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use crate::isa::ahead;
use crate::place::fetch;
use arrayloom_ir::ReduceOp;
use arrayloom_types::{DType, Scalar};
use half::f16;
use num_complex::Complex;
use std::marker::PhantomData;

/// `out[i] = out[i] op a[i]`; `b` and `c` are not read.
pub(crate) type AccKern = Kern;

/// `out[0] = fold of out[0] and all a[i]`; `b` and `c` are not read.
pub(crate) type FoldKern = Kern;

struct Acc<O, T>(PhantomData<(O, T)>);
struct InOrder<O, T>(PhantomData<(O, T)>);
struct AnyOrder<O, T>(PhantomData<(O, T)>);
struct Running<O, T>(PhantomData<(O, T)>);

impl<T: Copy, O: Bin<T, R = T>> Body for Acc<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            *o = O::f(*o, x);
        }
        0
    }
}

impl<T: Copy, O: Bin<T, R = T>> Body for InOrder<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value.
        let out = unsafe { tile_mut::<T>(out, 1) };
        out[0] = a.iter().fold(out[0], |all, &x| O::f(all, x));
        0
    }
}

impl<T: Copy, O: Bin<T, R = T>> Body for Running<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value, the result before this tile.
        let mut all = unsafe { tile::<T>(b, 1) }[0];
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        for (o, &x) in out.iter_mut().zip(a) {
            all = O::f(all, x);
            *o = all;
        }
        0
    }
}

/// Asks for as many lines as `values` fill, so many bytes ahead.
#[inline(always)]
pub(crate) fn fetch_ahead<T>(values: &[T], ahead: usize) {
    let from = values.as_ptr().cast::<u8>().wrapping_add(ahead);
    for line in (0..size_of_val(values)).step_by(64) {
        fetch(from.wrapping_add(line));
    }
}

/// The fold of some values, if there are any, in an order that suits the processor: in parts that fill
/// four registers of 32 bytes, which are many enough to hide what one step takes and leave some for it. Where
/// winners take registers as well, the compiler gives up above 16 values.
#[inline(always)]
pub(crate) fn any_order<O: Bin<T, R = T>, T: Copy>(values: &[T]) -> Option<T> {
    match size_of::<T>() {
        1 => in_lanes::<O, T, 128>(values),
        2 => in_lanes::<O, T, 64>(values),
        4 if !O::LOOKS => in_lanes::<O, T, 32>(values),
        _ => in_lanes::<O, T, 16>(values),
    }
}

#[inline(always)]
fn in_lanes<O: Bin<T, R = T>, T: Copy, const N: usize>(values: &[T]) -> Option<T> {
    let (groups, rest) = values.as_chunks::<N>();
    let Some((first, groups)) = groups.split_first() else {
        let (&first, rest) = rest.split_first()?;
        return Some(rest.iter().fold(first, |all, &x| O::f(all, x)));
    };
    let (mut lanes, mut winners, ahead) = (*first, *first, ahead());
    for group in groups {
        // Not left out where `ahead` is none: without it the compiler takes lanes from several groups, eight times as slow.
        fetch_ahead(group, ahead);
        for i in 0..N {
            lanes[i] = O::next(lanes[i], group[i]);
            winners[i] = if O::wins(&group[i]) {
                group[i]
            } else {
                winners[i]
            };
        }
    }
    // Through memory, or the compiler puts lanes together that join below instead of those that lie side by side.
    let mut lanes = std::hint::black_box(lanes);
    if let Some(&winner) = winners.iter().chain(rest).find(|x| O::wins(x)) {
        return Some(winner);
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = O::next(*lane, x);
    }
    // In halves: a chain through all lanes would take longer than the values do.
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = O::next(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    Some(lanes[0])
}

impl<T: Copy, O: Bin<T, R = T>> Body for AnyOrder<O, T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one value.
        let out = unsafe { tile_mut::<T>(out, 1) };
        if let Some(all) = any_order::<O, T>(a) {
            out[0] = O::f(out[0], all);
        }
        0
    }
}

/// What a fold kernel does with its tile.
#[derive(Clone, Copy)]
enum Way {
    Acc,
    Run,
    Scan,
}

/// Folds whose order matters.
fn exact<O: Bin<T, R = T>, T: Copy>(isa: Isa, way: Way) -> Kern {
    match way {
        Way::Acc => pick::<Acc<O, T>>(isa),
        Way::Run => pick::<InOrder<O, T>>(isa),
        Way::Scan => pick::<Running<O, T>>(isa),
    }
}

/// Folds whose order does not matter.
fn free<O: Bin<T, R = T>, T: Copy>(isa: Isa, way: Way) -> Kern {
    match way {
        Way::Acc => pick::<Acc<O, T>>(isa),
        Way::Run => pick::<AnyOrder<O, T>>(isa),
        Way::Scan => pick::<Running<O, T>>(isa),
    }
}

fn wrapping<O>(dtype: DType, isa: Isa, way: Way) -> Option<Kern>
where
    O: Bin<u8, R = u8> + Bin<u16, R = u16> + Bin<u32, R = u32> + Bin<u64, R = u64>,
{
    if !dtype.is_integer() && dtype != DType::Bool {
        return None;
    }
    Some(match dtype.size() {
        1 => free::<O, u8>(isa, way),
        2 => free::<O, u16>(isa, way),
        4 => free::<O, u32>(isa, way),
        _ => free::<O, u64>(isa, way),
    })
}

fn sums<O>(dtype: DType, isa: Isa, way: Way) -> Option<Kern>
where
    O: Bin<u8, R = u8> + Bin<u16, R = u16> + Bin<u32, R = u32> + Bin<u64, R = u64>,
    O: Bin<f32, R = f32> + Bin<f64, R = f64>,
    O: Bin<Complex<f32>, R = Complex<f32>> + Bin<Complex<f64>, R = Complex<f64>>,
{
    Some(match dtype {
        DType::F32 => exact::<O, f32>(isa, way),
        DType::F64 => exact::<O, f64>(isa, way),
        DType::C64 => exact::<O, Complex<f32>>(isa, way),
        DType::C128 => exact::<O, Complex<f64>>(isa, way),
        _ => return wrapping::<O>(dtype, isa, way),
    })
}

fn extremes<O>(dtype: DType, isa: Isa, way: Way) -> Option<Kern>
where
    O: Bin<i8, R = i8> + Bin<i16, R = i16> + Bin<i32, R = i32> + Bin<i64, R = i64>,
    O: Bin<u8, R = u8> + Bin<u16, R = u16> + Bin<u32, R = u32> + Bin<u64, R = u64>,
    O: Bin<f32, R = f32> + Bin<f64, R = f64>,
    O: Bin<Complex<f32>, R = Complex<f32>> + Bin<Complex<f64>, R = Complex<f64>>,
{
    Some(match dtype {
        DType::I8 => free::<O, i8>(isa, way),
        DType::I16 => free::<O, i16>(isa, way),
        DType::I32 => free::<O, i32>(isa, way),
        DType::I64 => free::<O, i64>(isa, way),
        DType::Bool | DType::U8 => free::<O, u8>(isa, way),
        DType::U16 => free::<O, u16>(isa, way),
        DType::U32 => free::<O, u32>(isa, way),
        DType::U64 => free::<O, u64>(isa, way),
        DType::F32 => free::<O, f32>(isa, way),
        DType::F64 => free::<O, f64>(isa, way),
        DType::C64 => exact::<O, Complex<f32>>(isa, way),
        DType::C128 => exact::<O, Complex<f64>>(isa, way),
        DType::F16 => return None,
    })
}

/// Complex folds that differ from the operation on tiles.
fn pairs<T: Real>(op: ReduceOp, isa: Isa, way: Way) -> Option<Kern> {
    match (op, way) {
        (ReduceOp::Mul, Way::Run | Way::Scan) => Some(exact::<MulAlone, Complex<T>>(isa, way)),
        (ReduceOp::Fmin, _) => Some(exact::<FirstFmin, Complex<T>>(isa, way)),
        (ReduceOp::Fmax, _) => Some(exact::<FirstFmax, Complex<T>>(isa, way)),
        _ => None,
    }
}

#[expect(clippy::match_same_arms, reason = "one arm for each fold")]
fn find(op: ReduceOp, dtype: DType, isa: Isa, way: Way) -> Option<Kern> {
    let special = match dtype {
        DType::C64 => pairs::<f32>(op, isa, way),
        DType::C128 => pairs::<f64>(op, isa, way),
        _ => None,
    };
    if special.is_some() {
        return special;
    }
    match (op, dtype) {
        (ReduceOp::Add, DType::Bool) => wrapping::<Or>(dtype, isa, way),
        (ReduceOp::Mul, DType::Bool) => wrapping::<And>(dtype, isa, way),
        (ReduceOp::Add, DType::F16) => Some(exact::<Add, f16>(isa, way)),
        (ReduceOp::Mul, DType::F16) => Some(exact::<Mul, f16>(isa, way)),
        (ReduceOp::Min, DType::F16) => Some(exact::<Min, f16>(isa, way)),
        (ReduceOp::Max, DType::F16) => Some(exact::<Max, f16>(isa, way)),
        (ReduceOp::Fmin, DType::F16) => Some(exact::<Fmin, f16>(isa, way)),
        (ReduceOp::Fmax, DType::F16) => Some(exact::<Fmax, f16>(isa, way)),
        (ReduceOp::Add, _) => sums::<Add>(dtype, isa, way),
        (ReduceOp::Mul, _) => sums::<Mul>(dtype, isa, way),
        (ReduceOp::Min, _) => extremes::<Min>(dtype, isa, way),
        (ReduceOp::Max, _) => extremes::<Max>(dtype, isa, way),
        (ReduceOp::Fmin, _) => extremes::<Fmin>(dtype, isa, way),
        (ReduceOp::Fmax, _) => extremes::<Fmax>(dtype, isa, way),
        (ReduceOp::And, _) => wrapping::<And>(dtype, isa, way),
        (ReduceOp::Or, _) => wrapping::<Or>(dtype, isa, way),
        (ReduceOp::Xor, _) => wrapping::<Xor>(dtype, isa, way),
    }
}

/// Folds a tile into a tile.
pub(crate) fn accumulate(op: ReduceOp, dtype: DType, isa: Isa) -> Option<AccKern> {
    find(op, dtype, isa, Way::Acc)
}

/// Folds a run of values into one: from left to right for floats, unless order does not matter.
pub(crate) fn fold_run(op: ReduceOp, dtype: DType, isa: Isa) -> Option<FoldKern> {
    find(op, dtype, isa, Way::Run)
}

/// Folds a run of complex values by the product of tiles.
pub(crate) fn fold_tiles(op: ReduceOp, dtype: DType, isa: Isa) -> Option<FoldKern> {
    match (op, dtype) {
        (ReduceOp::Mul, DType::C64) => Some(exact::<Mul, Complex<f32>>(isa, Way::Run)),
        (ReduceOp::Mul, DType::C128) => Some(exact::<Mul, Complex<f64>>(isa, Way::Run)),
        _ => None,
    }
}

/// Folds a tile into a tile as a running fold does, complex products being those of single numbers.
pub(crate) fn scan_tiles(op: ReduceOp, dtype: DType, isa: Isa) -> Option<AccKern> {
    match (op, dtype) {
        (ReduceOp::Mul, DType::C64) => Some(exact::<MulAlone, Complex<f32>>(isa, Way::Acc)),
        (ReduceOp::Mul, DType::C128) => Some(exact::<MulAlone, Complex<f64>>(isa, Way::Acc)),
        _ => accumulate(op, dtype, isa),
    }
}

/// Running fold of a tile `a` that goes on from the value at `b`.
pub(crate) fn scan_run(op: ReduceOp, dtype: DType, isa: Isa) -> Option<Kern> {
    find(op, dtype, isa, Way::Scan)
}

/// The value that a fold starts from when none is given: folding it with `x` gives `x`.
#[expect(clippy::match_same_arms, reason = "one arm for each fold")]
pub(crate) fn identity(op: ReduceOp, dtype: DType) -> Scalar {
    let whole = |ones: bool| Scalar::from_bytes(dtype, &[if ones { 0xff } else { 0 }; 16]);
    let bits = u32::try_from(8 * dtype.size()).unwrap_or(64).min(64);
    let top = 1u64 << (bits - 1);
    let signed = matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64);
    let fill = |bits: u64| Scalar::from_bytes(dtype, &u128::from(bits).to_le_bytes());
    let both = |v: f64| {
        if dtype.is_complex() {
            Scalar::from_c128(dtype, Complex::new(v, v))
        } else {
            Scalar::from_f64(dtype, v)
        }
    };
    let float = dtype.is_float() || dtype.is_complex();
    match op {
        ReduceOp::Add | ReduceOp::Or | ReduceOp::Xor => whole(false),
        ReduceOp::Mul => Scalar::from_f64(dtype, 1.0),
        ReduceOp::And if dtype == DType::Bool => fill(1),
        ReduceOp::And => whole(true),
        ReduceOp::Fmin | ReduceOp::Fmax if dtype == DType::C64 => fill(u64::from(UNSET_SINGLE)),
        ReduceOp::Fmin | ReduceOp::Fmax if dtype == DType::C128 => fill(UNSET_DOUBLE),
        ReduceOp::Fmin | ReduceOp::Fmax if float => both(f64::NAN),
        ReduceOp::Min if float => both(f64::INFINITY),
        ReduceOp::Max if float => both(f64::NEG_INFINITY),
        ReduceOp::Min | ReduceOp::Fmin if dtype == DType::Bool => fill(1),
        ReduceOp::Min | ReduceOp::Fmin if signed => fill(top - 1),
        ReduceOp::Min | ReduceOp::Fmin => whole(true),
        ReduceOp::Max | ReduceOp::Fmax if signed => fill(top),
        ReduceOp::Max | ReduceOp::Fmax => whole(false),
    }
}
