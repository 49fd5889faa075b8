//! Counts what a kernel did: time, operations, bytes of memory.

use crate::Engine;
use crate::engine::lock;
use crate::run::Batch;
use crate::stats::{Traffic, bytes, name_of};
use arrayloom_fuse::Group;
use arrayloom_ir::{Operand, SlotId};
use arrayloom_types::Layout;

impl Engine {
    pub(crate) fn count(&self, batch: &Batch, group: &Group, seconds: f64) {
        self.count_ops(batch, group, seconds);
        let (mut read, mut written) = (Traffic::default(), Traffic::default());
        for (slot, layout) in views(&group.ins) {
            read.add(slot, layout);
        }
        for (slot, layout) in &group.outs {
            written.add(*slot, layout);
        }
        let mut stats = lock(&self.stats);
        stats.bytes_read += read.bytes();
        stats.bytes_written += written.bytes();
    }

    /// Counts a kernel and its operations.
    pub(crate) fn count_ops(&self, batch: &Batch, group: &Group, seconds: f64) {
        let mut stats = lock(&self.stats);
        stats.kernels += 1;
        stats.device_seconds += seconds;
        stats.contracted += group.contracted as u64;
        if group.nodes.len() > 1 {
            stats.fused_ops += group.nodes.len() as u64;
        }
        let mut parts = vec![0usize; group.nodes.len()];
        for &owner in group.origin.iter() {
            parts[owner as usize] += 1;
        }
        let all = parts.iter().sum::<usize>().max(1);
        for (&place, part) in group.nodes.iter().zip(parts) {
            let node = &batch.list[place as usize];
            let op = stats.ops.entry(name_of(node)).or_default();
            op.calls += u64::from(!node.part);
            op.elements += node.domain().iter().product::<usize>() as u64;
            let operands = views(&node.ins).map(|(_, layout)| layout);
            op.bytes += operands
                .chain(node.outs.iter().map(|(_, l)| l))
                .map(bytes)
                .sum::<u64>();
            #[expect(clippy::cast_precision_loss, reason = "a share of a time")]
            let share = part as f64 / all as f64;
            op.seconds += seconds * share;
        }
    }
}

fn views(operands: &[Operand]) -> impl Iterator<Item = (SlotId, &Layout)> {
    operands.iter().filter_map(|operand| match operand {
        Operand::View(slot, layout) => Some((*slot, layout)),
        // As many elements are read as there are points.
        Operand::Table(slot, table) => Some((*slot, &table.walk)),
        Operand::Scalar(_) => None,
    })
}
