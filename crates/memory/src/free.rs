//! Free blocks by place and by length, each with the event after which it may be used by anybody.

use crate::Order;
use arrayloom_types::{Event, Queue};
use std::collections::{BTreeMap, BTreeSet};

/// The last user of a block, if its work may still run.
pub(crate) type Tag = Option<(Queue, Event)>;

/// Of so many blocks that fit, one that needs no waiting is preferred.
const FITS: usize = 8;
/// Blocks looked at before a block is taken that is long enough for any start.
const LOOKS: usize = 64;

/// A free block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Free {
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) tag: Tag,
}

impl Free {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.len
    }
}

/// What is wanted of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) bytes: u64,
    pub(crate) align: u64,
    pub(crate) queue: Queue,
}

/// The index of free blocks. Blocks that touch are merged as soon as one wait covers both.
#[derive(Debug, Default)]
pub(crate) struct FreeBlocks {
    by_offset: BTreeMap<u64, (u64, Tag)>,
    by_len: BTreeSet<(u64, u64)>,
}

fn is_done(tag: Tag, order: &dyn Order) -> bool {
    tag.is_none_or(|(_, event)| order.done(event))
}

fn usable(tag: Tag, queue: Queue, order: &dyn Order) -> bool {
    tag.is_none_or(|(last, event)| last == queue || order.done(event))
}

impl FreeBlocks {
    /// Takes a block out that holds what is wanted, the shortest that needs no waiting first. Gives the
    /// start and the last user; what is left over stays here.
    pub(crate) fn take(&mut self, want: Want, order: &dyn Order) -> Option<(u64, Tag)> {
        let offset = self.choose(want, order)?;
        let block = self.remove(offset)?;
        let start = block.offset.next_multiple_of(want.align);
        let end = start + want.bytes;
        self.insert(block.offset, start - block.offset, block.tag);
        self.insert(end, block.end() - end, block.tag);
        Some((start, block.tag))
    }

    fn choose(&self, want: Want, order: &dyn Order) -> Option<u64> {
        let fits = |&(len, offset): &(u64, u64)| {
            let start = offset.next_multiple_of(want.align);
            (start + want.bytes <= offset + len).then_some(offset)
        };
        let near = self.by_len.range((want.bytes, 0)..).take(LOOKS);
        let mut first = None;
        for offset in near.filter_map(fits).take(FITS) {
            if usable(self.by_offset[&offset].1, want.queue, order) {
                return Some(offset);
            }
            first.get_or_insert(offset);
        }
        first.or_else(|| {
            let ample = self.by_len.range((want.bytes + want.align, 0)..).next();
            ample.map(|&(_, offset)| offset)
        })
    }

    /// Adds a block and merges it with its neighbours.
    pub(crate) fn add(&mut self, mut block: Free, order: &dyn Order) {
        if is_done(block.tag, order) {
            block.tag = None;
        }
        let before = self.by_offset.range(..block.offset).next_back();
        if let Some((&offset, &(len, tag))) = before
            && offset + len == block.offset
            && let Some(tag) = merged(tag, block.tag, order)
        {
            self.remove(offset);
            block = Free {
                offset,
                len: len + block.len,
                tag,
            };
        }
        if let Some(&(len, tag)) = self.by_offset.get(&block.end())
            && let Some(tag) = merged(tag, block.tag, order)
        {
            self.remove(block.end());
            block.len += len;
            block.tag = tag;
        }
        self.insert(block.offset, block.len, block.tag);
    }

    fn insert(&mut self, offset: u64, len: u64, tag: Tag) {
        if len > 0 {
            self.by_offset.insert(offset, (len, tag));
            self.by_len.insert((len, offset));
        }
    }

    /// Takes the block that starts here.
    pub(crate) fn remove(&mut self, offset: u64) -> Option<Free> {
        let (len, tag) = self.by_offset.remove(&offset)?;
        self.by_len.remove(&(len, offset));
        Some(Free { offset, len, tag })
    }

    /// The block with the highest place.
    pub(crate) fn last(&self) -> Option<Free> {
        self.by_offset
            .last_key_value()
            .map(|(&offset, &(len, tag))| Free { offset, len, tag })
    }

    /// All blocks, the highest first.
    pub(crate) fn highest_first(&self) -> Vec<Free> {
        let blocks = self.by_offset.iter().rev();
        blocks
            .map(|(&offset, &(len, tag))| Free { offset, len, tag })
            .collect()
    }

    /// Bytes of the longest block.
    pub(crate) fn longest(&self) -> u64 {
        self.by_len.last().map_or(0, |&(len, _)| len)
    }

    /// The events that some block still waits for, the latest of each queue.
    pub(crate) fn unfinished(&self, order: &dyn Order) -> Vec<Event> {
        let mut latest: BTreeMap<Queue, Event> = BTreeMap::new();
        for (queue, event) in self.by_offset.values().filter_map(|&(_, tag)| tag) {
            if !order.done(event) {
                let known = latest.entry(queue).or_insert(event);
                *known = event.max(*known);
            }
        }
        latest.into_values().collect()
    }

    /// Merges what may be merged now; without it, granules under two blocks never go back. True if there
    /// are fewer blocks than before.
    pub(crate) fn merge_again(&mut self, order: &dyn Order) -> bool {
        if self.by_offset.values().all(|(_, tag)| tag.is_none()) {
            return false;
        }
        let blocks = self.highest_first();
        self.by_offset.clear();
        self.by_len.clear();
        for &block in blocks.iter().rev() {
            self.add(block, order);
        }
        self.by_offset.len() < blocks.len()
    }
}

/// The tag of two blocks together, if one wait covers both.
fn merged(a: Tag, b: Tag, order: &dyn Order) -> Option<Tag> {
    match (a, b) {
        (Some((queue, first)), Some((other, second))) if queue == other => {
            Some(Some((queue, first.max(second))))
        }
        _ if is_done(a, order) && is_done(b, order) => Some(None),
        _ => None,
    }
}
