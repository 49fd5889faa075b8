//! Slots that keep their pages after they are freed, for the next Ready slot of their size.
//!
//! Moving pages in and out costs three system calls and the translations of every page. A program that
//! makes one array after the other of the same size, and looks at each, needs none of them. Such a slot
//! is Free like any other; only its range is no hole, and its block is not in the pool. A slot that began
//! without pages gives them back: its next value will want a hidden block. How many bytes may wait like
//! this is up to the owner; at first it is none.

#![expect(unsafe_code, reason = "clears memory of slots that nobody else has")]

use core::sync::atomic::AtomicUsize;
use core::sync::atomic::Ordering::SeqCst;

use crate::guard::Guard;
use crate::publish::Held;
use crate::slot::{OWN, Slot, State};
use crate::sys::{self, Access};

/// How many bytes wait in warm slots, and how many may.
#[derive(Default)]
pub(crate) struct Warmth {
    bytes: AtomicUsize,
    most: AtomicUsize,
}

/// True if pages are at the address and no writer waits.
fn may_stay(state: State) -> bool {
    matches!(state, State::Ready | State::ReadOnly)
}

/// A freed slot with pages.
pub(crate) struct Warm {
    index: usize,
    len: usize,
}

impl Guard {
    /// Lets up to `bytes` wait in freed slots; what is above goes back to the pool now.
    pub fn keep_warm(&self, bytes: usize) {
        self.warmth.most.store(bytes, SeqCst);
        if self.warm_bytes() > bytes {
            self.cool();
        }
    }

    /// Bytes that wait in freed slots. The pool counts them as in use.
    pub fn warm_bytes(&self) -> usize {
        self.warmth.bytes.load(SeqCst)
    }

    /// Gives the pages of all freed slots back to the pool. Tells how many bytes.
    pub fn cool(&self) -> usize {
        let mut freed = 0;
        for (class, slots) in self.classes.iter().enumerate() {
            for warm in slots.with(|slots| core::mem::take(&mut slots.warm)) {
                let slot = Slot::new(class, warm.index);
                self.warmth.bytes.fetch_sub(warm.len, SeqCst);
                freed += warm.len;
                self.revive(slot, warm.len, warm.len);
                if self.empty(Held::new(self, slot)) {
                    slots.with(|slots| slots.returned.push(slot.index()));
                }
            }
        }
        freed
    }

    /// Makes room for the pages of a slot that is about to be freed: sizes that nobody asked for again go. The
    /// caller does not hold the slot yet, because a fork takes the locks of the lists before it waits for
    /// holders of slots.
    pub(crate) fn make_room(&self, slot: Slot) {
        let record = self.arena.record(slot);
        let (word, len) = (record.load(), record.block_len.load(SeqCst));
        let most = self.warmth.most.load(SeqCst);
        let may = may_stay(word.state()) && word.has(OWN) && len <= most;
        if may && self.warm_bytes() + len > most {
            self.cool();
        }
    }

    /// Keeps the pages of a slot that is being freed, if there is room. The caller frees it otherwise.
    pub(crate) fn park<'a>(&self, slot: Slot, held: Held<'a>) -> Option<Held<'a>> {
        let (len, most) = (held.len(), self.warmth.most.load(SeqCst));
        let may = may_stay(held.state())
            && held.has(OWN)
            && len <= most
            && self.pool.may_wait(held.home().addr());
        // What a recorded operation read was protected.
        if !may || (held.state() == State::ReadOnly && held.protect(Access::ReadWrite).is_err()) {
            return Some(held);
        }
        let fits = |bytes: usize| Some(bytes + len).filter(|&sum| sum <= most);
        if self
            .warmth
            .bytes
            .fetch_update(SeqCst, SeqCst, fits)
            .is_err()
        {
            return Some(held);
        }
        held.become_state(State::Free, 0, !0xff);
        let index = slot.index();
        if let Some(class) = self.classes.get(slot.class()) {
            class.with(|slots| slots.warm.push(Warm { index, len }));
        }
        self.leave();
        None
    }

    /// A Ready slot whose pages are there already. With `zeroed` all its bytes are zero.
    pub(crate) fn take_warm(&self, nbytes: usize, zeroed: bool) -> Option<Slot> {
        if self.warm_bytes() == 0 {
            return None;
        }
        let class = self.arena.class_for(nbytes)?;
        let whole = sys::whole_pages(nbytes)?;
        let fits = |warm: &Warm| (whole..=whole + whole / 8).contains(&warm.len);
        if !self.enter() {
            return None;
        }
        let found = self.classes.get(class)?.with(|slots| {
            let place = slots.warm.iter().rposition(fits)?;
            Some(slots.warm.swap_remove(place))
        });
        let Some(Warm { index, len }) = found else {
            self.leave();
            return None;
        };
        self.warmth.bytes.fetch_sub(len, SeqCst);
        let slot = Slot::new(class, index);
        if zeroed {
            // SAFETY: the slot was taken off the list just now, so its pages, `len` writable bytes, are
            // this thread's alone.
            unsafe { self.arena.addr(slot).write_bytes(0, nbytes) };
        }
        self.revive(slot, nbytes, len);
        Some(slot)
    }

    /// Makes a slot that was taken off the list Ready, with the pages that it has.
    fn revive(&self, slot: Slot, nbytes: usize, len: usize) {
        let record = self.arena.record(slot);
        let home = record.block_start.load(SeqCst);
        record.begin_life(nbytes);
        record.block_start.store(home, SeqCst);
        record.block_len.store(len, SeqCst);
        Held::new(self, slot).become_state(State::Ready, OWN, !0xff);
    }
}
