//! NumPy's pairwise tree as pure arithmetic.
//!
//! A sum over `n` values in order, `n` counting real numbers (a complex value is two). Up to
//! [`LEAF`] values are one leaf: fewer than [`LANES`] start at -0.0 and are added one by one;
//! otherwise eight accumulators take every eighth value, are added as
//! `((r0+r1)+(r2+r3)) + ((r4+r5)+(r6+r7))`, and the rest is added one by one. For complex values the
//! accumulators hold four numbers: the real part is `(r0+r2)+(r4+r6)`, the imaginary part
//! `(r1+r3)+(r5+r7)`. Beyond a leaf the sum is that of two halves.

/// Most values of one leaf.
pub const LEAF: usize = 128;

/// Accumulators of a leaf.
pub const LANES: usize = 8;

/// How many values go to the left half; `None` when `n` values are one leaf.
#[inline]
pub const fn tree_split(n: usize) -> Option<usize> {
    if n <= LEAF {
        None
    } else {
        let half = n / 2;
        Some(half - half % LANES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_whole_groups() {
        assert_eq!(tree_split(128), None);
        assert_eq!(tree_split(129), Some(64));
        assert_eq!(tree_split(1000), Some(496));
        assert_eq!(tree_split(1_000_003), Some(500_000));
    }
}
