//! Folded outputs: what each does with a tile of values.
//!
//! A fold walks *segments*: whole runs for sums by NumPy's tree, rows for the rest. Each segment of a
//! fold along the rows belongs to one element of the output; otherwise the segment is folded into as
//! many elements.

#![expect(
    unsafe_code,
    reason = "output elements lie at computed addresses that the launch vouches for"
)]

mod parts;
mod rows;
mod runs;
mod scans;

pub(crate) use parts::Parts;

use crate::Isa;
use crate::arg::ArgPlan;
use crate::cell::{self, Cell};
use crate::kern::{
    Kern, Raise, Rows, accumulate, fold_rows, fold_run, fold_tiles, identity, scan_run, scan_tiles,
};
use crate::lower::in_place;
use crate::nest::{Class, Nest, Odometer};
use crate::place::{gather, scatter};
use crate::setup::{Setup, is_order_free};
use crate::tree::{Tree, TreeKern};
use arrayloom_device::Launch;
use arrayloom_ir::{Form, Kernel, ReduceOp};
use arrayloom_types::{DType, Scalar};
use half::f16;

/// How a fold works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FoldForm {
    /// Values are folded into as many output elements: a tile, or several rows of so many numbers a value.
    Each(Kern, Option<(Kern, usize)>),
    /// A row is folded into one output element.
    Run(Kern),
    /// A run is summed by the tree; the kernel sums its leaves.
    Tree(TreeKern),
    /// A run of `float16` is multiplied in `float32`.
    Wide(Kern),
    /// A running fold along the rows: the first kernel goes on from a value.
    ScanRow(Kern),
    /// A running fold across rows: the kernel folds a tile into a tile.
    ScanEach(Kern),
    /// The position of the smallest or largest value.
    Arg(ArgPlan),
}

/// One folded output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoldPlan {
    pub(crate) form: FoldForm,
    pub(crate) op: ReduceOp,
    /// The dtype of the values that it takes.
    pub(crate) value_dtype: DType,
    /// The dtype of the output.
    pub(crate) dtype: DType,
    /// The lane of the output.
    pub(crate) lane: usize,
    /// The first axes that make a segment, and their points.
    pub(crate) inner: usize,
    pub(crate) segment: usize,
    /// Values of one piece of a run.
    pub(crate) piece: usize,
    pub(crate) initial: Scalar,
    pub(crate) free: bool,
    /// True when folding may raise floating-point conditions.
    pub(crate) raises: bool,
}

/// Plans the folded outputs; `None` for stored ones.
///
/// # Errors
/// A fold that has no kernel.
pub(crate) fn plan(
    kernel: &Kernel,
    launch: &Launch<'_>,
    setup: &Setup,
    isa: Isa,
) -> Result<Vec<Option<FoldPlan>>, String> {
    (0..kernel.outputs.len())
        .map(|i| plan_one(kernel, launch, setup, isa, i))
        .collect()
}

/// The fold of truth values, which the first that is true, or false, settles.
fn truth_fold(op: ReduceOp) -> ReduceOp {
    match op {
        ReduceOp::Add | ReduceOp::Max | ReduceOp::Fmax => ReduceOp::Or,
        ReduceOp::Mul | ReduceOp::Min | ReduceOp::Fmin => ReduceOp::And,
        other => other,
    }
}

fn plan_one(
    kernel: &Kernel,
    launch: &Launch<'_>,
    setup: &Setup,
    isa: Isa,
    i: usize,
) -> Result<Option<FoldPlan>, String> {
    let nest = &setup.nest;
    let dtype = kernel.code[kernel.outputs[i].value as usize].dtype;
    let op = match kernel.outputs[i].form {
        Form::Store | Form::Scatter { .. } => return Ok(None),
        Form::Reduce { op, .. } if dtype == DType::Bool => truth_fold(op),
        Form::Reduce { op, .. } | Form::Scan { op, .. } => op,
        Form::Arg { max: true, .. } => ReduceOp::Max,
        Form::Arg { max: false, .. } => ReduceOp::Min,
    };
    let float = dtype.is_float() || dtype.is_complex();
    let mut fold = FoldPlan {
        form: FoldForm::Run(fold_run(ReduceOp::Or, DType::Bool, isa).ok_or("no fold")?),
        op,
        value_dtype: dtype,
        dtype,
        lane: setup.outs[i],
        inner: 1,
        segment: nest.row(),
        piece: usize::MAX,
        initial: identity(op, dtype),
        free: is_order_free(op, dtype),
        raises: float && matches!(op, ReduceOp::Add | ReduceOp::Mul),
    };
    let missing = || format!("no fold {op:?} of {dtype}");
    let stream = nest
        .axes
        .iter()
        .take_while(|a| a.class == Class::Stream)
        .count();
    let row_folds = nest.axes[0].class != Class::Kept;
    fold.form = match kernel.outputs[i].form {
        Form::Scan { .. } if setup.scan == Some(0) => {
            FoldForm::ScanRow(scan_run(op, dtype, isa).ok_or_else(missing)?)
        }
        Form::Scan { .. } => FoldForm::ScanEach(scan_tiles(op, dtype, isa).ok_or_else(missing)?),
        Form::Arg { max, .. } => {
            let lanes = setup.ranks[i].ok_or("an index without lanes")?;
            fold.dtype = DType::I64;
            fold.free = true;
            FoldForm::Arg(ArgPlan::new(dtype, max, lanes, isa))
        }
        _ if stream > 0 && fold.raises && (op == ReduceOp::Add || dtype == DType::F16) => {
            let order = launch.reduces[i]
                .as_ref()
                .ok_or("a fold without its order")?;
            fold.piece = order.order.piece.max(1);
            fold.inner = stream;
            fold.segment = nest.inner_len(stream);
            if dtype == DType::F16 {
                fold.value_dtype = DType::F32;
            }
            if op == ReduceOp::Mul {
                FoldForm::Wide(fold_run(op, DType::F32, isa).ok_or_else(missing)?)
            } else {
                FoldForm::Tree(
                    match dtype.size() / if dtype.is_complex() { 2 } else { 1 } {
                        8 => TreeKern::of::<f64>(dtype.is_complex(), isa),
                        _ => TreeKern::of::<f32>(dtype.is_complex(), isa),
                    },
                )
            }
        }
        _ if row_folds && stream == 0 && !fold.free && dtype.is_complex() => {
            let kern = fold_tiles(op, dtype, isa).or_else(|| fold_run(op, dtype, isa));
            FoldForm::Run(kern.ok_or_else(missing)?)
        }
        _ if row_folds => FoldForm::Run(fold_run(op, dtype, isa).ok_or_else(missing)?),
        _ => {
            let wide = if dtype.is_complex() { 2 } else { 1 };
            let rows = fold_rows(op, dtype, isa).map(|kern| (kern, wide));
            FoldForm::Each(accumulate(op, dtype, isa).ok_or_else(missing)?, rows)
        }
    };
    if let Some(initial) = launch.reduces[i].as_ref().and_then(|r| r.initial) {
        fold.initial = initial;
    }
    Ok(Some(fold))
}

enum Trees {
    None,
    Single(Box<Tree<f32>>),
    Double(Box<Tree<f64>>),
}

/// Where a fold stands in its task.
pub(crate) struct FoldState {
    pub(crate) plan: FoldPlan,
    odometer: Odometer,
    /// Number of the segment, and position in it.
    number: usize,
    position: usize,
    tree: Trees,
    /// The result of a task that keeps it to itself, or the accumulator of a product.
    pub(crate) cell: Cell,
    /// Values of the whole task, if it keeps its result to itself.
    alone: Option<usize>,
    /// Present if the values make several parts, each with a result of its own.
    pub(crate) parts: Option<Parts>,
    scratch: Vec<u64>,
    /// Of an `Arg`: position and number of the output element.
    ranks: Option<(Odometer, Odometer)>,
    in_place: bool,
}

impl FoldState {
    /// A fold over the whole of `nest`, or, if `alone`, over `alone` flat positions from `start`.
    pub(crate) fn new(
        plan: FoldPlan,
        nest: &Nest,
        start: usize,
        alone: Option<usize>,
    ) -> FoldState {
        let number = start / plan.segment.max(1);
        let at = |lane| Odometer::at(nest, lane, plan.inner, number);
        let mut tree = match (plan.form, plan.dtype) {
            (FoldForm::Tree(kern), DType::F64 | DType::C128) => {
                Trees::Double(Box::new(Tree::new(kern)))
            }
            (FoldForm::Tree(kern), _) => Trees::Single(Box::new(Tree::new(kern))),
            _ => Trees::None,
        };
        if let Some(n) = alone {
            tree.begin(plan.reals(n));
        }
        FoldState {
            odometer: at(plan.lane),
            number,
            position: start % plan.segment.max(1),
            tree,
            cell: Cell(identity(plan.op, plan.value_dtype).bytes),
            alone,
            parts: None,
            scratch: Vec::new(),
            ranks: match plan.form {
                FoldForm::Arg(arg) => Some((at(arg.lanes.0), at(arg.lanes.1))),
                _ => None,
            },
            in_place: in_place(nest, false, plan.lane, plan.dtype.size()),
            plan,
        }
    }

    /// Folds the next `n` values of the walk.
    ///
    /// # Safety
    /// `values` is a tile of `n` values; the output elements may be read and written by this thread.
    pub(crate) unsafe fn consume(&mut self, nest: &Nest, values: *const u8, n: usize) {
        if self.alone.is_some() {
            // SAFETY: promised by the caller.
            unsafe { self.consume_alone(nest, values, n) };
            return;
        }
        if self.parts.is_some() {
            // SAFETY: promised by the caller.
            unsafe { self.consume_parts(values, n) };
            return;
        }
        let (mut values, mut left) = (values, n);
        while left > 0 {
            let (segment, size) = (self.plan.segment, self.plan.value_dtype.size());
            if left >= segment
                && let Some(kern) = self.sums_runs()
            {
                let rows = Rows {
                    count: left / segment,
                    step: (segment * size).cast_signed(),
                };
                // SAFETY: so many whole segments are there.
                unsafe { self.runs(kern, values, rows) };
                left -= rows.count * segment;
                values = values.wrapping_add(rows.count * segment * size);
                continue;
            }
            let mut take = left.min(self.plan.segment - self.position);
            if matches!(self.plan.form, FoldForm::Tree(_) | FoldForm::Wide(_)) {
                take = take.min(self.plan.piece - self.position % self.plan.piece);
            }
            // SAFETY: `take` values at most, all of one segment.
            unsafe { self.segment(nest, values, take) };
            self.advance(take);
            left -= take;
            values = values.wrapping_add(take * size);
        }
    }

    /// Goes on by `n` values of the segment.
    fn advance(&mut self, n: usize) {
        self.position += n;
        if self.position < self.plan.segment {
            return;
        }
        self.position = 0;
        self.number += 1;
        self.odometer.next();
        if let Some((position, number)) = &mut self.ranks {
            position.next();
            number.next();
        }
    }

    fn out(&self) -> *mut u8 {
        std::ptr::with_exposed_provenance_mut(self.odometer.value.cast_unsigned())
    }

    /// # Safety
    /// As for [`FoldState::consume`].
    unsafe fn consume_alone(&mut self, nest: &Nest, values: *const u8, n: usize) {
        match self.plan.form {
            // SAFETY: promised by the caller.
            FoldForm::Tree(_) => unsafe { self.tree.feed(values, self.plan.reals(n)) },
            FoldForm::Run(kern) => {
                // SAFETY: a tile, and an accumulator of its dtype.
                unsafe { kern(values, values, values, self.cell.0.as_mut_ptr(), n) };
            }
            FoldForm::Arg(arg) => {
                let (mut values, mut left) = (values, n);
                while left > 0 {
                    let take = left.min(self.plan.segment - self.position);
                    // SAFETY: promised by the caller.
                    unsafe { self.arg(nest, arg, values, take) };
                    self.advance(take);
                    left -= take;
                    values = values.wrapping_add(take * self.plan.value_dtype.size());
                }
            }
            _ => debug_assert!(false, "no other fold keeps its result to itself"),
        }
        if let (Some(left), Trees::Single(_) | Trees::Double(_)) = (&mut self.alone, &self.tree) {
            *left -= n;
            if *left == 0 {
                self.cell = self.tree.sum();
            }
        }
    }

    /// # Safety
    /// As for [`FoldState::consume`]; the values belong to one segment, and to one piece.
    unsafe fn segment(&mut self, nest: &Nest, values: *const u8, n: usize) {
        let out = self.out();
        let size = self.plan.dtype.size();
        match self.plan.form {
            FoldForm::Each(kern, _) => {
                let step = nest.step(self.plan.lane);
                let out = out.wrapping_offset(self.position.cast_signed() * step);
                // SAFETY: promised by the caller.
                unsafe { self.each(kern, values, out, step, n) };
            }
            FoldForm::Run(kern) => {
                // SAFETY: the element may be read.
                unsafe { gather(size, out, size.cast_signed(), self.cell.0.as_mut_ptr(), 1) };
                // SAFETY: a tile, and an accumulator of its dtype.
                unsafe { kern(values, values, values, self.cell.0.as_mut_ptr(), n) };
                // SAFETY: the element may be written.
                unsafe { scatter(size, self.cell.0.as_ptr(), out, size.cast_signed(), 1) };
            }
            FoldForm::Tree(_) => {
                let (start, end) = self.piece();
                if self.position == start {
                    self.tree.begin(self.plan.reals(end - start));
                }
                // SAFETY: a tile of as many reals.
                unsafe { self.tree.feed(values, self.plan.reals(n)) };
                if self.position + n == end {
                    // SAFETY: the element may be read and written.
                    unsafe { cell::add(self.plan.dtype, out, self.tree.sum()) };
                }
            }
            FoldForm::Wide(kern) => {
                let (start, end) = self.piece();
                let mut half = [0; 2];
                if self.position == start {
                    // SAFETY: the element may be read.
                    unsafe { gather(2, out, 2, half.as_mut_ptr(), 1) };
                    let before = f16::from_ne_bytes(half).to_f32();
                    self.cell.0[..4].copy_from_slice(&before.to_ne_bytes());
                }
                // SAFETY: a tile, and an accumulator of its dtype.
                unsafe { kern(values, values, values, self.cell.0.as_mut_ptr(), n) };
                if self.position + n == end {
                    half = f16::from_f32(self.cell.sum::<f32>()[0]).to_ne_bytes();
                    // SAFETY: the element may be written.
                    unsafe { scatter(2, half.as_ptr(), out, 2, 1) };
                }
            }
            FoldForm::ScanRow(kern) => {
                // SAFETY: promised by the caller.
                unsafe { self.scan_row(nest, kern, values, n) };
            }
            FoldForm::ScanEach(kern) => {
                // SAFETY: promised by the caller.
                unsafe { self.scan_each(nest, kern, values, n) };
            }
            // SAFETY: promised by the caller.
            FoldForm::Arg(arg) => unsafe { self.arg(nest, arg, values, n) },
        }
    }

    /// Start and end of the piece that the position lies in.
    fn piece(&self) -> (usize, usize) {
        let start = self.position - self.position % self.plan.piece;
        let end = start.saturating_add(self.plan.piece).min(self.plan.segment);
        (start, end)
    }

    fn scratch(&mut self, bytes: usize) -> *mut u8 {
        let words = bytes.div_ceil(8);
        if self.scratch.len() < words {
            self.scratch.resize(words, 0);
        }
        self.scratch.as_mut_ptr().cast()
    }

    /// # Safety
    /// As for [`FoldState::consume`]; `out` is the first of `n` elements `step` bytes apart.
    unsafe fn each(&mut self, kern: Kern, values: *const u8, out: *mut u8, step: isize, n: usize) {
        if self.in_place {
            // SAFETY: tile and elements are aligned and apart.
            unsafe { kern(values, values, values, out, n) };
            return;
        }
        let size = self.plan.dtype.size();
        let tile = self.scratch(size * n);
        // SAFETY: the elements may be read.
        unsafe { gather(size, out, step, tile, n) };
        // SAFETY: two tiles of the same dtype.
        unsafe { kern(values, values, values, tile, n) };
        // SAFETY: the elements may be written.
        unsafe { scatter(size, tile, out, step, n) };
    }

    /// # Safety
    /// As for [`FoldState::consume`]; the values belong to one row.
    unsafe fn arg(&mut self, nest: &Nest, arg: ArgPlan, values: *const u8, n: usize) {
        let Some((position, number)) = &self.ranks else {
            return;
        };
        let column = self.position.cast_signed();
        let steps = (nest.step(arg.lanes.0), nest.step(arg.lanes.1));
        let first = position.value + column * steps.0;
        let alone = self.alone.is_some();
        let number = if alone {
            0
        } else {
            number.value + column * steps.1
        };
        // SAFETY: the results of these numbers belong to this thread.
        unsafe { arg.fold(values, n, (first, steps.0), number, steps.1 != 0) };
    }
}

impl FoldPlan {
    /// Reals that `n` values of a tree are.
    pub(crate) fn reals(&self, n: usize) -> usize {
        if self.dtype.is_complex() { 2 * n } else { n }
    }

    /// Where the conditions of folding are to be found: extremes compare, which counts for nothing.
    pub(crate) fn raise(&self) -> Raise {
        if self.raises {
            Raise::Register
        } else {
            Raise::Answer
        }
    }

    /// True when a task may keep its result to itself, to be joined later.
    pub(crate) fn splits(&self) -> bool {
        match self.form {
            FoldForm::Tree(_) => true,
            FoldForm::Run(_) | FoldForm::Arg(_) => self.free,
            _ => false,
        }
    }
}

impl Trees {
    fn begin(&mut self, reals: usize) {
        match self {
            Trees::None => {}
            Trees::Single(tree) => tree.begin(reals),
            Trees::Double(tree) => tree.begin(reals),
        }
    }

    /// # Safety
    /// `values` is a tile of as many reals.
    unsafe fn feed(&mut self, values: *const u8, reals: usize) {
        match self {
            Trees::None => {}
            // SAFETY: promised by the caller.
            Trees::Single(tree) => tree.feed(unsafe { crate::kern::tile(values, reals) }),
            // SAFETY: promised by the caller.
            Trees::Double(tree) => tree.feed(unsafe { crate::kern::tile(values, reals) }),
        }
    }

    fn sum(&self) -> Cell {
        match self {
            Trees::None => Cell::default(),
            Trees::Single(tree) => Cell::of(tree.sum()),
            Trees::Double(tree) => Cell::of(tree.sum()),
        }
    }
}
