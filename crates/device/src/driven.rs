//! What devices behind a driver share: blocks within a budget, queues by number, points in queues.

use crate::{Buf, DeviceError};
use arrayloom_types::{Event, Queue};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The unit of budgets.
const UNIT: u64 = 512;
/// So many points in queues are kept before those that passed are looked for.
const MARKS: usize = 1024;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Held<M> {
    blocks: BTreeMap<u64, (Arc<M>, u64)>,
    used: u64,
}

/// Blocks of a device within a budget. Drivers find out too late that memory ran out, some never.
#[derive(Debug)]
pub struct Blocks<M> {
    device: &'static str,
    limit: u64,
    largest: u64,
    held: Mutex<Held<M>>,
}

impl<M> Blocks<M> {
    /// Blocks of at most `limit` bytes together and `largest` bytes each.
    pub fn new(device: &'static str, limit: u64, largest: u64) -> Blocks<M> {
        Blocks {
            device,
            limit,
            largest,
            held: Mutex::new(Held {
                blocks: BTreeMap::new(),
                used: 0,
            }),
        }
    }

    /// A new block. `make` gets it from the driver, by its length, and tells its number; nothing if the
    /// driver has no memory.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], and what `make` answers.
    pub fn alloc(
        &self,
        bytes: u64,
        make: impl FnOnce(u64) -> Result<Option<(u64, M)>, DeviceError>,
    ) -> Result<Buf, DeviceError> {
        let mut held = locked(&self.held);
        let room = self.limit.saturating_sub(held.used).min(self.largest);
        let none = DeviceError::OutOfMemory {
            device: self.device,
            need: bytes,
            free: room,
        };
        let whole = bytes.max(1).checked_next_multiple_of(UNIT);
        let Some(whole) = whole.filter(|&w| w <= room) else {
            return Err(none);
        };
        let (number, block) = make(whole)?.ok_or(none)?;
        held.used += whole;
        held.blocks.insert(number, (Arc::new(block), whole));
        Ok(Buf(number))
    }

    /// Gives a block back; it goes to the driver when nobody else holds it.
    pub fn free(&self, buf: Buf) {
        let gone = {
            let mut held = locked(&self.held);
            let gone = held.blocks.remove(&buf.0);
            held.used -= gone.as_ref().map_or(0, |(_, bytes)| *bytes);
            gone
        };
        // A driver may wait for work before it takes a block back: others go on meanwhile.
        drop(gone);
    }

    /// The driver's handle of a block.
    pub fn get(&self, buf: Buf) -> Option<Arc<M>> {
        let held = locked(&self.held);
        held.blocks.get(&buf.0).map(|(block, _)| Arc::clone(block))
    }
}

/// A driver's queues, each made when it is first used.
#[derive(Debug)]
pub struct Queues<Q>(Mutex<BTreeMap<u32, Arc<Q>>>);

impl<Q> Default for Queues<Q> {
    fn default() -> Queues<Q> {
        Queues(Mutex::default())
    }
}

impl<Q> Queues<Q> {
    /// The queue with this number.
    ///
    /// # Errors
    /// What `make` answers.
    pub fn get(
        &self,
        queue: Queue,
        make: impl FnOnce() -> Result<Q, DeviceError>,
    ) -> Result<Arc<Q>, DeviceError> {
        let mut queues = locked(&self.0);
        if let Some(found) = queues.get(&queue.0) {
            return Ok(Arc::clone(found));
        }
        let made = Arc::new(make()?);
        queues.insert(queue.0, Arc::clone(&made));
        Ok(made)
    }

    /// All queues that there are.
    pub fn all(&self) -> Vec<Arc<Q>> {
        locked(&self.0).values().map(Arc::clone).collect()
    }
}

/// A driver's points in queues, by the numbers of their events.
#[derive(Debug)]
pub struct Marks<M>(Mutex<(u64, BTreeMap<u64, Arc<M>>)>);

impl<M> Default for Marks<M> {
    fn default() -> Marks<M> {
        Marks(Mutex::default())
    }
}

impl<M> Marks<M> {
    /// Keeps a point. Those that passed long ago are of no use to anyone: where there are many, they are
    /// dropped.
    pub fn add(&self, mark: M, passed: impl Fn(&M) -> bool) -> Event {
        let mut marks = locked(&self.0);
        marks.0 += 1;
        let number = marks.0;
        if marks.1.len() >= MARKS {
            marks.1.retain(|_, mark| !passed(mark));
        }
        marks.1.insert(number, Arc::new(mark));
        Event(number)
    }

    /// The point of an event; nothing if it passed.
    pub fn get(&self, event: Event) -> Option<Arc<M>> {
        locked(&self.0).1.get(&event.0).map(Arc::clone)
    }

    /// Forgets a point that passed.
    pub fn passed(&self, event: Event) {
        let gone = locked(&self.0).1.remove(&event.0);
        // A driver is not asked to forget it while others wait for the lock.
        drop(gone);
    }
}
