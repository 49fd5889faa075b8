//! Drops nodes whose results nobody sees: not the program, not a later node that is kept.

use crate::Slots;
use arrayloom_ir::{Node, Operand, SlotId};
use arrayloom_types::{Layout, Overlap, overlap};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Views of one slot that are looked at one by one; more count as all of it.
const MAX_VIEWS: usize = 16;

/// What somebody after a point of the list looks at in a slot.
enum Seen<'a> {
    All,
    Views(SmallVec<[&'a Layout; 4]>),
}

impl<'a> Seen<'a> {
    fn at_end(live: bool) -> Seen<'a> {
        if live {
            Seen::All
        } else {
            Seen::Views(SmallVec::new())
        }
    }

    fn add(&mut self, view: &'a Layout) {
        match self {
            Seen::Views(views) if views.len() < MAX_VIEWS => views.push(view),
            _ => *self = Seen::All,
        }
    }

    fn meets(&self, view: &Layout) -> bool {
        match self {
            Seen::All => true,
            Seen::Views(views) => views.iter().any(|v| overlap(v, view) != Overlap::None),
        }
    }
}

/// The places of the nodes whose results nobody sees, rising.
pub fn dead(nodes: &[Node], slots: &dyn Slots) -> Vec<u32> {
    sweep(nodes, slots).1
}

/// The places of the nodes to keep and of those to drop, both rising.
pub(crate) fn sweep(nodes: &[Node], slots: &dyn Slots) -> (Vec<u32>, Vec<u32>) {
    // What somebody after this point looks at; absent: as it is after the list.
    let mut seen: BTreeMap<SlotId, Seen<'_>> = BTreeMap::new();
    let at_end = |slot: SlotId| Seen::at_end(slots.is_live(slot));
    let (mut kept, mut dead) = (Vec::with_capacity(nodes.len()), Vec::new());
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    for (place, node) in (0..count).zip(nodes).rev() {
        let wanted = |(slot, layout): &(SlotId, Layout)| {
            let known = seen.get(slot).map(|seen| seen.meets(layout));
            !layout.is_empty() && known.unwrap_or_else(|| slots.is_live(*slot))
        };
        if !node.outs.iter().any(wanted) {
            dead.push(place);
            continue;
        }
        kept.push(place);
        for (slot, layout) in &node.outs {
            if node.mask.is_none() && covers(layout, slots.nbytes(*slot)) {
                seen.insert(*slot, Seen::at_end(false));
            }
        }
        let operands = node.ins.iter().chain(&node.mask);
        let read = operands.filter_map(|operand| match operand {
            Operand::View(slot, layout) => Some((*slot, layout)),
            Operand::Table(slot, table) => Some((*slot, &table.whole)),
            Operand::Scalar(_) => None,
        });
        let masked = node.outs.iter().filter(|_| node.mask.is_some());
        for (slot, layout) in read.chain(masked.map(|(slot, layout)| (*slot, layout))) {
            seen.entry(slot).or_insert_with(|| at_end(slot)).add(layout);
        }
    }
    kept.reverse();
    dead.reverse();
    (kept, dead)
}

/// True when the view is every byte of a slot of `nbytes`, each once.
pub fn covers(layout: &Layout, nbytes: usize) -> bool {
    let size = layout.dtype.size();
    if layout.is_empty() || layout.len() * size != nbytes || layout.byte_range().0 != 0 {
        return false;
    }
    if layout.is_contiguous() {
        return true;
    }
    let mut axes: Vec<(usize, usize)> = layout
        .shape
        .iter()
        .zip(&layout.strides)
        .filter(|&(&n, _)| n != 1)
        .map(|(&n, &s)| (s.unsigned_abs(), n))
        .collect();
    axes.sort_unstable();
    let mut step = size;
    axes.iter().all(|&(s, n)| {
        let fits = s == step;
        step *= n;
        fits
    })
}
