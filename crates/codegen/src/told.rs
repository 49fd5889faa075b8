//! Words of floating-point conditions that a device has not written yet.

use crate::Steps;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex, PoisonError};

/// The words of one launch.
#[derive(Debug)]
struct Late<M, W> {
    /// They are written when this has passed.
    until: M,
    words: W,
    steps: Arc<Steps>,
    met: Arc<[AtomicU8]>,
}

/// Words that launches will write, in memory `W` that is kept for them until a point `M` in a queue.
#[derive(Debug)]
pub struct Told<M, W>(Mutex<VecDeque<Late<M, W>>>);

impl<M, W> Default for Told<M, W> {
    fn default() -> Told<M, W> {
        Told(Mutex::default())
    }
}

impl<M, W> Told<M, W> {
    /// Keeps the words of a launch: they are written when `until` has passed, and noted in `met` after that.
    pub fn add(&self, until: M, words: W, steps: &Arc<Steps>, met: &Arc<[AtomicU8]>) {
        let late = Late {
            until,
            words,
            steps: Arc::clone(steps),
            met: Arc::clone(met),
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push_back(late);
    }

    /// Notes what launches met whose words are written: `read` gives them. Words of a launch that failed are given
    /// to `leave`, since the device may still write to them.
    ///
    /// # Errors
    /// Those of `passed`: a launch failed, and nobody knows what it met.
    pub fn note<E>(
        &self,
        passed: impl Fn(&M) -> Result<bool, E>,
        read: impl Fn(&W) -> &[u32],
        leave: impl Fn(W),
    ) -> Result<(), E> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut waiting = VecDeque::new();
        let mut failed = None;
        while let Some(late) = all.pop_front() {
            match passed(&late.until) {
                Ok(true) => {
                    let watched = late.steps.watched.iter();
                    watched.for_each(|watched| watched.note(read(&late.words), &late.met));
                }
                Ok(false) => waiting.push_back(late),
                Err(error) => {
                    leave(late.words);
                    failed = Some(error);
                }
            }
        }
        *all = waiting;
        failed.map_or(Ok(()), Err)
    }
}
