//! Moving pages: a value goes from its staging block to the user address, and back to the pool.
//!
//! Moves are single system calls, so another thread sees either no pages or the whole value. A block has
//! its home in the address space of whoever gave it: pages leave it for the user address and come back
//! to it, and meanwhile the home stays mapped without them, so that nobody else lands there.
//! Rules that hold throughout:
//!
//! 1. Pages are visible before the state word says so. Whoever frees a slot therefore waits for
//!    the page lock, which the publisher holds until the word is set.
//! 2. A slot whose value has readers left is protected before it is moved: protection travels.
//! 3. The user range always belongs to some mapping. A hole is made by mapping over, never by
//!    unmapping first, so nobody else's mapping can land there.
//! 4. `READY` after a write barrier and a new request for protection exclude each other by the page
//!    lock and the `REARMED` mark.
//!
//! The page lock is held over system calls only. Nothing in the `try_` functions allocates or takes
//! another lock: the signal handler calls them.

#![expect(unsafe_code, reason = "moves pages between owned ranges")]

use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use crate::arena::Arena;
use crate::error::GuardError;
use crate::guard::Guard;
use crate::handler;
use crate::pool::Block;
use crate::slot::{DOOMED, OWN, REARMED, Record, Slot, State, WRITABLE, Word};
use crate::sys::{self, Access, Refused};

/// The page lock of one slot, and the promise not to fork in the middle.
pub(crate) struct Held<'a> {
    guard: &'a Guard,
    record: &'a Record,
    slot: Slot,
    word: Word,
    done: bool,
}

impl<'a> Held<'a> {
    pub(crate) fn new(guard: &'a Guard, slot: Slot) -> Held<'a> {
        guard.gate.enter();
        let record = guard.arena.record(slot);
        let word = record.lock();
        Held {
            guard,
            record,
            slot,
            word,
            done: false,
        }
    }

    pub(crate) fn state(&self) -> State {
        self.word.state()
    }

    pub(crate) fn life(&self) -> u32 {
        self.record.life()
    }

    pub(crate) fn has(&self, mark: u32) -> bool {
        self.word.has(mark)
    }

    /// Changes state and marks, and lets go.
    pub(crate) fn become_state(self, next: State, set: u32, clear: u32) {
        debug_assert!(
            self.state().may_become(next),
            "{:?} may not go from {:?} to {next:?}",
            self.slot,
            self.state()
        );
        self.finish(next, set, clear);
    }

    /// Changes marks only, and lets go.
    pub(crate) fn mark(self, set: u32, clear: u32) {
        let state = self.state();
        self.finish(state, set, clear);
    }

    fn finish(mut self, next: State, set: u32, clear: u32) {
        self.record.unlock(next, set, clear);
        self.done = true;
    }

    /// Bytes of the pages at the user address.
    pub(crate) fn len(&self) -> usize {
        self.record.block_len.load(SeqCst)
    }

    fn user_range(&self) -> (*mut u8, usize) {
        let start = self.guard.arena.addr(self.slot);
        (start, self.record.block_len.load(SeqCst))
    }

    pub(crate) fn protect(&self, access: Access) -> Result<(), Refused> {
        let (start, len) = self.user_range();
        // SAFETY: the slot is published, so its range holds this slot's pages alone, and the page
        // lock keeps others from moving them. Losing write access is what its users expect: their
        // writes fault and wait for the barrier.
        unsafe { sys::protect(start, len, access) }
    }

    /// Where the pages came from and go back to.
    pub(crate) fn home(&self) -> *mut u8 {
        core::ptr::with_exposed_provenance_mut(self.record.block_start.load(SeqCst))
    }

    fn take_staging(&self) -> Block {
        let start = self.record.block_start.swap(0, SeqCst);
        let len = self.record.block_len.swap(0, SeqCst);
        Block::from_parts(core::ptr::with_exposed_provenance_mut(start), len)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.done {
            self.record.unlock(self.word.state(), 0, 0);
        }
        self.guard.gate.leave();
    }
}

/// What an attempt to publish came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// The value is at the user address.
    Published,
    /// The slot is in another state or pinned; look again.
    Again(State),
    /// The system refused; the value is still in its staging block.
    Refused(Refused),
}

/// How a write barrier ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarrierEnd {
    /// Writes go through.
    Open,
    /// A reader was recorded meanwhile; run it, too.
    Rearmed,
    /// The system refused to give write access.
    Refused,
}

impl Guard {
    /// The value sits in `block` now: Lazy or Busy becomes Computed, and sleeping faults publish.
    ///
    /// Until [`Guard::unprotect`] says otherwise, the fault handler publishes it read-only.
    pub fn computed(&self, slot: Slot, block: Block) {
        if let Err(block) = self.offer(slot, None, block) {
            self.pool.put(block);
            debug_assert!(
                false,
                "{slot:?} may not go from {:?} to Computed",
                self.state(slot)
            );
        }
    }

    /// Gives a slot without value a value, unless it has begun another life than the one meant.
    pub(crate) fn offer(&self, slot: Slot, life: Option<u32>, block: Block) -> Result<(), Block> {
        let block = self.fit(slot, block);
        let held = Held::new(self, slot);
        let meant = life.is_none_or(|life| life == held.life());
        if !meant || !matches!(held.state(), State::Lazy | State::Busy) {
            return Err(block);
        }
        let (start, len) = block.into_parts();
        held.record
            .block_start
            .store(start.expose_provenance(), SeqCst);
        held.record.block_len.store(len, SeqCst);
        held.become_state(State::Computed, 0, 0);
        Ok(())
    }

    /// Cuts a block down to what the slot's range can take.
    pub(crate) fn fit(&self, slot: Slot, block: Block) -> Block {
        let most = Arena::slot_bytes(slot);
        let wanted = sys::whole_pages(self.nbytes(slot)).unwrap_or(most);
        assert!(
            block.len() >= wanted,
            "a block of {} bytes is too small for {slot:?}",
            block.len()
        );
        if block.len() <= most {
            return block;
        }
        self.pool.shorten(block, most)
    }

    /// Moves the value to the user address: Computed becomes Ready or `ReadOnly`.
    ///
    /// A slot that a fault has published meanwhile is fine; it gets protected if `read_only`. Waits
    /// for pins to go.
    ///
    /// # Errors
    /// `NotComputed` if there is no value, `System` if the pages could not be moved.
    pub fn publish(&self, slot: Slot, read_only: bool) -> Result<(), GuardError> {
        let mut trimmed = false;
        loop {
            let refused = match self.try_publish(slot, Some(read_only)) {
                Attempt::Published => return Ok(()),
                Attempt::Again(State::Ready) if read_only => {
                    if self.protect(slot) {
                        return Ok(());
                    }
                    continue;
                }
                Attempt::Again(state) if state.is_published() => return Ok(()),
                Attempt::Again(State::Computed) => {
                    self.wait_for_pins(slot);
                    continue;
                }
                Attempt::Again(state) => return Err(GuardError::NotComputed { slot, state }),
                Attempt::Refused(refused) => refused,
            };
            if trimmed {
                return Err(self.system_error(slot, refused));
            }
            self.pool.trim(usize::MAX);
            trimmed = true;
        }
    }

    fn wait_for_pins(&self, slot: Slot) {
        let record = self.arena.record(slot);
        let word = record.load();
        if word.pins() > 0 {
            record.wait(word);
        }
    }

    fn system_error(&self, slot: Slot, refused: Refused) -> GuardError {
        GuardError::System {
            call: refused.call,
            errno: refused.errno,
            bytes: self.nbytes(slot),
        }
    }

    /// One attempt to publish; async-signal-safe. Without `read_only` the slot's mark decides.
    pub(crate) fn try_publish(&self, slot: Slot, read_only: Option<bool>) -> Attempt {
        let held = Held::new(self, slot);
        if held.state() != State::Computed || held.word.pins() > 0 {
            return Attempt::Again(held.state());
        }
        let read_only = read_only.unwrap_or(!held.has(WRITABLE));
        let (user, len) = held.user_range();
        let staging = core::ptr::with_exposed_provenance_mut(held.record.block_start.load(SeqCst));
        match move_value(staging, len, user, read_only) {
            Ok(()) => {
                let next = if read_only {
                    State::ReadOnly
                } else {
                    State::Ready
                };
                held.become_state(next, 0, WRITABLE | REARMED);
                self.tallies.publishes.fetch_add(1, Relaxed);
                Attempt::Published
            }
            Err(refused) => Attempt::Refused(refused),
        }
    }

    /// Moves fresh memory into a slot that was claimed just now: Free becomes Ready.
    pub(crate) fn move_in(&self, slot: Slot, block: Block) -> Result<(), GuardError> {
        let held = Held::new(self, slot);
        let (start, len) = block.into_parts();
        match move_value(start, len, self.arena.addr(slot), false) {
            Ok(()) => {
                held.record
                    .block_start
                    .store(start.expose_provenance(), SeqCst);
                held.record.block_len.store(len, SeqCst);
                held.become_state(State::Ready, OWN, !0xff);
                Ok(())
            }
            Err(refused) => {
                drop(held);
                self.pool.put(Block::from_parts(start, len));
                Err(self.system_error(slot, refused))
            }
        }
    }

    /// Catches the next write. Ready becomes `ReadOnly`; a slot without pages will be published
    /// read-only; during a write barrier the barrier runs again.
    ///
    /// Tells whether that holds now: false if the system refused, which leaves the slot as it was.
    pub fn protect(&self, slot: Slot) -> bool {
        handler::keep_on_top();
        let held = Held::new(self, slot);
        match held.state() {
            State::Ready => {
                if held.protect(Access::Read).is_err() {
                    drop(held);
                    return self.pool.trim(usize::MAX) > 0 && self.protect(slot);
                }
                held.become_state(State::ReadOnly, 0, 0);
                self.tallies.protections.fetch_add(1, Relaxed);
            }
            State::BusyWrite => held.mark(REARMED, 0),
            State::Lazy | State::Busy | State::Computed => held.mark(0, WRITABLE),
            State::ReadOnly => {}
            State::Free => debug_assert!(false, "{slot:?} is Free and cannot be protected"),
        }
        true
    }

    /// Lets writes through. `ReadOnly` (or a write barrier) becomes Ready; a slot without pages
    /// will be published writable by the fault handler.
    ///
    /// Tells whether that holds now: false if the system refused, which leaves the slot as it was.
    pub fn unprotect(&self, slot: Slot) -> bool {
        let held = Held::new(self, slot);
        match held.state() {
            State::ReadOnly | State::BusyWrite => {
                if held.protect(Access::ReadWrite).is_err() {
                    drop(held);
                    return self.pool.trim(usize::MAX) > 0 && self.unprotect(slot);
                }
                held.become_state(State::Ready, 0, REARMED);
            }
            State::Lazy | State::Busy | State::Computed => held.mark(WRITABLE, 0),
            State::Ready => {}
            State::Free => debug_assert!(false, "{slot:?} is Free and cannot be unprotected"),
        }
        true
    }

    /// Ends a write barrier in one step, unless protection was asked for meanwhile (rule 4).
    pub(crate) fn end_barrier(&self, slot: Slot) -> BarrierEnd {
        let held = Held::new(self, slot);
        if held.state() != State::BusyWrite {
            return BarrierEnd::Open;
        }
        if held.has(REARMED) {
            held.mark(0, REARMED);
            return BarrierEnd::Rearmed;
        }
        if held.protect(Access::ReadWrite).is_ok() {
            held.become_state(State::Ready, 0, 0);
            return BarrierEnd::Open;
        }
        drop(held);
        if self.pool.trim(usize::MAX) == 0 {
            return BarrierEnd::Refused;
        }
        self.end_barrier(slot)
    }

    /// Where the bytes are now: the staging block, or the user address. None without a value.
    ///
    /// The address of a Computed slot lasts only until somebody touches or publishes it; use
    /// [`Guard::pin`] wherever other threads may run.
    pub fn data(&self, slot: Slot) -> Option<*mut u8> {
        let held = Held::new(self, slot);
        held.data()
    }

    /// Like [`Guard::data`], and the address stays good until [`Guard::unpin`]. Threads that touch
    /// the slot meanwhile sleep, so pins must be short and need nothing of those threads.
    pub fn pin(&self, slot: Slot) -> Option<*mut u8> {
        let held = Held::new(self, slot);
        let place = held.data()?;
        held.record.add_pin();
        Some(place)
    }

    /// Ends one [`Guard::pin`].
    pub fn unpin(&self, slot: Slot) {
        self.arena.record(slot).drop_pin();
    }

    /// Takes the value out of a Computed slot, which becomes Lazy. None in any other state, or if
    /// the slot is pinned.
    pub fn withdraw(&self, slot: Slot) -> Option<Block> {
        let held = Held::new(self, slot);
        if held.state() != State::Computed || held.word.pins() > 0 {
            return None;
        }
        let block = held.take_staging();
        held.become_state(State::Lazy, 0, 0);
        Some(block)
    }

    /// Takes the value of a Ready or `ReadOnly` slot back from the user address. The slot becomes
    /// Lazy, and the next touch asks the owner for the value it has then. None, and nothing changed,
    /// in any other state or if the system refuses.
    pub fn reclaim(&self, slot: Slot) -> Option<Block> {
        let held = Held::new(self, slot);
        let access = match held.state() {
            State::Ready => Access::ReadWrite,
            State::ReadOnly => Access::Read,
            _ => return None,
        };
        let (user, len) = held.user_range();
        // Untouchable first: who comes meanwhile waits for the page lock.
        held.protect(Access::None).ok()?;
        let start = held.home();
        // SAFETY: the range holds this slot's pages, and nobody can touch them any more; the home is the
        // slot's own.
        let lifted = unsafe { sys::lift_pages(user, len, start) };
        if lifted.is_err() {
            let restored = held.protect(access);
            debug_assert!(restored.is_ok(), "{slot:?} had this access before");
            return None;
        }
        // SAFETY: the pages were moved to `start` just now and nobody else knows of them.
        let opened = unsafe { sys::protect(start, len, Access::ReadWrite) };
        debug_assert!(opened.is_ok(), "whole mappings change without a new one");
        // SAFETY: the range is the slot's own and empty. If this is refused it stays untouchable.
        let _hole = unsafe { sys::make_hole(user, len) };
        held.record.block_start.store(0, SeqCst);
        held.record.block_len.store(0, SeqCst);
        held.become_state(State::Lazy, 0, WRITABLE | REARMED);
        Some(Block::from_parts(start, len))
    }

    /// Ends a slot, whatever its state. Its pages go back to the pool, its range becomes
    /// untouchable. Safe from any thread; the caller holds the last reference to the slot.
    pub fn free(&self, slot: Slot) {
        self.make_room(slot);
        let held = Held::new(self, slot);
        debug_assert_eq!(held.word.pins(), 0, "{slot:?} was freed while pinned");
        if held.state() == State::Free {
            debug_assert!(false, "{slot:?} was freed twice");
            return;
        }
        if let Some(held) = self.park(slot, held)
            && self.empty(held)
        {
            self.unclaim(slot);
        }
    }

    /// Gives the pages of a slot to the pool and makes its range untouchable. False if that cannot be: then
    /// the range stays as it is and is never used again.
    pub(crate) fn empty(&self, held: Held<'_>) -> bool {
        let block = match held.state() {
            State::Lazy | State::Busy => None,
            State::Computed => Some(held.take_staging()),
            State::Free => return true,
            State::Ready | State::ReadOnly | State::BusyWrite => {
                let Ok(lifted) = self.lift(&held) else {
                    held.mark(DOOMED, 0);
                    return false;
                };
                Some(lifted)
            }
        };
        held.record.block_start.store(0, SeqCst);
        held.record.block_len.store(0, SeqCst);
        held.become_state(State::Free, 0, !0xff);
        if let Some(block) = block {
            self.pool.put(block);
        }
        true
    }

    /// Clears the user range. The pages go home; if the system cannot move them, the block comes home
    /// without.
    fn lift(&self, held: &Held<'_>) -> Result<Block, Refused> {
        let (user, len) = held.user_range();
        let home = held.home();
        let writable = held.state() == State::Ready || held.protect(Access::ReadWrite).is_ok();
        let moved = writable && {
            // SAFETY: the range holds this slot's pages; its last user is gone. The home is the slot's.
            unsafe { sys::lift_pages(user, len, home) }.is_ok()
        };
        if !moved {
            // SAFETY: the home is the slot's own and holds no pages.
            let opened = unsafe { sys::protect(home, len, Access::ReadWrite) };
            debug_assert!(opened.is_ok(), "a block cannot be written to");
        }
        // SAFETY: the range is the slot's own and its content is not needed any more.
        let hole = unsafe { sys::make_hole(user, len) };
        if hole.is_err() {
            self.pool.trim(usize::MAX);
            // SAFETY: as above.
            let again = unsafe { sys::make_hole(user, len) };
            if let Err(refused) = again {
                self.pool.put(Block::from_parts(home, len));
                return Err(refused);
            }
        }
        Ok(Block::from_parts(home, len))
    }
}

impl Held<'_> {
    fn data(&self) -> Option<*mut u8> {
        match self.state() {
            State::Computed => {
                let start = self.record.block_start.load(SeqCst);
                Some(core::ptr::with_exposed_provenance_mut(start))
            }
            state if state.is_published() => Some(self.guard.arena.addr(self.slot)),
            _ => None,
        }
    }
}

/// Protects (rule 2) and moves a value onto its user range. On refusal the value is where it was.
fn move_value(from: *mut u8, len: usize, to: *mut u8, read_only: bool) -> Result<(), Refused> {
    if read_only {
        // SAFETY: the staging block belongs to the slot and nobody has pinned it.
        unsafe { sys::protect(from, len, Access::Read) }?;
    }
    // SAFETY: the block belongs to the slot; the target is the slot's own untouchable range.
    let moved = unsafe { sys::move_onto(from, len, to, read_only) };
    if moved.is_err() {
        sys::fill_gap(to, len);
        if read_only {
            // SAFETY: as above. If even this is refused, the next attempt protects again anyway.
            let _status = unsafe { sys::protect(from, len, Access::ReadWrite) };
        }
    }
    moved
}
