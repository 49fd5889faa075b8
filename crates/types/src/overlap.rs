//! Whether two views of one block touch the same bytes.

use crate::Layout;

/// How two views of the same block lie to one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overlap {
    /// No byte in common.
    None,
    /// The same elements at the same places: index i of one is index i of the other.
    Same,
    /// Some bytes in common, or not known to be apart.
    Partial,
}

/// Compares two views of the same block.
///
/// The answer `None` is certain; `Partial` may be too careful. Views of equal steps, such as shifted
/// windows of one array, are told apart exactly when no step is ambiguous.
pub fn overlap(a: &Layout, b: &Layout) -> Overlap {
    if a.is_empty() || b.is_empty() {
        return Overlap::None;
    }
    if same_places(a, b) {
        return Overlap::Same;
    }
    let ((a_low, a_high), (b_low, b_high)) = (a.byte_range(), b.byte_range());
    if a_high <= b_low || b_high <= a_low || boxes_apart(a, b) {
        Overlap::None
    } else {
        Overlap::Partial
    }
}

/// Axes of extent one do not matter for where the elements are.
fn same_places(a: &Layout, b: &Layout) -> bool {
    a.dtype.size() == b.dtype.size()
        && a.offset == b.offset
        && a.shape == b.shape
        && a.shape
            .iter()
            .zip(a.strides.iter().zip(&b.strides))
            .all(|(&n, (s, t))| n == 1 || s == t)
        && a.shape
            .iter()
            .zip(&a.strides)
            .all(|(&n, &s)| n == 1 || s != 0)
}

/// Sees both views as boxes in one grid of steps, and looks for an axis on which they are apart.
///
/// The grid has the positive steps of both views, largest first. A view is a box in it when, with its
/// offset split into whole numbers of steps, every axis stays within its grid extent (the number of
/// steps that fit into the next larger step), so that addresses and grid points are one to one.
fn boxes_apart(a: &Layout, b: &Layout) -> bool {
    let mut steps: Vec<isize> = Vec::new();
    for view in [a, b] {
        for (&n, &s) in view.shape.iter().zip(&view.strides) {
            if n > 1 && s != 0 && !steps.contains(&s.abs()) {
                steps.push(s.abs());
            }
        }
    }
    steps.sort_unstable_by(|x, y| y.cmp(x));
    if steps.windows(2).any(|w| w[0] % w[1] != 0) {
        return false;
    }
    let base = a.byte_range().0.min(b.byte_range().0);
    let (Some(left), Some(right)) = (grid_box(a, base, &steps), grid_box(b, base, &steps)) else {
        return false;
    };
    left.iter()
        .zip(&right)
        .any(|(&(l0, l1), &(r0, r1))| l1 <= r0 || r1 <= l0)
}

/// Half-open intervals of the view in units of `steps`, then of bytes; `None` if it is not a box.
fn grid_box(view: &Layout, base: isize, steps: &[isize]) -> Option<Vec<(isize, isize)>> {
    let mut spans = vec![1isize; steps.len()];
    for (&n, &s) in view.shape.iter().zip(&view.strides) {
        if n > 1 && s != 0 {
            let i = steps.iter().position(|&t| t == s.abs())?;
            spans[i] += n.cast_signed() - 1;
        }
    }
    let mut rest = view.byte_range().0 - base;
    let mut intervals = Vec::with_capacity(steps.len() + 1);
    let mut room = isize::MAX;
    for (&step, &span) in steps.iter().zip(&spans) {
        let start = rest / step;
        rest -= start * step;
        if room != isize::MAX && start + span > room / step {
            return None;
        }
        intervals.push((start, start + span));
        room = step;
    }
    let size = view.dtype.size().cast_signed();
    if rest + size > room {
        return None;
    }
    intervals.push((rest, rest + size));
    Some(intervals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn view(offset: isize, shape: &[usize], strides: &[isize]) -> Layout {
        Layout {
            dtype: DType::F64,
            offset,
            shape: shape.into(),
            strides: strides.into(),
        }
    }

    fn bytes(v: &Layout) -> std::collections::BTreeSet<isize> {
        let mut all = vec![v.offset];
        for (&n, &s) in v.shape.iter().zip(&v.strides) {
            all = all
                .iter()
                .flat_map(|&o| (0..n.cast_signed()).map(move |i| o + i * s))
                .collect();
        }
        all.iter()
            .flat_map(|&o| o..o + v.dtype.size().cast_signed())
            .collect()
    }

    #[test]
    fn columns_and_rows_are_told_apart() {
        let column = |j: isize| view(8 * j, &[5], &[48]);
        assert_eq!(overlap(&column(0), &column(5)), Overlap::None);
        assert_eq!(overlap(&column(2), &column(2)), Overlap::Same);
        let interior = view(48 + 8, &[3, 4], &[48, 8]);
        assert_eq!(overlap(&column(0), &interior), Overlap::None);
        assert_eq!(overlap(&column(1), &interior), Overlap::Partial);
        assert_eq!(overlap(&view(0, &[6], &[8]), &interior), Overlap::None);
        let north = view(8, &[3, 4], &[48, 8]);
        assert_eq!(overlap(&north, &interior), Overlap::Partial);
    }

    #[test]
    fn an_answer_of_none_is_certain() {
        let mut seed = 1u64;
        let mut next = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        let signed = |v: u64| isize::try_from(v).unwrap();
        for _ in 0..20_000 {
            let mut make = || {
                let shape = [1 + next(3), 1 + next(4)].map(|n| usize::try_from(n).unwrap());
                let strides = [signed(next(9)) * 8 - 32, signed(next(7)) * 8 - 24];
                view(
                    signed(next(20)) * 8 + signed(next(2)) * 4 + 200,
                    &shape,
                    &strides,
                )
            };
            let (a, b) = (make(), make());
            let apart = bytes(&a).is_disjoint(&bytes(&b));
            match overlap(&a, &b) {
                Overlap::None => assert!(apart, "{a:?} {b:?}"),
                Overlap::Same => assert_eq!(bytes(&a), bytes(&b)),
                Overlap::Partial => {}
            }
        }
    }
}
