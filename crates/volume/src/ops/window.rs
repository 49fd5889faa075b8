//! Windows around a voxel: their extent along each axis, and which of the points they have.

use crate::VolumeError;
use crate::op::Mode;
use arrayloom_plan::{AxisNeed, Edge, Window};

/// The window along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowAxis {
    /// Points.
    pub len: usize,
    /// Points before the center.
    pub before: i64,
    /// What lies outside.
    pub mode: Mode,
}

pub(crate) fn check(axes: &[WindowAxis]) -> Result<(), VolumeError> {
    let inside = |a: &WindowAxis| usize::try_from(a.before).is_ok_and(|b| b < a.len);
    if axes.is_empty() || !axes.iter().all(inside) {
        return Err(VolumeError::Argument(
            "a window needs at least one point on every axis, and its center inside".to_owned(),
        ));
    }
    Ok(())
}

/// What stands outside where a constant does.
pub(super) fn constant(axes: &[WindowAxis]) -> Option<f64> {
    axes.iter().find_map(|a| match a.mode {
        Mode::Constant(value) => Some(value),
        _ => None,
    })
}

pub(crate) fn needs(axes: &[WindowAxis]) -> Vec<AxisNeed> {
    let need = |(axis, a): (usize, &WindowAxis)| {
        let after = i64::try_from(a.len).unwrap_or(i64::MAX) - 1 - a.before;
        let window = Window::halo(a.before, after);
        // A single point never reaches over the ends: it must not go around with a box that does, since
        // filters take the rows of such an axis as they are.
        let edge = if a.len == 1 {
            Edge::Clip
        } else {
            a.mode.edge()
        };
        AxisNeed::Window { axis, window, edge }
    };
    axes.iter().enumerate().map(need).collect()
}

/// The points of a window: any subset of a box.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbourhood {
    /// The box.
    pub axes: Vec<WindowAxis>,
    /// The points, as places in the box, in C order.
    pub points: Vec<Vec<usize>>,
}

impl Neighbourhood {
    /// The points where `mask` is true; `mask` is the box in C order.
    ///
    /// # Errors
    /// [`VolumeError::Argument`] if nothing is true, or the mask has another size than the box.
    pub fn new(axes: Vec<WindowAxis>, mask: &[bool]) -> Result<Neighbourhood, VolumeError> {
        check(&axes)?;
        let size: usize = axes.iter().map(|a| a.len).product();
        if size != mask.len() || !mask.contains(&true) {
            return Err(VolumeError::Argument(format!(
                "a footprint of {} points for a window of {size}; it needs at least one true point",
                mask.len()
            )));
        }
        let place = |mut i: usize| {
            let mut at = vec![0; axes.len()];
            for (d, axis) in axes.iter().enumerate().rev() {
                at[d] = i % axis.len;
                i /= axis.len;
            }
            at
        };
        let points = mask
            .iter()
            .enumerate()
            .filter(|(_, m)| **m)
            .map(|(i, _)| place(i));
        Ok(Neighbourhood {
            points: points.collect(),
            axes,
        })
    }

    /// The place of the center in `points`, if it is one of them.
    pub(super) fn center(&self) -> Option<usize> {
        let is_center = |point: &Vec<usize>| {
            let mut each = point.iter().zip(&self.axes);
            each.all(|(&at, axis)| usize::try_from(axis.before) == Ok(at))
        };
        self.points.iter().position(is_center)
    }

    /// First and last point of each run along the last axis, as places in `points`.
    pub(crate) fn runs(&self) -> Vec<(usize, usize)> {
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for (i, point) in self.points.iter().enumerate() {
            let last = point.len() - 1;
            let follows = i.checked_sub(1).is_some_and(|before| {
                let before = &self.points[before];
                before[..last] == point[..last] && before[last] + 1 == point[last]
            });
            match runs.last_mut() {
                Some(run) if follows => run.1 = i,
                _ => runs.push((i, i)),
            }
        }
        runs
    }

    /// True if some axis clips its windows.
    pub(crate) fn clips(&self) -> bool {
        self.axes.iter().any(|a| a.mode == Mode::Renormalize)
    }

    /// What stands outside where a constant does.
    pub(crate) fn constant(&self) -> Option<f64> {
        constant(&self.axes)
    }
}
