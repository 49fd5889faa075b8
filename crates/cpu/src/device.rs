//! The device: memory on the heap, queues that are always done, kernels on a pool of threads.

#![expect(
    unsafe_code,
    reason = "blocks are raw memory; launches carry addresses that their caller vouches for"
)]

use crate::Isa;
use crate::config::CpuConfig;
use crate::jit::{Jit, JitStats};
use crate::pool::Pool;
use crate::programs::Programs;
use crate::run::{Env, run};
use crate::scatter::scatter;
use crate::setup::setup;
use crate::sweep::{is_whole, sweep};
use crate::work;
use arrayloom_device::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, Launch, Queue, Sweep,
};
use arrayloom_ir::Kernel;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Its name.
const NAME: &str = "cpu";
/// Alignment of blocks.
const ALIGN: usize = 512;
/// How many times as much work is worth another thread where arrays are stored: their pages move when somebody looks
/// at them, which interrupts every processor that has just used them.
const STORING: usize = 3;

/// All cores of this machine.
pub struct Cpu {
    config: CpuConfig,
    isa: Isa,
    caps: Caps,
    threads: AtomicUsize,
    /// Built with the first launch that is worth it.
    pool: Mutex<Option<Pool>>,
    jit: Jit,
    programs: Programs,
    /// Sizes of the blocks by address.
    blocks: Mutex<BTreeMap<u64, usize>>,
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cpu")
            .field("caps", &self.caps)
            .finish_non_exhaustive()
    }
}

impl Cpu {
    /// Opens the device.
    pub fn open(config: CpuConfig) -> Arc<Cpu> {
        let best = Isa::detect();
        let isa = config.isa.map_or(best, |wanted| wanted.min(best));
        let threads = match config.threads {
            0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            n => n,
        };
        let caps = Caps {
            name: NAME,
            detail: format!("{isa}, {} loops of the host", config.loops.len()),
            threads,
            memory: u64::MAX,
            unified: true,
            fused: true,
            abilities: Abilities::ALL,
        };
        Arc::new(Cpu {
            config,
            isa,
            caps,
            threads: AtomicUsize::new(threads),
            pool: Mutex::new(None),
            jit: Jit::default(),
            programs: Programs::default(),
            blocks: Mutex::new(BTreeMap::new()),
        })
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// What has become of compiled code.
    pub fn jit_stats(&self) -> JitStats {
        self.jit.stats()
    }

    /// Works with this many threads from the next launch on; at least one.
    pub fn set_threads(&self, threads: usize) {
        self.threads.store(threads.max(1), Ordering::Relaxed);
    }

    /// To be called in the child after a fork: threads do not survive it, and are started anew when
    /// needed. If the fork happened during a launch, the child works with one thread.
    pub fn after_fork_child(&self) {
        let pool = match self.pool.try_lock() {
            Ok(mut pool) => pool.take(),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().take(),
            Err(TryLockError::WouldBlock) => None,
        };
        if let Some(pool) = pool {
            pool.abandon();
        }
    }

    fn launch(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), String> {
        let setup = setup(kernel, launch)?;
        let steps = work::of_loops(kernel, &setup);
        // SAFETY: whoever calls `Device::run` vouches for the addresses and overlaps of the launch.
        self.with_pool(steps, work::stores(kernel), |env| unsafe {
            run(kernel, launch, &setup, env)
        })
    }

    /// Calls `f` with as many threads as so many steps are worth, of a launch that stores arrays or none.
    fn with_pool<T>(&self, steps: usize, stores: bool, f: impl FnOnce(&Env<'_>) -> T) -> T {
        let threads = self.threads.load(Ordering::Relaxed);
        let times = if stores { STORING } else { 1 };
        let worth = steps >= self.config.min_parallel_steps.saturating_mul(times);
        // Another launch has the pool: this one works alone.
        let mut guard = (threads > 1 && worth)
            .then(|| self.pool.try_lock())
            .and_then(Result::ok);
        if let Some(pool) = guard.as_deref_mut()
            && pool.as_ref().is_none_or(|pool| pool.threads() != threads)
        {
            *pool = None;
            *pool = Some(Pool::new(threads));
        }
        let pool = guard.as_deref().and_then(Option::as_ref);
        f(&Env {
            config: &self.config,
            isa: self.isa,
            threads: pool.map_or(1, |_| threads),
            pool,
            jit: self.config.jit.then_some(&self.jit),
            programs: &self.programs,
        })
    }
}

fn host(end: End) -> *mut u8 {
    match end {
        End::Host(pointer) => pointer,
        End::Dev(buf, offset) => address(buf.0.wrapping_add(offset)),
    }
}

fn address(number: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(usize::try_from(number).unwrap_or(0))
}

impl Device for Cpu {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let out_of_memory = || DeviceError::OutOfMemory {
            device: NAME,
            need: bytes,
            free: 0,
        };
        let size = usize::try_from(bytes.max(1))
            .ok()
            .ok_or_else(out_of_memory)?;
        let layout = Layout::from_size_align(size, ALIGN)
            .ok()
            .ok_or_else(out_of_memory)?;
        // SAFETY: the size is not zero.
        let block = unsafe { std::alloc::alloc(layout) };
        if block.is_null() {
            return Err(out_of_memory());
        }
        let number = block.expose_provenance() as u64;
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(number, size);
        Ok(Buf(number))
    }

    fn free(&self, buf: Buf) {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(size) = blocks.remove(&buf.0) else {
            return;
        };
        if let Ok(layout) = Layout::from_size_align(size, ALIGN) {
            // SAFETY: the block came from `alloc` with this layout and was just struck off the list.
            unsafe { std::alloc::dealloc(address(buf.0), layout) };
        }
    }

    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let bytes = usize::try_from(bytes).ok().ok_or(DeviceError::Failed {
            device: NAME,
            what: "a copy larger than the address space".to_owned(),
        })?;
        // SAFETY: the caller names ranges that may be read and written; they may overlap.
        unsafe { std::ptr::copy(host(src), host(dst), bytes) };
        Ok(())
    }

    fn run(&self, _: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let done = if kernel.scatters() {
            // SAFETY: whoever calls `Device::run` vouches for the addresses and overlaps of the launch.
            unsafe { scatter(kernel, launch, &|k, l| self.launch(k, l)) }
        } else {
            self.launch(kernel, launch)
        };
        done.map_err(|what| DeviceError::Unsupported { device: NAME, what })
    }

    fn sweep(&self, _: Queue, stages: &Sweep<'_>) -> Result<bool, DeviceError> {
        if !is_whole(stages) {
            return Ok(false);
        }
        let steps = work::of_sweep(stages);
        // SAFETY: whoever calls `Device::sweep` vouches for the addresses and routes of the stages.
        self.with_pool(steps, true, |env| unsafe { sweep(stages, env) })
            .map_err(|what| DeviceError::Unsupported { device: NAME, what })
    }

    fn record(&self, _: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _: Event, _: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        Some(address(buf.0))
    }
}

impl Drop for Cpu {
    fn drop(&mut self) {
        let blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        let left: Vec<u64> = blocks.keys().copied().collect();
        drop(blocks);
        for number in left {
            self.free(Buf(number));
        }
    }
}
