//! Launches large enough to be cut into tasks: every cut gives the bits of a plain loop.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::float_cmp,
    reason = "small numbers, compared exactly"
)]
#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]
#![expect(clippy::unnecessary_wraps, reason = "launches take it wrapped")]

use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, FpFlags, Kernel, Output, Prim, ReduceOp, Value};
use arrayloom_plan::{ReduceOrder, tree_split};
use arrayloom_types::{DType, Strides};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The recursion of NumPy's sum.
fn model(x: &[f64]) -> f64 {
    if let Some(left) = tree_split(x.len()) {
        return model(&x[..left]) + model(&x[left..]);
    }
    if x.len() < 8 {
        return x.iter().fold(-0.0, |s, v| s + v);
    }
    let mut r = [0.0; 8];
    r.copy_from_slice(&x[..8]);
    let whole = x.len() - x.len() % 8;
    for (i, v) in x[..whole].iter().enumerate().skip(8) {
        r[i % 8] += v;
    }
    let s = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    x[whole..].iter().fold(s, |s, v| s + v)
}

fn noise(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i as f64 * 0.7).sin() + 0.3).collect()
}

fn view<T>(data: &[T], offset: isize, strides: &[isize]) -> Arg {
    Arg::View {
        buf: Buf(data.as_ptr().expose_provenance() as u64),
        offset,
        strides: Strides::from_slice(strides),
    }
}

fn view_mut<T>(data: &mut [T], strides: &[isize]) -> Arg {
    Arg::View {
        buf: Buf(data.as_mut_ptr().expose_provenance() as u64),
        offset: 0,
        strides: Strides::from_slice(strides),
    }
}

fn devices() -> Vec<Arc<Cpu>> {
    let open = |threads, isa, tile_elems, stream_bytes| {
        Cpu::open(CpuConfig {
            threads,
            isa,
            tile_elems,
            min_parallel_steps: 1000,
            stream_bytes,
            ..CpuConfig::default()
        })
    };
    vec![
        open(1, None, None, usize::MAX),
        open(2, None, None, 1000),
        open(3, Some(Isa::Avx2), Some(100), usize::MAX),
        open(7, Some(Isa::Baseline), Some(333), 1000),
    ]
}

fn order(axes: &[u8], stream: u8, piece: usize) -> Option<ReduceArgs> {
    Some(ReduceArgs {
        order: ReduceOrder {
            axes: axes.into(),
            stream,
            piece,
        },
        initial: None,
    })
}

fn kernel(b: Builder, inputs: usize, rank: u8, outputs: &[(Value, Form)]) -> Kernel {
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; inputs],
        outputs: outputs
            .iter()
            .map(|&(v, form)| Output { value: v.0, form })
            .collect(),
        rank,
    };
    arrayloom_ir::verify(&kernel).unwrap();
    kernel
}

fn folded(form: Form, rank: u8) -> Kernel {
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    kernel(b, 1, rank, &[(x, form)])
}

fn run(
    cpu: &Cpu,
    kernel: &Kernel,
    shape: &[usize],
    args: (&[Arg], &[Arg]),
    reduces: &[Option<ReduceArgs>],
) {
    let launch = Launch {
        shape,
        ins: args.0,
        outs: args.1,
        reduces,
        flags: None,
    };
    cpu.run(Queue(0), kernel, &launch).unwrap();
}

fn sum(axes: u32) -> Form {
    Form::Reduce {
        op: ReduceOp::Add,
        axes,
    }
}

#[test]
fn one_sum_over_everything_is_the_tree() {
    let (rows, columns) = (401, 777);
    let x = noise(rows * columns);
    for cpu in devices() {
        for piece in [usize::MAX, 8192, 5000] {
            let expected = x.chunks(piece.min(x.len())).fold(0.0, |s, c| s + model(c));
            let mut out = [f64::NAN];
            run(
                &cpu,
                &folded(sum(3), 2),
                &[rows, columns],
                (
                    &[view(&x, 0, &[777 * 8, 8])],
                    &[view_mut(&mut out, &[0, 0])],
                ),
                &[order(&[1, 0], 2, piece)],
            );
            assert_eq!(out[0].to_bits(), expected.to_bits());
        }
    }
}

#[test]
fn sums_over_one_axis() {
    let (rows, columns) = (300, 1001);
    let x = noise(rows * columns);
    let by_row: Vec<f64> = x.chunks(columns).map(|row| 0.0 + model(row)).collect();
    let mut by_column = vec![0.0; columns];
    for row in x.chunks(columns) {
        by_column.iter_mut().zip(row).for_each(|(s, v)| *s += v);
    }
    for cpu in devices() {
        let mut out = vec![f64::NAN; rows];
        run(
            &cpu,
            &folded(sum(2), 2),
            &[rows, columns],
            (
                &[view(&x, 0, &[1001 * 8, 8])],
                &[view_mut(&mut out, &[8, 0])],
            ),
            &[order(&[1, 0], 1, usize::MAX)],
        );
        assert_eq!(out, by_row);
        let mut out = vec![f64::NAN; columns];
        run(
            &cpu,
            &folded(sum(1), 2),
            &[rows, columns],
            (
                &[view(&x, 0, &[1001 * 8, 8])],
                &[view_mut(&mut out, &[0, 8])],
            ),
            &[order(&[1, 0], 0, 1)],
        );
        assert_eq!(out, by_column);
    }
}

/// The stencil of the heat equation with its sum of changes, in one pass over shifted windows.
#[test]
fn stencil_and_sum_share_a_pass() {
    let (n, wide) = (300usize, 302usize);
    let grid = noise(wide * wide);
    let at = |i: usize, j: usize| grid[i * wide + j];
    let (mut new, mut change) = (Vec::new(), Vec::new());
    for i in 1..=n {
        for j in 1..=n {
            let around = at(i, j) + at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
            new.push(0.2 * around);
            change.push((0.2 * around - at(i, j)).abs());
        }
    }
    let mut b = Builder::new();
    let x: Vec<Value> = (0..5).map(|i| b.input(i, DType::F64)).collect();
    let all = x[1..].iter().fold(x[0], |s, &v| b.bin(Prim::Add, s, v));
    let fifth = b.constant(DType::F64, 0.2);
    let value = b.bin(Prim::Mul, fifth, all);
    let delta = b.bin(Prim::Sub, value, x[0]);
    let delta = b.un(Prim::Abs, delta);
    let heat = kernel(b, 5, 2, &[(value, Form::Store), (delta, sum(3))]);
    let row = 8 * wide.cast_signed();
    let windows: Vec<Arg> = [row + 8, 8, 2 * row + 8, row, row + 16]
        .iter()
        .map(|&offset| view(&grid, offset, &[row, 8]))
        .collect();
    for cpu in devices() {
        let (mut out, mut total) = (vec![0.0; n * n], [0.0f64]);
        let outs = [
            view_mut(&mut out, &[8 * n.cast_signed(), 8]),
            view_mut(&mut total, &[0, 0]),
        ];
        let reduces = [None, order(&[1, 0], 2, usize::MAX)];
        run(&cpu, &heat, &[n, n], (&windows, &outs), &reduces);
        assert_eq!(out, new);
        assert_eq!(total[0].to_bits(), model(&change).to_bits());
    }
}

#[test]
fn extremes_and_their_places() {
    let n = 250_000;
    let mut x = noise(n);
    (x[123_457], x[200_001]) = (9.0, 9.0);
    for cpu in devices() {
        for nan in [false, true] {
            if nan {
                (x[180_000], x[240_000]) = (f64::NAN, f64::NAN);
            } else {
                (x[180_000], x[240_000]) = (0.5, 0.5);
            }
            let mut place = [-1i64];
            let arg = Form::Arg { max: true, axes: 1 };
            let out = [view_mut(&mut place, &[0])];
            run(
                &cpu,
                &folded(arg, 1),
                &[n],
                (&[view(&x, 0, &[8])], &out),
                &[None],
            );
            assert_eq!(place[0], if nan { 180_000 } else { 123_457 });
            let mut most = [0.0f64];
            let max = Form::Reduce {
                op: ReduceOp::Max,
                axes: 1,
            };
            let out = [view_mut(&mut most, &[0])];
            let any = [order(&[0], 1, usize::MAX)];
            run(
                &cpu,
                &folded(max, 1),
                &[n],
                (&[view(&x, 0, &[8])], &out),
                &any,
            );
            assert!(if nan {
                most[0].is_nan()
            } else {
                most[0] == 9.0
            });
        }
    }
}

#[test]
fn running_sums_along_both_axes() {
    let (rows, columns) = (257, 500);
    let x = noise(rows * columns);
    for axis in [0u8, 1] {
        let mut expected = x.clone();
        let back = if axis == 0 { columns } else { 1 };
        for i in 0..expected.len() {
            let index = if axis == 0 { i / columns } else { i % columns };
            if index > 0 {
                expected[i] += expected[i - back];
            }
        }
        for cpu in devices() {
            let mut out = x.clone();
            let scan = Form::Scan {
                op: ReduceOp::Add,
                axis,
            };
            let place = view_mut(&mut out, &[4000, 8]);
            // In place.
            let args = (&[place.clone()][..], &[place][..]);
            run(&cpu, &folded(scan, 2), &[rows, columns], args, &[None]);
            assert_eq!(out, expected, "axis {axis}");
        }
    }
}

#[test]
fn conditions_belong_to_their_instructions_even_in_pairs() {
    let n = 40_000;
    let mut x = noise(n);
    x[30_000] = f64::MAX;
    let mut b = Builder::new();
    let v = b.input(0, DType::F64);
    let sum = b.bin(Prim::Add, v, v);
    let one = b.constant(DType::F64, 1.0);
    let product = b.bin(Prim::Mul, sum, one);
    let root = b.bin(Prim::Sub, product, product);
    let kernel = kernel(b, 1, 1, &[(product, Form::Store), (root, Form::Store)]);
    for cpu in devices() {
        let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
        let (mut out, mut zero) = (vec![0.0; n], vec![0.0; n]);
        let launch = Launch {
            shape: &[n],
            ins: &[view(&x, 0, &[8])],
            outs: &[view_mut(&mut out, &[8]), view_mut(&mut zero, &[8])],
            reduces: &[None, None],
            flags: Some(&flags),
        };
        cpu.run(Queue(0), &kernel, &launch).unwrap();
        let met: Vec<u8> = flags.iter().map(|f| f.load(Ordering::Relaxed)).collect();
        let expected = |v: Value| match v {
            _ if v == sum => FpFlags::OVERFLOW.0,
            _ if v == root => FpFlags::INVALID.0,
            _ => 0,
        };
        let all: Vec<u8> = (0..met.len()).map(|i| expected(Value(i as u32))).collect();
        assert_eq!(met, all);
        assert_eq!(out[30_000], f64::INFINITY);
    }
}
