//! In which order an item folds.

use crate::Options;
use crate::item::Item;
use arrayloom_ir::{Action, Operand, ReduceOp};
use arrayloom_plan::{ReduceFacts, ReduceOrder, SumRules, reduce_order};

/// The order of a fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) order: ReduceOrder,
    /// True when the order does not show in the result.
    pub(crate) free: bool,
}

/// The order of `item`, if it is a fold of values in memory.
pub(crate) fn of(item: &Item<'_>, options: &Options) -> Option<Order> {
    let Action::Reduce { op, .. } = item.node.action else {
        return None;
    };
    let dtype = item.node.sig.ins.first().copied()?;
    let free = any_order(op, dtype.is_float() || dtype.is_complex());
    let order = match item.ins.first() {
        Some(Operand::View(_, layout)) if !free => {
            let steps = layout.strides.iter().chain([&layout.offset]);
            let aligned = |s: &isize| s.unsigned_abs().is_multiple_of(layout.dtype.align());
            reduce_order(&ReduceFacts {
                shape: &item.shape,
                in_strides: &layout.strides,
                out_strides: &item.outs[0].1.strides,
                reduced: item.axes,
                cast: layout.dtype != dtype || !steps.into_iter().all(aligned),
                bufsize: options.bufsize,
                rules: SumRules::default(),
            })
        }
        _ => c_order(item),
    };
    Some(Order { order, free })
}

/// True when the order does not show in the result.
pub(crate) fn any_order(op: ReduceOp, rounds: bool) -> bool {
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
