//! Boxes of voxels in memory, and copies between them.

use crate::{Buf, Meter, VolumeError};
use arrayloom_types::{DType, Region};
use std::sync::Arc;

/// The voxels of a box, in C order without gaps.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Where the voxels lie, in coordinates of the volume.
    pub region: &'a Region,
    /// Extents of the whole volume.
    pub shape: &'a [i64],
    /// The element type.
    pub dtype: DType,
    /// The voxels.
    pub data: &'a [u8],
}

/// The voxels of a box, to be written.
#[derive(Debug)]
pub struct ViewMut<'a> {
    /// Where the voxels lie.
    pub region: &'a Region,
    /// The element type.
    pub dtype: DType,
    /// The voxels.
    pub data: &'a mut [u8],
}

/// A box of voxels with its own memory.
#[derive(Debug)]
pub struct Block {
    /// Where the voxels lie.
    pub region: Region,
    /// The element type.
    pub dtype: DType,
    /// The voxels; there may be room for more behind them.
    pub buf: Buf,
}

/// Bytes of a box.
pub fn region_bytes(region: &Region, dtype: DType) -> usize {
    usize::try_from(region.voxels())
        .unwrap_or(usize::MAX)
        .saturating_mul(dtype.size())
}

impl Block {
    /// A zeroed box, with room for at least `room` bytes.
    ///
    /// # Errors
    /// [`VolumeError::OutOfMemory`] beyond the budget.
    pub fn new(
        meter: &Arc<Meter>,
        region: Region,
        dtype: DType,
        room: usize,
    ) -> Result<Block, VolumeError> {
        let bytes = region_bytes(&region, dtype).max(room);
        let buf = Buf::new(meter, bytes)?;
        Ok(Block { region, dtype, buf })
    }

    /// The voxels.
    pub fn data(&self) -> &[u8] {
        &self.buf.bytes()[..region_bytes(&self.region, self.dtype)]
    }

    /// The voxels, to be written.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let bytes = region_bytes(&self.region, self.dtype);
        &mut self.buf.bytes_mut()[..bytes]
    }

    /// The voxels as a view of a volume with these extents.
    pub fn view<'a>(&'a self, shape: &'a [i64]) -> View<'a> {
        View {
            region: &self.region,
            shape,
            dtype: self.dtype,
            data: self.data(),
        }
    }
}

/// Copies the voxels of `what` from one box to another; both must contain it.
pub fn copy_box(from: (&Region, &[u8]), to: (&Region, &mut [u8]), what: &Region, size: usize) {
    if what.is_empty() {
        return;
    }
    let ((from_box, from), (to_box, to)) = (from, to);
    let rank = what.rank();
    // The longest run that is contiguous in both: trailing axes that are whole.
    let mut axis = rank;
    let mut run = size;
    while axis > 0 {
        axis -= 1;
        run *= axis_len(what, axis);
        if what.extent(axis) != from_box.extent(axis) || what.extent(axis) != to_box.extent(axis) {
            break;
        }
    }
    let outer = Region {
        lo: what.lo[..axis].into(),
        hi: what.hi[..axis].into(),
    };
    let mut at = what.lo.clone();
    for _ in 0..outer.voxels() {
        let (a, b) = (offset(from_box, &at) * size, offset(to_box, &at) * size);
        to[b..b + run].copy_from_slice(&from[a..a + run]);
        for d in (0..axis).rev() {
            at[d] += 1;
            if at[d] < what.hi[d] {
                break;
            }
            at[d] = what.lo[d];
        }
    }
}

/// Points along an axis, as a length.
pub(crate) fn axis_len(region: &Region, d: usize) -> usize {
    usize::try_from(region.extent(d)).unwrap_or(0)
}

/// The place of a point inside a box in C order.
pub(crate) fn offset(region: &Region, point: &[i64]) -> usize {
    let axes = point.iter().enumerate();
    axes.fold(0, |at, (d, &p)| {
        at * axis_len(region, d) + usize::try_from(p - region.lo[d]).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_copied_point_by_point() {
        let from = Region::new(&[0, 0, 0], &[3, 4, 5]);
        let data: Vec<u8> = (0..60).collect();
        for (lo, hi) in [
            ([1, 1, 1], [3, 3, 4]),
            ([0, 2, 0], [3, 4, 5]),
            ([2, 0, 0], [3, 4, 5]),
        ] {
            let what = Region::new(&lo, &hi);
            let to = Region::new(&[-1, 0, 0], &[3, 4, 6]);
            let mut out = vec![255u8; 4 * 4 * 6];
            copy_box((&from, &data), (&to, &mut out), &what, 1);
            let mut copied = 0;
            for (i, &v) in out.iter().enumerate().filter(|(_, v)| **v != 255) {
                let i = i64::try_from(i).unwrap();
                let p = [i / 24 - 1, i / 6 % 4, i % 6];
                assert_eq!(usize::from(v), offset(&from, &p));
                copied += 1;
            }
            assert_eq!(copied, what.voxels());
        }
    }
}
