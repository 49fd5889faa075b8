//! The order in which NumPy folds.

use smallvec::SmallVec;

/// How a fold walks its domain, so that the result has NumPy's bits.
///
/// The axes in `axes` are nested loops, the first one innermost (fastest). The first `stream` axes are
/// all folded away and make one run of `L` values, the product of their extents, in loop order. A run
/// is cut into pieces of `piece` values (the last may be shorter). For every index of the other axes,
/// in loop order, and every piece of its run, in order, `out` takes in the piece; `out` is the place
/// that the index names, and starts at the initial value. For float and complex sums that is
/// `out = out + T(piece)`, where `T` is NumPy's pairwise tree; for every other operation the values of
/// the piece are folded into `out` one after another.
///
/// `stream = 0` means runs of one value: every value is added on its own. Then the loops over folded
/// axes keep their order among themselves; the loops over kept axes may go in any order and in
/// parallel, here and for every other `stream`. A domain without elements has no pieces.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ReduceOrder {
    /// All axes of the domain, innermost loop first. Axes of extent one may stand anywhere.
    pub axes: SmallVec<[u8; 4]>,
    /// How many of the first axes make one run.
    pub stream: u8,
    /// Values of one piece; at least one.
    pub piece: usize,
}
