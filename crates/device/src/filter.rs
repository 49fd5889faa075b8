//! Filters as operations of devices: what [`crate::ExtCall`] says of them.
//!
//! A filter along an axis is [`FILTER_PASS`]. Its operands are packed: voxels, and tables. All that depends on where a box lies in its volume is in the tables, so devices know no faces.

/// The operation that [`FilterPass`] describes.
pub const FILTER_PASS: &str = "filter_pass";

/// What the voxels of a window become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The sum of weights times voxels, each product fused with the sum, in the order of places.
    Weights,
    /// The same with weights that are the negative of their mirror image: where the whole window exists, from
    /// the middle outwards, each times the difference of its two voxels.
    Odd,
    /// The sum, over axes, of what is derived along one axis and smoothed along the others: a voxel has two
    /// numbers between passes, smooth and derived.
    Laplacian,
    /// The smallest key (see [`Keys`]).
    Least,
    /// The sum of whole numbers, in `int32`.
    Sum,
}

/// How voxels stand for unsigned integers of their size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keys {
    /// They are these integers.
    Plain,
    /// The smallest value has the smallest key, but for NaN, which has zero.
    Lowest,
    /// The greatest value has the smallest key, but for NaN, which has zero.
    Highest,
}

/// One pass of a filter along an axis.
///
/// Operands: the voxels. `start`: for each output the first row of its window, or `-1 - n` where rows are folded or
/// missing, with `n` the number of its list. `index`: for each coordinate of the padded axis its row, or -1. For
/// weighted sums the weights of all lists (of Laplacians: those that smooth, then those that derive); list 0 is
/// for windows without missing rows. `bias`: what missing voxels add in each list. Tables are `int32`, weights and
/// `bias` have the dtype of the arithmetic. The result has the voxels as `(outer, outputs, row)`. If a voxel has
/// two numbers, all first ones lie before all second ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterPass {
    /// What windows become.
    pub fold: Fold,
    /// Points of the window.
    pub taps: u32,
    /// Numbers of a voxel that is read, and of one that is written.
    pub channels: [u8; 2],
    /// How voxels that are read, and those that are written, stand for keys.
    pub keys: [Keys; 2],
    /// What sums of whole numbers are divided by, to the nearest `float64`; zero if they stay sums.
    pub points: f64,
}

const FOLDS: [Fold; 5] = [
    Fold::Weights,
    Fold::Odd,
    Fold::Laplacian,
    Fold::Least,
    Fold::Sum,
];
const KEYS: [Keys; 3] = [Keys::Plain, Keys::Lowest, Keys::Highest];

fn number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|known| known == one);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

impl FilterPass {
    /// A pass that folds windows of `taps` points, of numbers as they are.
    pub fn new(fold: Fold, taps: u32) -> FilterPass {
        FilterPass {
            fold,
            taps,
            channels: [1, 1],
            keys: [Keys::Plain; 2],
            points: 0.0,
        }
    }

    /// The attributes of the call.
    pub fn attrs(&self) -> Vec<u8> {
        let keys = self.keys.map(|k| number(&KEYS, &k));
        let [from, to] = self.channels;
        let mut attrs = vec![number(&FOLDS, &self.fold), from, to, keys[0], keys[1]];
        attrs.extend(self.taps.to_le_bytes());
        attrs.extend(self.points.to_le_bytes());
        attrs
    }

    /// The pass that attributes tell; nothing if they tell none.
    pub fn of(attrs: &[u8]) -> Option<FilterPass> {
        let (&[fold, from, to, read, written], rest) = attrs.split_first_chunk::<5>()?;
        let (taps, points) = rest.split_first_chunk::<4>()?;
        let known = |kind: u8| KEYS.get(usize::from(kind)).copied();
        Some(FilterPass {
            fold: *FOLDS.get(usize::from(fold))?,
            taps: u32::from_le_bytes(*taps),
            channels: [from, to],
            keys: [known(read)?, known(written)?],
            points: f64::from_le_bytes(points.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_tell_the_pass() {
        for fold in FOLDS {
            let pass = FilterPass {
                channels: [2, 1],
                keys: [Keys::Lowest, Keys::Highest],
                points: 27.0,
                ..FilterPass::new(fold, 300)
            };
            assert_eq!(FilterPass::of(&pass.attrs()), Some(pass));
            assert_eq!(FilterPass::of(&pass.attrs()[1..]), None);
        }
        assert_eq!(FilterPass::of(&[9; 17]), None);
    }
}
