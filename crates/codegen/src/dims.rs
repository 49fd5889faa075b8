//! The domain of a launch as few dimensions.

/// Axes of the domain seen as one.
#[derive(Clone, Debug)]
pub(crate) struct Dim {
    pub(crate) extent: usize,
    /// The step of each operand in bytes.
    pub(crate) strides: Vec<isize>,
    /// The axis, if its index is read.
    pub(crate) axis: Option<u32>,
}

impl Dim {
    /// True when `inner` goes on where a step of `self` ends, for all operands.
    fn continues(&self, inner: &Dim) -> bool {
        let mut both = self.strides.iter().zip(&inner.strides);
        self.axis.is_none()
            && inner.axis.is_none()
            && both.all(|(&out, &step)| out == step * inner.extent.cast_signed())
    }
}

/// The dimensions, outermost first, without those of extent one, neighbours merged where all operands
/// walk them with one step.
pub(crate) fn merged(dims: impl IntoIterator<Item = Dim>) -> Vec<Dim> {
    let mut all: Vec<Dim> = Vec::new();
    for dim in dims {
        if dim.extent == 1 {
            continue;
        }
        match all.last_mut() {
            Some(last) if last.continues(&dim) => {
                dim.strides.clone_into(&mut last.strides);
                last.extent *= dim.extent;
            }
            _ => all.push(dim),
        }
    }
    all
}

/// Number of points.
pub(crate) fn points(dims: &[Dim]) -> usize {
    dims.iter().map(|d| d.extent).product()
}

/// How far operand `number` reaches from its first element, in bytes.
pub(crate) fn reach(dims: &[Dim], number: usize) -> usize {
    let far = |d: &Dim| d.extent.saturating_sub(1) * d.strides[number].unsigned_abs();
    dims.iter().map(far).sum()
}

/// Factor and shift so that `(mulhi(g, factor) + g) >> shift` is `g / n` for `g` below `2^31`.
///
/// Source: T. Granlund, P. Montgomery, "Division by invariant integers using multiplication" (1994).
pub(crate) fn magic(n: u32) -> (u32, u32) {
    let shift = n.next_power_of_two().trailing_zeros();
    let n = u64::from(n);
    let factor = ((1u64 << 32) * ((1u64 << shift) - n)) / n + 1;
    (u32::try_from(factor).unwrap_or(u32::MAX), shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dim(extent: usize, strides: &[isize]) -> Dim {
        Dim {
            extent,
            strides: strides.to_vec(),
            axis: None,
        }
    }

    #[test]
    fn neighbours_are_merged_where_all_operands_agree() {
        let all = merged([
            dim(3, &[160, 40]),
            dim(1, &[7, 7]),
            dim(4, &[40, 0]),
            dim(5, &[8, 8]),
        ]);
        assert_eq!(all.len(), 3);
        let all = merged([dim(3, &[160, 0]), dim(4, &[40, 0]), dim(5, &[8, 0])]);
        assert_eq!((all.len(), all[0].extent, all[0].strides[0]), (1, 60, 8));
    }

    #[test]
    fn magic_divides() {
        for n in (1..2000).chain([65_535, 65_536, 1 << 30, (1 << 30) + 1]) {
            let (factor, shift) = magic(n);
            for g in [
                0,
                1,
                n - 1,
                n,
                n + 1,
                2 * (n / 2),
                1_000_003,
                i32::MAX.unsigned_abs(),
            ] {
                let high = (u64::from(g) * u64::from(factor)) >> 32;
                assert_eq!(
                    (high + u64::from(g)) >> shift,
                    u64::from(g / n),
                    "{g} / {n}"
                );
            }
        }
    }
}
