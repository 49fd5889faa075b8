//! Pieces of large segments, for devices without virtual memory.
//!
//! A piece is named by its segment and an offset, which is all that such devices can address.

use crate::free::{Free, FreeBlocks, Want};
use crate::{Addr, MemInfo, MemoryError, MemoryResource, Order, Piece};
use arrayloom_guard::Lock;
use arrayloom_types::Queue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pieces start at multiples of this.
const UNIT: u64 = 512;

/// Where segments come from. Safe from any thread.
pub trait Segments: Send + Sync {
    /// A new segment, starting at a multiple of 512 bytes.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`].
    fn open(&self, bytes: u64) -> Result<u64, MemoryError>;

    /// Gives a segment back. Nothing in it is in use.
    fn close(&self, buf: u64, bytes: u64);

    /// The name, for messages.
    fn name(&self) -> &'static str;
}

#[derive(Debug, Default)]
struct State {
    /// Free pieces of all segments, each segment at a place of its own on one line.
    free: FreeBlocks,
    /// Segments by place: name and bytes.
    segments: BTreeMap<u64, (u64, u64)>,
    places: BTreeMap<u64, u64>,
    next: u64,
    info: MemInfo,
}

/// Cuts segments into pieces. Best fit within all segments; a request longer than a segment gets its own.
pub struct SegmentPool {
    source: Arc<dyn Segments>,
    order: Arc<dyn Order>,
    segment: u64,
    state: Lock<State>,
}

impl SegmentPool {
    /// Segments of `segment` bytes from `source`.
    pub fn new(source: Arc<dyn Segments>, order: Arc<dyn Order>, segment: u64) -> SegmentPool {
        SegmentPool {
            source,
            order,
            segment: segment.max(UNIT).next_multiple_of(UNIT),
            state: Lock::new(State {
                info: MemInfo {
                    limit: u64::MAX,
                    ..MemInfo::default()
                },
                ..State::default()
            }),
        }
    }

    fn open(&self, state: &mut State, len: u64) -> Result<u64, MemoryError> {
        let mut bytes = len.max(self.segment);
        let opened = self.source.open(bytes).or_else(|error| {
            if bytes == len {
                return Err(error);
            }
            bytes = len;
            self.source.open(len)
        });
        let buf = opened?;
        let place = state.next;
        // Segments never touch on the line, so that pieces of two are never merged.
        state.next += bytes + UNIT;
        state.segments.insert(place, (buf, bytes));
        state.places.insert(buf, place);
        let info = &mut state.info;
        info.reserved += bytes;
        info.peak_reserved = info.peak_reserved.max(info.reserved);
        info.grown += 1;
        let rest = Free {
            offset: place + len,
            len: bytes - len,
            tag: None,
        };
        if rest.len > 0 {
            state.free.add(rest, &*self.order);
        }
        Ok(place)
    }
}

impl MemoryResource for SegmentPool {
    fn get(&self, bytes: u64, queue: Queue) -> Result<Piece, MemoryError> {
        let refused = || MemoryError::OutOfMemory {
            need: bytes,
            free: 0,
            by: self.name(),
        };
        let len = bytes.max(1).checked_next_multiple_of(UNIT);
        let len = len.filter(|len| *len < u64::MAX / 4).ok_or_else(refused)?;
        let want = Want {
            bytes: len,
            align: UNIT,
            queue,
        };
        self.state.with(|state| {
            let mut taken = state.free.take(want, &*self.order);
            if taken.is_none() && state.free.merge_again(&*self.order) {
                taken = state.free.take(want, &*self.order);
            }
            let place = match taken {
                Some((place, tag)) => {
                    if let Some((last, event)) = tag
                        && last != queue
                        && !self.order.done(event)
                    {
                        self.order.wait(queue, event);
                    }
                    place
                }
                None => self.open(state, len)?,
            };
            let info = &mut state.info;
            info.requests += 1;
            info.in_use += len;
            info.peak = info.peak.max(info.in_use);
            let segment = state.segments.range(..=place).next_back();
            let (&start, &(buf, _)) = segment.ok_or_else(refused)?;
            let offset = place - start;
            Ok(Piece {
                addr: Addr { buf, offset },
                zero: false,
            })
        })
    }

    fn free(&self, addr: Addr, bytes: u64, queue: Queue) {
        let event = self.order.record(queue);
        let len = bytes.max(1).next_multiple_of(UNIT);
        self.state.with(|state| {
            let Some(&place) = state.places.get(&addr.buf) else {
                debug_assert!(false, "no segment {} was given out", addr.buf);
                return;
            };
            let block = Free {
                offset: place + addr.offset,
                len,
                tag: Some((queue, event)),
            };
            state.free.add(block, &*self.order);
            state.info.in_use -= len;
        });
    }

    fn trim(&self, want: u64) -> u64 {
        for event in self.state.with(|state| state.free.unfinished(&*self.order)) {
            self.order.sync(event);
        }
        self.state.with(|state| {
            state.free.merge_again(&*self.order);
            let mut given = 0;
            for block in state.free.highest_first() {
                let whole = state.segments.get(&block.offset).copied();
                let Some((buf, bytes)) = whole.filter(|(_, bytes)| *bytes == block.len) else {
                    continue;
                };
                if given >= want || block.tag.is_some() {
                    continue;
                }
                state.free.remove(block.offset);
                state.segments.remove(&block.offset);
                state.places.remove(&buf);
                self.source.close(buf, bytes);
                given += bytes;
            }
            state.info.reserved -= given;
            given
        })
    }

    fn info(&self) -> MemInfo {
        self.state.with(|state| MemInfo {
            largest_free: state.free.longest(),
            ..state.info
        })
    }

    fn name(&self) -> &'static str {
        self.source.name()
    }

    fn hold_for_fork(&self) {
        self.state.acquire();
    }

    fn release_after_fork(&self) {
        self.state.release();
    }
}

impl Drop for SegmentPool {
    fn drop(&mut self) {
        self.state.with(|state| {
            for (buf, bytes) in std::mem::take(&mut state.segments).into_values() {
                self.source.close(buf, bytes);
            }
        });
    }
}
