//! The interpreter as a device: host memory, one thread, everything done at once.

#![expect(unsafe_code, reason = "copies name host memory by address")]

use crate::{eval, memory};
use arrayloom_device::{Buf, Caps, Device, DeviceError, End, Event, Launch, Queue};
use arrayloom_ir::Kernel;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

const NAME: &str = "reference";

/// The unit of allocation, which carries the alignment.
#[derive(Clone, Copy)]
#[repr(align(512))]
struct Block(#[expect(dead_code, reason = "reached by address only")] [u8; 512]);

/// A device that interprets kernels. A [`Buf`] is a host address.
pub struct Reference {
    caps: Caps,
    blocks: Mutex<BTreeMap<u64, Vec<Block>>>,
}

impl Reference {
    /// A device without any memory allocated.
    pub fn new() -> Reference {
        Reference {
            caps: Caps {
                name: NAME,
                detail: "interpreter".to_owned(),
                threads: 1,
                memory: u64::MAX,
                unified: true,
                fused: true,
            },
            blocks: Mutex::default(),
        }
    }

    fn blocks(&self) -> MutexGuard<'_, BTreeMap<u64, Vec<Block>>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Reference {
    fn default() -> Reference {
        Reference::new()
    }
}

/// The address of one end of a copy.
fn address(end: End) -> *mut u8 {
    match end {
        End::Host(at) => at,
        End::Dev(buf, offset) => pointer(buf.0 + offset),
    }
}

/// The host pointer with this address. Addresses fit: they were pointers before.
fn pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

impl Device for Reference {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let no_memory = || DeviceError::OutOfMemory {
            device: NAME,
            need: bytes,
            free: 0,
        };
        let count =
            usize::try_from(bytes.div_ceil(512).max(1)).map_err(|_too_large| no_memory())?;
        let mut memory: Vec<Block> = Vec::new();
        memory
            .try_reserve_exact(count)
            .map_err(|_too_large| no_memory())?;
        memory.resize(count, Block([0; 512]));
        let first = memory.as_mut_ptr().expose_provenance() as u64;
        self.blocks().insert(first, memory);
        Ok(Buf(first))
    }

    fn free(&self, buf: Buf) {
        drop(self.blocks().remove(&buf.0));
    }

    fn copy(&self, _queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let bytes = usize::try_from(bytes).map_err(|_too_large| DeviceError::Failed {
            device: NAME,
            what: format!("a copy of {bytes} bytes is longer than the address space"),
        })?;
        // SAFETY: whoever calls `Device::copy` vouches for both ranges; this device works at once, so
        // nobody else uses them meanwhile.
        unsafe { memory::copy(address(dst), address(src), bytes) };
        Ok(())
    }

    fn run(&self, _queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let unsupported = |what: String| DeviceError::Unsupported { device: NAME, what };
        if !launch.fits(kernel) {
            return Err(unsupported("the launch does not fit the kernel".to_owned()));
        }
        arrayloom_ir::verify(kernel).map_err(|e| unsupported(e.to_string()))?;
        eval::run(kernel, launch).map_err(unsupported)
    }

    fn record(&self, _queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _queue: Queue, _event: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _event: Event, _block: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        Some(pointer(buf.0))
    }
}
