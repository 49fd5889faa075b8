//! Filters as operations of devices: what [`crate::ExtCall`] says of them.
//!
//! A filter along an axis is [`FILTER_PASS`], one over a window of any shape [`FILTER_WINDOW`]. Operands are packed:
//! voxels, and tables. All that depends on where a box lies in its volume is in the tables, so devices know no faces.

use arrayloom_types::DType;

/// The operation that [`FilterPass`] describes.
pub const FILTER_PASS: &str = "filter_pass";

/// The operation that [`FilterWindow`] describes.
pub const FILTER_WINDOW: &str = "filter_window";

/// What the voxels of a window become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The sum of weights times voxels, each product fused with the sum, in the order of places.
    Weights,
    /// The same with weights that are the negative of their mirror image: where the whole window exists, from
    /// the middle outwards, each times the difference of its two voxels; the middle itself first.
    Odd,
    /// The sum, over axes, of what is derived along one axis and smoothed along the others: a voxel has two
    /// numbers between passes, smooth and derived.
    Laplacian,
    /// The smallest key (see [`Keys`]).
    Least,
    /// The sum of whole numbers, in `int32` or `int64`. In `uint64` it has 128 bits: a voxel has their lower and their
    /// upper half between passes.
    Sum,
    /// The sum of whole numbers and that of their squares, in `float64`: a voxel has both between passes.
    Squares,
    /// The mean and the variance of boxes of equal size, in `float64`, from the row in the middle of the window: the
    /// variance of all is the mean of variances plus the variance of means. A voxel has both between passes, and
    /// itself as a third number where it is wanted.
    ///
    /// In another order than that of rows, two boxes are joined: of means `m` and `n`, variances `v` and `w`, the second
    /// one with the share `s` of their rows. Then `mean = fma(s, n - m, m)`, and the variance is
    /// `fma(s * (n - m), n - mean, fma(s, w, (1 - s) * v))`. What stands for a missing row is its mean.
    Moments,
    /// The smallest key and the greatest one (see [`Keys`]): a voxel has both between passes. The last pass writes the
    /// greatest value minus the smallest one, where integers saturate; a NaN gives NaN.
    Range,
    /// The mean of floats that are joined by [`Order::Boxes`] or [`Order::Cuts`]: each is multiplied with a number and then
    /// added, the sum is divided, and the quotient multiplied with another number. `bias` says with which.
    Mean,
}

/// The order in which the rows of a window are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// One after the other, as [`Fold`] says.
    Rows,
    /// By boxes of as many rows as the bits of `taps` say, the smallest one first. A box is joined from its two halves, and
    /// these likewise; what is joined so far comes before the next box.
    Boxes,
    /// From a cut. There is one before row `cut` of the padded axis, and before each that lies a multiple of `taps`
    /// beside it. Rows before the cut are joined backwards, each to all behind it, rows behind it forwards, and then
    /// both. A window that begins at a cut ends at the next one.
    Cuts,
}

/// What the last pass makes of mean and variance, in `float64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spread {
    /// The variance.
    Variance,
    /// Its square root, the deviation.
    Deviation,
    /// The deviation over the mean; 0 if both are.
    Variation,
    /// Wiener's estimate of the voxel for noise of the variance `factor`.
    Wiener,
    /// The mean minus `factor` deviations.
    Niblack,
    /// `mean * (1 + factor * (deviation / range - 1))`.
    Sauvola,
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
    /// Keys rise with values; NaN has the greatest.
    Rising,
}

/// One pass of a filter along an axis.
///
/// Operands: the voxels. `start`: for each output the first row of its window, or `-1 - n` where rows are folded or
/// missing, with `n` the number of its list. `index`: for each coordinate of the padded axis its row, or -1. For
/// weighted sums the weights of all lists (of Laplacians: those that smooth, then those that derive); list 0 is
/// for windows without missing rows. `bias`: what missing voxels add in each list. Tables are `int32`, weights and
/// `bias` have the dtype of the arithmetic. The result has the voxels as `(outer, outputs, row)`. If a voxel has
/// several numbers, all first ones lie before all second ones. A list of `bias` has one number, two for Laplacians,
/// squares, ranges and sums of 128 bits, three for moments: what stands for missing rows, how many those are, and
/// the share of one row in all; and four for means: what stands for a missing row, what voxels are multiplied with, what
/// their sum is divided by, and what the quotient is multiplied with.
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
    /// What sums of whole numbers are divided by, to the nearest `float64`; zero if they stay sums. For squares the
    /// points of the window along all axes.
    pub points: f64,
    /// For moments: points of the window before its middle.
    pub before: u32,
    /// What mean and variance become, in the last pass of moments and squares.
    pub spread: Option<Spread>,
    /// The numbers `factor` and `range` of a spread.
    pub given: [f64; 2],
    /// The order of rows.
    pub order: Order,
    /// For cuts: the first row of the padded axis that lies behind one, fewer than `taps`.
    pub cut: u32,
}

/// What the points of a window of any shape become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gather {
    /// As [`Fold::Weights`], in the order of points.
    Weights,
    /// As [`Fold::Odd`].
    Odd,
    /// As [`Fold::Least`].
    Least,
    /// The key that so many keys are smaller than; of `m` that exist of `n` points that of rank `rank * m / n`,
    /// and `m / 2` for the middle one. Keys of floats rise with their values, and that of NaN is the greatest: a
    /// window with one has it.
    Rank,
    /// The mean of the points that exist, taken from the voxel itself: a point counts by its weight times
    /// `exp(-(given[0] * difference)^2)`. In `float32` the exponent is one of two.
    Bilateral,
    /// The smallest of the points that exist, each less its weight, or the greatest, each with its weight; a NaN before
    /// all others.
    Lowest,
    /// See [`Gather::Lowest`].
    Highest,
    /// The bin of the only point: of `given[2]` bins, number `(value / 2 - given[0]) / given[1] * given[2]`, rounded down. NaN
    /// stays.
    Bin,
    /// Bits of the distribution of points that exist over bins, given their numbers. Weights are the steps of
    /// `c * log2(c)` in units of `2^-32`, whole numbers. A NaN gives NaN.
    Entropy,
    /// The mean of the voxels that shifts lead to, by C order, each weighted with the exponential of the distance times
    /// a negative number, where the distance is the sum of squared differences of the patches around both voxels, along one axis
    /// after the other, over their points that exist; in `float32` the exponent is one of two. The window has two points:
    /// how far shifts reach along each axis, and how far patches do. `rank` is the number of points of a patch, and
    /// `offsets` has the bits of the `float64` that distances are multiplied with, for each number of points that exist.
    Patches,
    /// The voxel itself and `given[1]` times what flows in from the points that exist: a difference times
    /// `exp(-(given[0] * difference)^2)`, or over one plus that square if `given[2]` is not zero.
    Diffusion,
    /// The mean of whole numbers that exist, zero where none does, from a sum as [`Fold::Sum`] makes it, rounded once.
    Mean,
    /// What becomes of mean and variance of the points that exist, taken from the voxel itself, or from the first of
    /// these points where `given[2]` is zero. It is given `factor` and `range` as [`FilterPass`] is.
    Spread(Spread),
}

impl Gather {
    /// Points in `places` and `offsets` behind those of the window: the voxel itself where it is looked at.
    pub fn more_points(self) -> usize {
        use Gather::{Bilateral, Diffusion};
        usize::from(matches!(self, Bilateral | Diffusion | Gather::Spread(_)))
    }

    /// True if points have weights.
    pub fn is_weighted(self) -> bool {
        use Gather::{Bilateral, Entropy, Highest, Lowest, Odd, Weights};
        matches!(self, Weights | Odd | Bilateral | Lowest | Highest | Entropy)
    }

    /// True if keys of voxels are compared, false if voxels are computed with.
    pub fn is_of_keys(self) -> bool {
        matches!(self, Gather::Least | Gather::Rank)
    }
}

/// A filter over the points of a window.
///
/// Operands: the voxels, with the extents of their box. `facts`, `int64`: for each axis the extent of the result, the
/// step of the voxels, where its part of `start` begins, and where its part of `index` begins. `start`: for each
/// output of an axis the first row of its window, or -1 where rows do not follow one another. `index`: for each
/// coordinate of the padded axis its row, -1 where a constant stands, or -2 where there is nothing. `places`: for
/// each point its place on every axis. `offsets`: for each point its distance from the first corner, in voxels.
/// `weights` where points have some. `nothing`: the constant, in the dtype of the arithmetic, and the upper half behind
/// the lower one for sums of 128 bits. `facts` and `offsets` are `int64`, other
/// tables `int32`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterWindow {
    /// What windows become.
    pub gather: Gather,
    /// Points of the window.
    pub points: u32,
    /// The rank that is wanted.
    pub rank: u32,
    /// How voxels stand for keys.
    pub keys: Keys,
    /// What it is given, as [`Gather`] says.
    pub given: [f64; 3],
}

const GATHERS: [Gather; 18] = [
    Gather::Weights,
    Gather::Odd,
    Gather::Least,
    Gather::Rank,
    Gather::Bilateral,
    Gather::Lowest,
    Gather::Highest,
    Gather::Bin,
    Gather::Entropy,
    Gather::Patches,
    Gather::Diffusion,
    Gather::Mean,
    Gather::Spread(Spread::Variance),
    Gather::Spread(Spread::Deviation),
    Gather::Spread(Spread::Variation),
    Gather::Spread(Spread::Wiener),
    Gather::Spread(Spread::Niblack),
    Gather::Spread(Spread::Sauvola),
];

impl FilterWindow {
    /// The attributes of the call.
    pub fn attrs(&self) -> Vec<u8> {
        let mut attrs = vec![number(&GATHERS, &self.gather), number(&KEYS, &self.keys)];
        attrs.extend(self.points.to_le_bytes());
        attrs.extend(self.rank.to_le_bytes());
        attrs.extend(self.given.iter().flat_map(|g| g.to_le_bytes()));
        attrs
    }

    /// The filter that attributes tell; nothing if they tell none.
    pub fn of(attrs: &[u8]) -> Option<FilterWindow> {
        let (&[gather, keys], rest) = attrs.split_first_chunk::<2>()?;
        let (points, rest) = rest.split_first_chunk::<4>()?;
        let (rank, rest) = rest.split_first_chunk::<4>()?;
        let (given, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let given: &[[u8; 8]; 3] = given.try_into().ok()?;
        Some(FilterWindow {
            gather: *GATHERS.get(usize::from(gather))?,
            keys: *KEYS.get(usize::from(keys))?,
            points: u32::from_le_bytes(*points),
            rank: u32::from_le_bytes(*rank),
            given: given.map(f64::from_le_bytes),
        })
    }
}

const FOLDS: [Fold; 9] = [
    Fold::Weights,
    Fold::Odd,
    Fold::Laplacian,
    Fold::Least,
    Fold::Sum,
    Fold::Squares,
    Fold::Moments,
    Fold::Range,
    Fold::Mean,
];
const ORDERS: [Order; 3] = [Order::Rows, Order::Boxes, Order::Cuts];
const SPREADS: [Option<Spread>; 7] = [
    None,
    Some(Spread::Variance),
    Some(Spread::Deviation),
    Some(Spread::Variation),
    Some(Spread::Wiener),
    Some(Spread::Niblack),
    Some(Spread::Sauvola),
];
const KEYS: [Keys; 4] = [Keys::Plain, Keys::Lowest, Keys::Highest, Keys::Rising];

fn number<T: PartialEq>(all: &[T], one: &T) -> u8 {
    let at = all.iter().position(|known| known == one);
    at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX)
}

impl Fold {
    /// True for sums with weights.
    pub fn is_weighted(self) -> bool {
        matches!(self, Fold::Weights | Fold::Odd | Fold::Laplacian)
    }

    /// The numbers of a list of `bias`, in the arithmetic `work`; as many lists of weights are one.
    pub fn numbers(self, work: DType) -> usize {
        match self {
            Fold::Laplacian | Fold::Squares | Fold::Range => 2,
            Fold::Moments => 3,
            Fold::Mean => 4,
            Fold::Sum if work == DType::U64 => 2,
            Fold::Weights | Fold::Odd | Fold::Least | Fold::Sum => 1,
        }
    }
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
            before: 0,
            spread: None,
            given: [0.0; 2],
            order: Order::Rows,
            cut: 0,
        }
    }

    /// The attributes of the call. Those of passes that take row after row do not name an order.
    pub fn attrs(&self) -> Vec<u8> {
        let keys = self.keys.map(|k| number(&KEYS, &k));
        let [from, to] = self.channels;
        let (fold, spread) = (number(&FOLDS, &self.fold), number(&SPREADS, &self.spread));
        let mut attrs = vec![fold, from, to, keys[0], keys[1], spread];
        for count in [self.taps, self.before] {
            attrs.extend(count.to_le_bytes());
        }
        for given in [self.points, self.given[0], self.given[1]] {
            attrs.extend(given.to_le_bytes());
        }
        if self.order != Order::Rows {
            attrs.push(number(&ORDERS, &self.order));
            attrs.extend(self.cut.to_le_bytes());
        }
        attrs
    }

    /// The pass that attributes tell; nothing if they tell none.
    pub fn of(attrs: &[u8]) -> Option<FilterPass> {
        let (&[fold, from, to, read, written, spread], rest) = attrs.split_first_chunk::<6>()?;
        let (taps, rest) = rest.split_first_chunk::<4>()?;
        let (before, rest) = rest.split_first_chunk::<4>()?;
        let (points, rest) = rest.split_first_chunk::<8>()?;
        let (factor, rest) = rest.split_first_chunk::<8>()?;
        let (range, rest) = rest.split_first_chunk::<8>()?;
        let (order, cut) = match *rest {
            [] => (Order::Rows, 0),
            [order, a, b, c, d] => (
                *ORDERS.get(usize::from(order))?,
                u32::from_le_bytes([a, b, c, d]),
            ),
            _ => return None,
        };
        let known = |kind: u8| KEYS.get(usize::from(kind)).copied();
        Some(FilterPass {
            fold: *FOLDS.get(usize::from(fold))?,
            taps: u32::from_le_bytes(*taps),
            channels: [from, to],
            keys: [known(read)?, known(written)?],
            points: f64::from_le_bytes(*points),
            before: u32::from_le_bytes(*before),
            spread: *SPREADS.get(usize::from(spread))?,
            given: [*factor, *range].map(f64::from_le_bytes),
            order,
            cut,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_tell_the_window() {
        for gather in GATHERS {
            let (points, rank, keys) = (27, 13, Keys::Rising);
            let window = FilterWindow {
                gather,
                points,
                rank,
                keys,
                given: [0.25, -1.0, 3.0],
            };
            assert_eq!(FilterWindow::of(&window.attrs()), Some(window));
            assert_eq!(FilterWindow::of(&window.attrs()[1..]), None);
        }
    }

    #[test]
    fn attributes_tell_the_pass() {
        for fold in FOLDS {
            let pass = FilterPass {
                channels: [2, 1],
                keys: [Keys::Lowest, Keys::Highest],
                points: 27.0,
                before: 150,
                given: [0.2, 128.0],
                ..FilterPass::new(fold, 300)
            };
            for spread in SPREADS {
                let pass = FilterPass { spread, ..pass };
                assert_eq!(FilterPass::of(&pass.attrs()), Some(pass));
                assert_eq!(FilterPass::of(&pass.attrs()[1..]), None);
            }
            for order in [Order::Boxes, Order::Cuts] {
                let cut = 299;
                let pass = FilterPass { order, cut, ..pass };
                assert_eq!(FilterPass::of(&pass.attrs()), Some(pass));
                assert_eq!(FilterPass::of(&pass.attrs()[1..]), None);
            }
            assert_eq!(pass.attrs().len(), 38, "as before there were orders");
        }
        assert_eq!(FilterPass::of(&[9; 38]), None);
    }
}
