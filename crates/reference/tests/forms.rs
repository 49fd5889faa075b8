//! The forms of outputs: orders of folds against NumPy, extremes, places in memory, ranges.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use arrayloom_device::{Arg, Buf, Device as _, End, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Form, Kernel, Prim, ReduceOp, ops};
use arrayloom_plan::ReduceOrder;
use arrayloom_reference::Reference;
use arrayloom_types::{DType, Scalar};
use common::{dtypes, golden, kernel_of, ramp, run};

fn doubles(bytes: &[u8]) -> Vec<f64> {
    let one = |b: &[u8]| f64::from_le_bytes(b.try_into().unwrap());
    bytes.chunks(8).map(one).collect()
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The fold of input 0, the innermost axis first; a run of the first `stream` axes.
fn fold(op: ReduceOp, rank: u8, axes: u32, stream: u8, piece: usize) -> (Form, Option<ReduceArgs>) {
    let order = ReduceOrder {
        axes: (0..rank).rev().collect(),
        stream,
        piece,
    };
    let args = ReduceArgs {
        order,
        initial: None,
    };
    (Form::Reduce { op, axes }, Some(args))
}

fn identity(dtype: DType, rank: u8, form: Form) -> Kernel {
    let mut kernel = kernel_of(&[dtype], |_, x| x.to_vec());
    kernel.rank = rank;
    kernel.outputs[0].form = form;
    kernel
}

#[test]
fn folds_of_one_axis_have_numpys_bits() {
    let (blocks, _) = golden();
    let mut checked = 0;
    for block in blocks.iter().filter(|b| b.words[0] == "plane") {
        let dtype = dtypes(block.words[2])[0];
        let op = match block.words[1] {
            "add" => ReduceOp::Add,
            _ => ReduceOp::Mul,
        };
        let size = dtype.size().cast_signed();
        let (axis, stream, out) = match block.words[3] {
            "0" => (1, 0, (37, vec![0, size])),
            _ => (2, 1, (13, vec![size, 0])),
        };
        let (form, args) = fold(op, 2, axis, stream, 37);
        let kernel = identity(dtype, 2, form);
        let results = run(
            &kernel,
            &[13, 37],
            &[&ramp(dtype, 13 * 37)],
            &[out],
            &[args],
        );
        assert_eq!(results[0], block.bytes, "{:?}", block.words);
        checked += 1;
    }
    assert_eq!(checked, 20);
}

#[test]
fn a_piece_is_summed_by_itself() {
    let values: Vec<f64> = (0..100).map(|i| 1.0 / f64::from(i + 3)).collect();
    let (form, args) = fold(ReduceOp::Add, 1, 1, 1, 7);
    let kernel = identity(DType::F64, 1, form);
    let sum = run(
        &kernel,
        &[100],
        &[&bytes(&values)],
        &[(1, vec![0])],
        &[args],
    );
    let pieces = values.chunks(7).map(|c| c.iter().fold(-0.0, |s, v| s + v));
    assert_eq!(doubles(&sum[0]), [pieces.fold(0.0, |s, v| s + v)]);
}

#[test]
fn an_empty_fold_is_the_initial_value() {
    let (form, args) = fold(ReduceOp::Mul, 1, 1, 1, 1);
    let kernel = identity(DType::F64, 1, form);
    let one = run(
        &kernel,
        &[0],
        &[&[]],
        &[(1, vec![0])],
        std::slice::from_ref(&args),
    );
    assert_eq!(doubles(&one[0]), [1.0]);
    let args = args.map(|a| ReduceArgs {
        initial: Some(Scalar::from_f64(DType::F64, 5.0)),
        ..a
    });
    let five = run(&kernel, &[0], &[&[]], &[(1, vec![0])], &[args]);
    assert_eq!(doubles(&five[0]), [5.0]);
}

#[test]
fn extremes_are_the_first_and_nan_beats_all() {
    let place = |values: &[f64], max| {
        let kernel = identity(DType::F64, 1, Form::Arg { max, axes: 1 });
        let shape = [values.len()];
        let out = run(&kernel, &shape, &[&bytes(values)], &[(1, vec![0])], &[None]);
        i64::from_le_bytes(out[0].as_slice().try_into().unwrap())
    };
    assert_eq!(place(&[1.0, 3.0, 3.0, 0.0], true), 1);
    assert_eq!(place(&[1.0, 0.0, 3.0, 0.0], false), 1);
    assert_eq!(place(&[1.0, f64::NAN, 9.0, f64::NAN], true), 1);
    assert_eq!(place(&[1.0, f64::NAN, -9.0], false), 1);
    // Over both axes of 2 x 3 the place counts in C order.
    let kernel = identity(DType::F64, 2, Form::Arg { max: true, axes: 3 });
    let values = bytes(&[0.0, 1.0, 2.0, 3.0, 9.0, 5.0]);
    let out = run(&kernel, &[2, 3], &[&values], &[(1, vec![0, 0])], &[None]);
    assert_eq!(out[0][0], 4);
}

#[test]
fn ranges_are_numpys() {
    let (blocks, _) = golden();
    for block in blocks
        .iter()
        .filter(|b| ["range", "linspace"].contains(&b.words[0]))
    {
        let dtype = dtypes(block.words[1])[0];
        let size = dtype.size();
        let is_range = block.words[0] == "range";
        let op = ops::find(if is_range { "_iota" } else { "_linspace" }).unwrap();
        let given = if is_range { 2 } else { 3 };
        let values = if is_range {
            block.bytes
        } else {
            &block.bytes[3 * size..]
        };
        let count = values.len() / size;
        let mut ins: Vec<Arg> = (0..given)
            .map(|i| Arg::Scalar(Scalar::from_bytes(dtype, &block.bytes[i * size..])))
            .collect();
        let mut types = vec![dtype; given];
        if !is_range {
            let last = i64::try_from(count).unwrap() - 1;
            ins.push(Arg::Scalar(Scalar::from_i64(DType::I64, last)));
            types.push(DType::I64);
        }
        let kernel = kernel_of(&types, |b, x| (op.body)(b, x).to_vec());
        let mut out = vec![0u8; values.len()];
        let outs = [common::at(
            out.as_mut_ptr().expose_provenance(),
            dtype,
            &[count],
        )];
        let launch = Launch {
            shape: &[count],
            outs: &outs,
            ins: &ins,
            reduces: &[None],
            flags: None,
        };
        Reference::new().run(Queue(0), &kernel, &launch).unwrap();
        assert_eq!(out, values, "{:?}", block.words);
    }
}

#[test]
fn views_run_backwards_repeat_and_need_no_alignment() {
    let device = Reference::new();
    let buf = device.alloc(100).unwrap();
    assert_eq!(buf.0 % 512, 0);
    let values = bytes(&[1.0, 2.0, 3.0]);
    let from = End::Host(values.as_ptr().cast_mut());
    device.copy(Queue(0), End::Dev(buf, 1), from, 24).unwrap();
    let view = |offset, step| Arg::View {
        buf,
        offset,
        strides: [step].into_iter().collect(),
    };
    let kernel = kernel_of(&[DType::F64; 2], |b, x| vec![b.bin(Prim::Add, x[0], x[1])]);
    let launch = Launch {
        shape: &[3],
        outs: &[view(1, 8)],
        ins: &[view(1, 8), view(17, 0)],
        reduces: &[None],
        flags: None,
    };
    device.run(Queue(0), &kernel, &launch).unwrap();
    let mut back = vec![0; 24];
    let to = End::Host(back.as_mut_ptr());
    device.copy(Queue(0), to, End::Dev(buf, 1), 24).unwrap();
    assert_eq!(doubles(&back), [4.0, 5.0, 6.0]);
    let mirrored = Launch {
        outs: &[view(1, 8)],
        ins: &[view(17, -8), view(17, -8)],
        ..launch
    };
    device.run(Queue(0), &kernel, &mirrored).unwrap();
    device.copy(Queue(0), to, End::Dev(buf, 1), 24).unwrap();
    assert_eq!(doubles(&back), [12.0, 10.0, 8.0]);
    device.free(buf);
}

#[test]
fn what_does_not_exist_is_unsupported() {
    let device = Reference::new();
    let kernel = kernel_of(&[DType::I32], |b, x| vec![b.un(Prim::Sin, x[0])]);
    let launch = Launch {
        shape: &[1],
        outs: &[common::at(Buf(0).0.try_into().unwrap(), DType::I32, &[1])],
        ins: &[Arg::Scalar(Scalar::from_i64(DType::I32, 1))],
        reduces: &[None],
        flags: None,
    };
    let error = device.run(Queue(0), &kernel, &launch).unwrap_err();
    assert!(
        error.to_string().contains("instruction 1 (Sin) to int32"),
        "{error}"
    );
}
