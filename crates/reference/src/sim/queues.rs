//! Queues that are stepped by hand: a seed decides which queue does its next task, and when.

#![expect(unsafe_code, reason = "results are copied to host memory by address")]

use super::Order;
use super::memory::{self, Memory};
use crate::{eval, operations};
use arrayloom_device::{Arg, Buf, Event, ExtCall, Launch, Queue, ReduceArgs, Tensor};
use arrayloom_ir::Kernel;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something that a queue will do.
pub(super) enum Task {
    /// Bytes of pinned memory to a block.
    Write(Buf, u64, usize, usize),
    /// Bytes of a block to a host address.
    Read(usize, Buf, u64, usize),
    /// Bytes to a host address.
    Put(usize, Vec<u8>),
    /// From block to block.
    Move((Buf, u64), (Buf, u64), usize),
    /// A kernel.
    Run(Box<Work>),
    /// An operation that is no kernel.
    Operate(Box<Operation>),
    /// An event passes.
    Record(u64),
    /// Nothing goes on before this event.
    Wait(u64),
}

/// A kernel and a copy of its launch.
pub(super) struct Work {
    pub(super) kernel: Kernel,
    pub(super) shape: Vec<usize>,
    pub(super) outs: Vec<Arg>,
    pub(super) ins: Vec<Arg>,
    pub(super) reduces: Vec<Option<ReduceArgs>>,
}

/// A copy of a call.
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) outs: Vec<Tensor>,
    pub(super) ins: Vec<Tensor>,
    pub(super) attrs: Vec<u8>,
}

/// All queues, and the memory that their tasks work on.
pub(super) struct Queues {
    pub(super) memory: Memory,
    order: Order,
    random: u64,
    waiting: BTreeMap<u32, VecDeque<(u64, Task)>>,
    /// Tasks put in so far.
    count: u64,
    events: u64,
    passed: BTreeSet<u64>,
    /// Blocks that go back when the tasks before this number are done.
    leaving: Vec<(u64, Buf)>,
    /// Why a task failed, until somebody asks.
    pub(super) failure: Option<String>,
}

/// The queues behind their lock, as an order for memory.
pub(super) struct Shared(Mutex<Queues>);

impl Shared {
    pub(super) fn new(queues: Queues) -> Shared {
        Shared(Mutex::new(queues))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Queues> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl arrayloom_memory::Order for Shared {
    fn record(&self, queue: Queue) -> Event {
        Event(self.lock().record(queue.0))
    }

    fn done(&self, event: Event) -> bool {
        self.lock().has_passed(event.0)
    }

    fn wait(&self, queue: Queue, event: Event) {
        self.lock().push(queue.0, Task::Wait(event.0));
    }

    fn sync(&self, event: Event) {
        let mut queues = self.lock();
        while !queues.has_passed(event.0) && queues.step() {}
    }
}

impl Queues {
    pub(super) fn new(memory: Memory, order: Order, seed: u64) -> Queues {
        Queues {
            memory,
            order,
            random: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            waiting: BTreeMap::new(),
            count: 0,
            events: 0,
            passed: BTreeSet::new(),
            leaving: Vec::new(),
            failure: None,
        }
    }

    pub(super) fn push(&mut self, queue: u32, task: Task) {
        self.count += 1;
        let tasks = self.waiting.entry(queue).or_default();
        tasks.push_back((self.count, task));
    }

    /// Marks a point in a queue.
    pub(super) fn record(&mut self, queue: u32) -> u64 {
        self.events += 1;
        self.push(queue, Task::Record(self.events));
        self.events
    }

    pub(super) fn has_passed(&self, event: u64) -> bool {
        self.passed.contains(&event)
    }

    /// True for an event that was recorded.
    pub(super) fn knows(&self, event: u64) -> bool {
        event >= 1 && event <= self.events
    }

    /// Gives a block back once the work that stands before is done.
    pub(super) fn release(&mut self, buf: Buf) {
        self.leaving.push((self.count, buf));
        self.settle();
    }

    fn settle(&mut self) {
        let first = self.waiting.values().filter_map(|tasks| tasks.front());
        let first = first.map(|(number, _)| *number).min().unwrap_or(u64::MAX);
        let (gone, rest) = std::mem::take(&mut self.leaving)
            .into_iter()
            .partition(|(after, _)| *after < first);
        self.leaving = rest;
        let gone: Vec<(u64, Buf)> = gone;
        for (_, buf) in gone {
            self.memory.release(buf);
        }
    }

    fn next(&mut self, below: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 33).unwrap_or(0) % below.max(1)
    }

    /// Does one task of one queue. False if there is none that can be done.
    pub(super) fn step(&mut self) -> bool {
        let ready = |(queue, tasks): (&u32, &VecDeque<(u64, Task)>)| match tasks.front()? {
            (_, Task::Wait(event)) if !self.passed.contains(event) => None,
            (number, _) => Some((*number, *queue)),
        };
        let ready: Vec<(u64, u32)> = self.waiting.iter().filter_map(ready).collect();
        let chosen = match self.order {
            Order::AsGiven => ready.iter().min(),
            Order::LastFirst => ready.iter().max(),
            Order::Random => ready.get(self.next(ready.len())),
        };
        let Some(&(_, queue)) = chosen else {
            return false;
        };
        let task = self.waiting.get_mut(&queue).and_then(VecDeque::pop_front);
        if let Some((_, task)) = task
            && let Err(what) = self.perform(task)
        {
            self.failure.get_or_insert(what);
        }
        self.settle();
        true
    }

    /// Does everything.
    pub(super) fn drain(&mut self) {
        while self.step() {}
    }

    fn perform(&mut self, task: Task) -> Result<(), String> {
        let refused = "the system does not open its memory";
        match task {
            Task::Record(event) => {
                self.passed.insert(event);
            }
            Task::Wait(_) => {}
            Task::Write(to, offset, from, length) => {
                let open = self.memory.open().ok_or(refused)?;
                let from = std::ptr::with_exposed_provenance(from);
                // SAFETY: the block is this copy's until the event that was recorded after it passes.
                open.write(to, offset, unsafe {
                    std::slice::from_raw_parts(from, length)
                });
            }
            Task::Read(host, from, offset, bytes) => {
                let open = self.memory.open().ok_or(refused)?;
                let bytes = open.read(from, offset, bytes);
                drop(open);
                let host = std::ptr::with_exposed_provenance_mut(host);
                // SAFETY: whoever calls `Device::copy` vouches for the target until an event passes.
                unsafe { memory::put(host, &bytes) };
            }
            Task::Put(host, bytes) => {
                let host = std::ptr::with_exposed_provenance_mut(host);
                // SAFETY: as above.
                unsafe { memory::put(host, &bytes) };
            }
            Task::Move(to, from, bytes) => {
                let open = self.memory.open().ok_or(refused)?;
                let copy = open.read(from.0, from.1, bytes);
                open.write(to.0, to.1, &copy);
            }
            Task::Run(work) => self.compute(&work)?,
            Task::Operate(operation) => {
                let open = self.memory.open().ok_or(refused)?;
                let there = |tensor: &Tensor| Tensor {
                    buf: Buf(open.address(tensor.buf)),
                    layout: tensor.layout.clone(),
                };
                let outs: Vec<Tensor> = operation.outs.iter().map(there).collect();
                let ins: Vec<Tensor> = operation.ins.iter().map(there).collect();
                operations::run(&ExtCall {
                    name: &operation.name,
                    outs: &outs,
                    ins: &ins,
                    attrs: &operation.attrs,
                });
            }
        }
        Ok(())
    }

    fn compute(&self, work: &Work) -> Result<(), String> {
        let launch = Launch {
            shape: &work.shape,
            outs: &work.outs,
            ins: &work.ins,
            reduces: &work.reduces,
            flags: None,
        };
        self.run(&work.kernel, &launch)
    }

    /// Runs a kernel now.
    pub(super) fn run(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), String> {
        let open = self.memory.open();
        let open = open.ok_or("the system does not open its memory")?;
        let on_host = |arg: &Arg| match arg {
            Arg::Scalar(scalar) => Arg::Scalar(*scalar),
            Arg::View {
                buf,
                offset,
                strides,
            } => Arg::View {
                buf: Buf(open.address(*buf)),
                offset: *offset,
                strides: strides.clone(),
            },
        };
        let outs: Vec<Arg> = launch.outs.iter().map(on_host).collect();
        let ins: Vec<Arg> = launch.ins.iter().map(on_host).collect();
        let launch = Launch {
            outs: &outs,
            ins: &ins,
            ..*launch
        };
        eval::run(kernel, &launch)
    }
}
