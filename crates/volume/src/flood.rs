//! Erosion and dilation repeated in memory: only what lies around changes is looked at.
//!
//! A step is monotone: of a larger set it makes a larger one. So if the first step only adds voxels, or only takes
//! some away, all later steps do the same, and a voxel changes in one of them exactly if it is open, that is, it may
//! change and has not yet, and a voxel under its window changed in the step before. What stands outside of the array
//! has done all of its work in the first step.

use crate::block::axis_len;
use crate::ops::Neighbourhood;
use crate::{Meter, Scratch, VolumeError};
use arrayloom_types::Region;
use std::sync::Arc;

/// The state of voxels that may change; those that have are twice that. Others are 0, and so is a margin around the
/// array, which no step leaves.
const OPEN: u8 = 1;

/// Voxels that are looked at between two looks at memory.
const TOGETHER: usize = 64;

/// Neighbours that are looked at between two questions whether to go on.
const PATIENCE: usize = 1 << 22;

/// Steps that follow a first one.
#[derive(Debug)]
pub struct Flood<'a> {
    /// Extents of the array.
    pub shape: &'a [i64],
    /// What a step looks at.
    pub window: &'a Neighbourhood,
    /// Where voxels may change; everywhere if none.
    pub mask: Option<&'a [u8]>,
    /// What voxels become: 1 for dilations, 0 for erosions.
    pub to: u8,
    /// Steps at most.
    pub steps: u64,
    /// Where memory is counted.
    pub meter: Arc<Meter>,
}

/// Voxels that changed in a step, as places in the array of states.
struct Front {
    places: Scratch<usize>,
    len: usize,
}

impl Front {
    fn new(meter: &Arc<Meter>) -> Result<Front, VolumeError> {
        let places = Scratch::new(meter, 0)?;
        Ok(Front { places, len: 0 })
    }

    /// Makes room for `more` places.
    fn reserve(&mut self, meter: &Arc<Meter>, more: usize) -> Result<(), VolumeError> {
        let wanted = self.len + more;
        // One more, since a place is written before it is known to be one.
        if wanted >= self.places.get().len() {
            let mut larger = Scratch::new(meter, (wanted + 1).next_power_of_two())?;
            larger.get_mut()[..self.len].copy_from_slice(&self.places.get()[..self.len]);
            self.places = larger;
        }
        Ok(())
    }
}

/// The array of states: the array with a margin on all sides.
struct Field {
    states: Scratch<u8>,
    /// Extents of the array.
    extents: Vec<usize>,
    /// Distances of neighbours along axes.
    strides: Vec<usize>,
    /// The place of the first voxel.
    first: usize,
    /// How far back those lie whose window has a voxel.
    back: Vec<isize>,
}

impl Field {
    fn new(flood: &Flood<'_>) -> Result<Field, VolumeError> {
        let rank = flood.shape.len();
        let axes = &flood.window.axes;
        let whole = Region::whole(flood.shape);
        let extents: Vec<usize> = (0..rank).map(|d| axis_len(&whole, d)).collect();
        let offset = |point: &Vec<usize>| -> Vec<i64> {
            let each = point.iter().zip(axes);
            each.map(|(&at, axis)| i64::try_from(at).unwrap_or(i64::MAX) - axis.before)
                .collect()
        };
        // Points so far off that no two voxels of the array are.
        let is_near = |o: &Vec<i64>| o.iter().zip(flood.shape).all(|(o, n)| o.abs() < *n);
        let points = flood.window.points.iter().map(offset).filter(is_near);
        let offsets: Vec<Vec<i64>> = points.collect();
        let margin = |d: usize, sign: i64| {
            let most = offsets.iter().map(|o| sign * o[d]).max().unwrap_or(0);
            usize::try_from(most).unwrap_or(0)
        };
        let mut strides = vec![1; rank];
        let (mut size, mut first) = (1_usize, 0);
        for d in (0..rank).rev() {
            strides[d] = size;
            first += margin(d, 1) * size;
            let wide = margin(d, 1) + extents[d] + margin(d, -1);
            size = size.saturating_mul(wide);
        }
        let place = |offset: &Vec<i64>| {
            let each = offset.iter().zip(&strides);
            each.map(|(&o, &stride)| isize::try_from(o).unwrap_or(0) * stride.cast_signed())
                .sum()
        };
        Ok(Field {
            states: Scratch::new(&flood.meter, size)?,
            back: offsets.iter().map(place).collect(),
            extents,
            strides,
            first,
        })
    }

    /// For each row of the array: its first voxel there and here.
    fn rows(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (extents, strides) = (self.extents.clone(), self.strides.clone());
        let (first, outer) = (self.first, extents.len() - 1);
        let count: usize = extents[..outer].iter().product();
        (0..count).map(move |row| {
            let (mut rest, mut place) = (row, first);
            for d in (0..outer).rev() {
                place += rest % extents[d] * strides[d];
                rest /= extents[d];
            }
            (row * extents[outer], place)
        })
    }

    fn row_len(&self) -> usize {
        self.extents.last().copied().unwrap_or(0)
    }
}

impl Flood<'_> {
    /// Takes the steps that follow the one from `before` to `now`, elements of which are 0 or 1; what that one changed
    /// outside of the mask is undone. False if there are no more steps taken, because it both added voxels and took
    /// some away.
    ///
    /// # Errors
    /// [`VolumeError::OutOfMemory`], and [`VolumeError::Cancelled`] once `goes_on` says no.
    pub fn run(
        &self,
        before: &[u8],
        now: &mut [u8],
        goes_on: &dyn Fn() -> bool,
    ) -> Result<bool, VolumeError> {
        if let Some(mask) = self.mask {
            for ((new, old), inside) in now.iter_mut().zip(before).zip(mask) {
                *new = *new & inside | old & !inside;
            }
        }
        let each = before.iter().zip(&*now);
        let stray = each.fold(0, |all, (old, new)| all | (old ^ new) & (new ^ self.to));
        if stray != 0 {
            return Ok(false);
        }
        if self.steps == 0 || before == now {
            return Ok(true);
        }
        let mut field = Field::new(self)?;
        let mut front = self.open(before, now, &mut field)?;
        let mut next = Front::new(&self.meter)?;
        let mut looked_at = 0;
        for _ in 0..self.steps {
            if front.len == 0 {
                break;
            }
            self.step(&mut field, &front, &mut next)?;
            looked_at += front.len * field.back.len();
            if looked_at >= PATIENCE {
                looked_at = 0;
                if !goes_on() {
                    return Err(VolumeError::Cancelled { done: 0, blocks: 1 });
                }
            }
            std::mem::swap(&mut front, &mut next);
        }
        let (states, len) = (field.states.get(), field.row_len());
        for (there, here) in field.rows() {
            let row = states[here..here + len].iter();
            for (voxel, state) in now[there..there + len].iter_mut().zip(row) {
                *voxel ^= state >> 1;
            }
        }
        Ok(true)
    }

    /// Opens what may change, and finds what has changed.
    fn open(&self, before: &[u8], now: &[u8], field: &mut Field) -> Result<Front, VolumeError> {
        let mut front = Front::new(&self.meter)?;
        let (rows, len) = (field.rows(), field.row_len());
        for (there, here) in rows {
            let part = there..there + len;
            let (old, new) = (&before[part.clone()], &now[part.clone()]);
            let states = &mut field.states.get_mut()[here..here + len];
            for (state, new) in states.iter_mut().zip(new) {
                *state = new ^ self.to;
            }
            if let Some(mask) = self.mask {
                for (state, mask) in states.iter_mut().zip(&mask[part]) {
                    *state &= mask;
                }
            }
            let ((old, old_rest), (new, new_rest)) = (old.as_chunks(), new.as_chunks());
            let rest = (&eight(old_rest), &eight(new_rest));
            let eights = old.iter().zip(new).chain([rest]).enumerate();
            for (number, (old, new)) in eights {
                let mut changed = u64::from_le_bytes(*old) ^ u64::from_le_bytes(*new);
                if changed == 0 {
                    continue;
                }
                front.reserve(&self.meter, 8)?;
                let places = front.places.get_mut();
                while changed != 0 {
                    places[front.len] = here + 8 * number + changed.trailing_zeros() as usize / 8;
                    front.len += 1;
                    changed &= changed - 1;
                }
            }
        }
        Ok(front)
    }

    /// One step: from what changed in the last one to what changes now.
    fn step(&self, field: &mut Field, front: &Front, next: &mut Front) -> Result<(), VolumeError> {
        next.len = 0;
        let states = field.states.get_mut();
        for some in front.places.get()[..front.len].chunks(TOGETHER) {
            next.reserve(&self.meter, some.len() * field.back.len())?;
            let (places, mut len) = (next.places.get_mut(), next.len);
            for &place in some {
                for &back in &field.back {
                    // What is open becomes reached, and a place of the next front; there is no branch to be guessed.
                    let there = place.wrapping_add_signed(-back);
                    let open = states[there] & OPEN;
                    states[there] += open;
                    places[len] = there;
                    len += usize::from(open);
                }
            }
            next.len = len;
        }
        Ok(())
    }
}

/// Up to eight bytes, and zeros behind them.
fn eight(bytes: &[u8]) -> [u8; 8] {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    eight
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mode;
    use crate::ops::WindowAxis;

    const LINE: usize = 300;

    /// A window of three points on a line.
    fn three() -> Neighbourhood {
        let axis = WindowAxis {
            len: 3,
            before: 1,
            mode: Mode::Constant(0.0),
        };
        Neighbourhood::new(vec![axis], &[true; 3]).unwrap()
    }

    /// What becomes of a line of which voxels 10 to 12 are new; voxel 20 never changes.
    fn flooded(steps: u64, budget: u64) -> Result<usize, VolumeError> {
        let window = three();
        let mut mask = [1; LINE];
        mask[20] = 0;
        let flood = Flood {
            shape: &[300],
            window: &window,
            mask: Some(&mask),
            to: 1,
            steps,
            meter: Meter::new(budget),
        };
        let (mut before, mut now) = ([0; LINE], [0; LINE]);
        before[11] = 1;
        now[10..13].fill(1);
        assert!(flood.run(&before, &mut now, &|| true)?);
        Ok(now.iter().map(|&v| usize::from(v)).sum())
    }

    #[test]
    fn changes_spread_by_steps_until_the_mask_ends() {
        assert_eq!(flooded(0, 1 << 20).unwrap(), 3);
        assert_eq!(flooded(2, 1 << 20).unwrap(), 7);
        assert_eq!(flooded(u64::MAX, 1 << 20).unwrap(), 20);
    }

    #[test]
    fn memory_that_is_lacking_is_an_error() {
        assert!(flooded(9, 100).unwrap_err().is_memory());
        assert!(flooded(9, 320).unwrap_err().is_memory());
    }

    #[test]
    fn a_step_in_both_directions_is_not_followed() {
        let window = three();
        let flood = Flood {
            shape: &[4],
            window: &window,
            mask: Some(&[1, 1, 1, 0]),
            to: 1,
            steps: 9,
            meter: Meter::new(1 << 20),
        };
        let mut now = [0, 1, 1, 1];
        assert!(!flood.run(&[1, 0, 0, 0], &mut now, &|| true).unwrap());
        assert_eq!(now, [0, 1, 1, 0]);
    }
}
