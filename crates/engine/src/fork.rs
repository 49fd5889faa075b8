//! Forks: no lock of the engine is held by a thread that the child lacks.
//!
//! Between [`Engine::before_fork`] and its counterpart the forking thread has the turn, so nothing runs,
//! and holds the locks that other threads take without it. It keeps them itself, because they must be
//! opened in both processes.

use crate::Engine;
use crate::engine::lock;
use crate::table::Table;
use crate::turn::Holder;
use std::cell::RefCell;
use std::sync::MutexGuard;

/// What the forking thread holds.
#[derive(Default)]
struct Held {
    table: Option<MutexGuard<'static, Table>>,
    turns: Option<MutexGuard<'static, Holder>>,
}

thread_local! {
    static HELD: RefCell<Held> = RefCell::default();
}

impl Engine {
    /// Call right before `fork`, holding whatever keeps others from recording.
    pub fn before_fork(&'static self) {
        if let Err(error) = self.flush() {
            self.keep_failure(error);
        }
        self.turns.acquire();
        self.settle_device(false);
        self.unspill();
        let take_table = || HELD.with_borrow_mut(|held| held.table = Some(self.table()));
        match self.guard() {
            Some(guard) => self.turns.lend(|| guard.before_fork_with(take_table)),
            None => take_table(),
        }
        HELD.with_borrow_mut(|held| held.turns = Some(lock(&self.turns.holder)));
    }

    /// Goes on in the parent.
    pub fn after_fork_parent(&'static self) {
        HELD.take();
        if let Some(guard) = self.guard() {
            guard.after_fork_parent();
        }
        self.turns.release();
    }

    /// Goes on in the child.
    pub fn after_fork_child(&'static self) {
        HELD.take();
        if let Some(guard) = self.guard() {
            guard.after_fork_child();
        }
        self.turns.release();
    }
}
