//! Running folds: along a row, and across rows.

#![expect(
    unsafe_code,
    reason = "output elements lie at computed addresses that the launch vouches for"
)]

use super::FoldState;
use crate::kern::Kern;
use crate::nest::{Class, Nest};
use crate::place::{gather, scatter};

impl FoldState {
    /// # Safety
    /// As for [`FoldState::consume`]; the values belong to one row.
    pub(super) unsafe fn scan_row(&mut self, nest: &Nest, kern: Kern, values: *const u8, n: usize) {
        let (size, step) = (self.plan.dtype.size(), nest.step(self.plan.lane));
        let out = self
            .out()
            .wrapping_offset(self.position.cast_signed() * step);
        let tile = self.scratch(size * n);
        let first = usize::from(self.position == 0);
        if first == 1 {
            // SAFETY: one value.
            unsafe { gather(size, values, size.cast_signed(), tile, 1) };
            // SAFETY: one value.
            unsafe {
                gather(
                    size,
                    values,
                    size.cast_signed(),
                    self.cell.0.as_mut_ptr(),
                    1,
                );
            };
        }
        let (rest, to) = (
            values.wrapping_add(first * size),
            tile.wrapping_add(first * size),
        );
        // SAFETY: the rest of the tile, from the value before it.
        unsafe { kern(rest, self.cell.0.as_ptr(), rest, to, n - first) };
        let end = tile.wrapping_add((n - 1) * size);
        // SAFETY: the last value of the tile.
        unsafe { gather(size, end, size.cast_signed(), self.cell.0.as_mut_ptr(), 1) };
        // SAFETY: the elements may be written.
        unsafe { scatter(size, tile, out, step, n) };
    }

    /// # Safety
    /// As for [`FoldState::consume`]; the values belong to one row.
    pub(super) unsafe fn scan_each(
        &mut self,
        nest: &Nest,
        kern: Kern,
        values: *const u8,
        n: usize,
    ) {
        let (size, step) = (self.plan.dtype.size(), nest.step(self.plan.lane));
        let out = self
            .out()
            .wrapping_offset(self.position.cast_signed() * step);
        let Some(axis) = nest.axes.iter().position(|a| a.class == Class::Scan) else {
            // SAFETY: every value is the first of its running fold.
            unsafe { scatter(size, values, out, step, n) };
            return;
        };
        let rows: usize = nest.axes[1..axis].iter().map(|a| a.extent).product();
        if (self.number / rows).is_multiple_of(nest.axes[axis].extent) {
            // SAFETY: the elements may be written.
            unsafe { scatter(size, values, out, step, n) };
            return;
        }
        let before = out.wrapping_offset(-nest.axes[axis].steps[self.plan.lane]);
        let tile = self.scratch(size * n);
        // SAFETY: the elements of the row before, which this thread wrote.
        unsafe { gather(size, before, step, tile, n) };
        // SAFETY: two tiles of the same dtype.
        unsafe { kern(values, values, values, tile, n) };
        // SAFETY: the elements may be written.
        unsafe { scatter(size, tile, out, step, n) };
    }
}
