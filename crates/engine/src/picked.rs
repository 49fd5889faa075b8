//! Elements picked by truth values, kept as wholes until somebody wants them.
//!
//! `x[mask] = f(x[mask])` is made of three steps: pick, compute, put back. The caller records `f` on all places instead
//! and puts the result back where the mask is true, which is one pass over memory and no step at all that moves
//! elements. An array of picked elements is then a slot without a recorded operation: it names the *whole* whose
//! elements at the true places are its own, and gets memory only if somebody looks at it.
//!
//! As long as nothing was done to them, the elements also lie where they were picked *from*. Mask and origin count as
//! read by a recorded operation: they do not change before the elements have been taken.

use crate::table::{Leftover, Table};
use crate::{Engine, EngineError, NewSlot};
use arrayloom_guard::Block;
use arrayloom_ir::{Node, SlotId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// Where one element after the other lies: a slot and the bytes before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The slot.
    pub slot: SlotId,
    /// Bytes before the first element.
    pub offset: usize,
}

/// Elements that a mask picks.
#[derive(Clone, Copy, Debug)]
pub struct Picked {
    /// Elements at all places.
    pub whole: Row,
    /// Where the elements come from, if nothing was done to them and they lie there one after the other.
    pub from: Option<Row>,
    /// Nothing was done to them.
    pub unchanged: bool,
    /// The truth values, one for each place.
    pub mask: Row,
    /// The places.
    pub places: usize,
    /// The true ones.
    pub count: usize,
    /// Bytes of an element.
    pub size: usize,
    /// The line of the program.
    pub site: u32,
    /// Takes the elements.
    pub take: fn(&Taking),
}

/// Addresses for taking elements: of all values, of the mask, and of room for the true ones.
#[derive(Clone, Copy, Debug)]
pub struct Taking {
    /// Of the elements at all places.
    pub values: usize,
    /// Of the truth values.
    pub mask: usize,
    /// Of memory for as many elements as are true.
    pub out: usize,
    /// The places.
    pub places: usize,
    /// The true ones.
    pub count: usize,
    /// Bytes of an element.
    pub size: usize,
}

/// What the table knows of picked elements.
#[derive(Default)]
pub(crate) struct Picks {
    by_slot: BTreeMap<SlotId, Picked>,
    /// Slots whose whole was never computed, because the list ran while the elements still lay at their origin.
    lost: BTreeSet<SlotId>,
    /// How often the elements of a line were taken since the last time that any were put back where they came from.
    wanted: BTreeMap<u32, u8>,
}

/// Taken so often, the elements of a line had better be taken at once.
const WANTED: u8 = 2;

impl Picked {
    fn rows(&self) -> impl Iterator<Item = SlotId> {
        let read = [Some(self.whole), Some(self.mask), self.from];
        read.into_iter().flatten().map(|row| row.slot)
    }

    fn reads(&self, slot: SlotId) -> bool {
        self.mask.slot == slot || self.from.is_some_and(|from| from.slot == slot)
    }
}

impl Picks {
    /// Wholes that the list has to compute, though the program cannot see them.
    pub(crate) fn wholes(&self) -> impl Iterator<Item = SlotId> {
        let changed = self.by_slot.values().filter(|p| p.from.is_none());
        changed.map(|p| p.whole.slot)
    }

    /// The list runs, without the wholes of elements that still lie at their origin.
    pub(crate) fn lose_unneeded(&mut self) {
        let unchanged = self.by_slot.iter().filter(|(_, p)| p.from.is_some());
        self.lost.extend(unchanged.map(|(slot, _)| *slot));
    }

    fn forget(&mut self, slot: SlotId) -> Option<Picked> {
        self.lost.remove(&slot);
        self.by_slot.remove(&slot)
    }
}

impl Table {
    /// The program has dropped an array of picked elements, or they have been taken.
    pub(crate) fn forget_picked(&mut self, slot: SlotId) -> Vec<Leftover> {
        let Some(picked) = self.picks.forget(slot) else {
            return Vec::new();
        };
        for row in picked.rows() {
            if let Some(entry) = self.get_mut(row) {
                entry.reads -= 1;
            }
        }
        picked.rows().map(|row| self.drop_if_unused(row)).collect()
    }
}

impl Engine {
    /// A slot for picked elements. `None` where they must be taken at once, since mask or origin is not computed or
    /// cannot be watched.
    pub fn pick_later(&self, picked: Picked) -> Option<NewSlot> {
        let guard = self.guard()?;
        let guarded = guard.alloc(picked.count * picked.size)?;
        let mut table = self.table();
        let mut read = [Some(picked.mask), picked.from].into_iter().flatten();
        let watched = read.all(|row| {
            let computed = table.get(row.slot).is_some_and(|entry| entry.writes == 0);
            computed && self.arm(&mut table, row.slot)
        });
        if !watched {
            drop(table);
            guard.free(guarded);
            return None;
        }
        for row in picked.rows() {
            if let Some(entry) = table.get_mut(row) {
                entry.reads += 1;
            }
        }
        if let Some(entry) = table.get_mut(picked.whole.slot) {
            entry.stands_in = true;
        }
        drop(table);
        let new = self.enter(guard, guarded, picked.count * picked.size, true);
        let mut table = self.table();
        table.picks.by_slot.insert(new.slot, picked);
        self.any_picked.fetch_add(1, Ordering::Relaxed);
        Some(new)
    }

    /// False for a line whose picked elements, or what was made of them, were taken the last times.
    pub fn picks_later(&self, site: u32) -> bool {
        let wanted = self.table().picks.wanted.get(&site).copied();
        wanted.is_none_or(|times| times < WANTED)
    }

    /// Elements of this line are put back where they came from: it pays not to take them.
    pub fn puts_back(&self, site: u32) {
        self.table().picks.wanted.remove(&site);
    }

    /// What is known of picked elements whose whole can be computed with. The caller is about to record an operation
    /// that reads the whole: until [`Engine::whole_is_read`] it gets its value if the list runs, for whatever reason.
    pub fn read_whole(&self, slot: SlotId) -> Option<Picked> {
        if !self.has_picked() {
            return None;
        }
        let mut table = self.table();
        let picked = table.picks.by_slot.get(&slot).copied();
        let picked = picked.filter(|_| !table.picks.lost.contains(&slot))?;
        table.get_mut(picked.whole.slot)?.readers += 1;
        Some(picked)
    }

    /// The operation that reads a whole is recorded, or will not be. The caller has held the whole meanwhile.
    pub fn whole_is_read(&self, whole: SlotId) {
        if let Some(entry) = self.table().get_mut(whole) {
            debug_assert!(entry.readers > 0, "{whole:?} has no reader");
            entry.readers = entry.readers.saturating_sub(1);
        }
    }

    /// True for picked elements that have not been taken.
    pub fn is_picked(&self, slot: SlotId) -> bool {
        self.has_picked() && self.table().picks.by_slot.contains_key(&slot)
    }

    /// Something was done to picked elements in place: their whole is another now.
    pub fn repick(&self, slot: SlotId, whole: Row) {
        let mut table = self.table();
        let Some(mut picked) = table.picks.by_slot.get(&slot).copied() else {
            return;
        };
        let dropped = [Some(picked.whole), picked.from.take()];
        (picked.whole, picked.unchanged) = (whole, false);
        if let Some(entry) = table.get_mut(whole.slot) {
            entry.reads += 1;
            entry.stands_in = true;
        }
        table.picks.by_slot.insert(slot, picked);
        let mut left = Vec::new();
        for row in dropped.into_iter().flatten() {
            if let Some(entry) = table.get_mut(row.slot) {
                entry.reads -= 1;
            }
            left.push(table.drop_if_unused(row.slot));
        }
        drop(table);
        self.give_back(left);
    }

    /// True if there are picked elements that have not been taken. Takes no lock.
    pub fn has_picked(&self) -> bool {
        self.any_picked.load(Ordering::Relaxed) > 0
    }

    /// Takes picked elements that an operation reads, or whose mask or origin it writes: before it is recorded.
    ///
    /// # Errors
    /// What running the list gave; those that were not taken stay picked.
    pub fn take_for(&self, node: &Node) -> Result<(), EngineError> {
        if !self.has_picked() {
            return Ok(());
        }
        let mut due = Vec::new();
        {
            let table = self.table();
            for (slot, writes) in crate::table::accesses(node) {
                let touched = table.picks.by_slot.iter();
                let touched = touched.filter(|(own, p)| **own == slot || writes && p.reads(slot));
                due.extend(touched.map(|(own, _)| *own));
            }
        }
        due.into_iter().try_for_each(|slot| self.sync_read(slot))
    }

    /// Takes the elements that are picked from a slot, or by it, before it is written. The caller has the turn.
    pub(crate) fn take_from(&self, slot: SlotId) -> Result<(), EngineError> {
        if !self.has_picked() {
            return Ok(());
        }
        let readers: Vec<SlotId> = {
            let table = self.table();
            let readers = table.picks.by_slot.iter().filter(|(_, p)| p.reads(slot));
            readers.map(|(own, _)| *own).collect()
        };
        readers
            .into_iter()
            .try_for_each(|reader| self.evaluate_slot(reader))
    }

    /// Gives the slot memory, if it has picked elements; the list has run. False if it must run again. The caller has
    /// the turn.
    pub(crate) fn take_picked(&self, slot: SlotId) -> Result<bool, EngineError> {
        if !self.has_picked() {
            return Ok(true);
        }
        let picked = self.table().picks.by_slot.get(&slot).copied();
        let Some(picked) = picked else {
            return Ok(true);
        };
        let values = picked.from.unwrap_or(picked.whole);
        if self
            .table()
            .get(values.slot)
            .is_some_and(|entry| entry.writes > 0)
        {
            return Ok(false);
        }
        let room = self.block(picked.count * picked.size, false)?;
        if let Err(error) = self.take_to(&room, values, &picked) {
            self.put(room);
            return Err(error);
        }
        let mut table = self.table();
        if let Some(entry) = table.get_mut(slot) {
            entry.block = Some(room);
        }
        let wanted = table.picks.wanted.entry(picked.site).or_default();
        *wanted = wanted.saturating_add(1);
        let left = table.forget_picked(slot);
        self.any_picked.fetch_sub(1, Ordering::Relaxed);
        for row in picked.rows() {
            self.hand_back(&mut table, row);
        }
        drop(table);
        self.give_back(left);
        Ok(true)
    }

    /// Moves picked elements to a new block, where the values lie.
    fn take_to(&self, room: &Block, values: Row, picked: &Picked) -> Result<(), EngineError> {
        let Picked { mask, places, .. } = *picked;
        if self.copies_values() {
            return self.compress_to(room, [values, mask], places, picked.size);
        }
        (picked.take)(&Taking {
            values: self.address_of(values, places * picked.size)?,
            mask: self.address_of(mask, places)?,
            out: room.ptr().expose_provenance(),
            places,
            count: picked.count,
            size: picked.size,
        });
        Ok(())
    }

    /// The program drops a slot: picked elements that nobody has wanted.
    pub(crate) fn drop_picked(&self, table: &mut Table, slot: SlotId) -> Vec<Leftover> {
        if !table.picks.by_slot.contains_key(&slot) {
            return Vec::new();
        }
        self.any_picked.fetch_sub(1, Ordering::Relaxed);
        table.forget_picked(slot)
    }

    /// Shows where so many bytes of the computed value of a slot lie. Nobody runs anything meanwhile.
    ///
    /// # Errors
    /// What running the list gave, if the slot has no value for that reason.
    pub fn look_into<T>(
        &self,
        row: Row,
        bytes: usize,
        look: impl FnOnce(usize) -> T,
    ) -> Result<T, EngineError> {
        let _turn = self.turns.take();
        if self.is_pending(row.slot) {
            self.have_value(row.slot)?;
        }
        let seen = self.address_of(row, bytes).map(look);
        self.hand_back(&mut self.table(), row.slot);
        seen
    }

    /// True if so many bytes are the same in two slots, of which the first has a value. If so, the first is held until
    /// [`Engine::unhold`]: whoever owns it may drop it meanwhile. False if it is gone. `same` looks at both where they
    /// lie on the host; a device with memory of its own compares them there instead.
    ///
    /// # Errors
    /// As for [`Engine::look_into`].
    pub fn hold_if_same(
        &self,
        rows: [Row; 2],
        bytes: usize,
        same: impl FnOnce([usize; 2]) -> bool,
    ) -> Result<bool, EngineError> {
        let _turn = self.turns.take();
        if self.is_pending(rows[1].slot) {
            self.have_value(rows[1].slot)?;
        }
        {
            let mut table = self.table();
            let has = |row: &Row| {
                let entry = table.get(row.slot).filter(|entry| entry.writes == 0);
                entry.is_some_and(|entry| entry.nbytes >= row.offset + bytes)
            };
            if !rows.iter().all(has) {
                return Ok(false);
            }
            for row in rows {
                if let Some(entry) = table.get_mut(row.slot) {
                    entry.reads += 1;
                }
            }
        }
        let equal = if self.copies_values() {
            self.are_alike(rows, bytes)
        } else {
            let found = self.address_of(rows[0], bytes);
            let found = found.and_then(|first| Ok([first, self.address_of(rows[1], bytes)?]));
            found.map(same)
        };
        let mut table = self.table();
        for row in rows {
            self.hand_back(&mut table, row.slot);
        }
        drop(table);
        self.unhold(rows[1].slot);
        if !matches!(equal, Ok(true)) {
            self.unhold(rows[0].slot);
        }
        equal
    }

    /// Keeps a slot that is in use until [`Engine::unhold`].
    pub fn hold(&self, slot: SlotId) {
        if let Some(entry) = self.table().get_mut(slot) {
            entry.reads += 1;
        }
    }

    /// A slot that was held is not needed any more.
    pub fn unhold(&self, slot: SlotId) {
        let mut table = self.table();
        if let Some(entry) = table.get_mut(slot) {
            entry.reads -= 1;
        }
        let left = table.drop_if_unused(slot);
        drop(table);
        self.give_back([left]);
    }

    /// The masks of so many places by which elements are picked now.
    pub fn masks_of(&self, places: usize) -> Vec<Row> {
        if !self.has_picked() {
            return Vec::new();
        }
        let table = self.table();
        let alike = table.picks.by_slot.values().filter(|p| p.places == places);
        let masks: BTreeSet<Row> = alike.map(|p| p.mask).collect();
        masks.into_iter().collect()
    }

    /// Where so many bytes of a slot with a value lie now, to be read here. The caller has the turn.
    fn address_of(&self, row: Row, bytes: usize) -> Result<usize, EngineError> {
        if let Some(entry) = self.table().get_mut(row.slot) {
            self.unshadow(entry)?;
        }
        let start = self.address(row.slot, false)? + row.offset as u64;
        if let Some(residency) = self.device.residency() {
            residency.bring(start, bytes as u64)?;
        }
        Ok(usize::try_from(start).unwrap_or_default())
    }
}
