//! How two views of one block lie to one another, row by row.
//!
//! Row `i` of a view is what it touches at index `i` of its first axis. Views that step through the
//! block with the same positive step have a simple relation: which rows meet depends on the difference
//! of the indices only.

use arrayloom_types::{Layout, Shape, Strides};

/// Bytes from the view's first element to the lowest and behind the highest one of row 0.
pub(crate) fn extent(layout: &Layout) -> (isize, isize) {
    let (mut low, mut high) = (0, 0);
    for (&n, &s) in layout.shape.iter().zip(&layout.strides).skip(1) {
        let reach = (n.cast_signed() - 1) * s;
        low += reach.min(0);
        high += reach.max(0);
    }
    (low, high + layout.dtype.size().cast_signed())
}

/// Bytes from row to row; `None` unless rows rise.
pub(crate) fn pitch(layout: &Layout) -> Option<isize> {
    layout.strides.first().copied().filter(|&step| step > 0)
}

/// The rows `i + low ..= i + high` of `earlier` that may meet row `i` of `later`. `None` without a
/// simple relation.
pub(crate) fn relation(earlier: &Layout, later: &Layout) -> Option<(isize, isize)> {
    let step = pitch(earlier)?;
    if pitch(later)? != step {
        return None;
    }
    let (a, b) = (extent(earlier), extent(later));
    let apart = later.offset - earlier.offset;
    let low = (apart + b.0 - a.1).div_euclid(step) + 1;
    let high = -(-(apart + b.1 - a.0)).div_euclid(step) - 1;
    Some((low, high))
}

/// A view of a value in terms of packed rows of that value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// The row of the value that row 0 of the view is.
    pub(crate) row: usize,
    /// Bytes from the start of a packed row to the first element.
    pub(crate) offset: isize,
    /// Steps in bytes, the one of the first axis left zero.
    pub(crate) strides: Strides,
}

/// Extents of a packed row of the value: axes that only repeat have extent one.
pub(crate) fn packed_shape(value: &Layout) -> Shape {
    let axes = value.shape.iter().zip(&value.strides).skip(1);
    axes.map(|(&n, &s)| if s == 0 { 1 } else { n }).collect()
}

/// Steps within a packed row.
fn packed_strides(value: &Layout) -> Strides {
    arrayloom_types::contiguous_strides(&packed_shape(value), value.dtype.size())
}

/// Bytes of a packed row.
pub(crate) fn packed_bytes(value: &Layout) -> usize {
    packed_shape(value).iter().product::<usize>() * value.dtype.size()
}

/// Where the elements of `view` lie in packed rows of `value`, a view of the same block. `None` unless
/// all of them are elements of the value, and rows are rows.
pub(crate) fn packed(value: &Layout, view: &Layout) -> Option<Packed> {
    let step = pitch(value)?;
    if pitch(view)? != step || view.dtype.size() != value.dtype.size() {
        return None;
    }
    let homes = packed_strides(value);
    let extents = packed_shape(value);
    let mut axes: Vec<(isize, usize, isize)> = (0..extents.len())
        .filter(|&k| extents[k] > 1)
        .map(|k| (value.strides[k + 1], extents[k], homes[k]))
        .collect();
    axes.sort_unstable_by_key(|&(s, ..)| std::cmp::Reverse(s));
    let mut room = step;
    for &(s, n, _) in &axes {
        if s <= 0 || s * n.cast_signed() > room {
            return None;
        }
        room = s;
    }
    if value.dtype.size().cast_signed() > room {
        return None;
    }
    let mut rest = view.offset - value.offset;
    let row = usize::try_from(rest.div_euclid(step)).ok()?;
    rest = rest.rem_euclid(step);
    let mut offset = 0;
    let mut reach: Vec<(isize, isize)> = Vec::with_capacity(axes.len());
    for &(s, _, home) in &axes {
        let index = rest / s;
        rest -= index * s;
        offset += index * home;
        reach.push((index, index));
    }
    if rest != 0 || row + view.shape[0] > value.shape[0] {
        return None;
    }
    let mut strides = Strides::from_elem(0, view.shape.len());
    for (axis, (&n, &s)) in view.shape.iter().zip(&view.strides).enumerate().skip(1) {
        if n <= 1 || s == 0 {
            continue;
        }
        let place = axes
            .iter()
            .position(|&(home, ..)| s % home == 0 && s.abs() >= home)?;
        let times = s / axes[place].0;
        let far = times * (n.cast_signed() - 1);
        reach[place].0 += far.min(0);
        reach[place].1 += far.max(0);
        strides[axis] = times * axes[place].2;
    }
    let inside = |(&(low, high), &(_, n, _)): (&(isize, isize), &(isize, usize, isize))| {
        low >= 0 && high < n.cast_signed()
    };
    reach.iter().zip(&axes).all(inside).then_some(Packed {
        row,
        offset,
        strides,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_types::DType;

    /// Rows and columns of an array of 10 columns of `f64`.
    fn window(row: isize, column: isize, shape: &[usize]) -> Layout {
        Layout {
            dtype: DType::F64,
            offset: 80 * row + 8 * column,
            shape: shape.into(),
            strides: [80, 8].as_slice().into(),
        }
    }

    #[test]
    fn windows_meet_at_a_fixed_distance() {
        let center = window(1, 1, &[5, 8]);
        assert_eq!(relation(&center, &center), Some((0, 0)));
        assert_eq!(relation(&center, &window(0, 1, &[5, 8])), Some((-1, -1)));
        assert_eq!(relation(&window(0, 1, &[5, 8]), &center), Some((1, 1)));
        assert_eq!(relation(&center, &window(1, 2, &[5, 8])), Some((0, 0)));
        let turned = Layout {
            strides: [8, 80].as_slice().into(),
            ..center.clone()
        };
        assert_eq!(relation(&center, &turned), None);
        let flat = Layout::contiguous(DType::F64, &[50]);
        assert_eq!(relation(&flat, &flat), Some((0, 0)));
    }

    #[test]
    fn relations_hold_what_meets() {
        // Rows that run over their ends, as windows along a diagonal do.
        let wide = Layout {
            dtype: DType::F64,
            offset: 16,
            shape: [4, 3].as_slice().into(),
            strides: [24, 40].as_slice().into(),
        };
        let thin = Layout {
            dtype: DType::F64,
            offset: 16,
            shape: [4, 2].as_slice().into(),
            strides: [24, -8].as_slice().into(),
        };
        let touched = |view: &Layout, row: isize| -> Vec<isize> {
            let n = view.shape[1].cast_signed();
            (0..n)
                .map(|k| view.offset + row * 24 + k * view.strides[1])
                .collect()
        };
        let (low, high) = relation(&wide, &thin).unwrap();
        for i in 0..4 {
            for j in 0..4 {
                let meet = touched(&thin, i)
                    .iter()
                    .any(|at| touched(&wide, j).contains(at));
                assert!(!meet || (low..=high).contains(&(j - i)));
            }
        }
    }

    #[test]
    fn parts_of_a_value_are_found_in_its_rows() {
        let value = window(2, 1, &[6, 8]);
        let found = packed(&value, &window(3, 4, &[5, 4])).unwrap();
        assert_eq!((found.row, found.offset), (1, 24));
        assert_eq!(found.strides.to_vec(), [0, 8]);
        assert_eq!(packed(&value, &window(3, 0, &[5, 4])), None);
        assert_eq!(packed(&value, &window(3, 6, &[5, 4])), None);
        assert_eq!(packed(&value, &window(1, 2, &[5, 4])), None);
        assert_eq!(packed(&value, &window(4, 2, &[5, 4])), None);
        let back = Layout {
            strides: [80, -16].as_slice().into(),
            ..window(3, 7, &[5, 3])
        };
        let found = packed(&value, &back).unwrap();
        assert_eq!((found.offset, found.strides[1]), (48, -16));
        let means = Layout {
            strides: [8, 0].as_slice().into(),
            ..Layout::contiguous(DType::F64, &[6, 9])
        };
        let column = Layout::contiguous(DType::F64, &[6]);
        let found = packed(&column, &means).unwrap();
        assert_eq!((found.row, found.strides.to_vec()), (0, vec![0, 0]));
    }
}
