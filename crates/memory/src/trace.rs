//! What was asked of memory lately, and the same again under another limit.

use crate::{
    Addr, Arena, ArenaSize, AtOnce, Limit, MemInfo, MemoryError, MemoryResource as _, Unbacked,
};
use arrayloom_types::Queue;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Steps that a trace keeps; older ones are dropped.
const MOST: usize = 1 << 16;
/// What a dry run maps at a time.
const GRANULE: u64 = 2 << 20;
const QUEUE: Queue = Queue(0);

/// One request. Blocks are named by any number that no other living block has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A block of so many bytes.
    Get {
        /// Its name.
        at: u64,
        /// Its length.
        bytes: u64,
    },
    /// A block gives its end back.
    Shorten {
        /// Its name.
        at: u64,
        /// Bytes that stay.
        kept: u64,
    },
    /// A block is given back.
    Free {
        /// Its name.
        at: u64,
        /// Its length now.
        bytes: u64,
    },
}

/// The last requests.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    steps: VecDeque<Request>,
}

impl Trace {
    /// Adds a request.
    pub fn note(&mut self, step: Request) {
        if self.steps.len() == MOST {
            self.steps.pop_front();
        }
        self.steps.push_back(step);
    }

    /// The requests, the oldest first.
    pub fn steps(&self) -> Vec<Request> {
        self.steps.iter().copied().collect()
    }
}

/// What a dry run of a trace came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// Use, and what would have been taken from the system.
    pub info: MemInfo,
    /// Requests beyond the limit.
    pub refused: u64,
    /// Their bytes.
    pub refused_bytes: u64,
}

/// Repeats a trace on an arena that maps nothing.
///
/// Blocks that are given back without a request for them were there before the trace begins. A request beyond the limit is left out, with all that follows for
/// its block.
///
/// # Errors
/// [`MemoryError`] if the blocks from before do not fit in the address space.
pub fn replay(steps: &[Request], limit: u64) -> Result<Replayed, MemoryError> {
    let vmm = Arc::new(Unbacked::new(GRANULE));
    let arena = Arena::new(vmm, Arc::new(AtOnce), ArenaSize::of(1 << 44))?;
    let memory = Limit::new(Arc::new(arena), u64::MAX);
    let mut live: BTreeMap<u64, (Addr, u64)> = BTreeMap::new();
    for (at, bytes) in before(steps) {
        live.insert(at, (memory.alloc(bytes, QUEUE)?, bytes));
    }
    memory.set(limit);
    let mut replayed = Replayed::default();
    for step in steps {
        match *step {
            Request::Get { at, bytes } => {
                if let Ok(addr) = memory.alloc(bytes, QUEUE) {
                    live.insert(at, (addr, bytes));
                } else {
                    replayed.refused += 1;
                    replayed.refused_bytes += bytes;
                }
            }
            Request::Shorten { at, kept } => {
                if let Some((addr, bytes)) = live.get_mut(&at).filter(|(_, bytes)| *bytes > kept) {
                    memory.free(addr.plus(kept), *bytes - kept, QUEUE);
                    *bytes = kept;
                }
            }
            Request::Free { at, .. } => {
                if let Some((addr, bytes)) = live.remove(&at) {
                    memory.free(addr, bytes, QUEUE);
                }
            }
        }
    }
    replayed.info = memory.info();
    Ok(replayed)
}

/// Blocks that were there before the first request, and their lengths then.
fn before(steps: &[Request]) -> BTreeMap<u64, u64> {
    let (mut known, mut before) = (BTreeSet::new(), BTreeMap::new());
    for step in steps {
        match *step {
            Request::Get { at, .. } => {
                known.insert(at);
            }
            Request::Shorten { at, kept } if !known.contains(&at) => {
                // The end that went is not known; what stays is.
                before.entry(at).or_insert(kept);
                known.insert(at);
            }
            Request::Free { at, bytes } => {
                if !known.remove(&at) {
                    before.insert(at, bytes);
                }
            }
            Request::Shorten { .. } => {}
        }
    }
    before
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn get(at: u64, mib: u64) -> Request {
        let bytes = mib * MIB;
        Request::Get { at, bytes }
    }

    fn free(at: u64, mib: u64) -> Request {
        let bytes = mib * MIB;
        Request::Free { at, bytes }
    }

    #[test]
    fn a_trace_repeats_with_its_peak_and_under_a_limit() {
        let steps = [
            get(1, 4),
            get(2, 4),
            free(1, 4),
            get(1, 3),
            free(9, 2),
            Request::Shorten { at: 2, kept: MIB },
            get(3, 3),
            free(2, 1),
            free(1, 3),
            free(3, 3),
        ];
        let all = replay(&steps, u64::MAX).unwrap();
        assert_eq!((all.refused, all.info.in_use), (0, 0));
        assert_eq!(all.info.peak, 10 * MIB, "block 9 was there before");
        assert!(all.info.peak_reserved <= 12 * MIB);
        let less = replay(&steps, 7 * MIB).unwrap();
        assert_eq!((less.refused, less.refused_bytes), (1, 4 * MIB));
        assert!(less.info.peak <= 7 * MIB);
        assert_eq!(less.info.in_use, 0);
    }

    #[test]
    fn old_steps_are_dropped() {
        let mut trace = Trace::default();
        for at in 0..(MOST as u64 + 5) {
            trace.note(get(at, 1));
        }
        let steps = trace.steps();
        assert_eq!(steps.len(), MOST);
        assert_eq!(steps[0], get(5, 1));
    }
}
