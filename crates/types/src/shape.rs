//! Shapes and broadcasting.

use smallvec::SmallVec;

/// Extents of the axes, outermost first. Up to four axes are held without a heap allocation.
pub type Shape = SmallVec<[usize; 4]>;

/// Two shapes that do not broadcast together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("shapes {left:?} and {right:?} do not broadcast together: axes must be equal or one")]
pub struct BroadcastError {
    /// The first shape.
    pub left: Shape,
    /// The second shape.
    pub right: Shape,
}

/// Number of elements: the product of the extents.
pub fn count(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The shape of an element-wise result: axes aligned at the end, ones stretched.
///
/// # Errors
/// [`BroadcastError`] when two extents differ and neither is one.
pub fn broadcast(left: &[usize], right: &[usize]) -> Result<Shape, BroadcastError> {
    let rank = left.len().max(right.len());
    let mut out = Shape::with_capacity(rank);
    for axis in 0..rank {
        let l = extent(left, rank, axis);
        let r = extent(right, rank, axis);
        if l != r && l != 1 && r != 1 {
            return Err(BroadcastError {
                left: left.into(),
                right: right.into(),
            });
        }
        out.push(if l == 1 { r } else { l });
    }
    Ok(out)
}

/// [`broadcast`] over any number of shapes.
///
/// # Errors
/// [`BroadcastError`] naming the shape so far and the one that does not fit.
pub fn broadcast_many<'a>(
    shapes: impl IntoIterator<Item = &'a [usize]>,
) -> Result<Shape, BroadcastError> {
    shapes
        .into_iter()
        .try_fold(Shape::new(), |all, shape| broadcast(&all, shape))
}

/// Extent of `axis` of a shape aligned at the end of `rank` axes; missing axes are one.
fn extent(shape: &[usize], rank: usize, axis: usize) -> usize {
    (axis + shape.len())
        .checked_sub(rank)
        .map_or(1, |i| shape[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasting_follows_numpy() {
        let b = |l: &[usize], r: &[usize]| broadcast(l, r).ok().map(|s| s.to_vec());
        assert_eq!(b(&[3, 1], &[1, 4]), Some(vec![3, 4]));
        assert_eq!(b(&[], &[2]), Some(vec![2]));
        assert_eq!(b(&[0], &[1]), Some(vec![0]));
        assert_eq!(b(&[5, 1, 2], &[3, 1]), Some(vec![5, 3, 2]));
        assert_eq!(b(&[3], &[4]), None);
        assert_eq!(b(&[0], &[2]), None);
        assert_eq!(count(&[]), 1);
    }
}
