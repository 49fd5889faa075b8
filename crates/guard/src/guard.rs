//! The guard itself: installation, slots, look-ups. Pages move in [`crate::publish`].

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

use crate::arena::Arena;
use crate::config::{GuardConfig, PoolLimits};
use crate::error::GuardError;
use crate::fork::Gate;
use crate::handler;
use crate::lock::Lock;
use crate::pool::{PagePool, Pages};
use crate::service::Service;
use crate::slot::{Slot, State};
use crate::sys;
use crate::warm::{Warm, Warmth};

/// What the guard asks of its owner. Called on the service thread; only `served` is called in the
/// signal handler.
///
/// The thread that touched the memory sleeps meanwhile and may hold any lock of the program,
/// Python's interpreter lock included: these calls must take none of those.
pub trait Owner: Send + Sync {
    /// Brings the slot out of Lazy: calls [`Guard::computed`] or a publication.
    ///
    /// # Errors
    /// When the value cannot be had. The guard reports it through `failed` and fills the slot with
    /// `0xFF` bytes, which are NaN in every floating type.
    #[expect(clippy::result_unit_err, reason = "the owner keeps the reason")]
    fn evaluate(&self, slot: Slot) -> Result<(), ()>;

    /// Somebody writes to a `ReadOnly` slot: runs everything that still reads the old value.
    ///
    /// # Errors
    /// When that fails. The guard reports it through `failed` and lets the write happen.
    #[expect(clippy::result_unit_err, reason = "the owner keeps the reason")]
    fn before_write(&self, slot: Slot) -> Result<(), ()>;

    /// Evaluation of this slot, or of a reader of it, failed inside a touch. Called before the
    /// touching thread goes on.
    fn failed(&self, slot: Slot);

    /// A touch has been served. Called on the touching thread, in the signal handler, whose rules
    /// hold: neither locks that the touching thread may hold nor memory from the allocator.
    fn served(&self) {}
}

/// How often things happened since `install`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Faults in the arena that the guard served.
    pub faults: u64,
    /// Faults passed on to the previous handler.
    pub chained: u64,
    /// Values moved to their user address.
    pub publishes: u64,
    /// Those of them that happened inside the fault handler.
    pub handler_publishes: u64,
    /// Ready slots that were protected.
    pub protections: u64,
    /// Writes to read-only slots that were caught.
    pub write_barriers: u64,
    /// Evaluations and barriers that failed.
    pub failures: u64,
    /// Slots that the service thread evaluated.
    pub service_calls: u64,
    /// Slots in use now.
    pub live_slots: u64,
}

#[derive(Default)]
pub(crate) struct Tallies {
    pub(crate) faults: AtomicU64,
    pub(crate) chained: AtomicU64,
    pub(crate) publishes: AtomicU64,
    pub(crate) handler_publishes: AtomicU64,
    pub(crate) protections: AtomicU64,
    pub(crate) write_barriers: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) service_calls: AtomicU64,
}

/// Unused slots of one class.
#[derive(Default)]
pub(crate) struct ClassSlots {
    /// Indices from here on were never used.
    fresh: usize,
    pub(crate) returned: Vec<usize>,
    /// Freed with their pages.
    pub(crate) warm: Vec<Warm>,
}

/// Protected memory whose contents appear when they are touched. One per process.
pub struct Guard {
    pub(crate) arena: Arena,
    pub(crate) pool: Arc<dyn Pages>,
    pub(crate) owner: Arc<dyn Owner>,
    pub(crate) classes: Vec<Lock<ClassSlots>>,
    pub(crate) service: Service,
    pub(crate) gate: Gate,
    pub(crate) tallies: Tallies,
    pub(crate) warmth: Warmth,
    live_slots: AtomicUsize,
    max_slots: usize,
}

static GUARD: OnceLock<Guard> = OnceLock::new();
static CLAIMED: AtomicBool = AtomicBool::new(false);

impl Guard {
    /// Reserves the address space, starts the service thread and installs the fault handler.
    ///
    /// # Errors
    /// `AlreadyInstalled` at the second call, `Unsupported` off Linux, `NoAddressSpace` if even a
    /// small arena is refused, `System` if thread or handler are.
    pub fn install(
        config: GuardConfig,
        owner: Arc<dyn Owner>,
    ) -> Result<&'static Guard, GuardError> {
        let pool = Arc::new(PagePool::new(config.pool));
        let config = GuardConfig {
            pool: PoolLimits::default(),
            ..config
        };
        Guard::install_over(&config, pool, owner)
    }

    /// As [`Guard::install`], with pages from `pages`.
    ///
    /// # Errors
    /// As there.
    pub fn install_over(
        config: &GuardConfig,
        pages: Arc<dyn Pages>,
        owner: Arc<dyn Owner>,
    ) -> Result<&'static Guard, GuardError> {
        if CLAIMED.swap(true, SeqCst) {
            return Err(GuardError::AlreadyInstalled);
        }
        Guard::install_claimed(config, pages, owner).inspect_err(|_error| {
            if GUARD.get().is_none() {
                CLAIMED.store(false, SeqCst);
            }
        })
    }

    fn install_claimed(
        config: &GuardConfig,
        pages: Arc<dyn Pages>,
        owner: Arc<dyn Owner>,
    ) -> Result<&'static Guard, GuardError> {
        handler::check_support()?;
        let arena = Arena::reserve(config.reserve_bytes_per_class)?;
        let classes = (0..arena.classes())
            .map(|_class| Lock::new(ClassSlots::default()))
            .collect();
        let guard = GUARD.get_or_init(|| Guard {
            arena,
            pool: pages,
            owner,
            classes,
            service: Service::new(config.service_stack_bytes),
            gate: Gate::default(),
            tallies: Tallies::default(),
            warmth: Warmth::default(),
            live_slots: AtomicUsize::new(0),
            max_slots: config.max_slots,
        });
        guard.start_service()?;
        handler::install(guard)?;
        crate::fork::watch_forks();
        let (start, len) = guard.arena.range();
        sys::tell_shim(start, len);
        Ok(guard)
    }

    /// The guard of this process, once installed.
    pub fn get() -> Option<&'static Guard> {
        GUARD.get()
    }

    /// Where all pages of the guard come from.
    pub fn pool(&self) -> &dyn Pages {
        &*self.pool
    }

    /// A Lazy slot of `nbytes`: address space only, no system call in the common case. None if too
    /// many slots are alive or no class has room.
    pub fn alloc(&self, nbytes: usize) -> Option<Slot> {
        self.restart_service_after_fork();
        handler::keep_on_top();
        let slot = self.claim(nbytes)?;
        let record = self.arena.record(slot);
        record.lock();
        record.unlock(State::Lazy, 0, !0xff);
        Some(slot)
    }

    /// A Ready slot of `nbytes`, with memory from the pool moved in.
    ///
    /// # Errors
    /// `NoSlot`, `OutOfMemory`, or `System` if the pages could not be moved.
    pub fn alloc_ready(&self, nbytes: usize, zeroed: bool) -> Result<Slot, GuardError> {
        self.restart_service_after_fork();
        if let Some(slot) = self.take_warm(nbytes, zeroed) {
            return Ok(slot);
        }
        let no_slot = GuardError::NoSlot {
            bytes: nbytes,
            live: self.live_slots.load(Relaxed),
        };
        let slot = self.claim(nbytes).ok_or(no_slot)?;
        let moved_in = self.pool.get(nbytes, zeroed).and_then(|block| {
            let block = self.fit(slot, block);
            self.move_in(slot, block)
        });
        if let Err(error) = moved_in {
            self.unclaim(slot);
            return Err(error);
        }
        Ok(slot)
    }

    /// Takes an unused slot and clears its record; its state stays Free.
    fn claim(&self, nbytes: usize) -> Option<Slot> {
        let first = self.arena.class_for(nbytes)?;
        if !self.enter() {
            return None;
        }
        let found = (first..self.arena.classes()).find_map(|class| self.claim_in(class));
        let Some(slot) = found else {
            self.leave();
            return None;
        };
        let record = self.arena.record(slot);
        debug_assert_eq!(record.load().state(), State::Free);
        record.begin_life(nbytes);
        Some(slot)
    }

    fn claim_in(&self, class: usize) -> Option<Slot> {
        let most = self.arena.slots_in(class);
        let index = self.classes.get(class)?.with(|slots| {
            if let Some(index) = slots.returned.pop() {
                return Some(index);
            }
            let fresh = slots.fresh;
            slots.fresh += usize::from(fresh < most);
            (fresh < most).then_some(fresh)
        })?;
        Some(Slot::new(class, index))
    }

    /// Gives an unused slot back to its class. Its state is Free and its range is a hole.
    pub(crate) fn unclaim(&self, slot: Slot) {
        if let Some(class) = self.classes.get(slot.class()) {
            class.with(|slots| slots.returned.push(slot.index()));
        }
        self.leave();
    }

    /// Counts one more slot in use. False if there are too many.
    pub(crate) fn enter(&self) -> bool {
        let room = self.live_slots.fetch_add(1, Relaxed) < self.max_slots;
        if !room {
            self.leave();
        }
        room
    }

    /// Counts one slot less.
    pub(crate) fn leave(&self) {
        self.live_slots.fetch_sub(1, Relaxed);
    }

    /// Every slot that was ever used.
    pub(crate) fn used_slots(&self) -> impl Iterator<Item = Slot> {
        self.classes.iter().enumerate().flat_map(|(class, slots)| {
            let fresh = slots.with(|slots| slots.fresh);
            (0..fresh).map(move |index| Slot::new(class, index))
        })
    }

    pub(crate) fn live_slots(&self) -> usize {
        self.live_slots.load(Relaxed)
    }

    /// The slot in use that an address lies in. Pure arithmetic and one atomic read;
    /// async-signal-safe.
    pub fn slot_at(&self, addr: usize) -> Option<Slot> {
        let slot = self.arena.slot_at(addr)?;
        (self.state(slot) != State::Free).then_some(slot)
    }

    /// What [`Guard::slot_at`], [`Guard::state`] and [`Guard::tag`] tell of an address, at once.
    pub fn look(&self, addr: usize) -> Option<(Slot, State, u64)> {
        let slot = self.arena.slot_at(addr)?;
        let record = self.arena.record(slot);
        let state = record.load().state();
        (state != State::Free).then(|| (slot, state, record.tag.load(SeqCst)))
    }

    /// The user address of a slot, whether anything is there or not.
    pub fn addr(&self, slot: Slot) -> *mut u8 {
        self.arena.addr(slot)
    }

    /// Where the slot's pages belong when they are not at the user address; zero without pages.
    pub fn home(&self, slot: Slot) -> usize {
        self.arena.record(slot).block_start.load(SeqCst)
    }

    /// The bytes asked for at `alloc`.
    pub fn nbytes(&self, slot: Slot) -> usize {
        self.arena.record(slot).nbytes.load(SeqCst)
    }

    /// The state at this moment.
    pub fn state(&self, slot: Slot) -> State {
        self.arena.record(slot).load().state()
    }

    /// A number that stays the same as long as nobody writes these bytes of one slot; `None` unless a write would be
    /// caught.
    pub fn unwritten(&self, addr: usize, bytes: usize) -> Option<u64> {
        let slot = self.arena.slot_at(addr)?;
        let record = self.arena.record(slot);
        let within = addr - self.arena.addr(slot).addr();
        let times = record.closed()?;
        (within.checked_add(bytes)? <= record.nbytes.load(SeqCst)).then_some(times)
    }

    /// One word for the engine, zero at `alloc`.
    pub fn tag(&self, slot: Slot) -> &AtomicU64 {
        &self.arena.record(slot).tag
    }

    /// A snapshot of the counters.
    pub fn counters(&self) -> Counters {
        let tallies = &self.tallies;
        Counters {
            faults: tallies.faults.load(Relaxed),
            chained: tallies.chained.load(Relaxed),
            publishes: tallies.publishes.load(Relaxed),
            handler_publishes: tallies.handler_publishes.load(Relaxed),
            protections: tallies.protections.load(Relaxed),
            write_barriers: tallies.write_barriers.load(Relaxed),
            failures: tallies.failures.load(Relaxed),
            service_calls: tallies.service_calls.load(Relaxed),
            live_slots: self.live_slots() as u64,
        }
    }

    /// Puts the fault handler back on top after somebody replaced it, and passes on to whoever did.
    pub fn reinstall_handler(&self) {
        handler::reinstall();
    }

    /// Whether the process's handler is the guard's.
    pub fn owns_handler(&self) -> bool {
        handler::is_ours()
    }

    /// Where a fault beyond the value is no longer ours: pages that exist or would exist.
    pub(crate) fn reach(&self, slot: Slot) -> usize {
        let record = self.arena.record(slot);
        let whole = sys::whole_pages(record.nbytes.load(SeqCst)).unwrap_or(0);
        whole.max(record.block_len.load(SeqCst))
    }
}
