//! Devices that compute volumes, by name. They stay open: what was compiled for them serves later calls.

use crate::backends::find_gpu;
use arrayloom_device::Device;
use arrayloom_volume::{Meter, Worker, WorkerDevice};
use pyo3::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A worker as Python gives it: bytes here, threads, the name of its device if it is none of the CPU, and bytes
/// there.
pub(super) type PyWorker = (u64, usize, Option<String>, Option<u64>);

/// Open devices by process and name: they do not outlive a fork.
static OPEN: Mutex<BTreeMap<(u32, String), Arc<dyn Device>>> = Mutex::new(BTreeMap::new());
/// Pairs of queues in use. The engine's own queues have smaller numbers.
static QUEUES: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());
const FIRST_QUEUE: u32 = 1 << 16;

/// Two queues that nobody else uses.
struct Lease(u32);

impl Lease {
    fn take() -> Lease {
        let mut used = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        let free = (FIRST_QUEUE..).step_by(2).find(|n| !used.contains(n));
        let number = free.unwrap_or(FIRST_QUEUE);
        used.insert(number);
        Lease(number)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut used = QUEUES.lock().unwrap_or_else(PoisonError::into_inner);
        used.remove(&self.0);
    }
}

/// Workers, and the queues that they hold while they live.
pub(super) struct Crew {
    pub(super) workers: Vec<Worker>,
    _leases: Vec<Lease>,
}

/// Opens the devices of workers.
///
/// # Errors
/// What is missing of a device that is not there.
pub(super) fn crew(py: Python<'_>, told: Vec<PyWorker>) -> PyResult<Crew> {
    let mut leases = Vec::new();
    let mut workers = Vec::new();
    for (bytes, threads, name, own) in told {
        let mut worker = Worker {
            budget: bytes,
            threads,
            meter: None,
            device: None,
        };
        if let Some(name) = name {
            let device = open(py, &name)?;
            // Where both have one memory, they share the limit.
            let shared = device.caps().memory == u64::MAX;
            let there = own.unwrap_or(if shared {
                bytes / 2
            } else {
                device.caps().memory / 10 * 9
            });
            if shared {
                worker.budget = bytes.saturating_sub(there).max(bytes / 2);
            }
            let lease = Lease::take();
            worker.device = Some(WorkerDevice {
                queue: lease.0,
                meter: Meter::new(there),
                device,
            });
            leases.push(lease);
        }
        workers.push(worker);
    }
    Ok(Crew {
        workers,
        _leases: leases,
    })
}

fn open(py: Python<'_>, name: &str) -> PyResult<Arc<dyn Device>> {
    let key = (std::process::id(), name.to_owned());
    let known = || OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = known().get(&key) {
        return Ok(Arc::clone(device));
    }
    let device = find_gpu(py, name)?;
    known().insert(key, Arc::clone(&device));
    Ok(device)
}
