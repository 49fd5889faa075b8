//! Recycled page blocks: memory that is mapped already, and warm.
//!
//! A fresh mapping costs a page fault for every 4 KiB it is written to, five to ten times the
//! price of a memory fill. So freed blocks wait here for the next array of about their size. The
//! pool is bounded in bytes and in blocks; the block that waited longest goes first.
//!
//! Lengths are rounded up to 1/32 of a power of two, which makes repeats exact; else the smallest
//! block within an eighth of the wish is taken.

#![expect(unsafe_code, reason = "blocks are mappings owned by hand")]

use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::collections::{BTreeMap, BTreeSet};

use crate::config::PoolLimits;
use crate::error::GuardError;
use crate::lock::Lock;
use crate::sys;

/// Page-owned host memory, whole pages, nobody else's.
///
/// Give it back with [`PagePool::put`] or hand it to a slot. Dropping one is a bug: the memory goes
/// back to the system, but the pool's books are wrong from then on.
#[derive(Debug)]
pub struct Block {
    start: *mut u8,
    len: usize,
}

// SAFETY: a block owns its pages; the pointer is not tied to a thread.
unsafe impl Send for Block {}
// SAFETY: a shared block only tells its pointer and length.
unsafe impl Sync for Block {}

impl Block {
    /// Start of the memory.
    pub fn ptr(&self) -> *mut u8 {
        self.start
    }

    /// Bytes of the memory: at least what was asked for.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a block has at least one page.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes the pages out; the caller owns them now.
    pub fn into_parts(self) -> (*mut u8, usize) {
        let this = ManuallyDrop::new(self);
        (this.start, this.len)
    }

    /// A block made of pages.
    ///
    /// # Safety
    /// The pages are whole, readable and writable, and nobody else owns them. They stay mapped until
    /// the block was given back to the [`Pages`] that made it.
    pub unsafe fn from_raw(start: *mut u8, len: usize) -> Block {
        Block { start, len }
    }

    /// A block made of pages that nobody else owns.
    pub(crate) fn from_parts(start: *mut u8, len: usize) -> Block {
        Block { start, len }
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) {
        // SAFETY: the block owns `len` writable bytes, and `&mut self` keeps others out.
        unsafe { self.start.write_bytes(byte, self.len) };
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        debug_assert!(
            std::thread::panicking(),
            "a block of {} bytes was dropped; put it back to the pool",
            self.len
        );
        // SAFETY: the block owns its pages and is gone after this.
        unsafe { sys::unmap(self.start, self.len) };
    }
}

/// Where blocks come from and go to. Safe from any thread; never called in the signal handler.
pub trait Pages: Send + Sync {
    /// A block of at least `bytes`. With `zeroed` all its bytes are zero, else they are arbitrary.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn get(&self, bytes: usize, zeroed: bool) -> Result<Block, GuardError>;

    /// A block for bytes that a touch must find, whatever limits say: without it the process ends.
    ///
    /// # Errors
    /// `OutOfMemory` if the system itself has nothing left.
    fn get_in_need(&self, bytes: usize) -> Result<Block, GuardError> {
        self.get(bytes, false)
    }

    /// Takes a block back.
    fn put(&self, block: Block);

    /// True if the block that starts there may wait outside for its next user.
    fn may_wait(&self, start: usize) -> bool {
        let _ = start;
        true
    }

    /// Takes the end of a block back: `len` bytes of it stay, whole pages.
    fn shorten(&self, block: Block, len: usize) -> Block;

    /// Gives at least `want` unused bytes back to the system, as far as there are any. Tells how many.
    fn trim(&self, want: usize) -> usize;

    /// What it holds and did.
    fn stats(&self) -> PoolStats;

    /// Takes the locks, right before a fork.
    fn hold_for_fork(&self);

    /// Gives them back, in parent and child.
    fn release_after_fork(&self);
}

/// What a pool holds and did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes waiting for re-use.
    pub cached_bytes: usize,
    /// Bytes in use: in blocks and in published slots.
    pub live_bytes: usize,
    /// The highest `live_bytes` so far.
    pub peak_bytes: usize,
    /// Blocks served from the pool.
    pub hits: u64,
    /// Blocks served by the system.
    pub misses: u64,
}

/// Blocks waiting for re-use, by length and by age.
#[derive(Debug, Default)]
struct Shelf {
    by_len: BTreeSet<(usize, u64)>,
    by_age: BTreeMap<u64, Block>,
    bytes: usize,
    clock: u64,
}

impl Shelf {
    fn take(&mut self, len: usize) -> Option<Block> {
        let fitting = (len, 0)..=(len.saturating_add(len / 8), u64::MAX);
        let &(len, age) = self.by_len.range(fitting).next()?;
        self.remove(len, age)
    }

    fn take_oldest(&mut self) -> Option<Block> {
        let (&age, block) = self.by_age.first_key_value()?;
        let len = block.len;
        self.remove(len, age)
    }

    fn remove(&mut self, len: usize, age: u64) -> Option<Block> {
        self.by_len.remove(&(len, age));
        let block = self.by_age.remove(&age)?;
        self.bytes -= len;
        Some(block)
    }

    fn add(&mut self, block: Block) {
        self.clock += 1;
        self.bytes += block.len;
        self.by_len.insert((block.len, self.clock));
        self.by_age.insert(self.clock, block);
    }
}

/// Recycles page blocks; see the module's head. Safe from any thread.
pub struct PagePool {
    limits: PoolLimits,
    shelf: Lock<Shelf>,
    live_bytes: AtomicUsize,
    peak_bytes: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl PagePool {
    /// An empty pool. It works without a guard, too.
    pub fn new(limits: PoolLimits) -> PagePool {
        PagePool {
            limits,
            shelf: Lock::new(Shelf::default()),
            live_bytes: AtomicUsize::new(0),
            peak_bytes: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// A block of at least `bytes`. With `zeroed` all its bytes are zero, else they are arbitrary.
    ///
    /// # Errors
    /// `OutOfMemory` if the system refuses even after the pool was emptied.
    pub fn get(&self, bytes: usize, zeroed: bool) -> Result<Block, GuardError> {
        let len = rounded(bytes).ok_or(GuardError::OutOfMemory { bytes })?;
        if let Some(mut block) = self.shelf.with(|shelf| shelf.take(len)) {
            self.hits.fetch_add(1, Relaxed);
            self.add_live(block.len);
            if zeroed {
                block.fill(0);
            }
            return Ok(block);
        }
        self.misses.fetch_add(1, Relaxed);
        let start = match sys::map_pages(len) {
            Ok(start) => start,
            Err(_refused) => {
                self.trim(usize::MAX);
                sys::map_pages(len).map_err(|_refused| GuardError::OutOfMemory { bytes })?
            }
        };
        self.add_live(len);
        Ok(Block { start, len })
    }

    /// Takes a block back.
    pub fn put(&self, block: Block) {
        self.forget(block.len);
        self.keep(block);
    }

    /// Gives at least `want` waiting bytes back to the system, the oldest first, as far as there
    /// are any. Tells how many.
    pub fn trim(&self, want: usize) -> usize {
        let mut given = 0;
        while given < want {
            let Some(block) = self.shelf.with(Shelf::take_oldest) else {
                break;
            };
            given += block.len;
            discard(block);
        }
        given
    }

    /// What the pool holds and did.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            cached_bytes: self.shelf.with(|shelf| shelf.bytes),
            live_bytes: self.live_bytes.load(Relaxed),
            peak_bytes: self.peak_bytes.load(Relaxed),
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
        }
    }

    /// Whether a block of this length would be kept at all.
    fn wants(&self, len: usize) -> bool {
        len <= self.limits.cached_bytes && self.limits.cached_blocks > 0
    }

    /// Puts a block on the shelf that no longer counts as live.
    fn keep(&self, block: Block) {
        if !self.wants(block.len) {
            discard(block);
            return;
        }
        self.shelf.with(|shelf| shelf.add(block));
        while let Some(block) = self.shelf.with(|shelf| self.surplus(shelf)) {
            discard(block);
        }
    }

    fn surplus(&self, shelf: &mut Shelf) -> Option<Block> {
        let limits = &self.limits;
        let over = shelf.bytes > limits.cached_bytes || shelf.by_age.len() > limits.cached_blocks;
        if over { shelf.take_oldest() } else { None }
    }

    /// `bytes` of live memory are no longer live.
    fn forget(&self, bytes: usize) {
        self.live_bytes.fetch_sub(bytes, Relaxed);
    }

    fn add_live(&self, bytes: usize) {
        let now = self.live_bytes.fetch_add(bytes, Relaxed) + bytes;
        self.peak_bytes.fetch_max(now, Relaxed);
    }
}

impl Pages for PagePool {
    fn get(&self, bytes: usize, zeroed: bool) -> Result<Block, GuardError> {
        PagePool::get(self, bytes, zeroed)
    }

    fn put(&self, block: Block) {
        PagePool::put(self, block);
    }

    fn shorten(&self, block: Block, len: usize) -> Block {
        let (start, whole) = block.into_parts();
        // SAFETY: the tail belongs to the block, which is cut off from it by the new length.
        unsafe { sys::unmap(start.wrapping_add(len), whole - len) };
        self.forget(whole - len);
        Block::from_parts(start, len)
    }

    fn trim(&self, want: usize) -> usize {
        PagePool::trim(self, want)
    }

    fn stats(&self) -> PoolStats {
        PagePool::stats(self)
    }

    fn hold_for_fork(&self) {
        self.shelf.acquire();
    }

    fn release_after_fork(&self) {
        self.shelf.release();
    }
}

impl Drop for PagePool {
    fn drop(&mut self) {
        self.trim(usize::MAX);
    }
}

fn discard(block: Block) {
    let (start, len) = block.into_parts();
    // SAFETY: the block owned its pages and is gone.
    unsafe { sys::unmap(start, len) };
}

/// Rounds up to 1/32 of the next power of two and to whole pages. The result never passes that
/// power of two, so a fresh block fits the slot class of its bytes.
fn rounded(bytes: usize) -> Option<usize> {
    let step = bytes.checked_next_power_of_two()? / 32;
    bytes
        .max(1)
        .checked_next_multiple_of(step.max(sys::page_size()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(cached_bytes: usize, cached_blocks: usize) -> PagePool {
        PagePool::new(PoolLimits {
            cached_bytes,
            cached_blocks,
        })
    }

    fn bytes_of(block: &Block) -> &[u8] {
        // SAFETY: the block owns its bytes, which were zeroed by the kernel or written since.
        unsafe { core::slice::from_raw_parts(block.ptr(), block.len()) }
    }

    #[test]
    fn lengths_are_whole_pages_and_stay_in_their_power_of_two() {
        for bytes in [0, 1, 4095, 4097, 65_537, (5 << 20) + 1, (1 << 30) - 1] {
            let len = rounded(bytes).unwrap();
            assert_eq!(len % sys::page_size(), 0);
            assert!(len >= bytes);
            let power = bytes.max(sys::page_size()).next_power_of_two();
            assert!(len <= power, "{bytes} {len}");
        }
        assert_eq!(rounded(usize::MAX), None);
    }

    #[test]
    fn a_block_comes_back_warm_and_can_be_zeroed() {
        let pool = pool(1 << 24, 8);
        let mut block = pool.get(100_000, true).unwrap();
        assert!(bytes_of(&block).iter().all(|&byte| byte == 0));
        block.fill(7);
        let start = block.ptr();
        pool.put(block);
        let block = pool.get(95_000, false).unwrap();
        assert_eq!(block.ptr(), start, "best fit within an eighth");
        assert_eq!(bytes_of(&block)[0], 7);
        pool.put(block);
        let block = pool.get(100_000, true).unwrap();
        assert_eq!(block.ptr(), start);
        assert!(bytes_of(&block).iter().all(|&byte| byte == 0));
        pool.put(block);
        let stats = pool.stats();
        assert_eq!((stats.hits, stats.misses), (2, 1));
        assert_eq!(stats.live_bytes, 0);
        assert_eq!(stats.peak_bytes, stats.cached_bytes);
    }

    #[test]
    fn a_much_larger_block_is_left_alone() {
        let pool = pool(1 << 24, 8);
        let block = pool.get(1 << 20, false).unwrap();
        pool.put(block);
        let block = pool.get(1 << 19, false).unwrap();
        assert_eq!(pool.stats().misses, 2);
        pool.put(block);
    }

    #[test]
    fn both_bounds_hold_and_the_oldest_goes_first() {
        let pool = pool(1 << 20, 3);
        let blocks: Vec<Block> = (1..=5)
            .map(|pages| pool.get(pages * 16_384, false).unwrap())
            .collect();
        for block in blocks {
            pool.put(block);
        }
        let stats = pool.stats();
        assert_eq!(stats.cached_bytes, (3 + 4 + 5) * 16_384);
        let large = pool.get(1 << 21, false).unwrap();
        pool.put(large);
        assert_eq!(pool.stats().cached_bytes, stats.cached_bytes, "too large");
        assert_eq!(pool.trim(1), 3 * 16_384);
        assert_eq!(pool.trim(usize::MAX), 9 * 16_384);
        assert_eq!(pool.stats().cached_bytes, 0);
    }

    #[test]
    fn large_blocks_start_at_a_huge_page() {
        let pool = pool(0, 0);
        let block = pool.get(5 << 20, false).unwrap();
        assert!(block.ptr().addr().is_multiple_of(2 << 20));
        pool.put(block);
        assert_eq!(pool.stats().cached_bytes, 0);
    }

    #[test]
    fn an_impossible_wish_is_an_error_and_empties_the_pool() {
        let pool = pool(1 << 24, 8);
        let block = pool.get(1 << 20, false).unwrap();
        pool.put(block);
        let bytes = 1 << 50;
        assert_eq!(
            pool.get(bytes, false).unwrap_err(),
            GuardError::OutOfMemory { bytes }
        );
        assert_eq!(pool.stats().cached_bytes, 0);
        assert!(pool.get(usize::MAX, false).is_err());
    }

    #[cfg(debug_assertions)]
    #[test]
    #[should_panic(expected = "put it back to the pool")]
    fn a_dropped_block_is_caught() {
        drop(pool(0, 0).get(1, false));
    }
}
