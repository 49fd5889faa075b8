//! Recorded operations to few kernels.
//!
//! [`fuse`] takes the recorded list in program order and gives groups, each of which is one kernel over
//! one domain:
//!
//! 1. `dead` drops what nobody sees.
//! 2. `item` brings every node into one form: extent-one axes gone, views listed.
//! 3. `partition` puts an item into the latest group it may join; the order of conflicting accesses is
//!    kept, and within a group every dependency is between the same points.
//! 4. `bind` names views: a read of a view written before in its group is that value, a store that
//!    nobody reads later is dropped. What is left is the group's structure, without sizes.
//! 5. `build` turns the structure into flat code; [`Cache`] keeps it for the next group of that form.
//! 6. `sweep` finds groups that go over memory together, a few rows apart.
//!
//! A list like one that was planned before gets the same plan (`plans`).
//!
//! [`split`] comes before, when a node is recorded: it takes nodes apart that write what they read. So does
//! [`propagate`], when the list runs: what reads an array made of pieces reads where they come from.

mod bind;
mod build;
mod cache;
mod columns;
mod dead;
mod item;
mod order;
mod partition;
mod pass;
mod plans;
mod print;
mod propagate;
mod rows;
mod split;
mod stage;
mod sweep;
mod why;

pub use cache::Cache;
pub use dead::{covers, dead};
pub use pass::{Block, Pass, Routes, Sweep};
pub use propagate::propagate;
pub use split::split;
pub use why::Why;

use arrayloom_ir::{Kernel, Node, Operand, SlotId};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{Layout, Overlap, Scalar, Shape, overlap};
use std::sync::Arc;

/// What fusion must know of the blocks of memory.
pub trait Slots {
    /// True when somebody may look at the slot after the list has run.
    fn is_live(&self, slot: SlotId) -> bool;
    /// Bytes of the slot.
    fn nbytes(&self, slot: SlotId) -> usize;
}

/// How much goes into one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Options {
    /// False: every node is a kernel of its own.
    pub fuse: bool,
    /// Nodes of one kernel at most.
    pub max_nodes: usize,
    /// Views of memory that one kernel reads and writes at most.
    pub max_views: usize,
    /// Bytes that each part must have on average where an array is read where its pieces come from.
    pub seam_bytes: usize,
    /// Elements of NumPy's buffers, which decide the order of sums.
    pub bufsize: usize,
    /// Kernels that depend on each other at shifted rows go over memory together.
    pub sweep: bool,
    /// Stages of one sweep at most.
    pub sweep_stages: usize,
    /// Points of a stage at least.
    pub sweep_points: usize,
    /// Columns of a pass over columns at least.
    pub sweep_columns: usize,
    /// Bytes that a sweep must keep from memory.
    pub sweep_least: usize,
    /// Bytes of the rows that a sweep holds in the cache at most.
    pub sweep_cache: usize,
    /// The same for rows that are planes, or as long: the few of them that a sweep holds do not fit a
    /// core's own cache, but stay in the one that cores share.
    pub sweep_planes: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fuse: true,
            max_nodes: 128,
            max_views: 24,
            seam_bytes: 32 << 10,
            bufsize: arrayloom_plan::DEFAULT_BUFSIZE,
            sweep: false,
            sweep_stages: 24,
            sweep_points: 1 << 14,
            sweep_columns: 256,
            sweep_least: 1 << 20,
            sweep_cache: 1 << 20,
            sweep_planes: 8 << 20,
        }
    }
}

/// The facts of one folded output.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The order of the fold.
    pub order: ReduceOrder,
    /// The value to start from, in the dtype of the output.
    pub initial: Option<Scalar>,
}

/// One kernel and what it is applied to.
#[derive(Clone, Debug)]
pub struct Group {
    /// The code.
    pub kernel: Arc<Kernel>,
    /// Extents of the domain.
    pub shape: Shape,
    /// What each input is; views have the rank of the domain.
    pub ins: Vec<Operand>,
    /// Where each output goes; steps are zero on folded axes.
    pub outs: Vec<(SlotId, Layout)>,
    /// The facts of each output that is a `Reduce`.
    pub folds: Vec<Option<Fold>>,
    /// The recorded nodes that this group does, as places in the list, rising.
    pub nodes: Vec<u32>,
    /// For each instruction the place in `nodes` of the node that it belongs to.
    pub origin: Arc<[u32]>,
    /// Pairs of an instruction and a place in `nodes`: that node needs it too, and meets its conditions.
    pub shared: Arc<[(u32, u32)]>,
    /// Results that never get memory here.
    pub contracted: usize,
    /// Why its first node did not join an earlier group; none where they have nothing in common.
    pub why: Option<Why>,
}

/// The outcome of [`fuse`].
#[derive(Clone, Debug, Default)]
pub struct Fused {
    /// The kernels in order.
    pub groups: Vec<Group>,
    /// The order in which they run, and which of them together.
    pub passes: Vec<Pass>,
    /// Nodes that need not run, as places in the list.
    pub dead: Vec<u32>,
}

/// Turns the recorded list into few kernels.
///
/// No node may write a view that overlaps one of its own operands at other points; [`split`] sees to it.
pub fn fuse(nodes: &[Node], slots: &dyn Slots, cache: &mut Cache, options: &Options) -> Fused {
    let (key, names) = plans::key(nodes, slots, options);
    if let Some(fused) = cache.fused.recall(&key, &names) {
        cache.found(&fused);
        return fused;
    }
    let fused = plan(nodes, slots, cache, options);
    cache.fused.keep(key, names, &fused);
    fused
}

fn plan(nodes: &[Node], slots: &dyn Slots, cache: &mut Cache, options: &Options) -> Fused {
    let (kept, dead) = dead::sweep(nodes, slots);
    let items: Vec<item::Item<'_>> = kept
        .iter()
        .map(|&i| item::Item::new(&nodes[i as usize], i, options))
        .collect();
    let drafts = partition::partition(&items, slots, options);
    let readers = partition::readers(&items, &drafts);
    let groups: Vec<Group> = drafts
        .iter()
        .enumerate()
        .map(|(place, draft)| {
            let needed = |slot: SlotId, layout: &Layout| {
                let mut reads = readers.get(&slot).into_iter().flatten().rev();
                slots.is_live(slot)
                    || reads
                        .by_ref()
                        .take_while(|(at, _)| *at > place)
                        .any(|(_, read)| overlap(read, layout) != Overlap::None)
            };
            bind::bind(&items, draft, &needed, cache)
        })
        .collect();
    let passes = sweep::passes(&groups, slots, options);
    Fused {
        groups,
        passes,
        dead,
    }
}
