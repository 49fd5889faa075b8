//! Kernels: one primitive over one tile of contiguous, aligned elements.
//!
//! Every kernel is generic source, compiled once per instruction set under `#[target_feature]`. The
//! compiler vectorises the loops; it never contracts, so all versions give the same bits.

#![expect(
    unsafe_code,
    reason = "tiles are raw memory that the interpreter lays out"
)]
#![expect(
    clippy::inline_always,
    reason = "a body must be compiled inside the function that enables the instruction set"
)]

mod binary;
mod cast;
mod clib;
mod complex;
mod complex_math;
mod complex_power;
mod divide;
mod exponent;
mod fold;
mod half;
mod integer;
mod math;
mod pair;
mod rows;
mod scalar;
mod select;
mod table;
mod total;
mod unary;

pub(crate) use binary::{Bin, Max, Min, Splat};
pub(crate) use fold::{
    accumulate, any_order, fetch_ahead, fold_run, fold_tiles, identity, scan_run, scan_tiles,
};
pub(crate) use pair::pair;
pub(crate) use rows::{Rows, SIDE, fold_rows, scan_rows};
pub(crate) use select::fill;
pub(crate) use table::{Found, Raise, find, toward_half};
pub(crate) use total::{total, total_rows};

use crate::Isa;

/// A kernel: reads `n` elements at `a`, `b`, `c` (as many operands as it has), writes `n` at `out`.
///
/// Operands are aligned for their type and do not overlap `out`. The answer holds floating-point
/// conditions that the kernel found itself; those the processor found stand in its own register.
pub(crate) type Kern = unsafe fn(*const u8, *const u8, *const u8, *mut u8, usize) -> u8;

/// The source of a kernel.
pub(crate) trait Body {
    /// See [`Kern`].
    ///
    /// # Safety
    /// The operands that the body reads hold `n` elements, aligned; `out` has room for `n`, aligned
    /// and apart from the operands.
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8;
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2")]
unsafe fn on_avx512<B: Body>(
    a: *const u8,
    b: *const u8,
    c: *const u8,
    out: *mut u8,
    n: usize,
) -> u8 {
    // SAFETY: the caller upholds the contract of `Body::run`.
    unsafe { B::run(a, b, c, out, n) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,f16c")]
unsafe fn on_avx2<B: Body>(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
    // SAFETY: the caller upholds the contract of `Body::run`.
    unsafe { B::run(a, b, c, out, n) }
}

unsafe fn on_baseline<B: Body>(
    a: *const u8,
    b: *const u8,
    c: *const u8,
    out: *mut u8,
    n: usize,
) -> u8 {
    // SAFETY: the caller upholds the contract of `Body::run`.
    unsafe { B::run(a, b, c, out, n) }
}

/// The version of `B` for `isa`, which the processor must have.
pub(crate) fn pick<B: Body>(isa: Isa) -> Kern {
    #[cfg(target_arch = "x86_64")]
    match isa {
        Isa::Avx512 => return on_avx512::<B>,
        Isa::Avx2 => return on_avx2::<B>,
        Isa::Baseline => {}
    }
    let _ = isa;
    on_baseline::<B>
}

/// The one version of a body whose time goes elsewhere, such as into a library function.
pub(crate) fn plain<B: Body>() -> Kern {
    on_baseline::<B>
}

/// The tile at `p`.
///
/// # Safety
/// `p` points to `n` initialised elements, aligned, that nothing writes during `'a`.
#[inline(always)]
pub(crate) unsafe fn tile<'a, T>(p: *const u8, n: usize) -> &'a [T] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(p.cast::<T>(), n) }
}

/// The tile at `p`, to be written.
///
/// # Safety
/// `p` points to `n` elements, aligned, that nothing else reads or writes during `'a`. All element
/// types take any bytes.
#[inline(always)]
pub(crate) unsafe fn tile_mut<'a, T>(p: *mut u8, n: usize) -> &'a mut [T] {
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts_mut(p.cast::<T>(), n) }
}
