//! Cutting a range into equal bands.

use std::ops::Range;

/// Cuts `0..n` into at most `parts` bands of nearly equal size, in order; none is empty.
pub fn bands(n: usize, parts: usize) -> impl ExactSizeIterator<Item = Range<usize>> {
    let parts = parts.min(n);
    let (each, more) = (
        n.checked_div(parts).unwrap_or(0),
        n.checked_rem(parts).unwrap_or(0),
    );
    (0..parts).map(move |i| {
        let start = i * each + i.min(more);
        start..start + each + usize::from(i < more)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_cover_the_range_once() {
        for n in 0..40 {
            for parts in 0..12 {
                let all: Vec<_> = bands(n, parts).collect();
                assert_eq!(all.len(), parts.min(n));
                assert!(all.iter().all(|b| !b.is_empty()));
                assert!(
                    all.windows(2)
                        .all(|w| w[0].end == w[1].start && w[0].len() >= w[1].len())
                );
                if parts > 0 {
                    assert_eq!(all.iter().map(ExactSizeIterator::len).sum::<usize>(), n);
                }
            }
        }
    }
}
