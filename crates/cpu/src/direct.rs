//! Folds of memory as it lies: no tiles, no program.
//!
//! A kernel that only folds one operand, such as `a.sum(axis=0)`, `a.argmax(axis=0)` or
//! `a.cumsum(axis=1)`, is run by a loop of its own over rows of memory. The order of the values is that
//! of the interpreter, and so are the bits.

#![expect(unsafe_code, reason = "rows are memory of the launch")]

mod runs;

use crate::Isa;
use crate::arg::ArgPlan;
use crate::fold::{FoldForm, FoldPlan};
use crate::kern::{Kern, Rows, SIDE, identity, scan_rows, total, total_rows};
use crate::lower::in_place;
use crate::mxcsr::{self, Saved};
use crate::nest::{Class, Nest, Odometer};
use crate::place::{copy, fence, stream};
use crate::pool::Pool;
use crate::setup::{Setup, Source};
use crate::step::note;
use crate::tasks::{Cut, Task};
use arrayloom_device::Launch;
use arrayloom_ir::{Kernel, Prim, ReduceOp};
use arrayloom_types::{DType, Scalar};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How rows are folded.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// Rows into one row of results; so many values a column.
    Across(Kern, usize),
    /// The positions of extremes of columns; positions rise from row to row.
    Places(ArgPlan),
    /// Each row into one result, in any order.
    Row(Kern),
    /// The position of the extreme of each row; positions rise along it.
    Place(ArgPlan),
    /// A running fold from row to row.
    Down(Kern),
    /// Running folds of rows, side by side.
    Along(Kern),
    /// Truth values of a row, up to the first that settles the result.
    Truth,
    /// The sum of a row of small integers or truth values, in 64 bits.
    Total(Kern),
}

impl Way {
    /// True if any byte but zero is a true one in folds by `op`.
    fn knows_truth(self, op: ReduceOp) -> bool {
        match self {
            Way::Truth | Way::Place(_) => true,
            Way::Across(..) => op != ReduceOp::Xor,
            _ => false,
        }
    }
}

/// A fold of memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Direct {
    way: Way,
    fold: FoldPlan,
    /// The lane that is read.
    from: usize,
    /// The instruction that reads it.
    ins: usize,
    /// Bytes of a value.
    size: usize,
    /// Results are too large to be found in a cache later.
    around: bool,
    isa: Isa,
}

/// The fold, if the kernel is one, and its operand and result lie in rows.
pub(crate) fn plan(
    kernel: &Kernel,
    setup: &Setup,
    folds: &[Option<FoldPlan>],
    (isa, stream_bytes): (Isa, usize),
) -> Option<Direct> {
    let ([Some(fold)], [output]) = (folds, kernel.outputs.as_slice()) else {
        return None;
    };
    let ins = output.value as usize;
    let mut code = kernel.code.get(ins)?;
    let widens = code.prim == Prim::Cast
        && fold.op == ReduceOp::Add
        && matches!(code.dtype, DType::I64 | DType::U64);
    if widens {
        code = kernel.code.get(code.a as usize)?;
    }
    let Source::Lane(from) = *setup.sources.get(code.a as usize)? else {
        return None;
    };
    let nest = &setup.nest;
    let size = code.dtype.size();
    if code.prim != Prim::Input || !(widens || code.dtype == fold.value_dtype) {
        return None;
    }
    let mut way = way(fold, nest, code.dtype);
    if widens {
        way = match (fold.form, way) {
            (FoldForm::Run(_), _) => total(code.dtype, isa).map(Way::Total),
            (_, Some(Way::Across(..))) => {
                total_rows(code.dtype, isa).map(|kern| Way::Across(kern, 1))
            }
            _ => None,
        };
    }
    // The other ways would fold the bytes of truth values, of which any but zero is true.
    let way = way.filter(|way| code.dtype != DType::Bool || widens || way.knows_truth(fold.op))?;
    let rows = in_place(nest, false, from, size);
    let results = match way {
        Way::Across(..) | Way::Down(_) | Way::Along(_) => {
            in_place(nest, false, fold.lane, fold.dtype.size())
        }
        Way::Places(arg) => nest.step(arg.lanes.1) == 1,
        Way::Row(_) | Way::Place(_) | Way::Truth | Way::Total(_) => true,
    };
    let scans = matches!(way, Way::Down(_) | Way::Along(_));
    (rows && results).then(|| Direct {
        way,
        fold: *fold,
        from,
        ins,
        around: scans && nest.len() * size > stream_bytes,
        size,
        isa,
    })
}

fn way(fold: &FoldPlan, nest: &Nest, dtype: DType) -> Option<Way> {
    let class = |axis: usize| nest.axes.get(axis).map(|a| a.class);
    let columns = class(0) == Some(Class::Kept);
    let rows = !columns && nest.axes.len() > 1;
    let folded = nest.axes.iter().filter(|a| a.class == Class::Folded);
    let rises = |arg: ArgPlan, axis: usize| nest.axes[axis].steps[arg.lanes.0] > 0;
    match fold.form {
        FoldForm::Each(_, rows) if columns && class(1) == Some(Class::Folded) => {
            rows.map(|(kern, wide)| Way::Across(kern, wide))
        }
        FoldForm::Arg(arg) if columns && class(1) == Some(Class::Folded) => {
            (folded.count() == 1 && rises(arg, 1)).then_some(Way::Places(arg))
        }
        // What settles a vector of truth values is mostly near its start.
        FoldForm::Arg(arg) if rows || (dtype == DType::Bool && nest.axes.len() == 1) => {
            (folded.count() == 1 && rises(arg, 0)).then_some(Way::Place(arg))
        }
        FoldForm::ScanEach(kern) if columns && class(1) == Some(Class::Scan) => {
            Some(Way::Down(kern))
        }
        FoldForm::ScanRow(_) if class(1) == Some(Class::Kept) && nest.axes[1].extent >= SIDE => {
            scan_rows(fold.op, dtype).map(Way::Along)
        }
        FoldForm::Run(_)
            if dtype == DType::Bool && matches!(fold.op, ReduceOp::And | ReduceOp::Or) =>
        {
            Some(Way::Truth)
        }
        FoldForm::Run(kern) if rows && fold.free => Some(Way::Row(kern)),
        _ => None,
    }
}

fn pointer(address: isize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address.cast_unsigned())
}

impl Direct {
    /// True when results are positions, which are kept beside the output until the end.
    pub(crate) fn is_arg(&self) -> bool {
        matches!(self.way, Way::Places(_) | Way::Place(_))
    }

    /// Runs the fold on `threads` threads.
    ///
    /// # Safety
    /// The operand may be read and the results written, by nobody else meanwhile. Starting values are
    /// written; the fold of `folds` has memory for its positions.
    pub(crate) unsafe fn run(
        mut self,
        nest: &Nest,
        launch: &Launch<'_>,
        folds: &[Option<FoldPlan>],
        (threads, pool): (usize, Option<&Pool>),
    ) {
        if let (Way::Places(arg) | Way::Place(arg), Some(Some(fold))) =
            (&mut self.way, folds.first())
            && let FoldForm::Arg(own) = fold.form
        {
            *arg = own;
        }
        if nest.axes.len() == 1 {
            // SAFETY: promised by the caller.
            unsafe { self.runs(nest, (threads, pool)) };
            return;
        }
        let cut = Cut {
            nest,
            span: false,
            folds,
            threads,
        };
        let tasks = (threads > 1).then(|| cut.along_kept_axis()).flatten();
        let tasks = tasks.unwrap_or_else(|| vec![Task::whole(nest)]);
        let next = AtomicUsize::new(0);
        let work = |_: usize| {
            let saved = Saved::new();
            while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                let part = task.nest.as_ref().unwrap_or(nest);
                mxcsr::take();
                // SAFETY: promised by the caller; tasks have columns or rows of their own.
                unsafe { self.part(part) };
                if let Some(flags) = launch.flags {
                    note(flags, self.ins, self.fold.raise(), 0);
                }
            }
            drop(saved);
        };
        match pool.filter(|_| tasks.len() > 1) {
            Some(pool) => pool.run(threads.min(tasks.len()), &work),
            None => work(0),
        }
    }

    /// # Safety
    /// As for [`Direct::run`], for the part of the domain.
    unsafe fn part(&self, nest: &Nest) {
        if let Way::Row(_) | Way::Place(_) | Way::Truth | Way::Total(_) = self.way {
            // SAFETY: promised by the caller.
            unsafe { self.runs(nest, (1, None)) };
            return;
        }
        let (columns, rows) = (nest.axes[0].extent, nest.axes[1].extent);
        let outer = nest.len() / (columns * rows);
        let lane = |lane| Odometer::at(nest, lane, 2, 0);
        let (mut from, mut out) = (lane(self.from), lane(self.fold.lane));
        let steps = &nest.axes[1].steps;
        let row = Rows {
            count: rows,
            step: steps[self.from],
        };
        let mut scratch = Scratch::default();
        for number in 0..outer {
            let (a, o) = (pointer(from.value).cast_const(), pointer(out.value));
            let to = (o, steps[self.fold.lane]);
            if let Way::Along(kern) = self.way {
                // SAFETY: promised by the caller.
                unsafe { self.along(kern, (a, row), to, columns, &mut scratch) };
            } else {
                // SAFETY: promised by the caller.
                unsafe { self.columns(nest, (a, row), to, number, &mut scratch) };
            }
            from.next();
            out.next();
        }
        if self.around {
            fence();
        }
    }

    /// Folds from row to row, so many columns at a time that results stay in the cache.
    ///
    /// # Safety
    /// As for [`Direct::part`]; the rows start at `a`.
    unsafe fn columns(
        &self,
        nest: &Nest,
        (a, rows): (*const u8, Rows),
        (out, step): (*mut u8, isize),
        outer: usize,
        scratch: &mut Scratch,
    ) {
        let columns = nest.axes[0].extent;
        let (size, facts) = (self.size, (&raw const rows).cast::<u8>());
        for first in (0..columns).step_by(WIDE) {
            let n = WIDE.min(columns - first);
            let a = a.wrapping_add(first * size);
            let out = out.wrapping_add(first * self.fold.dtype.size());
            match self.way {
                // SAFETY: rows of memory that may be read, and one row of results.
                Way::Across(kern, wide) => unsafe {
                    kern(a, facts, facts, out, wide * n);
                },
                // SAFETY: promised by the caller.
                Way::Places(arg) => unsafe {
                    places(arg, nest, (a, rows), outer, first..first + n);
                },
                // SAFETY: promised by the caller.
                Way::Down(kern) => unsafe { self.down(kern, (a, rows), (out, step), n, scratch) },
                _ => debug_assert!(false, "other folds go along rows"),
            }
        }
    }

    /// # Safety
    /// As for [`Direct::part`]; `rows` rows at `a` give rows at `out`.
    unsafe fn down(
        &self,
        kern: Kern,
        (a, rows): (*const u8, Rows),
        (out, step): (*mut u8, isize),
        columns: usize,
        scratch: &mut Scratch,
    ) {
        let bytes = columns * self.fold.dtype.size();
        let all = scratch.room(bytes);
        for i in 0..rows.count {
            let i = i.cast_signed();
            let from = a.wrapping_offset(i * rows.step);
            if i == 0 {
                // SAFETY: a row of memory, and a buffer with room for it.
                unsafe { copy(from, all, bytes) };
            } else {
                // SAFETY: as above; both are aligned.
                unsafe { kern(from, from, from, all, columns) };
            }
            // SAFETY: a row of results that this thread alone writes.
            unsafe { self.put(all, out.wrapping_offset(i * step), bytes) };
        }
    }

    /// # Safety
    /// As for [`Direct::down`].
    unsafe fn along(
        &self,
        kern: Kern,
        (a, rows): (*const u8, Rows),
        (out, step): (*mut u8, isize),
        columns: usize,
        scratch: &mut Scratch,
    ) {
        let place = |row: usize| {
            let row = row.cast_signed();
            let from = a.wrapping_offset(row * rows.step);
            (from, out.wrapping_offset(row * step))
        };
        let mut side = rows;
        for first in (0..rows.count).step_by(SIDE) {
            if first + SIDE <= rows.count {
                let (from, out) = place(first);
                // SAFETY: as many rows as go side by side.
                unsafe { self.side(kern, (from, side), (out, step, SIDE), columns, scratch) };
                continue;
            }
            // Less rows than go side by side: each takes all the places once.
            side.step = 0;
            for row in first..rows.count {
                let (from, out) = place(row);
                // SAFETY: one row.
                unsafe { self.side(kern, (from, side), (out, step, 1), columns, scratch) };
            }
        }
    }

    /// Running folds side by side, of which the first `keep` count.
    ///
    /// # Safety
    /// As for [`Direct::down`].
    unsafe fn side(
        &self,
        kern: Kern,
        (a, rows): (*const u8, Rows),
        (out, step, keep): (*mut u8, isize, usize),
        columns: usize,
        scratch: &mut Scratch,
    ) {
        let size = self.fold.dtype.size();
        let tile = scratch.room(SIDE * TILE * size);
        let facts = (&raw const rows).cast::<u8>();
        let mut last = self.first();
        for column in (0..columns).step_by(TILE) {
            let n = TILE.min(columns - column);
            let at = (column * size).cast_signed();
            let from = a.wrapping_offset(at);
            // SAFETY: rows that may be read, and a buffer for as many results.
            unsafe { kern(from, facts, last.as_ptr().cast(), tile, n) };
            for i in 0..keep {
                let done = tile.wrapping_add(i * n * size);
                let to = out.wrapping_offset(i.cast_signed() * step + at);
                // SAFETY: a part of a row of results that this thread alone writes.
                unsafe { self.put(done, to, n * size) };
            }
            let ends: *mut u8 = last.as_mut_ptr().cast();
            for i in 0..SIDE {
                let end = tile.wrapping_add(((i + 1) * n - 1) * size);
                // SAFETY: the last result of a row, and a place for it.
                unsafe { std::ptr::copy_nonoverlapping(end, ends.wrapping_add(i * size), size) };
            }
        }
    }

    /// What running folds go on from at the start of a row: it changes no value, not even the sign of
    /// a zero.
    fn first(&self) -> [u64; SIDE] {
        let dtype = self.fold.dtype;
        let float = dtype.is_float() && self.fold.op == ReduceOp::Add;
        let start = match self.fold.op {
            _ if float => Scalar::from_f64(dtype, -0.0),
            op => identity(op, dtype),
        };
        let mut all = [0; SIDE * 8];
        let size = dtype.size();
        for place in all.chunks_exact_mut(size).take(SIDE) {
            place.copy_from_slice(&start.bytes[..size]);
        }
        let (words, _) = all.as_chunks::<8>();
        std::array::from_fn(|i| u64::from_ne_bytes(words[i]))
    }

    /// # Safety
    /// `bytes` bytes may be read at `from` and written at `to`; both are apart.
    unsafe fn put(&self, from: *const u8, to: *mut u8, bytes: usize) {
        if self.around {
            // SAFETY: promised by the caller.
            unsafe { stream(from, to, bytes, self.isa) };
        } else {
            // SAFETY: promised by the caller.
            unsafe { copy(from, to, bytes) };
        }
    }
}

/// Values of a row that go through a buffer at a time.
const TILE: usize = 512;

/// Columns that are folded from row to row at a time.
const WIDE: usize = 16 << 10;

/// Positions of extremes of some columns.
///
/// # Safety
/// As for [`Direct::columns`]; the values of the columns start at `a`.
unsafe fn places(
    arg: ArgPlan,
    nest: &Nest,
    (a, rows): (*const u8, Rows),
    outer: usize,
    columns: Range<usize>,
) {
    let at = |lane| Odometer::at(nest, lane, 2, outer).value;
    let number = at(arg.lanes.1) + columns.start.cast_signed();
    let (first, step) = (at(arg.lanes.0), nest.axes[1].steps[arg.lanes.0]);
    // SAFETY: one row of values, and results of this thread.
    unsafe { arg.fold(a, columns.len(), (first, 0), number, true) };
    let later = Rows {
        count: rows.count - 1,
        step: rows.step,
    };
    let second = a.wrapping_offset(rows.step);
    // SAFETY: as above; the first row has given every column a value.
    unsafe { arg.later((second, later), columns.len(), (first + step, step), number) };
}

/// A buffer of one thread.
#[derive(Default)]
struct Scratch(Vec<[u64; 8]>);

impl Scratch {
    fn room(&mut self, bytes: usize) -> *mut u8 {
        let lines = bytes.div_ceil(64);
        if self.0.len() < lines {
            self.0.resize(lines, [0; 8]);
        }
        self.0.as_mut_ptr().cast()
    }
}
