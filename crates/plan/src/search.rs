//! The exact search for a grid: the choice of one cut for each axis that reads least and fits.
//!
//! Bytes fall and reads rise from one candidate of an axis to the next, so the last axis is a binary
//! search and the others are enumerated, with branches cut that already read more than the best.

use crate::chunk::Buffers;
use crate::cut::Candidate;
use crate::needs::Value;

/// The search space: for every axis its candidates, coarse to fine.
pub(crate) struct Space<'a> {
    pub(crate) values: &'a [Value],
    pub(crate) deciding: &'a [Vec<Option<usize>>],
    pub(crate) axes: &'a [Vec<Candidate>],
    pub(crate) budget: u64,
    pub(crate) buffers: Buffers,
    /// The axis along which blocks keep what the next one needs.
    pub(crate) sweep: Option<usize>,
}

/// How good a choice is: bytes read, blocks, and the innermost core, negated.
pub(crate) type Merit = (u128, u128, i64);

impl Space<'_> {
    fn rank(&self) -> usize {
        self.axes.len()
    }

    fn candidate(&self, choice: &[usize], axis: usize) -> &Candidate {
        &self.axes[axis][choice[axis]]
    }

    /// The extents of the largest block of value `v`.
    pub(crate) fn extents(&self, choice: &[usize], v: usize) -> Vec<i64> {
        let shape = self.values[v].shape.iter().enumerate();
        shape
            .map(|(d, &n)| match self.deciding[v][d] {
                Some(axis) if self.sweep == Some(axis) => self.candidate(choice, axis).kept[v][d],
                Some(axis) => self.candidate(choice, axis).extents[v][d],
                None => n,
            })
            .collect()
    }

    /// Voxels along the axis of the sweep of source `v` that are read at a time.
    pub(crate) fn piece(&self, choice: &[usize], v: usize, axis: usize) -> i64 {
        let granule = self.values[v].granule[axis].max(1);
        (self.candidate(choice, axis).core + granule - 1) / granule * granule
    }

    /// Bytes of source `v`: the block that is computed on, and what is read meanwhile.
    fn source_bytes(&self, choice: &[usize], v: usize) -> u64 {
        let block = self.block_bytes(choice, v);
        let axis = match self.sweep {
            Some(axis) if self.buffers.source > 1 => axis,
            _ => return block.saturating_mul(self.buffers.source),
        };
        let mut piece = self.extents(choice, v);
        piece[axis] = piece[axis].min(self.piece(choice, v, axis));
        block.saturating_add(product(&piece).saturating_mul(self.values[v].bytes))
    }

    /// Bytes of the buffer of value `v`.
    pub(crate) fn block_bytes(&self, choice: &[usize], v: usize) -> u64 {
        if self.values[v].resident {
            return 0;
        }
        let voxels = product(&self.extents(choice, v));
        voxels.saturating_mul(self.values[v].bytes)
    }

    /// The most bytes that are in use at a time.
    pub(crate) fn peak(&self, choice: &[usize]) -> u64 {
        let last = self.values.len() - 1;
        let (mut sum, mut scratch) = (0u64, 0u64);
        for (v, value) in self.values.iter().enumerate() {
            let block = self.block_bytes(choice, v);
            let sink = block.saturating_mul(self.buffers.sink);
            let buffers = match (v == last, value.is_source()) {
                (true, true) if value.resident => {
                    let copy = product(&self.extents(choice, v)).saturating_mul(value.bytes);
                    copy.saturating_mul(self.buffers.sink)
                }
                (true, true) => sink.saturating_add(self.source_bytes(choice, v)),
                (true, false) => sink,
                (false, true) => self.source_bytes(choice, v),
                (false, false) => block,
            };
            sum = sum.saturating_add(buffers);
            let work = (value.scratch)(&self.extents(choice, v));
            if value.is_source() {
                // Reading goes on while other values are computed.
                sum = sum.saturating_add(work);
            } else {
                scratch = scratch.max(work);
            }
        }
        sum.saturating_add(scratch)
    }

    /// Voxels of value `v` that all blocks together compute or read.
    pub(crate) fn voxels(&self, choice: &[usize], v: usize) -> u128 {
        let mut linked = vec![false; self.rank()];
        let mut voxels = 1u128;
        for (d, &n) in self.values[v].shape.iter().enumerate() {
            let along = match self.deciding[v][d] {
                Some(axis) => {
                    linked[axis] = true;
                    let c = self.candidate(choice, axis);
                    if self.sweep == Some(axis) {
                        c.unions[v][d]
                    } else {
                        c.totals[v][d]
                    }
                }
                None => n,
            };
            voxels = voxels.saturating_mul(u128::from(along.unsigned_abs()));
        }
        for axis in (0..self.rank()).filter(|&a| !linked[a] && self.sweep != Some(a)) {
            let parts = self.candidate(choice, axis).parts;
            voxels = voxels.saturating_mul(u128::from(parts.unsigned_abs()));
        }
        voxels
    }

    /// Bytes that are read of all sources.
    pub(crate) fn read_bytes(&self, choice: &[usize]) -> u128 {
        let sources = self
            .values
            .iter()
            .enumerate()
            .filter(|(_, v)| v.is_source());
        sources
            .map(|(v, value)| {
                self.voxels(choice, v)
                    .saturating_mul(u128::from(value.bytes))
            })
            .fold(0, u128::saturating_add)
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self, choice: &[usize]) -> u128 {
        let parts = (0..self.rank()).map(|a| self.candidate(choice, a).parts.unsigned_abs());
        parts.map(u128::from).fold(1, u128::saturating_mul)
    }

    fn merit(&self, choice: &[usize]) -> Merit {
        let inner = self.rank().checked_sub(1);
        let inner = inner.map_or(0, |a| self.candidate(choice, a).core);
        (self.read_bytes(choice), self.blocks(choice), -inner)
    }

    fn fits(&self, choice: &[usize]) -> bool {
        self.peak(choice) <= self.budget
    }

    /// True for axes whose cuts cost nothing: no value reads more for them.
    fn is_free(&self, axis: usize) -> bool {
        let (first, last) = (&self.axes[axis][0], self.axes[axis].last());
        last.is_none_or(|last| self.sweep == Some(axis) || first.totals == last.totals)
            && self.decides_everything(axis)
    }

    fn decides_everything(&self, axis: usize) -> bool {
        let sources = self.values.iter().zip(self.deciding);
        sources
            .filter(|(v, _)| v.is_source())
            .all(|(_, axes)| axes.contains(&Some(axis)))
    }

    /// The best choice that fits; axes in `fixed` keep theirs.
    pub(crate) fn best(&self, fixed: &[Option<usize>]) -> Option<(Merit, Vec<usize>)> {
        let finest = |a: usize| self.axes[a].len() - 1;
        let mut choice: Vec<usize> = (0..self.rank())
            .map(|a| fixed[a].unwrap_or_else(|| finest(a)))
            .collect();
        if !self.fits(&choice) {
            return None;
        }
        let open = |a: &usize| fixed[*a].is_none() && self.axes[*a].len() > 1;
        let (free, mut costly): (Vec<usize>, Vec<usize>) = (0..self.rank())
            .filter(open)
            .partition(|&a| self.is_free(a));
        // The axis with most candidates is the one for the binary search.
        costly.sort_by_key(|&a| self.axes[a].len());
        let mut best = None;
        self.descend(&costly, &mut choice, &mut best);
        let (_, mut choice) = best?;
        for &axis in free.iter().rev() {
            choice[axis] = self.coarsest(axis, &mut choice.clone());
        }
        Some((self.merit(&choice), choice))
    }

    /// The coarsest candidate of `axis` that fits beside the others.
    fn coarsest(&self, axis: usize, choice: &mut [usize]) -> usize {
        let (mut low, mut high) = (0, self.axes[axis].len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            choice[axis] = middle;
            (low, high) = if self.fits(choice) {
                (low, middle)
            } else {
                (middle + 1, high)
            };
        }
        low
    }

    fn descend(
        &self,
        axes: &[usize],
        choice: &mut Vec<usize>,
        best: &mut Option<(Merit, Vec<usize>)>,
    ) {
        let Some((&axis, rest)) = axes.split_first() else {
            let merit = self.merit(choice);
            if best.as_ref().is_none_or(|(old, _)| merit < *old) {
                *best = Some((merit, choice.clone()));
            }
            return;
        };
        let finest = self.axes[axis].len() - 1;
        // Coarser than this never fits, with the other axes as fine as they get.
        let first = self.coarsest(axis, &mut choice.clone());
        let last = if rest.is_empty() { first } else { finest };
        for i in first..=last {
            choice[axis] = i;
            let mut lowest = choice.clone();
            for &other in rest {
                lowest[other] = 0;
            }
            if best
                .as_ref()
                .is_some_and(|(old, _)| self.read_bytes(&lowest) > old.0)
            {
                break;
            }
            self.descend(rest, choice, best);
        }
        choice[axis] = finest;
    }
}

pub(crate) fn product(extents: &[i64]) -> u64 {
    extents
        .iter()
        .fold(1u64, |a, &e| a.saturating_mul(e.max(0).unsigned_abs()))
}
