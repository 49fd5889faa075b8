//! Memory of a device in pieces, under a limit of ours: cut from its virtual memory, from large segments, or
//! block by block.

use crate::{Buf, Device, DeviceError};
use arrayloom_memory::{
    Addr, Arena, ArenaSize, AtOnce, Limit, MemInfo, MemoryError, MemoryResource, Piece,
    SegmentPool, Segments,
};
use arrayloom_types::Queue;
use std::sync::{Arc, Mutex, PoisonError};

/// Blocks that are asked for where a device has no virtual memory.
const SEGMENT: u64 = 32 << 20;
/// A segment is at most the memory over this.
const SEGMENTS: u64 = 16;
/// Address space, where memory is virtual and has no bound of its own.
const RESERVE: u64 = 1 << 40;
const QUEUE: Queue = Queue(0);

/// A piece of device memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    addr: Addr,
    bytes: u64,
}

impl Spot {
    pub(super) fn buf(&self) -> Buf {
        Buf(self.addr.buf)
    }

    /// Bytes from the start of the buffer.
    pub(super) fn offset(&self) -> u64 {
        self.addr.offset
    }
}

/// The blocks of the device.
struct Source {
    device: Arc<dyn Device>,
    /// What else than lack of memory it answered.
    failure: Mutex<Option<DeviceError>>,
}

impl Source {
    fn block(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.device.alloc(bytes).map(|buf| buf.0).map_err(|error| {
            let by = self.device.caps().name;
            let free = match error {
                DeviceError::OutOfMemory { free, .. } => free,
                other => {
                    *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(other);
                    0
                }
            };
            let need = bytes;
            MemoryError::OutOfMemory { need, free, by }
        })
    }
}

impl Segments for Source {
    fn open(&self, bytes: u64) -> Result<u64, MemoryError> {
        self.block(bytes)
    }

    fn close(&self, buf: u64, _bytes: u64) {
        self.device.free(Buf(buf));
    }

    fn name(&self) -> &'static str {
        self.device.caps().name
    }
}

/// Every piece is a block of the device.
struct Single(Arc<Source>);

impl MemoryResource for Single {
    fn get(&self, bytes: u64, _queue: Queue) -> Result<Piece, MemoryError> {
        let buf = self.0.block(bytes)?;
        Ok(Piece {
            addr: Addr { buf, offset: 0 },
            zero: false,
        })
    }

    fn free(&self, addr: Addr, _bytes: u64, _queue: Queue) {
        self.0.device.free(Buf(addr.buf));
    }

    fn trim(&self, _want: u64) -> u64 {
        0
    }

    fn info(&self) -> MemInfo {
        MemInfo {
            limit: u64::MAX,
            ..MemInfo::default()
        }
    }

    fn name(&self) -> &'static str {
        self.0.device.caps().name
    }
}

/// All memory of a device.
pub(super) struct DeviceMemory {
    source: Arc<Source>,
    limit: Limit,
}

impl DeviceMemory {
    /// Of this device; each piece is a block of its own if `single`.
    pub(super) fn new(device: &Arc<dyn Device>, single: bool) -> DeviceMemory {
        let source = Arc::new(Source {
            device: Arc::clone(device),
            failure: Mutex::default(),
        });
        let memory = device.caps().memory;
        let size = ArenaSize {
            reserve: memory.min(RESERVE),
            unit: 512,
            large: 2 << 20,
        };
        let arena = device
            .vmm()
            .filter(|_| !single)
            .and_then(|vmm| Arena::new(vmm, Arc::new(AtOnce), size).ok());
        // Work of one queue uses all of it, in order: a piece may be given out again at once.
        let below: Arc<dyn MemoryResource> = match arena {
            Some(arena) => Arc::new(arena),
            None if single => Arc::new(Single(Arc::clone(&source))),
            None => {
                let segment = SEGMENT.min(memory / SEGMENTS);
                let source: Arc<dyn Segments> = Arc::<Source>::clone(&source);
                Arc::new(SegmentPool::new(source, Arc::new(AtOnce), segment))
            }
        };
        DeviceMemory {
            source,
            limit: Limit::new(below, memory),
        }
    }

    /// A piece.
    pub(super) fn alloc(&self, bytes: u64) -> Result<Spot, DeviceError> {
        let got = self.limit.alloc(bytes, QUEUE).or_else(|error| {
            // Free pieces of several segments may make room for one.
            if self.limit.trim(u64::MAX) == 0 {
                return Err(error);
            }
            self.limit.alloc(bytes, QUEUE)
        });
        let failure = || {
            let mut failure = self.source.failure.lock();
            failure.as_deref_mut().map_or(None, Option::take)
        };
        let device = self.source.device.caps().name;
        match got {
            Ok(addr) => Ok(Spot { addr, bytes }),
            Err(MemoryError::OutOfMemory { need, free, .. }) => {
                Err(failure().unwrap_or(DeviceError::OutOfMemory { device, need, free }))
            }
            Err(other) => Err(DeviceError::Failed {
                device,
                what: other.to_string(),
            }),
        }
    }

    pub(super) fn free(&self, spot: Spot) {
        self.limit.free(spot.addr, spot.bytes, QUEUE);
    }

    /// The limit, which may be changed at any time.
    pub(super) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// Gives back what waits for re-use.
    pub(super) fn trim(&self) -> u64 {
        self.limit.trim(u64::MAX)
    }

    /// What it holds.
    pub(super) fn info(&self) -> MemInfo {
        self.limit.info()
    }
}
