//! Which groups may be stages of a sweep, and what they touch.

use crate::order::any_order;
use crate::pass::Routes;
use crate::{Group, rows};
use arrayloom_ir::{AxisMask, Form, Operand, Prim, ReduceOp, SlotId};
use arrayloom_plan::{LEAF, Route};
use arrayloom_types::{Layout, Overlap, overlap};

/// A view that a stage reads or writes.
#[derive(Clone, Copy)]
pub(crate) struct Access<'a> {
    pub(crate) stage: usize,
    /// Number among the inputs or outputs.
    pub(crate) number: usize,
    pub(crate) slot: SlotId,
    pub(crate) layout: &'a Layout,
    pub(crate) writes: bool,
}

/// True for kernels that may be a stage: maps, folds that keep the rows, and folds over everything,
/// that read no table and do not depend on where they are.
pub(crate) fn is_stage(group: &Group) -> bool {
    group.shape.first().is_some_and(|&rows| rows > 1)
        && !group.ins.iter().any(|o| matches!(o, Operand::Table(..)))
        && !group.kernel.code.iter().any(|ins| ins.prim == Prim::Iota)
        && (0..group.outs.len()).all(|output| match group.kernel.outputs[output].form {
            Form::Store => rows::pitch(&group.outs[output].1).is_some(),
            Form::Reduce { op, axes } => folds_rows(group, output, op, axes),
            Form::Arg { .. } | Form::Scan { .. } | Form::Scatter { .. } => false,
        })
}

/// True when a fold goes row by row: each row to an element of its own, or all to one by a tree or in
/// any order.
fn folds_rows(group: &Group, output: usize, op: ReduceOp, axes: AxisMask) -> bool {
    let Some(fold) = &group.folds[output] else {
        return false;
    };
    let dtype = group.kernel.output_dtype(output);
    let free = any_order(op, dtype.is_float() || dtype.is_complex());
    let long = fold.order.axes.iter();
    let mut long = long.filter(|&&a| group.shape[usize::from(a)] > 1);
    if axes & 1 == 0 {
        let outermost = free || long.next_back() == Some(&0);
        return outermost && rows::pitch(&group.outs[output].1).is_some();
    }
    let by_tree = op == ReduceOp::Add && fold.order.stream > 0;
    axes == (1 << group.shape.len()) - 1 && (free || (by_tree && long.is_sorted_by(|a, b| a > b)))
}

/// Rows before its own that a stage needs: a fold over everything is cut where leaves of its tree begin.
pub(crate) fn least_warm(group: &Group) -> usize {
    let whole = |form: Form| matches!(form, Form::Reduce { axes, .. } if axes & 1 == 1);
    if group.kernel.outputs.iter().any(|o| whole(o.form)) {
        let row: usize = group.shape[1..].iter().product();
        LEAF.div_ceil(row.max(1))
    } else {
        0
    }
}

/// The views of a group; `stage` is its number.
pub(crate) fn accesses(group: &Group, stage: usize) -> impl Iterator<Item = Access<'_>> {
    let ins = group.ins.iter().enumerate();
    let ins = ins.filter_map(move |(number, operand)| match operand {
        Operand::View(slot, layout) => Some(Access {
            stage,
            number,
            slot: *slot,
            layout,
            writes: false,
        }),
        Operand::Table(slot, table) => Some(Access {
            stage,
            number,
            slot: *slot,
            layout: &table.whole,
            writes: false,
        }),
        Operand::Scalar(_) => None,
    });
    let outs = group.outs.iter().enumerate();
    ins.chain(outs.map(move |(number, (slot, layout))| Access {
        stage,
        number,
        slot: *slot,
        layout,
        writes: true,
    }))
}

/// True when the order of two accesses matters.
pub(crate) fn conflict(a: &Access<'_>, b: &Access<'_>) -> bool {
    a.slot == b.slot && (a.writes || b.writes) && overlap(a.layout, b.layout) != Overlap::None
}

/// Every view of a group, as it is.
pub(crate) fn routes(group: &Group) -> Routes {
    Routes {
        ins: vec![Route::Direct; group.ins.len()],
        outs: vec![Route::Direct; group.outs.len()],
    }
}

pub(crate) fn reads(group: &Group, slot: SlotId) -> bool {
    let is = |o: &Operand| o.slot() == Some(slot);
    group.ins.iter().any(is)
}
