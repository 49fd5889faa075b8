//! A mutex made of one futex word, which can be held across `fork`.
//!
//! `std::sync::Mutex` ties its guard to a scope. Around a fork the lock is taken in one call and
//! given back in another, in two processes. Never used in the signal handler.

#![expect(
    unsafe_code,
    reason = "a mutex hands out exclusive access to its content"
)]

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::sys;

const FREE: u32 = 0;
const HELD: u32 = 1;
const CONTENDED: u32 = 2;

/// Exclusive access to `T`, which can be held across a fork.
pub struct Lock<T> {
    word: AtomicU32,
    content: UnsafeCell<T>,
}

// SAFETY: `with` hands the content to one thread at a time, so sending it suffices.
unsafe impl<T: Send> Sync for Lock<T> {}

struct Release<'a>(&'a AtomicU32);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        if self.0.swap(FREE, SeqCst) == CONTENDED {
            sys::futex_wake(self.0);
        }
    }
}

impl<T> Lock<T> {
    /// Free, with this content.
    pub fn new(content: T) -> Lock<T> {
        Lock {
            word: AtomicU32::new(FREE),
            content: UnsafeCell::new(content),
        }
    }

    /// Runs `f` with the content. Must not be nested.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.acquire();
        let _release = Release(&self.word);
        // SAFETY: the word is held by this call alone until `_release` drops.
        let content = unsafe { &mut *self.content.get() };
        f(content)
    }

    /// Takes the lock until `release`, which may happen in a forked child.
    pub fn acquire(&self) {
        if self
            .word
            .compare_exchange(FREE, HELD, SeqCst, SeqCst)
            .is_ok()
        {
            return;
        }
        while self.word.swap(CONTENDED, SeqCst) != FREE {
            sys::futex_wait(&self.word, CONTENDED);
        }
    }

    /// Gives back what `acquire` took.
    pub fn release(&self) {
        drop(Release(&self.word));
    }
}
