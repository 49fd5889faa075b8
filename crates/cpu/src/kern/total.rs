//! Sums of small integers and of truth values in 64 bits, as they lie in memory: nothing is widened before.

use super::rows::Rows;
use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use arrayloom_types::DType;
use std::marker::PhantomData;
use std::ops::AddAssign;

/// Sums of one value a lane at a time.
const LANES: usize = 64;
/// Values that a lane adds before it is added to the result: 32 bits hold the sum of as many of 16 bits.
const MANY: usize = 1 << 15;

/// `out[0] = out[0] + a[0] + a[1] + ...`, in parts of type `P`.
struct Total<T, P>(PhantomData<(T, P)>);

impl<T, P> Body for Total<T, P>
where
    T: Copy + Into<P> + 'static,
    P: Copy + Default + AddAssign + Into<i64>,
{
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<T>(a, n) };
        // SAFETY: as above; one number.
        let out = unsafe { tile_mut::<u64>(out, 1) };
        for block in values.chunks(MANY * LANES) {
            let (groups, rest) = block.as_chunks::<LANES>();
            let mut lanes = [P::default(); LANES];
            for group in groups {
                for (lane, &x) in lanes.iter_mut().zip(group) {
                    *lane += x.into();
                }
            }
            let parts = lanes.into_iter().chain(rest.iter().map(|&x| x.into()));
            let all: i64 = parts.map(Into::<i64>::into).sum();
            out[0] = out[0].wrapping_add(all.cast_unsigned());
        }
        0
    }
}

/// `out[i] = out[i] + a[0][i] + a[1][i] + ...` for the rows at `a`; `b` points to their [`Rows`].
struct Columns<T, P>(PhantomData<(T, P)>);

impl<T, P> Body for Columns<T, P>
where
    T: Copy + Into<P> + 'static,
    P: Copy + AddAssign + Into<i64>,
{
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`: `b` points to one `Rows`.
        let rows = unsafe { tile::<Rows>(b, 1) }[0];
        // SAFETY: promised by the caller of `Body::run`.
        let out = unsafe { tile_mut::<u64>(out, n) };
        let row = |i: usize| -> &[T] {
            let start = a.wrapping_offset(i.cast_signed() * rows.step);
            // SAFETY: promised by the caller: `count` rows of `n` elements.
            unsafe { tile::<T>(start, n) }
        };
        match n {
            2 => return few::<T, P, 2>(out, rows.count, row),
            3 => return few::<T, P, 3>(out, rows.count, row),
            4 => return few::<T, P, 4>(out, rows.count, row),
            _ => {}
        }
        let whole = rows.count - rows.count % 4;
        for i in (0..whole).step_by(4) {
            let rows = row(i).iter().zip(row(i + 1));
            let rows = rows.zip(row(i + 2)).zip(row(i + 3));
            for (o, (((&p, &q), &r), &s)) in out.iter_mut().zip(rows) {
                let mut part: P = p.into();
                part += q.into();
                part += r.into();
                part += s.into();
                let part: i64 = part.into();
                *o = o.wrapping_add(part.cast_unsigned());
            }
        }
        for i in whole..rows.count {
            for (o, &x) in out.iter_mut().zip(row(i)) {
                let part: P = x.into();
                let part: i64 = part.into();
                *o = o.wrapping_add(part.cast_unsigned());
            }
        }
        0
    }
}

/// Adds rows of a length that the compiler knows, such as the colours of an image.
#[inline(always)]
fn few<'a, T, P, const N: usize>(
    out: &mut [u64],
    count: usize,
    row: impl Fn(usize) -> &'a [T],
) -> u8
where
    T: Copy + Into<P> + 'a,
    P: Into<i64>,
{
    let mut all = [0i64; N];
    for i in 0..count {
        for (sum, &x) in all.iter_mut().zip(row(i)) {
            let part: P = x.into();
            *sum = sum.wrapping_add(part.into());
        }
    }
    for (o, sum) in out.iter_mut().zip(all) {
        *o = o.wrapping_add(sum.cast_unsigned());
    }
    0
}

/// A truth value: any byte but zero is true.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Truth(u8);

impl From<Truth> for i32 {
    fn from(truth: Truth) -> i32 {
        i32::from(truth.0 != 0)
    }
}

/// `out[0] = out[0] + number of true values at a`.
struct Count;

impl Body for Count {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<u8>(a, n) };
        // SAFETY: as above; one number.
        let out = unsafe { tile_mut::<u64>(out, 1) };
        // Bytes hold the counts of as many values as cannot overflow them.
        for block in values.chunks(255 * 64) {
            let (groups, rest) = block.as_chunks::<64>();
            let mut lanes = [0u8; 64];
            for group in groups {
                for (lane, &x) in lanes.iter_mut().zip(group) {
                    *lane = lane.wrapping_add(u8::from(x != 0));
                }
            }
            let whole: u64 = lanes.iter().map(|&lane| u64::from(lane)).sum();
            out[0] += whole + rest.iter().map(|&x| u64::from(x != 0)).sum::<u64>();
        }
        0
    }
}

/// Adds the values of a run to a sum in 64 bits; `None` where the values have 64 bits themselves.
pub(crate) fn total(dtype: DType, isa: Isa) -> Option<Kern> {
    Some(match dtype {
        DType::Bool => pick::<Count>(isa),
        DType::I8 => pick::<Total<i8, i32>>(isa),
        DType::U8 => pick::<Total<u8, i32>>(isa),
        DType::I16 => pick::<Total<i16, i32>>(isa),
        DType::U16 => pick::<Total<u16, i32>>(isa),
        DType::I32 => pick::<Total<i32, i64>>(isa),
        DType::U32 => pick::<Total<u32, i64>>(isa),
        _ => return None,
    })
}

/// Adds rows of memory to a row of sums in 64 bits; `None` as for [`total`].
pub(crate) fn total_rows(dtype: DType, isa: Isa) -> Option<Kern> {
    Some(match dtype {
        DType::Bool => pick::<Columns<Truth, i32>>(isa),
        DType::I8 => pick::<Columns<i8, i32>>(isa),
        DType::U8 => pick::<Columns<u8, i32>>(isa),
        DType::I16 => pick::<Columns<i16, i32>>(isa),
        DType::U16 => pick::<Columns<u16, i32>>(isa),
        DType::I32 => pick::<Columns<i32, i64>>(isa),
        DType::U32 => pick::<Columns<u32, i64>>(isa),
        _ => return None,
    })
}
