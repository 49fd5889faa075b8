//! Passes along short rows that other passes follow. The planes that such a pass makes are laid side by side, the
//! voxels of one place one behind the other: so the passes behind it have long rows, and each voxel its arithmetic.

use crate::fold::Rule;
use crate::levels::{Level, SHORT_ROW};
use crate::load::Load;
use crate::separable::{Planes, Rows, Separable, Work};
use crate::{Meter, Scratch, VolumeError};
use bytemuck::Pod;
use std::ops::Range;
use std::sync::Arc;

/// Elements of planes that lie side by side, roughly: rows of a good length that take little memory.
const PLANES: usize = 512;
/// The same, at most.
pub(crate) const MOST: usize = PLANES + SHORT_ROW;

/// Fewest planes that are worth it: small blocks of a volume do without the buffers.
pub(crate) const FEWEST: usize = 32;

/// Planes of so many elements that lie side by side, of `all` that are wanted.
fn together(row: usize, all: usize) -> usize {
    (PLANES / row.max(1) + 1).min(all)
}

/// The number of the first pass along short rows that others follow.
fn turn<W>(levels: &[Level<W>]) -> Option<usize> {
    let turn = levels.iter().position(|l| l.row < SHORT_ROW)?;
    (turn + 1 < levels.len() && levels[turn].n_out >= FEWEST).then_some(turn)
}

/// Elements that planes side by side take of a row of pass `number`, and of a line.
pub(crate) fn elems<W>(levels: &[Level<W>], channels: usize, number: usize) -> (usize, usize) {
    let Some(turn) = turn(levels).filter(|turn| *turn <= number) else {
        return (0, 0);
    };
    let (first, level) = (&levels[turn], &levels[number]);
    let count = together(first.row, first.n_out);
    let short = first.row.max(SHORT_ROW.min(first.row * count));
    let line = channels * (2 * first.row * count + level.len * short);
    let row = if number > turn { level.row * count } else { 0 };
    (row, line)
}

/// Buffers of planes that lie side by side.
pub(crate) struct Beside<W> {
    turned: Scratch<W>,
    results: Scratch<u8>,
}

impl<W: Pod> Beside<W> {
    /// Buffers for these passes, with so many numbers of a voxel and bytes of an output.
    pub(crate) fn new(
        meter: &Arc<Meter>,
        levels: &[Level<W>],
        (channels, out_size): (usize, usize),
    ) -> Result<Option<Beside<W>>, VolumeError> {
        let Some(turn) = turn(levels) else {
            return Ok(None);
        };
        let first = &levels[turn];
        let most = first.row * together(first.row, first.n_out);
        Ok(Some(Beside {
            turned: Scratch::new(meter, channels * most)?,
            results: Scratch::new(meter, out_size * most)?,
        }))
    }
}

/// Rows of `columns` elements as columns.
fn turned<T: Copy>(from: &[T], columns: usize, to: &mut [T]) {
    let rows = from.len() / columns.max(1);
    for (column, to) in to.chunks_exact_mut(rows.max(1)).enumerate() {
        for (to, row) in to.iter_mut().zip(from.chunks_exact(columns)) {
            *to = row[column];
        }
    }
}

/// The same for elements of `N` bytes.
fn turned_bytes<const N: usize>(from: &[u8], columns: usize, to: &mut [u8]) {
    turned(from.as_chunks::<N>().0, columns, to.as_chunks_mut::<N>().0);
}

impl<R: Rule> Separable<'_, R> {
    /// The outputs `range` along the first axis of `levels`, which has short rows.
    pub(crate) fn beside<S: Pod, L: Load<S, R::W>>(
        &self,
        (levels, range): (&[Level<R::W>], Range<usize>),
        source: &Planes<'_, S>,
        load: L,
        out: &mut [u8],
        (work, space): (&mut Work<R::W>, &mut Beside<R::W>),
    ) {
        let (level, deeper) = (&levels[0], &levels[1..]);
        let channels = self.rule.channels(level.pass + 1);
        let plane = deeper[0].outer * deeper[0].n_out * deeper[0].out_row;
        let mut wide: Vec<Level<R::W>> = deeper.to_vec();
        let mut at = range.start;
        while at < range.end {
            let count = together(level.row, range.end - at);
            let row = count * level.row;
            let made = self.made((level, at, count), source, load, work.line.get_mut());
            let planes = &mut space.turned.get_mut()[..channels * row];
            for (from, to) in made.chunks_exact(row).zip(planes.chunks_exact_mut(row)) {
                turned(from, level.row, to);
            }
            for (wide, level) in wide.iter_mut().zip(deeper) {
                (wide.row, wide.out_row) = (level.row * count, level.out_row * count);
            }
            let results = &mut space.results.get_mut()[..plane * count * self.out_size];
            let rows: Rows<'_, R::W> = planes.chunks_exact(row).collect();
            self.next(&wide, &rows, results, work);
            let place = (at - range.start) * plane * self.out_size;
            let to = &mut out[place..place + results.len()];
            match self.out_size {
                1 => turned_bytes::<1>(results, count, to),
                2 => turned_bytes::<2>(results, count, to),
                4 => turned_bytes::<4>(results, count, to),
                _ => turned_bytes::<8>(results, count, to),
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_columns() {
        let mut to = [0; 6];
        turned(&[1, 2, 3, 4, 5, 6], 3, &mut to);
        assert_eq!(to, [1, 4, 2, 5, 3, 6]);
        let mut bytes = [0; 8];
        turned_bytes::<2>(&[1, 2, 3, 4, 5, 6, 7, 8], 2, &mut bytes);
        assert_eq!(bytes, [1, 2, 5, 6, 3, 4, 7, 8]);
    }
}
