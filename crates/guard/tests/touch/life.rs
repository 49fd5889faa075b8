//! The life of one slot: touched, published, withdrawn, freed.

use std::sync::Arc;

use arrayloom_guard::{Guard, GuardConfig, GuardError, State};

use crate::world::{block_from, world};

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
