//! Host memory as the engine uses it: whole pages that may move to the addresses of arrays and back.
//!
//! The layers are statistics over a limit over two arenas, for small and for large blocks. Beside them
//! stands a spill file, opened when it is first needed; its blocks are memory like the others, but the
//! kernel can write them out.

#![expect(unsafe_code, reason = "blocks are ranges of the layers below")]

use crate::{
    Addr, Arena, ArenaSize, AtOnce, Counters, Limit, MemInfo, MemoryError, MemoryResource, Request,
    SpillFile, Stats, Trace, host_memory,
};
use arrayloom_guard::{Block, GuardError, Lock, Pages, PoolStats};
use arrayloom_types::Queue;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

const PAGE: usize = 4096;
const QUEUE: Queue = Queue(0);
/// Address space of the spill file at most.
const SPILL_RESERVE: u64 = 1 << 40;

/// Whose block it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Memory,
    Spill,
}

/// What may be set at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Bytes in use at most; `u64::MAX` for no limit.
    pub limit: u64,
    /// Bytes that may wait for re-use.
    pub cached: u64,
    /// Where the spill file lies; `None` for no spilling.
    pub spill: Option<PathBuf>,
}

/// Host memory in blocks of whole pages; see the module's head. Safe from any thread.
pub struct HostMemory {
    limit: Arc<Limit>,
    layers: Stats,
    spill_directory: Option<PathBuf>,
    spill: OnceLock<Option<Arena>>,
    live: Lock<BTreeMap<usize, (Addr, Side, usize)>>,
    trace: Lock<Trace>,
    overflow: AtomicBool,
    spilled: AtomicU64,
    spilled_peak: AtomicU64,
}

impl HostMemory {
    /// An empty one.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] if the system refuses the address space.
    pub fn new(limits: HostLimits) -> Result<HostMemory, MemoryError> {
        let limit = Arc::new(Limit::new(host_memory()?, limits.limit));
        limit.set_cached(limits.cached);
        let below: Arc<dyn MemoryResource> = Arc::<Limit>::clone(&limit);
        Ok(HostMemory {
            limit,
            layers: Stats::new(below),
            spill_directory: limits.spill,
            spill: OnceLock::new(),
            live: Lock::new(BTreeMap::new()),
            trace: Lock::new(Trace::default()),
            overflow: AtomicBool::new(false),
            spilled: AtomicU64::new(0),
            spilled_peak: AtomicU64::new(0),
        })
    }

    /// The limit, which may be changed at any time.
    pub fn limit(&self) -> &Limit {
        &self.limit
    }

    /// What the layers hold.
    pub fn info(&self) -> MemInfo {
        self.layers.info()
    }

    /// Everything since the start.
    pub fn counters(&self) -> Counters {
        self.layers.counters()
    }

    /// The last requests for memory, the spill file's among them.
    pub fn trace(&self) -> Vec<Request> {
        self.trace.with(|trace| trace.steps())
    }

    /// Bytes in the spill file now, and at most so far.
    pub fn spilled(&self) -> (u64, u64) {
        (self.spilled.load(Relaxed), self.spilled_peak.load(Relaxed))
    }

    /// Whether a request that finds no memory gets space in the spill file; gives the old answer.
    pub fn set_overflow(&self, overflow: bool) -> bool {
        self.overflow.swap(overflow, Relaxed)
    }

    /// True while requests may get space in the spill file.
    pub fn overflows(&self) -> bool {
        self.overflow.load(Relaxed)
    }

    /// True if there is somewhere to spill to.
    pub fn can_spill(&self) -> bool {
        self.spill_arena().is_some()
    }

    fn spill_arena(&self) -> Option<&Arena> {
        let open = || {
            #[cfg(unix)]
            {
                let directory = self.spill_directory.as_ref()?;
                let file = SpillFile::open(directory).ok()?;
                let size = ArenaSize {
                    reserve: SPILL_RESERVE,
                    unit: PAGE as u64,
                    large: 2 << 20,
                };
                Arena::new(Arc::new(file), Arc::new(AtOnce), size).ok()
            }
            #[cfg(not(unix))]
            None
        };
        self.spill.get_or_init(open).as_ref()
    }

    /// A block in the spill file. `None` without such a file, or without room on the disk.
    pub fn get_spilled(&self, bytes: usize) -> Option<Block> {
        let len = bytes.max(1).checked_next_multiple_of(PAGE)?;
        let addr = self.spill_arena()?.alloc(len as u64, QUEUE).ok()?;
        let now = self.spilled.fetch_add(len as u64, Relaxed) + len as u64;
        self.spilled_peak.fetch_max(now, Relaxed);
        Some(self.block(addr, len, Side::Spill))
    }

    /// True for bytes of one block that was given out.
    pub fn is_given_out(&self, at: usize, bytes: usize) -> bool {
        self.live.with(|live| {
            let last = live.range(..=at).next_back();
            last.is_some_and(|(start, block)| at - start + bytes <= block.2)
        })
    }

    /// True for an address in the spill file.
    pub fn is_spilled_at(&self, at: usize) -> bool {
        self.spilled_range(at, 1)
    }

    fn spilled_range(&self, at: usize, bytes: usize) -> bool {
        let Some(Some(spill)) = self.spill.get() else {
            return false;
        };
        let (buf, len) = spill.range();
        let (from, to) = (at as u64, (at as u64).saturating_add(bytes as u64));
        from >= buf && to <= buf + len
    }

    /// Takes a range of the spill file out of main memory; does nothing elsewhere.
    pub fn page_out(&self, at: usize, bytes: usize) {
        #[cfg(unix)]
        if self.spilled_range(at, bytes) {
            SpillFile::page_out(at as u64, bytes as u64);
        }
        #[cfg(not(unix))]
        let _ = (at, bytes);
    }

    fn block(&self, addr: Addr, len: usize, side: Side) -> Block {
        let at = usize::try_from(addr.host()).unwrap_or(0);
        self.live.with(|live| live.insert(at, (addr, side, len)));
        let (name, bytes) = (at as u64, len as u64);
        self.trace
            .with(|trace| trace.note(Request::Get { at: name, bytes }));
        let start = std::ptr::with_exposed_provenance_mut(at);
        // SAFETY: the layers gave these pages to this call alone and keep them mapped until `put`.
        unsafe { Block::from_raw(start, len) }
    }

    fn take_in(&self, start: usize, part: (usize, usize), whole: bool) {
        let (from, len) = part;
        let known = self.live.with(|live| {
            let known = live.get(&start).copied();
            if whole {
                live.remove(&start);
            } else if let Some(block) = live.get_mut(&start) {
                block.2 = from;
            }
            known
        });
        let Some((addr, side, _)) = known else {
            debug_assert!(false, "a block of {len} bytes was never given out");
            return;
        };
        let (at, kept, bytes) = (start as u64, from as u64, len as u64);
        self.trace.with(|trace| {
            trace.note(if whole {
                Request::Free { at, bytes }
            } else {
                Request::Shorten { at, kept }
            });
        });
        let addr = addr.plus(from as u64);
        match (side, self.spill.get()) {
            (Side::Spill, Some(Some(spill))) => {
                self.spilled.fetch_sub(len as u64, Relaxed);
                spill.free(addr, len as u64, QUEUE);
            }
            _ => self.layers.free(addr, len as u64, QUEUE),
        }
    }
}

impl Pages for HostMemory {
    fn get(&self, bytes: usize, zeroed: bool) -> Result<Block, GuardError> {
        let refused = GuardError::OutOfMemory { bytes };
        let Some(len) = bytes.max(1).checked_next_multiple_of(PAGE) else {
            return Err(refused);
        };
        let Ok(piece) = self.layers.get(len as u64, QUEUE) else {
            let overflows = self.overflow.load(Relaxed);
            let spilled = overflows.then(|| self.get_spilled(len)).flatten();
            let mut block = spilled.ok_or(refused)?;
            if zeroed {
                block.fill(0);
            }
            return Ok(block);
        };
        let mut block = self.block(piece.addr, len, Side::Memory);
        if zeroed && !piece.zero {
            block.fill(0);
        }
        Ok(block)
    }

    fn get_in_need(&self, bytes: usize) -> Result<Block, GuardError> {
        if let Ok(block) = self.get(bytes, false) {
            return Ok(block);
        }
        if let Some(block) = self.get_spilled(bytes) {
            return Ok(block);
        }
        let limit = self.limit.set(u64::MAX);
        let block = self.get(bytes, false);
        self.limit.set(limit);
        block
    }

    fn put(&self, block: Block) {
        let (start, len) = block.into_parts();
        self.take_in(start.addr(), (0, len), true);
    }

    fn may_wait(&self, start: usize) -> bool {
        !self.is_spilled_at(start)
    }

    fn shorten(&self, block: Block, len: usize) -> Block {
        let (start, whole) = block.into_parts();
        self.take_in(start.addr(), (len, whole - len), false);
        // SAFETY: the head of a block that this call owns.
        unsafe { Block::from_raw(start, len) }
    }

    fn trim(&self, want: usize) -> usize {
        let given = self.layers.trim(want as u64);
        if let Some(Some(spill)) = self.spill.get() {
            spill.trim(u64::MAX);
        }
        usize::try_from(given).unwrap_or(usize::MAX)
    }

    fn stats(&self) -> PoolStats {
        let info = self.layers.info();
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        PoolStats {
            cached_bytes: size(info.cached()),
            live_bytes: size(info.in_use + self.spilled.load(Relaxed)),
            peak_bytes: size(info.peak),
            hits: info.requests - info.grown,
            misses: info.grown,
        }
    }

    fn hold_for_fork(&self) {
        self.live.acquire();
        self.trace.acquire();
        self.layers.hold_for_fork();
        if let Some(Some(spill)) = self.spill.get() {
            spill.hold_for_fork();
        }
    }

    fn release_after_fork(&self) {
        if let Some(Some(spill)) = self.spill.get() {
            spill.release_after_fork();
        }
        self.layers.release_after_fork();
        self.trace.release();
        self.live.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(limit: u64) -> HostMemory {
        HostMemory::new(HostLimits {
            limit,
            cached: u64::MAX,
            spill: Some(std::env::temp_dir()),
        })
        .unwrap()
    }

    fn write(block: &Block, value: u8) {
        // SAFETY: the test owns the block.
        unsafe { block.ptr().write_bytes(value, block.len()) };
    }

    fn holds(block: &Block, value: u8) -> bool {
        // SAFETY: the test owns the block, whose bytes were written.
        let bytes = unsafe { std::slice::from_raw_parts(block.ptr(), block.len()) };
        bytes.iter().all(|byte| *byte == value)
    }

    #[test]
    fn blocks_are_pages_and_zero_when_asked_for() {
        let memory = memory(u64::MAX);
        for bytes in [1, 5000, 3 << 20] {
            let block = memory.get(bytes, false).unwrap();
            assert_eq!(block.ptr().addr() % PAGE, 0);
            write(&block, 7);
            memory.put(block);
            let block = memory.get(bytes, true).unwrap();
            assert!(holds(&block, 0));
            memory.put(block);
        }
        assert_eq!(memory.stats().live_bytes, 0);
        assert!(memory.trim(usize::MAX) > 0);
        assert_eq!(memory.info().reserved, 0);
    }

    #[test]
    fn a_spilled_block_is_memory_that_does_not_count() {
        let memory = memory(1 << 20);
        let block = memory.get(1 << 20, false).unwrap();
        assert!(memory.get(1, false).is_err());
        let file = memory.get_spilled(5 << 20).unwrap();
        write(&file, 3);
        memory.page_out(file.ptr().addr(), file.len());
        assert!(holds(&file, 3), "it comes back from the file");
        assert!(memory.is_spilled_at(file.ptr().addr()));
        assert!(!memory.is_spilled_at(block.ptr().addr()));
        assert_eq!(memory.spilled().0, 5 << 20);
        let spare = memory.get_in_need(100).unwrap();
        assert!(memory.is_spilled_at(spare.ptr().addr()));
        let file = memory.shorten(file, 1 << 20);
        for block in [file, spare, block] {
            memory.put(block);
        }
        assert_eq!((memory.spilled().0, memory.stats().live_bytes), (0, 0));
    }
}
