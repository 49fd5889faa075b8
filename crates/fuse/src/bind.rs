//! Names the views of a group: reads become inputs or earlier values, writes become outputs or nothing.

use crate::build::{self, Arg, Step, Structure};
use crate::cache::Cache;
use crate::item::Item;
use crate::partition::Draft;
use crate::{Fold, Group};
use arrayloom_ir::{Action, Operand, SlotId};
use arrayloom_types::{DType, Layout, Overlap, overlap};
use smallvec::SmallVec;

/// A view whose newest value the group has computed.
struct Written<'a> {
    slot: SlotId,
    layout: &'a Layout,
    step: u32,
    result: u32,
}

/// Inputs and computed views so far.
#[derive(Default)]
struct Names<'a> {
    inputs: Vec<Operand>,
    written: Vec<Written<'a>>,
}

/// The group of a draft. A result in a view that is not `needed` afterwards gets no memory.
pub(crate) fn bind(
    items: &[Item<'_>],
    draft: &Draft<'_>,
    needed: &dyn Fn(SlotId, &Layout) -> bool,
    cache: &mut Cache,
) -> Group {
    let members: Vec<&Item<'_>> = draft.items.iter().map(|&i| &items[i]).collect();
    let shape = members[0].shape.clone();
    let mut names = Names::default();
    let mut steps = Vec::with_capacity(members.len());
    for (number, item) in (0u32..).zip(&members) {
        steps.push(names.step(item));
        names.write(number, item);
    }
    let (mut outs, mut folds, mut stored) = (Vec::new(), Vec::new(), Vec::new());
    let results = names.written.len();
    for value in names
        .written
        .into_iter()
        .filter(|w| needed(w.slot, w.layout))
    {
        stored.push((value.step, value.result));
        outs.push((value.slot, value.layout.clone()));
        folds.push(fold_of(members[value.step as usize]));
    }
    let contracted = results - outs.len();
    let built = cache.get(Structure {
        rank: u8::try_from(shape.len()).unwrap_or(u8::MAX),
        inputs: names.inputs.iter().map(dtype_of).collect(),
        steps,
        stored,
    });
    let inputs = &names.inputs;
    Group {
        ins: built
            .inputs
            .iter()
            .map(|&i| inputs[i as usize].clone())
            .collect(),
        kernel: built.kernel,
        shape,
        outs,
        folds,
        nodes: members.iter().map(|m| m.place).collect(),
        origin: built.origin,
        shared: built.shared,
        contracted,
        why: draft.why,
    }
}

impl<'a> Names<'a> {
    fn step(&mut self, item: &Item<'_>) -> Step {
        let args: SmallVec<[Arg; 3]> = item.ins.iter().map(|o| self.operand(o)).collect();
        let mask = item.mask.as_ref().map(|o| self.operand(o));
        let masked = if mask.is_some() {
            item.outs.as_slice()
        } else {
            &[]
        };
        let old = masked
            .iter()
            .map(|(slot, layout)| self.view(*slot, layout))
            .collect();
        build::step(item, args, mask, old)
    }

    fn operand(&mut self, operand: &Operand) -> Arg {
        match operand {
            Operand::View(slot, layout) => self.view(*slot, layout),
            Operand::Scalar(_) | Operand::Table(..) => self.input(operand),
        }
    }

    fn view(&mut self, slot: SlotId, layout: &Layout) -> Arg {
        let same = |w: &&Written<'_>| w.slot == slot && overlap(w.layout, layout) == Overlap::Same;
        match self.written.iter().find(same) {
            Some(w) => Arg::Result(w.step, w.result),
            None => self.input(&Operand::View(slot, layout.clone())),
        }
    }

    fn input(&mut self, operand: &Operand) -> Arg {
        let known = self.inputs.iter().position(|i| i == operand);
        let place = known.unwrap_or_else(|| {
            self.inputs.push(operand.clone());
            self.inputs.len() - 1
        });
        Arg::Input(u32::try_from(place).unwrap_or(u32::MAX))
    }

    fn write(&mut self, step: u32, item: &'a Item<'_>) {
        for (result, (slot, layout)) in (0u32..).zip(&item.outs) {
            let new = Written {
                slot: *slot,
                layout,
                step,
                result,
            };
            let same = |w: &&mut Written<'_>| {
                w.slot == *slot && overlap(w.layout, layout) == Overlap::Same
            };
            match self.written.iter_mut().find(same) {
                Some(known) => *known = new,
                None => self.written.push(new),
            }
        }
    }
}

fn dtype_of(operand: &Operand) -> DType {
    match operand {
        Operand::View(_, layout) => layout.dtype,
        Operand::Scalar(scalar) => scalar.dtype,
        Operand::Table(_, table) => table.walk.dtype,
    }
}

fn fold_of(item: &Item<'_>) -> Option<Fold> {
    let Action::Reduce { initial, .. } = item.node.action else {
        return None;
    };
    item.order.as_ref().map(|order| Fold {
        order: order.order.clone(),
        initial,
    })
}
