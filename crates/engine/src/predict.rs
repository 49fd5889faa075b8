//! A dry run of what is about to run: how much memory will be in use at most.

use crate::engine::lock;
use crate::ladder::Rung;
use crate::run::Batch;
use crate::{Engine, table::Table};
use arrayloom_fuse::{Group, Pass, Slots as _};
use arrayloom_ir::{Operand, SlotId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

const PAGE: u64 = 4096;

impl Engine {
    /// Where there is a limit: foretells the peak, and makes room by spilling before the first kernel runs.
    pub(crate) fn make_room(&self, batch: &Batch, groups: &[Group], passes: &[Pass]) {
        let limit = self.pool().limit().most();
        if limit == u64::MAX {
            return;
        }
        let peak = self.predict(batch, groups, passes);
        self.predicted.fetch_max(peak, Relaxed);
        let Some(over) = peak.checked_sub(limit).filter(|over| *over > 0) else {
            return;
        };
        let started = Instant::now();
        let freed = self.spill(over);
        if freed > 0 {
            self.note_rung(Rung::Predict, freed, started.elapsed().as_secs_f64());
        }
    }

    /// Bytes in use at most while the passes run.
    fn predict(&self, batch: &Batch, groups: &[Group], passes: &[Pass]) -> u64 {
        let parts: Vec<Vec<&Group>> = passes
            .iter()
            .map(|pass| match pass {
                Pass::Kernel(place) => vec![&groups[*place]],
                Pass::Sweep(sweep) => sweep.groups.iter().map(|&place| &groups[place]).collect(),
            })
            .collect();
        let mut last: BTreeMap<SlotId, usize> = BTreeMap::new();
        for (place, part) in parts.iter().enumerate() {
            for slot in part.iter().flat_map(|group| touched(group)) {
                last.insert(slot, place);
            }
        }
        let table = self.table();
        let mut now = self.pool().limit().used();
        let (mut peak, mut there) = (now, BTreeSet::new());
        for (place, part) in parts.iter().enumerate() {
            for (slot, _) in part.iter().flat_map(|group| &group.outs) {
                if !self.holds(&table, *slot) && there.insert(*slot) {
                    now += self.size(&table, *slot);
                }
            }
            peak = peak.max(now);
            let ended = last.iter().filter(|(_, end)| **end == place);
            for (slot, _) in ended.filter(|(slot, _)| !batch.is_live(**slot)) {
                if there.remove(slot) || self.holds(&table, *slot) {
                    now = now.saturating_sub(self.size(&table, *slot));
                }
            }
        }
        peak
    }

    fn holds(&self, table: &Table, slot: SlotId) -> bool {
        table.get(slot).is_some_and(|entry| self.has_memory(entry))
    }

    /// Bytes of a slot's block: those of the store's target, where one is expected.
    fn size(&self, table: &Table, slot: SlotId) -> u64 {
        let Some(entry) = table.get(slot) else {
            return 0;
        };
        let shadowed = lock(&self.places).expected_bytes(entry.site).unwrap_or(0);
        (entry.nbytes.max(shadowed) as u64).next_multiple_of(PAGE)
    }
}

fn touched(group: &Group) -> impl Iterator<Item = SlotId> {
    let ins = group.ins.iter().filter_map(Operand::slot);
    ins.chain(group.outs.iter().map(|(slot, _)| *slot))
}
