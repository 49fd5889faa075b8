//! Parts of boxes on axes that may go around: the same voxel stands at every turn of a wrapped axis.

use crate::block::{axis_len, copy_box};
use arrayloom_types::Region;
use smallvec::SmallVec;
use std::ops::Range;

/// Intervals that follow each other.
pub(crate) type Spans = SmallVec<[Range<i64>; 2]>;

/// The intervals of `held` that stand for `wanted` on an axis of `n` points, in order: one, unless the
/// axis goes around in between. `None` if some of it is not there.
pub(crate) fn spans(held: Range<i64>, wanted: Range<i64>, n: i64) -> Option<Spans> {
    let mut spans = Spans::new();
    let mut at = wanted.start;
    while at < wanted.end {
        let start = held.start + (at - held.start).rem_euclid(n.max(1));
        let len = (wanted.end - at).min(held.end - start);
        if len <= 0 {
            return None;
        }
        spans.push(start..start + len);
        at += len;
    }
    Some(spans)
}

/// The box that stands for `wanted` in a box `held` of a volume with these extents; `None` if it is in
/// several pieces.
pub(crate) fn one_box(held: &Region, wanted: &Region, shape: &[i64]) -> Option<Region> {
    let mut found = wanted.clone();
    for (d, &n) in shape.iter().enumerate() {
        let whole = held.lo[d]..held.hi[d];
        match &spans(whole, wanted.lo[d]..wanted.hi[d], n)?[..] {
            [] => {}
            [only] => (found.lo[d], found.hi[d]) = (only.start, only.end),
            _ => return None,
        }
    }
    Some(found)
}

/// Copies the voxels of the box `to` from a box of a volume with these extents, around wrapped axes.
pub(crate) fn copy_around(
    (held, from): (&Region, &[u8]),
    (wanted, to): (&Region, &mut [u8]),
    shape: &[i64],
    size: usize,
) {
    // What is copied, in the coordinates of `held`, and how far from there it stands in `wanted`.
    let mut parts = vec![(held.clone(), wanted.clone())];
    for (d, &n) in shape.iter().enumerate() {
        let whole = held.lo[d]..held.hi[d];
        let spans = spans(whole, wanted.lo[d]..wanted.hi[d], n).unwrap_or_default();
        let mut at = wanted.lo[d];
        let mut cut = Vec::new();
        for span in spans {
            let shift = span.start - at;
            at += span.end - span.start;
            cut.extend(parts.iter().map(|(what, place)| {
                let (lo, hi) = (wanted.lo[d] + shift, wanted.hi[d] + shift);
                let what = what.with_axis(d, span.start, span.end);
                (what, place.with_axis(d, lo, hi))
            }));
        }
        parts = cut;
    }
    for (what, place) in parts {
        copy_box((held, from), (&place, to), &what, size);
    }
}

/// Elements of a plane that follow each other in a larger plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where they begin in the plane.
    pub(crate) at: usize,
    /// Where they begin in the larger plane.
    pub(crate) from: usize,
    pub(crate) len: usize,
}

pub(crate) type Pieces = SmallVec<[Piece; 1]>;

/// The pieces of the planes behind axis `axis` of the box `wanted` in those of `held`, of a volume with these
/// extents; `None` if some of it is not there.
pub(crate) fn pieces_behind(
    axis: usize,
    held: &Region,
    wanted: &Region,
    shape: &[i64],
) -> Option<Pieces> {
    let whole = Piece {
        at: 0,
        from: 0,
        len: 1,
    };
    let mut pieces: Pieces = [whole].into_iter().collect();
    let mut elems = 1;
    for d in (axis + 1..held.rank()).rev() {
        let spans = spans(held.lo[d]..held.hi[d], wanted.lo[d]..wanted.hi[d], shape[d])?;
        let step: usize = (d + 1..held.rank()).map(|a| axis_len(held, a)).product();
        let rows = spans
            .iter()
            .flat_map(|s| s.start - held.lo[d]..s.end - held.lo[d]);
        let inner = std::mem::take(&mut pieces);
        for (number, row) in rows.enumerate() {
            let start = usize::try_from(row).unwrap_or(0) * step;
            for piece in &inner {
                let (at, from) = (number * elems + piece.at, start + piece.from);
                match pieces.last_mut() {
                    Some(last) if last.from + last.len == from => last.len += piece.len,
                    _ => pieces.push(Piece { at, from, ..*piece }),
                }
            }
        }
        elems *= axis_len(wanted, d);
    }
    Some(pieces)
}

/// The parts of `pieces` in the columns `columns` of the plane, counted from there.
pub(crate) fn within(pieces: &[Piece], columns: &Range<usize>) -> Pieces {
    let cut = |p: &Piece| {
        let start = p.at.max(columns.start);
        let end = (p.at + p.len).min(columns.end);
        (start < end).then(|| Piece {
            at: start - columns.start,
            from: p.from + (start - p.at),
            len: end - start,
        })
    };
    pieces.iter().filter_map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_found_at_every_turn() {
        let found = |held, wanted| {
            let ends = |s: Spans| s.iter().map(|r| (r.start, r.end)).collect::<Vec<_>>();
            spans(held, wanted, 10).map(ends)
        };
        assert_eq!(found(0..10, 3..7), Some(vec![(3, 7)]));
        assert_eq!(found(0..10, -2..3), Some(vec![(8, 10), (0, 3)]));
        assert_eq!(found(0..10, 8..12), Some(vec![(8, 10), (0, 2)]));
        assert_eq!(found(-4..5, 7..12), Some(vec![(-3, 2)]));
        assert_eq!(found(2..6, 3..4), Some(vec![(3, 4)]));
        assert_eq!(found(2..6, 5..8), None);
        assert_eq!(found(2..6, 4..4), Some(vec![]));
    }

    /// The value of a voxel of a volume of 4 x 5 x 3.
    fn value(at: [i64; 3]) -> u8 {
        let [a, b, c] =
            [(at[0], 4), (at[1], 5), (at[2], 3)].map(|(p, n): (i64, i64)| p.rem_euclid(n));
        u8::try_from(15 * a + 3 * b + c).unwrap()
    }

    fn voxels(region: &Region) -> Vec<u8> {
        let mut all = Vec::new();
        for a in region.lo[0]..region.hi[0] {
            for b in region.lo[1]..region.hi[1] {
                all.extend((region.lo[2]..region.hi[2]).map(|c| value([a, b, c])));
            }
        }
        all
    }

    #[test]
    fn boxes_around_axes_are_put_together() {
        let shape = [4, 5, 3];
        let held = [
            Region::whole(&shape),
            Region::new(&[-1, 0, -2], &[3, 5, 1]),
            Region::new(&[0, 3, 0], &[4, 9, 3]),
        ];
        let wanted = [
            Region::new(&[1, 2, 0], &[3, 4, 3]),
            Region::new(&[-1, -2, 1], &[2, 1, 2]),
            Region::new(&[0, 4, -1], &[4, 7, 1]),
            Region::new(&[3, 3, 2], &[5, 8, 5]),
        ];
        for (held, wanted) in held.iter().flat_map(|h| wanted.iter().map(move |w| (h, w))) {
            let data = voxels(held);
            let mut out = vec![255; voxels(wanted).len()];
            copy_around((held, &data), (wanted, &mut out), &shape, 1);
            assert_eq!(out, voxels(wanted), "{held} {wanted}");
            if let Some(one) = one_box(held, wanted, &shape) {
                assert!(held.contains(&one));
                assert_eq!(voxels(&one), out);
            }
            let plane = wanted.with_axis(0, held.lo[0], held.lo[0] + 1);
            let (pieces, wanted) = (
                pieces_behind(0, held, &plane, &shape).unwrap(),
                voxels(&plane),
            );
            for columns in [0..wanted.len(), 1..wanted.len() - 1] {
                let mut found = vec![255; columns.len()];
                for p in within(&pieces, &columns) {
                    found[p.at..p.at + p.len].copy_from_slice(&data[p.from..p.from + p.len]);
                }
                assert_eq!(found, wanted[columns], "{held} {plane}");
            }
        }
    }

    #[test]
    fn a_whole_plane_is_one_piece() {
        let shape = [4, 5, 3];
        let pieces = pieces_behind(0, &Region::whole(&shape), &Region::whole(&shape), &shape);
        let one = Piece {
            at: 0,
            from: 0,
            len: 15,
        };
        assert_eq!(pieces.unwrap()[..], [one]);
    }
}
