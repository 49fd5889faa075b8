//! Half-open boxes in the coordinates of a volume.

use smallvec::SmallVec;
use std::fmt;

/// Coordinates, one for each axis. They may be negative: windows reach out of a volume.
pub type Coords = SmallVec<[i64; 5]>;

/// The box of the points `p` with `lo[d] <= p[d] < hi[d]` on every axis `d`.
///
/// A box with `lo[d] >= hi[d]` on some axis is empty. A box without axes has one point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// First coordinates.
    pub lo: Coords,
    /// Coordinates behind the last.
    pub hi: Coords,
}

impl Region {
    /// The box between two corners of the same rank.
    ///
    /// # Panics
    /// If the ranks differ.
    pub fn new(lo: &[i64], hi: &[i64]) -> Region {
        assert_eq!(lo.len(), hi.len(), "corners of one rank");
        Region {
            lo: lo.into(),
            hi: hi.into(),
        }
    }

    /// The box of a whole volume, from the origin.
    pub fn whole(shape: &[i64]) -> Region {
        Region {
            lo: shape.iter().map(|_| 0).collect(),
            hi: shape.into(),
        }
    }

    /// Number of axes.
    pub fn rank(&self) -> usize {
        self.lo.len()
    }

    /// Points along axis `d`, at least zero.
    pub fn extent(&self, d: usize) -> i64 {
        (self.hi[d] - self.lo[d]).max(0)
    }

    /// Points along every axis.
    pub fn extents(&self) -> Coords {
        (0..self.rank()).map(|d| self.extent(d)).collect()
    }

    /// True if no point lies inside.
    pub fn is_empty(&self) -> bool {
        (0..self.rank()).any(|d| self.extent(d) == 0)
    }

    /// Number of points.
    pub fn voxels(&self) -> u64 {
        (0..self.rank())
            .map(|d| self.extent(d).unsigned_abs())
            .product()
    }

    /// True if every point of `other` lies inside.
    pub fn contains(&self, other: &Region) -> bool {
        other.is_empty()
            || (0..self.rank()).all(|d| self.lo[d] <= other.lo[d] && other.hi[d] <= self.hi[d])
    }

    /// The points in both boxes.
    pub fn clip(&self, other: &Region) -> Region {
        let pick = |a: &Coords, b: &Coords, f: fn(i64, i64) -> i64| {
            a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
        };
        Region {
            lo: pick(&self.lo, &other.lo, i64::max),
            hi: pick(&self.hi, &other.hi, i64::min),
        }
    }

    /// The smallest box with the points of both; an empty box adds nothing.
    pub fn hull(&self, other: &Region) -> Region {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        let pick = |a: &Coords, b: &Coords, f: fn(i64, i64) -> i64| {
            a.iter().zip(b).map(|(&x, &y)| f(x, y)).collect()
        };
        Region {
            lo: pick(&self.lo, &other.lo, i64::min),
            hi: pick(&self.hi, &other.hi, i64::max),
        }
    }

    /// The box moved by `by`.
    pub fn shift(&self, by: &[i64]) -> Region {
        let add = |a: &Coords| a.iter().zip(by).map(|(&x, &y)| x + y).collect();
        Region {
            lo: add(&self.lo),
            hi: add(&self.hi),
        }
    }

    /// The same box with axis `d` cut to `lo..hi`.
    pub fn with_axis(&self, d: usize, lo: i64, hi: i64) -> Region {
        let mut out = self.clone();
        out.lo[d] = lo;
        out.hi[d] = hi;
        out
    }

    /// The points of this box that are not in `other`, as disjoint boxes: at most two for each axis.
    pub fn minus(&self, other: &Region) -> Vec<Region> {
        let common = self.clip(other);
        if common.is_empty() {
            return if self.is_empty() {
                Vec::new()
            } else {
                vec![self.clone()]
            };
        }
        let mut rest = self.clone();
        let mut out = Vec::new();
        for d in 0..self.rank() {
            if rest.lo[d] < common.lo[d] {
                out.push(rest.with_axis(d, rest.lo[d], common.lo[d]));
            }
            if common.hi[d] < rest.hi[d] {
                out.push(rest.with_axis(d, common.hi[d], rest.hi[d]));
            }
            rest = rest.with_axis(d, common.lo[d], common.hi[d]);
        }
        out
    }
}

impl fmt::Display for Region {
    /// As slices, such as `[0:4, 10:20]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for d in 0..self.rank() {
            let comma = if d == 0 { "" } else { ", " };
            write!(f, "{comma}{}:{}", self.lo[d], self.hi[d])?;
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes() -> Vec<Region> {
        let mut out = Vec::new();
        for lo in 0..4 {
            for hi in 0..4 {
                for (low, high) in [(0, 3), (1, 2), (2, 2)] {
                    out.push(Region::new(&[lo, low], &[hi, high]));
                }
            }
        }
        out
    }

    fn has(r: &Region, p: [i64; 2]) -> bool {
        (0..2).all(|d| r.lo[d] <= p[d] && p[d] < r.hi[d])
    }

    #[test]
    fn set_operations_agree_with_membership() {
        for a in boxes() {
            for b in boxes() {
                let (both, either, rest) = (a.clip(&b), a.hull(&b), a.minus(&b));
                assert_eq!(
                    rest.iter().map(Region::voxels).sum::<u64>(),
                    a.voxels() - both.voxels()
                );
                for p in (0..16).map(|i| [i / 4, i % 4]) {
                    assert_eq!(has(&both, p), has(&a, p) && has(&b, p));
                    assert!(has(&either, p) || !(has(&a, p) || has(&b, p)));
                    let inside = rest.iter().filter(|r| has(r, p)).count();
                    assert_eq!(inside, usize::from(has(&a, p) && !has(&b, p)));
                }
                assert_eq!(a.contains(&b), b.minus(&a).is_empty());
            }
        }
    }

    #[test]
    fn a_box_without_axes_has_one_point() {
        let point = Region::whole(&[]);
        assert_eq!(point.voxels(), 1);
        assert!(!point.is_empty());
        assert_eq!(Region::new(&[0, 5], &[2, 9]).to_string(), "[0:2, 5:9]");
    }
}
