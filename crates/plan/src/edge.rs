//! Which interval of an operand an interval of the result needs, along one axis.
//!
//! A window reads `[s*p + o - b, s*p + o + f]` of the operand for the point `p` of the result. At the
//! faces of the volume an [`Edge`] says what lies outside. Maps compose: a chain of windows is a window
//! whose halo is the sum of the halos, scaled by the steps.

use std::ops::Range;

/// What a filter sees outside of a volume along one axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Nothing, or a constant: no voxel is read for it.
    #[default]
    Clip,
    /// `d c b a | a b c d | d c b a`.
    Reflect,
    /// `d c b | a b c d | c b a`.
    Mirror,
    /// `a a a a | a b c d | d d d d`.
    Nearest,
    /// `a b c d | a b c d | a b c d`.
    Wrap,
}

impl Edge {
    /// The voxel in `0..n` that stands at coordinate `i`; `None` where nothing does.
    pub fn fold(self, i: i64, n: i64) -> Option<i64> {
        if (0..n).contains(&i) {
            return Some(i);
        }
        if n <= 0 {
            return None;
        }
        match self {
            Edge::Clip => None,
            Edge::Nearest => Some(i.clamp(0, n - 1)),
            Edge::Wrap => Some(i.rem_euclid(n)),
            Edge::Reflect => {
                let at = i.rem_euclid(2 * n);
                Some(at.min(2 * n - 1 - at))
            }
            Edge::Mirror if n == 1 => Some(0),
            Edge::Mirror => {
                let at = i.rem_euclid(2 * n - 2);
                Some(at.min(2 * n - 2 - at))
            }
        }
    }

    /// The part of `0..n` that stands in for the coordinates `span`: exact for windows, and enough.
    ///
    /// For [`Edge::Wrap`] the interval may leave `0..n`; its coordinates count around the axis.
    pub fn reads(self, span: &Range<i64>, n: i64) -> Range<i64> {
        if span.start >= span.end || n <= 0 {
            return 0..0;
        }
        let over_low = (-span.start).max(0);
        let over_high = (span.end - n).max(0);
        let (low, high, extra) = match self {
            Edge::Clip => return clip(span, n),
            Edge::Wrap if span.end - span.start >= n => return 0..n,
            Edge::Wrap => return span.clone(),
            Edge::Nearest => (over_low.min(1), over_high.min(1), 0),
            Edge::Reflect => (over_low, over_high, 0),
            Edge::Mirror => (over_low, over_high, 1),
        };
        let mut first = span.start.clamp(0, n - 1);
        let mut end = span.end.clamp(1, n);
        if low > 0 {
            end = end.max((low + extra).min(n));
        }
        if high > 0 {
            end = n;
            first = first.min((n - high - extra).max(0));
        }
        first..end
    }
}

fn clip(span: &Range<i64>, n: i64) -> Range<i64> {
    let (lo, hi) = (span.start.clamp(0, n), span.end.clamp(0, n));
    if lo < hi { lo..hi } else { 0..0 }
}

/// A window on an axis: what one point of the result reads of the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Window {
    /// Points of the operand for one step of the result; negative for reversed views, never zero.
    pub step: i64,
    /// The point of the operand for point 0 of the result.
    pub offset: i64,
    /// Points before it that are read too; negative for windows that lie behind it.
    pub before: i64,
    /// Points after it that are read too; negative for windows that lie before it.
    pub after: i64,
}

impl Window {
    /// The same point.
    pub const SAME: Window = Window::halo(0, 0);

    /// The same point with its neighbours.
    pub const fn halo(before: i64, after: i64) -> Window {
        Window {
            step: 1,
            offset: 0,
            before,
            after,
        }
    }

    /// The points `start`, `start + step`, ... of a view.
    pub const fn view(start: i64, step: i64) -> Window {
        Window {
            step,
            offset: start,
            before: 0,
            after: 0,
        }
    }

    /// What the points `span` of the result read, without regard to faces.
    pub fn span(&self, span: &Range<i64>) -> Range<i64> {
        if span.start >= span.end {
            return 0..0;
        }
        let (low, high) = if self.step > 0 {
            (span.start, span.end - 1)
        } else {
            (span.end - 1, span.start)
        };
        let at = |p: i64| self.step * p + self.offset;
        at(low) - self.before..at(high) + self.after + 1
    }

    /// The window of a chain: `self` reads what `inner` computes from its own operand.
    pub fn then(&self, inner: &Window) -> Window {
        let (s, b, f) = (inner.step.abs(), self.before, self.after);
        let (b, f) = if inner.step > 0 { (b, f) } else { (f, b) };
        Window {
            step: self.step * inner.step,
            offset: inner.step * self.offset + inner.offset,
            before: s * b + inner.before,
            after: s * f + inner.after,
        }
    }
}

/// Which interval of one axis of an operand a box of the result needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisNeed {
    /// A window on axis `axis` of the result.
    Window {
        /// The axis of the result.
        axis: usize,
        /// What one of its points reads.
        window: Window,
        /// What lies outside.
        edge: Edge,
    },
    /// The first point: a broadcast axis of extent one.
    One,
    /// All of it.
    Whole,
}

impl AxisNeed {
    /// The same point of axis `axis`.
    pub const fn same(axis: usize) -> AxisNeed {
        AxisNeed::Window {
            axis,
            window: Window::SAME,
            edge: Edge::Clip,
        }
    }

    /// The interval that is read of an axis of extent `n`, given the intervals of the result's axes.
    pub fn reads(&self, result: &dyn Fn(usize) -> Range<i64>, n: i64) -> Range<i64> {
        match self {
            AxisNeed::One => 0..n.min(1),
            AxisNeed::Whole => 0..n,
            AxisNeed::Window { axis, window, edge } => edge.reads(&window.span(&result(*axis)), n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Edge; 5] = [
        Edge::Clip,
        Edge::Reflect,
        Edge::Mirror,
        Edge::Nearest,
        Edge::Wrap,
    ];

    /// Every voxel that stands for a coordinate of a window is read, and where the window leaves the
    /// volume on one side only, no voxel is read in vain.
    #[test]
    fn the_edge_rule_is_enough_and_tight() {
        let mut cases = 0;
        for n in 1..10 {
            let spans = (0..n).flat_map(|l| (l + 1..=n).map(move |h| l..h));
            let spans: Vec<Range<i64>> = spans.collect();
            for (b, f) in (-4..9).flat_map(|b| (-b..9).map(move |f| (b, f))) {
                for (edge, span) in ALL.iter().flat_map(|e| spans.iter().map(move |s| (*e, s))) {
                    check(edge, n, Window::halo(b, f), span.clone());
                    cases += 1;
                }
            }
        }
        assert!(cases > 100_000, "{cases}");
    }

    fn check(edge: Edge, n: i64, window: Window, span: Range<i64>) {
        let raw = window.span(&span);
        let reads = edge.reads(&raw, n);
        let mut needed: Vec<i64> = raw.clone().filter_map(|i| edge.fold(i, n)).collect();
        needed.sort_unstable();
        needed.dedup();
        let has = |i: i64| {
            let around = [i, i - n, i + n];
            let also = if edge == Edge::Wrap {
                &around[..]
            } else {
                &around[..1]
            };
            also.iter().any(|&i| reads.contains(&i)) || edge == Edge::Wrap && deep(&raw, n)
        };
        for &i in &needed {
            assert!(
                has(i),
                "{edge:?} n={n} {raw:?} reads {reads:?} but needs {i}"
            );
        }
        if edge != Edge::Wrap && !needed.is_empty() && !deep(&raw, n) {
            let hull = needed[0]..needed[needed.len() - 1] + 1;
            assert_eq!(reads, hull, "{edge:?} n={n} {raw:?}");
        }
    }

    /// The window reaches around the volume more than once, or lies outside of it altogether.
    fn deep(raw: &Range<i64>, n: i64) -> bool {
        raw.start < 1 - n || raw.end > 2 * n - 1 || raw.end <= 0 || raw.start >= n
    }

    #[test]
    fn folding_is_that_of_numpy_pad() {
        let at = |edge: Edge| (-4..8).map(|i| edge.fold(i, 4)).collect::<Vec<_>>();
        let all = |v: [i64; 12]| v.map(Some).to_vec();
        assert_eq!(at(Edge::Reflect), all([3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1, 0]));
        assert_eq!(at(Edge::Mirror), all([2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]));
        assert_eq!(at(Edge::Wrap), all([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]));
        assert_eq!(at(Edge::Nearest), all([0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 3, 3]));
        assert_eq!(at(Edge::Clip)[..5], [None, None, None, None, Some(0)]);
    }

    #[test]
    fn chains_compose_exactly_and_in_any_grouping() {
        let mut some = Vec::new();
        for step in [-2, -1, 1, 3] {
            for (before, after) in [(0, 0), (2, 1), (3, -1)] {
                some.push(Window {
                    step,
                    offset: 5 * step - before,
                    before,
                    after,
                });
            }
        }
        for a in &some {
            for b in &some {
                let both = a.then(b);
                assert_eq!(both.span(&(-3..9)), b.span(&a.span(&(-3..9))));
                for c in &some {
                    assert_eq!(a.then(&b.then(c)), both.then(c));
                }
            }
        }
    }
}
