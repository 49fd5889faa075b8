//! Recording nodes: operands of a call become operands of a node.

use crate::birth::{self, Born};
use crate::elision::Placed;
use crate::np::Arr;
use crate::operand::{Input, View};
use crate::ops::OpEntry;
use crate::{error, state, sync};
use arrayloom_engine::{Due, Engine, EngineError};
use arrayloom_ir::{Action, LoopSig, Node, Operand, SlotId, Table};
use arrayloom_types::{DType, Layout, Scalar, Shape, elementwise_strides};
use pyo3::prelude::*;
use smallvec::SmallVec;

/// Memory of others up to this size is copied in; above it, the node is run at once instead.
const COPY_IN: usize = 256 << 10;

/// Views up to this size are copied in where their array is [`MANY`] times larger: to read them later, the
/// pages of all of it would have to be protected from writes.
const BRIEF: usize = 16 << 10;
/// How many times larger an array is whose pages are dearer to protect than a view is to copy.
const MANY: usize = 16;

/// True for a small part of a large array, whose value the program could change at any time.
fn is_brief(view: &View) -> bool {
    let (low, high) = view.layout.byte_range();
    let bytes = (high - low).cast_unsigned();
    (1..=BRIEF).contains(&bytes)
        && sync::is_open(view.array)
        && sync::extent(view.array) >= MANY * bytes
}

/// A node in the making, with the memory of others that it borrows.
pub(crate) struct Draft {
    ins: SmallVec<[Operand; 3]>,
    mask: Option<Operand>,
    /// Copies that the engine keeps alone once the node is recorded.
    copies: SmallVec<[SlotId; 2]>,
    /// Memory of others, to be forgotten after it has been read.
    borrowed: SmallVec<[SlotId; 2]>,
    /// Operands that nobody can reach after the call.
    temporary: SmallVec<[SlotId; 2]>,
}

impl Draft {
    /// A node without operands.
    pub(crate) fn new() -> Draft {
        Draft {
            ins: SmallVec::new(),
            mask: None,
            copies: SmallVec::new(),
            borrowed: SmallVec::new(),
            temporary: SmallVec::new(),
        }
    }

    /// Adds one value.
    pub(crate) fn scalar(&mut self, scalar: Scalar) {
        self.ins.push(Operand::Scalar(scalar));
    }

    /// Adds a view, broadcast to `shape`.
    pub(crate) fn view(&mut self, py: Python<'_>, view: &View, shape: &[usize]) -> PyResult<()> {
        let operand = self.operand(py, view, shape)?;
        self.ins.push(operand);
        Ok(())
    }

    /// Adds the elements that lie one after the other in a slot, as an array of this shape.
    pub(crate) fn row(&mut self, slot: SlotId, offset: usize, dtype: DType, shape: &[usize]) {
        let layout = Layout {
            offset: offset.cast_signed(),
            ..Layout::contiguous(dtype, shape)
        };
        self.ins.push(Operand::View(slot, layout));
    }

    /// Adds a view as a table that is read at `walk` of its layout.
    pub(crate) fn table(
        &mut self,
        py: Python<'_>,
        view: &View,
        walk: impl Fn(&Layout) -> Layout,
    ) -> PyResult<()> {
        let (slot, whole) = self.placed(py, view)?;
        let walk = walk(&whole);
        let table = Box::new(Table { walk, whole });
        self.ins.push(Operand::Table(slot, table));
        Ok(())
    }

    /// Adds a view in another layout of its memory.
    pub(crate) fn view_as(
        &mut self,
        py: Python<'_>,
        view: &View,
        layout: impl Fn(&Layout) -> Layout,
    ) -> PyResult<()> {
        let (slot, own) = self.placed(py, view)?;
        self.ins.push(Operand::View(slot, layout(&own)));
        Ok(())
    }

    /// Adds the mask, broadcast to `shape`.
    pub(crate) fn mask(&mut self, py: Python<'_>, view: &View, shape: &[usize]) -> PyResult<()> {
        self.mask = Some(self.operand(py, view, shape)?);
        Ok(())
    }

    fn operand(&mut self, py: Python<'_>, view: &View, shape: &[usize]) -> PyResult<Operand> {
        let (slot, layout) = self.placed(py, view)?;
        let layout = if layout.shape.as_slice() == shape {
            layout
        } else {
            layout.broadcast_to(shape)
        };
        Ok(Operand::View(slot, layout))
    }

    fn placed(&mut self, py: Python<'_>, view: &View) -> PyResult<(SlotId, Layout)> {
        match view.slot {
            Some((slot, _)) if !is_brief(view) => Ok((slot, view.layout.clone())),
            Some((_, start)) => {
                let mut layout = view.layout.clone();
                layout.offset -= (view.array.addr() - start).cast_signed();
                self.outside(py, view.array, &layout)
            }
            None => self.outside(py, view.array, &view.layout),
        }
    }

    /// Makes memory of others known to the engine: small views by a copy, large ones as they are.
    fn outside(
        &mut self,
        py: Python<'_>,
        array: Arr,
        layout: &Layout,
    ) -> PyResult<(SlotId, Layout)> {
        let (low, high) = layout.byte_range();
        let bytes = (high - low).cast_unsigned();
        let start = array.addr().wrapping_add_signed(low) as *const u8;
        let mut moved = layout.clone();
        moved.offset = -low;
        if bytes > COPY_IN {
            let slot = state::engine().adopt_external(start, bytes);
            self.borrowed.push(slot);
            return Ok((slot, moved));
        }
        let slot = birth::copy_in(py, start, bytes)?;
        self.copies.push(slot);
        Ok((slot, moved))
    }

    /// Says which operands nobody can reach after the call.
    pub(crate) fn lets_go(&mut self, temporary: SmallVec<[SlotId; 2]>) {
        self.temporary = temporary;
    }

    /// Records the node. With large memory of others among its operands it is run before this
    /// returns, because nobody tells us when that memory changes.
    pub(crate) fn record(
        mut self,
        py: Python<'_>,
        action: Action,
        sig: LoopSig,
        outs: SmallVec<[(SlotId, Layout); 1]>,
        site: u32,
    ) -> PyResult<()> {
        let node = self.node(action, sig, outs, site);
        sync::take_for(py, &node)?;
        let engine = state::engine();
        let due = engine
            .add(node, &self.temporary)
            .map_err(|e| error::to_python(py, &e))?;
        if due != Due::Later {
            sync::force(py, || engine.run_due(due), || engine.flush())?;
        }
        if self.borrowed.is_empty() {
            return sync::news(py);
        }
        sync::flush(py)
    }

    /// Runs the node, whose results have memory already.
    pub(crate) fn run_now(
        mut self,
        py: Python<'_>,
        action: Action,
        sig: LoopSig,
        outs: SmallVec<[(SlotId, Layout); 1]>,
        site: u32,
    ) -> PyResult<()> {
        run_by(py, self.node(action, sig, outs, site), Engine::run_now)
    }

    /// Runs the node, whose results have memory already, and what makes its operands.
    pub(crate) fn run_end(
        mut self,
        py: Python<'_>,
        action: Action,
        sig: LoopSig,
        outs: SmallVec<[(SlotId, Layout); 1]>,
        site: u32,
    ) -> PyResult<()> {
        run_by(py, self.node(action, sig, outs, site), Engine::run_end)
    }

    /// Records the node and waits for its first result.
    pub(crate) fn compute(
        mut self,
        py: Python<'_>,
        action: Action,
        sig: LoopSig,
        outs: SmallVec<[(SlotId, Layout); 1]>,
        site: u32,
    ) -> PyResult<()> {
        let node = self.node(action, sig, outs, site);
        sync::take_for(py, &node)?;
        let (engine, wanted) = (state::engine(), node.outs[0].0);
        sync::force(py, || engine.compute(node), || engine.sync_read(wanted))
    }

    fn node(
        &mut self,
        action: Action,
        sig: LoopSig,
        outs: SmallVec<[(SlotId, Layout); 1]>,
        site: u32,
    ) -> Node {
        Node {
            action,
            sig,
            outs,
            ins: std::mem::take(&mut self.ins),
            mask: self.mask.take(),
            site,
            told: false,
            part: false,
        }
    }
}

/// Lets the engine run a node at once.
fn run_by(
    py: Python<'_>,
    node: Node,
    run: fn(&Engine, Node) -> Result<(), EngineError>,
) -> PyResult<()> {
    sync::take_for(py, &node)?;
    let engine = state::engine();
    sync::force(py, || run(engine, node), || engine.flush())
}

impl Drop for Draft {
    fn drop(&mut self) {
        for &slot in &self.copies {
            state::engine().release(slot);
        }
        for &slot in &self.borrowed {
            state::engine().forget_external(slot);
        }
    }
}

/// How the arrays of results are made: lazy, or with memory.
pub(crate) type Birth<'py> =
    fn(Python<'py>, DType, &[usize], &[isize]) -> PyResult<Option<Born<'py>>>;

/// How an operation is done once its results have arrays: recorded, or run.
pub(crate) type Run<'py> =
    fn(Draft, Python<'py>, Action, LoopSig, SmallVec<[(SlotId, Layout); 1]>, u32) -> PyResult<()>;

/// True if an operation of this line into an array of so many bytes, whose operands are pending or not, had better run
/// when it is called: nothing is gained by waiting.
pub(crate) fn at_once(pending: bool, bytes: usize, site: u32) -> bool {
    !pending && state::engine().runs_at_once(site, bytes)
}

/// True if a line that makes or moves elements into a new array had better be NumPy's: it wants its result at once, and
/// a cache holds it.
pub(crate) fn is_numpys(pending: bool, (dtype, shape): (DType, &[usize]), site: u32) -> bool {
    let near = birth::nbytes(dtype, shape).filter(|&bytes| birth::is_in_shared_cache(bytes));
    near.is_some_and(|bytes| at_once(pending, bytes, site))
}

/// How an operation comes to new arrays: run at once, or recorded.
pub(crate) fn way<'py>(at_once: bool) -> (Birth<'py>, Run<'py>) {
    if at_once {
        (birth::blank, Draft::run_now)
    } else {
        (birth::lazy, Draft::record)
    }
}

/// As [`way`], of an operation with pending operands. `temporary` tells which of them go after this call.
pub(crate) fn way_of_pending<'py>(
    inputs: &[Input],
    temporary: [bool; 2],
    site: u32,
) -> (Birth<'py>, Run<'py>) {
    let mut pending: SmallVec<[SlotId; 2]> = SmallVec::new();
    for (at, input) in inputs.iter().enumerate() {
        let Input::View(view) = input else { continue };
        if view.pending {
            match view.slot {
                Some((slot, _)) if temporary.get(at) == Some(&true) => pending.push(slot),
                _ => return way(false),
            }
        }
    }
    if state::engine().ends_at_once(site, &pending) {
        (birth::blank, Draft::run_end)
    } else {
        way(false)
    }
}

/// New arrays for the results of an element-wise call, laid out as NumPy would.
pub(crate) fn results<'py>(
    py: Python<'py>,
    (entry, sig): (&OpEntry, &LoopSig),
    (shape, placed): (&Shape, Option<&Placed>),
    inputs: &[Input],
    birth: Birth<'py>,
) -> PyResult<Option<SmallVec<[Born<'py>; 2]>>> {
    let views: SmallVec<[&Layout; 3]> = inputs
        .iter()
        .filter_map(|input| match input {
            // Arrays without axes have no say, as numbers have none.
            Input::View(view) if !view.layout.shape.is_empty() => Some(&view.layout),
            _ => None,
        })
        .collect();
    // Only ufuncs with one result have the short path.
    let direct = entry.ufunc.is_some()
        && sig.outs.len() == 1
        && inputs
            .iter()
            .zip(&sig.ins)
            .all(|(input, &dtype)| match input {
                Input::View(view) => view.layout.dtype == dtype,
                _ => true,
            });
    let mut born = SmallVec::new();
    for &dtype in &sig.outs {
        let strides = match placed {
            Some((of, strides)) if *of == dtype => strides.iter().copied().collect(),
            _ => elementwise_strides(shape, &views, direct, dtype.size()),
        };
        match birth(py, dtype, shape, &strides)? {
            Some(array) => born.push(array),
            None => return Ok(None),
        }
    }
    Ok(Some(born))
}
