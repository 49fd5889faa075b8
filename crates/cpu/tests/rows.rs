//! Compiled functions that do many short rows in one call, against the interpreter: rows of any length and
//! distance, operands that repeat along rows or columns, stores around the caches, conditions.

#![expect(unsafe_code, reason = "bytes of numbers have no safe door")]

use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_types::DType;
use std::sync::atomic::{AtomicU8, Ordering};

/// `(a * column + row) / b` and, in another dtype, whether it is less than `a`.
fn kernel(dtype: DType) -> Kernel {
    let mut b = Builder::new();
    let [a, column, row, divisor] = [0, 1, 2, 3].map(|i| b.input(i, dtype));
    let product = b.bin(Prim::Mul, a, column);
    let sum = b.bin(Prim::Add, product, row);
    let ratio = b.bin(Prim::Div, sum, divisor);
    let less = b.compare(Prim::Lt, ratio, a);
    let output = |value: arrayloom_ir::Value| Output {
        value: value.0,
        form: Form::Store,
    };
    Kernel {
        code: b.finish(),
        inputs: vec![dtype; 4],
        outputs: vec![output(ratio), output(less)],
        rank: 3,
    }
}

/// Where the first result goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Onto {
    /// To memory of its own.
    Apart,
    /// To every second element of it.
    Spread,
    /// Onto the first operand.
    Operand,
}

/// Planes, rows and columns of a launch, and the elements between the ends of rows.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: [usize; 3],
    onto: Onto,
    gap: usize,
    /// Elements before the first result.
    start: usize,
}

/// Bytes of the first operand and result, those of the second result, and the conditions of all instructions.
fn run<T: Copy + From<i8>>(cpu: &Cpu, dtype: DType, case: Case, flags: bool) -> [Vec<u8>; 3] {
    let [planes, rows, columns] = case.shape;
    let (wide, size) = (columns + case.gap, size_of::<T>());
    let noise = |seed: usize| -> Vec<T> {
        let values = 0..planes * rows * wide + 64;
        let value = |i: usize| i8::try_from(i * seed % 23).map_or(0, |v| v - 11);
        values.map(|i| T::from(value(i))).collect()
    };
    let (column, row, divisor) = (noise(5), noise(3), noise(13));
    let (mut a, mut ratio) = (noise(7), [noise(1), noise(1)].concat());
    let mut less = vec![7u8; planes * rows * wide + 64];
    let view = |at: *const u8, size: usize, first: usize, steps: [usize; 3]| Arg::View {
        buf: Buf(at.expose_provenance() as u64),
        offset: (size * first).cast_signed(),
        strides: steps.map(|s| (s * size).cast_signed()).as_slice().into(),
    };
    let whole = [rows * wide, wide, 1];
    let a_at = a.as_mut_ptr().cast::<u8>().cast_const();
    let ins = [
        view(a_at, size, 1, whole),
        view(column.as_ptr().cast(), size, 2, [rows, 1, 0]),
        view(row.as_ptr().cast(), size, 3, [0, 0, 1]),
        view(divisor.as_ptr().cast(), size, 0, whole),
    ];
    let ratio_at = ratio.as_mut_ptr().cast::<u8>().cast_const();
    let first = match case.onto {
        Onto::Apart => view(ratio_at, size, case.start, whole),
        Onto::Spread => view(ratio_at, size, case.start, whole.map(|s| 2 * s)),
        Onto::Operand => view(a_at, size, 1, whole),
    };
    let outs = [first, view(less.as_mut_ptr(), 1, case.start, whole)];
    let kernel = kernel(dtype);
    let noted: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &case.shape,
        outs: &outs,
        ins: &ins,
        reduces: &[None, None],
        flags: flags.then_some(&noted),
    };
    let ran = cpu.run(Queue::default(), &kernel, &launch);
    assert!(ran.is_ok(), "{ran:?}");
    let bytes = a.iter().chain(&ratio).flat_map(|value| {
        let from: *const T = value;
        // SAFETY: the bytes of a live number.
        unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) }.to_vec()
    });
    let noted = noted.iter().map(|byte| byte.load(Ordering::Relaxed));
    [bytes.collect(), less, noted.collect()]
}

fn compare<T: Copy + From<i8>>(dtype: DType) {
    let open = |jit, stream_bytes| {
        Cpu::open(CpuConfig {
            threads: 1,
            jit,
            min_jit_ops: 0,
            stream_bytes,
            ..CpuConfig::default()
        })
    };
    let interpreter = open(false, usize::MAX);
    let compilers = [open(true, 64), open(true, usize::MAX)];
    let shapes = [
        [2, 90, 3],
        [3, 40, 5],
        [2, 30, 17],
        [5, 64, 62],
        [1, 300, 100],
        [1, 1, 200],
        [1, 5, 128],
        [3, 7, 131],
        [4, 9, 254],
        [2, 3, 1000],
    ];
    let places = [(0, 0), (2, 1), (8, 3), (5, 8)];
    let cases = shapes.into_iter().flat_map(|shape| {
        places.into_iter().flat_map(move |(gap, start)| {
            let all = [Onto::Apart, Onto::Spread, Onto::Operand];
            all.map(|onto| Case {
                shape,
                onto,
                gap,
                start,
            })
        })
    });
    for case in cases {
        for flags in [false, true] {
            let expected = run::<T>(&interpreter, dtype, case, flags);
            for cpu in &compilers {
                let found = run::<T>(cpu, dtype, case, flags);
                assert!(found == expected, "{dtype} {case:?}, flags {flags}");
            }
        }
    }
}

#[test]
fn many_rows_in_one_call_are_those_of_the_interpreter() {
    compare::<f64>(DType::F64);
    compare::<f32>(DType::F32);
}
