//! Slots that keep their pages after they are freed.

use arrayloom_guard::State;

use crate::world::world;

#[test]
fn the_next_slot_of_the_size_gets_the_pages() {
    let w = world();
    let live = w.guard.counters().live_slots;
    w.guard.keep_warm(1 << 20);
    let first = w.guard.alloc_ready(100_000, false).unwrap();
    w.write(first, 9, 77);
    w.guard.free(first);
    assert_eq!(w.guard.counters().live_slots, live);
    assert_eq!(w.guard.state(first), State::Free);
    assert!(w.guard.warm_bytes() >= 100_000);
    let lazy = w.guard.alloc(100_000).unwrap();
    assert_ne!(
        lazy, first,
        "only a slot that needs pages gets one with pages"
    );
    let other = w.guard.alloc_ready(90_000, false).unwrap();
    assert_ne!(other, first, "too large for it");
    let second = w.guard.alloc_ready(99_999, false).unwrap();
    assert_eq!(second, first);
    assert_eq!(w.guard.nbytes(second), 99_999);
    assert_eq!(
        w.guard
            .tag(second)
            .load(std::sync::atomic::Ordering::SeqCst),
        0
    );
    assert_eq!(w.read(second, 9), 77);
    assert_eq!(w.guard.warm_bytes(), 0);
    w.guard.free(second);
    let third = w.guard.alloc_ready(100_000, true).unwrap();
    assert_eq!(
        (third, w.read(third, 9)),
        (first, 0),
        "zeroed when asked for"
    );
    for slot in [third, other, lazy] {
        w.guard.free(slot);
    }
    w.guard.keep_warm(0);
}

#[test]
fn pages_go_back_to_the_pool_when_asked_for() {
    let w = world();
    let live = w.guard.pool().stats().live_bytes;
    w.guard.keep_warm(1 << 20);
    let slots: Vec<_> = (0..4)
        .map(|_| w.guard.alloc_ready(50_000, false).unwrap())
        .collect();
    for &slot in &slots {
        w.guard.free(slot);
    }
    let warm = w.guard.warm_bytes();
    assert_eq!(w.guard.pool().stats().live_bytes, live + warm);
    assert_eq!(w.guard.cool(), warm);
    assert_eq!(w.guard.pool().stats().live_bytes, live);
    assert_eq!((w.guard.warm_bytes(), w.guard.cool()), (0, 0));
    let again = w.lazy(50_000, 3);
    assert!(slots.contains(&again), "their places are used again");
    assert_eq!(w.read(again, 1), 4, "and hold nothing");
    w.forget(again);
    w.guard.keep_warm(0);
}

#[test]
fn only_so_many_bytes_wait() {
    let w = world();
    w.guard.keep_warm(120_000);
    let slots: Vec<_> = (0..3)
        .map(|_| w.guard.alloc_ready(50_000, false).unwrap())
        .collect();
    for slot in slots {
        w.guard.free(slot);
    }
    assert!((50_000..=120_000).contains(&w.guard.warm_bytes()));
    w.guard.keep_warm(0);
    assert_eq!(w.guard.warm_bytes(), 0);
}

#[test]
fn a_slot_that_a_reader_protects_keeps_its_pages_and_can_be_written_again() {
    let w = world();
    w.guard.keep_warm(1 << 20);
    let slot = w.guard.alloc_ready(50_000, false).unwrap();
    w.write(slot, 7, 70);
    assert!(w.guard.protect(slot));
    w.guard.free(slot);
    assert!(w.guard.warm_bytes() >= 50_000);
    let again = w.guard.alloc_ready(50_000, false).unwrap();
    assert_eq!((again, w.read(again, 7)), (slot, 70));
    let caught = w.guard.counters().write_barriers;
    w.write(again, 7, 71);
    assert_eq!(w.read(again, 7), 71);
    assert_eq!(w.guard.counters().write_barriers, caught);
    w.guard.free(again);
    w.guard.keep_warm(0);
}
