//! Rows folded into one row of results, several rows at a time, beside stores; places of extremes. Every
//! width, number of threads and way of running gives the bits of a plain loop.

#![expect(
    clippy::cast_precision_loss,
    reason = "small numbers, compared bit by bit"
)]

use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Builder, Form, FpFlags, Kernel, Output, Prim, ReduceOp, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Strides};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

fn view<T>(data: &[T], strides: &[isize]) -> Arg {
    Arg::View {
        buf: Buf(data.as_ptr().expose_provenance() as u64),
        offset: 0,
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
    let open = |threads, isa, tile_elems, jit| {
        Cpu::open(CpuConfig {
            threads,
            isa,
            tile_elems,
            jit,
            min_parallel_steps: 1000,
            min_jit_ops: 0,
            ..CpuConfig::default()
        })
    };
    vec![
        open(1, None, None, true),
        open(2, None, None, true),
        open(3, None, None, false),
        open(3, Some(Isa::Avx2), Some(700), true),
        open(7, Some(Isa::Baseline), Some(3), false),
    ]
}

fn compiled(b: Builder, inputs: &[DType], outputs: &[(Value, Form)]) -> Kernel {
    let outputs = outputs.iter();
    let kernel = Kernel {
        code: b.finish(),
        inputs: inputs.to_vec(),
        outputs: outputs
            .map(|&(v, form)| Output { value: v.0, form })
            .collect(),
        rank: 2,
    };
    assert!(arrayloom_ir::verify(&kernel).is_ok());
    kernel
}

/// Rows after rows, column by column.
fn by_rows() -> ReduceArgs {
    ReduceArgs {
        order: ReduceOrder {
            axes: [1, 0].as_slice().into(),
            stream: 0,
            piece: 1,
        },
        initial: None,
    }
}

/// What a kernel gives: differences, sums of squares, largest differences, sums, and the conditions.
#[derive(Debug, PartialEq)]
struct Results {
    apart: Vec<u64>,
    squares: Vec<u64>,
    largest: Vec<u64>,
    sums: Vec<u64>,
    overflows: bool,
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn input(rows: usize, columns: usize, huge: bool) -> (Vec<f64>, Vec<f64>) {
    let value = |i: usize| (i as f64 * 0.7).sin() + 0.3;
    let mut x: Vec<f64> = (0..rows * columns).map(value).collect();
    if huge {
        x[rows * columns / 2] = 1e200;
    }
    (x, (0..columns).map(|i| value(3 * i + 1)).collect())
}

fn expected(rows: usize, columns: usize, huge: bool) -> Results {
    let (x, m) = input(rows, columns, huge);
    let apart: Vec<f64> = (0..rows * columns).map(|i| x[i] - m[i % columns]).collect();
    let fold = |start: f64, f: &dyn Fn(f64, usize) -> f64| -> Vec<u64> {
        let column = |c: usize| (0..rows).fold(start, |all, r| f(all, r * columns + c));
        bits(&(0..columns).map(column).collect::<Vec<f64>>())
    };
    Results {
        squares: fold(0.0, &|all, i| all + apart[i] * apart[i]),
        largest: fold(f64::NEG_INFINITY, &|all, i| all.max(apart[i])),
        sums: fold(0.0, &|all, i| all + x[i]),
        apart: bits(&apart),
        overflows: huge,
    }
}

fn found(cpu: &Cpu, rows: usize, columns: usize, huge: bool) -> Results {
    let (x, m) = input(rows, columns, huge);
    let mut b = Builder::new();
    let (value, mean) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let difference = b.bin(Prim::Sub, value, mean);
    let square = b.bin(Prim::Mul, difference, difference);
    let fold = |op| Form::Reduce { op, axes: 1 };
    let outputs = [
        (difference, Form::Store),
        (square, fold(ReduceOp::Add)),
        (difference, fold(ReduceOp::Max)),
        (value, fold(ReduceOp::Add)),
    ];
    let kernel = compiled(b, &[DType::F64; 2], &outputs);
    let mut apart = vec![0.0; rows * columns];
    let [mut squares, mut largest, mut sums] = [(); 3].map(|()| vec![0.0; columns]);
    let row = 8 * columns.cast_signed();
    let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let outs = [
        view_mut(&mut apart, &[row, 8]),
        view_mut(&mut squares, &[0, 8]),
        view_mut(&mut largest, &[0, 8]),
        view_mut(&mut sums, &[0, 8]),
    ];
    let launch = Launch {
        shape: &[rows, columns],
        ins: &[view(&x, &[row, 8]), view(&m, &[0, 8])],
        outs: &outs,
        reduces: &[None, Some(by_rows()), Some(by_rows()), Some(by_rows())],
        flags: Some(&flags),
    };
    assert!(cpu.run(Queue::default(), &kernel, &launch).is_ok());
    let met = |at: &AtomicU8| at.load(Ordering::Relaxed) & FpFlags::OVERFLOW.0 != 0;
    assert!(
        flags
            .iter()
            .enumerate()
            .all(|(i, at)| !met(at) || i == square.0 as usize)
    );
    Results {
        apart: bits(&apart),
        squares: bits(&squares),
        largest: bits(&largest),
        sums: bits(&sums),
        overflows: flags.iter().any(met),
    }
}

#[test]
fn rows_are_folded_as_one_by_one() {
    let widths = [1, 5, 31, 130, 257, 511, 512, 513, 1100, 3000];
    for cpu in devices() {
        for columns in widths {
            for rows in [2, 3, 9, 33] {
                for huge in [false, true] {
                    let right = expected(rows, columns, huge);
                    let result = found(&cpu, rows, columns, huge);
                    assert!(result == right, "{rows} x {columns}, huge {huge}");
                }
            }
        }
    }
}

/// The place of the first largest value, NaN counting as larger than all.
fn first_largest<T: Copy + PartialOrd>(values: impl Iterator<Item = T>) -> i64 {
    let mut best: Option<(T, i64)> = None;
    for (x, i) in values.zip(0..) {
        let nan = |x: T| x.partial_cmp(&x).is_none();
        if best.is_none_or(|(top, _)| !nan(top) && (x > top || nan(x))) {
            best = Some((x, i));
        }
    }
    best.map_or(-1, |b| b.1)
}

fn places<T: Copy + PartialOrd>(dtype: DType, values: impl Fn(usize) -> T) {
    for cpu in devices() {
        for (rows, columns) in [(1, 9), (2, 65), (7, 513), (37, 130), (600, 11), (3, 3000)] {
            let x: Vec<T> = (0..rows * columns).map(&values).collect();
            let size = dtype.size().cast_signed();
            for axis in 0..2 {
                let count = [columns, rows][axis];
                let mut b = Builder::new();
                let value = b.input(0, dtype);
                let form = Form::Arg {
                    max: true,
                    axes: 1 << axis,
                };
                let kernel = compiled(b, &[dtype], &[(value, form)]);
                let mut at = vec![-7i64; count];
                let steps = [[0, 8], [8, 0]][axis];
                let launch = Launch {
                    shape: &[rows, columns],
                    ins: &[view(&x, &[columns.cast_signed() * size, size])],
                    outs: &[view_mut(&mut at, &steps)],
                    reduces: &[None],
                    flags: None,
                };
                assert!(cpu.run(Queue::default(), &kernel, &launch).is_ok());
                for (i, &found) in at.iter().enumerate() {
                    let right = match axis {
                        0 => first_largest((0..rows).map(|r| x[r * columns + i])),
                        _ => first_largest(x[i * columns..(i + 1) * columns].iter().copied()),
                    };
                    assert_eq!(
                        found, right,
                        "{dtype} {rows} x {columns} axis {axis} at {i}"
                    );
                }
            }
        }
    }
}

#[test]
fn ties_of_a_turned_matrix_go_to_the_first_place() {
    for cpu in devices() {
        for (rows, columns) in [(17, 33), (129, 9), (40, 700), (600, 600)] {
            let x: Vec<i8> = (0..rows * columns)
                .map(|i| i8::try_from(i * i % 11).unwrap_or(0))
                .collect();
            let mut b = Builder::new();
            let value = b.input(0, DType::I8);
            let form = Form::Arg { max: true, axes: 3 };
            let kernel = compiled(b, &[DType::I8], &[(value, form)]);
            let mut at = [-7i64];
            // The matrix lies in memory column by column.
            let launch = Launch {
                shape: &[rows, columns],
                ins: &[view(&x, &[1, rows.cast_signed()])],
                outs: &[view_mut(&mut at, &[0, 0])],
                reduces: &[None],
                flags: None,
            };
            assert!(cpu.run(Queue::default(), &kernel, &launch).is_ok());
            let places = (0..rows * columns).map(|i| x[i / columns + i % columns * rows]);
            assert_eq!(at[0], first_largest(places), "{rows} x {columns}");
        }
    }
}

#[test]
fn places_of_extremes_are_the_first_ones() {
    places(DType::F64, |i| {
        if i % 701 == 700 {
            f64::NAN
        } else {
            (i * i % 97) as f64
        }
    });
    places(DType::F64, |i| (i * i % 1009) as f64 - 0.5 * (i % 3) as f64);
    places(DType::F32, |i| {
        f32::from(u16::try_from(i * i % 997).unwrap_or(0))
    });
    places(DType::I64, |i| (i * i % 1013).cast_signed() as i64 - 500);
    places(DType::U8, |i| u8::try_from(i * 7 % 251).unwrap_or(0));
    places(DType::I16, |i| {
        i16::try_from(i * 7 % 251).unwrap_or(0) - 100
    });
}
