//! Rows folded several at a time: into one row of results, or each into a result of its own.

#![expect(unsafe_code, reason = "rows lie in raw tiles or memory of the launch")]

use super::{FoldForm, FoldState};
use crate::kern::Rows;
use crate::nest::{Class, Nest};

impl FoldState {
    /// True when whole rows of `row` values, one after another along an axis of this class, may come together.
    pub(crate) fn takes_rows(&self, row: usize, class: Class) -> bool {
        let apart = self.alone.is_none() && self.parts.is_none();
        let whole = apart && self.position == 0 && self.plan.segment == row;
        match self.plan.form {
            FoldForm::Each(_, Some(_)) => whole && class == Class::Folded && self.in_place,
            FoldForm::Tree(_) => whole && self.sums_runs().is_some(),
            FoldForm::Run(_) | FoldForm::Arg(_) => whole && class == Class::Kept,
            _ => false,
        }
    }

    /// Folds whole rows of `n` values.
    ///
    /// # Safety
    /// The fold takes such rows, which are aligned at `values`; their results may be read and written by this thread.
    pub(crate) unsafe fn consume_rows(
        &mut self,
        nest: &Nest,
        values: *const u8,
        rows: Rows,
        n: usize,
    ) {
        if let Some(kern) = self.sums_runs() {
            // SAFETY: promised by the caller.
            unsafe { self.runs(kern, values, rows) };
            return;
        }
        let FoldForm::Each(_, Some((kern, wide))) = self.plan.form else {
            for row in 0..rows.count {
                let values = values.wrapping_offset(row.cast_signed() * rows.step);
                // SAFETY: promised by the caller: a row is a segment.
                unsafe { self.segment(nest, values, n) };
                self.advance(n);
            }
            return;
        };
        let facts = (&raw const rows).cast::<u8>();
        // SAFETY: promised by the caller.
        unsafe { kern(values, facts, facts, self.out(), wide * n) };
        self.number += rows.count;
        for _ in 0..rows.count {
            self.odometer.next();
        }
    }
}
