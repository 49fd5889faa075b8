//! Drops nodes whose results nobody sees: not the program, not a later node that is kept.

use crate::Slots;
use arrayloom_ir::{Node, SlotId};
use arrayloom_types::Layout;
use std::collections::BTreeMap;

/// The places of the nodes whose results nobody sees, rising.
pub fn dead(nodes: &[Node], slots: &dyn Slots) -> Vec<u32> {
    sweep(nodes, slots).1
}

/// The places of the nodes to keep and of those to drop, both rising.
pub(crate) fn sweep(nodes: &[Node], slots: &dyn Slots) -> (Vec<u32>, Vec<u32>) {
    // Whether somebody after this point looks at the slot; absent: as it is after the list.
    let mut seen: BTreeMap<SlotId, bool> = BTreeMap::new();
    let (mut kept, mut dead) = (Vec::with_capacity(nodes.len()), Vec::new());
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    for (place, node) in (0..count).zip(nodes).rev() {
        let wanted = |(slot, layout): &(SlotId, Layout)| {
            !layout.is_empty()
                && seen
                    .get(slot)
                    .copied()
                    .unwrap_or_else(|| slots.is_live(*slot))
        };
        if !node.outs.iter().any(wanted) {
            dead.push(place);
            continue;
        }
        kept.push(place);
        for (slot, layout) in &node.outs {
            if node.mask.is_none() && covers(layout, slots.nbytes(*slot)) {
                seen.insert(*slot, false);
            }
        }
        if node.mask.is_some() {
            seen.extend(node.outs.iter().map(|(slot, _)| (*slot, true)));
        }
        for operand in node.ins.iter().chain(&node.mask) {
            if let Some(slot) = operand.slot() {
                seen.insert(slot, true);
            }
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
