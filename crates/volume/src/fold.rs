//! Combining rows element by element: the inner loops of all separable filters.
//!
//! Four neighbouring outputs are computed at a time, so a row is loaded once for four of its uses. The
//! order of arithmetic for one element is a function of its rows and taps alone: vector width, the length
//! of a row, the place of an element in it and how many outputs are computed together do not matter.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use crate::crossed::{Across, Along, Near};
use crate::load::Load;
use bytemuck::{Pod, Zeroable as _};

/// Outputs that are computed at a time.
pub(crate) const GROUP: usize = 4;

/// A point near a face, where some rows do not exist: those that do, their taps, and what the others
/// add. Filters that sum two ways at once have two lists of taps.
#[derive(Clone, Debug)]
pub(crate) struct EdgeTaps<W> {
    /// Places in the window.
    pub(crate) places: Vec<usize>,
    /// The taps of these places.
    pub(crate) taps: [Vec<W>; 2],
    /// What the missing rows add.
    pub(crate) bias: [W; 2],
}

/// How rows become one row.
///
/// A voxel may have several numbers between passes, its channels. Rows come channel by channel; outputs
/// are wanted output by output, each with its channels.
pub(crate) trait Rule: Sync {
    /// The arithmetic.
    type W: Pod + Send + Sync;

    /// Numbers of a voxel before pass `pass`: one before the first.
    fn channels(&self, _pass: usize) -> usize {
        1
    }

    /// Combines the rows of full windows along filtered axis number `pass`: of one, or of [`GROUP`]
    /// neighbours.
    fn fold<S: Pod, L: Load<S, Self::W>>(
        &self,
        pass: usize,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [Self::W]],
    );

    /// Combines the rows that exist, in the order of `edge.places`, for one output.
    fn fold_edge<S: Pod, L: Load<S, Self::W>>(
        &self,
        pass: usize,
        edge: &EdgeTaps<Self::W>,
        rows: &[&[S]],
        load: L,
        outs: &mut [&mut [Self::W]],
    );

    /// True if these two passes, the last ones, are taken crosswise: the order and the grouping of what is joined do not
    /// matter, voxels that do not exist are like any others, and it pays. Rules that say so have the four functions
    /// that follow; those that say so of windows that are near need the first and the last of them alone.
    fn crosses(&self, _across: usize, _along: usize) -> bool {
        false
    }

    /// The number that stands for a voxel beyond the axis of pass `pass`, behind the first `before` passes.
    fn outside(&self, _pass: usize, _before: usize) -> Self::W {
        Self::W::zeroed()
    }

    /// Joins rows along themselves.
    fn along<S: Pod, L: Load<S, Self::W>>(&self, _rows: Along<'_, '_, S, Self::W, L>) {}

    /// Joins such rows with their neighbours into elements of the output.
    fn across(&self, _rows: Across<'_, '_, '_, Self::W, 1>) {}

    /// Joins rows along themselves and with their neighbours into elements of the output.
    fn near(&self, _rows: Near<'_, '_, '_, Self::W>) {}

    /// True if sums of windows along pass `pass` are quicker made from those of the windows before.
    fn rolls(&self, _pass: usize) -> bool {
        false
    }

    /// Makes [`GROUP`] outputs, given that of the window before in the last one's place. `rows` begins with the row
    /// that this window has before them; for rules that say so above.
    fn roll<S: Pod, L: Load<S, Self::W>>(
        &self,
        _rows: &[&[S]],
        _load: L,
        _outs: &mut [&mut [Self::W]],
    ) {
    }

    /// Makes the windows of a line, in which each number is a row, one from the other. Rules that cannot, or for which
    /// that is slower, do nothing and return false.
    fn slide(&self, _pass: usize, _line: &[Self::W], _out: &mut [Self::W]) -> bool {
        false
    }

    /// Joins any rows into one output, which has as many numbers as they have. Rules for which order and grouping matter do
    /// nothing, and return false.
    fn join(&self, _rows: &[&[Self::W]], _outs: &mut [&mut [Self::W]]) -> bool {
        false
    }
}

/// Real arithmetic of filters.
pub(crate) trait Real:
    Pod
    + Send
    + Sync
    + PartialEq
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::Neg<Output = Self>
{
    fn fma(self, b: Self, c: Self) -> Self;
    fn of(value: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    #[inline(always)]
    fn fma(self, b: f32, c: f32) -> f32 {
        self.mul_add(b, c)
    }
    #[expect(clippy::cast_possible_truncation, reason = "taps are rounded once")]
    fn of(value: f64) -> f32 {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline(always)]
    fn fma(self, b: f64, c: f64) -> f64 {
        self.mul_add(b, c)
    }
    fn of(value: f64) -> f64 {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}
