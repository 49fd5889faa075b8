//! Rows rounded to the dtype of the result.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use arrayloom_cpu::{Wide, wide};

struct Cast<'a, W, T, F> {
    from: &'a [W],
    to: &'a mut [T],
    with: F,
}

impl<W: Copy, T, F: Fn(W) -> T> Wide for Cast<'_, W, T, F> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        for (to, &from) in self.to.iter_mut().zip(self.from) {
            *to = (self.with)(from);
        }
    }
}

/// Converts every value.
pub(crate) fn cast<W: Copy, T>(from: &[W], to: &mut [T], with: impl Fn(W) -> T) {
    wide(Cast { from, to, with });
}
