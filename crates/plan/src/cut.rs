//! Where an axis of the result is cut, and what each way to cut it costs.

use crate::needs::{Value, axis_needs};
use std::ops::Range;

/// A way to cut an interval into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// `parts` nearly equal cores.
    Even { span: Range<i64>, parts: i64 },
    /// Nearly equal *reads* for a window with this halo: blocks at the faces have larger cores.
    Halo {
        n: i64,
        before: i64,
        after: i64,
        parts: i64,
    },
    /// Cores of whole granules, `size` voxels each, on the grid through zero.
    Grid { span: Range<i64>, size: i64 },
}

/// Start of part `i` when `len` is cut into `parts` nearly equal parts.
fn even(len: i64, parts: i64, i: i64) -> i64 {
    i * (len / parts) + i.min(len % parts)
}

impl Cut {
    /// Number of blocks, at least one.
    pub(crate) fn parts(&self) -> i64 {
        match self {
            Cut::Even { parts, .. } | Cut::Halo { parts, .. } => *parts,
            Cut::Grid { span, size } => {
                let first = span.start.div_euclid(*size);
                let last = (span.end - 1).div_euclid(*size);
                (last - first + 1).max(1)
            }
        }
    }

    /// The core of block `i`.
    pub(crate) fn core(&self, i: i64) -> Range<i64> {
        match self {
            Cut::Even { span, parts } => {
                let len = span.end - span.start;
                span.start + even(len, *parts, i)..span.start + even(len, *parts, i + 1)
            }
            Cut::Halo {
                n,
                before,
                after,
                parts,
            } => {
                let halo = before + after;
                let at = |i| even(n - halo, *parts, i);
                let lo = if i == 0 { 0 } else { at(i) + before };
                let hi = if i + 1 == *parts {
                    *n
                } else {
                    at(i + 1) + halo - after
                };
                lo..hi
            }
            Cut::Grid { span, size } => {
                let first = span.start.div_euclid(*size) + i;
                (first * size).max(span.start)..((first + 1) * size).min(span.end).max(span.start)
            }
        }
    }
}

/// One way to cut an axis, with what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) cut: Cut,
    pub(crate) parts: i64,
    /// Largest core.
    pub(crate) core: i64,
    /// For each value and axis that this axis decides: the largest extent of a block.
    pub(crate) extents: Vec<Vec<i64>>,
    /// The same, with the granules of sources that a slab along this axis reads ahead.
    pub(crate) kept: Vec<Vec<i64>>,
    /// Extents in whole granules of sources, summed over all blocks.
    pub(crate) totals: Vec<Vec<i64>>,
    /// The same, for the hull of all blocks.
    pub(crate) unions: Vec<Vec<i64>>,
}

/// Blocks at each end of an axis that are looked at one by one, at most.
const ENDS: i64 = 128;

/// Blocks at each end whose reads may meet a face, for windows with this halo.
fn ends(halo: Option<(i64, i64)>, len: i64, parts: i64) -> i64 {
    let core = (len / parts.max(1)).max(1);
    halo.map_or(ENDS, |(before, after)| {
        ((before + after + 1) / core + 3).min(ENDS)
    })
}

impl Candidate {
    pub(crate) fn new(
        values: &[Value],
        deciding: &[Vec<Option<usize>>],
        axis: usize,
        cut: Cut,
        ends: i64,
    ) -> Candidate {
        let parts = cut.parts();
        let blank: Vec<Vec<i64>> = values.iter().map(|v| vec![0; v.shape.len()]).collect();
        let mut out = Candidate {
            parts,
            core: 0,
            extents: blank.clone(),
            kept: blank.clone(),
            totals: blank.clone(),
            unions: blank,
            cut,
        };
        let mut hulls: Vec<Vec<Option<Range<i64>>>> =
            values.iter().map(|v| vec![None; v.shape.len()]).collect();
        for (i, times) in looked_at(parts, ends) {
            let core = out.cut.core(i);
            out.core = out.core.max(core.end - core.start);
            let needs = axis_needs(values, deciding, axis, &core);
            let spans = needs.spans.into_iter().enumerate();
            let spans =
                spans.flat_map(|(v, s)| s.into_iter().enumerate().map(move |(d, s)| (v, d, s)));
            for (v, d, span) in spans.filter_map(|(v, d, s)| s.map(|s| (v, d, s))) {
                let extent = span.end - span.start;
                out.extents[v][d] = out.extents[v][d].max(extent);
                let whole = granules(&span, values[v].granule[d], values[v].shape[d]);
                out.kept[v][d] = out.kept[v][d].max(whole.end - span.start);
                out.totals[v][d] += times * (whole.end - whole.start);
                let hull = hulls[v][d].get_or_insert_with(|| span.clone());
                *hull = hull.start.min(span.start)..hull.end.max(span.end);
            }
        }
        for (to, from) in out.unions.iter_mut().zip(&hulls) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.as_ref().map_or(0, |r| r.end - r.start);
            }
        }
        out
    }
}

/// The whole granules that `span` touches, on an axis of `n` voxels; beyond its ends there are none.
pub(crate) fn granules(span: &Range<i64>, granule: i64, n: i64) -> Range<i64> {
    if granule <= 1 || span.start < 0 || span.end > n || span.start >= span.end {
        return span.clone();
    }
    let end = (span.end + granule - 1) / granule * granule;
    span.start / granule * granule..end.min(n)
}

/// Blocks to look at, and for how many each stands: those at the ends for themselves; the ones between
/// have one of two sizes, and stand for half of them each.
fn looked_at(parts: i64, ends: i64) -> Vec<(i64, i64)> {
    if parts <= 2 * ends + 2 {
        return (0..parts).map(|i| (i, 1)).collect();
    }
    let between = parts - 2 * ends;
    let (low, high) = (ends, parts - ends - 1);
    let ends = (0..low).chain(high + 1..parts).map(|i| (i, 1));
    ends.chain([(low, between - between / 2), (high, between / 2)])
        .collect()
}

/// All ways to cut an axis that matter: one for each size of the largest block, coarse to fine.
pub(crate) fn candidates(
    values: &[Value],
    deciding: &[Vec<Option<usize>>],
    axis: usize,
    span: &Range<i64>,
    align: i64,
) -> Vec<Candidate> {
    let len = span.end - span.start;
    let reach = reach(values, deciding, axis, |_| true);
    let make = |cut: Cut| {
        let ends = ends(reach, len, cut.parts());
        Candidate::new(values, deciding, axis, cut, ends)
    };
    if len <= 0 {
        return vec![make(Cut::Even {
            span: span.clone(),
            parts: 1,
        })];
    }
    if align > 1 {
        let granules = (span.end - 1).div_euclid(align) - span.start.div_euclid(align) + 1;
        let sizes = sizes(granules).into_iter();
        return sizes
            .map(|(_, size)| {
                make(Cut::Grid {
                    span: span.clone(),
                    size: size * align,
                })
            })
            .collect();
    }
    let granule = source_granule(values, deciding, axis);
    if granule > 1 && granule < len {
        return along_granules(span, granule).map(make).collect();
    }
    let full = values.last().map_or(0, |v| v.shape[axis]) == len && span.start == 0;
    match halo(values, deciding, axis).filter(|_| full) {
        Some((before, after)) if before + after >= len => {
            let mut out = vec![make(Cut::Even {
                span: span.clone(),
                parts: 1,
            })];
            let all = sizes(len).into_iter().skip(1);
            out.extend(all.map(|(parts, _)| {
                make(Cut::Even {
                    span: span.clone(),
                    parts,
                })
            }));
            out
        }
        Some((before, after)) => {
            let cut = |parts| Cut::Halo {
                n: len,
                before,
                after,
                parts,
            };
            let mut out: Vec<Candidate> = sizes(len - before - after)
                .into_iter()
                .map(|(parts, _)| make(cut(parts)))
                .collect();
            // Blocks at the faces have cores as large as the halo; single voxels are the last way out.
            if out.last().is_some_and(|c| c.core > 1) {
                out.push(make(Cut::Even {
                    span: span.clone(),
                    parts: len,
                }));
            }
            out
        }
        None => sizes(len)
            .into_iter()
            .map(|(parts, _)| {
                make(Cut::Even {
                    span: span.clone(),
                    parts,
                })
            })
            .collect(),
    }
}

/// Cuts at the multiples of `granule`, and even cuts that are finer than that.
fn along_granules(span: &Range<i64>, granule: i64) -> impl Iterator<Item = Cut> {
    let count = (span.end - 1).div_euclid(granule) - span.start.div_euclid(granule) + 1;
    let (coarse, fine) = (span.clone(), span.clone());
    let whole = sizes(count).into_iter().map(move |(_, size)| Cut::Grid {
        span: coarse.clone(),
        size: size * granule,
    });
    let finer = sizes(span.end - span.start).into_iter();
    let finer = finer.filter(move |&(_, size)| size < granule);
    whole.chain(finer.map(move |(parts, _)| Cut::Even {
        span: fine.clone(),
        parts,
    }))
}

/// The largest granule of a source along an axis of the result.
fn source_granule(values: &[Value], deciding: &[Vec<Option<usize>>], axis: usize) -> i64 {
    let sources = values.iter().zip(deciding).filter(|(v, _)| v.is_source());
    let each = sources.flat_map(|(v, by)| {
        let own = v.granule.iter().zip(by);
        own.filter(|(_, by)| **by == Some(axis)).map(|(&g, _)| g)
    });
    each.max().unwrap_or(1)
}

/// The fewest parts for each size of the largest part: `(parts, size)`, sizes falling.
fn sizes(len: i64) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    let mut parts = 1;
    while parts <= len {
        let size = (len + parts - 1) / parts;
        out.push((parts, size));
        if size == 1 {
            break;
        }
        // The next size that is smaller needs at least this many parts.
        parts = (len + size - 2) / (size - 1);
    }
    out
}

/// The halo of the sources along an axis of the result, if they have its extent and steps of one.
pub(crate) fn halo(
    values: &[Value],
    deciding: &[Vec<Option<usize>>],
    axis: usize,
) -> Option<(i64, i64)> {
    reach(values, deciding, axis, Value::is_source)
}

/// The same for the values that `counts` names.
fn reach(
    values: &[Value],
    deciding: &[Vec<Option<usize>>],
    axis: usize,
    counts: impl Fn(&Value) -> bool,
) -> Option<(i64, i64)> {
    const FAR: i64 = 1 << 40;
    let n = values.last()?.shape[axis];
    let mut wide = values.to_vec();
    for (value, axes) in wide.iter_mut().zip(deciding) {
        for (extent, by) in value.shape.iter_mut().zip(axes) {
            if *by == Some(axis) {
                if *extent != n {
                    return None;
                }
                *extent = 2 * FAR;
            }
        }
    }
    let one = axis_needs(&wide, deciding, axis, &(FAR..FAR + 1));
    let two = axis_needs(&wide, deciding, axis, &(FAR..FAR + 2));
    let (mut before, mut after) = (0, 0);
    for ((value, a), b) in values.iter().zip(&one.spans).zip(&two.spans) {
        for (a, b) in a.iter().zip(b).filter(|_| counts(value)) {
            let (Some(a), Some(b)) = (a, b) else { continue };
            if b.start != a.start || b.end != a.end + 1 {
                return None;
            }
            before = before.max(FAR - a.start);
            after = after.max(a.end - FAR - 1);
        }
    }
    Some((before, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_cover_their_interval_once() {
        let mut cuts = Vec::new();
        for n in 1..30 {
            for parts in 1..=n {
                cuts.push((0..n, Cut::Even { span: 0..n, parts }));
                let halos = [(0, 0), (2, 1), (0, 5), (4, 0)].into_iter();
                let fitting = halos.filter(|(before, after)| before + after + parts <= n);
                cuts.extend(fitting.map(|(before, after)| {
                    let cut = Cut::Halo {
                        n,
                        before,
                        after,
                        parts,
                    };
                    (0..n, cut)
                }));
                cuts.push((
                    3..n + 3,
                    Cut::Grid {
                        span: 3..n + 3,
                        size: parts,
                    },
                ));
            }
        }
        for (span, cut) in cuts {
            let cores: Vec<_> = (0..cut.parts()).map(|i| cut.core(i)).collect();
            assert_eq!(cores[0].start, span.start, "{cut:?}");
            assert_eq!(cores[cores.len() - 1].end, span.end, "{cut:?}");
            assert!(cores.iter().all(|c| c.start < c.end), "{cut:?} {cores:?}");
            assert!(cores.windows(2).all(|w| w[0].end == w[1].start), "{cut:?}");
        }
    }

    #[test]
    fn every_size_has_its_fewest_parts() {
        for len in 1..200 {
            let found = sizes(len);
            for parts in 1..=len {
                let size = (len + parts - 1) / parts;
                let fewest = (1..=len).find(|p| (len + p - 1) / p == size).unwrap();
                assert!(found.contains(&(fewest, size)));
            }
            assert!(found.windows(2).all(|w| w[0].1 > w[1].1));
        }
    }
}
