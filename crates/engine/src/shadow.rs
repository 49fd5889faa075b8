//! A value that lies inside a larger block, at the places of a view.
//!
//! A contiguous value of shape `S` whose home is `strides` bytes per axis inside another block. Layouts
//! of the value, as recorded, are translated to layouts of the block: every offset is a point of `S`,
//! every step a whole number of steps along one axis of `S`.

use arrayloom_types::{Layout, Shape, Strides, contiguous_strides};

/// Where a value lies in its block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shadow {
    /// The view of the block that holds the value.
    pub(crate) view: Layout,
    /// Bytes of the block.
    pub(crate) nbytes: usize,
}

/// Rows shorter than this are not worth a shadow: what lies between them is copied piece by piece.
/// Tests work on small arrays.
const MIN_ROW_BYTES: usize = if cfg!(test) { 256 } else { 4096 };
/// The part of the block that may lie outside the view, as one over this.
const MAX_REST: usize = 8;

impl Shadow {
    /// The shadow of `view` in a block of `nbytes`, if it pays: the view is made of long rows in rising
    /// order and leaves little of the block out.
    pub(crate) fn worthwhile(view: &Layout, nbytes: usize) -> Option<Shadow> {
        let size = view.dtype.size();
        let (low, high) = view.byte_range();
        let fits = low >= 0 && high.unsigned_abs() <= nbytes && !view.is_empty();
        let inner = view.shape.last().zip(view.strides.last());
        let rows = inner
            .is_some_and(|(&n, &s)| s.unsigned_abs() == size && s > 0 && n * size >= MIN_ROW_BYTES);
        let mut reach = size.cast_signed();
        let mut rising = true;
        for (&n, &s) in view.shape.iter().zip(&view.strides).rev() {
            rising &= n == 1 || s >= reach;
            reach += s * (n.cast_signed() - 1);
        }
        let steps = view.shape.iter().zip(&view.strides);
        let mut bytes = steps
            .filter(|(n, _)| **n > 1)
            .map(|(_, s)| s.unsigned_abs());
        let aligned = view.offset.unsigned_abs().is_multiple_of(size)
            && nbytes.is_multiple_of(size)
            && bytes.all(|s| s.is_multiple_of(size));
        let covered = view.len() * size;
        let pays = nbytes.saturating_sub(covered) <= nbytes / MAX_REST;
        (fits && rows && rising && aligned && pays).then(|| Shadow {
            view: view.clone(),
            nbytes,
        })
    }

    /// Where a layout of the value lies in the block. `None` if it is not a grid of whole elements.
    pub(crate) fn translate(&self, layout: &Layout) -> Option<Layout> {
        let shape = &self.view.shape;
        let size = self.view.dtype.size();
        if layout.dtype.size() != size {
            return None;
        }
        let steps = contiguous_strides(shape, size);
        let mut rest = layout.offset;
        let mut offset = self.view.offset;
        // For each axis of the value: first and last index that the layout reaches.
        let mut reach: Vec<(isize, isize)> = Vec::with_capacity(shape.len());
        for (step, home) in steps.iter().zip(&self.view.strides) {
            let index = rest.div_euclid(*step);
            rest -= index * step;
            offset += index * home;
            reach.push((index, index));
        }
        if rest != 0 {
            return None;
        }
        let mut strides = Strides::with_capacity(layout.shape.len());
        for (&n, &s) in layout.shape.iter().zip(&layout.strides) {
            if n <= 1 || s == 0 {
                strides.push(0);
                continue;
            }
            let axis = (0..shape.len())
                .find(|&k| shape[k] > 1 && s % steps[k] == 0 && s.abs() >= steps[k])?;
            let times = s / steps[axis];
            let far = times * (n.cast_signed() - 1);
            let (low, high) = &mut reach[axis];
            if far < 0 {
                *low += far;
            } else {
                *high += far;
            }
            strides.push(times * self.view.strides[axis]);
        }
        let inside = reach
            .iter()
            .zip(shape)
            .all(|((low, high), &n)| *low >= 0 && *high < n.cast_signed());
        inside.then(|| Layout {
            dtype: layout.dtype,
            offset,
            shape: layout.shape.clone(),
            strides,
        })
    }

    /// The elements of the block outside the view, as parts of regular shape: what lies before and behind the view, and
    /// for each axis the gaps between what it steps over.
    pub(crate) fn rest(&self) -> impl Iterator<Item = Layout> {
        let Layout {
            dtype,
            offset,
            shape,
            strides,
        } = &self.view;
        let size = dtype.size().cast_signed();
        let part = move |at: isize, outer: (&[usize], &[isize]), bytes: isize| {
            let count = (bytes / size).max(0).unsigned_abs();
            Layout {
                dtype: *dtype,
                offset: at,
                shape: outer.0.iter().copied().chain([count]).collect(),
                strides: outer.1.iter().copied().chain([size]).collect(),
            }
        };
        // Bytes from the first to the last element along the axes from `axis` on.
        let reach = move |axis: usize| {
            let inner = shape[axis..].iter().zip(&strides[axis..]);
            inner.fold(size, |reach, (&n, &s)| reach + s * (n.cast_signed() - 1))
        };
        let end = offset + reach(0);
        let before = part(0, (&[], &[]), *offset);
        let behind = part(end, (&[], &[]), self.nbytes.cast_signed() - end);
        let gaps = (0..shape.len()).map(move |axis| {
            let mut outer: Shape = shape[..=axis].iter().copied().collect();
            outer[axis] -= 1;
            let inner = reach(axis + 1);
            let at = offset + inner;
            part(at, (&outer, &strides[..=axis]), strides[axis] - inner)
        });
        let all = std::iter::once(before).chain(gaps).chain([behind]);
        all.filter(|part| !part.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayloom_types::DType;

    fn interior() -> Shadow {
        let view = Layout {
            dtype: DType::F64,
            offset: 8 * (1002 + 1),
            shape: [100, 1000].as_slice().into(),
            strides: [8 * 1002, 8].as_slice().into(),
        };
        Shadow::worthwhile(&view, 8 * 102 * 1002).unwrap()
    }

    #[test]
    fn views_of_the_value_are_found_in_the_block() {
        let shadow = interior();
        let value = Layout::contiguous(DType::F64, &[100, 1000]);
        assert_eq!(shadow.translate(&value), Some(shadow.view.clone()));
        let part = Layout {
            dtype: DType::F64,
            offset: 8 * (99 * 1000 + 5),
            shape: [50, 3].as_slice().into(),
            strides: [-16_000, 16].as_slice().into(),
        };
        let found = shadow.translate(&part).unwrap();
        assert_eq!(found.offset, 8 * (100 * 1002 + 6));
        assert_eq!(found.strides.to_vec(), [-16_032, 16]);
        let wraps = Layout {
            strides: [8, 8].as_slice().into(),
            ..part.clone()
        };
        assert!(
            shadow
                .translate(&Layout {
                    offset: 8 * 990,
                    ..wraps
                })
                .is_none()
        );
        let flat = Layout::contiguous(DType::F64, &[100_000]);
        assert!(shadow.translate(&flat).is_none());
        let inside = Layout {
            dtype: DType::F32,
            ..part
        };
        assert!(shadow.translate(&inside).is_none());
    }

    /// How often view and rest have each element of the block.
    fn times_met(shadow: &Shadow) -> Vec<u32> {
        let size = shadow.view.dtype.size();
        let mut met = vec![0; shadow.nbytes / size];
        for part in shadow.rest().chain([shadow.view.clone()]) {
            for number in 0..part.len() {
                let mut left = number;
                let mut at = part.offset;
                for (&n, &s) in part.shape.iter().zip(&part.strides).rev() {
                    at += (left % n).cast_signed() * s;
                    left /= n;
                }
                met[at.unsigned_abs() / size] += 1;
            }
        }
        met
    }

    #[test]
    fn view_and_rest_of_any_box_make_up_the_block() {
        for [planes, rows, row] in [[4_usize, 30, 64], [1, 120, 70], [20, 1, 80], [3, 40, 64]] {
            for [a, b, c] in [[0_usize, 0, 0], [1, 1, 1], [0, 2, 0], [2, 0, 1]] {
                let strides = [8 * (rows + 2) * (row + 3), 8 * (row + 3), 8];
                let view = Layout {
                    dtype: DType::F64,
                    offset: (strides[0] * a + strides[1] * b + 8 * c).cast_signed(),
                    shape: [planes, rows, row].as_slice().into(),
                    strides: strides.iter().map(|s| s.cast_signed()).collect(),
                };
                let nbytes = (planes + 2) * strides[0];
                let shadow = Shadow { view, nbytes };
                assert_eq!(times_met(&shadow), vec![1; nbytes / 8]);
                assert!(shadow.rest().count() <= 4);
            }
        }
    }

    #[test]
    fn view_and_rest_make_up_the_block() {
        let shadow = interior();
        assert_eq!(times_met(&shadow), vec![1; 102 * 1002]);
        let shapes: Vec<Vec<usize>> = shadow.rest().map(|part| part.shape.to_vec()).collect();
        assert_eq!(shapes, [vec![1003], vec![99, 2], vec![1003]]);
        let whole = Layout::contiguous(DType::F64, &[100, 1000]);
        let shadow = Shadow::worthwhile(&whole, 800_000).unwrap();
        assert_eq!(shadow.rest().count(), 0);
    }

    #[test]
    fn what_does_not_pay_gets_no_shadow() {
        let whole = Layout::contiguous(DType::F64, &[100, 1000]);
        assert!(Shadow::worthwhile(&whole, 2_000_000).is_none());
        let thin = Layout::contiguous(DType::F64, &[10_000, 10]);
        assert!(Shadow::worthwhile(&thin, 800_000).is_none());
        let turned = Layout {
            strides: [-8000, 8].as_slice().into(),
            offset: 792_000,
            ..whole
        };
        assert!(Shadow::worthwhile(&turned, 800_000).is_none());
    }
}
