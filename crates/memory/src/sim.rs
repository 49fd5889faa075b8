//! Simulated device memory and queues that move only when they are told to.
//!
//! Every run is repeatable: which queue does its next step is decided by whoever steps, from a seed, so an
//! order of events that breaks something can be played again.

use crate::{Addr, MemoryError, Order, Vmm};
use arrayloom_types::{Event, Queue};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Device memory of a few bytes: limited, poisoned when it is mapped, with failures on request.
#[derive(Debug)]
pub struct SimMemory {
    granule: u64,
    limit: u64,
    state: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    mapped: BTreeMap<u64, Box<[u8]>>,
    next: u64,
    maps: u64,
    fail_in: Option<u64>,
}

/// What memory holds that nobody has written.
const POISON: u8 = 0xA5;

impl SimMemory {
    /// Memory of `limit` bytes, mapped in multiples of `granule`.
    pub fn new(granule: u64, limit: u64) -> SimMemory {
        SimMemory {
            granule,
            limit,
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Memory> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call of `map` that fails, counted from one for the next; `None` for no failure.
    pub fn fail_in(&self, calls: Option<u64>) {
        self.state().fail_in = calls;
    }

    /// Calls of `map` so far.
    pub fn maps(&self) -> u64 {
        self.state().maps
    }

    /// Bytes mapped now.
    pub fn mapped(&self) -> u64 {
        self.state().mapped.len() as u64 * self.granule
    }

    /// Writes a byte to a range. False if a part of it is not mapped.
    pub fn fill(&self, addr: Addr, bytes: u64, value: u8) -> bool {
        self.each(addr, bytes, |part| {
            part.fill(value);
            true
        })
    }

    /// True if all bytes of a range are mapped and have this value.
    pub fn holds(&self, addr: Addr, bytes: u64, value: u8) -> bool {
        self.each(addr, bytes, |part| part.iter().all(|byte| *byte == value))
    }

    fn each(&self, addr: Addr, bytes: u64, mut of: impl FnMut(&mut [u8]) -> bool) -> bool {
        let mut state = self.state();
        let (mut at, end) = (addr.host(), addr.host() + bytes);
        while at < end {
            let (granule, from) = (at / self.granule, at % self.granule);
            let to = (from + end - at).min(self.granule);
            let (Ok(low), Ok(high)) = (usize::try_from(from), usize::try_from(to)) else {
                return false;
            };
            let part = state
                .mapped
                .get_mut(&granule)
                .and_then(|page| page.get_mut(low..high));
            if !part.is_some_and(&mut of) {
                return false;
            }
            at += to - from;
        }
        true
    }
}

impl Vmm for SimMemory {
    fn granule(&self) -> u64 {
        self.granule
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        let mut state = self.state();
        let buf = state.next;
        state.next += bytes.next_multiple_of(self.granule) + self.granule;
        Ok(buf)
    }

    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        let mut state = self.state();
        state.maps += 1;
        let failed = state.fail_in.is_some_and(|calls| calls <= 1);
        state.fail_in = state
            .fail_in
            .map(|calls| calls.saturating_sub(1))
            .filter(|_| !failed);
        let free = self.limit - state.mapped.len() as u64 * self.granule;
        if failed || bytes > free {
            return Err(MemoryError::OutOfMemory {
                need: bytes,
                free: if failed { 0 } else { free },
                by: self.name(),
            });
        }
        let size = usize::try_from(self.granule).unwrap_or(usize::MAX);
        let first = addr.host() / self.granule;
        for granule in first..first + bytes / self.granule {
            let page = vec![POISON; size].into_boxed_slice();
            let old = state.mapped.insert(granule, page);
            debug_assert!(old.is_none(), "granule {granule} was mapped twice");
        }
        Ok(())
    }

    fn unmap(&self, addr: Addr, bytes: u64) {
        let mut state = self.state();
        let first = addr.host() / self.granule;
        for granule in first..first + bytes / self.granule {
            let old = state.mapped.remove(&granule);
            debug_assert!(old.is_some(), "granule {granule} was not mapped");
        }
    }

    fn release(&self, _buf: u64, _bytes: u64) {}

    fn name(&self) -> &'static str {
        "simulated memory"
    }
}

/// What a step of a queue came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The queue is empty.
    Idle,
    /// It waits for another queue.
    Blocked,
    /// It did one thing.
    Done,
}

enum Task {
    Work(Box<dyn FnOnce() + Send>),
    Record(Event),
    Wait(Event),
}

#[derive(Default)]
struct Line {
    queues: BTreeMap<Queue, VecDeque<Task>>,
    passed: BTreeSet<Event>,
    events: u64,
    waits: u64,
}

/// Queues that are stepped by hand.
#[derive(Default)]
pub struct SimQueues {
    line: Mutex<Line>,
    /// Waits between queues are dropped: the fault that tests must catch.
    deaf: bool,
}

impl SimQueues {
    /// Queues that lose every wait for another queue.
    pub fn without_waits() -> SimQueues {
        SimQueues {
            deaf: true,
            ..SimQueues::default()
        }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts work into a queue.
    pub fn push(&self, queue: Queue, work: impl FnOnce() + Send + 'static) {
        let task = Task::Work(Box::new(work));
        self.line().queues.entry(queue).or_default().push_back(task);
    }

    /// Lets a queue do one thing.
    pub fn step(&self, queue: Queue) -> Step {
        let mut line = self.line();
        let Some(task) = line.queues.entry(queue).or_default().pop_front() else {
            return Step::Idle;
        };
        match task {
            Task::Record(event) => {
                line.passed.insert(event);
            }
            Task::Wait(event) if !line.passed.contains(&event) => {
                line.queues
                    .entry(queue)
                    .or_default()
                    .push_front(Task::Wait(event));
                return Step::Blocked;
            }
            Task::Wait(_) => {}
            Task::Work(work) => {
                drop(line);
                work();
            }
        }
        Step::Done
    }

    /// Lets all queues run until nothing is left.
    pub fn finish(&self) {
        while self.step_all() {}
    }

    fn step_all(&self) -> bool {
        let queues: Vec<Queue> = self.line().queues.keys().copied().collect();
        let steps = queues.into_iter().map(|queue| self.step(queue));
        steps.filter(|step| *step == Step::Done).count() > 0
    }

    /// Waits between queues that were asked for.
    pub fn waits(&self) -> u64 {
        self.line().waits
    }
}

impl Order for SimQueues {
    fn record(&self, queue: Queue) -> Event {
        let mut line = self.line();
        line.events += 1;
        let event = Event(line.events);
        line.queues
            .entry(queue)
            .or_default()
            .push_back(Task::Record(event));
        event
    }

    fn done(&self, event: Event) -> bool {
        self.line().passed.contains(&event)
    }

    fn wait(&self, queue: Queue, event: Event) {
        let mut line = self.line();
        line.waits += 1;
        if !self.deaf {
            let tasks = line.queues.entry(queue).or_default();
            tasks.push_back(Task::Wait(event));
        }
    }

    fn sync(&self, event: Event) {
        while !self.done(event) && self.step_all() {}
    }
}
