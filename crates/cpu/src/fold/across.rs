//! Rows folded into one row of results, several at a time.

#![expect(unsafe_code, reason = "rows lie in raw tiles or memory of the launch")]

use super::{FoldForm, FoldState};
use crate::kern::Rows;

impl FoldState {
    /// True when whole rows of `row` values are folded into one row of results.
    pub(crate) fn takes_rows(&self, row: usize) -> bool {
        let apart = self.alone.is_none() && self.parts.is_none();
        let rows = matches!(self.plan.form, FoldForm::Each(_, Some(_)));
        rows && apart && self.in_place && self.position == 0 && self.plan.segment == row
    }

    /// Folds whole rows of `n` values.
    ///
    /// # Safety
    /// The fold takes such rows, those at `values` have one row of results, which may be read and written
    /// by this thread.
    pub(crate) unsafe fn consume_rows(&mut self, values: *const u8, rows: Rows, n: usize) {
        if let FoldForm::Each(_, Some((kern, wide))) = self.plan.form {
            let facts = (&raw const rows).cast::<u8>();
            // SAFETY: promised by the caller.
            unsafe { kern(values, facts, facts, self.out(), wide * n) };
        }
        self.number += rows.count;
        for _ in 0..rows.count {
            self.odometer.next();
        }
    }
}
