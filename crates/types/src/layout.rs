//! Where the elements of an array lie in its memory, and where NumPy would put a new result.

use crate::{DType, Shape, count};
use smallvec::SmallVec;

/// Steps of the axes in bytes, outermost first. Zero repeats, negative runs backwards.
pub type Strides = SmallVec<[isize; 4]>;

/// A view of a block of memory: element type, offset, extents and steps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The element type.
    pub dtype: DType,
    /// Bytes from the start of the block to the first element.
    pub offset: isize,
    /// Extents, outermost first.
    pub shape: Shape,
    /// Steps in bytes, one for each axis.
    pub strides: Strides,
}

impl Layout {
    /// A C-contiguous layout at the start of its block.
    pub fn contiguous(dtype: DType, shape: &[usize]) -> Layout {
        let strides = contiguous_strides(shape, dtype.size());
        Layout {
            dtype,
            offset: 0,
            shape: shape.into(),
            strides,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        count(&self.shape)
    }

    /// True when there is no element.
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// True when the elements follow one another in C order without gaps.
    pub fn is_contiguous(&self) -> bool {
        let mut expected = self.dtype.size().cast_signed();
        for (&n, &s) in self.shape.iter().zip(&self.strides).rev() {
            if n != 1 && s != expected {
                return self.is_empty();
            }
            expected *= n.cast_signed();
        }
        true
    }

    /// True when the elements follow one another in Fortran order without gaps.
    pub fn is_fortran_contiguous(&self) -> bool {
        let mut expected = self.dtype.size().cast_signed();
        for (&n, &s) in self.shape.iter().zip(&self.strides) {
            if n != 1 && s != expected {
                return self.is_empty();
            }
            expected *= n.cast_signed();
        }
        true
    }

    /// The half-open range of byte offsets that the elements touch; empty for no element.
    pub fn byte_range(&self) -> (isize, isize) {
        if self.is_empty() {
            return (self.offset, self.offset);
        }
        let (mut low, mut high) = (self.offset, self.offset);
        for (&n, &s) in self.shape.iter().zip(&self.strides) {
            let reach = (n.cast_signed() - 1) * s;
            if reach < 0 {
                low += reach;
            } else {
                high += reach;
            }
        }
        (low, high + self.dtype.size().cast_signed())
    }

    /// The same elements seen with the broader `shape`: new and stretched axes get step zero.
    ///
    /// The own shape must broadcast to `shape`.
    pub fn broadcast_to(&self, shape: &[usize]) -> Layout {
        debug_assert!(
            self.shape.len() <= shape.len(),
            "a broadcast never drops axes"
        );
        let missing = shape.len() - self.shape.len();
        let mut strides = Strides::from_elem(0, shape.len());
        for (axis, (&n, &s)) in self.shape.iter().zip(&self.strides).enumerate() {
            debug_assert!(
                n == shape[missing + axis] || n == 1,
                "shapes must broadcast"
            );
            if n == shape[missing + axis] {
                strides[missing + axis] = s;
            }
        }
        Layout {
            dtype: self.dtype,
            offset: self.offset,
            shape: shape.into(),
            strides,
        }
    }
}

/// The steps of a C-contiguous array of elements of `size` bytes.
pub fn contiguous_strides(shape: &[usize], size: usize) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = size.cast_signed();
    for (slot, &n) in strides.iter_mut().zip(shape).rev() {
        *slot = step;
        step *= n.max(1).cast_signed();
    }
    strides
}

/// The steps of a Fortran-contiguous array of elements of `size` bytes.
pub fn fortran_strides(shape: &[usize], size: usize) -> Strides {
    let mut step = size.cast_signed();
    let next = |&n: &usize| {
        let own = step;
        step *= n.max(1).cast_signed();
        own
    };
    shape.iter().map(next).collect()
}

/// The steps NumPy gives a new element-wise result with elements of `size` bytes.
///
/// Operands that need no cast (`direct`) and are all contiguous the same way take NumPy's short path,
/// which keeps their order.
pub fn elementwise_strides(
    shape: &[usize],
    operands: &[&Layout],
    direct: bool,
    size: usize,
) -> Strides {
    if direct && operands.iter().all(|o| o.shape.as_slice() == shape) {
        if operands.iter().all(|o| o.is_contiguous()) {
            return contiguous_strides(shape, size);
        }
        if operands.iter().all(|o| o.is_fortran_contiguous()) {
            return fortran_strides(shape, size);
        }
    }
    let steps: SmallVec<[Strides; 3]> = operands
        .iter()
        .map(|o| o.broadcast_to(shape).strides)
        .collect();
    let steps: SmallVec<[&[isize]; 3]> = steps.iter().map(SmallVec::as_slice).collect();
    result_strides(shape, &steps, size)
}

/// The steps NumPy gives a copy with `order='K'`: axes sorted by their steps in the original.
/// Source: `PyArray_NewLikeArray`.
pub fn copy_strides(original: &Layout, size: usize) -> Strides {
    let shape = &original.shape;
    if original.is_contiguous() {
        return contiguous_strides(shape, size);
    }
    if original.is_fortran_contiguous() {
        return fortran_strides(shape, size);
    }
    let mut axes: SmallVec<[usize; 8]> = (0..shape.len()).collect();
    axes.sort_by_key(|&axis| std::cmp::Reverse(original.strides[axis].unsigned_abs()));
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = size.cast_signed();
    for &axis in axes.iter().rev() {
        strides[axis] = step;
        step *= shape[axis].max(1).cast_signed();
    }
    strides
}

/// The steps NumPy's iterator gives a new result with `order='K'`: axes sorted as in the operands.
///
/// `operands` are the steps of the operands broadcast to `shape` (zero on stretched axes). NumPy
/// sorts the axes by insertion, innermost first; two axes change places only when no operand with
/// both steps non-zero says otherwise. Source: `npyiter_find_best_axis_ordering` in NumPy's nditer.
pub fn result_strides(shape: &[usize], operands: &[&[isize]], size: usize) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = size.cast_signed();
    for axis in axis_order(shape, operands) {
        strides[axis] = step;
        step *= shape[axis].max(1).cast_signed();
    }
    strides
}

/// The steps NumPy gives the new result of a fold over the axes in the bit mask `folded`, which are
/// left out or, with `keep`, of extent one.
pub fn fold_strides(input: &Layout, folded: u32, keep: bool, size: usize) -> Strides {
    let rank = input.shape.len();
    let gone = |axis: usize| folded >> axis & 1 == 1;
    let mut strides = Strides::from_elem(0, rank);
    let mut step = size.cast_signed();
    for axis in axis_order(&input.shape, &[&input.strides]) {
        strides[axis] = step;
        if !gone(axis) {
            step *= input.shape[axis].max(1).cast_signed();
        }
    }
    let axes = (0..rank).filter(|&axis| keep || !gone(axis));
    axes.map(|axis| strides[axis]).collect()
}

/// The axes, innermost first, in the order in which NumPy's iterator walks the operands.
fn axis_order(shape: &[usize], operands: &[&[isize]]) -> SmallVec<[usize; 8]> {
    let rank = shape.len();
    let mut perm: SmallVec<[usize; 8]> = (0..rank).rev().collect();
    for i in 1..rank {
        let axis = perm[i];
        let mut place = i;
        for j in (0..i).rev() {
            // An axis of extent one has no order.
            let known = shape[perm[j]] != 1 && shape[axis] != 1;
            match known.then(|| order(operands, perm[j], axis)).flatten() {
                Some(true) => place = j,
                Some(false) => break,
                None => {}
            }
        }
        perm[place..=i].rotate_right(1);
    }
    perm
}

/// Whether `axis` belongs further in than `inner`: no operand with both steps non-zero has the smaller
/// step on `inner`. `None` when no operand tells.
fn order(operands: &[&[isize]], inner: usize, axis: usize) -> Option<bool> {
    let mut further_in = None;
    for steps in operands {
        let (a, b) = (steps[inner].unsigned_abs(), steps[axis].unsigned_abs());
        if a != 0 && b != 0 {
            further_in = Some(a > b && further_in.unwrap_or(true));
        }
    }
    further_in
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strides(shape: &[usize], operands: &[&[isize]]) -> Vec<isize> {
        result_strides(shape, operands, 8).to_vec()
    }

    #[test]
    fn results_keep_the_order_of_their_operands() {
        assert_eq!(strides(&[3, 4], &[&[32, 8]]), [32, 8]);
        assert_eq!(strides(&[3, 4], &[&[8, 24]]), [8, 24]);
        assert_eq!(strides(&[3, 4], &[&[8, 24], &[32, 8]]), [32, 8]);
        assert_eq!(strides(&[3, 4], &[&[0, 8], &[8, 0]]), [32, 8]);
        assert_eq!(strides(&[2, 3, 4], &[&[8, 64, 16]]), [8, 64, 16]);
        assert_eq!(strides(&[], &[&[]]), [0isize; 0]);
        assert_eq!(strides(&[4, 1, 5], &[&[8, 999, 40]]), [8, 160, 32]);
    }

    #[test]
    fn folded_axes_keep_their_place_in_the_order() {
        let mut l = Layout::contiguous(DType::F64, &[5, 2]);
        l.strides = Strides::from_slice(&[8, 40]);
        assert_eq!(fold_strides(&l, 0b10, true, 8).to_vec(), [8, 40]);
        assert_eq!(fold_strides(&l, 0b10, false, 8).to_vec(), [8]);
        assert_eq!(fold_strides(&l, 0b01, true, 8).to_vec(), [8, 8]);
        let l = Layout::contiguous(DType::F64, &[3, 4, 5]);
        assert_eq!(fold_strides(&l, 0b010, true, 4).to_vec(), [20, 20, 4]);
        assert_eq!(fold_strides(&l, 0b010, false, 4).to_vec(), [20, 4]);
    }

    #[test]
    fn axes_of_extent_one_follow_the_path_that_numpy_takes() {
        let mut l = Layout::contiguous(DType::F64, &[5, 1, 4]);
        l.strides = Strides::from_slice(&[8, 999, 40]);
        assert_eq!(
            elementwise_strides(&l.shape, &[&l], true, 4).to_vec(),
            [4, 20, 20]
        );
        assert_eq!(
            elementwise_strides(&l.shape, &[&l], false, 4).to_vec(),
            [4, 80, 20]
        );
        assert_eq!(copy_strides(&l, 8).to_vec(), [8, 40, 40]);
        l.strides = Strides::from_slice(&[16, 999, 80]);
        assert_eq!(
            elementwise_strides(&l.shape, &[&l], true, 8).to_vec(),
            [8, 160, 40]
        );
        assert_eq!(copy_strides(&l, 8).to_vec(), [8, 160, 40]);
        l.strides = Strides::from_slice(&[0, 8, 8]);
        assert_eq!(copy_strides(&l, 8).to_vec(), [8, 160, 40]);
    }

    #[test]
    fn ranges_and_contiguity() {
        let mut l = Layout::contiguous(DType::F64, &[3, 4]);
        assert!(l.is_contiguous());
        assert_eq!(l.byte_range(), (0, 96));
        l.strides[1] = -8;
        l.offset = 24;
        assert!(!l.is_contiguous());
        assert_eq!(l.byte_range(), (0, 96));
        assert_eq!(l.broadcast_to(&[2, 3, 4]).strides.to_vec(), [0, 32, -8]);
        assert!(Layout::contiguous(DType::F64, &[0, 4]).is_contiguous());
    }
}
