//! How numbers of a filter's arithmetic become elements in memory, a strip at a time. As in `load.rs`, elements are
//! raw words, and what they mean is asked once for a strip.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::load::Plain;
use bytemuck::Pod;

/// A way from numbers `W` to elements.
pub(crate) trait Store<W>: Copy + Sync {
    /// An element.
    type To: Pod;

    /// The elements of `N` numbers.
    fn map<const N: usize>(self, from: [W; N]) -> [Self::To; N];
}

impl<W: Pod> Store<W> for Plain {
    type To = W;

    #[inline(always)]
    fn map<const N: usize>(self, from: [W; N]) -> [W; N] {
        from
    }
}
