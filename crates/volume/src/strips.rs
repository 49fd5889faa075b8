//! The loop over the elements of rows that all filters of rows share: a strip of them at a time, in
//! registers.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use arrayloom_cpu::{Wide, wide};

/// Elements that are combined in registers at a time.
pub(crate) const STRIP: usize = 32;

/// Work on rows, element by element.
pub(crate) trait Strips {
    /// Bytes of an element: of smaller ones more are computed at a time.
    const BYTES: usize = 4;

    /// True if twice as many elements are computed at a time.
    const PAIRS: bool = false;

    /// True if an element may be computed once only. Of other work the last strip of a row overlaps the one before.
    const ONCE: bool = false;

    /// Elements of a row.
    fn elems(&self) -> usize;

    /// Computes `N` elements.
    fn at<const N: usize>(&mut self, at: usize);
}

/// Computes all elements, with the widest vectors of this processor.
pub(crate) fn strips(work: impl Strips) {
    wide(All(work));
}

/// The same, inside of other work that is compiled for wide vectors.
#[inline(always)]
pub(crate) fn here(work: impl Strips) {
    All(work).run();
}

struct All<T>(T);

impl<T: Strips> All<T> {
    #[inline(always)]
    fn by<const N: usize>(&mut self, len: usize) {
        let strips = if T::ONCE { len / N } else { len.div_ceil(N) };
        for at in (0..strips).map(|strip| strip * N) {
            self.0.at::<N>(at.min(len - N));
        }
        for at in strips * N..len {
            self.0.at::<1>(at);
        }
    }
}

impl<T: Strips> Wide for All<T> {
    type Out = ();

    #[inline(always)]
    fn run(mut self) {
        let len = self.0.elems();
        if T::BYTES == 1 && len >= 4 * STRIP {
            self.by::<{ 4 * STRIP }>(len);
        } else if (T::BYTES <= 2 || T::PAIRS) && len >= 2 * STRIP {
            self.by::<{ 2 * STRIP }>(len);
        } else if T::BYTES >= 8 && len >= STRIP / 2 {
            self.by::<{ STRIP / 2 }>(len);
        } else if len >= STRIP {
            self.by::<STRIP>(len);
        } else {
            self.by::<1>(len);
        }
    }
}

/// `N` elements of a row.
#[inline(always)]
pub(crate) fn strip<T, const N: usize>(row: &[T], at: usize) -> &[T; N] {
    row[at..]
        .first_chunk()
        .unwrap_or_else(|| unreachable!("a strip lies inside its row"))
}

/// `N` elements of a row, to be written.
#[inline(always)]
pub(crate) fn strip_mut<T, const N: usize>(row: &mut [T], at: usize) -> &mut [T; N] {
    row[at..]
        .first_chunk_mut()
        .unwrap_or_else(|| unreachable!("a strip lies inside its row"))
}
