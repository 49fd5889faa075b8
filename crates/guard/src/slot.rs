//! A slot's name, its states, and the record that holds them.
//!
//! The record's `word` is the only thing threads agree on. Its low byte is the [`State`]; above it
//! lie the page lock, four marks and the pin count:
//!
//! | bits | meaning |
//! |---|---|
//! | 0-7 | state |
//! | `LOCKED` | someone moves or protects the pages right now; system calls only, never long |
//! | `WRITABLE` | the fault handler may publish with write access |
//! | `REARMED` | protection was asked for during a write barrier |
//! | `DOOMED` | no page can be had; a touch goes to the previous handler |
//! | `OWN` | the slot began with pages, and may keep them when it is freed |
//! | 16-31 | pins: users of the staging address |
//!
//! Whoever changes the word wakes the futex sleepers on it. All operations are sequentially
//! consistent and async-signal-safe.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

use crate::sys;

/// Position of a slot: its size class and its index within the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u64);

const INDEX_BITS: u32 = 48;

// A class is below 2^5 and an index below 2^25: the casts lose nothing.
impl Slot {
    pub(crate) fn new(class: usize, index: usize) -> Slot {
        Slot((class as u64) << INDEX_BITS | index as u64)
    }

    pub(crate) fn class(self) -> usize {
        (self.0 >> INDEX_BITS) as usize
    }

    pub(crate) fn index(self) -> usize {
        (self.0 & ((1 << INDEX_BITS) - 1)) as usize
    }

    /// The slot as a number, for a queue or a node's field.
    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// The slot that gave `bits`. Another number names no slot and is caught at its first use.
    pub fn from_bits(bits: u64) -> Slot {
        Slot(bits)
    }
}

/// What a slot's pages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum State {
    /// Not in use; a touch is a bug of the program.
    Free = 0,
    /// In use, value not evaluated, no pages.
    Lazy = 1,
    /// The service thread evaluates it; no pages.
    Busy = 2,
    /// The value sits in a staging block; no pages at the user address.
    Computed = 3,
    /// Readable and writable at the user address, which is the master copy.
    Ready = 4,
    /// Readable; a write is caught first.
    ReadOnly = 5,
    /// A write was caught; those who still read the old value run now.
    BusyWrite = 6,
}

impl State {
    /// Every state, in numeric order.
    pub const ALL: [State; 7] = [
        State::Free,
        State::Lazy,
        State::Busy,
        State::Computed,
        State::Ready,
        State::ReadOnly,
        State::BusyWrite,
    ];

    /// Whether a slot may go from this state to `next` in one step.
    pub fn may_become(self, next: State) -> bool {
        use State::{Busy, BusyWrite, Computed, Free, Lazy, ReadOnly, Ready};
        match self {
            Free => matches!(next, Lazy | Ready),
            Lazy => matches!(next, Busy | Computed | Free),
            Busy => matches!(next, Lazy | Computed | Free),
            Computed => matches!(next, Lazy | Ready | ReadOnly | Free),
            Ready => matches!(next, Lazy | ReadOnly | Free),
            ReadOnly => matches!(next, Lazy | Ready | BusyWrite | Free),
            BusyWrite => matches!(next, Ready | ReadOnly | Free),
        }
    }

    /// Whether the value lies at the user address.
    pub fn is_published(self) -> bool {
        matches!(self, State::Ready | State::ReadOnly | State::BusyWrite)
    }

    fn of(word: u32) -> State {
        match word & STATE_MASK {
            1 => State::Lazy,
            2 => State::Busy,
            3 => State::Computed,
            4 => State::Ready,
            5 => State::ReadOnly,
            6 => State::BusyWrite,
            _ => State::Free,
        }
    }
}

const STATE_MASK: u32 = 0xff;
const LOCKED: u32 = 1 << 8;
pub(crate) const WRITABLE: u32 = 1 << 9;
pub(crate) const REARMED: u32 = 1 << 10;
pub(crate) const DOOMED: u32 = 1 << 11;
pub(crate) const OWN: u32 = 1 << 12;
const PIN: u32 = 1 << 16;

/// A value of a record's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u32);

impl Word {
    pub(crate) fn state(self) -> State {
        State::of(self.0)
    }

    pub(crate) fn has(self, mark: u32) -> bool {
        self.0 & mark != 0
    }

    pub(crate) fn is_locked(self) -> bool {
        self.has(LOCKED)
    }

    pub(crate) fn pins(self) -> u32 {
        self.0 / PIN
    }
}

/// What queued faults want of one life of a slot.
///
/// A request may be served late, when the touching thread was content long ago, and the slot was
/// freed and taken again. So it names the life it was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request(u32);

impl Request {
    const VALUE: u32 = 1;
    const WRITE: u32 = 2;
    const MARKS: u32 = 3;

    /// A fault that wants the slot's value.
    pub(crate) fn value(life: u32) -> Request {
        Request(life << 2 | Request::VALUE)
    }

    /// A fault that wants to write.
    pub(crate) fn write(life: u32) -> Request {
        Request(life << 2 | Request::WRITE)
    }

    pub(crate) fn wants_write(self) -> bool {
        self.0 & Request::WRITE != 0
    }

    /// Whether it was made for this life of the slot.
    pub(crate) fn is_for(self, life: u32) -> bool {
        self.0 & !Request::MARKS == life << 2
    }

    /// Both wishes; those for another life are void by now.
    fn joined(self, before: u32) -> u32 {
        if before & !Request::MARKS == self.0 & !Request::MARKS {
            before | self.0
        } else {
            self.0
        }
    }
}

/// One slot. All zero means Free.
#[repr(C, align(64))]
pub(crate) struct Record {
    word: AtomicU32,
    waiters: AtomicU32,
    /// What queued faults want; zero if the slot is not in the request queue.
    request: AtomicU32,
    /// Counts the times the slot was taken.
    life: AtomicU32,
    /// Bytes the engine asked for.
    pub(crate) nbytes: AtomicUsize,
    /// The engine's word.
    pub(crate) tag: AtomicU64,
    /// Start of the staging block while Computed.
    pub(crate) block_start: AtomicUsize,
    /// Length of the staging block, then of the published mapping.
    pub(crate) block_len: AtomicUsize,
    /// Next slot in the request queue.
    pub(crate) next: AtomicU64,
    /// Counts the times that the slot became `ReadOnly`.
    closed: AtomicU64,
}

impl Record {
    pub(crate) fn load(&self) -> Word {
        Word(self.word.load(SeqCst))
    }

    /// Which life of the slot this is. Good only while the slot cannot be freed.
    pub(crate) fn life(&self) -> u32 {
        self.life.load(SeqCst)
    }

    /// How often the slot became `ReadOnly`, if it is that now: its bytes are the same as long as the number is.
    pub(crate) fn closed(&self) -> Option<u64> {
        let times = self.closed.load(SeqCst);
        (self.load().state() == State::ReadOnly).then_some(times)
    }

    /// Starts another life. The caller has taken the slot, and its state is Free.
    pub(crate) fn begin_life(&self, nbytes: usize) {
        self.life.fetch_add(1, SeqCst);
        self.nbytes.store(nbytes, SeqCst);
        self.tag.store(0, SeqCst);
        self.block_start.store(0, SeqCst);
        self.block_len.store(0, SeqCst);
    }

    /// Notes a request. True: the slot is not queued yet, and the caller must do that.
    pub(crate) fn note(&self, request: Request) -> bool {
        let mut before = self.request.load(SeqCst);
        loop {
            let now = request.joined(before);
            match self.request.compare_exchange(before, now, SeqCst, SeqCst) {
                Ok(_) => return before == 0,
                Err(other) => before = other,
            }
        }
    }

    /// Takes what was noted. From here on the slot may be queued again.
    pub(crate) fn take_request(&self) -> Request {
        Request(self.request.swap(0, SeqCst))
    }

    /// Sleeps until what was noted has been served; may return early. The word cannot tell: a write may have been let
    /// through and the slot protected again, which is the state that the request was made in.
    pub(crate) fn wait_served(&self) {
        let noted = self.request.load(SeqCst);
        if noted != 0 {
            self.waiters.fetch_add(1, SeqCst);
            sys::futex_wait(&self.request, noted);
            self.waiters.fetch_sub(1, SeqCst);
        }
    }

    /// Wakes those who wait for what [`Record::take_request`] took.
    pub(crate) fn served(&self) {
        if self.waiters.load(SeqCst) != 0 {
            sys::futex_wake(&self.request);
        }
    }

    /// Sleeps until the word differs from `seen`; may return early.
    pub(crate) fn wait(&self, seen: Word) {
        self.waiters.fetch_add(1, SeqCst);
        sys::futex_wait(&self.word, seen.0);
        self.waiters.fetch_sub(1, SeqCst);
    }

    fn wake(&self) {
        if self.waiters.load(SeqCst) != 0 {
            sys::futex_wake(&self.word);
        }
    }

    /// Takes the page lock and tells the word as it was.
    pub(crate) fn lock(&self) -> Word {
        loop {
            let seen = self.load();
            if seen.is_locked() {
                self.wait(seen);
                continue;
            }
            let taken = self
                .word
                .compare_exchange(seen.0, seen.0 | LOCKED, SeqCst, SeqCst);
            if taken.is_ok() {
                return seen;
            }
        }
    }

    /// Gives the page lock back; state and marks change in the same step.
    pub(crate) fn unlock(&self, next: State, set: u32, clear: u32) {
        let keep = !(STATE_MASK | LOCKED | clear);
        let mut seen = self.word.load(SeqCst);
        if next == State::ReadOnly && State::of(seen) != next {
            self.closed.fetch_add(1, SeqCst);
        }
        loop {
            let now = (seen & keep) | set | next as u32;
            match self.word.compare_exchange(seen, now, SeqCst, SeqCst) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
        self.wake();
    }

    /// Adds a user of the staging address. The caller holds the page lock.
    pub(crate) fn add_pin(&self) {
        self.word.fetch_add(PIN, SeqCst);
    }

    /// Takes a user of the staging address away.
    pub(crate) fn drop_pin(&self) {
        let before = Word(self.word.fetch_sub(PIN, SeqCst));
        debug_assert!(before.pins() > 0, "a pin was dropped twice");
        self.wake();
    }

    /// Puts a record in order that a fork left half-way: the other threads are gone.
    pub(crate) fn settle_after_fork(&self) {
        let next = match self.load().state() {
            State::Busy => State::Lazy,
            State::BusyWrite => State::ReadOnly,
            other => other,
        };
        self.waiters.store(0, SeqCst);
        self.request.store(0, SeqCst);
        let pins = !(PIN - 1);
        self.unlock(next, 0, pins);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(state: State) -> Record {
        Record {
            word: AtomicU32::new(state as u32),
            waiters: AtomicU32::new(0),
            request: AtomicU32::new(0),
            life: AtomicU32::new(3),
            nbytes: AtomicUsize::new(0),
            tag: AtomicU64::new(0),
            block_start: AtomicUsize::new(0),
            block_len: AtomicUsize::new(0),
            next: AtomicU64::new(0),
            closed: AtomicU64::new(0),
        }
    }

    #[test]
    fn bits_round_trip() {
        let slot = Slot::new(24, (1 << 25) - 1);
        assert_eq!((slot.class(), slot.index()), (24, (1 << 25) - 1));
        assert_eq!(Slot::from_bits(slot.to_bits()), slot);
    }

    #[test]
    fn every_state_survives_the_word() {
        for state in State::ALL {
            assert_eq!(State::of(state as u32 | LOCKED | DOOMED | PIN), state);
        }
    }

    #[test]
    fn every_state_can_be_freed_and_none_becomes_itself() {
        for state in State::ALL {
            assert!(!state.may_become(state), "{state:?}");
            assert_eq!(state.may_become(State::Free), state != State::Free);
        }
    }

    #[test]
    fn a_published_value_goes_only_by_being_reclaimed() {
        for state in State::ALL.into_iter().filter(|state| state.is_published()) {
            for unpublished in [State::Busy, State::Computed] {
                assert!(!state.may_become(unpublished), "{state:?} {unpublished:?}");
            }
        }
        assert!(!State::BusyWrite.may_become(State::Lazy));
    }

    #[test]
    fn a_request_knows_its_life() {
        let (old, new) = (Request::write(7), Request::value(8));
        assert!(old.is_for(7) && !old.is_for(8) && old.wants_write());
        assert_eq!(new.joined(old.0), new.0, "a void wish is dropped");
        let both = Request(Request::write(8).joined(new.0));
        assert!(both.is_for(8) && both.wants_write());
        assert_ne!(Request::value(0).0, 0);
        assert!(Request::value(u32::MAX).is_for(u32::MAX));
    }

    #[test]
    fn who_waits_for_a_request_sleeps_until_it_was_served() {
        use std::sync::atomic::AtomicBool;
        let record = record(State::Free);
        record.wait_served();
        assert!(record.note(Request::write(3)));
        assert!(!record.note(Request::write(3)), "it is queued");
        let served = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                while !served.load(SeqCst) {
                    record.wait_served();
                }
            });
            assert!(record.take_request().wants_write());
            // The word is what it was when the request was made: protected again.
            served.store(true, SeqCst);
            record.served();
            assert!(waiter.join().is_ok());
        });
        record.wait_served();
    }

    #[test]
    fn closings_are_counted_where_the_state_changes() {
        let record = record(State::Ready);
        let become_state = |next| {
            record.lock();
            record.unlock(next, 0, 0);
            record.closed()
        };
        assert_eq!(record.closed(), None);
        assert_eq!(become_state(State::ReadOnly), Some(1));
        assert_eq!(become_state(State::ReadOnly), Some(1), "it was that before");
        assert_eq!(become_state(State::BusyWrite), None);
        assert_eq!(become_state(State::Ready), None);
        assert_eq!(become_state(State::ReadOnly), Some(2));
    }

    #[test]
    fn a_record_is_one_cache_line() {
        assert_eq!(size_of::<Record>(), 64);
    }
}
