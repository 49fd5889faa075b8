//! Gigabytes per second of the kernels that decide everything: copy, scale in place, axpy, sums and the
//! two kernels of a heat iteration. Prints the best of several runs.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]

use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Arg, Buf, Device as _, DeviceError, End, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim, ReduceOp, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Strides, contiguous_strides};
use std::time::Instant;

const N: usize = 3000;
const WIDE: usize = N + 2;

fn view(buf: Buf, offset: isize, strides: &[isize]) -> Arg {
    Arg::View {
        buf,
        offset,
        strides: Strides::from_slice(strides),
    }
}

fn kernel(b: Builder, inputs: usize, rank: u8, outputs: Vec<(Value, Form)>) -> Kernel {
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; inputs],
        outputs: outputs
            .into_iter()
            .map(|(v, form)| Output { value: v.0, form })
            .collect(),
        rank,
    }
}

fn order(axes: &[u8], stream: u8) -> ReduceArgs {
    ReduceArgs {
        order: ReduceOrder {
            axes: axes.into(),
            stream,
            piece: usize::MAX,
        },
        initial: None,
    }
}

struct Case {
    name: &'static str,
    kernel: Kernel,
    shape: Vec<usize>,
    ins: Vec<Arg>,
    outs: Vec<Arg>,
    reduces: Vec<Option<ReduceArgs>>,
    bytes: usize,
}

impl Case {
    fn time(&self, cpu: &Cpu) -> Result<f64, DeviceError> {
        let mut best = f64::INFINITY;
        for _ in 0..25 {
            let start = Instant::now();
            let launch = Launch {
                shape: &self.shape,
                outs: &self.outs,
                ins: &self.ins,
                reduces: &self.reduces,
                flags: None,
            };
            cpu.run(Queue(0), &self.kernel, &launch)?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        Ok(best)
    }
}

/// The stencil `0.2 * (c + n + s + e + w)`.
fn stencil(b: &mut Builder) -> (Value, Value) {
    let x: Vec<Value> = (0..5).map(|i| b.input(i, DType::F64)).collect();
    let sum = x[1..].iter().fold(x[0], |sum, &v| b.bin(Prim::Add, sum, v));
    let fifth = b.constant(DType::F64, 0.2);
    (b.bin(Prim::Mul, fifth, sum), x[0])
}

fn plain(buf: Buf) -> Arg {
    view(buf, 0, &contiguous_strides(&[N, N], 8))
}

/// All bytes of an array.
const ALL: usize = N * N * 8;

fn case(name: &'static str, kernel: Kernel, ins: Vec<Arg>, outs: Vec<Arg>, bytes: usize) -> Case {
    Case {
        name,
        kernel,
        shape: vec![N, N],
        ins,
        reduces: vec![None; outs.len()],
        outs,
        bytes,
    }
}

fn sum_over(axes: u32) -> Form {
    Form::Reduce {
        op: ReduceOp::Add,
        axes,
    }
}

fn maps(a: Buf, c: Buf, out: Buf) -> Vec<Case> {
    let row = 8 * WIDE.cast_signed();
    let wide = |at: isize| view(a, at, &[row, 8]);
    let windows = vec![
        wide(row + 8),
        wide(8),
        wide(2 * row + 8),
        wide(row),
        wide(row + 16),
    ];
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let copy = kernel(b, 1, 2, vec![(x, Form::Store)]);
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let three = b.constant(DType::F64, 3.0);
    let y = b.bin(Prim::Mul, x, three);
    let scale = kernel(b, 1, 2, vec![(y, Form::Store)]);
    let mut b = Builder::new();
    let (x, y) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let half = b.constant(DType::F64, 0.5);
    let z = b.bin(Prim::Mul, x, half);
    let z = b.bin(Prim::Add, z, y);
    let axpy = kernel(b, 2, 2, vec![(z, Form::Store)]);
    let mut b = Builder::new();
    let (new, old) = stencil(&mut b);
    let d = b.bin(Prim::Sub, new, old);
    let d = b.un(Prim::Abs, d);
    let heat = kernel(b, 5, 2, vec![(new, Form::Store), (d, sum_over(3))]);
    vec![
        case(
            "copy",
            copy.clone(),
            vec![plain(c)],
            vec![plain(out)],
            2 * ALL,
        ),
        case(
            "copy to window",
            copy,
            vec![plain(c)],
            vec![wide(row + 8)],
            2 * ALL,
        ),
        case(
            "scale in place",
            scale,
            vec![plain(out)],
            vec![plain(out)],
            2 * ALL,
        ),
        case(
            "axpy",
            axpy,
            vec![plain(c), plain(out)],
            vec![plain(a)],
            3 * ALL,
        ),
        Case {
            reduces: vec![None, Some(order(&[1, 0], 2))],
            ..case(
                "heat stencil and sum",
                heat,
                windows,
                vec![plain(out), view(c, 0, &[0, 0])],
                2 * ALL,
            )
        },
    ]
}

fn folds(c: Buf, out: Buf) -> Vec<Case> {
    let mut all_cases = Vec::new();
    for (name, axes, order, strides) in [
        ("sum", 3, order(&[1, 0], 2), [0, 0]),
        ("sum axis 0", 1, order(&[1, 0], 0), [0, 8]),
        ("sum axis 1", 2, order(&[1, 0], 1), [8, 0]),
    ] {
        let mut b = Builder::new();
        let x = b.input(0, DType::F64);
        let sum = kernel(b, 1, 2, vec![(x, sum_over(axes))]);
        all_cases.push(Case {
            reduces: vec![Some(order)],
            ..case(name, sum, vec![plain(out)], vec![view(c, 0, &strides)], ALL)
        });
    }
    for (name, form, strides) in [
        ("argmax axis 0", Form::Arg { max: true, axes: 1 }, [0, 8]),
        ("argmax axis 1", Form::Arg { max: true, axes: 2 }, [8, 0]),
        (
            "cumsum axis 0",
            Form::Scan {
                op: ReduceOp::Add,
                axis: 0,
            },
            [8 * 3000, 8],
        ),
        (
            "cumsum axis 1",
            Form::Scan {
                op: ReduceOp::Add,
                axis: 1,
            },
            [8 * 3000, 8],
        ),
    ] {
        let mut b = Builder::new();
        let x = b.input(0, DType::F64);
        let fold = kernel(b, 1, 2, vec![(x, form)]);
        all_cases.push(case(
            name,
            fold,
            vec![plain(out)],
            vec![view(c, 0, &strides)],
            ALL,
        ));
    }
    all_cases
}

/// Writes every page, so that reads do not share the page of zeros.
fn touch(cpu: &Cpu, bufs: &[Buf]) -> Result<(), DeviceError> {
    let ones = vec![1.0f64; WIDE * WIDE];
    for &buf in bufs {
        let src = End::Host(ones.as_ptr().cast_mut().cast());
        cpu.copy(Queue(0), End::Dev(buf, 0), src, (WIDE * WIDE * 8) as u64)?;
    }
    Ok(())
}

fn main() -> Result<(), DeviceError> {
    let bytes = (WIDE * WIDE * 8) as u64;
    for (threads, jit) in [(1, false), (1, true), (2, false), (2, true)] {
        let cpu = Cpu::open(CpuConfig {
            threads,
            jit,
            ..CpuConfig::default()
        });
        let (a, c, out) = (cpu.alloc(bytes)?, cpu.alloc(bytes)?, cpu.alloc(bytes)?);
        touch(&cpu, &[a, c, out])?;
        println!("{}, {threads} threads, jit {jit}", cpu.caps().detail);
        for case in maps(a, c, out).iter().chain(&folds(c, out)) {
            let secs = case.time(&cpu)?;
            let rate = case.bytes as f64 / secs / 1e9;
            println!("{:24} {:8.3} ms {rate:8.1} GB/s", case.name, secs * 1e3);
        }
        println!("{:?}", cpu.jit_stats());
    }
    Ok(())
}
