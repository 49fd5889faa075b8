//! Sums of runs so short that each is one leaf of NumPy's tree: coordinates of points, colours of pixels.
//!
//! Whole runs of a tile are summed one after another, without the state that a run in several tiles needs.

#![expect(
    unsafe_code,
    reason = "output elements lie at computed addresses that the launch vouches for"
)]

use super::{FoldForm, FoldState};
use crate::kern::tile;
use crate::tree::{Addend, TreeKern};
use arrayloom_plan::{LANES, LEAF};
use arrayloom_types::DType;

impl FoldState {
    /// True when every run is one leaf of reals.
    pub(super) fn sums_short_runs(&self) -> bool {
        matches!(self.plan.form, FoldForm::Tree(_))
            && matches!(self.plan.dtype, DType::F32 | DType::F64)
            && self.plan.segment <= self.plan.piece.min(LEAF)
    }

    /// Adds the sums of the next `runs` runs to their output elements.
    ///
    /// # Safety
    /// As for [`FoldState::consume`]; all values of the runs are at `values`.
    pub(super) unsafe fn short_runs(&mut self, values: *const u8, runs: usize) {
        let FoldForm::Tree(kern) = self.plan.form else {
            return;
        };
        let count = runs * self.plan.segment;
        if self.plan.dtype == DType::F64 {
            // SAFETY: promised by the caller.
            let values = unsafe { tile::<f64>(values, count) };
            // SAFETY: promised by the caller.
            unsafe { self.sums(values, kern) };
        } else {
            // SAFETY: promised by the caller.
            let values = unsafe { tile::<f32>(values, count) };
            // SAFETY: promised by the caller.
            unsafe { self.sums(values, kern) };
        }
    }

    /// # Safety
    /// The output elements of as many runs may be read and written; they are of type `R`, and `kern` sums
    /// leaves of them.
    unsafe fn sums<R: Addend>(&mut self, values: &[R], kern: TreeKern) {
        for run in values.chunks_exact(self.plan.segment) {
            let sum = if run.len() < LANES {
                run.iter().fold(-R::default(), |sum, &x| sum + x)
            } else {
                kern.sum(run)[0]
            };
            let out = self.out().cast::<R>();
            // SAFETY: promised by the caller.
            let before = unsafe { out.read_unaligned() };
            // SAFETY: promised by the caller.
            unsafe { out.write_unaligned(before + sum) };
            self.odometer.next();
            self.number += 1;
        }
    }
}
