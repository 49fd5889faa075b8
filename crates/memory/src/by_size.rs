//! Small blocks from one resource, large ones from another.

use crate::{Addr, MemInfo, MemoryError, MemoryResource, Piece};
use arrayloom_types::Queue;
use std::sync::Arc;

/// Sends requests of at least `large` bytes to one resource and the others to another, so that small
/// blocks do not share huge pages that large ones are moved with.
pub struct BySize {
    large: u64,
    below: Arc<dyn MemoryResource>,
    above: Arc<dyn MemoryResource>,
}

impl BySize {
    /// `below` for less than `large` bytes, else `above`.
    pub fn new(
        large: u64,
        below: Arc<dyn MemoryResource>,
        above: Arc<dyn MemoryResource>,
    ) -> BySize {
        BySize {
            large,
            below,
            above,
        }
    }

    fn side(&self, bytes: u64) -> &dyn MemoryResource {
        if bytes < self.large {
            &*self.below
        } else {
            &*self.above
        }
    }
}

impl MemoryResource for BySize {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        self.side(bytes).get(bytes, queue)
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        self.side(bytes).free(addr, bytes, queue);
    }

    fn trim(&self, want: u64) -> u64 {
        let given = self.above.trim(want);
        if given >= want {
            return given;
        }
        given + self.below.trim(want - given)
    }

    fn info(&self) -> MemInfo {
        self.below.info().beside(&self.above.info())
    }

    fn name(&self) -> &'static str {
        self.above.name()
    }

    fn hold_for_fork(&self) {
        self.below.hold_for_fork();
        self.above.hold_for_fork();
    }

    fn release_after_fork(&self) {
        self.above.release_after_fork();
        self.below.release_after_fork();
    }
}
