//! New arrays of zeros or of arbitrary bytes.
//!
//! Most are looked at next, so their memory lies at their address. Where a recorded operation writes to such an array
//! before anybody looks, its pages have to be taken back, which costs more than a small operation: the next array made
//! at that place of the program has no memory before such an operation runs. So the arrays that the steps of a loop make
//! and drop use one block after the other, though all steps are recorded before the first one runs. Once somebody looks at
//! such an array first, the place is forgotten.

use crate::table::{Home, Table};
use crate::{Engine, EngineError, NewSlot};
use arrayloom_ir::SlotId;

impl Engine {
    /// A slot that the program may read and write, for an array made at `site`; zero for a place that is not
    /// known.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] and the like.
    pub fn new_unset(
        &self,
        nbytes: usize,
        zeroed: bool,
        site: u32,
    ) -> Result<NewSlot, EngineError> {
        let written_late = self.table().written_late.contains(&site);
        let late = written_late
            .then(|| self.unset_yet(nbytes, zeroed))
            .flatten();
        late.map_or_else(|| self.new_ready(nbytes, zeroed), Ok)
    }

    /// True for new memory that somebody looked at without asking: its pages lie at the address.
    pub(crate) fn was_touched(&self, table: &Table, slot: SlotId) -> bool {
        let entry = table.get(slot).filter(|entry| entry.fresh);
        match (entry.map(|entry| entry.home), self.guard()) {
            (Some(Home::Guarded(guarded)), Some(guard)) => guard.state(guarded).is_published(),
            _ => false,
        }
    }

    /// A slot that gets its memory from the first operation that needs it.
    fn unset_yet(&self, nbytes: usize, zeroed: bool) -> Option<NewSlot> {
        let new = self.new_lazy(nbytes)?;
        if let Some(entry) = self.table().get_mut(new.slot) {
            (entry.fresh, entry.zeroed) = (true, zeroed);
        }
        Some(new)
    }
}

impl Table {
    /// Pages of a new array made at `site` were taken back.
    pub(crate) fn learn_written_late(&mut self, site: u32) {
        if site != 0 {
            self.written_late.insert(site);
        }
    }

    /// Somebody looks at a slot.
    pub(crate) fn look_at(&mut self, slot: SlotId) {
        if let Some(entry) = self.get_mut(slot)
            && std::mem::take(&mut entry.fresh)
        {
            let site = entry.site;
            self.written_late.remove(&site);
        }
    }
}
