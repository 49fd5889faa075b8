//! The service thread: evaluates what faults ask for, so that no engine code runs in a handler.
//!
//! Faulting threads push slots on a lock-free stack threaded through the records and ring a futex
//! bell. A record's request word is nonzero exactly while it is (about to be) on the stack, so it
//! is never pushed twice. The thread takes the whole stack at once; there is no ABA problem.
//!
//! The thread blocks every signal but the synchronous ones and has a large stack.

use core::sync::atomic::Ordering::{Relaxed, SeqCst};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::error::GuardError;
use crate::guard::Guard;
use crate::publish::{Attempt, BarrierEnd, Held};
use crate::slot::{DOOMED, REARMED, Request, Slot, State};
use crate::sys;

/// Queue and whereabouts of the service thread.
pub(crate) struct Service {
    stack_bytes: usize,
    /// Top of the request stack: slot bits + 1, or zero.
    top: AtomicU64,
    /// Counts requests; the thread sleeps on it.
    bell: AtomicU32,
    /// One while the thread works on requests.
    busy: AtomicU32,
    /// One while the thread must rest.
    paused: AtomicU32,
    thread: AtomicI32,
    /// One once the thread of this process was started.
    started: AtomicU32,
}

impl Service {
    pub(crate) fn new(stack_bytes: usize) -> Service {
        Service {
            stack_bytes,
            top: AtomicU64::new(0),
            bell: AtomicU32::new(0),
            busy: AtomicU32::new(0),
            paused: AtomicU32::new(0),
            thread: AtomicI32::new(0),
            started: AtomicU32::new(0),
        }
    }

    /// Whether the calling thread is the service thread. Async-signal-safe.
    pub(crate) fn is_current(&self) -> bool {
        self.thread.load(SeqCst) == sys::thread_id()
    }

    /// Whether there is a service thread to ask. Async-signal-safe.
    pub(crate) fn is_running(&self) -> bool {
        self.started.load(SeqCst) != 0
    }

    /// Stops the thread between two requests and waits until it rests.
    pub(crate) fn pause(&self) {
        self.paused.store(1, SeqCst);
        while self.busy.load(SeqCst) != 0 {
            sys::futex_wait(&self.busy, 1);
        }
    }

    pub(crate) fn resume(&self) {
        self.paused.store(0, SeqCst);
        sys::futex_wake(&self.paused);
    }

    /// In a child: there is no thread and no request.
    pub(crate) fn forget_parent(&self) {
        self.top.store(0, SeqCst);
        self.busy.store(0, SeqCst);
        self.paused.store(0, SeqCst);
        self.thread.store(0, SeqCst);
        self.started.store(0, SeqCst);
    }

    fn begin(&self) {
        loop {
            self.busy.store(1, SeqCst);
            if self.paused.load(SeqCst) == 0 {
                return;
            }
            self.rest();
            sys::futex_wait(&self.paused, 1);
        }
    }

    fn rest(&self) {
        self.busy.store(0, SeqCst);
        if self.paused.load(SeqCst) != 0 {
            sys::futex_wake(&self.busy);
        }
    }
}

impl Guard {
    /// Starts the service thread of this process, unless it was started before.
    pub(crate) fn start_service(&'static self) -> Result<(), GuardError> {
        if self.service.started.swap(1, SeqCst) != 0 {
            return Ok(());
        }
        let builder = thread::Builder::new()
            .name("arrayloom-guard".to_owned())
            .stack_size(self.service.stack_bytes);
        let started = sys::with_signals_blocked(|| builder.spawn(move || self.serve_forever()));
        started.map(drop).map_err(|error| {
            self.service.started.store(0, SeqCst);
            GuardError::System {
                call: "pthread_create",
                errno: error.raw_os_error().unwrap_or(0),
                bytes: self.service.stack_bytes,
            }
        })
    }

    /// Starts the thread again in a forked child, with the first slot that needs it.
    pub(crate) fn restart_service_after_fork(&self) {
        if self.service.started.load(Relaxed) != 0 {
            return;
        }
        if let Some(guard) = Guard::get() {
            // After a refusal the next call tries again.
            let _refused = guard.start_service();
        }
    }

    /// Asks for a slot's value or for a write. Async-signal-safe.
    pub(crate) fn request(&self, slot: Slot, request: Request) {
        let record = self.arena.record(slot);
        let queue = &self.service.top;
        if record.note(request) {
            let mut top = queue.load(SeqCst);
            loop {
                record.next.store(top, SeqCst);
                match queue.compare_exchange(top, slot.to_bits() + 1, SeqCst, SeqCst) {
                    Ok(_) => break,
                    Err(other) => top = other,
                }
            }
        }
        self.service.bell.fetch_add(1, SeqCst);
        sys::futex_wake(&self.service.bell);
    }

    fn serve_forever(&self) {
        self.service.thread.store(sys::thread_id(), SeqCst);
        loop {
            let heard = self.service.bell.load(SeqCst);
            self.service.begin();
            let top = self.service.top.swap(0, SeqCst);
            let mut next = self.oldest_first(top);
            while next != 0 {
                let slot = Slot::from_bits(next - 1);
                let record = self.arena.record(slot);
                // Read first: once the request is taken, the record may be queued again.
                next = record.next.load(SeqCst);
                self.serve(slot, record.take_request());
                record.served();
            }
            self.service.rest();
            if top == 0 {
                sys::futex_wait(&self.service.bell, heard);
            }
        }
    }

    /// Turns a stack taken off the queue around. Its records' `next` are ours until served.
    fn oldest_first(&self, mut top: u64) -> u64 {
        let mut turned = 0;
        while top != 0 {
            let record = self.arena.record(Slot::from_bits(top - 1));
            let below = record.next.swap(turned, SeqCst);
            turned = top;
            top = below;
        }
        turned
    }

    /// Serves one request. Also called by the handler when the service thread itself faults.
    pub(crate) fn serve(&self, slot: Slot, request: Request) {
        let held = Held::new(self, slot);
        let life = held.life();
        if !request.is_for(life) {
            return;
        }
        match held.state() {
            State::Lazy => {
                held.become_state(State::Busy, 0, 0);
                self.evaluate(slot, life);
            }
            State::Computed => {
                drop(held);
                self.publish_or_doom(slot);
            }
            State::ReadOnly if request.wants_write() => {
                held.become_state(State::BusyWrite, 0, REARMED);
                self.write_barrier(slot);
            }
            _ => drop(held),
        }
    }

    /// The slot's life matters afterwards: as soon as there is a value, the touching thread may
    /// publish it, use it and free the slot.
    fn evaluate(&self, slot: Slot, life: u32) {
        self.tallies.service_calls.fetch_add(1, Relaxed);
        let owner = &self.owner;
        let outcome = catch_unwind(AssertUnwindSafe(|| owner.evaluate(slot)));
        let failed = !matches!(outcome, Ok(Ok(())));
        if self.lacks_value(slot, life, failed) {
            self.fill_with_nan(slot, life);
        } else if failed {
            self.report_failure(slot);
        }
    }

    /// A slot that is Lazy although nothing failed had its value: the touching thread has seen it, and somebody has taken it
    /// back since. Who touches it now asks again.
    fn lacks_value(&self, slot: Slot, life: u32, failed: bool) -> bool {
        let held = Held::new(self, slot);
        let lacks = match held.state() {
            State::Busy => true,
            State::Lazy => failed,
            _ => false,
        };
        lacks && held.life() == life
    }

    fn report_failure(&self, slot: Slot) {
        self.tallies.failures.fetch_add(1, Relaxed);
        let owner = &self.owner;
        // A panic in the report is a failure reported by the counter alone.
        let _outcome = catch_unwind(AssertUnwindSafe(|| owner.failed(slot)));
    }

    /// The report comes first: the touching thread goes on as soon as there are bytes.
    fn fill_with_nan(&self, slot: Slot, life: u32) {
        self.report_failure(slot);
        let Ok(mut block) = self.pool.get_in_need(self.nbytes(slot)) else {
            let held = Held::new(self, slot);
            if held.life() == life {
                held.mark(DOOMED, 0);
            }
            return;
        };
        block.fill(0xff);
        if let Err(block) = self.offer(slot, Some(life), block) {
            self.pool.put(block);
        }
    }

    fn publish_or_doom(&self, slot: Slot) {
        if !matches!(self.try_publish(slot, None), Attempt::Refused(_)) {
            return;
        }
        self.pool.trim(usize::MAX);
        if matches!(self.try_publish(slot, None), Attempt::Refused(_)) {
            Held::new(self, slot).mark(DOOMED, 0);
        }
    }

    /// Runs the readers until no new one was recorded meanwhile, then lets the write through.
    fn write_barrier(&self, slot: Slot) {
        self.tallies.write_barriers.fetch_add(1, Relaxed);
        loop {
            let owner = &self.owner;
            let outcome = catch_unwind(AssertUnwindSafe(|| owner.before_write(slot)));
            if !matches!(outcome, Ok(Ok(()))) {
                self.report_failure(slot);
            }
            match self.end_barrier(slot) {
                BarrierEnd::Open => return,
                BarrierEnd::Rearmed => {}
                BarrierEnd::Refused => {
                    Held::new(self, slot).mark(DOOMED, 0);
                    return;
                }
            }
        }
    }
}
