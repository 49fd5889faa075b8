//! From the structure of a group to flat code.

use crate::item::Item;
use arrayloom_ir::{
    Action, Arity, AxisMask, Builder, Form, Ins, Kernel, LoopSig, OpDef, Output, Prim, ReduceOp,
    Value, verify,
};
use arrayloom_types::DType;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A group without sizes, steps and slots: all that its code depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Structure {
    pub(crate) rank: u8,
    pub(crate) inputs: Vec<DType>,
    pub(crate) steps: Vec<Step>,
    /// Step and result number of each output.
    pub(crate) stored: Vec<(u32, u32)>,
}

/// Where an operand comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Arg {
    /// Input of the group.
    Input(u32),
    /// A step and the number of its result.
    Result(u32, u32),
}

/// One node of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    what: What,
    sig: LoopSig,
    args: SmallVec<[Arg; 3]>,
    mask: Option<Arg>,
    old: SmallVec<[Arg; 1]>,
    outs: SmallVec<[DType; 2]>,
}

impl Step {
    /// A number for which the operation meets no condition.
    fn quiet(&self) -> f64 {
        let What::Map(Row(op)) = self.what else {
            return 1.0;
        };
        let code = op.code(&self.sig);
        if code.iter().any(|ins| ins.prim.has_pole_at_one()) {
            0.0
        } else {
            1.0
        }
    }
}

/// An action without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum What {
    Map(Row),
    Gather,
    Reduce(ReduceOp, AxisMask),
    Arg(bool, AxisMask),
    Scan(ReduceOp, u8),
}

/// A row of the op table, known by its place in memory.
#[derive(Clone, Copy, Debug)]
struct Row(&'static OpDef);

impl PartialEq for Row {
    fn eq(&self, other: &Row) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Row {}

impl Hash for Row {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::hash(self.0, state);
    }
}

/// Code of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    pub(crate) kernel: Arc<Kernel>,
    /// The inputs of the structure that the code reads, in the order of the kernel's inputs.
    pub(crate) inputs: Arc<[u32]>,
    /// The step of each instruction.
    pub(crate) origin: Arc<[u32]>,
    /// Pairs of an instruction and a step that needs it as well as the one that it belongs to.
    pub(crate) shared: Arc<[(u32, u32)]>,
}

/// The step of an item with its operands named.
pub(crate) fn step(
    item: &Item<'_>,
    args: SmallVec<[Arg; 3]>,
    mask: Option<Arg>,
    old: SmallVec<[Arg; 1]>,
) -> Step {
    let what = match item.node.action {
        Action::Map(op) => What::Map(Row(op)),
        Action::Gather => What::Gather,
        Action::Reduce { op, .. } => What::Reduce(op, item.axes),
        Action::Arg { max, .. } => What::Arg(max, item.axes),
        Action::Scan { op, .. } => What::Scan(op, item.scan_axis),
    };
    Step {
        what,
        sig: item.node.sig.clone(),
        args,
        mask,
        old,
        outs: item.outs.iter().map(|(_, layout)| layout.dtype).collect(),
    }
}

/// Writes the code.
pub(crate) fn build(structure: &Structure) -> Built {
    let mut writer = Writer {
        structure,
        builder: Builder::new(),
        origin: Vec::new(),
        results: Vec::new(),
    };
    let mut shared = Vec::new();
    for (number, step) in (0u32..).zip(&structure.steps) {
        let results = writer.step(step);
        for value in writer.builder.take_found() {
            let of_others = (value.0 as usize) < writer.origin.len();
            if of_others && !shared.contains(&(value.0, number)) {
                shared.push((value.0, number));
            }
        }
        writer.results.push(results);
        writer.origin.resize(writer.builder.len(), number);
    }
    let outputs = structure
        .stored
        .iter()
        .map(|&(step, result)| Output {
            value: writer.results[step as usize][result as usize].0,
            form: structure.steps[step as usize].what.form(),
        })
        .collect();
    let kernel = Kernel {
        code: writer.builder.finish(),
        inputs: structure.inputs.clone(),
        outputs,
        rank: structure.rank,
    };
    check(&kernel);
    let built = sweep(&kernel, &writer.origin, &shared);
    check(&built.kernel);
    built
}

impl What {
    fn form(self) -> Form {
        match self {
            What::Map(_) | What::Gather => Form::Store,
            What::Reduce(op, axes) => Form::Reduce { op, axes },
            What::Arg(max, axes) => Form::Arg { max, axes },
            What::Scan(op, axis) => Form::Scan { op, axis },
        }
    }
}

struct Writer<'a> {
    structure: &'a Structure,
    builder: Builder,
    origin: Vec<u32>,
    results: Vec<SmallVec<[Value; 2]>>,
}

impl Writer<'_> {
    fn value(&mut self, arg: Arg) -> Value {
        match arg {
            Arg::Input(i) => self.builder.input(i, self.structure.inputs[i as usize]),
            Arg::Result(step, result) => self.results[step as usize][result as usize],
        }
    }

    /// The value as an instruction of this step, so that conditions which the fold itself meets are not
    /// taken for those of the step that made the value.
    fn own(&mut self, value: Value) -> Value {
        if value.0 as usize >= self.origin.len() {
            return value;
        }
        let dtype = self.builder.dtype(value);
        self.builder.un_as(Prim::Cast, dtype, value)
    }

    /// Elements by number: the bytes that all indices together move on, and the element there.
    fn gather(&mut self, step: &Step) -> SmallVec<[Value; 2]> {
        let Some((&Arg::Input(table), pairs)) = step.args.split_first() else {
            return SmallVec::new();
        };
        let mut bytes = self.builder.constant(DType::I64, 0.0);
        for (number, pair) in pairs.chunks_exact(2).enumerate() {
            let (index, scale) = (self.value(pair[0]), self.value(pair[1]));
            let index = self.builder.cast(index, DType::I64);
            let part = self.builder.bin(Prim::Mul, index, scale);
            bytes = if number == 0 {
                part
            } else {
                self.builder.bin(Prim::Add, bytes, part)
            };
        }
        let dtype = self.structure.inputs[table as usize];
        let value = self.builder.gather(bytes, table, dtype);
        let dtypes = step.outs.iter();
        dtypes.map(|&d| self.builder.cast(value, d)).collect()
    }

    fn step(&mut self, step: &Step) -> SmallVec<[Value; 2]> {
        if matches!(step.what, What::Gather) {
            return self.gather(step);
        }
        let mask = step.mask.map(|arg| self.value(arg));
        let mut operands: SmallVec<[Value; 4]> = SmallVec::new();
        for (&arg, &dtype) in step.args.iter().zip(&step.sig.ins) {
            let value = self.value(arg);
            let value = self.builder.cast(value, dtype);
            // Points that the mask leaves out compute with a number that raises no condition.
            operands.push(mask.map_or(value, |mask| {
                let quiet = self.builder.constant(dtype, step.quiet());
                self.builder.select(mask, value, quiet)
            }));
        }
        let What::Map(row) = step.what else {
            let folded = operands.into_iter().take(1);
            return folded.map(|value| self.own(value)).collect();
        };
        let results = (row.0.body)(&mut self.builder, &operands);
        let mut stored = SmallVec::new();
        for (number, (value, &dtype)) in results.into_iter().zip(&step.outs).enumerate() {
            let value = self.builder.cast(value, dtype);
            stored.push(match (mask, step.old.get(number)) {
                (Some(mask), Some(&old)) => {
                    let old = self.value(old);
                    self.builder.select(mask, value, old)
                }
                _ => value,
            });
        }
        stored
    }
}

/// Drops instructions and inputs that no output needs.
fn sweep(kernel: &Kernel, origin: &[u32], shared: &[(u32, u32)]) -> Built {
    let mut used = vec![false; kernel.code.len()];
    for output in &kernel.outputs {
        used[output.value as usize] = true;
    }
    for at in (0..used.len()).rev() {
        if used[at] {
            let ins = &kernel.code[at];
            for operand in [ins.a, ins.b, ins.c].into_iter().take(operands(ins)) {
                used[operand as usize] = true;
            }
        }
    }
    let mut places = vec![0u32; kernel.code.len()];
    let (mut code, mut owners, mut inputs) = (Vec::new(), Vec::new(), Vec::new());
    for (at, ins) in kernel.code.iter().enumerate().filter(|&(at, _)| used[at]) {
        let mut ins = *ins;
        if ins.prim == Prim::Input {
            inputs.push(ins.a);
            ins.a = u32::try_from(inputs.len() - 1).unwrap_or(u32::MAX);
        } else {
            let count = operands(&ins);
            for operand in [&mut ins.a, &mut ins.b, &mut ins.c].into_iter().take(count) {
                *operand = places[*operand as usize];
            }
            if ins.prim == Prim::Gather {
                inputs.push(ins.b);
                ins.b = u32::try_from(inputs.len() - 1).unwrap_or(u32::MAX);
            }
        }
        places[at] = u32::try_from(code.len()).unwrap_or(u32::MAX);
        owners.push(origin[at]);
        code.push(ins);
    }
    let outputs = kernel.outputs.iter().map(|output| Output {
        value: places[output.value as usize],
        form: output.form,
    });
    Built {
        kernel: Arc::new(Kernel {
            outputs: outputs.collect(),
            inputs: inputs
                .iter()
                .map(|&i: &u32| kernel.inputs[i as usize])
                .collect(),
            code,
            rank: kernel.rank,
        }),
        inputs: inputs.into(),
        origin: owners.into(),
        shared: shared
            .iter()
            .filter(|(at, _)| used[*at as usize] && operands(&kernel.code[*at as usize]) > 0)
            .map(|&(at, step)| (places[at as usize], step))
            .collect(),
    }
}

/// How many values an instruction reads.
fn operands(ins: &Ins) -> usize {
    match ins.prim.arity() {
        Arity::Leaf => 0,
        Arity::Unary => 1,
        Arity::Binary => 2,
        Arity::Ternary => 3,
    }
}

fn check(kernel: &Kernel) {
    if cfg!(debug_assertions) {
        let found = verify(kernel);
        assert!(found.is_ok(), "{found:?}\n{kernel}");
    }
}
