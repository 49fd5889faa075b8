//! One growable range of address space: best fit, coalescing, free blocks shared by all queues.
//!
//! Memory is put behind the range granule by granule as it grows. A free block carries the event of its
//! last user; another queue that gets it waits on the device, not on the host.

use crate::free::{Free, FreeBlocks, Want};
use crate::{Addr, MemInfo, MemoryError, MemoryResource, Order, Piece, Vmm};
use arrayloom_guard::Lock;
use arrayloom_types::Queue;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A growing arena holds at most this part more than was ever in use at once, as far as free blocks can
/// give it.
const SLACK: u64 = 10;

/// The measures of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSize {
    /// Bytes of address space. Halved until the system agrees, sixteen times at most.
    pub reserve: u64,
    /// Blocks start at multiples of this and are multiples of it.
    pub unit: u64,
    /// Blocks of at least this many bytes start at multiples of it.
    pub large: u64,
}

impl ArenaSize {
    /// Blocks of 512 bytes and their multiples, in this much address space.
    pub fn of(reserve: u64) -> ArenaSize {
        ArenaSize {
            reserve,
            unit: 512,
            large: u64::MAX,
        }
    }
}

/// What is behind a granule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backing {
    None,
    Mapped,
}

#[derive(Debug, Default)]
struct State {
    free: FreeBlocks,
    /// Nothing beyond this place was ever given out, or it went back.
    end: u64,
    granules: Vec<Backing>,
    peak: u64,
    peak_reserved: u64,
    requests: u64,
    grown: u64,
    /// Requests that took memory from free blocks.
    moves: u64,
}

/// The arena; see the module's head.
pub struct Arena {
    vmm: Arc<dyn Vmm>,
    order: Arc<dyn Order>,
    size: ArenaSize,
    granule: u64,
    buf: u64,
    state: Lock<State>,
    in_use: AtomicU64,
    reserved: AtomicU64,
}

impl Arena {
    /// An arena over virtual memory, for work in this order.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] if not even a small part of the address space can be had.
    pub fn new(
        vmm: Arc<dyn Vmm>,
        order: Arc<dyn Order>,
        size: ArenaSize,
    ) -> Result<Arena, MemoryError> {
        let granule = vmm.granule();
        let mut reserve = size.reserve.next_multiple_of(granule);
        let mut tries = 0;
        let buf = loop {
            match vmm.reserve(reserve) {
                Ok(buf) => break buf,
                Err(error) if tries == 16 || reserve <= granule => return Err(error),
                Err(_too_much) => {
                    tries += 1;
                    reserve = (reserve / 2).next_multiple_of(granule);
                }
            }
        };
        Ok(Arena {
            vmm,
            order,
            size: ArenaSize { reserve, ..size },
            granule,
            buf,
            state: Lock::new(State::default()),
            in_use: AtomicU64::new(0),
            reserved: AtomicU64::new(0),
        })
    }

    /// The block of address space, and its bytes.
    pub fn range(&self) -> (u64, u64) {
        (self.buf, self.size.reserve)
    }

    fn refused(&self, need: u64) -> MemoryError {
        MemoryError::OutOfMemory {
            need,
            free: self.size.reserve - self.in_use.load(Relaxed),
            by: self.name(),
        }
    }

    fn rounded(&self, bytes: u64) -> Option<u64> {
        let len = bytes.max(1).checked_next_multiple_of(self.size.unit)?;
        (len <= self.size.reserve).then_some(len)
    }

    fn align(&self, len: u64) -> u64 {
        if len >= self.size.large {
            self.size.large
        } else {
            self.size.unit
        }
    }

    /// Takes a place: a free block, or new space at the end.
    fn place(&self, state: &mut State, want: Want) -> Option<Placed> {
        let mut taken = state.free.take(want, &*self.order);
        if taken.is_none() && state.free.merge_again(&*self.order) {
            taken = state.free.take(want, &*self.order);
        }
        if let Some((start, tag)) = taken {
            return Some(Placed {
                start,
                tag,
                old_end: state.end,
            });
        }
        let old_end = state.end;
        let last = state.free.last().filter(|last| last.end() == old_end);
        let from = last.map_or(old_end, |last| last.offset);
        let start = from.next_multiple_of(want.align);
        let end = start.checked_add(want.bytes)?;
        if end > self.size.reserve {
            return None;
        }
        let tag = last.and_then(|last| last.tag);
        if let Some(last) = last {
            state.free.remove(last.offset);
        }
        if start > from {
            let gap = Free {
                offset: from,
                len: start - from,
                tag,
            };
            state.free.add(gap, &*self.order);
        }
        state.end = end;
        Some(Placed {
            start,
            tag,
            old_end,
        })
    }

    /// Puts memory behind a range. Tells how much of it is new.
    fn back(&self, state: &mut State, start: u64, len: u64) -> Result<Grown, MemoryError> {
        let (first, last) = (
            index(start / self.granule),
            index((start + len - 1) / self.granule),
        );
        if state.granules.len() <= last {
            state.granules.resize(last + 1, Backing::None);
        }
        let runs = runs_of(&state.granules[first..=last], Backing::None);
        for (done, run) in runs.iter().enumerate() {
            let range = |run: &(usize, usize)| {
                let at = (first + run.0) as u64 * self.granule;
                (self.at(at), (run.1 - run.0) as u64 * self.granule)
            };
            let (addr, bytes) = range(run);
            if let Err(error) = self.vmm.map(addr, bytes) {
                for run in &runs[..done] {
                    let (addr, bytes) = range(run);
                    self.vmm.unmap(addr, bytes);
                }
                return Err(error);
            }
        }
        let missing: usize = runs.iter().map(|run| run.1 - run.0).sum();
        let whole = &mut state.granules[first..=last];
        let whole_len = whole.len();
        whole.fill(Backing::Mapped);
        let reserved = self.reserved.load(Relaxed) + missing as u64 * self.granule;
        self.reserved.store(reserved, Relaxed);
        state.peak_reserved = state.peak_reserved.max(reserved);
        Ok(if missing == whole_len {
            Grown::All
        } else if missing > 0 {
            Grown::Part
        } else {
            Grown::Nothing
        })
    }

    /// Before memory is put behind a range: takes it from free blocks, if the arena would hold much more
    /// than was ever in use at once. One request in 64, and 31 more,
    /// may do so: what was taken may be needed again.
    fn make_up(&self, state: &mut State, start: u64, len: u64) {
        let (first, last) = (start / self.granule, (start + len - 1) / self.granule);
        let there = state
            .granules
            .iter()
            .skip(index(first))
            .take(index(last - first + 1));
        let there = there.filter(|backing| **backing == Backing::Mapped).count() as u64;
        let missing = (last - first + 1 - there) * self.granule;
        let in_use = self.in_use.load(Relaxed) + len;
        let most = in_use.max(state.peak);
        let most = most + most / SLACK;
        let mut over = (self.reserved.load(Relaxed) + missing).saturating_sub(most);
        if missing == 0 || over == 0 || state.moves * 64 > state.requests + 2000 {
            return;
        }
        state.moves += 1;
        for block in state.free.highest_first() {
            let unused = block.tag.is_none_or(|(_, event)| self.order.done(event));
            if over > 0 && unused && block.len >= self.granule {
                over = over.saturating_sub(self.unback(state, block, over));
            }
        }
    }

    fn at(&self, offset: u64) -> Addr {
        Addr {
            buf: self.buf,
            offset,
        }
    }

    /// Takes at least `want` bytes of memory from behind a free block, its end first, as far as it fills
    /// granules. Tells how many bytes.
    fn unback(&self, state: &mut State, block: Free, want: u64) -> u64 {
        let first = block.offset.div_ceil(self.granule);
        let at_end = block.end() == state.end;
        let last = if at_end {
            // Nobody else has a part of the granule that the arena ends in.
            block.end().div_ceil(self.granule)
        } else {
            block.end() / self.granule
        };
        let mut given = 0;
        let (first, last) = (index(first), index(last).min(state.granules.len()));
        let mut from = last;
        while from > first && given < want {
            from -= 1;
            given += u64::from(state.granules[from] == Backing::Mapped) * self.granule;
        }
        if from < last {
            let whole = &mut state.granules[from..last];
            for (low, high) in runs_of_backed(whole) {
                let bytes = (high - low) as u64 * self.granule;
                self.vmm
                    .unmap(self.at((from + low) as u64 * self.granule), bytes);
            }
            whole.fill(Backing::None);
        }
        if at_end && from <= first {
            state.free.remove(block.offset);
            state.end = block.offset;
            state
                .granules
                .truncate(index(block.offset.div_ceil(self.granule)));
        }
        self.reserved.fetch_sub(given, Relaxed);
        given
    }
}

/// How much of a range was put there just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grown {
    Nothing,
    Part,
    All,
}

/// A place for a request, and how to undo it.
struct Placed {
    start: u64,
    tag: crate::free::Tag,
    old_end: u64,
}

fn index(granule: u64) -> usize {
    usize::try_from(granule).unwrap_or(usize::MAX)
}

/// Runs of elements that equal `wanted`.
fn runs_of(all: &[Backing], wanted: Backing) -> Vec<(usize, usize)> {
    runs(all, |backing| backing == wanted)
}

fn runs_of_backed(all: &[Backing]) -> Vec<(usize, usize)> {
    runs(all, |backing| backing != Backing::None)
}

fn runs(all: &[Backing], wanted: impl Fn(Backing) -> bool) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (place, _) in all.iter().enumerate().filter(|(_, b)| wanted(**b)) {
        match found.last_mut() {
            Some(run) if run.1 == place => run.1 += 1,
            _ => found.push((place, place + 1)),
        }
    }
    found
}

impl MemoryResource for Arena {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let len = self.rounded(bytes).ok_or_else(|| self.refused(bytes))?;
        let want = Want {
            bytes: len,
            align: self.align(len),
            queue,
        };
        self.state.with(|state| {
            let placed = self.place(state, want).ok_or_else(|| self.refused(bytes))?;
            self.make_up(state, placed.start, len);
            let grown = match self.back(state, placed.start, len) {
                Ok(done) => done,
                Err(error) => {
                    // The block goes back whole; the arena ends where it did.
                    let end = placed.start + len;
                    let kept = end.min(placed.old_end.max(placed.start));
                    if end > placed.old_end {
                        state.end = kept;
                    }
                    if kept > placed.start {
                        let block = Free {
                            offset: placed.start,
                            len: kept - placed.start,
                            tag: placed.tag,
                        };
                        state.free.add(block, &*self.order);
                    }
                    return Err(error);
                }
            };
            if let Some((last, event)) = placed.tag
                && last != queue
                && !self.order.done(event)
            {
                self.order.wait(queue, event);
            }
            let in_use = self.in_use.load(Relaxed) + len;
            self.in_use.store(in_use, Relaxed);
            state.peak = state.peak.max(in_use);
            state.requests += 1;
            state.grown += u64::from(grown != Grown::Nothing);
            Ok(Piece {
                addr: self.at(placed.start),
                zero: grown == Grown::All && self.vmm.maps_zeroed(),
            })
        })
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        let Some(len) = self.rounded(bytes) else {
            debug_assert!(false, "{bytes} bytes were never given out");
            return;
        };
        debug_assert_eq!(addr.buf, self.buf, "memory of another arena");
        let event = self.order.record(queue);
        self.state.with(|state| {
            let block = Free {
                offset: addr.offset,
                len,
                tag: Some((queue, event)),
            };
            state.free.add(block, &*self.order);
            let in_use = self.in_use.load(Relaxed);
            debug_assert!(in_use >= len, "more bytes freed than were in use");
            self.in_use.store(in_use - len, Relaxed);
        });
    }

    fn trim(&self, want: u64) -> u64 {
        if self.reserved.load(Relaxed) == self.in_use.load(Relaxed) {
            return 0;
        }
        let unfinished = self.state.with(|state| state.free.unfinished(&*self.order));
        for event in unfinished {
            self.order.sync(event);
        }
        self.state.with(|state| {
            state.free.merge_again(&*self.order);
            let mut given = 0;
            for block in state.free.highest_first() {
                if given >= want {
                    break;
                }
                if block.tag.is_none() {
                    given += self.unback(state, block, want - given);
                }
            }
            given
        })
    }

    fn info(&self) -> MemInfo {
        self.state.with(|state| MemInfo {
            in_use: self.in_use.load(Relaxed),
            reserved: self.reserved.load(Relaxed),
            peak: state.peak,
            peak_reserved: state.peak_reserved,
            limit: u64::MAX,
            largest_free: state.free.longest(),
            requests: state.requests,
            grown: state.grown,
        })
    }

    fn name(&self) -> &'static str {
        self.vmm.name()
    }

    fn hold_for_fork(&self) {
        self.state.acquire();
    }

    fn release_after_fork(&self) {
        self.state.release();
    }
}

impl Drop for Arena {
    /// Nobody is left who could use what was not freed.
    fn drop(&mut self) {
        self.state.with(|state| {
            for (low, high) in runs_of_backed(&state.granules) {
                let bytes = (high - low) as u64 * self.granule;
                self.vmm.unmap(self.at(low as u64 * self.granule), bytes);
            }
        });
        self.vmm.release(self.buf, self.size.reserve);
    }
}
