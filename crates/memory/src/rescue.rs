//! A second chance when memory runs out.

use crate::{Addr, MemInfo, MemoryError, MemoryResource, Piece};
use arrayloom_types::Queue;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Frees memory somewhere; gets the bytes needed, tells the bytes freed.
type Rescue = Box<dyn Fn(u64) -> u64 + Send + Sync>;

/// Calls for help when the layer below is out of memory, and tries again.
///
/// The callback is asked as long as it frees something, at most `rounds` times for one request, by
/// one thread at a time. It may use this resource; requests it makes are not rescued themselves.
pub struct OnOom {
    upstream: Arc<dyn MemoryResource>,
    rescue: Rescue,
    rounds: u32,
    turn: Mutex<()>,
    rescuer: Mutex<Option<ThreadId>>,
}

impl OnOom {
    /// Rescues requests to `upstream` with `rescue`, at most `rounds` times each.
    pub fn new(
        upstream: Arc<dyn MemoryResource>,
        rounds: u32,
        rescue: impl Fn(u64) -> u64 + Send + Sync + 'static,
    ) -> OnOom {
        OnOom {
            upstream,
            rescue: Box::new(rescue),
            rounds,
            turn: Mutex::new(()),
            rescuer: Mutex::new(None),
        }
    }

    fn rescuer(&self) -> MutexGuard<'_, Option<ThreadId>> {
        self.rescuer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for help until the request is met, nothing more is freed, or the rounds are over.
    fn recover(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *self.rescuer() = Some(thread::current().id());
        let _done = Done(self);
        for _ in 0..self.rounds {
            // Somebody else's rescue may have been enough.
            if let Ok(piece) = self.upstream.get(bytes, queue) {
                return Ok(piece);
            }
            if (self.rescue)(bytes) == 0 {
                break;
            }
        }
        self.upstream.get(bytes, queue)
    }
}

/// Ends a rescue, also when the callback panics.
struct Done<'a>(&'a OnOom);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        *self.0.rescuer() = None;
    }
}

impl MemoryResource for OnOom {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        match self.upstream.get(bytes, queue) {
            Err(_refused) if *self.rescuer() != Some(thread::current().id()) => {
                self.recover(bytes, queue)
            }
            result => result,
        }
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        self.upstream.free(addr, bytes, queue);
    }

    fn trim(&self, want: u64) -> u64 {
        self.upstream.trim(want)
    }

    fn info(&self) -> MemInfo {
        self.upstream.info()
    }

    fn name(&self) -> &'static str {
        "rescue"
    }

    fn hold_for_fork(&self) {
        self.upstream.hold_for_fork();
    }

    fn release_after_fork(&self) {
        self.upstream.release_after_fork();
    }
}
