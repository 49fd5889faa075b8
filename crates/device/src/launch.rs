//! The facts of one launch: sizes, places and values.

use arrayloom_ir::{Form, Kernel, Prim};
use arrayloom_plan::{ReduceOrder, Ring, Route, Schedule};
use arrayloom_types::{Scalar, Strides};
use std::sync::atomic::AtomicU8;

/// A block of device memory. On a unified device the number is the host address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Buf(pub u64);

/// What an input or output of a kernel is bound to.
#[derive(Clone, Debug)]
pub enum Arg {
    /// Elements in memory. The steps are bytes, one for each axis of the domain: zero repeats (and is
    /// the step of a folded axis in an output), negative runs backwards. Elements may be unaligned.
    View {
        /// The block.
        buf: Buf,
        /// Bytes from the start of the block to the first element.
        offset: isize,
        /// Steps in bytes.
        strides: Strides,
    },
    /// One value for every point; inputs only.
    Scalar(Scalar),
}

/// The facts of one folded output.
#[derive(Clone, Debug)]
pub struct ReduceArgs {
    /// The order of the fold.
    pub order: ReduceOrder,
    /// The value to start from, in the dtype of the output. Absent: +0 for sums, 1 for products, the
    /// first value for the rest.
    pub initial: Option<Scalar>,
}

/// One launch of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The kernel's domain.
    pub shape: &'a [usize],
    /// Where each output goes.
    pub outs: &'a [Arg],
    /// What each input is.
    pub ins: &'a [Arg],
    /// For each output with form `Reduce`, its facts; `None` for the others.
    pub reduces: &'a [Option<ReduceArgs>],
    /// If present, one byte per instruction: the device ors in the floating-point conditions
    /// (`FpFlags`) that the instruction met.
    pub flags: Option<&'a [AtomicU8]>,
}

/// One kernel of a [`Sweep`].
#[derive(Debug)]
pub struct Stage<'a> {
    /// The kernel. Its rows are the indices of axis 0.
    pub kernel: &'a Kernel,
    /// Its launch. Of views that lie in rings only the steps within a row count.
    pub launch: Launch<'a>,
    /// How it comes to each input.
    pub ins: &'a [Route],
    /// How it comes to each output.
    pub outs: &'a [Route],
}

/// A block of memory that a [`Sweep`] writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The block.
    pub buf: Buf,
    /// Bytes from the start of the block to row 0.
    pub origin: isize,
    /// Bytes from row to row.
    pub pitch: isize,
    /// The bytes of a row that stages touch, from its start.
    pub columns: (isize, isize),
    /// All bytes that stages touch, from the start of the block.
    pub bytes: (isize, isize),
}

/// Several kernels in one pass over rows; the result is that of the kernels one after another.
#[derive(Debug)]
pub struct Sweep<'a> {
    /// The kernels in order.
    pub stages: &'a [Stage<'a>],
    /// When their rows are computed.
    pub schedule: &'a Schedule,
    /// Intermediate values without memory.
    pub rings: &'a [Ring],
    /// The blocks that are written.
    pub blocks: &'a [Rows],
    /// If what counts as rows are columns, places along the last axis of the stages instead of the first: how
    /// many of them the rings hold, and a step has at most.
    pub panel: Option<usize>,
}

impl Launch<'_> {
    /// Checks that the launch fits the kernel: counts and ranks agree.
    pub fn fits(&self, kernel: &Kernel) -> bool {
        let rank = usize::from(kernel.rank);
        let ranked = |arg: &Arg| match arg {
            Arg::View { strides, .. } => strides.len() == rank,
            Arg::Scalar(_) => true,
        };
        self.shape.len() == rank
            && self.ins.len() == kernel.inputs.len()
            && self.outs.len() == kernel.outputs.len()
            && self.reduces.len() == kernel.outputs.len()
            && self.ins.iter().all(ranked)
            && self
                .outs
                .iter()
                .all(|out| matches!(out, Arg::View { .. }) && ranked(out))
            && self
                .flags
                .is_none_or(|flags| flags.len() == kernel.code.len())
    }
}

/// True if the rows of a domain do not depend on one another or on where they stand.
pub fn rows_are_apart(kernel: &Kernel) -> bool {
    let stored = kernel
        .outputs
        .iter()
        .all(|out| matches!(out.form, Form::Store));
    stored
        && kernel
            .code
            .iter()
            .all(|ins| ins.prim != Prim::Iota || ins.a != 0)
}
