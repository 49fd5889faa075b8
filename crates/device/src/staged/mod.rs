//! Any device as one that shares the memory of the host, so that whole programs run on it.
//!
//! Kernels come with host addresses. What they read is copied to the device, and what they wrote is
//! copied back, once each; memory that nobody else looks at stays on the device until somebody does
//! (`residency`). A kernel that the device does not have is cut into single operations; what it still lacks
//! runs on the host's device. Where the memory of the device is too small, copies that stayed there go first,
//! then kernels run in boxes of rows, then on the host. Everything is counted with its reason.

mod ext;
mod memory;
mod parts;
mod residency;
mod session;
mod store;
mod work;

use crate::{
    Arg, Buf, Caps, Device, DeviceError, End, Event, ExtCall, Foreign, Imported, Launch, Queue,
    Residency, Sweep, Use, UseOf, rows_are_apart,
};
use arrayloom_ir::Kernel;
use arrayloom_memory::{MemInfo, Vmm};
use memory::DeviceMemory;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::Store;
use work::{Work, all_stored, is_lack};

/// What became of the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedStats {
    /// Kernels that the device ran as they were.
    pub native: u64,
    /// Kernels that it ran in parts.
    pub decomposed: u64,
    /// Parts and kernels that the host ran instead.
    pub fallbacks: u64,
    /// Why, and how often.
    pub reasons: BTreeMap<String, u64>,
    /// Copies from the host to the device.
    pub uploads: u64,
    /// Their bytes.
    pub upload_bytes: u64,
    /// Copies from the device to the host.
    pub downloads: u64,
    /// Their bytes.
    pub download_bytes: u64,
    /// Copies on the device that made room for others.
    pub evictions: u64,
    /// Their bytes.
    pub evicted_bytes: u64,
    /// Kernels that ran in boxes of rows, because the device has not enough memory for the whole.
    pub boxed: u64,
    /// Parts and kernels among the fallbacks for lack of memory on the device.
    pub on_host_for_memory: u64,
}

impl StagedStats {
    fn add(&mut self, other: StagedStats) {
        self.native += other.native;
        self.decomposed += other.decomposed;
        self.fallbacks += other.fallbacks;
        self.uploads += other.uploads;
        self.upload_bytes += other.upload_bytes;
        self.downloads += other.downloads;
        self.download_bytes += other.download_bytes;
        self.evictions += other.evictions;
        self.evicted_bytes += other.evicted_bytes;
        self.boxed += other.boxed;
        self.on_host_for_memory += other.on_host_for_memory;
        for (why, count) in other.reasons {
            *self.reasons.entry(why).or_default() += count;
        }
    }

    fn fell_back(&mut self, why: String) {
        self.fallbacks += 1;
        *self.reasons.entry(why).or_default() += 1;
    }
}

/// A device behind the memory of the host.
pub struct Staged {
    device: Arc<dyn Device>,
    host: Arc<dyn Device>,
    caps: Caps,
    memory: DeviceMemory,
    store: Mutex<Store>,
    use_of: OnceLock<Box<UseOf>>,
    /// Copies may stay on the device when a series of kernels is over.
    stays: bool,
    stats: Mutex<StagedStats>,
    /// The device has work that nobody waited for.
    late: AtomicBool,
}

impl Staged {
    /// `device` for whoever works with host addresses; `host` runs what it lacks, and owns the memory.
    pub fn new(device: Arc<dyn Device>, host: Arc<dyn Device>) -> Staged {
        Staged::with(device, host, false)
    }

    /// As [`Staged::new`], for a device that cannot be asked from every thread and names its memory block
    /// by block: nothing stays there when a series of kernels is over.
    pub fn confined(device: Arc<dyn Device>, host: Arc<dyn Device>) -> Staged {
        Staged::with(device, host, true)
    }

    fn with(device: Arc<dyn Device>, host: Arc<dyn Device>, confined: bool) -> Staged {
        let caps = Caps {
            unified: true,
            abilities: host.caps().abilities,
            ..device.caps().clone()
        };
        Staged {
            memory: DeviceMemory::new(&device, confined),
            device,
            host,
            caps,
            store: Mutex::default(),
            use_of: OnceLock::new(),
            stays: !confined,
            stats: Mutex::default(),
            late: AtomicBool::new(false),
        }
    }

    /// Counts since the start or the last [`Staged::reset_stats`].
    pub fn stats(&self) -> StagedStats {
        lock(&self.stats).clone()
    }

    /// Sets all counts to zero.
    pub fn reset_stats(&self) {
        *lock(&self.stats) = StagedStats::default();
    }

    /// The memory of the device in use.
    pub fn memory(&self) -> MemInfo {
        self.memory.info()
    }

    /// Bounds the memory of the device that is used; gives the old bound. What is in use beyond the new one
    /// makes room when the next kernel needs memory.
    pub fn set_limit(&self, bytes: u64) -> u64 {
        self.memory.limit().set(bytes)
    }

    /// Gives memory of the device that waits for re-use back; tells how many bytes.
    pub fn trim(&self) -> u64 {
        self.memory.trim()
    }

    /// Copies stay on the device between kernels.
    fn keeps(&self) -> bool {
        self.use_of.get().is_some() && !self.device.caps().unified
    }

    /// Who uses this memory of the host beside kernels.
    fn use_of(&self, low: u64, bytes: u64) -> Use {
        let known = self.use_of.get().filter(|_| self.keeps());
        known.map_or(Use::Shared, |use_of| use_of(low, bytes))
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        lock(&self.store)
    }

    /// Waits for work of the device that nobody waited for.
    fn catch_up(&self) -> Result<(), DeviceError> {
        if self.late.swap(false, Relaxed) {
            finish(&*self.device)?;
        }
        Ok(())
    }

    /// Runs a kernel, and notes its conditions where they are wanted.
    fn run_noted(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        met: Option<&Arc<[AtomicU8]>>,
    ) -> Result<(), DeviceError> {
        let counted = met.is_none_or(|met| met.len() == kernel.code.len());
        if !launch.fits(kernel) || !counted {
            return Err(DeviceError::Unsupported {
                device: self.caps.name,
                what: "the launch does not fit the kernel".to_owned(),
            });
        }
        if launch.outs.is_empty() || launch.shape.contains(&0) && all_stored(kernel) {
            return Ok(());
        }
        self.run_boxed(kernel, launch, met)
    }

    /// Runs a kernel, in boxes of rows where the device has not enough memory for the whole.
    fn run_boxed(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        met: Option<&Arc<[AtomicU8]>>,
    ) -> Result<(), DeviceError> {
        let rows = launch.shape.first().copied().unwrap_or(0);
        let limit = self.memory.limit().most();
        let divides = rows > 1 && rows_are_apart(kernel) && least(kernel, launch) <= limit;
        let mut store = self.store();
        let mut work = Work::new(self, &mut store, (kernel, launch, met), divides);
        let result = work.run();
        let stats = std::mem::take(&mut work.session.stats);
        drop(work);
        drop(store);
        lock(&self.stats).add(stats);
        match result {
            Err(lack) if divides && is_lack(&lack) => {}
            other => return other,
        }
        lock(&self.stats).boxed += 1;
        // What stays of whole arrays would stand in the way of their boxes.
        self.settle(false)?;
        let half = rows / 2;
        for (first, count) in [(0, half), (half, rows - half)] {
            let mut shape = launch.shape.to_vec();
            shape[0] = count;
            let part = |args: &[Arg]| args.iter().map(|arg| arg.from_row(first)).collect();
            let (outs, ins): (Vec<Arg>, Vec<Arg>) = (part(launch.outs), part(launch.ins));
            let boxed = Launch {
                shape: &shape,
                outs: &outs,
                ins: &ins,
                ..*launch
            };
            self.run_boxed(kernel, &boxed, met)?;
        }
        Ok(())
    }
}

/// Bytes of device memory that one row of a kernel needs.
fn least(kernel: &Kernel, launch: &Launch<'_>) -> u64 {
    let mut row = launch.shape.to_vec();
    row[0] = 1;
    let ins = launch.ins.iter().zip(kernel.inputs.iter().copied());
    let outs = launch.outs.iter().enumerate();
    let all = ins.chain(outs.map(|(i, arg)| (arg, kernel.output_dtype(i))));
    let ranges = all.filter_map(|(arg, dtype)| arg.range(&row, dtype));
    ranges.map(|(low, high)| high - low).sum()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for everything in queue 0.
fn finish(device: &dyn Device) -> Result<(), DeviceError> {
    let event: Event = device.record(Queue(0))?;
    device.poll(event, true).map(|_passed| ())
}

fn pointer(address: u64) -> *mut u8 {
    crate::host_pointer(address)
}

impl Device for Staged {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.host.alloc(bytes)
    }

    fn free(&self, buf: Buf) {
        self.host.free(buf);
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        if let Some(residency) = self.residency() {
            let address = |end| match end {
                End::Host(at) => at.expose_provenance() as u64,
                End::Dev(buf, offset) => buf.0.wrapping_add(offset),
            };
            residency.bring(address(src), bytes)?;
            residency.forget(address(dst), bytes);
        }
        self.host.copy(queue, dst, src, bytes)
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let Some(flags) = launch.flags else {
            return self.run_noted(kernel, launch, None);
        };
        let met: Arc<[AtomicU8]> = flags.iter().map(|_| AtomicU8::new(0)).collect();
        let launch = Launch {
            flags: None,
            ..*launch
        };
        self.run_watched(queue, kernel, &launch, &met)?;
        self.catch_up()?;
        for (flag, met) in flags.iter().zip(&*met) {
            flag.fetch_or(met.load(Relaxed), Relaxed);
        }
        Ok(())
    }

    fn run_watched(
        &self,
        _queue: Queue,
        kernel: &Kernel,
        launch: &Launch<'_>,
        met: &Arc<[AtomicU8]>,
    ) -> Result<(), DeviceError> {
        self.run_noted(kernel, launch, Some(met))
    }

    fn sweep(&self, queue: Queue, sweep: &Sweep<'_>) -> Result<bool, DeviceError> {
        if self.device.caps().unified {
            self.device.sweep(queue, sweep)
        } else {
            Ok(false)
        }
    }

    fn record(&self, _queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _queue: Queue, _event: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _event: Event, _block: bool) -> Result<bool, DeviceError> {
        self.catch_up().map(|()| true)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.host.host_ptr(buf)
    }

    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        if self.device.caps().unified {
            return self.device.ext(queue, call);
        }
        self.ext_staged(call)
    }

    fn vmm(&self) -> Option<Arc<dyn Vmm>> {
        self.host.vmm()
    }

    fn prepare(&self, kernels: &[&Kernel]) -> Result<(), DeviceError> {
        if self.device.caps().fused {
            self.device.prepare(kernels)
        } else {
            Ok(())
        }
    }

    fn import(&self, foreign: Foreign) -> Result<Imported, DeviceError> {
        self.host.import(foreign)
    }

    fn export(&self, buf: Buf, bytes: u64, queue: Queue) -> Result<Foreign, DeviceError> {
        if let Some(residency) = self.residency() {
            residency.bring(buf.0, bytes)?;
        }
        self.host.export(buf, bytes, queue)
    }

    fn residency(&self) -> Option<&dyn Residency> {
        (!self.device.caps().unified).then_some(self)
    }
}
