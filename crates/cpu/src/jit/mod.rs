//! Tier 1: steps of a program compiled to one function that keeps everything in registers.
//!
//! Lowered steps that have code (`ssa`) and depend on one another without a break are a *segment*
//! (`segment`). A segment becomes one step: a leaf function (`frame`, `ops`, `plain`) over the elements
//! of a tile, which reads memory in place and writes results in place. What has no code stays a step of
//! the interpreter; both exchange tiles in the level-1 cache. Conditions are collected for the function
//! as a whole; only when it met some, the steps are run one by one (`replay`) to tell which met them.
//!
//! Compiled functions are kept by their code, without sizes and addresses. Where the system refuses
//! executable pages, everything is interpreted.

mod alloc;
mod forms;
mod frame;
mod ops;
mod pages;
mod phases;
mod plain;
mod replay;
mod segment;
mod ssa;
mod streams;

pub(crate) use pages::{Function, Rows};
pub(crate) use replay::Scratch;
pub(crate) use segment::{Cutter, Segment, cut, nearness};

use crate::Isa;
use frame::lanes;
use ssa::{Code, Mop, Node, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What has become of compiled code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JitStats {
    /// Functions compiled so far.
    pub compiled: usize,
    /// Functions that are kept.
    pub kept: usize,
    /// Bytes of their pages.
    pub bytes: usize,
    /// True when the system refused executable pages: nothing is compiled since.
    pub refused: bool,
}

/// Most functions that are kept; beyond that, all are forgotten.
const KEPT: usize = 512;

#[derive(Debug, Default)]
struct State {
    /// By instruction set and code; `None` for code that needs too many registers.
    functions: BTreeMap<(Isa, Code), Option<Arc<Function>>>,
    stats: JitStats,
}

/// The compiler of a device.
#[derive(Debug, Default)]
pub(crate) struct Jit {
    state: Mutex<State>,
}

impl Jit {
    pub(crate) fn stats(&self) -> JitStats {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .stats
    }

    /// True while the system gives executable pages.
    pub(crate) fn works(&self) -> bool {
        !self.stats().refused
    }

    /// The function for this code with `args` arguments; compiled if need be, unless `known` ones are
    /// asked for only.
    fn function(&self, isa: Isa, code: Code, args: usize, known: bool) -> Option<Arc<Function>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (isa, code);
        if let Some(function) = state.functions.get(&key) {
            return function.clone();
        }
        if known || state.stats.refused {
            return None;
        }
        let function = match compile(&key.1, args, isa).map(|bytes| Function::new(&bytes)) {
            None => None,
            Some(Ok(function)) => Some(Arc::new(function)),
            Some(Err(_)) => {
                state.stats.refused = true;
                return None;
            }
        };
        if state.functions.len() >= KEPT {
            state.functions.clear();
            state.stats.bytes = 0;
        }
        if let Some(function) = &function {
            state.stats.compiled += 1;
            state.stats.bytes += function.bytes();
        }
        state.functions.insert(key, function.clone());
        state.stats.kept = state.functions.len();
        function
    }
}

/// The bytes of a function; `None` if the registers do not suffice.
fn compile(code: &Code, args: usize, isa: Isa) -> Option<Vec<u8>> {
    let plan = alloc::plan(code, frame::registers(isa))?;
    frame::assemble(code, &plan, args, isa).ok()
}

/// True when the instruction set has what the value needs.
fn ops_fit(code: &Code, value: &Value, masks: bool) -> bool {
    let Node::Op(mop, operands, _) = value.node else {
        return true;
    };
    let first = code.values[operands[0]].ty;
    let no_bytes = !matches!(mop, Mop::Mul | Mop::Shl | Mop::Shr) || first.size() > 1;
    no_bytes && (masks || plain::has(mop, first, value.ty))
}
