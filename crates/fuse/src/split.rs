//! Takes nodes apart that write what they read at other points, so that they act as if their operands
//! had been copied first, and nodes whose fold has another dtype than its place.

use arrayloom_ir::{Action, LoopSig, Node, Operand, SlotId, ops};
use arrayloom_types::{DType, Layout, Overlap, overlap};
use smallvec::{SmallVec, smallvec};

/// The nodes that together do what `node` does, in order. `temporary` gives a slot of that many bytes.
pub fn split(node: Node, temporary: &mut dyn FnMut(usize) -> SlotId) -> SmallVec<[Node; 1]> {
    let moved: SmallVec<[bool; 2]> = (0..node.outs.len()).map(|i| must_move(&node, i)).collect();
    if !moved.contains(&true) {
        return smallvec![node];
    }
    let Some(copy) = ops::find("_copy") else {
        debug_assert!(false, "the op table has a copy");
        return smallvec![node];
    };
    let (mut before, mut after): (SmallVec<[Node; 1]>, SmallVec<[Node; 1]>) = Default::default();
    let mut node = node;
    for (number, _) in moved.iter().enumerate().filter(|(_, moved)| **moved) {
        let (slot, layout) = node.outs[number].clone();
        let dtype = match node.action {
            Action::Map(_) | Action::Gather => layout.dtype,
            Action::Arg { .. } => DType::I64,
            Action::Reduce { .. } | Action::Scan { .. } => node.sig.outs[number],
        };
        let place = Layout::contiguous(dtype, &layout.shape);
        let held = (temporary(place.len() * dtype.size()), place);
        let copying = |from: &(SlotId, Layout), to: (SlotId, Layout)| Node {
            action: Action::Map(copy),
            sig: LoopSig {
                ins: smallvec![from.1.dtype],
                outs: smallvec![from.1.dtype],
            },
            outs: smallvec![to],
            ins: smallvec![Operand::View(from.0, from.1.clone())],
            mask: None,
            site: node.site,
            told: false,
            part: false,
        };
        if node.mask.is_some() {
            before.push(copying(&(slot, layout.clone()), held.clone()));
        }
        after.push(copying(&held, (slot, layout)));
        node.outs[number] = held;
    }
    before.push(node);
    before.extend(after);
    before
}

/// True when result `number` may not be written straight to its place.
fn must_move(node: &Node, number: usize) -> bool {
    let (slot, layout) = &node.outs[number];
    let folds = !node.action.is_pointwise();
    let computed = match node.action {
        Action::Arg { .. } => Some(DType::I64),
        _ => node.sig.outs.get(number).copied(),
    };
    if folds && computed.is_some_and(|dtype| dtype != layout.dtype) {
        return true;
    }
    let clashes = |other: &Layout| match overlap(layout, other) {
        Overlap::None => false,
        Overlap::Same => folds,
        Overlap::Partial => true,
    };
    let reads = node
        .ins
        .iter()
        .chain(&node.mask)
        .any(|operand| match operand {
            Operand::View(other, view) => other == slot && clashes(view),
            Operand::Table(other, table) => {
                other == slot && overlap(layout, &table.whole) != Overlap::None
            }
            Operand::Scalar(_) => false,
        });
    let writes = node.outs[..number]
        .iter()
        .any(|(other, view)| other == slot && overlap(layout, view) != Overlap::None);
    reads || writes
}
