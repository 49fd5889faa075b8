//! A device that counts and computes nothing.

use crate::{Abilities, Buf, Caps, Device, DeviceError, End, Event, Launch, Queue};
use arrayloom_ir::Kernel;
use arrayloom_memory::{Addr, MemoryError, MemoryResource};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const NAME: &str = "null";

/// What a [`Null`] device was asked to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NullCounts {
    /// Pieces of memory given out.
    pub allocs: u64,
    /// Pieces of memory taken back.
    pub frees: u64,
    /// Copies.
    pub copies: u64,
    /// Bytes of the copies.
    pub copied_bytes: u64,
    /// Kernels.
    pub runs: u64,
    /// Instructions of the kernels, leaves included.
    pub instructions: u64,
    /// Points of the kernels' domains.
    pub points: u64,
}

#[derive(Default)]
struct Counters {
    allocs: AtomicU64,
    frees: AtomicU64,
    copies: AtomicU64,
    copied_bytes: AtomicU64,
    runs: AtomicU64,
    instructions: AtomicU64,
    points: AtomicU64,
    events: AtomicU64,
}

/// A device with real memory that answers Ok to everything and writes nothing, so that what is above
/// it can be tested and timed alone.
pub struct Null {
    caps: Caps,
    memory: Arc<dyn MemoryResource>,
    sizes: Mutex<BTreeMap<u64, (Addr, u64)>>,
    counters: Counters,
}

impl Null {
    /// A device over host memory.
    pub fn new(memory: Arc<dyn MemoryResource>) -> Null {
        Null {
            caps: Caps {
                name: NAME,
                detail: "counts only".to_owned(),
                threads: 1,
                memory: memory.info().limit,
                unified: true,
                fused: true,
                abilities: Abilities {
                    values: false,
                    ..Abilities::ALL
                },
            },
            memory,
            sizes: Mutex::default(),
            counters: Counters::default(),
        }
    }

    /// What it was asked to do so far.
    pub fn counts(&self) -> NullCounts {
        let c = &self.counters;
        NullCounts {
            allocs: c.allocs.load(Relaxed),
            frees: c.frees.load(Relaxed),
            copies: c.copies.load(Relaxed),
            copied_bytes: c.copied_bytes.load(Relaxed),
            runs: c.runs.load(Relaxed),
            instructions: c.instructions.load(Relaxed),
            points: c.points.load(Relaxed),
        }
    }

    fn sizes(&self) -> MutexGuard<'_, BTreeMap<u64, (Addr, u64)>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Null {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let addr = self
            .memory
            .alloc(bytes, Queue(0))
            .map_err(|error| match error {
                MemoryError::OutOfMemory { need, free, .. } => DeviceError::OutOfMemory {
                    device: NAME,
                    need,
                    free,
                },
                other => DeviceError::Failed {
                    device: NAME,
                    what: other.to_string(),
                },
            })?;
        self.sizes().insert(addr.host(), (addr, bytes));
        self.counters.allocs.fetch_add(1, Relaxed);
        Ok(Buf(addr.host()))
    }

    fn free(&self, buf: Buf) {
        let size = self.sizes().remove(&buf.0);
        if let Some((addr, bytes)) = size {
            self.memory.free(addr, bytes, Queue(0));
            self.counters.frees.fetch_add(1, Relaxed);
        }
    }

    fn copy(&self, _queue: Queue, _dst: End, _src: End, bytes: u64) -> Result<(), DeviceError> {
        self.counters.copies.fetch_add(1, Relaxed);
        self.counters.copied_bytes.fetch_add(bytes, Relaxed);
        Ok(())
    }

    fn run(&self, _queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if !launch.fits(kernel) {
            return Err(DeviceError::Unsupported {
                device: NAME,
                what: "the launch does not fit the kernel".to_owned(),
            });
        }
        let points: usize = launch.shape.iter().product();
        let c = &self.counters;
        c.runs.fetch_add(1, Relaxed);
        c.instructions.fetch_add(kernel.code.len() as u64, Relaxed);
        c.points.fetch_add(points as u64, Relaxed);
        Ok(())
    }

    fn record(&self, _queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(self.counters.events.fetch_add(1, Relaxed)))
    }

    fn wait(&self, _queue: Queue, _event: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _event: Event, _block: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        let address = usize::try_from(buf.0).ok()?;
        Some(std::ptr::with_exposed_provenance_mut(address))
    }
}
