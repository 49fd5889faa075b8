//! A simulated device: memory of its own and of a fixed size, queues that run in any order a seed
//! chooses, and failures on demand.
//!
//! It makes order, limits and copies testable on a machine without such a device, and every failure of
//! a test comes again with the same seed.

mod memory;
mod queues;

use crate::{eval, operations};
use arrayloom_device::{
    Abilities, Arg, Buf, Caps, Device, DeviceError, End, Event, ExtCall, Launch, Queue,
    host_pointer,
};
use arrayloom_ir::Kernel;
use arrayloom_memory::{HostPages, MemInfo, Staging};
use arrayloom_types::Scalar;
use memory::Memory;
use queues::{Operation, Queues, Shared, Task, Work};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};

const NAME: &str = "sim";
/// Bytes of pinned memory that copies go through, and of a part of a copy.
const STAGING: (u64, u64) = (1 << 20, 256 << 10);

/// Which queue does its next task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The one whose task was put in first.
    AsGiven,
    /// The one whose task was put in last.
    LastFirst,
    /// Any, as the seed says.
    #[default]
    Random,
}

/// How a simulated device behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimConfig {
    /// Bytes of memory.
    pub memory: u64,
    /// What chance depends on.
    pub seed: u64,
    /// The order of tasks of different queues.
    pub order: Order,
    /// This allocation fails, counted from 1.
    pub fail_alloc: Option<u64>,
    /// This kernel fails, counted from 1.
    pub fail_run: Option<u64>,
    /// Takes kernels of several operations.
    pub fused: bool,
}

impl Default for SimConfig {
    fn default() -> SimConfig {
        SimConfig {
            memory: 256 << 20,
            seed: 1,
            order: Order::Random,
            fail_alloc: None,
            fail_run: None,
            fused: true,
        }
    }
}

/// The simulated device.
pub struct Sim {
    caps: Caps,
    config: SimConfig,
    queues: Arc<Shared>,
    staging: Staging,
    allocs: AtomicU64,
    runs: AtomicU64,
}

impl Sim {
    /// A device with nothing in its memory.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] if the system has not so many addresses.
    pub fn open(config: SimConfig) -> Result<Sim, DeviceError> {
        let refused = || DeviceError::OutOfMemory {
            device: NAME,
            need: config.memory,
            free: 0,
        };
        let memory = Memory::new(config.memory).ok_or_else(refused)?;
        let queues = Arc::new(Shared::new(Queues::new(memory, config.order, config.seed)));
        let order = Arc::<Shared>::clone(&queues);
        let staging = Staging::new(Arc::new(HostPages::pinned()), order, STAGING)
            .map_err(|_no_addresses| refused())?;
        Ok(Sim {
            caps: Caps {
                name: NAME,
                detail: format!("simulated, seed {}", config.seed),
                threads: 1,
                memory: config.memory,
                unified: false,
                fused: config.fused,
                abilities: Abilities::ALL,
            },
            config,
            queues,
            staging,
            allocs: AtomicU64::new(0),
            runs: AtomicU64::new(0),
        })
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock()
    }

    /// Copies to a block, through pinned memory.
    fn upload(
        &self,
        queue: Queue,
        (to, offset): (Buf, u64),
        bytes: &[u8],
    ) -> Result<(), DeviceError> {
        self.staging.upload(queue, bytes, |from, place, length| {
            let task = Task::Write(to, offset + place, from.expose_provenance(), length);
            self.queues().push(queue.0, task);
            Ok(())
        })
    }

    /// The pinned memory that copies go through.
    pub fn staging(&self) -> MemInfo {
        self.staging.info()
    }

    /// Does one task. False if there is none.
    pub fn step(&self) -> bool {
        self.queues().step()
    }

    /// Blocks that are in use once all work is done.
    pub fn blocks(&self) -> usize {
        let mut queues = self.queues();
        queues.drain();
        queues.memory.blocks()
    }
}

fn failed(what: impl Into<String>) -> DeviceError {
    DeviceError::Failed {
        device: NAME,
        what: what.into(),
    }
}

fn unsupported(what: impl Into<String>) -> DeviceError {
    DeviceError::Unsupported {
        device: NAME,
        what: what.into(),
    }
}

/// Tells now what the interpreter would say of one point.
fn try_one_point(kernel: &Kernel) -> Result<(), DeviceError> {
    arrayloom_ir::verify(kernel).map_err(|error| unsupported(error.to_string()))?;
    if kernel.goes_by_number() {
        return Ok(());
    }
    let zero = |&dtype| Arg::Scalar(Scalar::from_i64(dtype, 0));
    let ins: Vec<Arg> = kernel.inputs.iter().map(zero).collect();
    let mut room = vec![0u128; kernel.outputs.len()];
    let rank = usize::from(kernel.rank);
    let place = |value: &mut u128| Arg::View {
        buf: Buf((&raw mut *value).expose_provenance() as u64),
        offset: 0,
        strides: std::iter::repeat_n(0, rank).collect(),
    };
    let outs: Vec<Arg> = room.iter_mut().map(place).collect();
    let order = arrayloom_plan::ReduceOrder {
        axes: (0..kernel.rank).collect(),
        stream: 0,
        piece: 1,
    };
    let reduce = arrayloom_device::ReduceArgs {
        order,
        initial: None,
    };
    let reduces = vec![Some(reduce); kernel.outputs.len()];
    let launch = Launch {
        shape: &vec![1; rank],
        outs: &outs,
        ins: &ins,
        reduces: &reduces,
        flags: None,
    };
    eval::run(kernel, &launch).map_err(unsupported)
}

impl Device for Sim {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let number = self.allocs.fetch_add(1, Relaxed) + 1;
        let mut queues = self.queues();
        let mut found = None;
        if self.config.fail_alloc != Some(number) {
            found = queues.memory.alloc(bytes);
            if found.is_none() {
                queues.drain();
                found = queues.memory.alloc(bytes);
            }
        }
        found.ok_or_else(|| DeviceError::OutOfMemory {
            device: NAME,
            need: bytes,
            free: queues.memory.left(),
        })
    }

    fn free(&self, buf: Buf) {
        self.queues().release(buf);
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let length = usize::try_from(bytes).map_err(|_large| failed("a copy without end"))?;
        let mut queues = self.queues();
        for end in [dst, src] {
            if let End::Dev(buf, offset) = end
                && !queues.memory.holds(buf, offset, bytes)
            {
                return Err(failed(format!(
                    "{bytes} bytes at {offset} are not in a block"
                )));
            }
        }
        let task = match (dst, src) {
            (End::Dev(to, offset), End::Host(from)) => {
                drop(queues);
                return self.upload(queue, (to, offset), host_bytes(from, length));
            }
            (End::Host(to), End::Dev(from, offset)) => {
                Task::Read(to.expose_provenance(), from, offset, length)
            }
            (End::Dev(to, at), End::Dev(from, offset)) => {
                Task::Move((to, at), (from, offset), length)
            }
            (End::Host(to), End::Host(from)) => {
                Task::Put(to.expose_provenance(), host_bytes(from, length).to_vec())
            }
        };
        queues.push(queue.0, task);
        Ok(())
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if !launch.fits(kernel) {
            return Err(unsupported("the launch does not fit the kernel"));
        }
        try_one_point(kernel)?;
        if self.config.fail_run == Some(self.runs.fetch_add(1, Relaxed) + 1) {
            return Err(failed("it was told to"));
        }
        let mut queues = self.queues();
        if launch.flags.is_some() {
            queues.drain();
            return queues.run(kernel, launch).map_err(failed);
        }
        let work = Work {
            kernel: kernel.clone(),
            shape: launch.shape.to_vec(),
            outs: launch.outs.to_vec(),
            ins: launch.ins.to_vec(),
            reduces: launch.reduces.to_vec(),
        };
        queues.push(queue.0, Task::Run(Box::new(work)));
        Ok(())
    }

    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        if let Some(what) = operations::lacks(call) {
            return Err(unsupported(what));
        }
        let operation = Operation {
            name: call.name.to_owned(),
            outs: call.outs.to_vec(),
            ins: call.ins.to_vec(),
            attrs: call.attrs.to_vec(),
        };
        self.queues()
            .push(queue.0, Task::Operate(Box::new(operation)));
        Ok(())
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(self.queues().record(queue.0)))
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        let mut queues = self.queues();
        if !queues.knows(event.0) {
            return Err(failed(format!("event {} was never recorded", event.0)));
        }
        queues.push(queue.0, Task::Wait(event.0));
        Ok(())
    }

    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        let mut queues = self.queues();
        if !queues.knows(event.0) {
            return Err(failed(format!("event {} was never recorded", event.0)));
        }
        while !queues.has_passed(event.0) && queues.step() && block {}
        if let Some(what) = queues.failure.take() {
            return Err(failed(what));
        }
        Ok(queues.has_passed(event.0))
    }
}

/// The bytes at a host address, which may change as soon as a copy returns.
fn host_bytes<'a>(from: *mut u8, bytes: usize) -> &'a [u8] {
    if bytes == 0 {
        return &[];
    }
    let from = host_pointer(from.expose_provenance() as u64);
    #[expect(unsafe_code, reason = "host memory comes by address")]
    // SAFETY: whoever calls `Device::copy` vouches for the source during the call, and nobody keeps this.
    unsafe {
        std::slice::from_raw_parts(from, bytes)
    }
}
