//! Recorded operations: what the program asked for, in its order, on views of memory.

use crate::{LoopSig, OpDef, ReduceOp};
use arrayloom_types::{Layout, Scalar};
use smallvec::SmallVec;

/// A block of memory known to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlotId(pub u32);

/// A set of axes, bit `i` for axis `i`.
pub type AxisMask = u32;

/// What an operation reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A view of a slot.
    View(SlotId, Layout),
    /// One value, the same at every point.
    Scalar(Scalar),
    /// A view of a slot of which a `Gather` reads elements by number.
    Table(SlotId, Box<Table>),
}

/// What a `Gather` reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its place at each point of the domain before anything is added; steps are zero on the axes that
    /// only the index moves along.
    pub walk: Layout,
    /// All that may be read.
    pub whole: Layout,
}

impl Operand {
    /// The slot that is read, if any.
    pub fn slot(&self) -> Option<SlotId> {
        match self {
            Operand::View(slot, _) | Operand::Table(slot, _) => Some(*slot),
            Operand::Scalar(_) => None,
        }
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug)]
pub enum Action {
    /// Element-wise: operands are cast to the loop's inputs, the body runs, results are cast to the
    /// dtypes of the outputs.
    Map(&'static OpDef),
    /// Folds operand 0, cast to the loop's first input, over `axes`. The output has the rank of the
    /// operand and extent one on `axes`.
    Reduce {
        /// The fold.
        op: ReduceOp,
        /// The axes folded away.
        axes: AxisMask,
        /// The value to start from; the fold's own start if absent.
        initial: Option<Scalar>,
    },
    /// Elements by number: operand 0 is a table; each further pair of operands is an index (not
    /// negative, in range) and the bytes that one step of it moves on.
    Gather,
    /// Index of the smallest or largest element over `axes`; output as for `Reduce`, dtype `i64`.
    Arg {
        /// True for the largest.
        max: bool,
        /// The axes folded away.
        axes: AxisMask,
    },
    /// Running fold of operand 0 along `axis`; the output has the operand's shape.
    Scan {
        /// The fold.
        op: ReduceOp,
        /// The axis.
        axis: u8,
    },
}

/// One recorded operation.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it does.
    pub action: Action,
    /// The dtypes it computes in.
    pub sig: LoopSig,
    /// What it writes; for `Map` all outputs have the same shape, which is the domain.
    pub outs: SmallVec<[(SlotId, Layout); 1]>,
    /// What it reads, each broadcast to the domain already.
    pub ins: SmallVec<[Operand; 3]>,
    /// If present (bool, broadcast to the domain): where false, a `Map` leaves its outputs as they are.
    pub mask: Option<Operand>,
    /// Where in the user's program it was recorded; a number of the caller.
    pub site: u32,
    /// True when it ran before and its floating-point conditions have been told.
    pub told: bool,
    /// True when it does a further part of what the node before it in the list does.
    pub part: bool,
}

impl Action {
    /// True when every element of a result belongs to one point of the domain.
    pub fn is_pointwise(&self) -> bool {
        matches!(self, Action::Map(_) | Action::Gather)
    }
}

impl Node {
    /// The shape of the points it visits: of its operands for folds, of its outputs for maps.
    pub fn domain(&self) -> &[usize] {
        match (&self.action, self.ins.first()) {
            (Action::Map(_) | Action::Gather, _)
            | (_, None | Some(Operand::Scalar(_) | Operand::Table(..))) => &self.outs[0].1.shape,
            (_, Some(Operand::View(_, layout))) => &layout.shape,
        }
    }
}
