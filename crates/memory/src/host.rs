//! The bottom layer over host memory: recycled pages.

use crate::{Addr, MemInfo, MemoryError, MemoryResource};
use arrayloom_guard::{Block, PagePool};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Blocks that are given out, by address, and their bytes.
#[derive(Default)]
struct Live {
    blocks: BTreeMap<u64, (Block, u64)>,
    bytes: u64,
    peak: u64,
}

/// Host memory from a pool of recycled page blocks. Every piece starts on a page of its own.
pub struct HostPool {
    pool: Arc<PagePool>,
    live: Mutex<Live>,
}

impl HostPool {
    /// A resource over `pool`, which others may use as well.
    pub fn new(pool: Arc<PagePool>) -> HostPool {
        HostPool {
            pool,
            live: Mutex::new(Live::default()),
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MemoryResource for HostPool {
    fn alloc(&self, bytes: u64) -> Result<Addr, MemoryError> {
        let refused = MemoryError::OutOfMemory {
            need: bytes,
            free: self.pool.stats().cached_bytes as u64,
            by: self.name(),
        };
        let Ok(wanted) = usize::try_from(bytes) else {
            return Err(refused);
        };
        let Ok(block) = self.pool.get(wanted.max(1), false) else {
            return Err(refused);
        };
        let addr = block.ptr().expose_provenance() as u64;
        let mut live = self.live();
        live.blocks.insert(addr, (block, bytes));
        live.bytes += bytes;
        live.peak = live.peak.max(live.bytes);
        Ok(Addr(addr))
    }

    fn free(&self, addr: Addr, bytes: u64) {
        let found = {
            let mut live = self.live();
            let found = live.blocks.remove(&addr.0);
            live.bytes -= found.as_ref().map_or(0, |(_, bytes)| *bytes);
            found
        };
        debug_assert!(
            found.as_ref().is_some_and(|(_, asked)| *asked == bytes),
            "{bytes} bytes at {addr:?} were never given out"
        );
        if let Some((block, _)) = found {
            self.pool.put(block);
        }
    }

    fn trim(&self, want: u64) -> u64 {
        let want = usize::try_from(want).unwrap_or(usize::MAX);
        self.pool.trim(want) as u64
    }

    fn info(&self) -> MemInfo {
        let pool = self.pool.stats();
        let live = self.live();
        let blocks: usize = live.blocks.values().map(|(block, _)| block.len()).sum();
        MemInfo {
            in_use: live.bytes,
            reserved: (blocks + pool.cached_bytes) as u64,
            peak: live.peak,
            limit: u64::MAX,
        }
    }

    fn name(&self) -> &'static str {
        "host"
    }
}

impl Drop for HostPool {
    /// What was never freed goes back to the pool: nobody is left who could use it.
    fn drop(&mut self) {
        for (block, _) in std::mem::take(&mut self.live().blocks).into_values() {
            self.pool.put(block);
        }
    }
}
