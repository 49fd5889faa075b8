//! Launches that PoCL must not have under way together.
//!
//! PoCL (3.1) keeps several bodies of a kernel: one for each grid that was wider than those before, and one more
//! for the binary of the program. But a launch that ends gives back the body that was used last, whichever it
//! had. When two are in use, the count of users of one falls below zero, and an assertion of PoCL ends the process
//! (`pocl_release_dlhandle_cache`). Bodies are kept by the text of the program, for all contexts of the process;
//! launches in one queue never meet. So across queues, launches of one program run together only over the same
//! grid, and its binary is taken while it does not run.

use crate::driver::{Failure, Mark};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, PoisonError, Weak};

type Grid = [usize; 3];

/// A launch in one of the queues.
struct One {
    queue: usize,
    grid: Grid,
    done: Mark,
}

/// Launches of a program that may be under way.
#[derive(Default)]
pub(crate) struct Running(Mutex<Vec<One>>);

impl Running {
    /// Those of the program with this text.
    pub(crate) fn of(text: &str) -> Arc<Running> {
        static ALL: Mutex<BTreeMap<u64, Weak<Running>>> = Mutex::new(BTreeMap::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(known) = all.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        all.retain(|_, program| program.strong_count() > 0);
        let new = Arc::<Running>::default();
        all.insert(key, Arc::downgrade(&new));
        new
    }

    /// Launches over a grid in the queue with this number.
    pub(crate) fn launch(
        &self,
        queue: usize,
        grid: Grid,
        launch: impl FnOnce() -> Result<Mark, Failure>,
    ) -> Result<(), Failure> {
        // Others wait for the lock: what they launch must not come between.
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| {
            let meet = one.queue != queue && one.grid != grid;
            // One that failed is not under way any more, and the last of equal ones stands for all.
            one.done.passed(meet) == Ok(false) && (one.queue, one.grid) != (queue, grid)
        });
        let done = launch()?;
        all.push(One { queue, grid, done });
        Ok(())
    }

    /// What a call answers that is made while the program does not run.
    pub(crate) fn without<T>(&self, call: impl FnOnce() -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.done.passed(true) == Ok(false));
        call()
    }
}
