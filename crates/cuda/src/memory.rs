//! Memory of the device: address space with memory behind parts of it, and blocks.

use crate::api::{Access, Address, Failure, Properties, Virtual};
use crate::context::{Context, NAME};
use arrayloom_memory::{Addr, MemoryError, Vmm};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A block of the driver's own making.
pub(crate) struct Block {
    address: Address,
    context: Arc<Context>,
}

impl Block {
    /// A new one; nothing if there is no memory. The context is current.
    pub(crate) fn new(context: &Arc<Context>, bytes: u64) -> Result<Option<Block>, Failure> {
        let mut address = 0;
        let Ok(bytes) = usize::try_from(bytes) else {
            return Ok(None);
        };
        match context.done(context.driver.mem_alloc(&mut address, bytes)) {
            Ok(()) => Ok(Some(Block {
                address,
                context: Arc::clone(context),
            })),
            Err(failure) if failure.is_memory() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Where it starts.
    pub(crate) fn address(&self) -> Address {
        self.address
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // Kernels may still use it; what failed is told to whoever waits for it.
            drop(self.context.finish());
            drop(self.context.driver.mem_free(self.address));
        }
    }
}

/// Virtual memory of the device.
pub(crate) struct Pages {
    context: Arc<Context>,
    granule: u64,
    limit: u64,
    /// Handles of memory by the address that they are mapped at, one granule each.
    mapped: Mutex<BTreeMap<Address, u64>>,
}

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Pages {
    /// The virtual memory of a device that has it, of at most `limit` bytes.
    pub(crate) fn of(context: &Arc<Context>, limit: u64) -> Option<Arc<Pages>> {
        let paged = context.paged.as_ref()?;
        let _current = context.enter().ok()?;
        let mut granule = 0;
        let properties = Properties::of(context.device);
        paged.granularity(&mut granule, &properties, 0).ok()?;
        let granule = granule as u64;
        let pages = Arc::new(Pages {
            context: Arc::clone(context),
            granule: granule.is_power_of_two().then_some(granule)?,
            limit,
            mapped: Mutex::default(),
        });
        // Some virtual GPUs have the functions and refuse them.
        let buf = pages.reserve(granule).ok()?;
        let addr = Addr { buf, offset: 0 };
        let tried = pages.map(addr, granule);
        if tried.is_ok() {
            pages.unmap(addr, granule);
        }
        pages.release(buf, granule);
        tried.ok().map(|()| pages)
    }

    fn none(&self, need: u64, free: u64) -> MemoryError {
        let by = self.name();
        MemoryError::OutOfMemory { need, free, by }
    }

    /// Puts memory behind one granule.
    fn back(&self, paged: &Virtual, at: Address) -> Option<u64> {
        let properties = Properties::of(self.context.device);
        let mut handle = 0;
        let bytes = size(self.granule);
        paged.create(&mut handle, bytes, &properties, 0).ok()?;
        if paged.map(at, bytes, 0, handle, 0).is_err() {
            drop(paged.drop_handle(handle));
            return None;
        }
        let access = Access::of(self.context.device);
        if paged.allow(at, bytes, &access, 1).is_err() {
            drop(paged.unmap(at, bytes));
            drop(paged.drop_handle(handle));
            return None;
        }
        Some(handle)
    }

    fn take(&self, paged: &Virtual, mapped: &mut BTreeMap<Address, u64>, at: Address) {
        let Some(&handle) = mapped.get(&at) else {
            debug_assert!(false, "granule {at:#x} was not mapped");
            return;
        };
        // What the driver does not take back stays in the list, and is used again.
        if paged.unmap(at, size(self.granule)).is_ok() {
            mapped.remove(&at);
            drop(paged.drop_handle(handle));
        }
    }
}

impl Vmm for Pages {
    fn granule(&self) -> u64 {
        self.granule
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        let whole = bytes.next_multiple_of(self.granule);
        let mut address = 0;
        let paged = self.context.paged.as_ref();
        let got = paged.map(|paged| paged.reserve(&mut address, size(whole), 0, 0, 0));
        match got {
            Some(Ok(())) => Ok(address),
            _ => Err(self.none(bytes, 0)),
        }
    }

    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.limit - (mapped.len() as u64 * self.granule).min(self.limit);
        let current = self.context.enter();
        let (Some(paged), Ok(_current)) = (self.context.paged.as_ref(), current) else {
            return Err(self.none(bytes, 0));
        };
        if bytes > free {
            return Err(self.none(bytes, free));
        }
        let granules = bytes / self.granule;
        for number in 0..granules {
            let at = addr.host() + number * self.granule;
            if mapped.contains_key(&at) {
                continue;
            }
            if let Some(handle) = self.back(paged, at) {
                mapped.insert(at, handle);
                continue;
            }
            for done in 0..number {
                self.take(paged, &mut mapped, addr.host() + done * self.granule);
            }
            return Err(self.none(bytes, number * self.granule));
        }
        Ok(())
    }

    fn unmap(&self, addr: Addr, bytes: u64) {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let current = self.context.enter();
        let (Some(paged), Ok(_current)) = (self.context.paged.as_ref(), current) else {
            return;
        };
        // Kernels may still use it; what failed is told to whoever waits for it.
        drop(self.context.finish());
        for number in 0..bytes / self.granule {
            self.take(paged, &mut mapped, addr.host() + number * self.granule);
        }
    }

    fn release(&self, buf: u64, bytes: u64) {
        let whole = bytes.next_multiple_of(self.granule);
        let mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        // Where the driver failed, memory may still be there: its addresses must not come again.
        let empty = mapped.range(buf..buf + whole).next().is_none();
        if let Some(paged) = self.context.paged.as_ref().filter(|_| empty) {
            drop(paged.release(buf, size(whole)));
        }
    }

    fn name(&self) -> &'static str {
        NAME
    }
}
