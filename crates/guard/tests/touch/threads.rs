//! Many threads, many lives, exact counts.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use arrayloom_guard::{Slot, State};

use crate::world::{World, block_from, maps, world};

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
fn what_was_seen_and_taken_back_before_its_evaluation_ends_is_not_lost() {
    let w = world();
    let slot = w.lazy(8192, 100);
    let failures = w.guard.counters().failures;
    w.owner.takes_back.store(true, SeqCst);
    assert_eq!(w.read(slot, 1), 101);
    assert_eq!(w.owner.evaluated.lock().unwrap()[&slot], 2);
    assert_eq!(w.guard.counters().failures, failures);
    w.forget(slot);
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

/// Five writers and readers against an engine that keeps protecting; every protection must be met
/// by exactly one barrier, and no write may be lost.
#[test]
fn stress_with_exact_counts() {
    let w = world();
    let slots: Vec<Slot> = (0..32)
        .map(|_| w.guard.alloc_ready(16_384, true).unwrap())
        .collect();
    let before = w.guard.counters();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..5 {
            let (w, slots, stop) = (&w, &slots, &stop);
            scope.spawn(move || {
                let mut random = writer as u64 + 1;
                let mut count = 0;
                while !stop.load(SeqCst) {
                    random = random
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(9);
                    let slot = slots[(random >> 40) as usize % slots.len()];
                    let index = writer + (random >> 50) as usize % 300 * 5;
                    count += 1;
                    w.write(slot, index, count);
                    assert_eq!(w.read(slot, index), count);
                }
            });
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(3);
        while std::time::Instant::now() < end {
            for &slot in &slots {
                assert!(w.guard.protect(slot));
            }
        }
        stop.store(true, SeqCst);
    });
    let left = slots
        .iter()
        .filter(|&&slot| w.guard.state(slot) == State::ReadOnly)
        .count() as u64;
    let after = w.guard.counters();
    let barriers = after.write_barriers - before.write_barriers;
    assert_eq!(barriers + left, after.protections - before.protections);
    assert!(barriers > 100, "only {barriers} barriers");
    assert_eq!(after.failures, before.failures);
    for slot in slots {
        w.forget(slot);
    }
}

/// Threads that create, touch, write and free their own slots all at once.
#[test]
fn stress_of_whole_lives() {
    const ROUNDS: u64 = 700;
    let w = world();
    let run = || {
        thread::scope(|scope| {
            for step in 0..6 {
                let w = &w;
                scope.spawn(move || (0..ROUNDS).for_each(|k| one_life(w, step, k)));
            }
        });
        w.guard.pool().trim(usize::MAX);
    };
    // The first run leaves thread stacks and heaps behind.
    run();
    let (live, maps_before) = (w.guard.pool().stats().live_bytes, maps());
    let before = w.guard.counters();
    run();
    let after = w.guard.counters();
    assert_eq!(after.publishes - before.publishes, 6 * ROUNDS);
    assert_eq!(after.write_barriers - before.write_barriers, 6 * ROUNDS);
    assert_eq!(after.live_slots, before.live_slots);
    assert_eq!(w.guard.pool().stats().live_bytes, live);
    let now = maps();
    assert!(now <= maps_before + 8, "{maps_before} maps became {now}");
}

fn one_life(w: &World, step: u64, k: u64) {
    let first = k * 100 + step;
    let elements = 100 + k * step % 9 * 700;
    let nbytes = usize::try_from(8 * elements).unwrap();
    let slot = w.lazy(nbytes, first);
    if k.is_multiple_of(3) {
        w.guard.computed(slot, block_from(w.guard, nbytes, first));
    }
    assert_eq!(w.read(slot, nbytes / 8 - 1), first + elements - 1);
    w.write(slot, 50, k);
    let around = [49, 50, 51].map(|index| w.read(slot, index));
    assert_eq!(around, [first + 49, k, first + 51]);
    w.forget(slot);
}
