//! The work that several workers share.
//!
//! Each takes a part of what is left: a slab along one axis, half of its fair share, so that parts become
//! smaller towards the end and all workers end together. A part comes back, cut down to what is not done, if
//! its worker ran out of memory.

use arrayloom_types::{Coords, Region};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct State {
    rest: Vec<Region>,
    /// Parts that are being worked on.
    running: usize,
    stopped: bool,
}

#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    workers: i64,
    /// Parts are cut at multiples of these.
    align: Coords,
}

impl Queue {
    pub(crate) fn new(rest: Vec<Region>, workers: usize, align: &[i64]) -> Queue {
        Queue {
            state: Mutex::new(State {
                rest,
                running: 0,
                stopped: false,
            }),
            changed: Condvar::new(),
            workers: i64::try_from(workers).unwrap_or(1).max(1),
            align: align.into(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part, or nothing if all is done. Waits for parts of others that may come back.
    pub(crate) fn take(&self) -> Option<Region> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(region) = state.rest.pop() {
                let (part, left) = self.split(region);
                state.rest.extend(left);
                state.running += 1;
                return Some(part);
            }
            if state.running == 0 {
                return None;
            }
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A part is over; `left` of it is still to be done.
    pub(crate) fn give(&self, left: Vec<Region>) {
        let mut state = self.lock();
        state.running -= 1;
        state.rest.extend(left);
        self.changed.notify_all();
    }

    /// A worker gives up: its part goes back, or everything stops.
    pub(crate) fn leave(&self, part: Option<Region>, stop: bool) {
        let mut state = self.lock();
        state.running -= 1;
        state.rest.extend(part);
        state.stopped |= stop;
        self.changed.notify_all();
    }

    /// True if nothing is left.
    pub(crate) fn is_done(&self) -> bool {
        self.lock().rest.is_empty()
    }

    /// The first part of `region`, and what is left of it.
    fn split(&self, region: Region) -> (Region, Option<Region>) {
        let granules = |d: usize| region.extent(d) / self.align[d].max(1);
        let longest = (0..region.rank()).find(|&d| granules(d) >= 2 * self.workers);
        let axis = longest.or_else(|| (0..region.rank()).find(|&d| granules(d) >= 2));
        let Some(axis) = axis.filter(|_| self.workers > 1) else {
            return (region, None);
        };
        let align = self.align[axis].max(1);
        let share = (region.extent(axis) / (2 * self.workers)).max(1);
        let cut = (region.lo[axis] + share).div_euclid(align) * align;
        let cut = if cut <= region.lo[axis] {
            cut + align
        } else {
            cut
        };
        if cut >= region.hi[axis] {
            return (region, None);
        }
        let part = region.with_axis(axis, region.lo[axis], cut);
        let left = region.with_axis(axis, cut, region.hi[axis]);
        (part, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_cut_at_granules_and_cover_everything() {
        for (workers, align) in [(1, 1), (2, 1), (3, 8), (4, 64)] {
            let whole = Region::new(&[3, 0], &[100, 10]);
            let queue = Queue::new(vec![whole.clone()], workers, &[align, 1]);
            let mut parts = Vec::new();
            while let Some(part) = queue.take() {
                assert!(part.hi[0] % align == 0 || part.hi[0] == 100);
                parts.push(part);
                queue.give(Vec::new());
            }
            assert_eq!(parts.len() == 1, workers == 1, "{parts:?}");
            let voxels: u64 = parts.iter().map(Region::voxels).sum();
            assert_eq!(voxels, whole.voxels());
        }
    }

    #[test]
    fn what_comes_back_is_taken_again() {
        let whole = Region::new(&[0], &[10]);
        let queue = Queue::new(vec![whole], 1, &[1]);
        let part = queue.take().unwrap();
        queue.give(vec![part.with_axis(0, 4, 10)]);
        assert_eq!(queue.take(), Some(Region::new(&[4], &[10])));
        queue.leave(None, true);
        assert_eq!(queue.take(), None);
    }
}
