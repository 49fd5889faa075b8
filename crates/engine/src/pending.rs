//! One bit per slot, readable without a lock: whether its value is still to be computed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

const PAGE: usize = 1 << 14;
const PAGES: usize = 1 << 12;

/// Bits in pages that appear when a slot of theirs is first used.
pub(crate) struct Bits {
    pages: Box<[OnceLock<Box<[AtomicBool]>>]>,
}

impl Bits {
    pub(crate) fn new() -> Bits {
        Bits {
            pages: std::iter::repeat_with(OnceLock::new).take(PAGES).collect(),
        }
    }

    /// The bit of slot number `slot`; false for one that never was set.
    pub(crate) fn get(&self, slot: u32) -> bool {
        let (page, bit) = place(slot);
        let page = self.pages.get(page).and_then(OnceLock::get);
        page.is_some_and(|bits| bits[bit].load(Ordering::Acquire))
    }

    pub(crate) fn set(&self, slot: u32, value: bool) {
        let (page, bit) = place(slot);
        if let Some(page) = self.pages.get(page) {
            let bits = page.get_or_init(|| {
                let bits = std::iter::repeat_with(|| AtomicBool::new(false));
                bits.take(PAGE).collect()
            });
            bits[bit].store(value, Ordering::Release);
        }
    }
}

fn place(slot: u32) -> (usize, usize) {
    let slot = slot as usize;
    (slot / PAGE, slot % PAGE)
}
