//! Memory of a device: counted within a budget, and used again by the queue that used it before.

use crate::memory::Reserved;
use crate::{Meter, Reserve, VolumeError};
use arrayloom_device::{Buf, Device, DeviceError, End, Event, Queue};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a device says, as an error on a volume.
pub(crate) fn trouble(error: &DeviceError, meter: &Meter) -> VolumeError {
    match error {
        DeviceError::OutOfMemory { need, .. } => VolumeError::OutOfMemory {
            need: *need,
            used: meter.used(),
            limit: meter.limit(),
        },
        other => VolumeError::Device(other.to_string()),
    }
}

struct Room {
    buf: Buf,
    bytes: u64,
    device: Arc<dyn Device>,
    _counted: Reserved,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.device.free(self.buf);
    }
}

/// A queue of a device, and memory that it has used and nobody needs.
pub(crate) struct Lane {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) queue: Queue,
    pub(crate) meter: Arc<Meter>,
    idle: Mutex<Vec<Room>>,
}

/// A block of device memory. It goes back to its lane: later work of the same queue waits for earlier work.
pub(crate) struct Mem<'l> {
    room: Option<Room>,
    lane: &'l Lane,
}

impl Lane {
    /// A queue whose memory is counted by `meter`.
    pub(crate) fn new(device: Arc<dyn Device>, queue: Queue, meter: Arc<Meter>) -> Lane {
        Lane {
            device,
            queue,
            meter,
            idle: Mutex::default(),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Room>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the device says, as an error on a volume.
    pub(crate) fn trouble(&self, error: &DeviceError) -> VolumeError {
        trouble(error, &self.meter)
    }

    /// `bytes` bytes.
    ///
    /// # Errors
    /// [`VolumeError::OutOfMemory`] beyond the budget, or if the device has no more; other errors of the device.
    pub(crate) fn take(&self, bytes: u64) -> Result<Mem<'_>, VolumeError> {
        let bytes = bytes.max(1);
        let mut idle = self.idle();
        let fits = |room: &Room| (bytes..=bytes.saturating_mul(2)).contains(&room.bytes);
        let best = (0..idle.len())
            .filter(|&i| fits(&idle[i]))
            .min_by_key(|&i| idle[i].bytes);
        let room = match best {
            Some(at) => idle.swap_remove(at),
            None => match self.make(bytes) {
                Err(error) if error.is_memory() && !idle.is_empty() => {
                    idle.clear();
                    self.make(bytes)?
                }
                made => made?,
            },
        };
        Ok(Mem {
            room: Some(room),
            lane: self,
        })
    }

    fn make(&self, bytes: u64) -> Result<Room, VolumeError> {
        let counted = Reserve(bytes).take(&self.meter)?;
        let buf = self.device.alloc(bytes).map_err(|e| self.trouble(&e))?;
        Ok(Room {
            buf,
            bytes,
            device: Arc::clone(&self.device),
            _counted: counted,
        })
    }

    /// Lets go of memory that nobody needs.
    pub(crate) fn trim(&self) {
        self.idle().clear();
    }

    /// Brings `data` to the device.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn send(&self, to: &Mem<'_>, data: &[u8]) -> Result<(), VolumeError> {
        let from = End::Host(data.as_ptr().cast_mut());
        let (to, bytes) = (End::Dev(to.buf(), 0), data.len() as u64);
        let sent = self.device.copy(self.queue, to, from, bytes);
        sent.map_err(|e| self.trouble(&e))
    }

    /// Brings bytes of the device to `data`, which are there, and must stay where they are, until the event.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn fetch(&self, from: &Mem<'_>, data: &mut [u8]) -> Result<Event, VolumeError> {
        let (to, bytes) = (End::Host(data.as_mut_ptr()), data.len() as u64);
        let sent = self
            .device
            .copy(self.queue, to, End::Dev(from.buf(), 0), bytes);
        let marked = sent.and_then(|()| self.device.record(self.queue));
        if marked.is_err() {
            // The copy may be on its way all the same.
            self.settle();
        }
        marked.map_err(|e| self.trouble(&e))
    }

    /// Waits for an event.
    ///
    /// # Errors
    /// Those of the work before it.
    pub(crate) fn wait(&self, event: Event) -> Result<(), VolumeError> {
        let passed = self.device.poll(event, true);
        passed.map(drop).map_err(|e| self.trouble(&e))
    }

    /// Waits for all that was put in, whatever became of it.
    pub(crate) fn settle(&self) {
        if let Ok(event) = self.device.record(self.queue) {
            drop(self.device.poll(event, true));
        }
    }
}

impl Mem<'_> {
    /// Its number.
    pub(crate) fn buf(&self) -> Buf {
        self.room.as_ref().map_or(Buf(0), |room| room.buf)
    }
}

impl Drop for Mem<'_> {
    fn drop(&mut self) {
        if let Some(room) = self.room.take() {
            self.lane.idle().push(room);
        }
    }
}
