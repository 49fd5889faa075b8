//! How far the device is from loops written by hand: a heat stencil with its sum of changes, a half step
//! of shallow water, a stencil of seven points on a cube, and a generation of life on bytes; interpreted,
//! compiled, and as plain Rust that the compiler vectorises.
//!
//! `cargo bench -p arrayloom-cpu --bench limit`. The three take turns on one thread; the time is that of
//! the thread, the least of many rounds, in nanoseconds for one element.

#![expect(
    unsafe_code,
    reason = "the processor time of a thread has no safe door"
)]
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]

mod hand;
mod windows;

use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::{Arg, Buf, Device as _, DeviceError, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim, ReduceOp, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Strides};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

/// Rounds of one size.
const ROUNDS: usize = 15;

/// One way to do a kernel.
type Way<'a, T> = &'a dyn Fn(&mut T) -> Result<(), DeviceError>;

/// Elements from number `first` on, `strides` elements apart.
fn view(data: *const f64, first: usize, strides: &[usize]) -> Arg {
    let strides = strides.iter().map(|&s| 8 * s.cast_signed());
    Arg::View {
        buf: Buf(data.expose_provenance() as u64),
        offset: 8 * first.cast_signed(),
        strides: strides.collect::<Strides>(),
    }
}

fn kernel(b: Builder, inputs: usize, outputs: &[(Value, Form)]) -> Kernel {
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; inputs],
        outputs: outputs
            .iter()
            .map(|&(value, form)| Output {
                value: value.0,
                form,
            })
            .collect(),
        rank: 2,
    }
}

/// `0.2 * (c + n + s + e + w)`, and the sum of `|new - c|`.
fn heat() -> Kernel {
    let mut b = Builder::new();
    let x: Vec<Value> = (0..5).map(|i| b.input(i, DType::F64)).collect();
    let sum = x[1..].iter().fold(x[0], |sum, &v| b.bin(Prim::Add, sum, v));
    let fifth = b.constant(DType::F64, 0.2);
    let new = b.bin(Prim::Mul, fifth, sum);
    let change = b.bin(Prim::Sub, new, x[0]);
    let change = b.un(Prim::Abs, change);
    let all = Form::Reduce {
        op: ReduceOp::Add,
        axes: 3,
    };
    kernel(b, 5, &[(new, Form::Store), (change, all)])
}

/// Lax-Wendroff's half step along rows: inputs are height and two momenta, each at this row and the
/// next; see `hand::half_step`.
fn half_step() -> Kernel {
    let mut b = Builder::new();
    let x: Vec<Value> = (0..6).map(|i| b.input(i, DType::F64)).collect();
    let (h, u, v) = ([x[0], x[1]], [x[2], x[3]], [x[4], x[5]]);
    let half = b.constant(DType::F64, 0.5);
    let pull = b.constant(DType::F64, 4.9);
    let step = b.constant(DType::F64, 0.01);
    let flux: Vec<[Value; 2]> = (0..2)
        .map(|i| {
            let square = b.un(Prim::Square, u[i]);
            let first = b.bin(Prim::Div, square, h[i]);
            let square = b.un(Prim::Square, h[i]);
            let second = b.bin(Prim::Mul, pull, square);
            let along = b.bin(Prim::Add, first, second);
            let both = b.bin(Prim::Mul, u[i], v[i]);
            [along, b.bin(Prim::Div, both, h[i])]
        })
        .collect();
    let mut advance = |a: [Value; 2], f: [Value; 2]| {
        let sum = b.bin(Prim::Add, a[1], a[0]);
        let mean = b.bin(Prim::Mul, sum, half);
        let rise = b.bin(Prim::Sub, f[1], f[0]);
        let rise = b.bin(Prim::Mul, step, rise);
        (b.bin(Prim::Sub, mean, rise), Form::Store)
    };
    let outputs = [
        advance(h, u),
        advance(u, [flux[0][0], flux[1][0]]),
        advance(v, [flux[0][1], flux[1][1]]),
    ];
    kernel(b, 6, &outputs)
}

/// Processor time of this thread.
fn thread_time() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time to a live variable.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut now) };
    Duration::new(
        now.tv_sec.cast_unsigned(),
        u32::try_from(now.tv_nsec).unwrap_or(0),
    )
}

/// The arrays of a size: three inputs with a border, three outputs, one sum.
struct Arrays {
    rows: usize,
    ins: [Vec<f64>; 3],
    outs: [Vec<f64>; 3],
    sum: Vec<f64>,
}

/// Runs the ways in turns and prints nanoseconds for one of `points` elements, and ratios to the last
/// way. `name` and `side` say what it is.
fn compare<T>(
    (name, side, points): (&str, usize, usize),
    arrays: &mut T,
    ways: &[(&str, Way<'_, T>)],
) -> Result<(), DeviceError> {
    let repeats = (1_000_000 / points).max(1);
    let mut best = vec![f64::INFINITY; ways.len()];
    for _ in 0..ROUNDS {
        for ((_, way), best) in ways.iter().zip(&mut best) {
            way(arrays)?;
            let start = thread_time();
            for _ in 0..repeats {
                way(arrays)?;
            }
            let took = thread_time().saturating_sub(start).as_secs_f64();
            *best = best.min(took / repeats as f64 / points as f64 * 1e9);
        }
    }
    let limit = best.last().copied().unwrap_or(1.0);
    print!("{name:10} {side:5}");
    for ((way, _), best) in ways.iter().zip(&best) {
        print!("   {way} {best:.3} ({:.2}x)", best / limit);
    }
    println!();
    Ok(())
}

fn run(cpu: &Cpu, kernel: &Kernel, arrays: &mut Arrays, flags: bool) -> Result<(), DeviceError> {
    let (n, wide) = (arrays.rows, arrays.rows + 2);
    let at = |row: usize, column: usize| row * wide + column;
    let (mut ins, mut outs, mut reduces) = (Vec::new(), Vec::new(), Vec::new());
    if kernel.inputs.len() == 5 {
        for first in [at(1, 1), at(0, 1), at(2, 1), at(1, 2), at(1, 0)] {
            ins.push(view(arrays.ins[0].as_ptr(), first, &[wide, 1]));
        }
        outs.push(view(arrays.outs[0].as_mut_ptr(), 0, &[n, 1]));
        outs.push(view(arrays.sum.as_mut_ptr(), 0, &[0, 0]));
        let order = ReduceOrder {
            axes: [1, 0].as_slice().into(),
            stream: 2,
            piece: usize::MAX,
        };
        reduces.extend([
            None,
            Some(ReduceArgs {
                order,
                initial: None,
            }),
        ]);
    } else {
        for array in &arrays.ins {
            ins.push(view(array.as_ptr(), at(0, 1), &[wide, 1]));
            ins.push(view(array.as_ptr(), at(1, 1), &[wide, 1]));
        }
        for array in &mut arrays.outs {
            outs.push(view(array.as_mut_ptr(), 0, &[n, 1]));
            reduces.push(None);
        }
    }
    let noted: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[n, n],
        outs: &outs,
        ins: &ins,
        reduces: &reduces,
        flags: flags.then_some(&noted),
    };
    cpu.run(Queue(0), kernel, &launch)
}

fn open(jit: bool) -> Arc<Cpu> {
    Cpu::open(CpuConfig {
        threads: 1,
        jit,
        ..CpuConfig::default()
    })
}

fn main() -> Result<(), DeviceError> {
    let (interpreter, compiler) = (open(false), open(true));
    println!("nanoseconds for one element on one thread, and ratio to the loop written by hand");
    for rows in [300, 1000, 3000] {
        let noise = |seed: usize| {
            let count = (rows + 2) * (rows + 2);
            let values = (0..count).map(move |i| ((i * seed) as f64).sin() + 1.5);
            values.collect::<Vec<f64>>()
        };
        let mut arrays = Arrays {
            rows,
            ins: [noise(3), noise(5), noise(7)],
            outs: [1, 2, 3].map(|_| vec![1.0; rows * rows]),
            sum: vec![0.0],
        };
        for (name, kernel) in [("heat", heat()), ("half step", half_step())] {
            let heat = kernel.inputs.len() == 5;
            let by_hand = |arrays: &mut Arrays| {
                let [a, b, c] = &mut arrays.outs;
                if heat {
                    arrays.sum[0] = hand::heat(arrays.rows, &arrays.ins[0], a);
                } else {
                    hand::half_step(arrays.rows, &arrays.ins, [a, b, c]);
                }
                Ok(())
            };
            compare(
                (name, rows, rows * rows),
                &mut arrays,
                &[
                    ("tier 0", &|arrays| {
                        run(&interpreter, &kernel, arrays, false)
                    }),
                    ("tier 1", &|arrays| run(&compiler, &kernel, arrays, false)),
                    ("and flags", &|arrays| run(&compiler, &kernel, arrays, true)),
                    ("hand", &by_hand),
                ],
            )?;
        }
    }
    for side in [64, 254] {
        windows::jacobi(&interpreter, &compiler, side)?;
    }
    for rows in [300, 1000, 3000] {
        windows::life(&interpreter, &compiler, rows)?;
    }
    println!("{:?}", compiler.jit_stats());
    Ok(())
}
