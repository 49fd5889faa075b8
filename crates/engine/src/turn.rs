//! Whose turn it is to run the list. Held across whole flushes, and across forks.

use std::sync::{Condvar, Mutex, PoisonError};

/// Who has the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Holder {
    #[default]
    Nobody,
    Somebody,
    /// A thread that waits for the guard's service thread to rest, before a fork. The service thread
    /// may run meanwhile.
    Forker,
}

/// A lock that can be left without a guard object, as a fork needs.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    pub(crate) holder: Mutex<Holder>,
    changed: Condvar,
}

/// The turn of one thread; ends when dropped.
pub(crate) struct Turn<'a>(Option<&'a Turns>);

impl Turns {
    /// Waits for the turn.
    pub(crate) fn take(&self) -> Turn<'_> {
        self.acquire();
        Turn(Some(self))
    }

    /// The turn, if nobody has it.
    pub(crate) fn try_take(&self) -> Option<Turn<'_>> {
        let mut holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if *holder != Holder::Nobody {
            return None;
        }
        *holder = Holder::Somebody;
        Some(Turn(Some(self)))
    }

    /// Waits for the turn on the guard's service thread.
    pub(crate) fn take_for_service(&self) -> Turn<'_> {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(holder, |h| *h == Holder::Somebody);
        let mut holder = waited.unwrap_or_else(PoisonError::into_inner);
        if *holder == Holder::Forker {
            return Turn(None);
        }
        *holder = Holder::Somebody;
        Turn(Some(self))
    }

    /// Waits for the turn; [`Turns::release`] ends it.
    pub(crate) fn acquire(&self) {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_while(holder, |h| *h != Holder::Nobody);
        *waited.unwrap_or_else(PoisonError::into_inner) = Holder::Somebody;
    }

    pub(crate) fn release(&self) {
        self.set(Holder::Nobody);
    }

    /// While `rest` runs, the service thread may use the caller's turn.
    pub(crate) fn lend(&self, rest: impl FnOnce()) {
        self.set(Holder::Forker);
        rest();
        self.set(Holder::Somebody);
    }

    fn set(&self, holder: Holder) {
        *self.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
        self.changed.notify_all();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(turns) = self.0 {
            turns.release();
        }
    }
}
