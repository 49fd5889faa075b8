//! Folds in a sweep.
//!
//! A fold that keeps the rows is done row by row, where its rows are. A fold of everything is cut at the
//! bands into subtrees of NumPy's tree (anywhere, if the order does not show): each band keeps the
//! results of its own, and all are joined in order at the end.

#![expect(
    unsafe_code,
    reason = "output elements lie at addresses that the caller of the sweep vouches for"
)]

use crate::Isa;
use crate::cell::{self, Cell};
use crate::fold::{FoldForm, FoldPlan};
use crate::kern::fold_run;
use crate::place::{gather, scatter};
use crate::tree::{Addend, Sum, add};
use arrayloom_plan::{Band, Timing, tree_split};
use arrayloom_types::DType;
use std::ops::Range;

/// A fold of all values of a stage.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    /// The output that it is.
    pub(crate) output: usize,
    pub(crate) plan: FoldPlan,
    /// Values in all.
    total: usize,
    /// Where the values of each band start, in order; the last is `total`.
    cuts: Vec<usize>,
}

impl Whole {
    /// `None` if the fold cannot be cut.
    pub(crate) fn new(output: usize, plan: FoldPlan, total: usize) -> Option<Whole> {
        plan.splits().then_some(Whole {
            output,
            plan,
            total,
            cuts: Vec::new(),
        })
    }

    /// Cuts the values at the bands of a stage.
    pub(crate) fn cut(&mut self, timing: &Timing, bands: &[Band], row_points: usize) {
        let starts = bands.iter().map(|band| {
            let row = timing.until(band.start);
            if band.first {
                0
            } else {
                self.leaf(row * row_points)
            }
        });
        let mut cuts: Vec<usize> = starts.collect();
        cuts.push(self.total);
        self.cuts = cuts;
    }

    /// The values of a band.
    pub(crate) fn range(&self, band: usize) -> Range<usize> {
        self.cuts[band]..self.cuts[band + 1]
    }

    /// The piece that a position lies in.
    fn piece(&self, position: usize) -> Range<usize> {
        let (segment, piece) = (self.plan.segment.max(1), self.plan.piece.max(1));
        let run = position / segment * segment;
        let start = run + (position - run) / piece * piece;
        start..start.saturating_add(piece).min(run + segment)
    }

    /// The start of the leaf that a position lies in; the position itself if the order does not show.
    fn leaf(&self, position: usize) -> usize {
        if position >= self.total || !matches!(self.plan.form, FoldForm::Tree(_)) {
            return position.min(self.total);
        }
        let piece = self.piece(position);
        let factor = self.plan.reals(1);
        let wanted = factor * (position - piece.start);
        let (mut start, mut length) = (0, factor * piece.len());
        while let Some(left) = tree_split(length) {
            if wanted < start + left {
                length = left;
            } else {
                start += left;
                length -= left;
            }
        }
        piece.start + start / factor
    }

    /// The numbers of values of the subtrees that make up the values of a band.
    pub(crate) fn parts(&self, band: usize) -> Vec<usize> {
        let range = self.range(band);
        if !matches!(self.plan.form, FoldForm::Tree(_)) {
            return Vec::from_iter((!range.is_empty()).then_some(range.len()));
        }
        let factor = self.plan.reals(1);
        let mut parts = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let piece = self.piece(at);
            let within = |position: usize| factor * (position.min(piece.end) - piece.start);
            let wanted = within(at)..within(range.end);
            subtrees(0..factor * piece.len(), &wanted, &mut parts);
            at = piece.end;
        }
        for part in &mut parts {
            *part /= factor;
        }
        parts
    }

    /// Folds the results of all bands into the output element.
    ///
    /// # Safety
    /// The element may be read and written.
    pub(crate) unsafe fn join(&self, out: *mut u8, cells: &[Cell], isa: Isa) {
        let dtype = self.plan.dtype;
        if !matches!(self.plan.form, FoldForm::Tree(_)) {
            let Some(kern) = fold_run(self.plan.op, dtype, isa) else {
                return;
            };
            let (size, mut now) = (dtype.size(), Cell::default());
            // SAFETY: promised by the caller.
            unsafe { gather(size, out, size.cast_signed(), now.0.as_mut_ptr(), 1) };
            for cell in cells {
                let from = cell.0.as_ptr();
                // SAFETY: one value and an accumulator of its dtype, in cells of their own.
                unsafe { kern(from, from, from, now.0.as_mut_ptr(), 1) };
            }
            // SAFETY: promised by the caller.
            unsafe { scatter(size, now.0.as_ptr(), out, size.cast_signed(), 1) };
            return;
        }
        let factor = self.plan.reals(1);
        let mut cells = cells.iter().copied();
        let mut at = 0;
        while at < self.total {
            let piece = self.piece(at);
            let cuts = self.cuts.iter().filter(|c| piece.contains(c));
            let cuts: Vec<usize> = cuts.map(|c| factor * (c - piece.start)).collect();
            let all = 0..factor * piece.len();
            let sum = match dtype {
                DType::F64 | DType::C128 => Cell::of(joined::<f64>(
                    all,
                    &cuts,
                    &mut cells.by_ref().map(|c| c.sum()),
                )),
                _ => Cell::of(joined::<f32>(
                    all,
                    &cuts,
                    &mut cells.by_ref().map(|c| c.sum()),
                )),
            };
            // SAFETY: promised by the caller.
            unsafe { cell::add(dtype, out, sum) };
            at = piece.end;
        }
    }
}

/// The lengths of the largest subtrees of `tree` that make up `wanted`, whose ends are ends of leaves.
fn subtrees(tree: Range<usize>, wanted: &Range<usize>, lengths: &mut Vec<usize>) {
    if tree.start >= wanted.end || tree.end <= wanted.start {
        return;
    }
    match tree_split(tree.len()) {
        Some(left) if tree.start < wanted.start || tree.end > wanted.end => {
            let middle = tree.start + left;
            subtrees(tree.start..middle, wanted, lengths);
            subtrees(middle..tree.end, wanted, lengths);
        }
        _ => lengths.push(tree.len()),
    }
}

/// The sum of `tree`, whose parts between `cuts` are summed.
fn joined<R: Addend>(
    tree: Range<usize>,
    cuts: &[usize],
    parts: &mut impl Iterator<Item = Sum<R>>,
) -> Sum<R> {
    let is_cut = cuts.iter().any(|&c| tree.start < c && c < tree.end);
    match tree_split(tree.len()).filter(|_| is_cut) {
        Some(left) => {
            let middle = tree.start + left;
            let first = joined(tree.start..middle, cuts, parts);
            add(first, joined(middle..tree.end, cuts, parts))
        }
        None => parts.next().unwrap_or_default(),
    }
}
