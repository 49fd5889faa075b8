//! Pinned memory that copies between host and device go through.
//!
//! A driver copies from pages that stay in memory without the processor, while the program goes on. Bytes to the
//! device are copied to such a block, part by part, and the caller's memory is free to change at once. A block
//! is used again when the event of its copy has passed; when all are busy, the oldest copy is waited for.
//! Where the system pins no more pages, ordinary memory takes their place, one part at a time.

#![expect(unsafe_code, reason = "fills blocks of the arena by address")]

use crate::{Addr, Arena, ArenaSize, AtOnce, Limit, MemInfo, MemoryError, MemoryResource as _};
use crate::{Order, Vmm};
use arrayloom_types::{Event, Queue};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const HOST: Queue = Queue(0);

/// A block that a copy of the device still uses.
struct Busy {
    addr: Addr,
    bytes: u64,
    until: Event,
}

/// Blocks of pinned memory for the copies of one device.
pub struct Staging {
    blocks: Limit,
    order: Arc<dyn Order>,
    part: usize,
    busy: Mutex<VecDeque<Busy>>,
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Staging {
    /// At most `most` bytes of `pages`, which lie in the memory of the host, for work in this order. Copies are
    /// cut into `part` bytes.
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] if there is no address space.
    pub fn new(
        pages: Arc<dyn Vmm>,
        order: Arc<dyn Order>,
        (most, part): (u64, u64),
    ) -> Result<Staging, MemoryError> {
        let dimensions = ArenaSize {
            reserve: most,
            unit: 4096,
            large: 4096,
        };
        let arena = Arena::new(pages, Arc::new(AtOnce), dimensions)?;
        Ok(Staging {
            blocks: Limit::new(Arc::new(arena), most),
            order,
            part: size(part.clamp(1, most)),
            busy: Mutex::default(),
        })
    }

    fn busy(&self) -> MutexGuard<'_, VecDeque<Busy>> {
        self.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes back what copies have done with; waits for the oldest one if `wait`. False if there is none.
    fn retire(&self, wait: bool) -> bool {
        let mut waits = wait;
        let mut any = false;
        loop {
            let mut busy = self.busy();
            let passed = busy.front().is_some_and(|b| self.order.done(b.until));
            let Some(first) = (if passed || waits {
                busy.pop_front()
            } else {
                None
            }) else {
                return any;
            };
            drop(busy);
            if !passed {
                self.order.sync(first.until);
                waits = false;
            }
            self.blocks.free(first.addr, first.bytes, HOST);
            any = true;
        }
    }

    /// A block, or nothing if there are no pinned pages for it.
    fn block(&self, bytes: u64) -> Option<Addr> {
        self.retire(false);
        loop {
            match self.blocks.alloc(bytes, HOST) {
                Ok(addr) => return Some(addr),
                Err(_none) if self.retire(true) => {}
                Err(_none) => return None,
            }
        }
    }

    /// Copies `bytes` towards the device. `send` starts a copy of so many bytes from an address of the host
    /// to their place, counted from the first byte of all. They may change when this returns.
    ///
    /// # Errors
    /// What `send` gives.
    pub fn upload<E>(
        &self,
        queue: Queue,
        bytes: &[u8],
        mut send: impl FnMut(*const u8, u64, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut place = 0;
        for part in bytes.chunks(self.part) {
            let len = part.len() as u64;
            if let Some(addr) = self.block(len) {
                let block = std::ptr::with_exposed_provenance_mut(size(addr.host()));
                // SAFETY: the arena gave these bytes to this call alone, and no copy uses them any more.
                unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), block, part.len()) };
                let sent = send(block, place, part.len());
                let until = self.order.record(queue);
                self.busy().push_back(Busy {
                    addr,
                    bytes: len,
                    until,
                });
                sent?;
            } else {
                // The caller's own pages: they must not change before they have been read.
                let sent = send(part.as_ptr(), place, part.len());
                self.order.sync(self.order.record(queue));
                sent?;
            }
            place += len;
        }
        Ok(())
    }

    /// Fills `bytes` from the device. `receive` starts a copy of so many bytes to an address of the host from
    /// their place, counted from the first byte of all. They are complete when this returns.
    ///
    /// # Errors
    /// What `receive` gives.
    pub fn download<E>(
        &self,
        queue: Queue,
        bytes: &mut [u8],
        mut receive: impl FnMut(*mut u8, u64, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut place = 0;
        for part in bytes.chunks_mut(self.part) {
            let len = part.len() as u64;
            let Some(addr) = self.block(len) else {
                let received = receive(part.as_mut_ptr(), place, part.len());
                self.order.sync(self.order.record(queue));
                received?;
                place += len;
                continue;
            };
            let block: *mut u8 = std::ptr::with_exposed_provenance_mut(size(addr.host()));
            let received = receive(block, place, part.len());
            self.order.sync(self.order.record(queue));
            if received.is_ok() {
                // SAFETY: the block belongs to this call, and the copy into it is complete.
                unsafe { std::ptr::copy_nonoverlapping(block, part.as_mut_ptr(), part.len()) };
            }
            self.blocks.free(addr, len, HOST);
            received?;
            place += len;
        }
        Ok(())
    }

    /// Gives pinned pages that wait for re-use back to the system; tells how many bytes.
    pub fn trim(&self) -> u64 {
        self.retire(false);
        self.blocks.trim(u64::MAX)
    }

    /// What it holds.
    pub fn info(&self) -> MemInfo {
        self.blocks.info()
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Copies that nobody will make any more need no block: an order that is gone passes no event.
        for Busy { addr, bytes, .. } in self.busy().drain(..) {
            self.blocks.free(addr, bytes, HOST);
        }
    }
}
