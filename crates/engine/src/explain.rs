//! What running the list would do, as data: passes, kernels, what is stored and what is not, and bytes.
//!
//! [`Engine::explain`] plans the list as [`Engine::flush`] would and runs nothing. With
//! `settings.dump_kernels` the same is kept of every list that runs.

use crate::Engine;
use crate::engine::lock;
use crate::run::Batch;
use crate::stats::{Traffic, bytes, name_of};
use crate::wanted::Wanted;
use arrayloom_fuse::{Cache, Fused, Group, Pass, Routes, Slots as _, Sweep, Why};
use arrayloom_ir::{Operand, SlotId};
use arrayloom_plan::Route;
use arrayloom_types::{DType, Layout, Shape};
use indexmap::IndexMap;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Different lists kept at most.
const MAX_KEPT: usize = 1000;

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// In registers or a tile; it has no memory.
    Inline,
    /// In a few rows in the cache.
    Ring,
    /// In memory.
    Memory,
}

/// One recorded operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OpFacts {
    /// Its name in the statistics.
    pub name: &'static str,
    /// Where in the user's program it was recorded; a number of the caller.
    pub site: u32,
    /// The dtype of its first result.
    pub dtype: DType,
    /// Where its first result lives.
    pub storage: Storage,
}

/// A view of an array that a kernel reads or writes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ViewFacts {
    /// The array, numbered in the order of appearance.
    pub array: usize,
    /// Extents.
    pub shape: Shape,
    /// The dtype.
    pub dtype: DType,
    /// Bytes of its elements.
    pub bytes: u64,
    /// Where it lies.
    pub storage: Storage,
}

/// One kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelFacts {
    /// Extents of the points that it visits.
    pub shape: Shape,
    /// Its operations, in program order.
    pub ops: Vec<OpFacts>,
    /// What it reads.
    pub reads: Vec<ViewFacts>,
    /// What it writes.
    pub writes: Vec<ViewFacts>,
    /// Why it is not part of an earlier kernel; none where they have nothing in common.
    pub why: Option<Why>,
    /// Its code.
    pub code: String,
}

/// Kernels that go over memory together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PassFacts {
    /// One kernel, or the stages of a pass over rows.
    pub kernels: Vec<KernelFacts>,
    /// Bytes that it reads from memory, those of views that overlap once.
    pub bytes_read: u64,
    /// Bytes that it writes to memory.
    pub bytes_written: u64,
}

/// A plan of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Explanation {
    /// In the order in which they run.
    pub passes: Vec<PassFacts>,
    /// Operations that need not run, because nobody can see their results.
    pub dropped: usize,
    /// Operations that stay recorded, because the value asked for can be had without storing theirs.
    pub put_off: usize,
    /// Bytes that must move whatever the plan: arrays that were there before and are read, and arrays
    /// that somebody can see and are written, each of their elements once.
    pub bytes_needed: u64,
}

/// Numbers for arrays, in the order of appearance.
#[derive(Default)]
struct Arrays(Vec<SlotId>);

impl Arrays {
    fn number(&mut self, slot: SlotId) -> usize {
        let known = self.0.iter().position(|&s| s == slot);
        known.unwrap_or_else(|| {
            self.0.push(slot);
            self.0.len() - 1
        })
    }

    fn view(&mut self, slot: SlotId, layout: &Layout, route: Option<&Route>) -> ViewFacts {
        ViewFacts {
            array: self.number(slot),
            shape: layout.shape.clone(),
            dtype: layout.dtype,
            bytes: bytes(layout),
            storage: storage(route),
        }
    }
}

fn storage(route: Option<&Route>) -> Storage {
    match route {
        Some(Route::Ring { .. }) => Storage::Ring,
        Some(Route::Direct | Route::Block { .. }) | None => Storage::Memory,
    }
}

fn view_of(operand: &Operand) -> Option<(SlotId, &Layout)> {
    match operand {
        Operand::View(slot, layout) => Some((*slot, layout)),
        Operand::Table(slot, table) => Some((*slot, &table.whole)),
        Operand::Scalar(_) => None,
    }
}

/// One kernel; `routes` if it is a stage.
fn kernel(
    batch: &Batch,
    group: &Group,
    routes: Option<&Routes>,
    arrays: &mut Arrays,
) -> KernelFacts {
    let in_route = |at: usize| routes.and_then(|r| r.ins.get(at));
    let out_route = |at: usize| routes.and_then(|r| r.outs.get(at));
    let stored = |slot: SlotId| {
        let at = group.outs.iter().position(|(out, _)| *out == slot);
        at.map_or(Storage::Inline, |at| storage(out_route(at)))
    };
    let op = |&place: &u32| {
        let node = &batch.list[place as usize];
        OpFacts {
            name: name_of(node),
            site: node.site,
            dtype: node.outs[0].1.dtype,
            storage: stored(node.outs[0].0),
        }
    };
    let reads = group.ins.iter().enumerate();
    let reads = reads.filter_map(|(at, operand)| view_of(operand).map(|view| (at, view)));
    let writes = group.outs.iter().enumerate();
    KernelFacts {
        shape: group.shape.clone(),
        ops: group.nodes.iter().map(op).collect(),
        reads: reads
            .map(|(at, (slot, layout))| arrays.view(slot, layout, in_route(at)))
            .collect(),
        writes: writes
            .map(|(at, (slot, layout))| arrays.view(*slot, layout, out_route(at)))
            .collect(),
        why: group.why,
        code: group.kernel.to_string(),
    }
}

/// Kernels that go over memory together, and the bytes that pass through memory.
fn pass(batch: &Batch, stages: &[(&Group, Option<&Routes>)], arrays: &mut Arrays) -> PassFacts {
    let (mut read, mut written) = (Traffic::default(), Traffic::default());
    let in_memory = |routes: Option<&Routes>, at: usize, writes: bool| {
        let route = routes.and_then(|r| {
            if writes {
                r.outs.get(at)
            } else {
                r.ins.get(at)
            }
        });
        storage(route) == Storage::Memory
    };
    for (group, routes) in stages {
        for (at, operand) in group.ins.iter().enumerate() {
            if let Some((slot, layout)) = view_of(operand)
                && in_memory(*routes, at, false)
            {
                read.add(slot, layout);
            }
        }
        for (at, (slot, layout)) in group.outs.iter().enumerate() {
            if in_memory(*routes, at, true) {
                written.add(*slot, layout);
            }
        }
    }
    let kernels = stages.iter();
    PassFacts {
        kernels: kernels
            .map(|(group, routes)| kernel(batch, group, *routes, arrays))
            .collect(),
        bytes_read: read.bytes(),
        bytes_written: written.bytes(),
    }
}

/// The bytes that any plan of these kernels must move.
fn needed(batch: &Batch, groups: &[Group]) -> u64 {
    let (mut moved, mut made) = (Traffic::default(), BTreeSet::new());
    let mut results = Traffic::default();
    for group in groups {
        for (slot, layout) in group.ins.iter().filter_map(view_of) {
            if !made.contains(&slot) {
                moved.add(slot, layout);
            }
        }
        for (slot, layout) in &group.outs {
            made.insert(*slot);
            if batch.is_live(*slot) {
                results.add(*slot, layout);
            }
        }
    }
    moved.bytes() + results.bytes()
}

fn stages<'a>(groups: &'a [Group], sweep: &'a Sweep) -> Vec<(&'a Group, Option<&'a Routes>)> {
    let routes = sweep.groups.iter().zip(&sweep.stages);
    routes
        .map(|(&place, routes)| (&groups[place], Some(routes)))
        .collect()
}

/// The plan as data.
pub(crate) fn explanation(batch: &Batch, fused: &Fused) -> Explanation {
    let mut arrays = Arrays::default();
    let passes = fused.passes.iter().map(|found| match found {
        Pass::Kernel(place) => pass(batch, &[(&fused.groups[*place], None)], &mut arrays),
        Pass::Sweep(sweep) => pass(batch, &stages(&fused.groups, sweep), &mut arrays),
    });
    let passes = passes.collect();
    let put_off = fused.dead.iter().filter(|&&place| batch.is_put_off(place));
    let put_off = put_off.count();
    Explanation {
        passes,
        dropped: fused.dead.len() - put_off,
        put_off,
        bytes_needed: needed(batch, &fused.groups),
    }
}

/// Explanations of what ran, and how often each did.
#[derive(Debug, Default)]
pub(crate) struct Dumps(IndexMap<Explanation, u64>);

impl Dumps {
    pub(crate) fn add(&mut self, found: Explanation) {
        if self.0.len() < MAX_KEPT || self.0.contains_key(&found) {
            *self.0.entry(found).or_default() += 1;
        }
    }
}

impl Engine {
    /// What would run if the value of `wanted` were asked for now, or everything. Runs nothing.
    pub fn explain(&self, wanted: Option<SlotId>) -> Explanation {
        let _turn = self.turns.take();
        let mut batch = self.copy_of_list();
        if batch.list.is_empty() {
            return Explanation::default();
        }
        if let Some(wanted) = wanted {
            self.put_off(&mut batch, Wanted::Value(wanted));
        }
        let fused = self.fuse_batch(&mut batch, &mut Cache::new());
        explanation(&batch, &fused)
    }

    /// What ran since the last call and how often, at most a thousand different lists; only with
    /// `settings.dump_kernels` or after [`Engine::dump_kernels`].
    pub fn take_dumps(&self) -> Vec<(Explanation, u64)> {
        let dumps = std::mem::take(&mut *lock(&self.dumps));
        dumps.0.into_iter().collect()
    }

    /// Starts or stops keeping what runs for [`Engine::take_dumps`].
    pub fn dump_kernels(&self, keep: bool) {
        self.dumping.store(keep, Ordering::Relaxed);
    }
}
