//! In which order an item folds, and whether other work may share its pass.

use crate::Options;
use crate::item::Item;
use arrayloom_ir::{Action, Operand, ReduceOp};
use arrayloom_plan::{ReduceFacts, ReduceOrder, SumRules, reduce_order};

/// The order of a fold, and whether it goes along the domain in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) order: ReduceOrder,
    /// True when a device may do it in the pass that makes the values.
    pub(crate) shares: bool,
}

/// The order of `item`, if it is a fold of values in memory.
pub(crate) fn of(item: &Item<'_>, options: &Options) -> Option<Order> {
    let Action::Reduce { op, .. } = item.node.action else {
        return None;
    };
    let rank = item.shape.len();
    let computed = item.node.sig.ins.first().copied();
    let order = match (item.ins.first(), computed) {
        (Some(Operand::View(_, layout)), Some(dtype))
            if !any_order(op, dtype.is_float() || dtype.is_complex()) =>
        {
            let aligned = layout
                .strides
                .iter()
                .chain([&layout.offset])
                .all(|s| s.unsigned_abs().is_multiple_of(layout.dtype.align()));
            reduce_order(&ReduceFacts {
                shape: &item.shape,
                in_strides: &layout.strides,
                out_strides: &item.outs[0].1.strides,
                reduced: item.axes,
                cast: layout.dtype != dtype || !aligned,
                bufsize: options.bufsize,
                rules: SumRules::default(),
            })
        }
        _ => c_order(item),
    };
    let shares = in_c_order(&order, rank) && one_pass(&order, item.axes, rank);
    Some(Order { order, shares })
}

/// True when the order does not show in the result.
fn any_order(op: ReduceOp, rounds: bool) -> bool {
    match op {
        ReduceOp::Add | ReduceOp::Mul => !rounds,
        _ => true,
    }
}

/// Along the domain as C does, in runs over the last folded axes.
fn c_order(item: &Item<'_>) -> ReduceOrder {
    let rank = item.shape.len();
    let run = (0..rank)
        .rev()
        .take_while(|a| item.axes >> a & 1 == 1)
        .count();
    let length: usize = item.shape[rank - run..].iter().product();
    ReduceOrder {
        axes: (0..rank)
            .rev()
            .filter_map(|a| u8::try_from(a).ok())
            .collect(),
        stream: u8::try_from(run).unwrap_or(0),
        piece: length.max(1),
    }
}

fn in_c_order(order: &ReduceOrder, rank: usize) -> bool {
    order.axes.len() == rank
        && order
            .axes
            .iter()
            .rev()
            .enumerate()
            .all(|(i, &axis)| usize::from(axis) == i)
}

/// True when the runs are exactly the last axes, or there are none and the first axes are folded.
fn one_pass(order: &ReduceOrder, axes: u32, rank: usize) -> bool {
    let stream = usize::from(order.stream);
    let last = (0..rank)
        .filter(|a| *a >= rank - stream)
        .fold(0, |m, a| m | 1 << a);
    let folded = axes.count_ones();
    if stream > 0 {
        axes == last
    } else {
        axes == (1u32 << folded) - 1 && folded <= 1
    }
}
