//! Memory that waits in dropped arrays, at their addresses, for the next arrays of their size (guard,
//! `warm.rs`): when there may be some, and what it means for the figures.

use crate::Engine;

impl Engine {
    /// Bytes in use, without those that wait in dropped arrays.
    pub(crate) fn used(&self) -> u64 {
        let used = self.pool().limit().used();
        used.saturating_sub(self.warm_bytes())
    }

    pub(crate) fn warm_bytes(&self) -> u64 {
        self.guard().map_or(0, |guard| guard.warm_bytes() as u64)
    }

    /// Gives the memory that waits in dropped arrays to the pool, where it waits for re-use or is trimmed.
    pub(crate) fn cool(&self) {
        if let Some(guard) = self.guard() {
            guard.cool();
        }
    }

    /// Lets dropped arrays keep their memory for the next ones, where no limit needs it elsewhere and no
    /// device has copies of it.
    pub(crate) fn keep_warm(&self) {
        let limit = self.pool().limit();
        let free = limit.most() == u64::MAX && !self.copies_values();
        let most = if free { self.settings.warm_bytes } else { 0 };
        let cached = usize::try_from(limit.cached()).unwrap_or(usize::MAX);
        if let Some(guard) = self.guard() {
            guard.keep_warm(most.min(cached));
        }
    }
}
