//! Floating-point conditions of each instruction, with special operands, against the reference.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use arrayloom_device::{Arg, Buf, Device, End, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, FpFlags, Kernel, Output, Prim, ReduceOp};
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_plan::ReduceOrder;
use arrayloom_reference::Reference;
use arrayloom_types::{DType, Scalar};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// NumPy never reports underflow by default, and devices need not find it.
const COMPARED: u8 = FpFlags::DIVIDE.0 | FpFlags::OVERFLOW.0 | FpFlags::INVALID.0;

const UNARY: [Prim; 12] = [
    Prim::Sqrt,
    Prim::Log,
    Prim::Log1p,
    Prim::Exp,
    Prim::Sin,
    Prim::Acos,
    Prim::Atanh,
    Prim::Reciprocal,
    Prim::Square,
    Prim::Floor,
    Prim::Neg,
    Prim::Abs,
];

const BINARY: [Prim; 14] = [
    Prim::Add,
    Prim::Sub,
    Prim::Mul,
    Prim::Div,
    Prim::FloorDiv,
    Prim::Rem,
    Prim::Fmod,
    Prim::Pow,
    Prim::Hypot,
    Prim::LogAddExp,
    Prim::NextAfter,
    Prim::Max,
    Prim::Atan2,
    Prim::CopySign,
];

const SPECIAL: [f64; 10] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.5,
    60000.0,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

fn open() -> OpenCl {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let config = Config {
        cache: Some((cache, 1 << 30)),
        ..Config::default()
    };
    OpenCl::open(config).expect("an OpenCL driver")
}

/// One kernel with all of them, each stored.
fn all(dtype: DType) -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.input(0, dtype), b.input(1, dtype));
    let mut values: Vec<_> = UNARY.iter().map(|&p| b.un(p, x)).collect();
    values.extend(BINARY.iter().map(|&p| b.bin(p, x, y)));
    let casts = [DType::F16, DType::F32, DType::I8, DType::I64, DType::U64];
    let other = casts.iter().filter(|&&d| d != dtype);
    values.extend(other.map(|&d| b.cast(x, d)));
    let output = |v: &arrayloom_ir::Value| Output {
        value: v.0,
        form: Form::Store,
    };
    Kernel {
        outputs: values.iter().map(output).collect(),
        inputs: vec![dtype; 2],
        code: b.finish(),
        rank: 1,
    }
}

fn view(memory: &mut [u64], step: usize) -> Arg {
    Arg::View {
        buf: Buf(memory.as_mut_ptr().expose_provenance() as u64),
        offset: 0,
        strides: [step.cast_signed()].into_iter().collect(),
    }
}

/// What each instruction met on a device, and the results.
fn met(
    device: &dyn Device,
    kernel: &Kernel,
    n: usize,
    (ins, reduces): (&[Arg], &[Option<ReduceArgs>]),
) -> Vec<u8> {
    let mut memory = vec![vec![0u64; 2 * n]; kernel.outputs.len()];
    let outs: Vec<Arg> = memory
        .iter_mut()
        .enumerate()
        .map(|(i, memory)| {
            let folded = reduces[i].is_some();
            let size = kernel.output_dtype(i).size();
            view(memory, if folded { 0 } else { size })
        })
        .collect();
    let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[n],
        outs: &outs,
        ins,
        reduces,
        flags: Some(&flags),
    };
    device.run(Queue(0), kernel, &launch).expect("a kernel");
    let now = flags.iter().map(|f| f.load(Ordering::Relaxed) & COMPARED);
    now.collect()
}

/// The bytes of values as memory.
fn packed(dtype: DType, values: &[f64]) -> Vec<u64> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|&x| Scalar::from_f64(dtype, x).as_bytes().to_vec())
        .collect();
    let word = |chunk: &[u8]| {
        let mut all = [0; 8];
        all[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(all)
    };
    bytes.chunks(8).map(word).collect()
}

#[test]
fn every_instruction_tells_what_it_met() {
    let (device, reference) = (open(), Reference::new());
    for dtype in [DType::F64, DType::F32, DType::F16] {
        let kernel = all(dtype);
        let reduces = vec![None; kernel.outputs.len()];
        let mut wrong = Vec::new();
        for x in SPECIAL {
            for y in SPECIAL {
                let mut own = [packed(dtype, &[x]), packed(dtype, &[y])];
                let ins: Vec<Arg> = own.iter_mut().map(|m| view(m, dtype.size())).collect();
                let found = met(&device, &kernel, 1, (&ins, &reduces));
                let right = met(&reference, &kernel, 1, (&ins, &reduces));
                let places = kernel.code.iter().zip(found.iter().zip(&right));
                for (ins, (found, right)) in places.filter(|(_, (f, r))| f != r) {
                    let prim = ins.prim.name();
                    wrong.push(format!("{prim} {dtype} {x} {y}: {found}, not {right}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn sums_tell_what_they_met() {
    let (device, reference) = (open(), Reference::new());
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let twice = b.bin(Prim::Add, x, x);
    let fold = |op| Form::Reduce { op, axes: 1 };
    let outputs = [
        (twice, Form::Store),
        (x, fold(ReduceOp::Add)),
        (x, fold(ReduceOp::Max)),
    ];
    let kernel = Kernel {
        outputs: outputs
            .map(|(v, form)| Output { value: v.0, form })
            .to_vec(),
        inputs: vec![DType::F64],
        code: b.finish(),
        rank: 1,
    };
    let n = 20_000;
    let order = ReduceOrder {
        axes: [0].into_iter().collect(),
        stream: 1,
        piece: n,
    };
    let args = ReduceArgs {
        order,
        initial: None,
    };
    let reduces = [None, Some(args.clone()), Some(args)];
    let cases: [(&[f64], [u8; 2]); 5] = [
        (&[1.0], [0, 0]),
        (&[f64::MAX / 2.0, f64::MAX / 2.0, f64::MAX / 2.0], [2, 0]),
        (&[f64::MAX], [0, 2]),
        (&[f64::INFINITY, f64::NEG_INFINITY], [8, 0]),
        (&[f64::NAN, f64::INFINITY], [0, 0]),
    ];
    for (special, expected) in cases {
        let mut values = vec![0.25; n];
        values[n / 2..n / 2 + special.len()].copy_from_slice(special);
        let mut own = packed(DType::F64, &values);
        let ins = [view(&mut own, 8)];
        let found = met(&device, &kernel, n, (&ins, &reduces));
        assert_eq!(found, expected, "{special:?}");
        let right = met(&reference, &kernel, n, (&ins, &reduces));
        assert_eq!(found, right, "{special:?}");
    }
}

#[test]
fn results_on_operands_tell_what_they_met() {
    let device = open();
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let inverse = b.un(Prim::Reciprocal, x);
    let down = b.un(Prim::Floor, inverse);
    let kernel = Kernel {
        outputs: vec![Output {
            value: down.0,
            form: Form::Store,
        }],
        inputs: vec![DType::F64],
        code: b.finish(),
        rank: 1,
    };
    let mut values = vec![0.5; 5000];
    values[77] = 0.0;
    let mut own = packed(DType::F64, &values);
    let here = [view(&mut own, 8)];
    let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[5000],
        outs: &here,
        ins: &here,
        reduces: &[None],
        flags: Some(&flags),
    };
    device.run(Queue(0), &kernel, &launch).expect("a kernel");
    let met: Vec<u8> = flags.iter().map(|f| f.load(Ordering::Relaxed)).collect();
    assert_eq!(met, [0, FpFlags::DIVIDE.0, 0]);
    assert_eq!(f64::from_bits(own[77]).to_bits(), f64::INFINITY.to_bits());
    assert_eq!(f64::from_bits(own[78]).to_bits(), 2f64.to_bits());
}

/// A device with memory of its own tells what a kernel met when an event has passed, from the kernel's second
/// launch on; the first one waits.
#[test]
fn conditions_come_with_an_event() {
    let config = Config {
        place: Place::Device,
        ..Config::default()
    };
    let device = OpenCl::open(config).expect("an OpenCL driver");
    let mut b = Builder::new();
    let (x, y) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let ratio = b.bin(Prim::Div, x, y).0;
    let fold = Form::Reduce {
        op: ReduceOp::Add,
        axes: 1,
    };
    let kernel = Kernel {
        outputs: [Form::Store, fold]
            .map(|form| Output { value: ratio, form })
            .to_vec(),
        inputs: vec![DType::F64; 2],
        code: b.finish(),
        rank: 1,
    };
    let n = 3000;
    let bytes = 8 * n as u64;
    let blocks = [bytes, bytes, bytes, 8].map(|bytes| device.alloc(bytes).expect("memory"));
    let view = |buf, step| Arg::View {
        buf,
        offset: 0,
        strides: [step].into_iter().collect(),
    };
    let order = ReduceOrder {
        axes: [0].into_iter().collect(),
        stream: 1,
        piece: n,
    };
    let reduces = [
        None,
        Some(ReduceArgs {
            order,
            initial: None,
        }),
    ];
    let put = |x: f64, y: f64| {
        for (to, value) in blocks.iter().zip([x, y]) {
            let mut all = vec![1.0; n];
            all[n / 3] = value;
            let host = End::Host(all.as_mut_ptr().cast());
            let sent = device.copy(Queue(0), End::Dev(*to, 0), host, bytes);
            sent.expect("a copy");
        }
        let met: Arc<[AtomicU8]> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
        let launch = Launch {
            shape: &[n],
            outs: &[view(blocks[2], 8), view(blocks[3], 0)],
            ins: &[view(blocks[0], 8), view(blocks[1], 8)],
            reduces: &reduces,
            flags: None,
        };
        let run = device.run_watched(Queue(0), &kernel, &launch, &met);
        run.expect("a kernel");
        met
    };
    let told = |met: &Arc<[AtomicU8]>| met[2].load(Ordering::Relaxed) & COMPARED;
    assert_eq!(told(&put(1.0, 0.0)), FpFlags::DIVIDE.0);
    let pairs = [(0.0, 0.0), (1.0, 2.0), (1e300, 1e-300), (1.0, 0.0)];
    let late = pairs.map(|(x, y)| put(x, y));
    assert_eq!(late.each_ref().map(told), [0; 4]);
    let event = device.record(Queue(0)).expect("an event");
    assert_eq!(device.poll(event, true), Ok(true));
    let expected = [
        FpFlags::INVALID,
        FpFlags::NONE,
        FpFlags::OVERFLOW,
        FpFlags::DIVIDE,
    ];
    assert_eq!(late.each_ref().map(told), expected.map(|flags| flags.0));
}
