//! What an operation on volumes is.

use crate::VolumeError;
use crate::abroad::recipe::OnDevice;
use crate::block::{View, ViewMut};
use crate::separable::Ctx;
use arrayloom_plan::{AxisNeed, Edge};
use arrayloom_types::DType;

/// An operation: from boxes of its operands to a box of its result.
///
/// It is position-pure: the bits of a voxel of the result depend on the voxels that `needs` names, on
/// coordinates in the volume and on the extents of the volume, and on nothing else. So a result does not
/// depend on how it was cut.
pub trait Op: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The dtype of its result.
    fn dtype(&self) -> DType;

    /// What is read of operand `operand`, along each of its axes.
    fn needs(&self, operand: usize) -> Vec<AxisNeed>;

    /// Bytes of working memory for a box of these extents of a result with the extents `shape`, with `threads`
    /// threads; at least what `run` takes, and never less for a larger box.
    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64;

    /// Nanoseconds for one voxel in one thread, roughly.
    fn cost_ns(&self) -> f64;

    /// True if its operands must be exactly the boxes that `needs` names. Otherwise they may be larger, unless
    /// some axis is read point by point.
    fn takes_exactly(&self) -> bool {
        false
    }

    /// How devices compute it, if they can.
    fn on_device(&self) -> Option<&dyn OnDevice> {
        None
    }

    /// Computes `out` from the boxes of its operands.
    ///
    /// # Errors
    /// What went wrong; [`VolumeError::OutOfMemory`] if working memory could not be had.
    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError>;
}

/// What a filter sees outside of a volume, along one axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    /// `d c b a | a b c d | d c b a`.
    Reflect,
    /// `d c b | a b c d | c b a`.
    Mirror,
    /// `a a a a | a b c d | d d d d`.
    Nearest,
    /// `a b c d | a b c d | a b c d`.
    Wrap,
    /// One value everywhere.
    Constant(f64),
    /// Nothing: windows are clipped, and weights are scaled to what is left.
    Renormalize,
}

impl Mode {
    /// Which voxels stand outside.
    pub fn edge(self) -> Edge {
        match self {
            Mode::Reflect => Edge::Reflect,
            Mode::Mirror => Edge::Mirror,
            Mode::Nearest => Edge::Nearest,
            Mode::Wrap => Edge::Wrap,
            Mode::Constant(_) | Mode::Renormalize => Edge::Clip,
        }
    }
}

/// Nanoseconds of work that a thread more is worth; to start it takes about half of them.
const LEAST_NS: f64 = 100_000.0;

/// The threads that so many voxels of so many nanoseconds are worth.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "an estimate, and a positive one"
)]
pub(crate) fn worth(threads: usize, voxels: u64, cost_ns: f64) -> usize {
    let several = (voxels as f64 * cost_ns / LEAST_NS) as usize;
    several.clamp(1, threads.max(1))
}

/// Seconds after which somebody who pressed Ctrl-C grows impatient.
const PATIENCE: f64 = 0.2;

/// Into how many parts work is cut so that each takes no longer than somebody waits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "an estimate, and a positive one"
)]
pub(crate) fn patient(threads: usize, voxels: u64, cost_ns: f64) -> i64 {
    let seconds = voxels as f64 * cost_ns * 1e-9 / threads.max(1) as f64;
    ((seconds / PATIENCE) as i64).max(1)
}

/// Voxels of a box of these extents.
pub(crate) fn voxels(extents: &[i64]) -> u64 {
    extents.iter().map(|e| e.max(&0).unsigned_abs()).product()
}
