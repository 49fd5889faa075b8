//! The steps that a list ends up as: kernels alone, and kernels that go over memory together.

use crate::stage::Access;
use arrayloom_ir::SlotId;
use arrayloom_plan::{Ring, Route, Schedule};

/// A step of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// One kernel, as its place among the groups.
    Kernel(usize),
    /// Several kernels together.
    Sweep(Sweep),
}

/// Several kernels in one pass over rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// The stages, as places among the groups, rising.
    pub groups: Vec<usize>,
    /// When their rows are computed.
    pub schedule: Schedule,
    /// How each stage comes to its views.
    pub stages: Vec<Routes>,
    /// The intermediate values that get no memory.
    pub rings: Vec<Ring>,
    /// The blocks that the pass writes.
    pub blocks: Vec<Block>,
    /// If what counts as rows are columns, places along the last axis instead of the first: how many of them
    /// rings have room for.
    pub panel: Option<usize>,
}

/// How a stage comes to its inputs and outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    /// For each input.
    pub ins: Vec<Route>,
    /// For each output.
    pub outs: Vec<Route>,
}

impl Routes {
    pub(crate) fn route(&self, access: &Access<'_>) -> &Route {
        let routes = if access.writes { &self.outs } else { &self.ins };
        &routes[access.number]
    }

    pub(crate) fn route_mut(&mut self, access: &Access<'_>) -> &mut Route {
        let routes = if access.writes {
            &mut self.outs
        } else {
            &mut self.ins
        };
        &mut routes[access.number]
    }
}

/// A block of memory that a sweep writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The slot.
    pub slot: SlotId,
    /// Bytes from the start of the slot to row 0.
    pub origin: isize,
    /// Bytes from row to row.
    pub pitch: isize,
    /// The bytes of a row that are touched, from its start.
    pub columns: (isize, isize),
    /// All bytes that are touched, from the start of the slot.
    pub bytes: (isize, isize),
}
