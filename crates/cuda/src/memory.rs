//! Memory of the device: address space with memory behind parts of it, blocks, and what can be given up.

use crate::api::{Access, Address, Failure, Properties, Virtual};
use crate::context::{Context, NAME};
use arrayloom_memory::{Addr, MemoryError, Vmm};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

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

/// Something that holds memory of the device only to be quick.
pub(crate) trait Spare: Send + Sync {
    /// Bytes that it holds, as far as it knows.
    fn bytes(&self) -> u64;

    /// Gives everything back that is not in use; true if there was anything.
    fn give_up(&self) -> bool;
}

/// Everything of a device that holds memory only to be quick.
#[derive(Default)]
pub(crate) struct Spares(Mutex<Vec<Weak<dyn Spare>>>);

impl Spares {
    /// One more.
    pub(crate) fn add(&self, spare: Weak<dyn Spare>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|spare| spare.strong_count() > 0);
        all.push(spare);
    }

    fn all(&self) -> Vec<Arc<dyn Spare>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter_map(Weak::upgrade).collect()
    }

    /// Bytes that they hold.
    pub(crate) fn bytes(&self) -> u64 {
        self.all().iter().map(|spare| spare.bytes()).sum()
    }

    /// Gives all of it back that is not in use; true if there was anything.
    pub(crate) fn give_up(&self) -> bool {
        let given = self.all().into_iter().map(|spare| spare.give_up());
        given.fold(false, |any, given| any | given)
    }
}

/// A block that the work of one queue uses, step by step, once it is needed.
#[derive(Default)]
pub(crate) struct Scratch(pub(crate) Mutex<Option<(Block, u64)>>);

impl Spare for Scratch {
    fn bytes(&self) -> u64 {
        // While steps are put in that use it, it may change.
        let held = self.0.try_lock();
        held.map_or(0, |held| held.as_ref().map_or(0, |(_, bytes)| *bytes))
    }

    fn give_up(&self) -> bool {
        let held = self.0.try_lock().ok().and_then(|mut held| held.take());
        held.is_some()
    }
}

/// Virtual memory of the device.
pub(crate) struct Pages {
    context: Arc<Context>,
    spares: Arc<Spares>,
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
    pub(crate) fn of(
        context: &Arc<Context>,
        spares: &Arc<Spares>,
        limit: u64,
    ) -> Option<Arc<Pages>> {
        let paged = context.paged.as_ref()?;
        let _current = context.enter().ok()?;
        let mut granule = 0;
        let properties = Properties::of(context.device);
        paged.granularity(&mut granule, &properties, 0).ok()?;
        let granule = granule as u64;
        let pages = Arc::new(Pages {
            context: Arc::clone(context),
            spares: Arc::clone(spares),
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

    /// Puts memory behind granules, or behind none of them.
    fn back_all(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        let mut mapped = self.mapped.lock().unwrap_or_else(PoisonError::into_inner);
        let used = mapped.len() as u64 * self.granule + self.spares.bytes();
        let free = self.limit.saturating_sub(used);
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
        let mapped = self.back_all(addr, bytes);
        if mapped.is_err() && self.spares.give_up() {
            return self.back_all(addr, bytes);
        }
        mapped
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
