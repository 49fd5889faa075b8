//! Threads that are in our code when the interpreter ends.
//!
//! Up to Python 3.13 a daemon thread ends in the middle of whatever call takes the interpreter's lock next, by an unwinding
//! that nobody may catch and that code in Rust cannot pass on. So the interpreter ends while no thread is in a slot. From
//! 3.14 on Python itself lets such threads wait.

use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Threads in a slot. It is changed by threads that are attached.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Set while threads do not enter.
static CLOSED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Slots that this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// How long the end of the interpreter waits for a thread that does not come out, such as one that waits for another.
const PATIENCE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(1);

/// A thread in a slot.
pub(crate) struct Within {
    has_left: bool,
}

impl Within {
    /// Enters, unless the interpreter is about to end: then the thread waits before the slot, where it may end.
    #[inline]
    pub(crate) fn new(py: Python<'_>) -> Within {
        let depth = DEPTH.get();
        if depth == 0 {
            while CLOSED.load(Relaxed) {
                py.detach(|| thread::sleep(STEP));
            }
            INSIDE.fetch_add(1, Relaxed);
        }
        DEPTH.set(depth + 1);
        Within { has_left: false }
    }

    /// Leaves.
    #[inline]
    pub(crate) fn leave(mut self) {
        self.has_left = true;
    }
}

impl Drop for Within {
    #[inline]
    fn drop(&mut self) {
        // A panic of ours is caught, and becomes an exception. Another unwinding is the thread's end, which waits here for
        // that of the process.
        while !self.has_left && !thread::panicking() {
            thread::park();
        }
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Relaxed);
        }
    }
}

/// Lets all threads come out of our code; called by the main thread when the interpreter is about to end.
#[pyfunction]
pub(crate) fn let_threads_out(py: Python<'_>) {
    let end = Instant::now() + PATIENCE;
    CLOSED.store(true, Relaxed);
    while INSIDE.load(Relaxed) > 0 && Instant::now() < end {
        py.detach(|| thread::sleep(STEP));
    }
    // Nobody has the lock but this thread, and it keeps it if nothing of the program runs behind this.
    CLOSED.store(false, Relaxed);
}

/// Forgets the threads that a fork has left in the parent.
pub(crate) fn after_fork_child() {
    INSIDE.store(usize::from(DEPTH.get() > 0), Relaxed);
    CLOSED.store(false, Relaxed);
}

/// Has [`let_threads_out`] called at the end, where Python needs it.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    if py.version_info() < (3, 14) {
        let call = module.getattr("let_threads_out")?;
        py.import("atexit")?.call_method1("register", (call,))?;
    }
    Ok(())
}
