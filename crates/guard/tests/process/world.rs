//! The engine of the cases, and touches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;

use arrayloom_guard::{Guard, GuardConfig, Owner, Slot};

/// An engine whose arrays hold their tag in every byte.
#[derive(Default)]
pub(crate) struct Bytes {
    /// A slot to read while evaluating another, plus one.
    pub(crate) read_first: AtomicUsize,
    pub(crate) barriers: AtomicU32,
    pub(crate) slow: AtomicU32,
}

impl Owner for Bytes {
    fn evaluate(&self, slot: Slot) -> Result<(), ()> {
        let guard = Guard::get().unwrap();
        let other = self.read_first.swap(0, SeqCst);
        if other != 0 {
            let other = Slot::from_bits(other as u64 - 1);
            assert_eq!(read(guard, other, 0), 9);
        }
        thread::sleep(std::time::Duration::from_micros(
            self.slow.load(SeqCst).into(),
        ));
        let block = guard.pool().get(guard.nbytes(slot), false).unwrap();
        let byte = u8::try_from(guard.tag(slot).load(SeqCst)).unwrap();
        // SAFETY: the block is ours.
        unsafe { block.ptr().write_bytes(byte, block.len()) };
        guard.computed(slot, block);
        Ok(())
    }

    fn before_write(&self, _slot: Slot) -> Result<(), ()> {
        self.barriers.fetch_add(1, SeqCst);
        Ok(())
    }

    fn failed(&self, slot: Slot) {
        panic!("{slot:?} failed");
    }
}

pub(crate) fn install() -> (&'static Guard, Arc<Bytes>) {
    let owner = Arc::new(Bytes::default());
    let seen = Arc::clone(&owner);
    (Guard::install(GuardConfig::default(), owner).unwrap(), seen)
}

pub(crate) fn lazy(guard: &Guard, nbytes: usize, byte: u8) -> Slot {
    let slot = guard.alloc(nbytes).unwrap();
    guard.tag(slot).store(byte.into(), SeqCst);
    slot
}

pub(crate) fn read(guard: &Guard, slot: Slot, at: usize) -> u8 {
    // SAFETY: within the slot, or the case wants to crash.
    unsafe { guard.addr(slot).wrapping_add(at).read_volatile() }
}

pub(crate) fn write(guard: &Guard, slot: Slot, at: usize, byte: u8) {
    // SAFETY: within the slot.
    unsafe { guard.addr(slot).wrapping_add(at).write_volatile(byte) };
}

pub(crate) fn dereference(addr: usize) -> u8 {
    let place = std::ptr::with_exposed_provenance::<u8>(addr);
    // SAFETY: none: the case wants a fault.
    unsafe { place.read_volatile() }
}
