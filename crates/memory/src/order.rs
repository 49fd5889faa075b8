//! What an allocator must know of the order of work on a device.

use arrayloom_types::{Event, Queue};

/// Queues and events of a device, as far as memory is concerned. Safe from any thread.
pub trait Order: Send + Sync {
    /// A point after all work that the queue has now.
    fn record(&self, queue: Queue) -> Event;

    /// True when the event has passed.
    fn done(&self, event: Event) -> bool;

    /// Makes later work of the queue wait for the event.
    fn wait(&self, queue: Queue, event: Event);

    /// Returns when the event has passed.
    fn sync(&self, event: Event);
}

/// The order of a device that does everything at once, such as the host.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

impl Order for AtOnce {
    fn record(&self, _queue: Queue) -> Event {
        Event(0)
    }

    fn done(&self, _event: Event) -> bool {
        true
    }

    fn wait(&self, _queue: Queue, _event: Event) {}

    fn sync(&self, _event: Event) {}
}
