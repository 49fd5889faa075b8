//! Threads for one call.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::thread;

/// The start of each of `count` parts of about equal length, and the end of the last.
pub fn bands(length: usize, count: usize) -> Vec<usize> {
    let count = count.clamp(1, length.max(1));
    let start = |part: usize| {
        let (whole, rest) = (length / count, length % count);
        part * whole + part.min(rest)
    };
    (0..=count).map(start).collect()
}

/// The parts of a slice between `ends`.
pub(crate) fn split<'a, T>(mut rest: &'a mut [T], ends: &[usize]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(ends.len());
    for run in ends.windows(2) {
        let (part, later) = rest.split_at_mut(run[1] - run[0]);
        rest = later;
        parts.push(part);
    }
    parts
}

/// Elements from which on a thread more is worth its start, which takes as long as some hundred thousand.
const LEAST: usize = 512 << 10;

/// The threads that picking or counting so many elements is worth.
pub(crate) fn worth(threads: usize, elements: usize) -> usize {
    if elements < LEAST { 1 } else { threads }
}

/// Calls `work` for every task on up to `threads` threads, the caller's own counted, and waits. If the
/// system gives less threads, those there are do all of the work.
pub fn on_threads<T: Send>(tasks: Vec<T>, threads: usize, work: impl Fn(T) + Sync) {
    if threads == 1 {
        return tasks.into_iter().for_each(work);
    }
    let count = tasks.len();
    let left = Mutex::new(tasks.into_iter());
    let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take_all = || {
        while let Some(task) = next() {
            work(task);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            let started = thread::Builder::new().spawn_scoped(scope, take_all);
            if started.is_err() {
                break;
            }
        }
        take_all();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn bands_cover_everything_evenly() {
        assert_eq!(bands(10, 3), [0, 4, 7, 10]);
        assert_eq!(bands(2, 5), [0, 1, 2]);
        assert_eq!(bands(0, 4), [0, 0]);
    }

    #[test]
    fn every_task_is_done_once() {
        let done: Vec<AtomicUsize> = (0..100).map(|_| AtomicUsize::new(0)).collect();
        on_threads((0..100).collect(), 3, |task: usize| {
            done[task].fetch_add(1, Ordering::Relaxed);
        });
        assert!(done.iter().all(|d| d.load(Ordering::Relaxed) == 1));
    }
}
