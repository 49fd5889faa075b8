//! `c[:] = work` without a second pass: the block of `work` becomes the block of the array under `c`.
//!
//! A program that computes a new state in a temporary and then stores it into (a part of) the old
//! state pays a pass over memory for the store. When such a store of a dying temporary is seen, the
//! place in the program that made the temporary is remembered. The next temporary made there gets a
//! block as large as the target's and is computed right at the places of the target's view (its
//! [`Shadow`]). If the same store follows, only what lies around the view is copied, and the two blocks
//! change owners. If something else follows, nothing is lost: readers are translated, and who wants the
//! temporary's own memory gets a contiguous copy; then the place is forgotten.

use crate::engine::{lock, unknown};
use crate::run::Batch;
use crate::shadow::Shadow;
use crate::table::{Entry, Home, Table};
use crate::{Engine, EngineError};
use arrayloom_device::{Arg, Buf, Contents, Launch, Queue};
use arrayloom_fuse::Group;
use arrayloom_guard::{Block, Pages as _};
use arrayloom_ir::{Action, Kernel, Node, Operand, SlotId};
use arrayloom_types::Layout;
use std::collections::BTreeMap;

/// Values smaller than this are not worth the bookkeeping. Tests work on small arrays.
const MIN_BYTES: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };
/// How often a place may be wrong before it is left alone.
const MAX_WRONG: u32 = 2;

/// What is known of the places that make temporaries.
#[derive(Debug, Default)]
pub(crate) struct Places {
    expected: BTreeMap<u32, Shadow>,
    wrong: BTreeMap<u32, u32>,
}

/// A store of a whole temporary that dies with it into a view.
struct Store<'a> {
    from: SlotId,
    to: SlotId,
    value: &'a Layout,
    view: &'a Layout,
}

impl Places {
    /// Bytes of the block that a value made here is expected to get.
    pub(crate) fn expected_bytes(&self, site: u32) -> Option<usize> {
        self.expected.get(&site).map(|shadow| shadow.nbytes)
    }
}

impl Engine {
    /// Gives results of the group that are about to get memory a shadow, where a store is expected.
    pub(crate) fn expect_stores(&self, batch: &Batch, group: &Group) {
        for &place in &group.nodes {
            let node = &batch.list[place as usize];
            let Some(shadow) = lock(&self.places).expected.get(&node.site).cloned() else {
                continue;
            };
            for (slot, layout) in &node.outs {
                let written = group.outs.iter().any(|(out, _)| out == slot);
                if written && layout.shape == shadow.view.shape && layout.dtype == shadow.view.dtype
                {
                    self.give_shadow(*slot, layout, &shadow);
                }
            }
        }
    }

    /// Without room for the larger block the value gets its own, as ever.
    fn give_shadow(&self, slot: SlotId, layout: &Layout, shadow: &Shadow) {
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return;
        };
        let hidden = match (entry.home, self.guard()) {
            (Home::Guarded(guarded), Some(guard)) => !guard.state(guarded).is_published(),
            _ => false,
        };
        if hidden
            && entry.block.is_none()
            && !entry.zeroed
            && covers(layout, entry.nbytes)
            && let Ok(block) = self.pool().get(shadow.nbytes, false)
        {
            self.begin(address(&block).0, shadow.nbytes, Contents::Nothing);
            entry.block = Some(block);
            entry.shadow = Some(Box::new(shadow.clone()));
        }
    }

    /// Moves values out of shadows that the group's layouts cannot be translated to.
    pub(crate) fn check_shadows(&self, group: &Group) -> Result<(), EngineError> {
        let ins = group.ins.iter().filter_map(|operand| match operand {
            Operand::View(slot, layout) => Some((slot, layout)),
            Operand::Scalar(_) | Operand::Table(..) => None,
        });
        let mut table = self.table();
        // The bytes that an index moves on are those of the value by itself.
        for operand in &group.ins {
            if let Operand::Table(slot, _) = operand
                && let Some(entry) = table.get_mut(*slot)
                && entry.shadow.is_some()
            {
                self.unshadow(entry)?;
            }
        }
        for (slot, layout) in ins.chain(group.outs.iter().map(|(slot, layout)| (slot, layout))) {
            if let Some(entry) = table.get_mut(*slot)
                && entry
                    .shadow
                    .as_ref()
                    .is_some_and(|shadow| shadow.translate(layout).is_none())
            {
                self.unshadow(entry)?;
            }
        }
        Ok(())
    }

    /// Does a group that only stores a temporary by exchanging blocks, if it can. Otherwise remembers
    /// the place that made the temporary, for the next time.
    pub(crate) fn rename(&self, batch: &Batch, group: &Group) -> Result<bool, EngineError> {
        let &[place] = group.nodes.as_slice() else {
            return Ok(false);
        };
        let Some(store) = store_of(&batch.list[place as usize]) else {
            return Ok(false);
        };
        let mut table = self.table();
        if !dies(&table, &store) {
            return Ok(false);
        }
        let Some(from) = table.get_mut(store.from) else {
            return Err(unknown(store.from));
        };
        let (site, shadow) = (from.site, from.shadow.take());
        if let Some(shadow) = shadow {
            if self.exchange(&mut table, &store, &shadow)? {
                lock(&self.stats).renamed += 1;
                return Ok(true);
            }
            if let Some(from) = table.get_mut(store.from) {
                from.shadow = Some(shadow);
            }
            self.was_wrong(site);
            return Ok(false);
        }
        let nbytes = table.get(store.to).map_or(0, |to| to.nbytes);
        let mut places = lock(&self.places);
        if places
            .wrong
            .get(&site)
            .is_none_or(|&times| times < MAX_WRONG)
            && let Some(shadow) = Shadow::worthwhile(store.view, nbytes)
        {
            places.expected.insert(site, shadow);
        }
        Ok(false)
    }

    /// Copies what lies around the view and lets the two slots change blocks.
    fn exchange(
        &self,
        table: &mut Table,
        store: &Store<'_>,
        shadow: &Shadow,
    ) -> Result<bool, EngineError> {
        let target = |entry: &&mut Entry| entry.shadow.is_none() && entry.nbytes == shadow.nbytes;
        if shadow.view != *store.view {
            return Ok(false);
        }
        let Some(new) = table
            .get(store.from)
            .and_then(|e| e.block.as_ref())
            .map(address)
        else {
            return Ok(false);
        };
        let Some(old) = table
            .get_mut(store.to)
            .filter(target)
            .and_then(|e| e.block.as_ref())
            .map(address)
        else {
            return Ok(false);
        };
        for part in shadow.rest() {
            self.copy_elements([old, new], [&part, &part])?;
        }
        let block = table.get_mut(store.from).and_then(|e| e.block.take());
        let block = match table.get_mut(store.to) {
            Some(to) => std::mem::replace(&mut to.block, block),
            None => return Err(unknown(store.to)),
        };
        if let Some(from) = table.get_mut(store.from) {
            from.block = block;
        }
        Ok(true)
    }

    /// The place that made this value is not followed by the expected store.
    fn was_wrong(&self, site: u32) {
        let mut places = lock(&self.places);
        places.expected.remove(&site);
        *places.wrong.entry(site).or_default() += 1;
    }

    /// Moves a value out of its shadow into a contiguous block of its own.
    pub(crate) fn unshadow(&self, entry: &mut Entry) -> Result<(), EngineError> {
        let (Some(shadow), Some(block)) = (&entry.shadow, &entry.block) else {
            return Ok(());
        };
        let own = self.block(entry.nbytes, false)?;
        let value = Layout::contiguous(shadow.view.dtype, &shadow.view.shape);
        let ran = self.copy_elements([block, &own].map(address), [&shadow.view, &value]);
        if let Err(error) = ran {
            self.put(own);
            return Err(error);
        }
        entry.shadow = None;
        if let Some(old) = entry.block.replace(own) {
            self.put(old);
        }
        self.was_wrong(entry.site);
        Ok(())
    }
}

impl Engine {
    /// Copies the elements at one layout to those at the other one, of the same shape.
    fn copy_elements(
        &self,
        [from, to]: [Buf; 2],
        [read, written]: [&Layout; 2],
    ) -> Result<(), EngineError> {
        let view = |buf: Buf, layout: &Layout| Arg::View {
            buf,
            offset: layout.offset,
            strides: layout.strides.clone(),
        };
        let launch = Launch {
            shape: &read.shape,
            outs: &[view(to, written)],
            ins: &[view(from, read)],
            reduces: &[None],
            flags: None,
        };
        let rank = u8::try_from(read.shape.len()).unwrap_or(u8::MAX);
        let kernel = Kernel::copy(read.dtype, rank);
        self.device.run(Queue::default(), &kernel, &launch)?;
        Ok(())
    }
}

fn address(block: &Block) -> Buf {
    Buf(block.ptr().expose_provenance() as u64)
}

/// The node as a store of one whole value into a view, if it is that.
fn store_of(node: &Node) -> Option<Store<'_>> {
    let (Action::Map(op), [(to, view)], [Operand::View(from, value)], None) = (
        &node.action,
        node.outs.as_slice(),
        node.ins.as_slice(),
        &node.mask,
    ) else {
        return None;
    };
    let same = op.name == "_copy" && value.dtype == view.dtype && value.shape == view.shape;
    (same && from != to && value.len() * value.dtype.size() >= MIN_BYTES).then_some(Store {
        from: *from,
        to: *to,
        value,
        view,
    })
}

/// True when the store is the last use of its value, and the value is a whole slot.
fn dies(table: &Table, store: &Store<'_>) -> bool {
    table.get(store.from).is_some_and(|from| {
        !from.user && from.reads == 1 && from.writes == 0 && covers(store.value, from.nbytes)
    })
}

/// True when the layout is all of a slot of `nbytes`, in order.
fn covers(layout: &Layout, nbytes: usize) -> bool {
    layout.offset == 0 && layout.is_contiguous() && layout.len() * layout.dtype.size() == nbytes
}

#[cfg(test)]
impl Engine {
    /// As if no store had been seen.
    pub(crate) fn forget_places(&self) {
        *lock(&self.places) = Places::default();
    }

    /// How many places have been wrong too often.
    pub(crate) fn places_left_alone(&self) -> usize {
        let wrong = &lock(&self.places).wrong;
        wrong.values().filter(|&&times| times >= MAX_WRONG).count()
    }
}
