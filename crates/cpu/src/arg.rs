//! The position of the smallest or largest value.
//!
//! Results are kept beside the output until the end: the best value so far and its position (-1 for
//! none). A NaN beats everything; of equal values the one with the smallest position wins, so the order
//! of the walk does not matter.

#![expect(unsafe_code, reason = "results lie in scratch memory of the launch")]
#![expect(
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    reason = "positions are below 2^63, and addresses have 64 bits"
)]
#![expect(
    clippy::needless_bitwise_bool,
    reason = "without branches the loops over tiles are vectorised"
)]
#![expect(
    clippy::inline_always,
    reason = "a body must be compiled inside the function that enables the instruction set"
)]

use crate::Isa;
use crate::cell::Cell;
use crate::kern::{Body, Kern, fold_run, pick, tile, tile_mut};
use crate::place::fetch;
use arrayloom_ir::ReduceOp;
use arrayloom_types::DType;
use half::f16;
use num_complex::Complex;
use std::marker::PhantomData;

/// A value that can be the best.
trait Ranked: Copy + PartialEq {
    fn is_nan(self) -> bool;
    fn below(self, other: Self) -> bool;
}

macro_rules! ranked {
    ($($t:ty)*, |$x:ident| $nan:expr) => { $(
        impl Ranked for $t {
            #[inline(always)]
            fn is_nan(self) -> bool { let $x = self; $nan }
            #[inline(always)]
            fn below(self, other: $t) -> bool { self < other }
        }
    )* };
}
ranked!(i8 i16 i32 i64 u8 u16 u32 u64, |_x| false);
ranked!(f32, |x| f32::is_nan(x));
ranked!(f64, |x| f64::is_nan(x));
ranked!(f16, |x| f16::is_nan(x));

macro_rules! ranked_pairs {
    ($($t:ty)*) => { $(
        impl Ranked for Complex<$t> {
            fn is_nan(self) -> bool { self.re.is_nan() || self.im.is_nan() }
            #[expect(clippy::float_cmp, reason = "equal real parts are equal")]
            fn below(self, other: Self) -> bool {
                self.re < other.re || (self.re == other.re && self.im < other.im)
            }
        }
    )* };
}
ranked_pairs!(f32 f64);

/// What a kernel gets besides the values: the position of the first value, the step from one to the
/// next (for values at one position, the bytes to those at the next one), and the positions of the best
/// values.
#[repr(C)]
struct More {
    first: i64,
    step: i64,
    positions: *mut i64,
}

/// True when `x` at position `i` is better than `best` at position `at`.
#[inline(always)]
fn better<T: Ranked, const MAX: bool>(x: T, i: i64, best: T, at: i64) -> bool {
    let beats = if MAX { best.below(x) } else { x.below(best) };
    let tie = (x == best) | (x.is_nan() & best.is_nan());
    (at < 0) | (!best.is_nan() & (beats | x.is_nan())) | (tie & (i < at))
}

/// Each value against its own result.
struct Each<T, const MAX: bool>(PhantomData<T>);

impl<T: Ranked, const MAX: bool> Body for Each<T, MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<T>(a, n) };
        // SAFETY: `ArgPlan::fold` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: the results belong to this thread.
        let best = unsafe { tile_mut::<T>(out, n) };
        // SAFETY: as above.
        let at = unsafe { tile_mut::<i64>(more.positions.cast(), n) };
        let i = more.first;
        for ((best, at), &x) in best.iter_mut().zip(at).zip(values) {
            let take = better::<T, MAX>(x, i, *best, *at);
            *best = if take { x } else { *best };
            *at = if take { i } else { *at };
        }
        0
    }
}

/// Each value against its own result, which has a value from an earlier position already.
struct Later<T, const MAX: bool>(PhantomData<T>);

impl<T: Ranked, const MAX: bool> Body for Later<T, MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<T>(a, n) };
        // SAFETY: `ArgPlan::later` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: the results belong to this thread.
        let best = unsafe { tile_mut::<T>(out, n) };
        // SAFETY: as above.
        let at = unsafe { tile_mut::<i64>(more.positions.cast(), n) };
        let i = more.first;
        for line in (0..n * size_of::<T>()).step_by(64) {
            fetch(a.wrapping_offset(more.step as isize).wrapping_add(line));
        }
        for ((best, at), &x) in best.iter_mut().zip(at).zip(values) {
            let beats = if MAX { best.below(x) } else { x.below(*best) };
            let take = !best.is_nan() & (beats | x.is_nan());
            *best = if take { x } else { *best };
            *at = if take { i } else { *at };
        }
        0
    }
}

/// Values that are searched without a branch.
const BLOCK: usize = 64;

/// All values against one result; the extreme of the values is already at `c`.
struct Row<T, const MAX: bool>(PhantomData<T>);

impl<T: Ranked, const MAX: bool> Body for Row<T, MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, c: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<T>(a, n) };
        // SAFETY: `ArgPlan::fold` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: `ArgPlan::fold` passes one value.
        let extreme = unsafe { tile::<T>(c, 1) }[0];
        // SAFETY: the result belongs to this thread.
        let best = &mut unsafe { tile_mut::<T>(out, 1) }[0];
        // SAFETY: as above.
        let at = &mut unsafe { tile_mut::<i64>(more.positions.cast(), 1) }[0];
        if !better::<T, MAX>(extreme, more.first, *best, *at) {
            return 0;
        }
        let nan = extreme.is_nan();
        let hit = |&x: &T| (x == extreme) | (nan & x.is_nan());
        // Whole blocks are searched without a branch for each value.
        let blocks = values.chunks(BLOCK);
        let block = blocks
            .enumerate()
            .find(|(_, block)| block.iter().fold(false, |any, x| any | hit(x)));
        let place = block.and_then(|(number, block)| {
            let within = block.iter().position(hit)?;
            Some(number * BLOCK + within)
        });
        if let Some(place) = place {
            let i = more.first + more.step * place as i64;
            if better::<T, MAX>(values[place], i, *best, *at) {
                (*best, *at) = (values[place], i);
            }
        }
        0
    }
}

/// How one output of this form works.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgPlan {
    /// The lane of positions, and that of the number of the result.
    pub(crate) lanes: (usize, usize),
    /// Best values and their positions, one for each result.
    pub(crate) best: *mut u8,
    pub(crate) positions: *mut i64,
    pub(crate) size: usize,
    each: Kern,
    later: Kern,
    row: Kern,
    extreme: Kern,
    start: Cell,
}

// SAFETY: the pointers lead to scratch memory of the launch; tasks use results of their own.
unsafe impl Send for ArgPlan {}
// SAFETY: as above.
unsafe impl Sync for ArgPlan {}

fn kernels<T: Ranked>(max: bool, isa: Isa) -> [Kern; 3] {
    if max {
        [
            pick::<Each<T, true>>(isa),
            pick::<Later<T, true>>(isa),
            pick::<Row<T, true>>(isa),
        ]
    } else {
        [
            pick::<Each<T, false>>(isa),
            pick::<Later<T, false>>(isa),
            pick::<Row<T, false>>(isa),
        ]
    }
}

impl ArgPlan {
    pub(crate) fn new(dtype: DType, max: bool, lanes: (usize, usize), isa: Isa) -> Option<ArgPlan> {
        let [each, later, row] = match dtype {
            DType::I8 => kernels::<i8>(max, isa),
            DType::I16 => kernels::<i16>(max, isa),
            DType::I32 => kernels::<i32>(max, isa),
            DType::I64 => kernels::<i64>(max, isa),
            DType::Bool | DType::U8 => kernels::<u8>(max, isa),
            DType::U16 => kernels::<u16>(max, isa),
            DType::U32 => kernels::<u32>(max, isa),
            DType::U64 => kernels::<u64>(max, isa),
            DType::F16 => kernels::<f16>(max, isa),
            DType::F32 => kernels::<f32>(max, isa),
            DType::F64 => kernels::<f64>(max, isa),
            DType::C64 => kernels::<Complex<f32>>(max, isa),
            DType::C128 => kernels::<Complex<f64>>(max, isa),
        };
        let op = if max { ReduceOp::Max } else { ReduceOp::Min };
        Some(ArgPlan {
            lanes,
            best: std::ptr::null_mut(),
            positions: std::ptr::null_mut(),
            size: dtype.size(),
            each,
            later,
            row,
            extreme: fold_run(op, dtype, isa)?,
            start: Cell(crate::kern::identity(op, dtype).bytes),
        })
    }

    /// Folds `n` values; `place` is the position of the first and the step, `number` the result of the
    /// first. With `each`, every value has its own result.
    ///
    /// # Safety
    /// `values` is a tile of `n`; the results belong to this thread.
    pub(crate) unsafe fn fold(
        &self,
        values: *const u8,
        n: usize,
        place: (isize, isize),
        number: isize,
        each: bool,
    ) {
        let best = self.best.wrapping_offset(number * self.size.cast_signed());
        let more = More {
            first: place.0 as i64,
            step: place.1 as i64,
            positions: self.positions.wrapping_offset(number),
        };
        let facts = (&raw const more).cast::<u8>();
        if each {
            // SAFETY: promised by the caller.
            unsafe { (self.each)(values, facts, facts, best, n) };
            return;
        }
        let mut extreme = self.start;
        // SAFETY: a tile, and an accumulator of its dtype.
        unsafe { (self.extreme)(values, values, values, extreme.0.as_mut_ptr(), n) };
        // SAFETY: promised by the caller.
        unsafe { (self.row)(values, facts, extreme.0.as_ptr(), best, n) };
    }

    /// Folds `n` values at one position into as many results, all of which have a value from an earlier
    /// position. The values of the next position lie `next` bytes further.
    ///
    /// # Safety
    /// As for [`ArgPlan::fold`].
    pub(crate) unsafe fn later(
        &self,
        (values, next): (*const u8, isize),
        n: usize,
        first: isize,
        number: isize,
    ) {
        let best = self.best.wrapping_offset(number * self.size.cast_signed());
        let more = More {
            first: first as i64,
            step: next as i64,
            positions: self.positions.wrapping_offset(number),
        };
        let facts = (&raw const more).cast::<u8>();
        // SAFETY: promised by the caller.
        unsafe { (self.later)(values, facts, facts, best, n) };
    }

    /// Joins the results `1..count` of tasks into result 0.
    ///
    /// # Safety
    /// There are `count` results, and no other thread uses them.
    pub(crate) unsafe fn join(&self, count: usize) {
        for number in 1..count {
            let value = self.best.wrapping_add(number * self.size);
            // SAFETY: promised by the caller.
            let at = unsafe { self.positions.wrapping_add(number).read() };
            if at >= 0 {
                // SAFETY: one value, which is not result 0.
                unsafe { self.fold(value, 1, (at as isize, 0), 0, true) };
            }
        }
    }
}
