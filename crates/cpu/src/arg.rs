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
use crate::kern::{Bin, Body, Kern, Max, Min, Rows, any_order, pick, tile, tile_mut};
use arrayloom_types::DType;
use half::f16;
use num_complex::Complex;
use std::marker::PhantomData;
use std::ops::Add;

/// A value that can be the best.
trait Ranked: Copy + PartialEq {
    /// Numbers as wide as values, so that both lie alike in registers.
    type Count: Copy + Default + Add<Output = Self::Count> + From<u8> + Into<u64>;

    fn is_nan(self) -> bool;
    fn below(self, other: Self) -> bool;
    /// True for a larger value and for NaN, unless `best` is NaN.
    fn takes_over(self, best: Self, max: bool) -> bool;
}

macro_rules! ranked {
    ($($t:ty)*, $count:ty, |$x:ident| $nan:expr) => { $(
        impl Ranked for $t {
            type Count = $count;
            #[inline(always)]
            fn is_nan(self) -> bool { let $x = self; $nan }
            #[inline(always)]
            fn below(self, other: $t) -> bool { self < other }
            #[inline(always)]
            fn takes_over(self, best: $t, max: bool) -> bool {
                let stays = if max { self <= best } else { self >= best };
                !stays & !best.is_nan()
            }
        }
    )* };
}
ranked!(i8 u8, u8, |_x| false);
ranked!(i16 u16, u16, |_x| false);
ranked!(i32 u32, u32, |_x| false);
ranked!(i64 u64, u64, |_x| false);
ranked!(f32, u32, |x| f32::is_nan(x));
ranked!(f64, u64, |x| f64::is_nan(x));
ranked!(f16, u16, |x| f16::is_nan(x));

macro_rules! ranked_pairs {
    ($($t:ty)*) => { $(
        impl Ranked for Complex<$t> {
            type Count = u64;
            fn takes_over(self, best: Self, max: bool) -> bool {
                let beats = if max { best.below(self) } else { self.below(best) };
                !best.is_nan() & (beats | self.is_nan())
            }
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
/// next, the positions of the best values, and the rows of values, each at a position of its own.
#[repr(C)]
struct More {
    first: i64,
    step: i64,
    positions: *mut i64,
    rows: Rows,
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

/// The better one of two values with their places, the second being the later one.
#[inline(always)]
fn later<T: Ranked, const MAX: bool>(best: (T, i64), next: (T, i64)) -> (T, i64) {
    let take = next.0.takes_over(best.0, MAX);
    // Each by itself: so both become choices without a branch.
    let value = if take { next.0 } else { best.0 };
    let place = if take { next.1 } else { best.1 };
    (value, place)
}

/// Rows of values against their own results, which have a value from an earlier position already.
struct Later<T, const MAX: bool>(PhantomData<T>);

impl<T: Ranked, const MAX: bool> Body for Later<T, MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: `ArgPlan::later` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: the results belong to this thread.
        let best = unsafe { tile_mut::<T>(out, n) };
        // SAFETY: as above.
        let at = unsafe { tile_mut::<i64>(more.positions.cast(), n) };
        let row = |i: usize| -> &[T] {
            let start = a.wrapping_offset(i.cast_signed() * more.rows.step);
            // SAFETY: promised by the caller of `Body::run`: rows of `n` values.
            unsafe { tile::<T>(start, n) }
        };
        let place = |i: usize| more.first + more.step * i as i64;
        let whole = more.rows.count - more.rows.count % 4;
        for i in (0..whole).step_by(4) {
            let places = [place(i), place(i + 1), place(i + 2), place(i + 3)];
            let rows = row(i).iter().zip(row(i + 1));
            let rows = rows.zip(row(i + 2)).zip(row(i + 3));
            for ((best, at), (((&p, &q), &r), &s)) in best.iter_mut().zip(&mut *at).zip(rows) {
                let top = later::<T, MAX>((*best, *at), (p, places[0]));
                let top = later::<T, MAX>(top, (q, places[1]));
                let top = later::<T, MAX>(top, (r, places[2]));
                (*best, *at) = later::<T, MAX>(top, (s, places[3]));
            }
        }
        for i in whole..more.rows.count {
            let place = place(i);
            for ((best, at), &x) in best.iter_mut().zip(&mut *at).zip(row(i)) {
                (*best, *at) = later::<T, MAX>((*best, *at), (x, place));
            }
        }
        0
    }
}

/// Values whose extreme is compared with the best one so far.
const BLOCK: usize = 512;

/// The first value that `hit` says yes to, searched for without a branch in parts that grow smaller.
#[inline(always)]
fn first<T>(values: &[T], hit: impl Fn(&T) -> bool + Copy) -> Option<usize> {
    let within = |part: &[T]| part.iter().fold(false, |any, x| any | hit(x));
    let many = values.chunks(64).position(within)? * 64;
    let few = values[many..].chunks(8).position(within)? * 8;
    let one = values[many + few..].iter().position(hit)?;
    Some(many + few + one)
}

/// Values of a row that is looked through once, places and all.
const FEW: usize = 192;

/// The best of at most [`FEW`] values and the place of the first one that is as good.
#[inline(always)]
fn best_of<T: Ranked, const MAX: bool>(values: &[T]) -> Option<(T, i64)> {
    match size_of::<T>() {
        1 => best_in_lanes::<T, MAX, 64>(values),
        2 => best_in_lanes::<T, MAX, 32>(values),
        4 => best_in_lanes::<T, MAX, 16>(values),
        _ => best_in_lanes::<T, MAX, 8>(values),
    }
}

/// [`best_of`], `N` values side by side, each against those so many places before it: a register of 64 bytes.
#[inline(always)]
fn best_in_lanes<T: Ranked, const MAX: bool, const N: usize>(values: &[T]) -> Option<(T, i64)> {
    let (groups, rest) = values.as_chunks::<N>();
    let Some((first, groups)) = groups.split_first() else {
        let (&first, rest) = rest.split_first()?;
        let join = |top, (place, &value)| later::<T, MAX>(top, (value, place));
        return Some((1..).zip(rest).fold((first, 0), join));
    };
    let (mut best, mut numbers) = (*first, [T::Count::default(); N]);
    let (mut number, one) = (T::Count::default(), T::Count::from(1));
    for group in groups {
        number = number + one;
        for i in 0..N {
            let take = group[i].takes_over(best[i], MAX);
            best[i] = if take { group[i] } else { best[i] };
            numbers[i] = if take { number } else { numbers[i] };
        }
    }
    // Through memory: otherwise the compiler cuts the loop in pieces that suit what follows.
    let (mut best, numbers) = std::hint::black_box((best, numbers));
    let mut places: [i64; N] = std::array::from_fn(|i| {
        let number: u64 = numbers[i].into();
        (number as usize * N + i) as i64
    });
    // Some of the last values a second time, at their own places.
    let start = values.len() - N;
    for (i, &value) in values[start..].iter().enumerate() {
        let take = value.takes_over(best[i], MAX);
        best[i] = if take { value } else { best[i] };
        places[i] = if take { (start + i) as i64 } else { places[i] };
    }
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            let (value, place) = (best[i + half], places[i + half]);
            let tie = (value == best[i]) | (value.is_nan() & best[i].is_nan());
            let take = value.takes_over(best[i], MAX) | (tie & (place < places[i]));
            best[i] = if take { value } else { best[i] };
            places[i] = if take { place } else { places[i] };
        }
        half /= 2;
    }
    Some((best[0], places[0]))
}

/// All values against one result.
struct Row<T, O, const MAX: bool>(PhantomData<(T, O)>);

impl<T: Ranked, O: Bin<T, R = T>, const MAX: bool> Body for Row<T, O, MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<T>(a, n) };
        // SAFETY: `ArgPlan::fold` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: the result belongs to this thread.
        let best = &mut unsafe { tile_mut::<T>(out, 1) }[0];
        // SAFETY: as above.
        let at = &mut unsafe { tile_mut::<i64>(more.positions.cast(), 1) }[0];
        let place = |i: usize| more.first + more.step * i as i64;
        if n <= FEW {
            if let Some((value, within)) = best_of::<T, MAX>(values) {
                let place = more.first + more.step * within;
                if better::<T, MAX>(value, place, *best, *at) {
                    (*best, *at) = (value, place);
                }
            }
            return 0;
        }
        // The best block first, then the place in it. Positions rise from value to value.
        let (mut top, mut top_at, mut found) = (*best, *at, None);
        for (number, block) in values.chunks(BLOCK).enumerate() {
            let Some(extreme) = any_order::<O, T>(block) else {
                continue;
            };
            if better::<T, MAX>(extreme, place(number * BLOCK), top, top_at) {
                (top, top_at, found) = (extreme, place(number * BLOCK), Some(number * BLOCK));
            }
        }
        let Some(start) = found else { return 0 };
        let nan = top.is_nan();
        let hit = |&x: &T| (x == top) | (nan & x.is_nan());
        if let Some(within) = first(&values[start..], hit) {
            let place = place(start + within);
            // A value as good as the one before counts if it comes first, which its block did not tell.
            if better::<T, MAX>(top, place, *best, *at) {
                (*best, *at) = (top, place);
            }
        }
        0
    }
}

/// Truth values against one result: the first that is true, or false, settles it. Any byte but zero is true.
struct Truth<const MAX: bool>;

impl<const MAX: bool> Body for Truth<MAX> {
    #[inline(always)]
    unsafe fn run(a: *const u8, b: *const u8, _: *const u8, out: *mut u8, n: usize) -> u8 {
        // SAFETY: promised by the caller of `Body::run`.
        let values = unsafe { tile::<u8>(a, n) };
        // SAFETY: `ArgPlan::fold` passes a `More`.
        let more = &unsafe { tile::<More>(b, 1) }[0];
        // SAFETY: the result belongs to this thread.
        let best = &mut unsafe { tile_mut::<u8>(out, 1) }[0];
        // SAFETY: as above.
        let at = &mut unsafe { tile_mut::<i64>(more.positions.cast(), 1) }[0];
        let found = first(values, |&x| (x != 0) == MAX);
        let value = u8::from(found.is_some() == MAX);
        let place = more.first + more.step * found.unwrap_or(0) as i64;
        if n > 0 && better::<u8, MAX>(value, place, *best, *at) {
            (*best, *at) = (value, place);
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
}

// SAFETY: the pointers lead to scratch memory of the launch; tasks use results of their own.
unsafe impl Send for ArgPlan {}
// SAFETY: as above.
unsafe impl Sync for ArgPlan {}

fn kernels<T: Ranked>(max: bool, isa: Isa) -> [Kern; 3]
where
    Max: Bin<T, R = T>,
    Min: Bin<T, R = T>,
{
    if max {
        [
            pick::<Each<T, true>>(isa),
            pick::<Later<T, true>>(isa),
            pick::<Row<T, Max, true>>(isa),
        ]
    } else {
        [
            pick::<Each<T, false>>(isa),
            pick::<Later<T, false>>(isa),
            pick::<Row<T, Min, false>>(isa),
        ]
    }
}

impl ArgPlan {
    pub(crate) fn new(dtype: DType, max: bool, lanes: (usize, usize), isa: Isa) -> ArgPlan {
        let [each, later, row] = match dtype {
            DType::I8 => kernels::<i8>(max, isa),
            DType::I16 => kernels::<i16>(max, isa),
            DType::I32 => kernels::<i32>(max, isa),
            DType::I64 => kernels::<i64>(max, isa),
            DType::U8 => kernels::<u8>(max, isa),
            DType::Bool => {
                let [each, later, _] = kernels::<u8>(max, isa);
                let row = if max {
                    pick::<Truth<true>>(isa)
                } else {
                    pick::<Truth<false>>(isa)
                };
                [each, later, row]
            }
            DType::U16 => kernels::<u16>(max, isa),
            DType::U32 => kernels::<u32>(max, isa),
            DType::U64 => kernels::<u64>(max, isa),
            DType::F16 => kernels::<f16>(max, isa),
            DType::F32 => kernels::<f32>(max, isa),
            DType::F64 => kernels::<f64>(max, isa),
            DType::C64 => kernels::<Complex<f32>>(max, isa),
            DType::C128 => kernels::<Complex<f64>>(max, isa),
        };
        ArgPlan {
            lanes,
            best: std::ptr::null_mut(),
            positions: std::ptr::null_mut(),
            size: dtype.size(),
            each,
            later,
            row,
        }
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
            rows: Rows { count: 1, step: 0 },
        };
        let facts = (&raw const more).cast::<u8>();
        let kern = if each { self.each } else { self.row };
        // SAFETY: promised by the caller.
        unsafe { kern(values, facts, facts, best, n) };
    }

    /// Folds rows of `n` values into as many results, all of which have a value from an earlier position;
    /// `place` is the position of the first row and the step to the next.
    ///
    /// # Safety
    /// As for [`ArgPlan::fold`], for every row.
    pub(crate) unsafe fn later(
        &self,
        (values, rows): (*const u8, Rows),
        n: usize,
        place: (isize, isize),
        number: isize,
    ) {
        let best = self.best.wrapping_offset(number * self.size.cast_signed());
        let more = More {
            first: place.0 as i64,
            step: place.1 as i64,
            positions: self.positions.wrapping_offset(number),
            rows,
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
