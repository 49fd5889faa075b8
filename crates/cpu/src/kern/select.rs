//! Choice between two tiles, and filling a tile with one value.

use super::{Body, Kern, pick, tile, tile_mut};
use crate::Isa;
use std::marker::PhantomData;

struct Select<T>(PhantomData<T>);

impl<T: Copy> Body for Select<T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<u8>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<T>(b, n) };
        // SAFETY: as above.
        let c = unsafe { tile::<T>(c, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<T>(out, n) };
        for (((o, &which), &yes), &no) in out.iter_mut().zip(a).zip(b).zip(c) {
            *o = if which == 0 { no } else { yes };
        }
        0
    }
}

/// For elements of 16 bytes, of which the compiler makes a branch for each.
struct SelectPairs;

impl Body for SelectPairs {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let a = unsafe { tile::<u8>(a, n) };
        // SAFETY: as above.
        let b = unsafe { tile::<[u64; 2]>(b, n) };
        // SAFETY: as above.
        let c = unsafe { tile::<[u64; 2]>(c, n) };
        // SAFETY: as above.
        let out = unsafe { tile_mut::<[u64; 2]>(out, n) };
        for (((o, &which), yes), no) in out.iter_mut().zip(a).zip(b).zip(c) {
            let ours = u64::from(which == 0).wrapping_sub(1);
            *o = std::array::from_fn(|i| (yes[i] & ours) | (no[i] & !ours));
        }
        0
    }
}

struct Fill<T>(PhantomData<T>);

impl<T: Copy> Body for Fill<T> {
    #[inline(always)]
    unsafe fn run(a: *const u8, _: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`; one value.
        let value = unsafe { a.cast::<T>().read_unaligned() };
        // SAFETY: as above.
        unsafe { tile_mut::<T>(out, n) }.fill(value);
        0
    }
}

/// `b` where the bool `a` is true, else `c`, for elements of `size` bytes.
pub(super) fn select(size: usize, isa: Isa) -> Kern {
    match size {
        1 => pick::<Select<u8>>(isa),
        2 => pick::<Select<u16>>(isa),
        4 => pick::<Select<u32>>(isa),
        8 => pick::<Select<u64>>(isa),
        _ => pick::<SelectPairs>(isa),
    }
}

/// One value (which may be unaligned) at every place, for elements of `size` bytes.
pub(crate) fn fill(size: usize, isa: Isa) -> Kern {
    match size {
        1 => pick::<Fill<u8>>(isa),
        2 => pick::<Fill<u16>>(isa),
        4 => pick::<Fill<u32>>(isa),
        8 => pick::<Fill<u64>>(isa),
        _ => pick::<Fill<[u64; 2]>>(isa),
    }
}
