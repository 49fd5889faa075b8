//! Memory resources: pooled host blocks, limits, statistics and rescue.
//!
//! Every layer is a [`MemoryResource`] that owns the layer below it, so layers stack as
//! `Arc<dyn MemoryResource>` in any order: [`Stats`] over [`OnOom`] over [`Limit`] over [`HostPool`].

mod error;
mod host;
mod limit;
mod rescue;
mod resource;
mod stats;
mod system;

pub use error::{LimitError, MemoryError};
pub use host::HostPool;
pub use limit::{Limit, parse_limit};
pub use rescue::OnOom;
pub use resource::{Addr, MemInfo, MemoryResource};
pub use stats::{Counters, Stats};
pub use system::physical_memory;
