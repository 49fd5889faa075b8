//! Forks: no page is half-moved, no lock is held by a thread that the child lacks.
//!
//! The order is: the owner evaluates what it wants to and takes none of its locks yet; then the
//! service thread comes to rest; then the owner's locks; then the guard's; then `fork`. Until `after_fork_parent` or
//! `after_fork_child` the forking thread neither touches lazy memory nor calls the guard.

use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::guard::Guard;
use crate::sys;

/// Counts page moves in progress and keeps new ones out around a fork. Async-signal-safe.
#[derive(Default)]
pub(crate) struct Gate {
    /// One between `before_fork` and its counterpart.
    announced: AtomicU32,
    closed: AtomicU32,
    inside: AtomicU32,
}

impl Gate {
    pub(crate) fn enter(&self) {
        loop {
            self.inside.fetch_add(1, SeqCst);
            if self.closed.load(SeqCst) == 0 {
                return;
            }
            self.leave();
            sys::futex_wait(&self.closed, 1);
        }
    }

    pub(crate) fn leave(&self) {
        let left = self.inside.fetch_sub(1, SeqCst) - 1;
        if left == 0 && self.closed.load(SeqCst) != 0 {
            sys::futex_wake(&self.inside);
        }
    }

    fn close(&self) {
        self.closed.store(1, SeqCst);
        loop {
            let inside = self.inside.load(SeqCst);
            if inside == 0 {
                return;
            }
            sys::futex_wait(&self.inside, inside);
        }
    }

    fn open(&self) {
        self.closed.store(0, SeqCst);
        sys::futex_wake(&self.closed);
    }

    fn reset(&self) {
        self.inside.store(0, SeqCst);
        self.closed.store(0, SeqCst);
    }
}

impl Guard {
    /// Brings the guard to rest: the service thread finishes what it does, moves end, locks are
    /// taken. Call it right before `fork`, without holding what an evaluation needs.
    pub fn before_fork(&self) {
        self.before_fork_with(|| ());
    }

    /// As [`Guard::before_fork`]; runs `take_locks` after the service thread has come to rest and
    /// before anything of the guard is locked. There the owner takes the locks under which its
    /// other threads call the guard.
    pub fn before_fork_with(&self, take_locks: impl FnOnce()) {
        self.service.pause();
        take_locks();
        self.hold_for_fork();
        self.gate.announced.store(1, SeqCst);
    }

    /// Goes on in the parent.
    pub fn after_fork_parent(&self) {
        self.gate.announced.store(0, SeqCst);
        self.release_in_parent();
        self.service.resume();
    }

    /// Goes on in the child, where the forking thread is the only one. Slots that another thread
    /// of the parent was busy with are Lazy (or `ReadOnly`) again. The service thread starts at
    /// once if lazy arrays were inherited, else with the first one.
    pub fn after_fork_child(&self) {
        self.gate.announced.store(0, SeqCst);
        self.release_in_child();
    }

    fn hold_for_fork(&self) {
        for class in &self.classes {
            class.acquire();
        }
        self.pool.hold_for_fork();
        self.gate.close();
    }

    fn release_in_parent(&self) {
        self.gate.open();
        self.release_locks();
    }

    fn release_in_child(&self) {
        self.gate.reset();
        self.release_locks();
        self.service.forget_parent();
        for slot in self.used_slots() {
            self.arena.record(slot).settle_after_fork();
        }
        if self.live_slots() > 0 {
            self.restart_service_after_fork();
        }
    }

    fn release_locks(&self) {
        self.pool.release_after_fork();
        for class in &self.classes {
            class.release();
        }
    }
}

/// The guard, if a fork is under way that nobody announced by `before_fork`.
fn unannounced() -> Option<&'static Guard> {
    Guard::get().filter(|guard| guard.gate.announced.load(SeqCst) == 0)
}

/// Covers forks by code that does not call `before_fork`: locks and moves come to rest, and the
/// child gets its own service thread. The parent's one is not waited for: what it evaluates may
/// need a lock that the forking thread holds.
pub(crate) fn watch_forks() {
    extern "C" fn prepare() {
        if let Some(guard) = unannounced() {
            guard.hold_for_fork();
        }
    }
    extern "C" fn parent() {
        if let Some(guard) = unannounced() {
            guard.release_in_parent();
        }
    }
    extern "C" fn child() {
        if let Some(guard) = unannounced() {
            guard.release_in_child();
        }
    }
    sys::at_fork(prepare, parent, child);
}
