//! A fold whose values make several parts, each with a result of its own.

#![expect(unsafe_code, reason = "values lie in raw tiles")]

use super::{FoldForm, FoldPlan, FoldState};
use crate::cell::Cell;
use crate::kern::identity;
use crate::nest::Nest;

/// Of a fold in several parts: what is to be left out, and what is there.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    /// Values to be left out before the next one counts.
    pub(crate) skip: usize,
    /// Values that the open part waits for; no part is open at zero.
    left: usize,
    /// The lengths of the parts to come, the last one first.
    lengths: Vec<usize>,
    /// The results of the parts.
    pub(crate) cells: Vec<Cell>,
}

impl FoldState {
    /// A fold in parts of these lengths; other values are left out.
    pub(crate) fn in_parts(plan: FoldPlan, nest: &Nest, mut lengths: Vec<usize>) -> FoldState {
        lengths.reverse();
        let mut state = FoldState::new(plan, nest, 0, None);
        state.parts = Some(Parts {
            lengths,
            ..Parts::default()
        });
        state
    }

    /// # Safety
    /// As for [`FoldState::consume`].
    pub(super) unsafe fn consume_parts(&mut self, values: *const u8, n: usize) {
        let Some(parts) = &mut self.parts else {
            return;
        };
        let size = self.plan.value_dtype.size();
        let skip = parts.skip.min(n);
        parts.skip -= skip;
        let (mut values, mut n) = (values.wrapping_add(skip * size), n - skip);
        while n > 0 {
            if parts.left == 0 {
                let Some(length) = parts.lengths.pop() else {
                    return;
                };
                parts.left = length;
                self.cell = Cell(identity(self.plan.op, self.plan.value_dtype).bytes);
                self.tree.begin(self.plan.reals(length));
            }
            let take = n.min(parts.left);
            match self.plan.form {
                // SAFETY: promised by the caller.
                FoldForm::Tree(_) => unsafe { self.tree.feed(values, self.plan.reals(take)) },
                FoldForm::Run(kern) => {
                    // SAFETY: a tile, and an accumulator of its dtype.
                    unsafe { kern(values, values, values, self.cell.0.as_mut_ptr(), take) };
                }
                _ => debug_assert!(false, "no other fold is cut"),
            }
            parts.left -= take;
            if parts.left == 0 {
                if matches!(self.plan.form, FoldForm::Tree(_)) {
                    self.cell = self.tree.sum();
                }
                parts.cells.push(self.cell);
            }
            n -= take;
            values = values.wrapping_add(take * size);
        }
    }
}
