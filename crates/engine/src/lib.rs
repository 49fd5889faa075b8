//! Records operations, runs them late and fused, and knows where every array's bytes are.
//!
//! [`Engine::record`] appends to one list in program order. Whatever needs values ([`Engine::sync_read`],
//! a touched page, a full list) makes the engine take the whole list, fuse it into few kernels, run them
//! on the device in order and hand the results to the guard, which moves them to the addresses that the
//! program holds. A failure loses nothing: what did not run stays in the list.
//!
//! Locks: a *turn* is held by whoever runs the list; the *table* (slots and list) is locked for moments
//! only and never while user memory is touched. The order is turn, then table.

mod alone;
mod boxes;
mod compress;
mod count;
mod engine;
mod error;
mod events;
mod explain;
mod external;
mod fork;
mod holdings;
mod journal;
mod ladder;
mod lend;
mod operate;
mod owner;
mod pace;
mod pending;
mod period;
mod picked;
mod predict;
mod put_off;
mod rename;
mod resident;
mod run;
mod scatter;
mod scopes;
mod settings;
mod shadow;
mod spill;
mod stats;
mod sweep;
mod sync;
mod table;
mod turn;
mod unset;
mod wanted;
mod warm;

#[cfg(test)]
mod tests;

pub use alone::{IN_CACHE, IN_SHARED_CACHE};
pub use engine::{Due, Engine, NewSlot};
pub use error::EngineError;
pub use events::FpEvent;
pub use explain::{Explanation, KernelFacts, OpFacts, PassFacts, Storage, ViewFacts};
pub use holdings::{MemoryReport, Owner, Shortage};
pub use journal::{Calls, Event};
pub use ladder::{Rung, RungStats};
pub use lend::Lent;
pub use operate::SlotView;
pub use picked::{Picked, Row, Taking};
pub use scatter::{Along, Put};
pub use scopes::ScopeFigures;
pub use settings::{Amount, Count, Settings};
pub use stats::{OpStats, Stats};
