//! How much a list may hold, by the time that full lists take. While one runs, nothing else of the program's loop does: its
//! clock goes on, and signals wait.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bytes of results of a list before anything is known. It is long enough for what several iterations share.
const START: u64 = 4 << 30;
/// The least that is learned.
const LEAST: u64 = 256 << 20;
/// The most that is of use.
const MOST: u64 = 1 << 40;
/// Operations that a list may hold in any case.
const NODES: usize = 64;
/// A list that takes longer is halved, one that takes less is doubled.
const LONG: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_millis(400);

/// The bytes of results that make a list full.
pub(crate) struct Pace(AtomicU64);

impl Default for Pace {
    fn default() -> Pace {
        Pace(AtomicU64::new(START))
    }
}

impl Pace {
    /// True if a list of so many operations and bytes of results is to run.
    pub(crate) fn is_full(&self, nodes: usize, bytes: u64) -> bool {
        nodes >= NODES && bytes >= self.0.load(Relaxed)
    }

    /// Tells what a full list took.
    pub(crate) fn learn(&self, took: Duration) {
        let now = self.0.load(Relaxed);
        let next = if took > LONG {
            (now / 2).max(LEAST)
        } else if took < SHORT {
            (now * 2).min(MOST)
        } else {
            now
        };
        self.0.store(next, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::{LONG, NODES, Pace, SHORT, START};
    use std::time::Duration;

    #[test]
    fn lists_that_take_long_get_shorter() {
        let pace = Pace::default();
        assert!(!pace.is_full(NODES, START - 1));
        assert!(pace.is_full(NODES, START));
        assert!(!pace.is_full(NODES - 1, START));
        pace.learn(2 * LONG);
        assert!(pace.is_full(NODES, START / 2));
        pace.learn((SHORT + LONG) / 2);
        assert!(pace.is_full(NODES, START / 2));
        pace.learn(SHORT / 2);
        assert!(!pace.is_full(NODES, START / 2));
        for _ in 0..100 {
            pace.learn(Duration::ZERO);
        }
        for _ in 0..100 {
            pace.learn(2 * LONG);
        }
        assert!(pace.is_full(NODES, START));
        assert!(!pace.is_full(NODES, 1));
    }
}
