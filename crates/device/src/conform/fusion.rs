//! Random kernels of many instructions against the same instructions run one at a time on the same
//! device: fusing must change no bit, not even of functions that have no exact result.

use super::compare::Closeness;
use super::data::{Rng, Values};
use super::exec::{Found, Input, Job, execute};
use super::place::Pattern;
use super::table::{self, Loop};
use super::{Suite, Trouble, compare};
use crate::{Device, ReduceArgs};
use arrayloom_ir::{Builder, Form, Ins, Kernel, Prim, ReduceOp};
use arrayloom_plan::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order, reduce_strides};
use arrayloom_types::{DType, Layout, Shape};

/// Random kernels of a run.
const PROGRAMS: u64 = 120;

/// All cases.
pub(super) fn run(suite: &mut Suite<'_>) {
    let loops: Vec<Loop> = table::loops().into_iter().filter(fit).collect();
    for seed in 0..PROGRAMS {
        let program = random_program(&loops, seed);
        let result = whole_and_parts(suite.device, &program);
        suite.note(format!("fusion/program{seed}"), result);
    }
    let result = whole_and_parts(suite.device, &rounded_at_every_step());
    suite.note("fusion/float16".to_owned(), result);
}

/// Leaves out what shows the sign of a NaN, which is free, and what is only defined for some values.
fn fit(l: &Loop) -> bool {
    let common = [
        DType::Bool,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::F32,
        DType::F64,
        DType::C128,
    ];
    let partial = [
        Prim::SignBit,
        Prim::CopySign,
        Prim::NextAfter,
        Prim::Shl,
        Prim::Shr,
        Prim::Pow,
        Prim::Ldexp,
        Prim::Min,
        Prim::Max,
        Prim::Fmin,
        Prim::Fmax,
    ];
    !partial.contains(&l.prim) && l.ins.iter().chain([&l.out]).all(|d| common.contains(d))
}

/// A kernel with its operands; its last output may be a fold.
struct Program {
    job: Job,
    /// The layout that sums see.
    seen: Layout,
}

/// `x * y + x * x - y` in `float16`: what is not rounded after every step has other bits.
fn rounded_at_every_step() -> Program {
    let dtype = DType::F16;
    let mut b = Builder::new();
    let (x, y) = (b.input(0, dtype), b.input(1, dtype));
    let (xy, xx) = (b.bin(Prim::Mul, x, y), b.bin(Prim::Mul, x, x));
    let sum = b.bin(Prim::Add, xy, xx);
    let result = b.bin(Prim::Sub, sum, y);
    let kernel = table::kernel(b, &[(result.0, Form::Store)], &[dtype; 2], 1);
    let layout = Layout::contiguous(dtype, &[999]);
    let ins = [3, 4].map(|seed| Input::random(layout.clone(), seed, Values::Tame));
    bind(kernel, &[999], ins.to_vec())
}

const SHAPES: [&[usize]; 6] = [&[1500], &[33, 67], &[7, 9, 11], &[4099], &[], &[3, 1, 70]];

fn random_program(loops: &[Loop], seed: u64) -> Program {
    let mut rng = Rng::new(seed + 1);
    let shape: Shape = SHAPES[rng.below(SHAPES.len())].into();
    let patterns = [
        Pattern::Contiguous,
        Pattern::Strided,
        Pattern::Broadcast,
        Pattern::Reversed,
    ];
    let mut b = Builder::new();
    let mut known: Vec<(u32, DType)> = Vec::new();
    let mut ins = Vec::new();
    let mut dtypes = Vec::new();
    let palette = [DType::F64, DType::F32, DType::I32, DType::F64, DType::I64];
    for nth in 0..2 + rng.below(3) {
        let dtype = palette[rng.below(palette.len())];
        let value = b.input(u32::try_from(nth).unwrap_or(0), dtype);
        let pattern = patterns[rng.below(patterns.len())];
        let values = if rng.below(2) == 0 {
            Values::Any
        } else {
            Values::Tame
        };
        ins.push(Input::random(
            pattern.input(dtype, &shape, nth),
            rng.bits(),
            values,
        ));
        dtypes.push(dtype);
        known.push((value.0, dtype));
    }
    if !shape.is_empty() {
        known.push((b.iota(0).0, DType::I64));
    }
    known.push((b.constant(DType::F64, 0.75).0, DType::F64));
    for _ in 0..3 + rng.below(10) {
        known.push(instruction(&mut b, loops, &known, &mut rng));
    }
    let mut outs: Vec<(u32, Form)> = Vec::new();
    for &(value, _) in known.iter().rev().take(1 + rng.below(3)) {
        outs.push((value, Form::Store));
    }
    let floats = known.iter().rev().find(|(_, d)| *d == DType::F64);
    if let Some(&(value, _)) = floats.filter(|_| !shape.is_empty() && rng.below(2) == 0) {
        let axes = 1 + u32::try_from(rng.below((1 << shape.len()) - 1)).unwrap_or(0);
        outs.push((
            value,
            Form::Reduce {
                op: ReduceOp::Add,
                axes,
            },
        ));
    }
    let kernel = table::kernel(b, &outs, &dtypes, shape.len());
    bind(kernel, &shape, ins)
}

/// Adds a random instruction on known values.
fn instruction(
    b: &mut Builder,
    loops: &[Loop],
    known: &[(u32, DType)],
    rng: &mut Rng,
) -> (u32, DType) {
    let fits = |l: &&Loop| l.ins.iter().all(|d| known.iter().any(|(_, k)| k == d));
    let choices: Vec<&Loop> = loops.iter().filter(fits).collect();
    let l = choices[rng.below(choices.len())];
    let mut operands = [0; 3];
    for (slot, dtype) in operands.iter_mut().zip(&l.ins) {
        let of_dtype: Vec<u32> = known
            .iter()
            .filter(|(_, d)| d == dtype)
            .map(|k| k.0)
            .collect();
        // Newer values are likelier, so that chains grow long.
        let newer = rng.below(of_dtype.len()).max(rng.below(of_dtype.len()));
        *slot = of_dtype[newer];
    }
    let [x, y, z] = operands;
    let value = b.push(Ins {
        prim: l.prim,
        dtype: l.out,
        a: x,
        b: y,
        c: z,
        bits: 0,
    });
    (value.0, l.out)
}

/// Gives every output a place, and folds their order.
fn bind(kernel: Kernel, shape: &[usize], ins: Vec<Input>) -> Program {
    let seen = Layout::contiguous(DType::F64, shape);
    let mut outs = Vec::new();
    let mut reduces = Vec::new();
    for (i, output) in kernel.outputs.iter().enumerate() {
        let dtype = kernel.output_dtype(i);
        if let Form::Reduce { axes, .. } = output.form {
            let (layout, args) = sum_over(&seen, axes);
            outs.push(layout);
            reduces.push(Some(args));
        } else {
            outs.push(Layout::contiguous(dtype, shape));
            reduces.push(None);
        }
    }
    let mut job = Job::new(kernel, shape, ins, outs);
    job.reduces = reduces;
    Program { job, seen }
}

fn sum_over(seen: &Layout, axes: u32) -> (Layout, ReduceArgs) {
    let strides = reduce_strides(&seen.shape, &seen.strides, axes, seen.dtype.size());
    let order = reduce_order(&ReduceFacts {
        shape: &seen.shape,
        in_strides: &seen.strides,
        out_strides: &strides,
        reduced: axes,
        cast: false,
        bufsize: DEFAULT_BUFSIZE,
        rules: SumRules::Since2_3,
    });
    let extents = seen.shape.iter().enumerate();
    let layout = Layout {
        dtype: seen.dtype,
        offset: 0,
        shape: extents
            .map(|(i, &n)| if axes >> i & 1 == 1 { 1 } else { n })
            .collect(),
        strides,
    };
    let initial = None;
    (layout, ReduceArgs { order, initial })
}

/// Runs a program as one kernel and as one kernel per instruction.
fn whole_and_parts(device: &dyn Device, program: &Program) -> Result<(), Trouble> {
    let job = &program.job;
    let whole = execute(device, job)?;
    let mut values: Vec<Vec<u8>> = Vec::new();
    for at in 0..job.kernel.code.len() {
        values.push(one_instruction(device, job, at, &values)?);
    }
    let mut blocks = Vec::new();
    for (i, output) in job.kernel.outputs.iter().enumerate() {
        let value = &values[output.value as usize];
        match output.form {
            Form::Store => blocks.push(value.clone()),
            form => blocks.push(one_fold(device, program, i, form, value)?),
        }
    }
    let parts = Found {
        blocks,
        flags: Vec::new(),
    };
    if !device.caps().abilities.values {
        return Ok(());
    }
    compare::blocks(job, &whole, &parts, Closeness::Bits)
        .map_err(|what| Trouble::Wrong(format!("fused and single differ: {what}\n{}", job.kernel)))
}

/// Instruction `at` alone, over stored operands: its values in C order.
fn one_instruction(
    device: &dyn Device,
    job: &Job,
    at: usize,
    values: &[Vec<u8>],
) -> Result<Vec<u8>, Trouble> {
    let ins = job.kernel.code[at];
    let mut b = Builder::new();
    let mut inputs = Vec::new();
    let mut dtypes = Vec::new();
    let mut alone = ins;
    if ins.prim == Prim::Input {
        let number = ins.a as usize;
        inputs.push(job.ins[number].clone());
        dtypes.push(ins.dtype);
        alone.a = 0;
    }
    let mut operands = [0; 3];
    for (slot, &v) in operands.iter_mut().zip(&table::operands(&ins)) {
        let dtype = job.kernel.code[v as usize].dtype;
        let number = u32::try_from(inputs.len()).unwrap_or(0);
        *slot = b.input(number, dtype).0;
        inputs.push(Input::packed(dtype, &job.shape, &values[v as usize]));
        dtypes.push(dtype);
    }
    if !table::operands(&ins).is_empty() {
        [alone.a, alone.b, alone.c] = operands;
    }
    let result = b.push(alone);
    let kernel = table::kernel(b, &[(result.0, Form::Store)], &dtypes, job.shape.len());
    let outs = vec![Layout::contiguous(ins.dtype, &job.shape)];
    let single = Job::new(kernel, &job.shape, inputs, outs);
    Ok(execute(device, &single)?.packed(&single, 0))
}

/// The fold of output `i` over stored values.
fn one_fold(
    device: &dyn Device,
    program: &Program,
    i: usize,
    form: Form,
    value: &[u8],
) -> Result<Vec<u8>, Trouble> {
    let job = &program.job;
    let dtype = program.seen.dtype;
    let mut b = Builder::new();
    let x = b.input(0, dtype);
    let kernel = table::kernel(b, &[(x.0, form)], &[dtype], job.shape.len());
    let input = Input::packed(dtype, &job.shape, value);
    let mut single = Job::new(kernel, &job.shape, vec![input], vec![job.outs[i].clone()]);
    single.reduces = vec![job.reduces[i].clone()];
    Ok(execute(device, &single)?.packed(&single, 0))
}
