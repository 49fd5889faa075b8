//! Where the rows of a sweep lie: rings of a worker, and a band's images of foreign rows.

#![expect(
    unsafe_code,
    reason = "images are copies of memory that the caller of the sweep vouches for"
)]

use crate::exec::{LINE, Line};
use crate::place::copy;
use arrayloom_device::Rows;
use arrayloom_plan::{Band, Ownership, Ring};
use std::ops::Range;

/// The rings of one worker.
pub(crate) struct Rings {
    /// For every ring where it starts, its pitch and its rows.
    rings: Vec<(isize, isize, usize)>,
    _memory: Vec<Line>,
}

impl Rings {
    /// Rings for steps of up to `step` rows.
    pub(crate) fn new(rings: &[Ring], step: usize) -> Rings {
        // The odd lines keep rings from falling on the same sets of the cache.
        let bytes = |ring: &Ring| {
            let all = ring.pitch * (ring.reach + step) * ring.pieces;
            all.next_multiple_of(LINE)
        };
        let all: usize = rings.iter().map(|ring| bytes(ring) + 3 * LINE).sum();
        let mut memory = vec![Line::default(); all / LINE];
        let mut at = memory.as_mut_ptr().expose_provenance().cast_signed();
        let rings = rings.iter().map(|ring| {
            let start = at;
            at += (bytes(ring) + 3 * LINE).cast_signed();
            (start, ring.pitch.cast_signed(), ring.reach + step)
        });
        Rings {
            rings: rings.collect(),
            _memory: memory,
        }
    }

    /// The address of a row of a ring, and how many rows from there on follow one another.
    pub(crate) fn at(&self, ring: usize, row: usize) -> (isize, usize) {
        let (start, pitch, depth) = self.rings[ring];
        let place = row % depth;
        (start + place.cast_signed() * pitch, depth - place)
    }
}

/// A copy of some rows of a block.
pub(crate) struct Image {
    rows: Range<isize>,
    /// Bytes from an element to its copy.
    distance: isize,
    _memory: Vec<Line>,
}

impl Image {
    /// A copy of `rows` as they are now.
    ///
    /// # Safety
    /// The bytes of the block that its stages touch may be read.
    unsafe fn new(block: &Rows, rows: Range<isize>) -> Option<Image> {
        if rows.is_empty() {
            return None;
        }
        let width = block.columns.1 - block.columns.0;
        let size = (rows.end - rows.start - 1) * block.pitch + width;
        // The copy starts as far into a line as the block does, so what is aligned there is here.
        let lines = size.unsigned_abs().div_ceil(LINE) + 1;
        let mut memory = vec![Line::default(); lines];
        let buffer = memory.as_mut_ptr().expose_provenance().cast_signed();
        let address = address(block);
        let place = |row: isize| address + block.origin + row * block.pitch + block.columns.0;
        let start = place(rows.start);
        let distance = buffer + start.rem_euclid(LINE.cast_signed()) - start;
        for row in rows.clone() {
            let low = place(row).max(address + block.bytes.0);
            let high = (place(row) + width).min(address + block.bytes.1);
            if low < high {
                let from: *const u8 = std::ptr::with_exposed_provenance(low.cast_unsigned());
                let to: *mut u8 =
                    std::ptr::with_exposed_provenance_mut((low + distance).cast_unsigned());
                // SAFETY: promised by the caller; the copy has room for every row.
                unsafe { copy(from, to, (high - low).unsigned_abs()) };
            }
        }
        Some(Image {
            rows,
            distance,
            _memory: memory,
        })
    }
}

fn address(block: &Rows) -> isize {
    usize::try_from(block.buf.0).unwrap_or(0).cast_signed()
}

/// A block as one band sees it.
pub(crate) struct Part {
    /// The rows that belong to the band.
    own: (isize, isize),
    before: Option<Image>,
    after: Option<Image>,
}

impl Part {
    /// Copies the foreign rows that the band will touch.
    ///
    /// # Safety
    /// The bytes of the block that its stages touch may be read.
    pub(crate) unsafe fn new(block: &Rows, owner: &Ownership, band: &Band) -> Part {
        let [before, after] = owner.foreign(band);
        Part {
            own: owner.owned(band),
            // SAFETY: promised by the caller.
            before: unsafe { Image::new(block, before) },
            // SAFETY: promised by the caller.
            after: unsafe { Image::new(block, after) },
        }
    }

    /// Where a row of the block is: how far from its own place, and how many rows from there on are as
    /// far.
    pub(crate) fn at(&self, row: isize) -> (isize, usize) {
        let (start, end) = self.own;
        if row >= start && row < end {
            return (0, usize::try_from(end.saturating_sub(row)).unwrap_or(1));
        }
        let image = if row < start {
            &self.before
        } else {
            &self.after
        };
        let found = image.as_ref().filter(|image| image.rows.contains(&row));
        debug_assert!(found.is_some(), "row {row} is not in the image");
        found.map_or((0, 1), |image| {
            (image.distance, (image.rows.end - row).unsigned_abs())
        })
    }

    /// True when the row belongs to the band.
    pub(crate) fn owns(&self, row: isize) -> bool {
        row >= self.own.0 && row < self.own.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_device::Buf;

    #[test]
    fn rings_come_round() {
        let ring = Ring {
            pitch: 128,
            reach: 2,
            pieces: 1,
        };
        let rings = Rings::new(&[ring, ring], 3);
        let (start, rows) = rings.at(1, 0);
        assert_eq!((rings.at(1, 5), rows), ((start, 5), 5));
        assert_eq!(rings.at(1, 8), (start + 3 * 128, 2));
        assert!(rings.at(0, 4).0 + 128 <= start);
    }

    #[test]
    fn images_hold_the_old_rows() {
        let values: Vec<u32> = (0..60).collect();
        let block = Rows {
            buf: Buf(values.as_ptr().expose_provenance() as u64),
            origin: 0,
            pitch: 40,
            columns: (4, 12),
            bytes: (4, 240),
        };
        let owner = Ownership {
            own: 1,
            low: -1,
            high: 2,
            rows: (0, 6),
        };
        let band = Band {
            start: 2,
            end: 4,
            first: false,
            last: false,
        };
        // SAFETY: all rows lie in the array.
        let part = unsafe { Part::new(&block, &owner, &band) };
        assert_eq!(part.at(3), (0, 2));
        assert!(part.owns(4) && !part.owns(5));
        for (row, left) in [(1, 2), (2, 1), (5, 1)] {
            let (distance, rows) = part.at(row);
            let place = address(&block) + row * 40 + 4;
            let copy: *const u32 =
                std::ptr::with_exposed_provenance((place + distance).cast_unsigned());
            // SAFETY: the image has this row.
            let value = unsafe { copy.read() };
            assert_eq!((i64::from(value), rows), (row as i64 * 10 + 1, left));
        }
    }
}
