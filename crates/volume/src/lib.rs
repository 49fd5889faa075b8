//! Filters and expressions on volumes of any size.
//!
//! An [`Expr`] lists values: sources that are read in boxes, and operations on them. [`run`] plans it
//! (`arrayloom-plan`), then reads, computes and writes block after block through a memory budget. The
//! bits of a result depend on the volume alone, never on blocks, threads or memory.

mod abroad;
mod around;
mod axis;
mod beside;
mod block;
mod boxes;
mod crossed;
mod emit;
mod error;
mod expr;
mod flood;
mod fold;
mod histograms;
mod joined;
mod keys;
mod levels;
mod lines;
mod load;
mod long;
mod low;
pub mod manifest;
mod means;
mod medians;
mod memory;
mod moments;
mod needed;
mod op;
pub mod ops;
mod options;
mod pixel;
mod places;
mod queue;
mod reader;
mod ring;
mod rules;
mod run;
mod scan;
mod select;
mod separable;
mod squares;
mod stacked;
mod state;
mod store;
mod strips;
mod sums;
mod unions;
mod wholes;

pub use abroad::elements::elementwise;
pub use abroad::recipe::{Call, OnDevice, Packed, Recipe, Slot, Work};
pub use block::{Block, View, ViewMut, copy_box, region_bytes};
pub use error::VolumeError;
pub use expr::{Expr, Node, Sink, Source};
pub use flood::Flood;
pub use memory::{Buf, Meter, Reserve, Scratch};
pub use op::{Mode, Op};
pub use options::{Options, Progress, Report, Target, Watch, Worker, WorkerDevice, Written};
pub use run::{plan_for, run};
pub use separable::Ctx;
