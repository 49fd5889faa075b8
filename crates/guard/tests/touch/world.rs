//! The engine of the tests, and touches.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;

use arrayloom_guard::{Block, Guard, GuardConfig, Owner, Slot};

/// A tag that makes evaluation fail.
pub(crate) const FAIL: u64 = u64::MAX;
/// A tag that makes evaluation panic.
pub(crate) const PANIC: u64 = u64::MAX - 1;

/// An engine whose arrays hold `tag, tag + 1, ..` as 64-bit integers.
#[derive(Default)]
pub(crate) struct Counting {
    pub(crate) evaluated: Mutex<BTreeMap<Slot, u32>>,
    pub(crate) barriers: Mutex<BTreeMap<Slot, u32>>,
    pub(crate) failed: Mutex<Vec<Slot>>,
    pub(crate) barrier_fails: AtomicBool,
    pub(crate) rearms: AtomicU64,
    pub(crate) slow: AtomicBool,
    /// The next value is seen and taken back before its evaluation ends.
    pub(crate) takes_back: AtomicBool,
}

impl Owner for Counting {
    fn evaluate(&self, slot: Slot) -> Result<(), ()> {
        *self.evaluated.lock().unwrap().entry(slot).or_default() += 1;
        let guard = Guard::get().unwrap();
        let first = guard.tag(slot).load(SeqCst);
        if self.slow.load(SeqCst) {
            thread::sleep(std::time::Duration::from_millis(20));
        }
        assert_ne!(first, PANIC, "asked to panic");
        if first == FAIL {
            return Err(());
        }
        guard.computed(slot, block_from(guard, guard.nbytes(slot), first));
        if self.takes_back.swap(false, SeqCst) {
            assert_eq!(element(guard, slot, 0), first);
            guard.pool().put(guard.reclaim(slot).unwrap());
        }
        Ok(())
    }

    fn before_write(&self, slot: Slot) -> Result<(), ()> {
        *self.barriers.lock().unwrap().entry(slot).or_default() += 1;
        let guard = Guard::get().unwrap();
        if self.rearms.load(SeqCst) > 0 {
            self.rearms.fetch_sub(1, SeqCst);
            assert!(guard.protect(slot), "protection during a barrier");
        }
        if self.barrier_fails.load(SeqCst) {
            return Err(());
        }
        Ok(())
    }

    fn failed(&self, slot: Slot) {
        self.failed.lock().unwrap().push(slot);
    }
}

pub(crate) fn block_from(guard: &Guard, nbytes: usize, first: u64) -> Block {
    let block = guard.pool().get(nbytes, false).unwrap();
    for index in 0..nbytes / 8 {
        let value = first.wrapping_add(index as u64);
        let place = block.ptr().wrapping_add(index * 8).cast::<[u8; 8]>();
        // SAFETY: the block holds `nbytes` writable bytes, which are ours.
        unsafe { place.write(value.to_ne_bytes()) };
    }
    block
}

fn element(guard: &Guard, slot: Slot, index: usize) -> u64 {
    let place = guard.addr(slot).wrapping_add(index * 8);
    // SAFETY: within the slot; the guard makes the page appear.
    u64::from_ne_bytes(unsafe { place.cast::<[u8; 8]>().read_volatile() })
}

pub(crate) struct World {
    pub(crate) guard: &'static Guard,
    pub(crate) owner: Arc<Counting>,
    _alone: MutexGuard<'static, ()>,
}

pub(crate) fn world() -> World {
    static ALONE: Mutex<()> = Mutex::new(());
    static OWNER: OnceLock<Arc<Counting>> = OnceLock::new();
    let alone = ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let owner = OWNER.get_or_init(|| {
        let owner = Arc::new(Counting::default());
        Guard::install(GuardConfig::default(), Arc::<Counting>::clone(&owner)).unwrap();
        owner
    });
    World {
        guard: Guard::get().unwrap(),
        owner: Arc::clone(owner),
        _alone: alone,
    }
}

impl World {
    pub(crate) fn lazy(&self, nbytes: usize, first: u64) -> Slot {
        let slot = self.guard.alloc(nbytes).unwrap();
        self.guard.tag(slot).store(first, SeqCst);
        slot
    }

    pub(crate) fn read(&self, slot: Slot, index: usize) -> u64 {
        element(self.guard, slot, index)
    }

    pub(crate) fn write(&self, slot: Slot, index: usize, value: u64) {
        let place = self.guard.addr(slot).wrapping_add(index * 8);
        // SAFETY: within the slot; the guard makes the page appear writable.
        unsafe { place.cast::<[u8; 8]>().write_volatile(value.to_ne_bytes()) };
    }

    pub(crate) fn barriers(&self, slot: Slot) -> u32 {
        let barriers = self.owner.barriers.lock().unwrap();
        barriers.get(&slot).copied().unwrap_or(0)
    }

    pub(crate) fn forget(&self, slot: Slot) {
        self.guard.free(slot);
        self.owner.barriers.lock().unwrap().remove(&slot);
        self.owner.evaluated.lock().unwrap().remove(&slot);
    }
}

pub(crate) fn maps() -> usize {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    text.lines().count()
}
