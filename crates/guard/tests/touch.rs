//! Real touches of protected memory: one process, one guard, tests one after another so that the
//! counters can be checked exactly.

#![cfg(target_os = "linux")]
#![expect(unsafe_code, reason = "the tests touch raw memory")]
#![expect(
    clippy::unwrap_used,
    reason = "a helper of a test fails by panicking, like the test"
)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;

use arrayloom_guard::{Block, Guard, GuardConfig, GuardError, Owner, Slot, State};

/// A tag that makes evaluation fail.
const FAIL: u64 = u64::MAX;
/// A tag that makes evaluation panic.
const PANIC: u64 = u64::MAX - 1;

/// An engine whose arrays hold `tag, tag + 1, ..` as 64-bit integers.
#[derive(Default)]
struct Counting {
    evaluated: Mutex<BTreeMap<Slot, u32>>,
    barriers: Mutex<BTreeMap<Slot, u32>>,
    failed: Mutex<Vec<Slot>>,
    barrier_fails: AtomicBool,
    rearms: AtomicU64,
    slow: AtomicBool,
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

fn block_from(guard: &Guard, nbytes: usize, first: u64) -> Block {
    let block = guard.pool().get(nbytes, false).unwrap();
    for index in 0..nbytes / 8 {
        let value = first.wrapping_add(index as u64);
        let place = block.ptr().wrapping_add(index * 8).cast::<[u8; 8]>();
        // SAFETY: the block holds `nbytes` writable bytes, which are ours.
        unsafe { place.write(value.to_ne_bytes()) };
    }
    block
}

struct World {
    guard: &'static Guard,
    owner: Arc<Counting>,
    _alone: MutexGuard<'static, ()>,
}

fn world() -> World {
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
    fn lazy(&self, nbytes: usize, first: u64) -> Slot {
        let slot = self.guard.alloc(nbytes).unwrap();
        self.guard.tag(slot).store(first, SeqCst);
        slot
    }

    fn read(&self, slot: Slot, index: usize) -> u64 {
        let place = self.guard.addr(slot).wrapping_add(index * 8);
        // SAFETY: within the slot; the guard makes the page appear.
        u64::from_ne_bytes(unsafe { place.cast::<[u8; 8]>().read_volatile() })
    }

    fn write(&self, slot: Slot, index: usize, value: u64) {
        let place = self.guard.addr(slot).wrapping_add(index * 8);
        // SAFETY: within the slot; the guard makes the page appear writable.
        unsafe { place.cast::<[u8; 8]>().write_volatile(value.to_ne_bytes()) };
    }

    fn barriers(&self, slot: Slot) -> u32 {
        let barriers = self.owner.barriers.lock().unwrap();
        barriers.get(&slot).copied().unwrap_or(0)
    }

    fn forget(&self, slot: Slot) {
        self.guard.free(slot);
        self.owner.barriers.lock().unwrap().remove(&slot);
        self.owner.evaluated.lock().unwrap().remove(&slot);
    }
}

fn maps() -> usize {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap();
    text.lines().count()
}

#[test]
fn a_touch_brings_the_value_once() {
    let w = world();
    for nbytes in [8, 4096, 100_000, 3 << 20] {
        let slot = w.lazy(nbytes, 1000);
        let before = w.guard.counters();
        assert_eq!(w.guard.state(slot), State::Lazy);
        assert_eq!(w.read(slot, nbytes / 8 - 1), 1000 + nbytes as u64 / 8 - 1);
        assert_eq!(w.read(slot, 0), 1000);
        assert_eq!(w.guard.state(slot), State::ReadOnly);
        let after = w.guard.counters();
        assert_eq!(after.faults - before.faults, 1);
        assert_eq!(after.publishes - before.publishes, 1);
        assert_eq!(after.service_calls - before.service_calls, 1);
        assert_eq!(w.owner.evaluated.lock().unwrap()[&slot], 1);
        w.forget(slot);
    }
}

#[test]
fn a_computed_value_is_published_in_the_handler_without_the_service() {
    let w = world();
    let slot = w.lazy(50_000, 0);
    w.guard.computed(slot, block_from(w.guard, 50_000, 77));
    w.guard.unprotect(slot);
    assert_eq!(w.guard.state(slot), State::Computed);
    let before = w.guard.counters();
    assert_eq!(w.read(slot, 1), 78);
    assert_eq!(w.guard.state(slot), State::Ready);
    w.write(slot, 1, 5);
    assert_eq!(w.read(slot, 1), 5);
    let after = w.guard.counters();
    assert_eq!(after.handler_publishes - before.handler_publishes, 1);
    assert_eq!(after.service_calls, before.service_calls);
    assert_eq!(after.write_barriers, before.write_barriers);
    w.forget(slot);
}

#[test]
fn a_write_to_a_lazy_slot_keeps_the_rest_of_the_value() {
    let w = world();
    let slot = w.lazy(80_000, 10);
    w.write(slot, 3, 0);
    assert_eq!([2, 3, 4].map(|index| w.read(slot, index)), [12, 0, 14]);
    assert_eq!(w.guard.state(slot), State::Ready);
    assert_eq!(w.barriers(slot), 1, "published read-only by default");
    w.forget(slot);
}

#[test]
fn the_write_barrier_runs_exactly_once_for_each_protection() {
    let w = world();
    let slot = w.guard.alloc_ready(1 << 20, true).unwrap();
    assert_eq!(w.read(slot, 1000), 0);
    let before = w.guard.counters().write_barriers;
    for round in 0..400 {
        w.write(slot, round, 1);
        assert!(w.guard.protect(slot));
        assert_eq!(w.read(slot, round), 1);
        assert_eq!(w.guard.state(slot), State::ReadOnly);
        w.write(slot, round, 2);
        w.write(slot, round + 1, 3);
        assert_eq!(w.guard.state(slot), State::Ready);
    }
    assert_eq!(w.guard.counters().write_barriers - before, 400);
    assert_eq!(w.barriers(slot), 400);
    assert!(w.guard.protect(slot));
    assert!(w.guard.unprotect(slot));
    w.write(slot, 0, 9);
    assert_eq!(w.barriers(slot), 400, "unprotected by the engine");
    w.forget(slot);
}

#[test]
fn protection_during_a_barrier_runs_it_again() {
    let w = world();
    let slot = w.guard.alloc_ready(4096, true).unwrap();
    assert!(w.guard.protect(slot));
    w.owner.rearms.store(2, SeqCst);
    w.write(slot, 0, 1);
    assert_eq!(w.barriers(slot), 3);
    assert_eq!(w.guard.counters().failures, failures(&w));
    assert_eq!(w.guard.state(slot), State::Ready);
    w.forget(slot);
}

fn failures(w: &World) -> u64 {
    w.owner.failed.lock().unwrap().len() as u64
}

#[test]
fn a_failed_barrier_is_reported_and_lets_the_write_happen() {
    let w = world();
    let slot = w.guard.alloc_ready(4096, true).unwrap();
    assert!(w.guard.protect(slot));
    w.owner.barrier_fails.store(true, SeqCst);
    w.write(slot, 0, 1);
    w.owner.barrier_fails.store(false, SeqCst);
    assert_eq!(w.read(slot, 0), 1);
    assert_eq!(w.owner.failed.lock().unwrap().last(), Some(&slot));
    w.forget(slot);
}

#[test]
fn a_failed_evaluation_gives_nan_and_a_report() {
    let w = world();
    for tag in [FAIL, PANIC] {
        let slot = w.lazy(10_000, tag);
        let before = w.guard.counters().failures;
        assert!(f64::from_bits(w.read(slot, 1249)).is_nan());
        assert_eq!(w.read(slot, 0), u64::MAX);
        assert_eq!(w.guard.counters().failures - before, 1);
        assert_eq!(w.owner.failed.lock().unwrap().last(), Some(&slot));
        w.forget(slot);
    }
}

#[test]
fn six_threads_touch_many_slots_at_once() {
    let w = world();
    let slots: Vec<Slot> = (0..300).map(|k| w.lazy(8192, k * 10_000)).collect();
    let before = w.guard.counters();
    thread::scope(|scope| {
        for step in 0..6 {
            let (w, slots) = (&w, &slots);
            scope.spawn(move || {
                for forward in 0..slots.len() {
                    // Half of the threads go through the slots the other way.
                    let k = [forward, slots.len() - 1 - forward][step % 2];
                    let first = k as u64 * 10_000;
                    assert_eq!(w.read(slots[k], 1023), first + 1023);
                    assert_eq!(w.read(slots[k], step), first + step as u64);
                }
            });
        }
    });
    let after = w.guard.counters();
    assert_eq!(after.service_calls - before.service_calls, 300);
    assert_eq!(after.publishes - before.publishes, 300);
    assert_eq!(after.write_barriers, before.write_barriers);
    for slot in slots {
        w.forget(slot);
    }
}

#[test]
fn threads_that_fault_on_one_slot_all_wait_for_the_same_value() {
    let w = world();
    w.owner.slow.store(true, SeqCst);
    for round in 0..10 {
        let slot = w.lazy(40_000, round);
        thread::scope(|scope| {
            for index in 0..6 {
                let w = &w;
                scope.spawn(move || assert_eq!(w.read(slot, index), round + index as u64));
            }
        });
        assert_eq!(w.owner.evaluated.lock().unwrap()[&slot], 1);
        w.forget(slot);
    }
    w.owner.slow.store(false, SeqCst);
}

#[test]
fn concurrent_writers_cause_one_barrier() {
    let w = world();
    let slot = w.guard.alloc_ready(8192, true).unwrap();
    for round in 1..=200 {
        assert!(w.guard.protect(slot));
        thread::scope(|scope| {
            for index in 0..3 {
                let w = &w;
                scope.spawn(move || w.write(slot, index, round));
            }
        });
        assert_eq!(w.barriers(slot), u32::try_from(round).unwrap());
        assert_eq!([0, 1, 2].map(|index| w.read(slot, index)), [round; 3]);
    }
    w.forget(slot);
}

#[test]
fn a_thread_may_free_what_another_has_just_published() {
    let w = world();
    for round in 0..500 {
        let slot = w.lazy(16_384, round);
        w.guard.computed(slot, block_from(w.guard, 16_384, round));
        let (w, done) = (&w, &AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(move || {
                assert_eq!(w.read(slot, 5), round + 5);
                done.store(true, SeqCst);
            });
            scope.spawn(move || {
                while !done.load(SeqCst) {
                    std::hint::spin_loop();
                }
                w.guard.free(slot);
            });
        });
        assert_eq!(w.guard.state(slot), State::Free);
    }
}

#[test]
fn the_explicit_path_needs_no_fault() {
    let w = world();
    let before = w.guard.counters();
    let slot = w.lazy(30_000, 0);
    assert_eq!(w.guard.data(slot), None);
    assert!(w.guard.publish(slot, false).is_err(), "nothing to publish");
    let block = block_from(w.guard, 30_000, 4);
    let staging = block.ptr();
    w.guard.computed(slot, block);
    assert_eq!(w.guard.data(slot), Some(staging));
    w.guard.publish(slot, true).unwrap();
    assert_eq!(w.guard.state(slot), State::ReadOnly);
    assert_eq!(w.guard.data(slot), Some(w.guard.addr(slot)));
    assert_eq!(w.read(slot, 2), 6);
    w.guard.publish(slot, false).unwrap();
    assert_eq!(w.guard.counters().faults, before.faults);
    assert_eq!(w.guard.withdraw(slot).map(|_block| ()), None);
    w.forget(slot);
}

#[test]
fn a_value_can_be_withdrawn_and_replaced() {
    let w = world();
    let slot = w.lazy(30_000, 50);
    w.guard.computed(slot, block_from(w.guard, 30_000, 4));
    let old = w.guard.withdraw(slot).unwrap();
    w.guard.pool().put(old);
    assert_eq!(w.guard.state(slot), State::Lazy);
    assert_eq!(w.read(slot, 0), 50, "evaluated anew");
    w.forget(slot);
}

#[test]
fn a_pinned_value_stays_until_it_is_unpinned() {
    let w = world();
    let slot = w.lazy(8192, 0);
    assert_eq!(w.guard.pin(slot), None);
    w.guard.computed(slot, block_from(w.guard, 8192, 3));
    let place = w.guard.pin(slot).unwrap();
    let (w, unpinned) = (&w, &AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(move || {
            assert_eq!(w.read(slot, 0), 3);
            assert!(unpinned.load(SeqCst), "the touch waited");
        });
        thread::sleep(std::time::Duration::from_millis(30));
        assert_eq!(w.guard.state(slot), State::Computed);
        assert!(w.guard.withdraw(slot).is_none());
        // SAFETY: pinned, so the staging block is still there.
        let first = u64::from_ne_bytes(unsafe { place.cast::<[u8; 8]>().read() });
        assert_eq!(first, 3);
        unpinned.store(true, SeqCst);
        w.guard.unpin(slot);
    });
    w.forget(slot);
}

#[test]
fn addresses_find_their_slot_while_it_lives() {
    let w = world();
    let slot = w.lazy(10_000, 0);
    let start = w.guard.addr(slot).addr();
    assert_eq!(w.guard.slot_at(start), Some(slot));
    assert_eq!(w.guard.slot_at(start + 9_999), Some(slot));
    assert_eq!(w.guard.nbytes(slot), 10_000);
    w.forget(slot);
    assert_eq!(w.guard.slot_at(start), None);
    assert_eq!(w.guard.slot_at(std::ptr::from_ref(&w).addr()), None);
}

#[test]
fn ten_thousand_lives_leak_no_map_and_no_memory() {
    let w = world();
    let round = |k: u64| {
        let slot = w.lazy(usize::try_from(4096 + k % 5 * 4096).unwrap(), k);
        match k % 4 {
            0 => assert_eq!(w.read(slot, 1), k + 1),
            1 => w
                .guard
                .computed(slot, block_from(w.guard, w.guard.nbytes(slot), k)),
            2 => w.write(slot, 0, k),
            _ => {}
        }
        w.forget(slot);
    };
    (0..100).for_each(round);
    let (before, stats) = (maps(), w.guard.pool().stats());
    (0..10_000).for_each(round);
    let after = maps();
    assert!(after <= before + 8, "{before} maps became {after}");
    let now = w.guard.pool().stats();
    assert_eq!(now.live_bytes, stats.live_bytes);
    assert_eq!(now.misses, stats.misses, "all served from the pool");
}

#[test]
fn a_block_larger_than_its_slot_is_cut() {
    let w = world();
    let live = w.guard.pool().stats().live_bytes;
    let slot = w.lazy(65_536, 0);
    w.guard.computed(slot, block_from(w.guard, 200_000, 8));
    assert_eq!(w.read(slot, 8191), 8 + 8191);
    w.forget(slot);
    assert_eq!(w.guard.pool().stats().live_bytes, live);
}

#[test]
fn zeroed_and_empty_slots() {
    let w = world();
    let dirty = w.guard.alloc_ready(70_000, false).unwrap();
    (0..8750).for_each(|index| w.write(dirty, index, 1));
    w.forget(dirty);
    let clean = w.guard.alloc_ready(70_000, true).unwrap();
    assert!((0..8750).all(|index| w.read(clean, index) == 0));
    w.forget(clean);
    let empty = w.lazy(0, 0);
    assert_eq!(w.guard.nbytes(empty), 0);
    w.forget(empty);
    assert!(w.guard.alloc(usize::MAX).is_none());
    let refused = w.guard.alloc_ready(usize::MAX, false).unwrap_err();
    assert!(matches!(refused, GuardError::NoSlot { .. }), "{refused}");
}

#[test]
fn a_second_install_is_refused() {
    let w = world();
    let owner = Arc::clone(&w.owner);
    let second = Guard::install(GuardConfig::default(), owner);
    assert_eq!(second.err(), Some(GuardError::AlreadyInstalled));
    assert!(w.guard.owns_handler());
    w.guard.reinstall_handler();
    assert!(w.guard.owns_handler());
}

#[cfg(debug_assertions)]
mod illegal {
    use super::*;

    fn caught(step: impl Fn(&World)) {
        let w = world();
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| step(&w)));
        assert!(outcome.is_err(), "an illegal step went unnoticed");
    }

    #[test]
    fn steps_are_caught() {
        caught(|w| {
            let slot = w.guard.alloc_ready(4096, true).unwrap();
            w.guard.free(slot);
            w.guard.free(slot);
        });
        caught(|w| {
            let slot = w.lazy(4096, 0);
            w.guard.free(slot);
            w.guard.protect(slot);
        });
        caught(|w| {
            let slot = w.guard.alloc_ready(4096, true).unwrap();
            w.guard.computed(slot, block_from(w.guard, 4096, 0));
        });
        caught(|w| {
            let slot = w.lazy(100_000, 0);
            w.guard.computed(slot, block_from(w.guard, 4096, 0));
        });
    }
}
