//! What the engine did: counts and times by operation and in all.

use arrayloom_guard::{Counters, PoolStats};
use arrayloom_ir::{Action, Node, ReduceOp, SlotId};
use arrayloom_types::Layout;
use std::collections::BTreeMap;

/// Counts of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OpStats {
    /// How often it ran.
    pub calls: u64,
    /// Its part of the time of the kernels it was in, by number of instructions.
    pub seconds: f64,
    /// Points computed.
    pub elements: u64,
    /// Bytes of its operands and results, as if it had run alone.
    pub bytes: u64,
}

/// Counts since the start or the last reset.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// By operation; folds are named `add.reduce`, scans `add.accumulate`.
    pub ops: BTreeMap<&'static str, OpStats>,
    /// Kernels run.
    pub kernels: u64,
    /// Times that the list ran.
    pub flushes: u64,
    /// Operations recorded.
    pub recorded: u64,
    /// Operations that shared a kernel with others.
    pub fused_ops: u64,
    /// Operations that were dropped because nobody saw their result.
    pub dropped: u64,
    /// Results that never got memory.
    pub contracted: u64,
    /// Stores of a whole temporary that only exchanged blocks.
    pub renamed: u64,
    /// Kernels that the device took only in parts.
    pub unfused_kernels: u64,
    /// Passes over rows that several kernels shared.
    pub sweeps: u64,
    /// Bytes of memory that kernels read; what they touch several times counts once a pass.
    pub bytes_read: u64,
    /// Bytes of memory that kernels wrote.
    pub bytes_written: u64,
    /// Kernels whose code was known.
    pub cache_hits: u64,
    /// Kernels whose code was built.
    pub cache_misses: u64,
    /// Seconds in the device.
    pub device_seconds: f64,
    /// Seconds in planning: operations to kernels, and kernels to passes over rows.
    pub plan_seconds: f64,
    /// Seconds in flushes, the device's among them.
    pub flush_seconds: f64,
    /// Faults, publications and barriers.
    pub guard: Counters,
    /// Blocks of memory.
    pub pool: Option<PoolStats>,
}

/// The bytes of memory that one pass touches.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    /// For each slot: bytes of its views, and the range that they lie in.
    slots: BTreeMap<SlotId, (u64, (isize, isize))>,
}

impl Traffic {
    pub(crate) fn add(&mut self, slot: SlotId, layout: &Layout) {
        let (low, high) = layout.byte_range();
        let known = self.slots.entry(slot).or_insert((0, (low, high)));
        known.0 += bytes(layout);
        known.1 = (known.1.0.min(low), known.1.1.max(high));
    }

    /// Bytes in all: shifted views of one block share most of theirs.
    pub(crate) fn bytes(&self) -> u64 {
        let slots = self.slots.values();
        let bytes = slots.map(|&(sum, (low, high))| sum.min((high - low).unsigned_abs() as u64));
        bytes.sum()
    }
}

/// Bytes that a view touches: axes that only repeat count once.
pub(crate) fn bytes(layout: &Layout) -> u64 {
    let axes = layout.shape.iter().zip(&layout.strides);
    let points: usize = axes
        .map(|(&n, &s)| if s == 0 && n > 0 { 1 } else { n })
        .product();
    (points * layout.dtype.size()) as u64
}

/// The name of a node in the statistics.
pub(crate) fn name_of(node: &Node) -> &'static str {
    match node.action {
        Action::Map(op) => op.name,
        Action::Gather => "take",
        Action::Reduce { op, .. } => fold_name(op).0,
        Action::Scan { op, .. } => fold_name(op).1,
        Action::Arg { max: true, .. } => "argmax",
        Action::Arg { max: false, .. } => "argmin",
    }
}

fn fold_name(op: ReduceOp) -> (&'static str, &'static str) {
    match op {
        ReduceOp::Add => ("add.reduce", "add.accumulate"),
        ReduceOp::Mul => ("multiply.reduce", "multiply.accumulate"),
        ReduceOp::Min => ("minimum.reduce", "minimum.accumulate"),
        ReduceOp::Max => ("maximum.reduce", "maximum.accumulate"),
        ReduceOp::Fmin => ("fmin.reduce", "fmin.accumulate"),
        ReduceOp::Fmax => ("fmax.reduce", "fmax.accumulate"),
        ReduceOp::And => ("bitwise_and.reduce", "bitwise_and.accumulate"),
        ReduceOp::Or => ("bitwise_or.reduce", "bitwise_or.accumulate"),
        ReduceOp::Xor => ("bitwise_xor.reduce", "bitwise_xor.accumulate"),
    }
}
