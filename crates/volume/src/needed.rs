//! How much working memory the passes of a separable filter take, for the planner: bounds that grow with the box.

use crate::axis;
use crate::beside;
use crate::crossed;
use crate::fold::GROUP;
use crate::levels::{SHORT_ROW, most_of_strip};
use crate::lines::LINE;
use crate::ring;
use crate::separable::Pass;
use crate::stacked;

/// A box of a result, and the result: their extents.
pub(crate) type Extents<'a> = (&'a [i64], &'a [i64]);

/// Elements of working memory for each thread: rows of each pass, a padded line, and planes side by side.
pub(crate) fn scratch_elems(passes: &[Pass], channels: usize, extents: Extents<'_>) -> u64 {
    let extent = |p: &Pass| extents.0[p.axis].max(0).unsigned_abs();
    let rows = passes.iter().enumerate().map(|(i, p)| {
        let padded = passes.get(i + 1).filter(|_| i + 2 == passes.len());
        let padded = padded.map_or(0, |last| {
            row_behind(passes, last, extents).saturating_mul(extent(last) + last.len as u64)
        });
        longest_row(passes, p, extents).max(padded)
    });
    let line = passes.last().map_or(0, |last| {
        let row = row_behind(passes, last, extents);
        let whole = row.saturating_mul(extent(last));
        let (short, len) = (SHORT_ROW as u64, last.len as u64);
        let lines = whole.saturating_add(row * len).saturating_mul(GROUP as u64);
        2 * lines.min(LINE as u64 + short) + row.min(short) * len
    });
    let beside = passes.iter().enumerate().map(|(i, p)| {
        let row = row_behind(passes, p, extents);
        let most = row.saturating_mul(extent(p)).min(beside::MOST as u64);
        let (rest, longest) = (&passes[i..], passes.iter().map(|p| p.len as u64).max());
        let rows = 4 + (GROUP * (rest.len() - 1)) as u64;
        let pays = rest.len() > 1 && extent(p) >= beside::FEWEST as u64;
        pays.then_some(most * rows + most.min(SHORT_ROW as u64) * longest.unwrap_or(0))
    });
    let beside = beside.flatten().max().unwrap_or(0);
    let stack = match passes {
        [only] if row_behind(passes, only, extents) < SHORT_ROW as u64 => {
            let lines: u64 = extents.0[..only.axis]
                .iter()
                .map(|&n| n.max(0).unsigned_abs())
                .product();
            let padded =
                (extent(only) + only.len as u64).saturating_mul(row_behind(passes, only, extents));
            stacked::elems(channels, lines.saturating_mul(padded))
        }
        _ => 0,
    };
    channels as u64 * (GROUP as u64 * rows.sum::<u64>() + line + beside) + stack + 16
}

/// Bytes for passes over long windows with so many bytes for a voxel, and no more for an element: all voxels before and
/// behind a pass, and tiles of each thread.
pub(crate) fn long_bytes(
    passes: &[Pass],
    (bytes, threads): (usize, u64),
    extents: Extents<'_>,
) -> u64 {
    let extent = |d: usize| extents.0[d].max(0).unsigned_abs();
    let box_of = |p: &Pass| {
        let outer = (0..p.axis).map(extent).product::<u64>();
        (outer, extent(p.axis), row_behind(passes, p, extents))
    };
    let made = |p: &Pass| {
        let (outer, n_out, row) = box_of(p);
        outer.saturating_mul(n_out).saturating_mul(row)
    };
    // What the last pass makes are elements.
    let planes = passes[..passes.len() - 1].iter().map(made);
    let both = planes.clone().chain([0]).zip([0].into_iter().chain(planes));
    let held = both.map(|(made, read)| made.saturating_add(read)).max();
    let tile = |p: &Pass| axis::most_of_tile((p.len, bytes), box_of(p));
    let tiles = passes.iter().map(tile).max().unwrap_or(0);
    let scan = |p: &Pass| axis::most_of_scan((p.len, bytes), row_behind(passes, p, extents));
    let scans = passes.iter().map(scan).max().unwrap_or(0);
    let planes = held.unwrap_or(0).saturating_mul(bytes as u64);
    let each = tiles.saturating_mul(3).saturating_add(scans + 256);
    planes.saturating_add(threads.saturating_mul(each)) + 64
}

/// Elements of `size` bytes that the last two passes take in the other order, for each thread.
pub(crate) fn crossed_elems(passes: &[Pass], size: usize, extents: Extents<'_>) -> u64 {
    let [.., across, along] = passes else {
        return 0;
    };
    let row = usize::try_from(longest_row(passes, across, extents)).unwrap_or(usize::MAX);
    crossed::most(across.len, row, along.len, size) as u64
}

/// Elements of a ring of converted rows, for each thread.
pub(crate) fn ring_elems(passes: &[Pass], extents: Extents<'_>) -> u64 {
    let first = &passes[0];
    (first.len + GROUP - 1) as u64 * (longest_row(passes, first, extents) + ring::step(0) as u64)
}

/// Elements behind the axis of a pass, with all that other passes read there.
fn row_behind(passes: &[Pass], pass: &Pass, (extents, shape): Extents<'_>) -> u64 {
    let grown = |d: usize| {
        let own = passes.iter().filter(|p| p.axis == d);
        let reads = extents[d].max(0).unsigned_abs() + own.map(|p| p.len as u64).sum::<u64>();
        reads.min(shape[d].max(extents[d]).max(0).unsigned_abs())
    };
    (pass.axis + 1..extents.len()).map(grown).product()
}

/// Elements of a row that a pass makes at a time, at most.
fn longest_row(passes: &[Pass], pass: &Pass, extents: Extents<'_>) -> u64 {
    let row = |p: &Pass| row_behind(passes, p, extents);
    if pass.axis == passes[0].axis {
        row(pass).min(most_of_strip(passes, row))
    } else {
        row(pass)
    }
}
