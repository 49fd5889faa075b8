//! An axis of long windows (`long.rs`): what stands where on it, and how a pass along it is cut into parts and tiles.

use crate::block::axis_len;
use crate::places::{Places, Run};
use crate::separable::Pass;
use arrayloom_types::Region;
use std::ops::Range;

/// Bytes of the numbers of a tile, roughly: what is joined and what comes of it fit a level-1 cache.
pub(crate) const TILE: usize = 16_384;
/// Fewest bytes of the columns of a tile, if rows have as many: two lines of a cache.
const COLUMNS: usize = 128;
/// Elements behind an axis that is scanned, at least.
const SCANNED: i64 = 32;
/// Bytes of the rows that a scan keeps, roughly. Fewer would cut rows into columns, which a pass along lines cannot follow.
const SCAN: usize = 1 << 21;
/// Bytes of outputs that are made at a time, at least, of a column.
const OUTPUTS: usize = 8192;

/// An axis of windows, on a box that is filtered along the axes before it.
#[derive(Clone)]
pub(crate) struct Axis {
    pub(crate) pass: usize,
    /// Bytes of the numbers of a voxel.
    pub(crate) bytes: usize,
    /// Points of a window.
    pub(crate) len: usize,
    /// Lines or planes of the box.
    pub(crate) outer: usize,
    pub(crate) n_in: usize,
    pub(crate) n_out: usize,
    /// Elements behind the axis.
    pub(crate) row: usize,
    /// The coordinate of the first row of the padded axis, if windows are joined by a scan.
    pub(crate) scanned: Option<i64>,
    pub(crate) places: Places,
    pub(crate) runs: Vec<Run>,
    /// Coordinates where nothing stands, in order.
    pub(crate) missing: Vec<usize>,
    /// Outputs whose windows exist as a whole: those between the margins.
    pub(crate) whole: Range<usize>,
}

/// A part of a pass: whole boxes in front of the axis, or outputs of one of them.
pub(crate) struct Part {
    pub(crate) outer: Range<usize>,
    pub(crate) outputs: Range<usize>,
}

impl Axis {
    /// The axis of pass `pass` from the box `input` of a volume with these extents.
    pub(crate) fn new(
        (number, pass): (usize, &Pass),
        bytes: usize,
        (input, shape): (&Region, &[i64]),
        region: &Region,
    ) -> Axis {
        let a = pass.axis;
        let first = region.lo[a] - pass.before;
        let padded = axis_len(region, a) + pass.len - 1;
        let inside = (input.lo[a], input.hi[a]);
        let places = Places::new(pass.edge, (first, padded), shape[a], inside);
        let missing: Vec<usize> = places.missing().collect();
        Axis {
            pass: number,
            bytes,
            len: pass.len,
            outer: (0..a).map(|d| axis_len(region, d)).product(),
            n_in: axis_len(input, a),
            n_out: axis_len(region, a),
            row: row_of(input, a),
            scanned: is_scanned(pass, shape).then_some(first),
            runs: places.runs(),
            whole: whole(&missing, padded, pass.len),
            missing,
            places,
        }
    }

    /// Elements of the outputs of a box in front of the axis.
    pub(crate) fn size(&self) -> usize {
        self.n_out * self.row
    }

    /// The parts of the pass, in the order of the output.
    pub(crate) fn parts(&self, threads: usize) -> Vec<Part> {
        if self.scanned.is_some() {
            return self.scanned_parts(threads);
        }
        let padded = (self.n_out + self.len - 1) * self.row;
        let together = (TILE / self.bytes / padded.max(1)).min(self.outer.div_ceil(threads));
        if together > 1 {
            let firsts = (0..self.outer).step_by(together);
            let part = |first: usize| Part {
                outer: first..(first + together).min(self.outer),
                outputs: 0..self.n_out,
            };
            return firsts.map(part).collect();
        }
        self.cut(outputs(self.len, self.row, self.bytes))
    }

    /// Long parts, since each reads a window more than it makes.
    pub(crate) fn scanned_parts(&self, threads: usize) -> Vec<Part> {
        if threads == 1 {
            return self.cut(self.n_out);
        }
        let count = (4 * threads).div_ceil(self.outer.max(1));
        self.cut(self.n_out.div_ceil(count).max(2 * self.len))
    }

    /// Parts of so many outputs.
    pub(crate) fn cut(&self, each: usize) -> Vec<Part> {
        let each = each.min(self.n_out).max(1);
        let firsts = |outer: usize| (0..self.n_out).step_by(each).map(move |at| (outer, at));
        let part = |(outer, at): (usize, usize)| Part {
            outer: outer..outer + 1,
            outputs: at..(at + each).min(self.n_out),
        };
        (0..self.outer).flat_map(firsts).map(part).collect()
    }

    /// Columns of a tile of so many coordinates.
    pub(crate) fn columns(&self, padded: usize) -> usize {
        let columns = (TILE / self.bytes / padded.max(1)).max(1);
        columns.next_multiple_of(few(self.bytes)).min(self.row)
    }

    /// Elements of the largest tile of these parts.
    pub(crate) fn largest(&self, parts: &[Part]) -> usize {
        let elems = |part: &Part| {
            let padded = part.outputs.len() + self.len - 1;
            part.outer.len() * padded * self.columns(part.outer.len() * padded)
        };
        parts.iter().map(elems).max().unwrap_or(0)
    }

    /// Columns that are scanned at a time.
    pub(crate) fn scanned_columns(&self) -> usize {
        match self.scanned {
            Some(_) => scanned_columns((self.len, self.bytes), self.row),
            None => 0,
        }
    }

    /// Rows that a scan makes before the pass along lines takes them.
    pub(crate) fn together(&self) -> usize {
        (TILE / (self.bytes * self.row).max(1)).max(1)
    }

    /// True if what a scan makes goes to a pass along these lines row by row.
    pub(crate) fn feeds(&self, lines: &Axis) -> bool {
        self.scanned.is_some()
            && lines.scanned.is_none()
            && (lines.row, lines.outer) == (1, self.outer * self.n_out)
            && self.scanned_columns() == self.row
    }

    /// Voxels of the window of output `i` that exist.
    pub(crate) fn there(&self, i: usize) -> usize {
        if self.missing.is_empty() {
            return self.len;
        }
        let before = |at: usize| self.missing.partition_point(|&m| m < at);
        self.len - (before(i + self.len) - before(i))
    }
}

/// Elements of a box behind an axis.
pub(crate) fn row_of(region: &Region, axis: usize) -> usize {
    let behind = axis + 1..region.rank();
    behind.map(|d| axis_len(region, d)).product()
}

/// The longest run of windows of `len` coordinates, of so many, none of which is missing.
fn whole(missing: &[usize], padded: usize, len: usize) -> Range<usize> {
    let starts = std::iter::once(0).chain(missing.iter().map(|m| m + 1));
    let ends = missing.iter().copied().chain(std::iter::once(padded));
    let gap = starts.zip(ends).max_by_key(|(start, end)| end - start);
    let (start, end) = gap.unwrap_or((0, padded));
    start..(end + 1).saturating_sub(len).max(start)
}

/// True if windows of a pass over a volume of these extents are joined by a scan: where rows behind the axis are long
/// enough to go down all of them together.
fn is_scanned(pass: &Pass, shape: &[i64]) -> bool {
    let behind: i64 = shape[pass.axis + 1..]
        .iter()
        .fold(1, |all, n| all.saturating_mul(*n));
    pass.len > 1 && behind >= SCANNED
}

/// The row of the padded axis behind the first cut, if windows of a pass are joined by a scan: for the box `region` of the
/// output, of a volume with these extents.
pub(crate) fn first_cut(pass: &Pass, shape: &[i64], region: &Region) -> Option<u32> {
    let len = i64::try_from(pass.len).ok()?;
    let cut = (pass.before - region.lo[pass.axis]).rem_euclid(len);
    u32::try_from(cut).ok().filter(|_| is_scanned(pass, shape))
}

/// Columns that are scanned at a time, of rows of so many.
fn scanned_columns((len, bytes): (usize, usize), row: usize) -> usize {
    (SCAN / (bytes * len)).max(few(bytes)).min(row)
}

/// Bytes of the rows of a scan, and of those that go to the next pass at a time, at most. It grows with the box.
pub(crate) fn most_of_scan((len, bytes): (usize, usize), row: u64) -> u64 {
    let row = usize::try_from(row).unwrap_or(usize::MAX);
    let columns = scanned_columns((len, bytes), row) as u64;
    let rows = (len as u64 + 3).saturating_mul(columns);
    rows.saturating_mul(bytes as u64)
        .saturating_add(TILE as u64)
}

/// Fewest columns of a tile.
fn few(bytes: usize) -> usize {
    (COLUMNS / bytes.min(8)).max(1)
}

/// Outputs of windows of `len` points that are made at a time: twice as many as they read more, where rows are long.
fn outputs(len: usize, row: usize, bytes: usize) -> usize {
    (2 * len).max(OUTPUTS / bytes / row.clamp(1, few(bytes)))
}

/// Bytes of a tile of the pass over windows of `len` points with so many bytes for a voxel, at most, for boxes of `outer`
/// times `n_out` rows of `row` elements. It grows with the box.
pub(crate) fn most_of_tile(
    (len, bytes): (usize, usize),
    (outer, n_out, row): (u64, u64, u64),
) -> u64 {
    let longest = |n_out: u64| n_out.saturating_add(len as u64);
    let each = longest((outputs(len, 1, bytes) as u64).min(n_out));
    let tile = each.saturating_mul(row.min(2 * few(bytes) as u64));
    let all = outer.saturating_mul(longest(n_out)).saturating_mul(row);
    let of = |elems: u64| elems.saturating_mul(bytes as u64);
    of(all).min(of(tile).max(2 * TILE as u64))
}
