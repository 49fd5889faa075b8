//! Forks, announced or not, at rest or amid faults.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use arrayloom_guard::{Guard, State};

use crate::world::{install, lazy, read, write};

/// Forks; the child runs `child` and must end well.
fn fork(hooks: bool, child: impl FnOnce()) {
    let guard = Guard::get().unwrap();
    if hooks {
        guard.before_fork();
    }
    // SAFETY: the child uses nothing but the guard, whose rules are under test.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        if hooks {
            guard.after_fork_child();
        }
        child();
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(0) };
    }
    if hooks {
        guard.after_fork_parent();
    }
    let mut status = -1;
    // SAFETY: `status` is a valid place.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    assert_eq!(status, 0, "the child ended badly");
}

fn check_all_states(guard: &'static Guard) {
    let slots = [1, 2, 3, 4].map(|byte| lazy(guard, 20_000, byte));
    let block = guard.pool().get(20_000, true).unwrap();
    guard.computed(slots[1], block);
    assert_eq!(read(guard, slots[2], 0), 3);
    assert_eq!(read(guard, slots[3], 0), 4);
    write(guard, slots[3], 0, 5);
    let look = || {
        assert_eq!(slots.map(|slot| read(guard, slot, 0)), [1, 0, 3, 5]);
        write(guard, slots[2], 0, 77);
        assert_eq!(
            [read(guard, slots[2], 0), read(guard, slots[2], 1)],
            [77, 3]
        );
        let young = lazy(guard, 50_000, 6);
        assert_eq!(read(guard, young, 49_999), 6);
        guard.free(young);
    };
    fork(true, look);
    assert_eq!(guard.state(slots[0]), State::Lazy, "the child has its own");
    look();
    for slot in slots {
        guard.free(slot);
    }
}

pub(crate) fn fork_with_pending_slots() {
    let (guard, _owner) = install();
    fork(true, || {
        assert_eq!(read(guard, lazy(guard, 5000, 7), 0), 7);
    });
    for _ in 0..5 {
        check_all_states(guard);
    }
    fork(true, || check_all_states(guard));
}

pub(crate) fn fork_amid_faults() {
    let (guard, owner) = install();
    owner.slow.store(200, SeqCst);
    let stop = AtomicU32::new(0);
    thread::scope(|scope| {
        for step in 0..3 {
            let stop = &stop;
            scope.spawn(move || {
                while stop.load(SeqCst) == 0 {
                    let slot = lazy(guard, 20_000, step);
                    assert_eq!(read(guard, slot, 0), step);
                    write(guard, slot, 0, step);
                    guard.free(slot);
                }
            });
        }
        for _ in 0..40 {
            let slot = lazy(guard, 9000, 50);
            fork(true, || {
                assert_eq!(read(guard, slot, 8999), 50);
                assert_eq!(read(guard, lazy(guard, 9000, 51), 8999), 51);
            });
            assert_eq!(read(guard, slot, 8999), 50);
            guard.free(slot);
        }
        stop.store(1, SeqCst);
    });
}

/// Threads free slots of changing sizes, so that kept pages make room for others all the time.
pub(crate) fn fork_amid_warm_slots() {
    let (guard, _owner) = install();
    guard.keep_warm(300_000);
    let stop = AtomicU32::new(0);
    thread::scope(|scope| {
        for step in 1..4 {
            let stop = &stop;
            scope.spawn(move || {
                let sizes = [20_000, 60_000, 130_000, 250_000].into_iter().cycle();
                for bytes in sizes.take_while(|_| stop.load(SeqCst) == 0) {
                    let slot = guard.alloc_ready(bytes, true).unwrap();
                    assert_eq!(read(guard, slot, 100), 0);
                    write(guard, slot, 100, step);
                    assert_eq!(read(guard, slot, 100), step);
                    guard.free(slot);
                }
            });
        }
        for _ in 0..60 {
            fork(true, || {
                let slot = guard.alloc_ready(60_000, true).unwrap();
                assert_eq!(read(guard, slot, 100), 0);
                guard.free(slot);
            });
        }
        stop.store(1, SeqCst);
    });
}

pub(crate) fn fork_behind_our_back() {
    let (guard, _owner) = install();
    let (slot, written) = (lazy(guard, 9000, 50), lazy(guard, 9000, 60));
    assert_eq!(read(guard, written, 1), 60);
    fork(false, || {
        write(guard, written, 1, 0);
        assert_eq!([read(guard, written, 1), read(guard, written, 2)], [0, 60]);
    });
    fork(false, || assert_eq!(read(guard, slot, 8999), 50));
    assert_eq!(read(guard, slot, 8999), 50);
}
