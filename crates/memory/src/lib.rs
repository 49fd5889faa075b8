//! Memory resources: arenas over virtual memory, pools of segments, limits, statistics, rescue.
//!
//! Every layer is a [`MemoryResource`] that owns the layer below it, so layers stack as
//! `Arc<dyn MemoryResource>` in any order: [`Track`] over [`Stats`] over [`OnOom`] over [`Limit`] over
//! [`Arena`]. The bottom is an [`Arena`] over a [`Vmm`] (host pages, pinned pages, a spill file,
//! simulated memory) or, where a device has no virtual memory, a [`SegmentPool`]. Copies to and from a device
//! that wants pinned pages go through [`Staging`].

mod arena;
mod by_size;
mod error;
mod free;
mod host;
mod limit;
mod order;
mod pages;
mod rescue;
mod resource;
mod segments;
mod sim;
mod spill;
mod staging;
mod stats;
mod system;
mod trace;
mod track;
mod vmm;

pub use arena::{Arena, ArenaSize};
pub use by_size::BySize;
pub use error::{LimitError, MemoryError};
pub use host::{HostPages, HostSegments, host_memory};
pub use limit::{Limit, parse_limit};
pub use order::{AtOnce, Order};
pub use pages::{HostLimits, HostMemory};
pub use rescue::OnOom;
pub use resource::{Addr, MemInfo, MemoryResource, Piece};
pub use segments::{SegmentPool, Segments};
pub use sim::{SimMemory, SimQueues, Step};
pub use spill::SpillFile;
pub use staging::Staging;
pub use stats::{Counters, Stats};
pub use system::{address_space_left, physical_memory, swap_memory};
pub use trace::{Replayed, Request, Trace, replay};
pub use track::{Leak, Track};
pub use vmm::{Unbacked, Vmm};
