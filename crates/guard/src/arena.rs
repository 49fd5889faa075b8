//! The reserved address space and the arithmetic between addresses, slots and records.
//!
//! With base B, class shift S and smallest slot 2^12, class c holds slots of 2^(12+c) bytes in
//! [B + c 2^S, B + (c+1) 2^S). So an address tells its slot without a look-up:
//! `class = (addr - B) >> S`, `index = ((addr - B) mod 2^S) >> (12 + class)`. Records lie in one
//! sparse table, class after class. Nothing here changes after construction, so everything but
//! `reserve` is lock-free and async-signal-safe.

#![expect(unsafe_code, reason = "records live in a mapping, not in a Vec")]

use crate::error::GuardError;
use crate::slot::{Record, Slot};
use crate::sys;

const SMALLEST_SHIFT: u32 = 12;
/// 4 KiB to 64 GiB.
const MOST_CLASSES: usize = 25;
/// Below this an arena is of no use.
const LEAST_CLASS_BYTES: usize = 16 << 20;
/// Slots start at multiples of their size up to this, so that huge pages fit.
const BASE_ALIGN: usize = 1 << 30;

/// The reservation and its table.
pub(crate) struct Arena {
    base: *mut u8,
    class_shift: u32,
    classes: usize,
    records: *const Record,
    first_record: [usize; MOST_CLASSES],
}

// SAFETY: the fields never change; the memory they name is a reservation that is only handed to
// system calls, and a table of atomics.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves `bytes_per_class` for every class, or half of it, and so on.
    pub(crate) fn reserve(bytes_per_class: usize) -> Result<Arena, GuardError> {
        let budget = sys::address_space_left().map_or(usize::MAX, |left| left / 2);
        let mut class_bytes = bytes_per_class.max(1).next_power_of_two();
        let mut errno = 12;
        loop {
            let plan = Plan::new(class_bytes);
            if plan.total_bytes() <= budget {
                match plan.realise() {
                    Ok(arena) => return Ok(arena),
                    Err(refused) => errno = refused.errno,
                }
            }
            if class_bytes <= LEAST_CLASS_BYTES {
                return Err(GuardError::NoAddressSpace {
                    smallest_bytes: plan.total_bytes(),
                    errno,
                });
            }
            class_bytes /= 2;
        }
    }

    /// The smallest class that holds `bytes`, or none.
    pub(crate) fn class_for(&self, bytes: usize) -> Option<usize> {
        let size = sys::whole_pages(bytes)?.checked_next_power_of_two()?;
        let class = (size.trailing_zeros() - SMALLEST_SHIFT) as usize;
        (class < self.classes).then_some(class)
    }

    /// Start and length of all slots together.
    pub(crate) fn range(&self) -> (usize, usize) {
        (self.base.addr(), self.classes << self.class_shift)
    }

    /// Number of classes.
    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// Slots in a class.
    pub(crate) fn slots_in(&self, class: usize) -> usize {
        1 << (self.class_shift - slot_shift(class))
    }

    /// Bytes a slot can hold.
    pub(crate) fn slot_bytes(slot: Slot) -> usize {
        1 << slot_shift(slot.class())
    }

    /// Start of a slot.
    pub(crate) fn addr(&self, slot: Slot) -> *mut u8 {
        let offset =
            (slot.class() << self.class_shift) + (slot.index() << slot_shift(slot.class()));
        self.base.wrapping_add(offset)
    }

    /// The slot that holds an address, in use or not.
    pub(crate) fn slot_at(&self, addr: usize) -> Option<Slot> {
        let offset = addr.wrapping_sub(self.base.addr());
        let class = offset >> self.class_shift;
        if class >= self.classes {
            return None;
        }
        let within = offset & ((1 << self.class_shift) - 1);
        Some(Slot::new(class, within >> slot_shift(class)))
    }

    /// The record of a slot.
    ///
    /// # Panics
    /// If the slot is not one of this arena's: its number was made up.
    pub(crate) fn record(&self, slot: Slot) -> &Record {
        let (class, index) = (slot.class(), slot.index());
        assert!(
            class < self.classes && index < self.slots_in(class),
            "no such slot"
        );
        let place = self.records.wrapping_add(self.first_record[class] + index);
        // SAFETY: the table holds a zeroed (hence valid) record for every slot of every class,
        // the bounds were checked above, and the table is never unmapped while `self` lives.
        unsafe { &*place }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let plan = Plan::new(1 << self.class_shift);
        // SAFETY: an arena is dropped only when its construction was abandoned: no slot exists.
        unsafe { sys::unmap(self.base, plan.arena_bytes()) };
        // SAFETY: as above; no record is borrowed.
        unsafe { sys::unmap(self.records.cast_mut().cast(), plan.table_bytes()) };
    }
}

fn slot_shift(class: usize) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "a class is below 2^5")]
    let class = class as u32;
    SMALLEST_SHIFT + class
}

/// Sizes of an arena that does not exist yet.
struct Plan {
    class_shift: u32,
    classes: usize,
}

impl Plan {
    /// Every class gets at least two slots.
    fn new(class_bytes: usize) -> Plan {
        let class_shift = class_bytes.trailing_zeros().clamp(SMALLEST_SHIFT + 1, 40);
        let classes = ((class_shift - SMALLEST_SHIFT) as usize).min(MOST_CLASSES);
        Plan {
            class_shift,
            classes,
        }
    }

    fn arena_bytes(&self) -> usize {
        self.classes << self.class_shift
    }

    fn slots(&self) -> usize {
        (0..self.classes)
            .map(|class| 1 << (self.class_shift - slot_shift(class)))
            .sum()
    }

    fn table_bytes(&self) -> usize {
        (self.slots() * size_of::<Record>()).next_multiple_of(sys::page_size())
    }

    fn total_bytes(&self) -> usize {
        self.arena_bytes() + self.table_bytes()
    }

    fn realise(&self) -> Result<Arena, sys::Refused> {
        let align = BASE_ALIGN.min(1 << self.class_shift);
        let base = sys::reserve(self.arena_bytes(), align)?;
        let table = match sys::map_table(self.table_bytes()) {
            Ok(table) => table,
            Err(refused) => {
                // SAFETY: the range was reserved just now and nobody knows it.
                unsafe { sys::unmap(base, self.arena_bytes()) };
                return Err(refused);
            }
        };
        let mut first_record = [0; MOST_CLASSES];
        let mut next = 0;
        for (class, first) in first_record.iter_mut().enumerate().take(self.classes) {
            *first = next;
            next += 1 << (self.class_shift - slot_shift(class));
        }
        #[expect(clippy::cast_ptr_alignment, reason = "a mapping starts at a page")]
        let records = table.cast_const().cast::<Record>();
        Ok(Arena {
            base,
            class_shift: self.class_shift,
            classes: self.classes,
            records,
            first_record,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_slots_are_inverse() {
        let arena = Arena::reserve(1 << 30).unwrap();
        for class in 0..arena.classes() {
            for index in [0, 1, arena.slots_in(class) - 1] {
                let slot = Slot::new(class, index);
                let start = arena.addr(slot).addr();
                let last = start + Arena::slot_bytes(slot) - 1;
                assert_eq!(arena.slot_at(start), Some(slot));
                assert_eq!(arena.slot_at(last), Some(slot));
                assert!(!arena.record(slot).load().is_locked());
            }
        }
        assert_eq!(arena.slot_at(arena.base.addr() - 1), None);
        let end = arena.base.addr() + (arena.classes() << arena.class_shift);
        assert_eq!(arena.slot_at(end), None);
        assert_eq!(arena.slot_at(0), None);
    }

    #[test]
    fn the_class_is_the_smallest_that_fits() {
        let arena = Arena::reserve(1 << 37).unwrap();
        let page = sys::page_size();
        let smallest = arena.class_for(0).unwrap();
        assert_eq!(arena.class_for(page), Some(smallest));
        assert_eq!(arena.class_for(page + 1), Some(smallest + 1));
        assert_eq!(arena.class_for(4 << 30), Some(20));
        assert_eq!(arena.class_for(64 << 30), Some(24));
        assert_eq!(arena.class_for((64 << 30) + 1), None);
        assert_eq!(arena.class_for(usize::MAX), None);
    }

    #[test]
    #[should_panic(expected = "no such slot")]
    fn a_made_up_slot_is_caught() {
        let arena = Arena::reserve(1 << 30).unwrap();
        arena.record(Slot::from_bits(u64::MAX));
    }
}
