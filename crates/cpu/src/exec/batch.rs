//! Programs that do several rows with each of their steps.
//!
//! Where rows are not longer than a tile, one call of a compiled function does many of them. What is folded, or
//! stored where an input may lie, goes to as many rows of a buffer first.

#![expect(
    unsafe_code,
    reason = "slots point to buffers and memory of the launch"
)]

use super::{Shared, Worker, pointer};
use crate::Isa;
use crate::fold::FoldState;
use crate::jit::Rows;
use crate::kern;
use crate::nest::{Cursor, Nest};
use crate::plane::{Plane, scatter_rows};
use crate::program::Slot;
use crate::setup::SHORT_ROW;
use crate::step::{Step, note};

/// How several rows are done at a time.
pub(super) struct Batch {
    /// For each argument of the compiled function, the bytes from row to row.
    pub(super) steps: Vec<isize>,
    /// Rows at a time at most.
    pub(super) most: usize,
}

impl Batch {
    /// `None` if the program does one row, or a part of it, at a time.
    pub(super) fn of(
        shared: Shared<'_>,
        nest: &Nest,
        folds: &[Option<FoldState>],
    ) -> Option<Batch> {
        let (program, axis, row) = (shared.program, nest.axes.get(1)?, nest.row());
        if program.span || row > program.tile || program.segments.len() > 1 {
            return None;
        }
        let mut most = usize::MAX;
        for step in &program.steps {
            match *step {
                Step::Compiled { .. } if shared.isa == Isa::Avx512 => {}
                Step::Store {
                    from,
                    around: false,
                    ..
                } if row < SHORT_ROW && matches!(program.slots[from], Slot::Buffer(_)) => {
                    most = program.tile / row;
                }
                Step::Fold { output, from, .. } => {
                    let fold = folds.get(output)?.as_ref()?;
                    if !fold.takes_rows(row, axis.class) {
                        return None;
                    }
                    if let Slot::Buffer(_) = program.slots[from] {
                        most = program.tile / row;
                    }
                }
                _ => return None,
            }
        }
        let steps = program.segments.iter().flat_map(|segment| {
            let args = segment.args.iter().zip(segment.replay.sizes());
            args.map(|(&slot, &size)| match program.slots[slot] {
                Slot::Lane(lane) => axis.steps[lane],
                Slot::Buffer(_) if most < usize::MAX => (row * size).cast_signed(),
                Slot::None | Slot::Buffer(_) | Slot::Uniform(_) => 0,
            })
        });
        (!program.steps.is_empty()).then(|| Batch {
            steps: steps.collect(),
            most,
        })
    }

    /// Bytes from row to row of what a fold takes from a slot.
    fn pitch(nest: &Nest, slot: Slot, size: usize) -> isize {
        match slot {
            Slot::Lane(lane) => nest.axes[1].steps[lane],
            _ => (nest.row() * size).cast_signed(),
        }
    }
}

impl Worker<'_> {
    /// Does `count` rows with each step.
    ///
    /// # Safety
    /// The slots are set for the first row, where the cursor is; the batch is that of the program and these folds.
    pub(super) unsafe fn rows(
        &self,
        batch: &Batch,
        (nest, cursor): (&Nest, &Cursor),
        count: usize,
        folds: &mut [Option<FoldState>],
    ) {
        for step in &self.shared.program.steps {
            match *step {
                Step::Fold { output, from, ins } => {
                    if let Some(fold) = &mut folds[output] {
                        // SAFETY: promised by the caller; the slot holds the rows.
                        unsafe { self.fold_rows(nest, fold, (from, ins), count) };
                    }
                }
                Step::Store {
                    lane, size, from, ..
                } => {
                    let plane = Plane {
                        step: nest.step(lane),
                        pitch: nest.axes[1].steps[lane],
                        row: nest.row(),
                        rows: count,
                    };
                    let out = pointer(cursor.rows[lane]);
                    // SAFETY: promised by the caller; the slot holds the rows.
                    unsafe { scatter_rows(size, self.slots[from], out, plane) };
                }
                _ => {
                    let rows = Rows {
                        count,
                        steps: &batch.steps,
                    };
                    // SAFETY: promised by the caller.
                    unsafe { self.compiled(0, nest.row(), rows) };
                }
            }
        }
    }

    /// Folds `count` rows of a slot; `ins` is the instruction that makes them.
    ///
    /// # Safety
    /// The slot holds the rows, the output elements belong to this thread.
    unsafe fn fold_rows(
        &self,
        nest: &Nest,
        fold: &mut FoldState,
        (from, ins): (usize, usize),
        count: usize,
    ) {
        let size = fold.plan.value_dtype.size();
        let rows = kern::Rows {
            count,
            step: Batch::pitch(nest, self.shared.program.slots[from], size),
        };
        // SAFETY: promised by the caller.
        unsafe { fold.consume_rows(nest, self.slots[from], rows, nest.row()) };
        if let Some(flags) = self.shared.flags {
            note(flags, ins, fold.plan.raise(), 0);
        }
    }
}
