//! From a kernel and its launch to kernels of a program and their parameters.

use crate::conditions::{Watch, Watched, shown};
use crate::dims::{Dim, merged, points};
use crate::draft::{Draft, Lowering, Operand};
use crate::entry::{Entry, Form, GROUP};
use crate::map::PART as PART_OF_MAP;
use crate::tree::{TREE_PART, is_tree};
use arrayloom_device::{Launch, ReduceArgs};
use arrayloom_ir::{self as ir, AxisMask, Ins, Kernel, Prim, ReduceOp};
use arrayloom_types::{DType, Kind, Scalar};

/// Memory that a parameter names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Input of the launch.
    In(usize),
    /// Output of the launch.
    Out(usize),
    /// Block of [`Steps::scratch`].
    Scratch(usize),
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgValue {
    /// A pointer to the start of a block.
    Block(Memory),
    /// Elements of `unit` bytes from the start of a block to the first element, in 64 bits.
    Offset {
        /// The block.
        memory: Memory,
        /// Bytes of what is counted.
        unit: usize,
    },
    /// These bytes, as many as the number says.
    Bytes([u8; 16], usize),
    /// Bytes of a value that is an input of the launch.
    Value {
        /// The input.
        input: usize,
        /// The first byte: the imaginary part is not the first one.
        from: usize,
        /// How many.
        size: usize,
    },
}

impl ArgValue {
    /// The bytes that stand here, and how many; `value` gives the inputs that are values. `None` for memory.
    pub fn bytes(&self, value: impl Fn(usize) -> Option<Scalar>) -> Option<([u8; 16], usize)> {
        match *self {
            ArgValue::Bytes(bytes, size) => Some((bytes, size)),
            ArgValue::Value { input, from, size } => {
                let mut bytes = [0; 16];
                let value = value(input).map_or([0; 16], |value| value.bytes);
                bytes[..size].copy_from_slice(&value[from..from + size]);
                Some((bytes, size))
            }
            ArgValue::Block(_) | ArgValue::Offset { .. } => None,
        }
    }
}

/// One kernel and its parameters.
#[derive(Clone, Debug)]
pub struct Step {
    /// The kernel.
    pub entry: Entry,
    /// As [`Entry::params`] has them; a complex value is two.
    pub args: Vec<ArgValue>,
    /// Groups of [`GROUP`] items on each axis of the grid.
    pub groups: [u64; 3],
}

/// The kernels of a launch, in order.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// The kernels.
    pub list: Vec<Step>,
    /// Bytes of the blocks that they share.
    pub scratch: Vec<u64>,
    /// How floating-point conditions are found, if the launch wants them and there may be some.
    pub watched: Option<Watched>,
}

impl Steps {
    /// The kernels, and the one that finds conditions.
    pub fn all(&self) -> impl Iterator<Item = &Step> {
        let finding = self.watched.iter().map(|watched| &watched.step);
        self.list.iter().chain(finding)
    }
}

/// What lowering must know of a device.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Numbers of blocks are addresses, so that two of them may name the same memory.
    pub unified: bool,
    /// Items that the device needs to be busy.
    pub lanes: usize,
    /// An item runs on a core with vector registers and a cache of its own, as on a CPU.
    pub cores: bool,
}

/// Launches of fewer points share texts without fixed steps: compiling costs more than they do.
pub(super) const SMALL: usize = 4096;

/// Values of a part of a fold that may be taken in parts.
const PART: usize = 1024;

/// The kernels that do what the launch asks for. The launch must fit the kernel, which must be well
/// formed.
///
/// # Errors
/// The words for what cannot be expressed.
pub fn lower(kernel: &Kernel, launch: &Launch<'_>, target: Target) -> Result<Steps, String> {
    let mut work = Lowering::new(kernel, launch, target);
    work.watch()?;
    // Folds first: stores may lie on what they read.
    for (number, output) in kernel.outputs.iter().enumerate() {
        work.slot = work.slot_of(number);
        match output.form {
            ir::Form::Store => {}
            ir::Form::Reduce { op, axes } => work.reduce(number, op, axes)?,
            ir::Form::Arg { max, axes } => work.place(number, max, axes)?,
            ir::Form::Scan { op, axis } => work.scan(number, op, usize::from(axis))?,
            ir::Form::Scatter { mode, at } => work.scatter(number, mode, at)?,
        }
    }
    work.map()?;
    work.look()?;
    Ok(work.steps)
}

impl Lowering<'_> {
    /// Asks for blocks of so many bytes; steps follow one another, so they use the same ones.
    pub(super) fn scratch(&mut self, bytes: &[usize]) {
        let all = &mut self.steps.scratch;
        all.resize(all.len().max(bytes.len()), 0);
        for (block, &wanted) in all.iter_mut().zip(bytes) {
            *block = (*block).max(wanted as u64);
        }
    }
    /// The numbers of outputs that have every point.
    fn stores(&self) -> Vec<usize> {
        let outputs = self.kernel.outputs.iter().enumerate();
        outputs
            .filter(|(_, o)| o.form == ir::Form::Store)
            .map(|(n, _)| n)
            .collect()
    }

    /// Writes all outputs that have every point.
    fn map(&mut self) -> Result<(), String> {
        let stores = self.stores();
        let done = self.stored || self.launch.shape.contains(&0);
        let (Some(&first), false) = (stores.first(), done) else {
            return Ok(());
        };
        let mut draft = self.draft(&stores, Form::Map);
        let axes = self.sorted(self.axes(0, false), first);
        draft.dims = merged(self.dims(&draft, &axes));
        self.looked(&mut draft, &[]);
        self.every_point(draft)
    }

    /// Adds a step that writes every point of a draft.
    pub(super) fn every_point(&mut self, mut draft: Draft) -> Result<(), String> {
        let least = if points(&draft.dims) < SMALL { 3 } else { 1 };
        while draft.dims.len() < least {
            let strides = vec![0; draft.operands.len()];
            draft.dims.insert(
                0,
                Dim {
                    extent: 1,
                    strides,
                    axis: None,
                },
            );
        }
        draft.kept = draft.dims.len();
        let extents: Vec<usize> = draft.dims.iter().map(|d| d.extent).collect();
        let n = extents.len();
        let rows: usize = extents[..n.saturating_sub(2)].iter().product();
        if rows >= 1 << 31 {
            return Err("more than 2^31 planes".to_owned());
        }
        let middle = if n > 1 { extents[n - 2] } else { 1 };
        let last = if self.target.cores && draft.watch != Watch::Nothing {
            extents[n - 1] / PART_OF_MAP + 1
        } else {
            extents[n - 1]
        };
        let groups = [groups(last), middle as u64, rows as u64];
        self.push(&draft, groups, &[("rows", rows)], None)
    }
    fn reduce(&mut self, number: usize, op: ReduceOp, axes: AxisMask) -> Result<(), String> {
        let Some(args) = self.launch.reduces[number].clone() else {
            return Err("a fold without an order".to_owned());
        };
        let dtype = self.kernel.output_dtype(number);
        let initial = args.initial.or_else(|| op.identity(dtype));
        let mut draft = self.draft(
            &[number],
            Form::Fold {
                op,
                initial: initial.is_some(),
            },
        );
        let loops = args.order.axes.iter().rev().map(|&a| usize::from(a));
        let order: Vec<usize> = loops.filter(|a| axes >> a & 1 == 1).collect();
        self.folded(
            &mut draft,
            number,
            axes,
            &order,
            usize::from(args.order.stream),
        );
        let results = points(&draft.dims[..draft.kept]);
        let total = points(&draft.dims[draft.kept..]);
        if results == 0 || (total == 0 && initial.is_none()) {
            return Ok(());
        }
        let few = results < self.target.lanes;
        let run = points(&draft.dims[draft.dims.len() - draft.stream..]);
        let piece = args.order.piece.clamp(1, run.max(1));
        if few && is_tree(op, dtype) && draft.stream > 0 && piece > 4 * TREE_PART {
            let whole = self.with_stores(number, axes, &order, &args);
            return self.tree([draft, whole], initial, [results, total, run, piece]);
        }
        if few && total >= 8 * PART && any_order(op, dtype) {
            return self.chunks(draft, op, initial, [results, total]);
        }
        let numbers = [("items", results), ("piece", piece)];
        self.push(&draft, [groups(results), 1, 1], &numbers, initial)
    }

    /// What computes the parts of output `number`, a sum. Where an item runs on a core with a cache, the
    /// outputs that have every point are written on the way, so that operands are read once; unless they
    /// lie on what is read.
    fn with_stores(
        &mut self,
        number: usize,
        axes: AxisMask,
        order: &[usize],
        args: &ReduceArgs,
    ) -> Draft {
        let folds = |o: &ir::Output| o.form != ir::Form::Store;
        let last = !self.kernel.outputs[number + 1..].iter().any(folds);
        let stores = if self.target.cores && last {
            self.stores()
        } else {
            Vec::new()
        };
        let stream = usize::from(args.order.stream);
        let all: Vec<usize> = std::iter::once(number).chain(stores).collect();
        let mut draft = self.draft(&all, Form::Tree);
        self.folded(&mut draft, number, axes, order, stream);
        if all.len() > 1 {
            let by_number = draft.code.iter().any(|i| i.prim == Prim::Gather);
            let unseen = self.looks && !shown(&draft.code, &[draft.outs[0].0]).is_empty();
            if !by_number && !unseen && self.apart(&draft) {
                self.stored = true;
            } else {
                draft = self.draft(&[number], Form::Tree);
                self.folded(&mut draft, number, axes, order, stream);
            }
        }
        draft
    }

    /// Parts of the trees first, then what is left of them.
    fn tree(
        &mut self,
        [mut draft, whole]: [Draft; 2],
        initial: Option<Scalar>,
        [results, total, run, piece]: [usize; 4],
    ) -> Result<(), String> {
        let dtype = draft.code[draft.outs[0].0 as usize].dtype;
        let mut depth = 0;
        while piece >> depth > TREE_PART {
            depth += 1;
        }
        let (parts, pieces, outers) = (1usize << depth, run.div_ceil(piece), total / run.max(1));
        let items = results * outers * pieces * parts;
        self.scratch(&[items * scratch_bytes(dtype)]);
        let numbers = [
            ("items", items),
            ("outers", outers),
            ("run", run),
            ("piece", piece),
            ("pieces", pieces),
            ("parts", parts),
        ];
        self.push(&whole, [groups(items), 1, 1], &numbers, None)?;
        Self::rest_of(&mut draft, dtype);
        draft.form = Form::Combine;
        self.push(&draft, [results as u64, 1, 1], &numbers, initial)
    }

    /// What a step needs that finishes a fold from scratch: the dimensions of results, no operands.
    fn rest_of(draft: &mut Draft, dtype: DType) {
        let views = draft.operands.len() - 1;
        draft.operands.drain(..views);
        for dim in &mut draft.dims {
            dim.strides.drain(..views);
            dim.axis = None;
        }
        draft.dims.truncate(draft.kept);
        draft.stream = 0;
        draft.inputs.clear();
        draft.outs[0].0 = 0;
        draft.code = vec![Ins {
            prim: Prim::Const,
            dtype,
            a: 0,
            b: 0,
            c: 0,
            bits: 0,
        }];
    }

    /// How many parts a fold over `total` points is taken in, and their points.
    fn parts(&self, results: usize, total: usize) -> (usize, usize) {
        let wanted = (self.target.lanes / results.max(1)).clamp(1, total.div_ceil(PART));
        let part = total.div_ceil(wanted);
        (total.div_ceil(part), part)
    }

    /// Parts in any order first, then a fold over them.
    fn chunks(
        &mut self,
        mut draft: Draft,
        op: ReduceOp,
        initial: Option<Scalar>,
        [results, total]: [usize; 2],
    ) -> Result<(), String> {
        let dtype = draft.code[draft.outs[0].0 as usize].dtype;
        let (parts, part) = self.parts(results, total);
        let items = results * parts;
        let size = scratch_bytes(dtype);
        self.scratch(&[items * size]);
        let form = std::mem::replace(&mut draft.form, Form::Chunk { op });
        draft.stream = 0;
        let numbers = [
            ("items", items),
            ("total", total),
            ("part", part),
            ("parts", parts),
        ];
        self.push(&draft, [groups(items), 1, 1], &numbers, None)?;
        Self::rest_of(&mut draft, dtype);
        draft.form = form;
        draft.code[0].prim = Prim::Input;
        draft.inputs = vec![usize::MAX];
        draft.operands.insert(
            0,
            Operand {
                memory: Memory::Scratch(0),
                dtype,
            },
        );
        let mut step = (size * parts).cast_signed();
        for dim in draft.dims.iter_mut().rev() {
            dim.strides.insert(0, step);
            step *= dim.extent.cast_signed();
        }
        let strides = vec![size.cast_signed(), 0];
        draft.dims.push(Dim {
            extent: parts,
            strides,
            axis: None,
        });
        let numbers = [("items", results), ("piece", 1)];
        self.push(&draft, [groups(results), 1, 1], &numbers, initial)
    }

    fn place(&mut self, number: usize, max: bool, axes: AxisMask) -> Result<(), String> {
        let mut draft = self.draft(&[number], Form::Place { max });
        let order = self.axes(axes, true);
        self.folded(&mut draft, number, axes, &order, 0);
        let results = points(&draft.dims[..draft.kept]);
        let total = points(&draft.dims[draft.kept..]);
        if results == 0 || total == 0 {
            return Ok(());
        }
        if results >= self.target.lanes || total < 8 * PART {
            let numbers = [("items", results), ("total", total)];
            return self.push(&draft, [groups(results), 1, 1], &numbers, None);
        }
        let dtype = draft.code[draft.outs[0].0 as usize].dtype;
        let (parts, part) = self.parts(results, total);
        let items = results * parts;
        self.scratch(&[items * scratch_bytes(dtype), items * 8]);
        draft.form = Form::PlaceChunk { max };
        let numbers = [
            ("items", items),
            ("total", total),
            ("part", part),
            ("parts", parts),
        ];
        self.push(&draft, [groups(items), 1, 1], &numbers, None)?;
        Self::rest_of(&mut draft, dtype);
        draft.form = Form::PlaceCombine { max };
        let numbers = [("items", results), ("parts", parts)];
        self.push(&draft, [groups(results), 1, 1], &numbers, None)
    }

    fn scan(&mut self, number: usize, op: ReduceOp, axis: usize) -> Result<(), String> {
        if self.launch.shape.contains(&0) {
            return Ok(());
        }
        let mut draft = self.draft(&[number], Form::Scan { op });
        let kept = self.sorted(self.axes(1 << axis, false), number);
        draft.dims = merged(self.dims(&draft, &kept));
        draft.kept = draft.dims.len();
        draft.dims.extend(self.dims(&draft, &[axis]));
        let lines = points(&draft.dims[..draft.kept]);
        self.push(&draft, [groups(lines), 1, 1], &[("items", lines)], None)
    }
}

/// True for folds whose result does not depend on the order.
fn any_order(op: ReduceOp, dtype: DType) -> bool {
    use ReduceOp::{And, Fmax, Fmin, Max, Min, Or, Xor};
    let whole = !matches!(dtype.kind(), Kind::Float | Kind::Complex);
    dtype != DType::F16 && (whole || matches!(op, Min | Max | Fmin | Fmax | And | Or | Xor))
}

/// Bytes of a value between steps: `float16` stays in `float32`.
fn scratch_bytes(dtype: DType) -> usize {
    if dtype == DType::F16 { 4 } else { dtype.size() }
}

pub(super) fn groups(items: usize) -> u64 {
    (items as u64).div_ceil(u64::from(GROUP))
}
