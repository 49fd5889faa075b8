//! Scopes: what happened to memory while they were open, and which arrays outlive them. Early frees.

use crate::engine::{lock, unknown};
use crate::holdings::Owner;
use crate::ladder::Rung;
use crate::table::Home;
use crate::wanted::Wanted;
use crate::{Engine, EngineError};
use arrayloom_ir::SlotId;

/// What happened while a scope was open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScopeFigures {
    /// Bytes in use at most, above those in use when it was opened.
    pub peak: u64,
    /// Bytes allocated in all.
    pub allocated: u64,
    /// Bytes that moved to the spill file.
    pub moved: u64,
}

/// A scope that is open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope {
    number: u32,
    used: u64,
    peak: u64,
    allocated: u64,
    moved: u64,
}

/// The open scopes and the number of the last.
#[derive(Debug, Default)]
pub(crate) struct Scopes {
    last: u32,
    open: Vec<Scope>,
}

impl Scopes {
    /// So many bytes are in use.
    pub(crate) fn note(&mut self, used: u64) {
        for scope in &mut self.open {
            scope.peak = scope.peak.max(used);
        }
    }
}

impl Engine {
    fn moved(&self) -> u64 {
        let rungs = lock(&self.rungs);
        rungs[Rung::Spill as usize].bytes + rungs[Rung::Predict as usize].bytes
    }

    /// Opens a scope and gives its number.
    pub fn open_scope(&self) -> u32 {
        let (used, moved) = (self.used(), self.moved());
        let allocated = self.pool().counters().total;
        let mut scopes = lock(&self.scopes);
        scopes.last += 1;
        let number = scopes.last;
        scopes.open.push(Scope {
            number,
            used,
            peak: used,
            allocated,
            moved,
        });
        number
    }

    /// True if a scope is open.
    pub fn has_scopes(&self) -> bool {
        !lock(&self.scopes).open.is_empty()
    }

    /// The slot was made in this scope.
    pub fn put_in_scope(&self, slot: SlotId, scope: u32) {
        if let Some(entry) = self.table().get_mut(slot) {
            entry.scope = scope;
        }
    }

    /// What happened in an open scope so far; nothing for one that is not open.
    pub fn scope_figures(&self, scope: u32) -> ScopeFigures {
        let (used, moved) = (self.used(), self.moved());
        let total = self.pool().counters().total;
        let mut scopes = lock(&self.scopes);
        scopes.note(used);
        let found = scopes.open.iter().find(|open| open.number == scope);
        found.map_or_else(ScopeFigures::default, |open| ScopeFigures {
            peak: open.peak - open.used,
            allocated: total - open.allocated,
            moved: moved - open.moved,
        })
    }

    /// Closes a scope. Gives the arrays that were made in it and that the program still holds, the
    /// largest first; they belong to `outer` from then on.
    pub fn close_scope(&self, scope: u32, outer: u32) -> Vec<Owner> {
        lock(&self.scopes).open.retain(|open| open.number != scope);
        let mut table = self.table();
        let within: Vec<SlotId> = table
            .in_use_slots()
            .filter(|(_, entry)| entry.scope == scope && entry.user)
            .map(|(slot, _)| slot)
            .collect();
        let mut owners = Vec::with_capacity(within.len());
        for slot in within {
            if let Some(entry) = table.get_mut(slot) {
                entry.scope = outer;
                owners.push(self.owner(slot, entry));
            }
        }
        owners.sort_by_key(|owner| (std::cmp::Reverse(owner.nbytes), owner.slot));
        owners
    }

    /// Gives the memory of an array back before the program drops it. From then on every use of it is an
    /// error that names `place`. False for memory that cannot be taken, or was taken before.
    ///
    /// # Errors
    /// What running the operations that still need the value gave.
    pub fn free_now(&self, slot: SlotId, place: String) -> Result<bool, EngineError> {
        let _turn = self.turns.take();
        self.run_list(Wanted::All)?;
        let mut table = self.table();
        let Some(entry) = table.get_mut(slot) else {
            return Err(unknown(slot));
        };
        let (Home::Guarded(guarded), Some(guard)) = (entry.home, self.guard()) else {
            return Ok(false);
        };
        if entry.freed.is_some() || entry.reads + entry.writes > 0 {
            return Ok(false);
        }
        let block = entry.block.take();
        let block = block.or_else(|| guard.withdraw(guarded));
        let Some(block) = block.or_else(|| guard.reclaim(guarded)) else {
            return Ok(false);
        };
        entry.shadow = None;
        entry.freed = Some(place.into());
        drop(table);
        self.pending.set(slot.0, true);
        self.put(block);
        Ok(true)
    }
}
