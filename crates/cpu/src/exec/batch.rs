//! Programs that do several rows with each of their steps.
//!
//! Where rows are not longer than a tile, one call of a compiled function does many of them. If rows are
//! folded into one row of results, its values go to as many rows of a buffer, and one call folds these.

#![expect(
    unsafe_code,
    reason = "slots point to buffers and memory of the launch"
)]

use super::{Shared, Worker};
use crate::Isa;
use crate::fold::FoldState;
use crate::jit::Rows;
use crate::kern;
use crate::nest::{Class, Nest};
use crate::program::Slot;
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
        if shared.span || row > program.tile || program.segments.len() > 1 {
            return None;
        }
        let mut most = usize::MAX;
        for step in &program.steps {
            match *step {
                Step::Compiled { .. } if shared.isa == Isa::Avx512 => {}
                Step::Fold { output, from, .. } => {
                    let fold = folds.get(output)?.as_ref()?;
                    if axis.class != Class::Folded || !fold.takes_rows(row) {
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
    /// The slots are set for the first row; the batch is that of the program and these folds.
    pub(super) unsafe fn rows(
        &self,
        batch: &Batch,
        nest: &Nest,
        count: usize,
        folds: &mut [Option<FoldState>],
    ) {
        let program = self.shared.program;
        for step in &program.steps {
            let Step::Fold { output, from, ins } = *step else {
                let rows = Rows {
                    count,
                    steps: &batch.steps,
                };
                // SAFETY: promised by the caller.
                unsafe { self.compiled(0, nest.row(), rows) };
                continue;
            };
            let Some(fold) = &mut folds[output] else {
                continue;
            };
            let size = fold.plan.value_dtype.size();
            let rows = kern::Rows {
                count,
                step: Batch::pitch(nest, program.slots[from], size),
            };
            // SAFETY: the slot holds the rows, the output elements belong to this thread.
            unsafe { fold.consume_rows(self.slots[from], rows, nest.row()) };
            if let Some(flags) = self.shared.flags {
                note(flags, ins, fold.plan.raise(), 0);
            }
        }
    }
}
