//! The engine's public face: slots, recording, synchronisation.

use crate::alone::Alone;
use crate::events::FpEvent;
use crate::explain::Dumps;
use crate::journal::Journal;
use crate::ladder::Rungs;
use crate::pace::Pace;
use crate::pending::Bits;
use crate::period::whole_iterations;
use crate::rename::Places;
use crate::scopes::Scopes;
use crate::table::{Entry, Home, Leftover, Table, give_back};
use crate::turn::Turns;
use crate::wanted::Wanted;
use crate::{EngineError, Settings, Stats};
use arrayloom_device::{Device, DeviceError};
use arrayloom_fuse::{Cache, split};
use arrayloom_guard::{Block, Guard, GuardConfig, GuardError, Pages as _, PoolStats, Slot, State};
use arrayloom_ir::{Node, SlotId};
use arrayloom_memory::{HostLimits, HostMemory, Request, physical_memory};
use arrayloom_types::ErrorKind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

/// A slot and where the program finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewSlot {
    /// The slot.
    pub slot: SlotId,
    /// The address that the program uses.
    pub addr: *mut u8,
}

/// When the list is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Due {
    /// When somebody wants a value.
    Later,
    /// Soon, because it is full.
    Full,
    /// Now.
    Now,
    /// Now, after many small operations; these results of it then move to where the program sees them.
    Shown(Vec<SlotId>),
}

/// Records operations and runs them. One per process.
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) device: Arc<dyn Device>,
    guard: OnceLock<&'static Guard>,
    memory: Arc<HostMemory>,
    pub(crate) table: Mutex<Table>,
    pub(crate) turns: Turns,
    pub(crate) pending: Bits,
    /// Arrays of picked elements that have not been taken.
    pub(crate) any_picked: AtomicUsize,
    pub(crate) alone: Alone,
    pace: Pace,
    pub(crate) cache: Mutex<Cache>,
    pub(crate) stats: Mutex<Stats>,
    pub(crate) places: Mutex<Places>,
    pub(crate) events: Mutex<Vec<FpEvent>>,
    pub(crate) dumps: Mutex<Dumps>,
    pub(crate) dumping: AtomicBool,
    pub(crate) journal: Mutex<Option<Journal>>,
    pub(crate) failure: Mutex<Option<EngineError>>,
    /// True while there are events or a failure that nobody has taken. Changed under the lock of either.
    pub(crate) untold: AtomicBool,
    pub(crate) rungs: Mutex<Rungs>,
    /// The most bytes in use that were seen while a kernel ran, and where.
    pub(crate) peak: Mutex<(u64, u32)>,
    pub(crate) predicted: AtomicU64,
    pub(crate) scopes: Mutex<Scopes>,
    /// Blocks that go when the device lets go of its copies.
    pub(crate) leaving: Mutex<Vec<Block>>,
    pub(crate) notice: OnceLock<fn()>,
    /// A touch left something to be told.
    pub(crate) news: AtomicBool,
    #[cfg(test)]
    pub(crate) allocations_left: std::sync::atomic::AtomicI64,
}

/// Locks, also after a panic of another holder: every update leaves the data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of the least lazy array for each point of an operation that is not small.
const SMALL: usize = 64;

impl Engine {
    /// Starts the engine and, unless `settings.lazy` is off, installs the guard with the engine as its
    /// owner. Where the guard cannot be installed, [`Engine::new_lazy`] gives nothing and all else works.
    ///
    /// # Errors
    /// [`EngineError::NotUnified`] when the device has memory of its own.
    pub fn start(settings: Settings, device: Arc<dyn Device>) -> Result<Arc<Engine>, EngineError> {
        if !device.caps().unified {
            return Err(EngineError::NotUnified {
                device: device.caps().name,
            });
        }
        let memory = Arc::new(HostMemory::new(host_limits(&settings))?);
        let (lazy, dumping) = (settings.lazy, settings.dump_kernels);
        let engine = Arc::new(Engine {
            settings,
            device,
            guard: OnceLock::new(),
            memory: Arc::<HostMemory>::clone(&memory),
            table: Mutex::default(),
            turns: Turns::default(),
            pending: Bits::new(),
            any_picked: AtomicUsize::new(0),
            alone: Alone::new(),
            pace: Pace::default(),
            cache: Mutex::default(),
            stats: Mutex::default(),
            places: Mutex::default(),
            events: Mutex::default(),
            dumps: Mutex::default(),
            dumping: AtomicBool::new(dumping),
            journal: Mutex::default(),
            failure: Mutex::default(),
            untold: AtomicBool::new(false),
            rungs: Mutex::default(),
            peak: Mutex::default(),
            predicted: AtomicU64::new(0),
            scopes: Mutex::default(),
            leaving: Mutex::default(),
            notice: OnceLock::new(),
            news: AtomicBool::new(false),
            #[cfg(test)]
            allocations_left: std::sync::atomic::AtomicI64::new(i64::MAX),
        });
        if lazy {
            let owner = Arc::<Engine>::clone(&engine);
            if let Ok(guard) = Guard::install_over(&GuardConfig::default(), memory, owner) {
                engine.guard.get_or_init(|| guard);
                engine.keep_warm();
            }
        }
        engine.start_residency();
        Ok(engine)
    }

    /// What it was started with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// The guard, if there is one.
    pub fn guard(&self) -> Option<&'static Guard> {
        self.guard.get().copied()
    }

    pub(crate) fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }

    pub(crate) fn pool(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    pub(crate) fn block(&self, nbytes: usize, zeroed: bool) -> Result<Block, EngineError> {
        #[cfg(test)]
        if self
            .allocations_left
            .fetch_sub(1, std::sync::atomic::Ordering::Relaxed)
            == 0
        {
            return Err(self.out_of_memory(nbytes));
        }
        self.pool()
            .get(nbytes, zeroed)
            .map_err(|_refused| self.out_of_memory(nbytes))
    }

    /// Gives a block back, with what the device keeps of it.
    pub(crate) fn put(&self, block: Block) {
        if !self.copies_values() {
            self.pool().put(block);
            return;
        }
        // The device must not copy to a block that is gone: blocks go while nothing runs.
        lock(&self.leaving).push(block);
        if let Some(_turn) = self.turns.try_take() {
            self.let_go();
        }
    }

    pub(crate) fn give_back(&self, left: impl IntoIterator<Item = Leftover>) {
        for left in left {
            give_back(left, self.guard(), |block| self.put(block));
        }
    }

    /// A slot whose address is reserved and holds no memory until it is needed. `None` where there is no
    /// guard or no address left: the caller makes a plain array.
    pub fn new_lazy(&self, nbytes: usize) -> Option<NewSlot> {
        let guard = self.guard()?;
        let guarded = guard.alloc(nbytes)?;
        Some(self.enter(guard, guarded, nbytes, true))
    }

    pub(crate) fn enter(
        &self,
        guard: &Guard,
        guarded: Slot,
        nbytes: usize,
        pending: bool,
    ) -> NewSlot {
        let mut table = self.table();
        let slot = table.add(Home::Guarded(guarded), nbytes, true);
        if let Some(entry) = table.get_mut(slot) {
            entry.fresh = !pending;
        }
        drop(table);
        self.pending.set(slot.0, pending);
        let tag = u64::from(slot.0) + 1;
        guard
            .tag(guarded)
            .store(tag, std::sync::atomic::Ordering::SeqCst);
        NewSlot {
            slot,
            addr: guard.addr(guarded),
        }
    }

    /// A slot with memory that the program may read and write now.
    ///
    /// # Errors
    /// [`EngineError::OutOfMemory`] and the like.
    pub fn new_ready(&self, nbytes: usize, zeroed: bool) -> Result<NewSlot, EngineError> {
        self.try_ready(nbytes, zeroed).or_else(|error| {
            if error.kind() != ErrorKind::Memory {
                return Err(error);
            }
            let _turn = self.turns.take();
            self.with_room(|| self.try_ready(nbytes, zeroed))
        })
    }

    fn try_ready(&self, nbytes: usize, zeroed: bool) -> Result<NewSlot, EngineError> {
        if let Some(guard) = self.guard() {
            match guard.alloc_ready(nbytes, zeroed) {
                Ok(guarded) => return Ok(self.enter(guard, guarded, nbytes, false)),
                Err(GuardError::NoSlot { .. } | GuardError::System { .. }) => {}
                Err(GuardError::OutOfMemory { .. }) => return Err(self.out_of_memory(nbytes)),
                Err(error) => return Err(error.into()),
            }
        }
        let block = self.block(nbytes, zeroed)?;
        let addr = block.ptr();
        let mut table = self.table();
        let slot = table.add(Home::Plain, nbytes, true);
        if let Some(entry) = table.get_mut(slot) {
            entry.block = Some(block);
        }
        self.pending.set(slot.0, false);
        Ok(NewSlot { slot, addr })
    }

    /// The guarded slot that an address lies in, and where it starts. Takes no lock.
    pub fn slot_at(&self, addr: usize) -> Option<(SlotId, *mut u8)> {
        let guard = self.guard()?;
        let guarded = guard.slot_at(addr)?;
        Some((Self::number_of(guard, guarded)?, guard.addr(guarded)))
    }

    pub(crate) fn number_of(guard: &Guard, guarded: Slot) -> Option<SlotId> {
        let tag = guard.tag(guarded).load(std::sync::atomic::Ordering::SeqCst);
        u32::try_from(tag.checked_sub(1)?).ok().map(SlotId)
    }

    /// The program's reference to the slot is gone. What recorded operations need of it stays.
    pub fn release(&self, slot: SlotId) {
        let mut table = self.table();
        if self.was_touched(&table, slot) {
            table.look_at(slot);
        }
        let put_off = table.get(slot).is_some_and(|entry| entry.put_off);
        let mut left = self.drop_picked(&mut table, slot);
        left.push(table.release(slot));
        if put_off {
            left.extend(self.drop_dead(&mut table));
        }
        drop(table);
        self.give_back(left);
    }

    /// True while the slot's value is not computed yet. Takes no lock.
    pub fn is_pending(&self, slot: SlotId) -> bool {
        self.pending.get(slot.0)
    }

    /// Appends an operation to the list. Runs the list when it is full, or when memory that the program
    /// can read without asking is written.
    ///
    /// # Errors
    /// [`EngineError::BadSlot`] for a slot that is not in use, and what [`Engine::take_for`] gave; otherwise what
    /// running the list gave, and then the operation stays recorded.
    pub fn record(&self, node: Node) -> Result<(), EngineError> {
        let due = self.add(node, &[])?;
        self.run_due(due)
    }

    /// Appends an operation to the list. The caller hands what is due to [`Engine::run_due`] before the program goes on.
    /// No one can reach `temporary` operands once it does, so their memory needs no barrier.
    ///
    /// # Errors
    /// As [`Engine::record`], but for those of running the list.
    pub fn add(&self, node: Node, temporary: &[SlotId]) -> Result<Due, EngineError> {
        self.take_for(&node)?;
        let mut table = self.table();
        let due = self.append(&mut table, node, temporary, false)?;
        Ok(match (due, table.petty()) {
            (Due::Later | Due::Full, _) if self.settings.eager => Due::Now,
            (Due::Later, Some(results)) => Due::Shown(results.into_iter().collect()),
            (due, _) => due,
        })
    }

    /// Runs what is due.
    ///
    /// # Errors
    /// What running the list gave; what did not run stays recorded.
    pub fn run_due(&self, due: Due) -> Result<(), EngineError> {
        match due {
            Due::Later => Ok(()),
            Due::Now => {
                let _turn = self.turns.take();
                self.run_list(Wanted::Seen)
            }
            Due::Full => {
                let started = Instant::now();
                let count = whole_iterations(&self.table().list);
                self.run_first(count)?;
                self.pace.learn(started.elapsed());
                Ok(())
            }
            Due::Shown(results) => {
                self.flush()?;
                for slot in results {
                    // One that is gone, or stays where it is, does no harm.
                    let _shown = self.publish(slot);
                }
                Ok(())
            }
        }
    }

    /// Records an operation and runs the list for the sake of its first result.
    ///
    /// # Errors
    /// As for [`Engine::record`]; after a failure the operation stays recorded.
    pub fn compute(&self, node: Node) -> Result<(), EngineError> {
        self.take_for(&node)?;
        let wanted = node.outs[0].0;
        self.append(&mut self.table(), node, &[], true)?;
        self.sync_read(wanted)
    }

    /// Appends an operation, with operands that are `temporary`; `now` says that the list runs next.
    pub(crate) fn append(
        &self,
        table: &mut Table,
        node: Node,
        temporary: &[SlotId],
        now: bool,
    ) -> Result<Due, EngineError> {
        for (slot, _) in crate::table::accesses(&node) {
            match table.get(slot) {
                Some(entry) => entry.check_there()?,
                None => return Err(unknown(slot)),
            }
        }
        table.note(&node);
        let mut must_run = now;
        let parts = split(node, &mut |bytes| table.add(Home::Internal, bytes, false));
        for (slot, _) in parts.iter().flat_map(|part| &part.outs) {
            must_run |= !self.reserve(table, *slot);
        }
        for part in parts {
            for operand in part.ins.iter().chain(&part.mask) {
                // The operands of what runs at once need no barrier.
                if let Some(slot) = operand.slot().filter(|_| !must_run) {
                    let spared = temporary.contains(&slot) && is_guarded(table, slot);
                    must_run |= !(spared || self.arm(table, slot));
                }
            }
            table.count(&part);
            let points = part.domain().iter().product::<usize>();
            let small = points < self.settings.min_bytes / SMALL;
            table.small_run = if small { table.small_run + 1 } else { 0 };
            table.list.push(part);
        }
        let settings = &self.settings;
        if must_run || self.is_pressed(table) {
            return Ok(Due::Now);
        }
        let (nodes, bytes) = (table.list.len(), table.list_bytes);
        let full = nodes >= settings.max_pending_nodes.0
            || bytes >= settings.max_pending_bytes
            || self.pace.is_full(nodes, bytes);
        Ok(if full { Due::Full } else { Due::Later })
    }

    /// True when recorded operations keep much memory alive that the program has dropped.
    fn is_pressed(&self, table: &Table) -> bool {
        let limit = self.pool().limit();
        if limit.most() == u64::MAX || table.pinned == 0 {
            return false;
        }
        table.pinned > limit.used() / 2 && limit.used() > limit.most() / 4
    }

    /// Makes the next write of the program to an input wait for its readers. False if it cannot.
    pub(crate) fn arm(&self, table: &mut Table, slot: SlotId) -> bool {
        let Some(entry) = table.get(slot) else {
            return true;
        };
        match (entry.home, self.guard()) {
            (Home::Guarded(guarded), Some(guard)) if entry.block.is_none() && entry.writes == 0 => {
                match guard.state(guarded) {
                    State::ReadOnly => return true,
                    State::Ready => table.barriers += 1,
                    // No pages of it are at its address: nothing is protected, only noted.
                    _ => {}
                }
                guard.protect(guarded)
            }
            (Home::Plain, _) => false,
            _ => true,
        }
    }

    /// Hides the old value of a result from the program. False if the program can see it all the same.
    fn reserve(&self, table: &mut Table, slot: SlotId) -> bool {
        let guard = self.guard();
        let Some(entry) = table.get_mut(slot) else {
            return true;
        };
        let first = entry.writes == 0;
        let nbytes = entry.nbytes as u64;
        let hidden = match (entry.home, guard) {
            (Home::Internal, _) => true,
            (Home::Guarded(guarded), Some(guard)) => {
                let site = entry.site;
                if self.hide(guard, guarded, entry) {
                    table.barriers += 1;
                    table.learn_written_late(site);
                }
                !guard.state(guarded).is_published()
            }
            _ => false,
        };
        self.pending.set(slot.0, true);
        if first {
            table.list_bytes += nbytes;
        }
        hidden
    }

    /// Takes the old value of what is to be written from where the program sees it, if that is possible and pays. True if
    /// it lay there.
    pub(crate) fn hide(&self, guard: &Guard, guarded: Slot, entry: &mut Entry) -> bool {
        if entry.block.is_none() {
            entry.block = guard.withdraw(guarded);
        }
        let fresh = std::mem::take(&mut entry.fresh);
        // A device with memory of its own would send what it wrote back after each list.
        let takes = fresh || self.copies_values();
        if entry.block.is_some() || !takes || entry.running {
            return false;
        }
        entry.block = guard.reclaim(guarded);
        entry.block.is_some()
    }

    /// Runs everything recorded.
    ///
    /// # Errors
    /// The first failure; what did not run stays recorded.
    pub fn flush(&self) -> Result<(), EngineError> {
        let _turn = self.turns.take();
        self.run_list(Wanted::All)
    }

    /// Runs so many operations at the start of the list.
    pub(crate) fn run_first(&self, count: usize) -> Result<(), EngineError> {
        let _turn = self.turns.take();
        self.run_list(Wanted::First(count))
    }

    /// Number of recorded operations that have not run.
    pub fn pending_nodes(&self) -> usize {
        self.table().list.len()
    }

    /// Slots in use, those that only recorded operations need among them.
    pub fn slots_in_use(&self) -> usize {
        self.table().in_use()
    }

    /// Counts since the start or the last [`Engine::reset_stats`].
    pub fn stats(&self) -> Stats {
        let recorded = self.table().recorded;
        let mut stats = lock(&self.stats).clone();
        let cache = lock(&self.cache);
        stats.recorded = recorded;
        stats.cache_hits = cache.hits();
        stats.cache_misses = cache.misses();
        stats.guard = self.guard().map(Guard::counters).unwrap_or_default();
        let warm = self.guard().map_or(0, Guard::warm_bytes);
        stats.pool = Some(self.pool().stats()).map(|pool| PoolStats {
            live_bytes: pool.live_bytes.saturating_sub(warm),
            cached_bytes: pool.cached_bytes + warm,
            ..pool
        });
        stats
    }

    /// Sets the engine's own counts to zero; those of guard and pool go on.
    pub fn reset_stats(&self) {
        self.table().recorded = 0;
        lock(&self.cache).reset_counts();
        *lock(&self.stats) = Stats::default();
    }

    /// The last requests for memory.
    pub fn memory_trace(&self) -> Vec<Request> {
        self.pool().trace()
    }

    /// Gives memory that is kept for re-use back to the system. Tells how many bytes.
    pub fn trim(&self) -> u64 {
        self.cool();
        self.pool().trim(usize::MAX) as u64
    }
}

fn host_limits(settings: &Settings) -> HostLimits {
    let directory = if settings.spill_dir.is_empty() {
        std::env::temp_dir()
    } else {
        PathBuf::from(&settings.spill_dir)
    };
    HostLimits {
        limit: settings.memory_limit.0,
        cached: match settings.pool_bytes {
            0 => physical_memory() / 4,
            bytes => bytes as u64,
        },
        spill: settings.spill.then_some(directory),
    }
}

/// True if the memory of a slot stays there for its readers when the program drops it.
fn is_guarded(table: &Table, slot: SlotId) -> bool {
    let home = table.get(slot).map(|entry| entry.home);
    matches!(home, Some(Home::Guarded(_)))
}

pub(crate) fn unknown(slot: SlotId) -> EngineError {
    EngineError::BadSlot {
        slot: slot.0,
        what: "is not in use",
    }
}

/// True for a refusal that smaller kernels may cure.
pub(crate) fn is_unsupported(error: &EngineError) -> bool {
    matches!(error, EngineError::Device(DeviceError::Unsupported { .. }))
}
