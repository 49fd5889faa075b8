//! Slots and the list of recorded operations: all that the table's lock protects.

use crate::EngineError;
use crate::journal::Calls;
use crate::picked::Picks;
use crate::shadow::Shadow;
use crate::stats::name_of;
use arrayloom_guard::{Block, Guard, Slot};
use arrayloom_ir::{Node, SlotId};
use arrayloom_types::{DType, Shape};
use std::collections::BTreeSet;

/// Where a slot's bytes belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home {
    /// Not in use.
    Vacant,
    /// A slot of the guard.
    Guarded(Slot),
    /// A block that the program uses directly.
    Plain,
    /// The caller's memory at this address.
    External(u64),
    /// A block that only the engine knows.
    Internal,
}

/// One slot.
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts about a slot that do not depend on each other"
)]
pub(crate) struct Entry {
    pub(crate) home: Home,
    /// The bytes, while the engine holds them. Of a guarded slot otherwise the guard holds them.
    pub(crate) block: Option<Block>,
    /// Where the value lies in the block, if not at its start in its own order.
    pub(crate) shadow: Option<Box<Shadow>>,
    /// Where in the program it was written last.
    pub(crate) site: u32,
    pub(crate) nbytes: usize,
    /// What it was made as.
    pub(crate) made: Option<(DType, Shape)>,
    /// The scope that it was made in; zero for none.
    pub(crate) scope: u32,
    /// Where the program gave its memory back before it dropped the array.
    pub(crate) freed: Option<Box<str>>,
    /// When a kernel used it last.
    pub(crate) used: u64,
    /// The program holds it.
    pub(crate) user: bool,
    /// Bytes that only recorded operations keep alive.
    pub(crate) pinned: u64,
    /// The operations that make it were put off, and go with it.
    pub(crate) put_off: bool,
    /// An array at all places that stands in for picked elements: the program never looks at it.
    pub(crate) stands_in: bool,
    /// Callers that are about to record an operation that reads it, though it stands in.
    pub(crate) readers: u32,
    /// Memory that the program got with the slot and has not asked for since: its pages may be taken
    /// back, because nobody but the program's own accesses can know the address.
    pub(crate) fresh: bool,
    /// The memory that it gets is to be zeros.
    pub(crate) zeroed: bool,
    /// Kernels that run now may use its address.
    pub(crate) running: bool,
    /// Recorded operations that read it, and that write it.
    pub(crate) reads: u32,
    pub(crate) writes: u32,
}

impl Entry {
    /// An error for an array that was freed early.
    pub(crate) fn check_there(&self) -> Result<(), EngineError> {
        match &self.freed {
            None => Ok(()),
            Some(place) => Err(EngineError::Freed {
                place: place.clone(),
            }),
        }
    }
}

/// Slots and list.
#[derive(Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    pub(crate) list: Vec<Node>,
    /// Bytes of results in the list.
    pub(crate) list_bytes: u64,
    /// Operations on few points at the end of the list, in a row.
    pub(crate) small_run: usize,
    /// Barriers that the program's memory got for the list, and memory that was hidden from it.
    pub(crate) barriers: usize,
    pub(crate) recorded: u64,
    /// The same by operation and place, if somebody wants it.
    pub(crate) calls: Option<Calls>,
    /// Bytes that only recorded operations keep alive.
    pub(crate) pinned: u64,
    /// Counts uses.
    pub(crate) clock: u64,
    /// Places in the program whose new arrays are written by recorded operations before anybody looks.
    pub(crate) written_late: BTreeSet<u32>,
    pub(crate) picks: Picks,
}

/// What became of a slot when its last user went.
pub(crate) enum Leftover {
    Nothing,
    Block(Block),
    Slot(Slot, Option<Block>),
}

/// Small operations in a row that are too many to be the edges of a grid.
const PETTY: usize = 48;

impl Table {
    /// Counts an operation as recorded.
    pub(crate) fn note(&mut self, node: &Node) {
        self.recorded += 1;
        if let Some(calls) = &mut self.calls {
            *calls.entry((name_of(node), node.site)).or_default() += 1;
        }
    }

    /// The results of a list that ends with many operations on few points, such as a loop over the columns of an
    /// array that is not computed yet. Where the program can see them, such operations need not be recorded.
    pub(crate) fn petty(&self) -> Option<BTreeSet<SlotId>> {
        (self.small_run >= PETTY).then(|| outs(&self.list).collect())
    }

    /// Bytes of the slots that the list writes.
    pub(crate) fn result_bytes(&self) -> u64 {
        let slots: BTreeSet<SlotId> = outs(&self.list).collect();
        let entries = slots.into_iter().filter_map(|slot| self.get(slot));
        entries.map(|entry| entry.nbytes as u64).sum()
    }

    /// A new slot.
    pub(crate) fn add(&mut self, home: Home, nbytes: usize, user: bool) -> SlotId {
        let entry = Entry {
            home,
            block: None,
            shadow: None,
            site: 0,
            nbytes,
            made: None,
            scope: 0,
            freed: None,
            used: 0,
            user,
            pinned: 0,
            put_off: false,
            stands_in: false,
            readers: 0,
            fresh: false,
            zeroed: false,
            running: false,
            reads: 0,
            writes: 0,
        };
        if let Some(number) = self.vacant.pop() {
            self.entries[number as usize] = entry;
            return SlotId(number);
        }
        self.entries.push(entry);
        SlotId(u32::try_from(self.entries.len() - 1).unwrap_or(u32::MAX))
    }

    /// The slot, if it is in use.
    pub(crate) fn get(&self, slot: SlotId) -> Option<&Entry> {
        let entry = self.entries.get(slot.0 as usize);
        entry.filter(|entry| entry.home != Home::Vacant)
    }

    /// The slot, if it is in use.
    pub(crate) fn get_mut(&mut self, slot: SlotId) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(slot.0 as usize);
        entry.filter(|entry| entry.home != Home::Vacant)
    }

    /// Counts the accesses of a node that enters the list.
    pub(crate) fn count(&mut self, node: &Node) {
        for (slot, is_write) in accesses(node) {
            if let Some(entry) = self.get_mut(slot) {
                entry.reads += u32::from(!is_write);
                entry.writes += u32::from(is_write);
                if is_write {
                    entry.site = node.site;
                }
            }
        }
        for (slot, layout) in &node.outs {
            if let Some(entry) = self.get_mut(*slot).filter(|entry| entry.made.is_none()) {
                entry.made = Some((layout.dtype, layout.shape.clone()));
            }
        }
    }

    /// The accesses of a node are over. Slots that nobody needs any more go to `left`.
    pub(crate) fn settle(&mut self, node: &Node, left: &mut Vec<Leftover>) {
        for (slot, is_write) in accesses(node) {
            if let Some(entry) = self.get_mut(slot) {
                entry.reads -= u32::from(!is_write);
                entry.writes -= u32::from(is_write);
            }
        }
        for (slot, _) in accesses(node) {
            left.push(self.drop_if_unused(slot));
        }
    }

    /// The program's reference is gone.
    pub(crate) fn release(&mut self, slot: SlotId) -> Leftover {
        let mut pinned = 0;
        if let Some(entry) = self.get_mut(slot) {
            entry.user = false;
            if entry.reads > 0 && entry.writes == 0 {
                entry.pinned = entry.nbytes as u64;
            }
            pinned = entry.pinned;
        }
        self.pinned += pinned;
        self.drop_if_unused(slot)
    }

    pub(crate) fn drop_if_unused(&mut self, slot: SlotId) -> Leftover {
        let Some(entry) = self.get_mut(slot) else {
            return Leftover::Nothing;
        };
        if entry.user || entry.reads + entry.writes > 0 {
            return Leftover::Nothing;
        }
        let block = entry.block.take();
        let home = std::mem::replace(&mut entry.home, Home::Vacant);
        let pinned = entry.pinned;
        self.pinned -= pinned;
        self.vacant.push(slot.0);
        match (home, block) {
            (Home::Guarded(guarded), block) => Leftover::Slot(guarded, block),
            (_, Some(block)) => Leftover::Block(block),
            (_, None) => Leftover::Nothing,
        }
    }

    /// Slots in use and what they are.
    pub(crate) fn in_use_slots(&self) -> impl Iterator<Item = (SlotId, &Entry)> {
        let numbered = (0u32..).zip(&self.entries);
        let used = numbered.filter(|(_, entry)| entry.home != Home::Vacant);
        used.map(|(number, entry)| (SlotId(number), entry))
    }

    /// Slots in use.
    pub(crate) fn in_use(&self) -> usize {
        self.entries.len() - self.vacant.len()
    }
}

/// What a list writes.
pub(crate) fn outs(list: &[Node]) -> impl Iterator<Item = SlotId> {
    list.iter()
        .flat_map(|node| &node.outs)
        .map(|(slot, _)| *slot)
}

/// The slots a node touches: reads (false) and writes (true).
pub(crate) fn accesses(node: &Node) -> impl Iterator<Item = (SlotId, bool)> {
    let read = node.ins.iter().chain(&node.mask);
    let reads = read.filter_map(|operand| operand.slot().map(|slot| (slot, false)));
    reads.chain(node.outs.iter().map(|(slot, _)| (*slot, true)))
}

/// Gives back what is left, outside the table's lock.
pub(crate) fn give_back(left: Leftover, guard: Option<&Guard>, put: impl Fn(Block)) {
    match left {
        Leftover::Nothing => {}
        Leftover::Block(block) => put(block),
        Leftover::Slot(slot, block) => {
            if let Some(block) = block {
                put(block);
            }
            if let Some(guard) = guard {
                guard.free(slot);
            }
        }
    }
}
