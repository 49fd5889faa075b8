//! Rows of the first pass as numbers, in a ring of as many as neighbouring windows read: each row is converted
//! once, however many windows it is part of.

use crate::places::Places;
use std::ops::Range;

/// From the beginning of a row to that of the next one. Rows of a power of two elements would compete for the same
/// places of a level-1 cache.
pub(crate) fn step(row: usize) -> usize {
    row + GAP
}

/// Elements between rows.
const GAP: usize = 64;

/// The rows at some neighbouring coordinates of a padded axis.
pub(crate) struct Ring<'w, W> {
    rows: &'w mut [W],
    /// Elements of a row.
    row: usize,
    /// How many rows there are.
    count: usize,
    /// The first coordinate, and the place of its row.
    first: (usize, usize),
    /// The coordinates before this one are done.
    next: usize,
}

impl<'w, W> Ring<'w, W> {
    /// Room for the rows at `count` coordinates at a time.
    pub(crate) fn new(space: &'w mut [W], count: usize, row: usize) -> Ring<'w, W> {
        Ring {
            rows: &mut space[..count * step(row)],
            row,
            count,
            first: (0, 0),
            next: 0,
        }
    }

    #[inline]
    fn place(&self, at: usize) -> Range<usize> {
        let (first, place) = self.first;
        let place = place + at - first;
        let place = place - if place < self.count { 0 } else { self.count };
        let start = place * step(self.row);
        start..start + self.row
    }

    /// Goes on to the coordinates `wanted`, not before those of the last call. Gives those that are new.
    pub(crate) fn entering(&mut self, wanted: Range<usize>) -> Range<usize> {
        let (first, place) = self.first;
        self.first = (
            wanted.start,
            (place + wanted.start - first) % self.count.max(1),
        );
        let new = self.next.max(wanted.start)..wanted.end;
        self.next = wanted.end;
        new
    }

    /// The same; `convert` gives the row of the axis that stands at a coordinate, or what stands where there is none.
    pub(crate) fn advance(
        &mut self,
        wanted: Range<usize>,
        places: &Places,
        mut convert: impl FnMut(Option<usize>, &mut [W]),
    ) {
        let new = self.entering(wanted);
        for (at, row) in new.clone().zip(places.rows(new)) {
            convert(row, self.at_mut(at));
        }
    }

    /// The row at a coordinate, to be written.
    #[inline]
    pub(crate) fn at_mut(&mut self, at: usize) -> &mut [W] {
        let place = self.place(at);
        &mut self.rows[place]
    }

    /// The row at a coordinate.
    #[inline]
    pub(crate) fn at(&self, at: usize) -> &[W] {
        &self.rows[self.place(at)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_plan::Edge;
    use std::cell::RefCell;

    #[test]
    fn every_row_is_converted_once_and_stays_while_windows_read_it() {
        // A mirrored axis of five rows, the last of which is not at hand, and windows of three coordinates.
        let places = Places::new(Edge::Mirror, (-1, 7), 5, (0, 4));
        assert_eq!(places.to_vec(), [1, 0, 1, 2, 3, -1, 3]);
        let mut space = vec![0; 3 * step(2)];
        let mut ring = Ring::new(&mut space, 3, 2);
        let converted = RefCell::new(Vec::new());
        for (start, end) in [(0, 2), (1, 4), (2, 5), (5, 7)] {
            ring.advance(start..end, &places, |row, to| {
                let Some(row) = row else { return };
                converted.borrow_mut().push(row);
                to.copy_from_slice(&[10 * row, 10 * row + 1]);
            });
            for (at, row) in (start..).zip(places.rows(start..end)) {
                if let Some(row) = row {
                    assert_eq!(ring.at(at), [10 * row, 10 * row + 1]);
                }
            }
        }
        assert_eq!(converted.into_inner(), [1, 0, 1, 2, 3, 3]);
    }
}
