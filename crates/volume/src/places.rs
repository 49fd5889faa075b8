//! Which row stands at each coordinate of a padded axis.

use arrayloom_plan::Edge;
use std::ops::Range;

/// For each coordinate of a padded axis its row, or none. Rows inside follow each other, and take no memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Places {
    /// Rows before those, or -1.
    before: Vec<isize>,
    inside: Range<usize>,
    /// Rows behind those, or -1.
    behind: Vec<isize>,
}

/// Coordinates `at` of a padded axis, whose rows begin with `row`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) at: Range<usize>,
    pub(crate) row: usize,
}

impl Run {
    /// The coordinate of this run from which on the rows of the other one stand here as well.
    pub(crate) fn place(&self, other: &Run) -> Option<usize> {
        let first = other.row.checked_sub(self.row)?;
        (first + other.at.len() <= self.at.len()).then_some(self.at.start + first)
    }
}

impl Places {
    /// The rows of a block with coordinates `lo..hi` that stand at `len` coordinates from `first` on, of an axis of
    /// extent `n`.
    pub(crate) fn new(
        edge: Edge,
        (first, len): (i64, usize),
        n: i64,
        (lo, hi): (i64, i64),
    ) -> Places {
        let end = first.saturating_add(i64::try_from(len).unwrap_or(i64::MAX));
        // What lies inside stands where it is.
        let (low, high) = match edge {
            Edge::Wrap => (lo, hi.min(lo + n)),
            _ => (lo.max(0), hi.min(n)),
        };
        let low = low.clamp(first, end);
        let high = high.clamp(low, end);
        let row = |at: i64| usize::try_from(at - lo).unwrap_or(0);
        let outside = |at: i64| locate(edge, at, n, lo, hi);
        Places {
            before: (first..low).map(outside).collect(),
            inside: if low < high {
                row(low)..row(high)
            } else {
                0..0
            },
            behind: (high..end).map(outside).collect(),
        }
    }

    /// Coordinates.
    pub(crate) fn len(&self) -> usize {
        self.before.len() + self.inside.len() + self.behind.len()
    }

    /// The row at a coordinate.
    pub(crate) fn row(&self, at: usize) -> Option<usize> {
        let (before, inside) = (self.before.len(), self.inside.len());
        if (before..before + inside).contains(&at) {
            return Some(self.inside.start + at - before);
        }
        let row = if at < before {
            self.before[at]
        } else {
            self.behind[at - before - inside]
        };
        usize::try_from(row).ok()
    }

    /// The rows at some coordinates.
    pub(crate) fn rows(&self, range: Range<usize>) -> impl Iterator<Item = Option<usize>> + '_ {
        range.map(|at| self.row(at))
    }

    /// The coordinates without a row, in order.
    pub(crate) fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        let behind = self.before.len() + self.inside.len()..self.len();
        let outside = (0..self.before.len()).chain(behind);
        outside.filter(|&at| self.row(at).is_none())
    }

    /// The runs of coordinates whose rows follow each other.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let inside = self.before.len()..self.before.len() + self.inside.len();
        let mut runs: Vec<Run> = Vec::new();
        let mut add = |at: Range<usize>, row: usize| match runs.last_mut() {
            Some(run) if run.at.end == at.start && run.row + run.at.len() == row => {
                run.at.end = at.end;
            }
            _ => runs.push(Run { at, row }),
        };
        let one = |at: usize| Some((at..at + 1, self.row(at)?));
        let before = (0..inside.start).filter_map(one);
        let whole = (!inside.is_empty()).then(|| (inside.clone(), self.inside.start));
        let behind = (inside.end..self.len()).filter_map(one);
        for (at, row) in before.chain(whole).chain(behind) {
            add(at, row);
        }
        runs
    }

    /// The coordinates `range` alone, of an axis that begins with row `low`.
    pub(crate) fn cut(&self, range: Range<usize>, low: usize) -> Places {
        let (before, inside) = (self.before.len(), self.inside.len());
        let moved = |row: isize| {
            if row < 0 {
                row
            } else {
                row - low.cast_signed()
            }
        };
        let part = |list: &[isize], start: usize| -> Vec<isize> {
            let end = range.end.saturating_sub(start).min(list.len());
            let first = range.start.saturating_sub(start).min(end);
            list[first..end].iter().map(|&row| moved(row)).collect()
        };
        let end = range.end.saturating_sub(before).min(inside);
        let first = range.start.saturating_sub(before).min(end);
        Places {
            before: part(&self.before, 0),
            inside: if first < end {
                self.inside.start + first - low..self.inside.start + end - low
            } else {
                0..0
            },
            behind: part(&self.behind, before + inside),
        }
    }

    /// All rows, or -1.
    pub(crate) fn to_vec(&self) -> Vec<isize> {
        let inside = self.inside.clone().map(usize::cast_signed);
        let before = self.before.iter().copied();
        before
            .chain(inside)
            .chain(self.behind.iter().copied())
            .collect()
    }
}

/// What the runs have of the coordinates `range`.
pub(crate) fn runs_in(runs: &[Run], range: Range<usize>) -> impl Iterator<Item = Run> + '_ {
    let first = runs.partition_point(|r| r.at.end <= range.start);
    let there = runs[first..]
        .iter()
        .take_while(move |r| r.at.start < range.end);
    there.map(move |r| {
        let at = r.at.start.max(range.start)..r.at.end.min(range.end);
        Run {
            row: r.row + (at.start - r.at.start),
            at,
        }
    })
}

/// The row of a block with coordinates `lo..hi` that stands at coordinate `at` of an axis of extent `n`,
/// or -1. Blocks on a wrapped axis may lie beyond its ends.
fn locate(edge: Edge, at: i64, n: i64, lo: i64, hi: i64) -> isize {
    let place = match edge {
        Edge::Wrap if n > 0 => Some(lo + (at - lo).rem_euclid(n)),
        _ => edge.fold(at, n),
    };
    let inside = place.filter(|p| (lo..hi).contains(p));
    inside
        .and_then(|p| isize::try_from(p - lo).ok())
        .unwrap_or(-1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each coordinate by itself.
    fn one_by_one(edge: Edge, (first, len): (i64, usize), n: i64, held: (i64, i64)) -> Vec<isize> {
        let each = (first..).take(len);
        each.map(|at| locate(edge, at, n, held.0, held.1)).collect()
    }

    #[test]
    fn rows_inside_and_outside_are_those_of_each_coordinate() {
        let edges = [
            Edge::Clip,
            Edge::Reflect,
            Edge::Mirror,
            Edge::Nearest,
            Edge::Wrap,
        ];
        let held = [
            (1, (0, 1)),
            (5, (0, 5)),
            (9, (2, 7)),
            (9, (0, 4)),
            (6, (5, 6)),
        ];
        let ranges = [(-3, 12), (0, 5), (2, 3), (-9, 4), (7, 9), (3, 0), (-1, 30)];
        for edge in edges {
            for (n, held) in held {
                for (first, len) in ranges {
                    let places = Places::new(edge, (first, len), n, held);
                    let wanted = one_by_one(edge, (first, len), n, held);
                    let told = format!("{edge:?} {first}..+{len} of {n}, {held:?} held");
                    check(&places, &wanted, &told);
                    check_cuts(&places, &wanted, &told);
                }
            }
        }
    }

    /// All parts of places, against those of a list.
    fn check_cuts(places: &Places, wanted: &[isize], told: &str) {
        let ends = |start| (start..=wanted.len()).map(move |end| start..end);
        for range in (0..=wanted.len()).flat_map(ends) {
            let low = places.rows(range.clone()).flatten().min().unwrap_or(0);
            let moved = |&row: &isize| {
                if row < 0 {
                    row
                } else {
                    row - low.cast_signed()
                }
            };
            let wanted: Vec<isize> = wanted[range.clone()].iter().map(moved).collect();
            check(&places.cut(range, low), &wanted, told);
        }
    }

    /// All that places tell, against a list.
    fn check(places: &Places, wanted: &[isize], told: &str) {
        assert_eq!(places.to_vec(), wanted, "{told}");
        assert_eq!(places.len(), wanted.len(), "{told}");
        let rows: Vec<_> = wanted
            .iter()
            .map(|&row| usize::try_from(row).ok())
            .collect();
        assert!(
            places.rows(0..wanted.len()).eq(rows.iter().copied()),
            "{told}"
        );
        let missing = (0..wanted.len()).filter(|&at| wanted[at] < 0);
        assert!(places.missing().eq(missing), "{told}");
        let runs = places.runs();
        let listed = runs.iter().flat_map(|run| run.at.clone().zip(run.row..));
        let there = (0..).zip(&rows).filter_map(|(at, row)| Some((at, (*row)?)));
        assert!(listed.eq(there), "{told}");
        let longest = |pair: &[Run]| {
            pair[0].at.end < pair[1].at.start || pair[0].row + pair[0].at.len() != pair[1].row
        };
        assert!(runs.windows(2).all(longest), "{told}");
    }
}
