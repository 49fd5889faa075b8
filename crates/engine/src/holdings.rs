//! Who holds memory: the largest arrays with the lines that made them, scopes, and the figures of a report.

use crate::engine::lock;
use crate::ladder::{Rung, RungStats};
use crate::table::{Entry, Home, Table};
use crate::{Engine, EngineError};
use arrayloom_guard::Pages as _;
use arrayloom_ir::SlotId;
use arrayloom_types::{DType, Shape};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

/// Owners that an error names.
const NAMED: usize = 3;

/// An array that holds memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its slot.
    pub slot: u32,
    /// Its bytes.
    pub nbytes: u64,
    /// Its elements and extents as it was made, if known.
    pub made: Option<(DType, Shape)>,
    /// The place in the program that wrote it last.
    pub site: u32,
    /// Its value lies in the spill file.
    pub spilled: bool,
    /// The program holds it; else only recorded operations do.
    pub held: bool,
}

/// The facts of a request that could not be met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes wanted.
    pub need: u64,
    /// Bytes in use.
    pub live: u64,
    /// Bytes kept for re-use.
    pub cached: u64,
    /// Bytes in the spill file.
    pub spilled: u64,
    /// The limit on bytes in use; `u64::MAX` for none.
    pub limit: u64,
    /// Spilling is on and there is a file for it.
    pub spills: bool,
    /// The largest owners, the largest first.
    pub owners: Vec<Owner>,
}

impl Shortage {
    /// The one thing that would have helped, by the settings as they are.
    pub fn cure(&self) -> String {
        let wanted = self.live.saturating_add(self.need);
        if self.limit < u64::MAX && self.need > self.limit && !self.spills {
            return format!(
                "the limit is smaller than this one array: raise it to {} or more with memory.limit or \
                 ARRAYLOOM_MEMORY_LIMIT",
                text(wanted)
            );
        }
        if self.limit < u64::MAX && !self.spills {
            return format!(
                "free one of them, raise the limit to {} or more with memory.limit or \
                 ARRAYLOOM_MEMORY_LIMIT, or turn spilling on with ARRAYLOOM_SPILL=1 and a writable \
                 ARRAYLOOM_SPILL_DIR",
                text(wanted)
            );
        }
        if self.limit < u64::MAX {
            return format!(
                "the spill file has no room for {}: make room where ARRAYLOOM_SPILL_DIR points, or raise the \
                 limit to {} or more",
                text(self.need),
                text(wanted)
            );
        }
        let cure = "the system has no such memory: use smaller arrays, or free one of them";
        let limit = ", or set memory.limit or ARRAYLOOM_MEMORY_LIMIT: what is beyond the limit goes to a file";
        format!("{cure}{}", if self.spills { limit } else { "" })
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "out of memory: {} wanted for one array, ",
            text(self.need)
        )?;
        write!(f, "{} in use", text(self.live))?;
        if self.limit < u64::MAX {
            write!(f, " of a limit of {}", text(self.limit))?;
        }
        write!(f, ", {} kept for re-use", text(self.cached))?;
        if self.spilled > 0 {
            write!(f, ", {} in the spill file", text(self.spilled))?;
        }
        write!(f, "; {}", self.cure())
    }
}

/// Bytes as people write them.
fn text(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a figure of two digits")]
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 && unit == "B" {
            return format!("{bytes} bytes");
        }
        if value < 1024.0 {
            return format!("{value:.1} {unit}");
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

/// The figures of a report.
#[derive(Clone, Debug)]
pub struct MemoryReport {
    /// The limit on bytes in use; `u64::MAX` for none.
    pub limit: u64,
    /// Bytes in use.
    pub live: u64,
    /// Bytes kept for re-use.
    pub cached: u64,
    /// The longest free piece.
    pub largest_free: u64,
    /// The highest `live` so far.
    pub peak: u64,
    /// The place in the program where it was reached.
    pub peak_site: u32,
    /// Bytes taken from the system, at most so far.
    pub peak_reserved: u64,
    /// Bytes in the spill file, now and at most so far.
    pub spilled: (u64, u64),
    /// Requests met, and those of them that took memory from the system.
    pub requests: (u64, u64),
    /// Bytes allocated in all.
    pub allocated: u64,
    /// The highest need that a dry run foretold.
    pub predicted: u64,
    /// What each rung did.
    pub rungs: [(Rung, RungStats); Rung::ALL.len()],
    /// Those who hold memory, the largest first.
    pub owners: Vec<Owner>,
}

impl Engine {
    pub(crate) fn out_of_memory(&self, nbytes: usize) -> EngineError {
        let info = self.pool().info();
        let owners = self.table.try_lock();
        let owners = owners.map(|table| self.owners_of(&table, NAMED));
        EngineError::OutOfMemory(Box::new(Shortage {
            need: nbytes as u64,
            live: info.in_use,
            cached: info.cached(),
            spilled: self.pool().spilled().0,
            limit: info.limit,
            spills: self.settings.spill && self.pool().can_spill(),
            owners: owners.unwrap_or_default(),
        }))
    }

    /// The largest owners.
    fn owners_of(&self, table: &Table, most: usize) -> Vec<Owner> {
        let mut owners: Vec<Owner> = table
            .in_use_slots()
            .filter(|(_, entry)| self.has_memory(entry))
            .map(|(slot, entry)| self.owner(slot, entry))
            .collect();
        owners.sort_by_key(|owner| (std::cmp::Reverse(owner.nbytes), owner.slot));
        owners.truncate(most);
        owners
    }

    pub(crate) fn has_memory(&self, entry: &Entry) -> bool {
        match (entry.home, self.guard()) {
            (Home::External(_), _) => false,
            (_, _) if entry.block.is_some() => true,
            (Home::Guarded(guarded), Some(guard)) => guard.home(guarded) != 0,
            _ => false,
        }
    }

    pub(crate) fn owner(&self, slot: SlotId, entry: &Entry) -> Owner {
        let place = match (&entry.block, entry.home, self.guard()) {
            (Some(block), _, _) => block.ptr().addr(),
            (None, Home::Guarded(guarded), Some(guard)) => guard.home(guarded),
            _ => 0,
        };
        Owner {
            slot: slot.0,
            nbytes: entry.nbytes as u64,
            made: entry.made.clone(),
            site: entry.site,
            spilled: self.pool().is_spilled_at(place),
            held: entry.user,
        }
    }

    /// Tells what an array is that the program made itself, and where.
    pub fn describe(&self, slot: SlotId, site: u32, dtype: DType, shape: &[usize]) {
        if let Some(entry) = self.table().get_mut(slot) {
            entry.site = site;
            entry.made = Some((dtype, Shape::from_slice(shape)));
        }
    }

    /// Remembers where the most memory was in use.
    pub(crate) fn note_peak(&self, site: u32) {
        let used = self.used();
        lock(&self.scopes).note(used);
        let mut peak = lock(&self.peak);
        if used > peak.0 {
            *peak = (used, site);
        }
    }

    /// The figures of this moment, with at most so many owners.
    pub fn memory_report(&self, owners: usize) -> MemoryReport {
        let info = self.pool().info();
        let warm = self.warm_bytes();
        let rungs = *lock(&self.rungs);
        MemoryReport {
            limit: info.limit,
            live: info.in_use.saturating_sub(warm),
            cached: info.cached() + warm,
            largest_free: info.largest_free,
            peak: info.peak,
            peak_site: lock(&self.peak).1,
            peak_reserved: info.peak_reserved,
            spilled: self.pool().spilled(),
            requests: (info.requests, info.grown),
            allocated: self.pool().counters().total,
            predicted: self.predicted.load(Relaxed),
            rungs: Rung::ALL.map(|rung| (rung, rungs[rung as usize])),
            owners: self.owners_of(&self.table(), owners),
        }
    }

    /// The limit on bytes in use; `u64::MAX` for none.
    pub fn memory_limit(&self) -> u64 {
        self.pool().limit().most()
    }

    /// Changes the limit on bytes in use; gives the old one. `u64::MAX` is no limit.
    pub fn set_memory_limit(&self, bytes: u64) -> u64 {
        let old = self.pool().limit().set(bytes);
        self.keep_warm();
        old
    }

    /// Changes how many bytes may wait for re-use; gives the old number.
    pub fn set_cached_bytes(&self, bytes: u64) -> u64 {
        let old = self.pool().limit().set_cached(bytes);
        self.keep_warm();
        old
    }

    /// Counts the highest use of memory anew; gives what is in use now.
    pub fn restart_peak(&self) -> u64 {
        self.cool();
        let used = self.used();
        self.pool().limit().restart_peak();
        *lock(&self.peak) = (used, 0);
        used
    }

    /// Gives unused memory back, but for `keep` bytes. Tells how many bytes.
    pub fn trim_to(&self, keep: u64) -> u64 {
        let cached = self.pool().info().cached() + self.warm_bytes();
        let want = cached.saturating_sub(keep);
        if want == 0 {
            return 0;
        }
        self.cool();
        self.pool()
            .trim(usize::try_from(want).unwrap_or(usize::MAX)) as u64
    }
}
