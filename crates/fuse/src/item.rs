//! A node in the form that grouping works on: extent-one axes gone, accesses listed.

use crate::Options;
use crate::order::{self, Order};
use arrayloom_ir::{Action, AxisMask, Node, Operand, SlotId, Table};
use arrayloom_types::{Layout, Shape, Strides};
use smallvec::SmallVec;

/// A node, normalised.
pub(crate) struct Item<'a> {
    pub(crate) node: &'a Node,
    /// Its place in the recorded list.
    pub(crate) place: u32,
    /// The domain without axes of extent one.
    pub(crate) shape: Shape,
    pub(crate) ins: SmallVec<[Operand; 3]>,
    pub(crate) mask: Option<Operand>,
    /// Results in the rank of the domain; steps zero on folded axes.
    pub(crate) outs: SmallVec<[(SlotId, Layout); 1]>,
    /// The folded axes, in the domain without axes of extent one.
    pub(crate) axes: AxisMask,
    /// The axis of a scan, likewise.
    pub(crate) scan_axis: u8,
    /// The order of a fold.
    pub(crate) order: Option<Order>,
}

/// A view that an item reads.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Read<'a> {
    pub(crate) slot: SlotId,
    pub(crate) layout: &'a Layout,
    /// Each point reads its own element; a table is read anywhere.
    pub(crate) pointwise: bool,
}

impl<'a> Read<'a> {
    fn new(slot: SlotId, layout: &'a Layout, pointwise: bool) -> Read<'a> {
        Read {
            slot,
            layout,
            pointwise,
        }
    }
}

impl<'a> Item<'a> {
    pub(crate) fn new(node: &'a Node, place: u32, options: &Options) -> Item<'a> {
        let domain = node.domain();
        let keep = kept_axes(node, domain);
        let renumber = |mask: AxisMask| {
            (0u32..)
                .zip(&keep)
                .fold(0, |all, (to, &from)| all | (mask >> from & 1) << to)
        };
        let axes = match node.action {
            Action::Reduce { axes, .. } | Action::Arg { axes, .. } => renumber(axes),
            Action::Map(_) | Action::Gather | Action::Scan { .. } => 0,
        };
        let scan_axis = match node.action {
            Action::Scan { axis, .. } => renumber(1 << axis).trailing_zeros(),
            _ => 0,
        };
        let operand = |operand: &Operand| match operand {
            Operand::View(slot, layout) => Operand::View(*slot, squeeze(layout, &keep)),
            Operand::Scalar(scalar) => Operand::Scalar(*scalar),
            Operand::Table(slot, table) => {
                let walk = squeeze(&table.walk, &keep);
                let whole = table.whole.clone();
                Operand::Table(*slot, Box::new(Table { walk, whole }))
            }
        };
        let mut item = Item {
            node,
            place,
            shape: keep.iter().map(|&a| domain[a]).collect(),
            ins: node.ins.iter().map(operand).collect(),
            mask: node.mask.as_ref().map(operand),
            outs: node
                .outs
                .iter()
                .map(|(slot, layout)| (*slot, squeeze(layout, &keep)))
                .collect(),
            axes,
            scan_axis: u8::try_from(scan_axis).unwrap_or(0),
            order: None,
        };
        for (_, layout) in &mut item.outs {
            for (axis, stride) in layout.strides.iter_mut().enumerate() {
                if axes >> axis & 1 == 1 {
                    *stride = 0;
                }
            }
        }
        item.order = order::of(&item, options);
        item
    }

    /// True when each result belongs to one point of the domain.
    pub(crate) fn is_map(&self) -> bool {
        self.node.action.is_pointwise()
    }

    /// The views that are read, a masked result's old values among them.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Read<'_>> {
        let views = self.ins.iter().chain(&self.mask).filter_map(|o| match o {
            Operand::View(slot, layout) => Some(Read::new(*slot, layout, true)),
            Operand::Table(slot, table) => Some(Read::new(*slot, &table.whole, false)),
            Operand::Scalar(_) => None,
        });
        let old = if self.mask.is_some() {
            self.outs.as_slice()
        } else {
            &[]
        };
        views.chain(
            old.iter()
                .map(|(slot, layout)| Read::new(*slot, layout, true)),
        )
    }
}

/// The axes that stay. At least one does if there was one, and those that an action names.
fn kept_axes(node: &Node, domain: &[usize]) -> SmallVec<[usize; 4]> {
    let long = |axis: &usize| domain[*axis] != 1;
    let mut keep: SmallVec<[usize; 4]> = (0..domain.len()).filter(long).collect();
    match node.action {
        Action::Map(_) | Action::Gather => {}
        Action::Reduce { axes, .. } | Action::Arg { axes, .. } => {
            let named = |axis: &usize| axes >> axis & 1 == 1;
            if !keep.iter().any(named) {
                keep = (0..domain.len()).filter(|a| long(a) || named(a)).collect();
            }
        }
        Action::Scan { axis, .. } => {
            keep = (0..domain.len())
                .filter(|a| long(a) || *a == usize::from(axis))
                .collect();
        }
    }
    if keep.is_empty() && !domain.is_empty() {
        keep.push(0);
    }
    keep
}

fn squeeze(layout: &Layout, keep: &[usize]) -> Layout {
    if keep.len() == layout.shape.len() {
        return layout.clone();
    }
    Layout {
        dtype: layout.dtype,
        offset: layout.offset,
        shape: keep.iter().map(|&a| layout.shape[a]).collect::<Shape>(),
        strides: keep.iter().map(|&a| layout.strides[a]).collect::<Strides>(),
    }
}
