//! Which items share a kernel.
//!
//! An item may join a group when every dependency between them is between the same points of one
//! domain, and it may pass over a later group only when it touches nothing that the group touches in
//! a conflicting way. So the order of all conflicting accesses stays that of the program.

use crate::item::{Item, Read};
use crate::why::Why;
use crate::{Options, Slots};
use arrayloom_ir::{Action, AxisMask, SlotId};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{Layout, Overlap, overlap};
use std::collections::BTreeMap;

/// A group in the making.
pub(crate) struct Draft<'a> {
    pub(crate) items: Vec<usize>,
    shape: &'a [usize],
    reads: Vec<Read<'a>>,
    writes: Vec<Write<'a>>,
    /// Bit `slot % 64` is set for each slot touched.
    touched: u64,
    /// Views of memory so far, as far as can be told before stores are dropped.
    views: usize,
    folds: Folds<'a>,
    /// Why its first item did not join an earlier group.
    pub(crate) why: Option<Why>,
}

/// The folds of a group. One pass folds over the same axes, in one order where the order shows, or
/// makes one scan.
#[derive(Clone, Copy)]
enum Folds<'a> {
    None,
    Over(AxisMask, Option<&'a ReduceOrder>),
    Scan,
}

impl<'a> Folds<'a> {
    fn takes(self, item: &Item<'_>) -> bool {
        match (self, item.node.action) {
            (_, Action::Map(_) | Action::Gather) | (Folds::None, _) => true,
            (Folds::Over(axes, order), Action::Reduce { .. } | Action::Arg { .. }) => {
                let wanted = item.order.as_ref().filter(|o| !o.free).map(|o| &o.order);
                axes == item.axes && (order.is_none() || wanted.is_none() || order == wanted)
            }
            _ => false,
        }
    }

    fn with(self, item: &'a Item<'_>) -> Folds<'a> {
        let wanted = item.order.as_ref().filter(|o| !o.free).map(|o| &o.order);
        match (self, item.node.action) {
            (known, Action::Map(_) | Action::Gather) => known,
            (_, Action::Scan { .. }) => Folds::Scan,
            (Folds::Over(axes, order), _) => Folds::Over(axes, order.or(wanted)),
            _ => Folds::Over(item.axes, wanted),
        }
    }
}

#[derive(Clone, Copy)]
struct Write<'a> {
    slot: SlotId,
    layout: &'a Layout,
    /// Each element belongs to one point.
    pointwise: bool,
}

/// How an item stands to a group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Nothing in common.
    Apart,
    /// Both read the same slot.
    Shares,
    /// A dependency between the same points.
    Follows,
    /// Any other dependency.
    Blocked,
}

/// Groups in an order that may run.
pub(crate) fn partition<'a>(
    items: &'a [Item<'a>],
    slots: &dyn Slots,
    options: &Options,
) -> Vec<Draft<'a>> {
    let mut drafts: Vec<Draft<'a>> = Vec::new();
    for (number, item) in items.iter().enumerate() {
        let place = if options.fuse {
            place_for(item, &drafts, slots, options)
        } else {
            Err(Some(Why::Off))
        };
        let place = place.unwrap_or_else(|why| {
            drafts.push(Draft::new(item, why));
            drafts.len() - 1
        });
        drafts[place].add(number, item, slots);
    }
    drafts
}

/// The groups that read each slot, in order, and what they read.
pub(crate) fn readers<'a>(
    items: &'a [Item<'a>],
    drafts: &[Draft<'_>],
) -> BTreeMap<SlotId, Vec<(usize, &'a Layout)>> {
    let mut readers: BTreeMap<SlotId, Vec<(usize, &Layout)>> = BTreeMap::new();
    for (place, draft) in drafts.iter().enumerate() {
        for &number in &draft.items {
            for read in items[number].reads() {
                readers
                    .entry(read.slot)
                    .or_default()
                    .push((place, read.layout));
            }
        }
    }
    readers
}

/// The group that the item joins, or why it needs its own.
fn place_for(
    item: &Item<'_>,
    drafts: &[Draft<'_>],
    slots: &dyn Slots,
    options: &Options,
) -> Result<usize, Option<Why>> {
    let (mut spare, mut why) = (None, None);
    for (place, draft) in drafts.iter().enumerate().rev() {
        let refusal = draft.refusal(item, slots, options);
        match draft.relation(item) {
            Relation::Follows | Relation::Shares if refusal.is_none() => return Ok(place),
            Relation::Follows => {
                why = why.or(refusal);
                break;
            }
            Relation::Blocked => {
                why = why.or(Some(draft.block(item)));
                break;
            }
            Relation::Apart if refusal.is_none() && item.is_map() && draft.is_plain() => {
                spare = spare.or(Some(place));
            }
            Relation::Shares => why = why.or(refusal),
            Relation::Apart => {}
        }
    }
    spare.ok_or(why)
}

fn bit(slot: SlotId) -> u64 {
    1 << (slot.0 % 64)
}

impl<'a> Draft<'a> {
    fn new(item: &'a Item<'a>, why: Option<Why>) -> Draft<'a> {
        Draft {
            items: Vec::new(),
            shape: &item.shape,
            reads: Vec::new(),
            writes: Vec::new(),
            touched: 0,
            views: 0,
            folds: Folds::None,
            why,
        }
    }

    fn add(&mut self, number: usize, item: &'a Item<'a>, slots: &dyn Slots) {
        self.views += self.new_views(item, slots);
        self.items.push(number);
        for read in item.reads() {
            self.touched |= bit(read.slot);
            if !self.reads.contains(&read) {
                self.reads.push(read);
            }
        }
        for (slot, layout) in &item.outs {
            self.touched |= bit(*slot);
            self.writes.push(Write {
                slot: *slot,
                layout,
                pointwise: item.is_map(),
            });
        }
        self.folds = self.folds.with(item);
    }

    /// Why the item is not welcome, dependencies aside.
    fn refusal(&self, item: &Item<'_>, slots: &dyn Slots, options: &Options) -> Option<Why> {
        if *self.shape != *item.shape {
            return Some(Why::Shape);
        }
        if !self.folds.takes(item) {
            return Some(Why::Folds);
        }
        let full = self.items.len() >= options.max_nodes
            || self.views + self.new_views(item, slots) > options.max_views;
        full.then_some(Why::Full)
    }

    /// Why a dependency on this group bars the item from it.
    fn block(&self, item: &Item<'_>) -> Why {
        let whole = |read: Read<'_>| {
            let writes = self.writes.iter().filter(|w| w.slot == read.slot);
            !read.pointwise || writes.clone().any(|w| !w.pointwise)
        };
        if item.reads().any(whole) {
            Why::Whole
        } else {
            Why::Neighbours
        }
    }

    /// True without folds, whose order decides how memory is walked.
    fn is_plain(&self) -> bool {
        matches!(self.folds, Folds::None)
    }

    /// Views of memory that the item would add.
    fn new_views(&self, item: &Item<'_>, slots: &dyn Slots) -> usize {
        let known = |slot: SlotId, layout: &Layout| {
            let same = |read: &Read<'_>| read.slot == slot && read.layout == layout;
            self.reads.iter().any(same)
                || self
                    .writes
                    .iter()
                    .any(|w| w.slot == slot && w.layout == layout)
        };
        let read = item.reads().filter(|read| !known(read.slot, read.layout));
        let written = item
            .outs
            .iter()
            .filter(|(slot, layout)| slots.is_live(*slot) && !known(*slot, layout));
        read.count() + written.count()
    }

    fn relation(&self, item: &Item<'_>) -> Relation {
        let slots = item.outs.iter().fold(0, |all, (slot, _)| all | bit(*slot));
        let slots = item.reads().fold(slots, |all, read| all | bit(read.slot));
        if slots & self.touched == 0 {
            return Relation::Apart;
        }
        let mut relation = Relation::Apart;
        for read in item.reads() {
            for write in self.writes.iter().filter(|w| w.slot == read.slot) {
                let both = write.pointwise && read.pointwise;
                let same = both && write.layout.dtype == read.layout.dtype;
                match depends(write.layout, read.layout, same) {
                    Relation::Blocked => return Relation::Blocked,
                    Relation::Follows => relation = Relation::Follows,
                    _ => {}
                }
            }
            if relation == Relation::Apart && self.reads.iter().any(|other| other.slot == read.slot)
            {
                relation = Relation::Shares;
            }
        }
        for (slot, layout) in &item.outs {
            let reads = self.reads.iter().filter(|other| other.slot == *slot);
            let reads =
                reads.map(|read| depends(read.layout, layout, read.pointwise && item.is_map()));
            let writes = self.writes.iter().filter(|w| w.slot == *slot).map(|w| {
                let same = w.pointwise && item.is_map() && w.layout.dtype == layout.dtype;
                depends(w.layout, layout, same)
            });
            for found in reads.chain(writes) {
                match found {
                    Relation::Blocked => return Relation::Blocked,
                    Relation::Follows => relation = Relation::Follows,
                    _ => {}
                }
            }
        }
        relation
    }
}

fn depends(earlier: &Layout, later: &Layout, same_points: bool) -> Relation {
    match overlap(earlier, later) {
        Overlap::None => Relation::Apart,
        Overlap::Same if same_points => Relation::Follows,
        Overlap::Same | Overlap::Partial => Relation::Blocked,
    }
}
