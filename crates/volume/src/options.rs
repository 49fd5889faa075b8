//! What a run is told, and what it says of itself.

use crate::expr::Sink;
use crate::memory::Meter;
use arrayloom_device::Device;
use arrayloom_types::{Coords, Region};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Voxels of the result that are written.
    pub voxels: u64,
    /// All voxels of the result.
    pub total: u64,
    /// Bytes in use.
    pub used: u64,
}

/// Called after each block; returns false to stop.
pub type Watch<'a> = &'a (dyn Fn(Progress) -> bool + Sync);

/// Called with the core of a block; an error stops the run.
pub type Written<'a> = &'a (dyn Fn(&Region) -> Result<(), String> + Sync);

/// How an expression is run.
#[derive(Clone)]
pub struct Options<'a> {
    /// Most bytes in use at a time.
    pub budget: u64,
    /// Threads that compute.
    pub threads: usize,
    /// Voxels along each axis that the sink writes together; one everywhere if it takes any box.
    pub align: Coords,
    /// Boxes that are written already, and stay.
    pub done: Vec<Region>,
    /// Called after each block.
    pub watch: Option<Watch<'a>>,
    /// Called with the core of a block when the sink has it.
    pub written: Option<Written<'a>>,
    /// The budget itself, for tests that inject failures.
    pub meter: Option<Arc<Meter>>,
    /// Workers that share the work, instead of one with the budget and threads above.
    pub workers: Vec<Worker>,
}

/// One worker of a run: it plans and computes its parts within a budget of its own.
#[derive(Clone, Debug)]
pub struct Worker {
    /// Most bytes in use at a time.
    pub budget: u64,
    /// Threads that compute.
    pub threads: usize,
    /// The budget itself, for tests that inject failures.
    pub meter: Option<Arc<Meter>>,
    /// Where it computes; on the CPU if absent.
    pub device: Option<WorkerDevice>,
}

/// The device of a worker.
#[derive(Clone)]
pub struct WorkerDevice {
    /// The device.
    pub device: Arc<dyn Device>,
    /// The first of two queues that nobody else uses.
    pub queue: u32,
    /// Counts its memory; the limit is the budget.
    pub meter: Arc<Meter>,
}

impl fmt::Debug for WorkerDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WorkerDevice")
            .field(&self.device.caps().name)
            .finish()
    }
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Blocks that were written.
    pub blocks: u64,
    /// Most bytes that were in use.
    pub peak: u64,
    /// Bytes that the plans promised at most.
    pub planned_peak: u64,
    /// How often the budget was halved.
    pub halved: u32,
    /// Bytes read of all sources.
    pub read_bytes: u128,
    /// Voxels that were computed and then computed again.
    pub again: u64,
    /// Blocks that devices computed.
    pub abroad: u64,
    /// Blocks of operations that devices do not have, by name; the CPU computed them.
    pub left: BTreeMap<String, u64>,
}

/// Where a result goes.
pub enum Target<'a> {
    /// A sink.
    Sink(&'a dyn Sink),
    /// The whole result in memory, in C order.
    Memory(&'a mut [u8]),
}
