//! Sums of runs that are one subtree of NumPy's tree each: coordinates of points, colours of pixels, rows of features.
//!
//! Whole runs are summed many at a time, without the state that a run in several tiles needs.

#![expect(
    unsafe_code,
    reason = "output elements lie at computed addresses that the launch vouches for"
)]

use super::{FoldForm, FoldState};
use crate::kern::Rows;
use crate::tree::{Addend, TreeKern};
use arrayloom_types::DType;

/// Sums that are made before they go to their output elements.
const SUMS: usize = 64;

impl FoldState {
    /// The kernel, if every run is one subtree of reals, and the next value begins one.
    pub(super) fn sums_runs(&self) -> Option<TreeKern> {
        let FoldForm::Tree(kern) = self.plan.form else {
            return None;
        };
        let real = matches!(self.plan.dtype, DType::F32 | DType::F64);
        let whole = self.plan.segment <= self.plan.piece && kern.takes(self.plan.segment);
        let apart = self.alone.is_none() && self.parts.is_none();
        (real && whole && apart && self.position == 0).then_some(kern)
    }

    /// Adds the sums of the next runs to their output elements.
    ///
    /// # Safety
    /// As for [`FoldState::consume`]; `kern` is that of [`FoldState::sums_runs`], and all values of the runs are
    /// behind one another, aligned, where `rows` says.
    pub(super) unsafe fn runs(&mut self, kern: TreeKern, values: *const u8, rows: Rows) {
        if self.plan.dtype == DType::F64 {
            // SAFETY: promised by the caller.
            unsafe { self.sums::<f64>(kern, values, rows) };
        } else {
            // SAFETY: promised by the caller.
            unsafe { self.sums::<f32>(kern, values, rows) };
        }
    }

    /// # Safety
    /// As for [`FoldState::runs`], of values of type `R`.
    unsafe fn sums<R: Addend>(&mut self, kern: TreeKern, values: *const u8, rows: Rows) {
        let mut sums = [R::default(); SUMS];
        for first in (0..rows.count).step_by(SUMS) {
            let sums = &mut sums[..SUMS.min(rows.count - first)];
            let from = values.wrapping_offset(first.cast_signed() * rows.step);
            // SAFETY: promised by the caller.
            unsafe { kern.runs((from, rows.step), self.plan.segment, sums) };
            for &mut sum in sums {
                let out = self.out().cast::<R>();
                // SAFETY: promised by the caller.
                let before = unsafe { out.read_unaligned() };
                // SAFETY: promised by the caller.
                unsafe { out.write_unaligned(before + sum) };
                self.odometer.next();
            }
        }
        self.number += rows.count;
    }
}
