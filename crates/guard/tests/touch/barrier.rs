//! Write barriers, failures, and steps that must not happen.

use std::sync::atomic::Ordering::SeqCst;

use arrayloom_guard::State;

use crate::world::{FAIL, PANIC, World, world};

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

#[test]
fn a_reclaimed_value_is_asked_for_again() {
    let w = world();
    for len in [4096, 5 << 20] {
        let slot = w.guard.alloc_ready(len, true).unwrap();
        w.write(slot, 0, 7);
        assert!(w.guard.protect(slot));
        let block = w.guard.reclaim(slot).unwrap();
        assert_eq!(w.guard.state(slot), State::Lazy);
        assert!(w.guard.reclaim(slot).is_none());
        w.guard.computed(slot, block);
        assert_eq!(w.guard.state(slot), State::Computed);
        assert_eq!(w.read(slot, 0), 7);
        assert!(w.guard.unprotect(slot));
        w.write(slot, len / 8 - 1, 8);
        assert_eq!(w.read(slot, len / 8 - 1), 8);
        w.forget(slot);
    }
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

#[cfg(debug_assertions)]
mod illegal {
    use super::{World, world};
    use crate::world::block_from;

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
