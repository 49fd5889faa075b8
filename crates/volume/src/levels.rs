//! The passes of a separable filter on the boxes at hand: what each axis reads where, and how planes are
//! cut into strips that fit the caches.

use crate::VolumeError;
use crate::block::axis_len;
use crate::fold::EdgeTaps;
use crate::places::{Places, Run, runs_in};
use crate::separable::{EdgeTapsOf, Pass};
use arrayloom_plan::Edge;
use arrayloom_types::Region;
use std::ops::Range;

/// Rows shorter than this are filtered in one padded line.
pub(crate) const SHORT_ROW: usize = 64;
/// Elements of a strip of a plane, roughly: a few dozen of them fit a level-2 cache.
const STRIP_ELEMS: usize = 16_384;
/// Fewest rows of a strip.
const STRIP_ROWS: usize = 8;

/// One pass.
#[derive(Clone)]
pub(crate) struct Level<W> {
    pub(crate) pass: usize,
    pub(crate) len: usize,
    /// Points of a part of a window, if windows are quicker joined from parts.
    pub(crate) part: Option<usize>,
    /// Boxes in front of the axis, behind that of the pass before.
    pub(crate) outer: usize,
    pub(crate) n_in: usize,
    pub(crate) n_out: usize,
    /// Elements behind the axis, in the input of this pass.
    pub(crate) row: usize,
    /// Elements behind the axis, in the output of the last pass.
    pub(crate) out_row: usize,
    /// What stands at the coordinates of the padded axis.
    pub(crate) places: Places,
    /// Runs of coordinates whose rows follow each other.
    pub(crate) runs: Vec<Run>,
    /// The outputs where rows are missing, in order, and their taps.
    pub(crate) faces: Vec<(usize, EdgeTaps<W>)>,
}

impl<W> Level<W> {
    /// The runs of the coordinates `range`.
    pub(crate) fn runs_in(&self, range: Range<usize>) -> impl Iterator<Item = Run> + '_ {
        runs_in(&self.runs, range)
    }

    /// Where the rows of the axis begin in the padded axis, if it has all of them in order.
    pub(crate) fn all_rows(&self) -> Option<usize> {
        let all = |run: &&Run| run.at.len() == self.n_in;
        self.runs.iter().find(all).map(|run| run.at.start)
    }

    /// The outputs of `range` where rows are missing, and their taps.
    pub(crate) fn faces_in(
        &self,
        range: Range<usize>,
    ) -> impl Iterator<Item = (usize, &EdgeTaps<W>)> {
        let first = self.faces.partition_point(|face| face.0 < range.start);
        let inside = self.faces[first..].iter();
        let inside = inside.take_while(move |face| face.0 < range.end);
        inside.map(|(i, edge)| (*i, edge))
    }
}

/// Points of a part of windows of `n` points: with `n / part` parts and the points that are left the fewest steps,
/// if that pays for making parts.
fn part(n: usize) -> Option<usize> {
    let steps = |part: usize| part + n / part + n % part;
    let part = (2..=n / 2).min_by_key(|&part| steps(part))?;
    (steps(part) + 3 < n).then_some(part)
}

/// The windows of `len` coordinates in which rows are missing, and the taps for the places of those that are there.
fn faces<W>(
    places: &Places,
    len: usize,
    taps: impl Fn(&[usize]) -> EdgeTaps<W>,
) -> Vec<(usize, EdgeTaps<W>)> {
    let (mut faces, mut next) = (Vec::new(), 0);
    let windows = (places.len() + 1).saturating_sub(len);
    for missing in places.missing() {
        for first in next.max((missing + 1).saturating_sub(len))..windows.min(missing + 1) {
            let there = (0..len).filter(|&place| places.row(first + place).is_some());
            faces.push((first, taps(&there.collect::<Vec<_>>())));
        }
        next = next.max(missing + 1);
    }
    faces
}

/// A strip of planes.
pub(crate) struct Block<W> {
    /// The elements of an input plane that the strip reads.
    pub(crate) columns: Range<usize>,
    /// The elements of an output plane that the strip gives.
    pub(crate) out_elems: usize,
    /// The passes on the strip; in the first one rows are these columns.
    pub(crate) levels: Vec<Level<W>>,
}

/// The passes on the box `region` of the output, from the box `input` of a volume with these extents.
pub(crate) fn levels<W>(
    passes: &[Pass],
    edge_taps: EdgeTapsOf<'_, W>,
    (input, shape): (&Region, &[i64]),
    region: &Region,
) -> Vec<Level<W>> {
    let mut levels = Vec::new();
    let mut from = 0;
    for (number, pass) in passes.iter().enumerate() {
        let a = pass.axis;
        let product =
            |r: &Region, axes: Range<usize>| -> usize { axes.map(|d| axis_len(r, d)).product() };
        let n = shape[a];
        let first = region.lo[a] - pass.before;
        let padded = axis_len(region, a) + pass.len - 1;
        let (lo, hi) = (input.lo[a], input.hi[a]);
        let places = Places::new(pass.edge, (first, padded), n, (lo, hi));
        levels.push(Level {
            pass: number,
            len: pass.len,
            part: part(pass.len),
            outer: product(region, from..a),
            n_in: axis_len(input, a),
            n_out: axis_len(region, a),
            row: product(input, a + 1..region.rank()),
            out_row: product(region, a + 1..region.rank()),
            faces: faces(&places, pass.len, |there| edge_taps(number, there)),
            runs: places.runs(),
            places,
        });
        from = a + 1;
    }
    levels
}

/// Rows of a strip, where a row has so many elements.
fn strip_rows(row: usize) -> usize {
    (STRIP_ELEMS / row.max(1)).max(STRIP_ROWS)
}

/// True if planes of the first pass are cut along the axis of the second one: it follows, and windows
/// read neighbours only.
fn cut_by_rows(passes: &[Pass]) -> bool {
    matches!(passes, [first, second, ..] if first.axis + 1 == second.axis && second.edge != Edge::Wrap)
}

/// Elements that the first pass makes of a plane at a time, at most; `row` gives the elements behind the
/// axis of a pass.
pub(crate) fn most_of_strip(passes: &[Pass], row: impl Fn(&Pass) -> u64) -> u64 {
    match passes {
        [_] => (STRIP_ELEMS + SHORT_ROW) as u64,
        [_, second, ..] if cut_by_rows(passes) => {
            let row = row(second);
            row.saturating_mul(STRIP_ROWS as u64)
                .max(STRIP_ELEMS as u64)
                + row.saturating_mul(second.len as u64 + 1)
        }
        _ => u64::MAX,
    }
}

/// The strips of planes, in order; one behind the other they are an output plane.
pub(crate) fn blocks<W: Clone>(passes: &[Pass], levels: &[Level<W>]) -> Vec<Block<W>> {
    let whole = |levels: &[Level<W>]| Block {
        columns: 0..levels[0].row,
        out_elems: levels[0].out_row,
        levels: levels.to_vec(),
    };
    if let [only] = levels
        && only.row >= SHORT_ROW
    {
        let strips = (0..only.row).step_by(STRIP_ELEMS).map(|at| {
            let columns = at..(at + STRIP_ELEMS).min(only.row);
            Block {
                out_elems: columns.len(),
                columns,
                levels: levels.to_vec(),
            }
        });
        return strips.collect();
    }
    if !cut_by_rows(passes) {
        return vec![whole(levels)];
    }
    let second = &levels[1];
    let rows = strip_rows(second.row);
    let strips = (0..second.n_out).step_by(rows).map(|at| {
        let outputs = at..(at + rows).min(second.n_out);
        let read = at..outputs.end + second.len - 1;
        let there = || second.runs_in(read.clone());
        let low = there().map(|run| run.row).min().unwrap_or(0);
        let high = there().map(|run| run.row + run.at.len()).max();
        let n_in = high.map_or(0, |high| high - low);
        let start = low * second.row;
        let mut cut = levels.to_vec();
        cut[1].places = second.places.cut(read.clone(), low);
        cut[1].runs = cut[1].places.runs();
        let faces = second.faces_in(outputs.clone());
        cut[1].faces = faces.map(|(i, edge)| (i - at, edge.clone())).collect();
        (cut[1].n_in, cut[1].n_out) = (n_in, outputs.len());
        Block {
            columns: start..start + n_in * second.row,
            out_elems: outputs.len() * second.out_row,
            levels: cut,
        }
    });
    strips.collect()
}

/// Runs `work` in `threads` threads; the first error is the result.
pub(crate) fn in_threads(
    threads: usize,
    work: &(dyn Fn() -> Result<(), VolumeError> + Sync),
) -> Result<(), VolumeError> {
    if threads <= 1 {
        return work();
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut result = work();
        for other in others {
            let theirs = other
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            result = result.and(theirs);
        }
        result
    })
}
