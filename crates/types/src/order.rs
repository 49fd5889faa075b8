//! Names for the order of work on a device.

/// A queue of a device: work put into one queue is done in order. Queue 0 always exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Queue(pub u32);

/// A point in a queue. Events of one queue pass in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Event(pub u64);
