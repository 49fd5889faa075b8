//! Compiled kernels against interpreted ones and the oracle: random kernels over all dtypes that have
//! code, sizes around the borders of vectors and tiles, unaligned memory and memory that ends where a page does,
//! special values. Results and conditions must be equal bit for bit; only a NaN may differ in its bits.

#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]

mod fenced;

use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_device::{Arg, Buf, Device, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Arity, Builder, Form, FpFlags, Kernel, Output, Prim, ReduceOp, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_reference::Reference;
use arrayloom_types::{DType, Strides};
use fenced::Fenced;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU8, Ordering};

const DTYPES: [DType; 11] = [
    DType::F64,
    DType::F32,
    DType::C128,
    DType::C64,
    DType::I64,
    DType::I32,
    DType::Bool,
    DType::U32,
    DType::U64,
    DType::U8,
    DType::I16,
];

const UNARY: [Prim; 15] = [
    // Has no code, and cuts kernels in two.
    Prim::Sign,
    Prim::Neg,
    Prim::Abs,
    Prim::Not,
    Prim::Sqrt,
    Prim::Square,
    Prim::Conj,
    Prim::Reciprocal,
    Prim::Rint,
    Prim::Floor,
    Prim::Ceil,
    Prim::Trunc,
    Prim::IsNan,
    Prim::IsInf,
    Prim::IsFinite,
];

const BINARY: [Prim; 17] = [
    Prim::Add,
    Prim::Sub,
    Prim::Mul,
    Prim::Div,
    Prim::Min,
    Prim::Max,
    Prim::Fmin,
    Prim::Fmax,
    Prim::And,
    Prim::Or,
    Prim::Xor,
    Prim::Shl,
    Prim::Shr,
    Prim::Eq,
    Prim::Ne,
    Prim::Lt,
    Prim::Le,
];

/// What complex numbers take; comparisons have no code for them.
const COMPLEX: [Prim; 9] = [
    Prim::Neg,
    Prim::Square,
    Prim::Conj,
    Prim::IsNan,
    Prim::Add,
    Prim::Sub,
    Prim::Mul,
    Prim::Eq,
    Prim::Ne,
];

/// Whether kernels have the primitive for operands of this dtype.
fn exists(prim: Prim, dtype: DType) -> bool {
    let (float, truth) = (dtype.is_float(), dtype == DType::Bool);
    match prim {
        _ if dtype.is_complex() => COMPLEX.contains(&prim),
        Prim::Conj => false,
        Prim::Not | Prim::And | Prim::Or | Prim::Xor => !float,
        Prim::Shl | Prim::Shr => !float && !truth,
        Prim::Neg | Prim::Sub | Prim::Square => !truth,
        Prim::Abs => !matches!(dtype, DType::Bool | DType::U8 | DType::U32 | DType::U64),
        _ if UNARY.contains(&prim) => float,
        _ => prim != Prim::Div || float,
    }
}

/// What one step of a random program is made from.
#[derive(Clone, Copy, Debug)]
struct Choice {
    what: u8,
    dtype: u8,
    operands: [u8; 3],
}

/// A random program.
#[derive(Clone, Debug)]
struct Plan {
    n: usize,
    inputs: Vec<(u8, u8)>,
    steps: Vec<Choice>,
    outputs: u8,
    sum: bool,
    /// The first output lies on an input of its dtype, if there is one.
    on_top: bool,
    noise: u64,
}

fn plans() -> impl Strategy<Value = Plan> {
    let size = prop_oneof![
        0..40usize,
        60..70usize,
        120..140usize,
        250..260usize,
        510..520usize,
        0..1000usize
    ];
    let choice = (any::<u8>(), any::<u8>(), any::<[u8; 3]>());
    let choice = choice.prop_map(|(what, dtype, operands)| Choice {
        what,
        dtype,
        operands,
    });
    (
        size,
        prop::collection::vec(any::<(u8, u8)>(), 1..5),
        prop::collection::vec(choice, 1..48),
        1..4u8,
        any::<bool>(),
        any::<bool>(),
        any::<u64>(),
    )
        .prop_map(|(n, inputs, steps, outputs, sum, on_top, noise)| Plan {
            n,
            inputs,
            steps,
            outputs,
            sum,
            on_top,
            noise,
        })
}

/// The values so far, with their dtypes.
struct Values {
    b: Builder,
    known: Vec<(Value, DType)>,
}

impl Values {
    /// A value of this dtype: one of the last ones, or a conversion.
    fn of(&mut self, dtype: DType, pick: u8) -> Value {
        let alike: Vec<Value> = self
            .known
            .iter()
            .rev()
            .filter(|(_, d)| *d == dtype)
            .map(|(v, _)| *v)
            .take(6)
            .collect();
        if !alike.is_empty() && !pick.is_multiple_of(8) {
            return alike[usize::from(pick) % alike.len()];
        }
        let (value, from) = self.known[usize::from(pick) % self.known.len()];
        // What a float beyond the range becomes is free where NumPy leaves it so.
        let free = (from.is_float() || from.is_complex())
            && !matches!(dtype, DType::I32 | DType::I64 | DType::Bool);
        if from == dtype {
            value
        } else if free && !dtype.is_float() && !dtype.is_complex() {
            let whole = self.b.cast(value, DType::I64);
            self.b.cast(whole, dtype)
        } else {
            self.b.cast(value, dtype)
        }
    }

    fn step(&mut self, choice: Choice) {
        let dtype = DTYPES[usize::from(choice.dtype) % DTYPES.len()];
        let [x, y, z] = choice.operands;
        let what = usize::from(choice.what) % (UNARY.len() + BINARY.len() + 6);
        let made = if what < UNARY.len() {
            let prim = UNARY[what];
            if !exists(prim, dtype) {
                return;
            }
            let a = self.of(dtype, x);
            match prim {
                Prim::IsNan | Prim::IsInf | Prim::IsFinite => self.b.un_as(prim, DType::Bool, a),
                _ => self.b.un(prim, a),
            }
        } else if let Some(&prim) = BINARY.get(what - UNARY.len()) {
            if !exists(prim, dtype) {
                return;
            }
            let (a, b) = (self.of(dtype, x), self.of(dtype, y));
            match prim {
                Prim::Eq | Prim::Ne | Prim::Lt | Prim::Le => self.b.compare(prim, a, b),
                _ => self.b.bin(prim, a, b),
            }
        } else {
            let a = self.of(DType::Bool, x);
            let (b, c) = (self.of(dtype, y), self.of(dtype, z));
            self.b.select(a, b, c)
        };
        self.known.push((made, self.b.dtype(made)));
    }
}

/// A kernel with the dtypes of inputs and outputs.
fn kernel(plan: &Plan) -> (Kernel, Vec<DType>) {
    let mut values = Values {
        b: Builder::new(),
        known: Vec::new(),
    };
    let mut dtypes = Vec::new();
    for (i, &(dtype, _)) in plan.inputs.iter().enumerate() {
        let dtype = DTYPES[usize::from(dtype) % DTYPES.len()];
        let value = values.b.input(u32::try_from(i).unwrap(), dtype);
        values.known.push((value, dtype));
        dtypes.push(dtype);
    }
    let constant = values.b.constant(DType::F64, 0.75);
    values.known.push((constant, DType::F64));
    for &choice in &plan.steps {
        values.step(choice);
    }
    let computed = values.known.split_off(plan.inputs.len() + 1);
    let mut outputs: Vec<(Value, DType, Form)> = computed
        .iter()
        .rev()
        .take(usize::from(plan.outputs))
        .map(|&(value, dtype)| (value, dtype, Form::Store))
        .collect();
    let float = computed.iter().rev().find(|(_, d)| d.is_float());
    if let Some(&(value, dtype)) = float.filter(|_| plan.sum) {
        let op = ReduceOp::Add;
        outputs.push((value, dtype, Form::Reduce { op, axes: 1 }));
    }
    if outputs.is_empty() {
        outputs.push((constant, DType::F64, Form::Store));
    }
    let kernel = Kernel {
        code: values.b.finish(),
        inputs: dtypes,
        outputs: outputs
            .iter()
            .map(|&(value, _, form)| Output {
                value: value.0,
                form,
            })
            .collect(),
        rank: 1,
    };
    arrayloom_ir::verify(&kernel).unwrap();
    (kernel, outputs.iter().map(|o| o.1).collect())
}

/// Deterministic noise.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 ^ self.0 >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

const SPECIAL: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    5e-324,
    1e-310,
    -1e300,
    1e300,
    0.5,
    2.5,
    4e9,
];

/// A number from noise: one in eight is special.
fn number(bits: u64) -> f64 {
    if (bits >> 8).is_multiple_of(8) {
        SPECIAL[usize::try_from(bits >> 16).unwrap() % SPECIAL.len()]
    } else {
        f64::from(u16::try_from(bits >> 48).unwrap()) / 700.0 - 40.0
    }
}

/// Elements of a dtype: specials among ordinary ones.
fn elements(dtype: DType, n: usize, noise: &mut Noise) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..n {
        let bits = noise.next();
        let special = (bits >> 8).is_multiple_of(8);
        let float = number(bits);
        match dtype {
            // Any byte but zero is true.
            DType::Bool if special => bytes.push(bits.to_ne_bytes()[3]),
            DType::Bool => bytes.push(u8::from(bits & 1 == 1)),
            #[expect(clippy::cast_possible_truncation, reason = "overflow is a case too")]
            DType::F32 => bytes.extend((float as f32).to_ne_bytes()),
            DType::F64 => bytes.extend(float.to_ne_bytes()),
            #[expect(clippy::cast_possible_truncation, reason = "overflow is a case too")]
            DType::C64 => {
                bytes.extend((float as f32).to_ne_bytes());
                bytes.extend((number(noise.next()) as f32).to_ne_bytes());
            }
            DType::C128 => {
                bytes.extend(float.to_ne_bytes());
                bytes.extend(number(noise.next()).to_ne_bytes());
            }
            _ if special => bytes.extend(&bits.to_ne_bytes()[..dtype.size()]),
            _ => bytes.extend(&(bits >> 58).to_ne_bytes()[..dtype.size()]),
        }
    }
    bytes
}

/// What a device made of a plan: the bytes of each output, and the conditions.
type Made = (Vec<Vec<u8>>, Vec<u8>);

fn view(memory: &mut [u64], skip: usize, size: usize) -> Arg {
    Arg::View {
        buf: Buf(memory.as_mut_ptr().expose_provenance() as u64),
        offset: skip.cast_signed(),
        strides: Strides::from_slice(&[size.cast_signed()]),
    }
}

/// Memory of `bytes` bytes from byte `skip` on; around it nothing may be written.
fn memory(bytes: &[u8], skip: usize) -> Vec<u64> {
    let mut all = vec![0xa5u8; (skip + bytes.len() + 80).next_multiple_of(8)];
    all[skip..skip + bytes.len()].copy_from_slice(bytes);
    let words = all.chunks_exact(8);
    words
        .map(|word| u64::from_ne_bytes(word.try_into().unwrap()))
        .collect()
}

/// The memory of an input.
enum Room {
    Free(Vec<u64>),
    Fenced(Fenced),
}

impl Room {
    /// Where the kernel finds the input, and its memory.
    fn new(elements: &[u8], place: u8, dtype: DType) -> (Arg, Room) {
        let skip = in_skip(place, dtype);
        let size = if is_single(place) { 0 } else { dtype.size() };
        if is_fenced(place) {
            let fenced = Fenced::new(elements);
            let arg = Arg::View {
                buf: Buf(fenced.first().expose_provenance() as u64),
                offset: 0,
                strides: Strides::from_slice(&[size.cast_signed()]),
            };
            return (arg, Room::Fenced(fenced));
        }
        let mut block = memory(elements, skip);
        (view(&mut block, skip, size), Room::Free(block))
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Room::Free(block) => bytes(block),
            Room::Fenced(fenced) => fenced.bytes(),
        }
    }
}

fn bytes(memory: &[u64]) -> Vec<u8> {
    memory.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// True for inputs that are one value, repeated.
fn is_single(place: u8) -> bool {
    place.is_multiple_of(7)
}

/// True for inputs with a fence behind them.
fn is_fenced(place: u8) -> bool {
    place.is_multiple_of(2)
}

/// Bytes in front of an input: some are aligned, some are not.
fn in_skip(place: u8, dtype: DType) -> usize {
    if is_fenced(place) {
        return 0;
    }
    usize::from(place % 3) * 4 / dtype.size() * dtype.size() + usize::from(place.is_multiple_of(5))
}

/// Bytes in front of an output.
fn out_skip(plan: &Plan, i: usize) -> usize {
    usize::try_from(plan.noise >> (4 * i) & 15).unwrap() / 8 * 8
}

fn execute(device: &dyn Device, plan: &Plan, flags: bool) -> Made {
    let (kernel, outs) = kernel(plan);
    let mut noise = Noise(plan.noise);
    let mut ins: Vec<Room> = Vec::new();
    let mut in_args = Vec::new();
    for (&dtype, &(_, place)) in kernel.inputs.iter().zip(&plan.inputs) {
        let count = if is_single(place) { 1 } else { plan.n };
        let (arg, room) = Room::new(&elements(dtype, count, &mut noise), place, dtype);
        in_args.push(arg);
        ins.push(room);
    }
    let mut out_args = Vec::new();
    let mut blocks: Vec<Vec<u64>> = Vec::new();
    let mut reduces = Vec::new();
    let mut on_top = None;
    for (i, (&dtype, output)) in outs.iter().zip(&kernel.outputs).enumerate() {
        let folded = matches!(output.form, Form::Reduce { .. });
        let size = if folded { 0 } else { dtype.size() };
        let skip = out_skip(plan, i);
        let mut block = memory(
            &vec![0; if folded { 1 } else { plan.n } * dtype.size()],
            skip,
        );
        let target = kernel.inputs.iter().position(|&d| d == dtype);
        let target = target.filter(|&at| plan.on_top && i == 0 && !is_single(plan.inputs[at].1));
        if let Some(at) = target.filter(|_| !folded) {
            on_top = Some(at);
            out_args.push(in_args[at].clone());
        } else {
            out_args.push(view(&mut block, skip, size));
        }
        blocks.push(block);
        reduces.push(folded.then(|| ReduceArgs {
            order: ReduceOrder {
                axes: [0].as_slice().into(),
                stream: 1,
                piece: usize::MAX,
            },
            initial: None,
        }));
    }
    let noted: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[plan.n],
        ins: &in_args,
        outs: &out_args,
        reduces: &reduces,
        flags: flags.then_some(&noted),
    };
    device.run(Queue(0), &kernel, &launch).unwrap();
    let mut made: Vec<Vec<u8>> = blocks.iter().map(|block| bytes(block)).collect();
    for (at, room) in ins.iter().enumerate() {
        let changed = on_top == Some(at);
        made.push(if changed { room.bytes() } else { Vec::new() });
    }
    let conditions = noted.iter().map(|byte| byte.load(Ordering::Relaxed));
    (same_nans(&kernel, &outs, made, plan), conditions.collect())
}

/// Gives all NaNs of float outputs the same bits, at any alignment of four bytes, and all bytes that are
/// true the same.
fn same_nans(kernel: &Kernel, outs: &[DType], mut made: Vec<Vec<u8>>, plan: &Plan) -> Vec<Vec<u8>> {
    let dtypes: Vec<DType> = outs.iter().chain(&kernel.inputs).copied().collect();
    for (i, (block, &dtype)) in made.iter_mut().zip(&dtypes).enumerate() {
        let skip = if i < outs.len() {
            out_skip(plan, i)
        } else {
            let place = plan.inputs[i - outs.len()].1;
            in_skip(place, dtype)
        };
        let start = skip.min(block.len());
        match dtype.real() {
            DType::F64 => {
                for word in block[start..].chunks_exact_mut(8) {
                    if f64::from_ne_bytes(word.try_into().unwrap()).is_nan() {
                        word.copy_from_slice(&f64::NAN.to_ne_bytes());
                    }
                }
            }
            DType::F32 => {
                for word in block[start..].chunks_exact_mut(4) {
                    if f32::from_ne_bytes(word.try_into().unwrap()).is_nan() {
                        word.copy_from_slice(&f32::NAN.to_ne_bytes());
                    }
                }
            }
            DType::Bool => block[start..]
                .iter_mut()
                .for_each(|byte| *byte = (*byte).min(1)),
            _ => {}
        }
    }
    made
}

fn open(isa: Option<Isa>, jit: bool, stream_bytes: usize) -> std::sync::Arc<Cpu> {
    Cpu::open(CpuConfig {
        threads: 1,
        isa,
        jit,
        min_jit_ops: 0,
        stream_bytes,
        ..CpuConfig::default()
    })
}

/// Conditions that NumPy reports.
const COMPARED: u8 = FpFlags::DIVIDE.0 | FpFlags::OVERFLOW.0 | FpFlags::INVALID.0;

/// The conditions of instructions that outputs need.
fn visible(plan: &Plan, conditions: &[u8]) -> Vec<u8> {
    let (kernel, _) = kernel(plan);
    let mut live = vec![false; kernel.code.len()];
    for output in &kernel.outputs {
        live[output.value as usize] = true;
    }
    for (at, ins) in kernel.code.iter().enumerate().rev() {
        let count = match ins.prim.arity() {
            Arity::Leaf => 0,
            Arity::Unary => 1,
            Arity::Binary => 2,
            Arity::Ternary => 3,
        };
        for operand in [ins.a, ins.b, ins.c].into_iter().take(count) {
            live[operand as usize] |= live[at];
        }
    }
    let live = conditions.iter().zip(live).filter(|(_, live)| *live);
    live.map(|(byte, _)| byte & COMPARED).collect()
}

/// The kernel in words.
fn text(plan: &Plan) -> String {
    kernel(plan).0.to_string()
}

/// True when the oracle may answer otherwise: another zero, another last bit.
fn is_free(plan: &Plan) -> bool {
    let (kernel, _) = kernel(plan);
    let free = [Prim::Min, Prim::Max, Prim::Fmin, Prim::Fmax, Prim::Sign];
    kernel.code.iter().any(|ins| free.contains(&ins.prim))
}

fn has_complex(plan: &Plan) -> bool {
    let (kernel, _) = kernel(plan);
    kernel.code.iter().any(|ins| ins.dtype.is_complex())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn compiled_interpreted_and_oracle_agree(plan in plans()) {
        let expected = execute(&*open(None, false, usize::MAX), &plan, true);
        if !is_free(&plan) {
            let oracle = execute(&Reference::new(), &plan, true);
            prop_assert_eq!(&oracle.0, &expected.0, "{}", text(&plan));
            // The oracle does not count the conditions of sums, nor those of single parts.
            if !plan.sum && !has_complex(&plan) {
            prop_assert_eq!(visible(&plan, &oracle.1), visible(&plan, &expected.1), "{}", text(&plan));
            }
        }
        for isa in [None, Some(Isa::Avx2)] {
            for stream_bytes in [64, usize::MAX] {
                let cpu = open(isa, true, stream_bytes);
                let found = execute(&*cpu, &plan, true);
                prop_assert_eq!(&found.0, &expected.0, "{}", text(&plan));
                prop_assert_eq!(visible(&plan, &found.1), visible(&plan, &expected.1), "{}", text(&plan));
                let quiet = execute(&*cpu, &plan, false);
                prop_assert_eq!(&quiet.0, &expected.0, "{}", text(&plan));
                prop_assert!(!cpu.jit_stats().refused);
            }
        }
    }
}

#[test]
fn functions_are_kept_by_their_code() {
    let plan = |n| Plan {
        n,
        inputs: vec![(0, 1), (0, 2)],
        steps: vec![Choice {
            what: u8::try_from(UNARY.len()).unwrap(),
            dtype: 0,
            operands: [1, 2, 3],
        }],
        outputs: 1,
        sum: false,
        on_top: false,
        noise: 8,
    };
    let cpu = open(None, true, usize::MAX);
    if cpu.isa() == Isa::Baseline {
        return;
    }
    for n in [2, 7, 100, 999] {
        execute(&*cpu, &plan(n), true);
    }
    assert_eq!(cpu.jit_stats().compiled, 1);
    let off = open(None, false, usize::MAX);
    execute(&*off, &plan(100), true);
    assert_eq!(off.jit_stats().compiled, 0);
}
