//! A pool of threads that do the parts of one job, each taking a part until there is none left; the
//! caller is worker 0.
//!
//! A worker that has not begun when the caller finds nothing left is not waited for. So a short job costs
//! no more than doing it alone where the system wakes the others late.

#![expect(
    unsafe_code,
    reason = "a borrowed function is lent to threads that outlive the borrow"
)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// A borrowed function, its life erased.
#[derive(Clone, Copy)]
struct Job(*const (dyn Fn(usize) + Sync));

// SAFETY: the function is `Sync`, and `Pool::run` keeps it alive until every worker is done with it.
unsafe impl Send for Job {}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// Counts jobs, so that a worker takes each once.
    turn: u64,
    /// Workers that may take part in the job, worker 0 not counted.
    wanted: usize,
    stop: bool,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    start: Condvar,
    /// Workers that have begun and not finished.
    busy: AtomicUsize,
    failed: AtomicBool,
    done: Condvar,
    done_lock: Mutex<()>,
}

/// Threads that wait for work.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: usize,
}

/// How often a caller looks before it sleeps.
const SPINS: usize = 4000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Starts `threads - 1` threads, fewer if the system refuses.
    pub(crate) fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        let mut workers = 0;
        for number in 1..threads {
            let mine = Arc::clone(&shared);
            let started = thread::Builder::new()
                .name(format!("arrayloom-{number}"))
                .spawn(move || work(&mine, number));
            if started.is_err() {
                break;
            }
            workers += 1;
        }
        Pool { shared, workers }
    }

    /// Threads that [`Pool::run`] uses at most, the caller counted.
    pub(crate) fn threads(&self) -> usize {
        self.workers + 1
    }

    /// Calls `f(0)` here and some of `f(1)` to `f(threads - 1)` on the workers, and waits for those that have
    /// begun when `f(0)` is done. Every call must take parts until there are none left, so that the job is
    /// done when `f(0)` and they are.
    pub(crate) fn run(&self, threads: usize, f: &(dyn Fn(usize) + Sync)) {
        let wanted = self.workers.min(threads.saturating_sub(1));
        if wanted == 0 {
            f(0);
            return;
        }
        {
            let mut state = lock(&self.shared.state);
            state.job = Some(Job(erase(f)));
            state.turn += 1;
            state.wanted = wanted;
        }
        self.shared.start.notify_all();
        let guard = Wait(&self.shared);
        f(0);
        drop(guard);
        let failed = self.shared.failed.swap(false, Ordering::AcqRel);
        assert!(!failed, "a worker thread panicked");
    }

    /// Leaves the threads alone: after a fork they do not exist in the child.
    pub(crate) fn abandon(self) {
        let _gone = std::mem::ManuallyDrop::new(self);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        lock(&self.shared.state).stop = true;
        self.shared.start.notify_all();
    }
}

/// Erases the life of `f`; the pointer is used only while [`Pool::run`] waits.
fn erase<'a>(f: &'a (dyn Fn(usize) + Sync + 'a)) -> *const (dyn Fn(usize) + Sync + 'static) {
    let pointer: *const (dyn Fn(usize) + Sync + 'a) = f;
    // SAFETY: only the life in the type changes; see `Job`.
    #[expect(clippy::transmute_ptr_to_ptr, reason = "a cast cannot change the life")]
    unsafe {
        std::mem::transmute::<*const (dyn Fn(usize) + Sync + 'a), _>(pointer)
    }
}

/// Ends the job when dropped, also when the caller's part panics: no other worker begins, and those that
/// have are waited for.
struct Wait<'a>(&'a Shared);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).job = None;
        for _ in 0..SPINS {
            if self.0.busy.load(Ordering::Acquire) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        let mut guard = lock(&self.0.done_lock);
        while self.0.busy.load(Ordering::Acquire) != 0 {
            guard = self
                .0
                .done
                .wait(guard)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Waits for the next job that this worker takes part in; `None` when the pool is gone.
fn next_job(shared: &Shared, number: usize, seen: &mut u64) -> Option<Job> {
    let mut state = lock(&shared.state);
    loop {
        if state.stop {
            return None;
        }
        if state.turn != *seen {
            *seen = state.turn;
            let job = state.job.filter(|_| number <= state.wanted);
            if job.is_some() {
                shared.busy.fetch_add(1, Ordering::AcqRel);
                return job;
            }
        }
        state = shared
            .start
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    }
}

fn work(shared: &Shared, number: usize) {
    let mut seen = 0;
    while let Some(job) = next_job(shared, number, &mut seen) {
        // SAFETY: this worker counts as busy since it took the job, and `Pool::run` waits for those before
        // it returns, so the function is alive.
        let f = unsafe { &*job.0 };
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f(number)));
        if ran.is_err() {
            shared.failed.store(true, Ordering::Release);
        }
        let guard = lock(&shared.done_lock);
        if shared.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            shared.done.notify_all();
        }
        drop(guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of each of four workers for a job in so many parts.
    fn calls(pool: &Pool, threads: usize, parts: usize) -> [usize; 4] {
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let calls = [const { AtomicUsize::new(0) }; 4];
        pool.run(threads, &|number| {
            calls[number].fetch_add(1, Ordering::Relaxed);
            while next.fetch_add(1, Ordering::Relaxed) < parts {
                thread::yield_now();
                done.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(done.into_inner(), parts);
        calls.map(AtomicUsize::into_inner)
    }

    #[test]
    fn all_parts_are_done_once_and_by_workers_that_were_asked() {
        let pool = Pool::new(4);
        for (threads, parts) in (1..=4).flat_map(|n| (0..50).map(move |parts| (n, parts))) {
            let calls = calls(&pool, threads, parts);
            assert_eq!(calls[0], 1);
            assert!(calls[..threads].iter().all(|&n| n <= 1));
            assert!(calls[threads..].iter().all(|&n| n == 0));
        }
    }

    #[test]
    fn a_worker_that_has_begun_is_waited_for() {
        let pool = Pool::new(2);
        let (begun, ended) = (AtomicBool::new(false), AtomicBool::new(false));
        pool.run(2, &|number| {
            if number == 0 {
                while !begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            } else {
                begun.store(true, Ordering::Release);
                thread::sleep(std::time::Duration::from_millis(30));
                ended.store(true, Ordering::Release);
            }
        });
        assert!(ended.into_inner());
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_pool_lives() {
        let pool = Pool::new(2);
        let begun = AtomicBool::new(false);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.run(2, &|number| {
                begun.fetch_or(number > 0, Ordering::AcqRel);
                assert_eq!(number, 0, "worker fails");
                while !begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
            });
        }));
        assert!(caught.is_err());
        pool.run(2, &|_| {});
    }
}
