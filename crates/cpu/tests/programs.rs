//! Programs that are kept: a device that has run a kernel before gives what a new device gives, with other scalars,
//! other memory, other distances between operands, and conditions asked for or not.

use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_types::{DType, Scalar, Strides};
use proptest::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// `a * (s + t) + b` and whether it is less than `s`: a step on scalars alone, steps on both, an output of its own.
fn kernel(scalars_alone: bool) -> Kernel {
    let mut b = Builder::new();
    let [first, second, s, t] = [0, 1, 2, 3].map(|i| b.input(i, DType::F64));
    let factor = if scalars_alone {
        b.bin(Prim::Add, s, t)
    } else {
        t
    };
    let product = b.bin(Prim::Mul, first, factor);
    let sum = b.bin(Prim::Add, product, second);
    let less = b.compare(Prim::Lt, sum, s);
    let output = |value: arrayloom_ir::Value| Output {
        value: value.0,
        form: Form::Store,
    };
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; 4],
        outputs: vec![output(sum), output(less)],
        rank: 1,
    }
}

/// One launch: how long, which scalars, where operands and results start.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    scalars: [f64; 2],
    scalars_alone: bool,
    /// Bytes before the operands and the result.
    starts: [usize; 3],
    /// The result goes to its first operand.
    on_top: bool,
    flags: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let size = prop_oneof![Just(1usize), Just(130), Just(700)];
    let scalar = prop_oneof![Just(1.5), Just(-2.0), Just(1e308), Just(f64::NAN)];
    let start = prop_oneof![Just(0usize), Just(8), Just(4), Just(56)];
    (
        size,
        [scalar.clone(), scalar],
        any::<bool>(),
        [start.clone(), start.clone(), start],
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(n, scalars, scalars_alone, starts, on_top, flags)| Case {
            n,
            scalars,
            scalars_alone,
            starts,
            on_top,
            flags,
        })
}

fn view(memory: &mut [f64], start: usize, size: usize) -> Arg {
    Arg::View {
        buf: Buf(memory.as_mut_ptr().expose_provenance() as u64),
        offset: start.cast_signed(),
        strides: Strides::from_slice(&[size.cast_signed()]),
    }
}

/// The bits of all memory afterwards, and the conditions.
fn run(cpu: &Cpu, case: &Case) -> (Vec<u64>, Vec<u8>) {
    let room = case.n + 16;
    // One block, so that places lie at fixed distances from one another.
    let value = |i: usize| u8::try_from(i % 37).map_or(0.0, |v| f64::from(v) - 9.0);
    let mut memory: Vec<f64> = (0..4 * room).map(value).collect();
    let [first, second, result] = [0, 1, 2].map(|i| 8 * room * i + case.starts[i]);
    let a = view(&mut memory, first, 8);
    let sum = if case.on_top {
        a.clone()
    } else {
        view(&mut memory, result, 8)
    };
    let ins = [
        a,
        view(&mut memory, second, 8),
        Arg::Scalar(Scalar::from_f64(DType::F64, case.scalars[0])),
        Arg::Scalar(Scalar::from_f64(DType::F64, case.scalars[1])),
    ];
    let outs = [sum, view(&mut memory, 24 * room, 1)];
    let kernel = kernel(case.scalars_alone);
    let noted: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[case.n],
        outs: &outs,
        ins: &ins,
        reduces: &[None, None],
        flags: case.flags.then_some(&noted),
    };
    let ran = cpu.run(Queue::default(), &kernel, &launch);
    assert!(ran.is_ok(), "{ran:?}");
    let noted = noted.iter().map(|byte| byte.load(Ordering::Relaxed));
    (
        memory.iter().map(|v| v.to_bits()).collect(),
        noted.collect(),
    )
}

fn open(jit: bool) -> Arc<Cpu> {
    Cpu::open(CpuConfig {
        threads: 1,
        jit,
        min_jit_ops: 0,
        ..CpuConfig::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn kept_programs_do_what_new_ones_do(cases in prop::collection::vec(cases(), 2..12), jit in any::<bool>()) {
        let used = open(jit);
        for case in &cases {
            prop_assert_eq!(run(&used, case), run(&open(jit), case), "{:?}", case);
        }
    }
}
