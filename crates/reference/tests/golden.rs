//! Compares the interpreter with NumPy's outputs, for every operation and every loop.
//!
//! `golden/make.py` writes the data and tells its format. NumPy's functions beyond arithmetic differ
//! among processors in the last bits, so these have bounds; everything else has NumPy's bits. Not
//! compared: the sign of a zero in minimum and maximum, the payload of a NaN.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use arrayloom_device::ReduceArgs;
use arrayloom_ir::{Form, FpFlags, Kernel, Prim, ReduceOp, ops};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::DType;
use common::{dtypes, golden, kernel_of, ramp, run, run_flagged};
use half::f16;

/// Units in the last place that a result may differ from NumPy's: for real and for complex numbers.
/// Complex numbers are compared as vectors: the difference against the unit of the larger part. Complex
/// powers lose in NumPy what rounding their large exponents loses.
const BOUNDS: &[(&str, f64, f64)] = &[
    ("arccos", 4.0, 8.0),
    ("arccosh", 4.0, 8.0),
    ("arcsin", 4.0, 8.0),
    ("arcsinh", 4.0, 8.0),
    ("arctan", 4.0, 8.0),
    ("arctan2", 4.0, 0.0),
    ("arctanh", 4.0, 8.0),
    ("cbrt", 4.0, 0.0),
    ("cos", 4.0, 8.0),
    ("cosh", 4.0, 8.0),
    ("exp", 4.0, 8.0),
    ("exp2", 4.0, 8.0),
    ("expm1", 4.0, 8.0),
    ("float_power", 4.0, 4096.0),
    ("hypot", 1.0, 0.0),
    ("log", 4.0, 8.0),
    ("log10", 4.0, 8.0),
    ("log1p", 4.0, 8.0),
    ("log2", 4.0, 8.0),
    ("logaddexp", 4.0, 0.0),
    ("logaddexp2", 4.0, 0.0),
    ("power", 4.0, 4096.0),
    ("sign", 0.0, 2.0),
    ("sin", 4.0, 8.0),
    ("sinh", 4.0, 8.0),
    ("sqrt", 0.0, 8.0),
    ("tan", 4.0, 8.0),
    ("tanh", 4.0, 8.0),
];

/// The conditions that NumPy warns of unless told otherwise: all but underflow.
const WARNED: u8 = FpFlags::DIVIDE.0 | FpFlags::OVERFLOW.0 | FpFlags::INVALID.0;

/// The parts of an element as floats, and the unit in the last place at a size.
fn parts(dtype: DType, b: &[u8]) -> Vec<f64> {
    let half = |i: usize| f16::from_le_bytes(b[i..i + 2].try_into().unwrap()).to_f64();
    let single = |i: usize| f64::from(f32::from_le_bytes(b[i..i + 4].try_into().unwrap()));
    let double = |i: usize| f64::from_le_bytes(b[i..i + 8].try_into().unwrap());
    match dtype {
        DType::F16 => vec![half(0)],
        DType::F32 => vec![single(0)],
        DType::F64 => vec![double(0)],
        DType::C64 => vec![single(0), single(4)],
        DType::C128 => vec![double(0), double(8)],
        _ => Vec::new(),
    }
}

fn unit(dtype: DType, size: f64) -> f64 {
    let (digits, least) = match dtype.real() {
        DType::F16 => (10, -24),
        DType::F32 => (23, -149),
        _ => (52, -1074),
    };
    let exponent = if size == 0.0 {
        least
    } else {
        libm::ilogb(size) - digits
    };
    libm::ldexp(1.0, exponent.max(least))
}

/// Whether an element is near enough to NumPy's.
fn agrees(dtype: DType, ours: &[u8], theirs: &[u8], bound: f64, any_zero: bool) -> bool {
    if ours == theirs {
        return true;
    }
    let (x, y) = (parts(dtype, ours), parts(dtype, theirs));
    let same = |a: f64, b: f64| {
        (a.is_nan() && b.is_nan())
            || a.to_bits() == b.to_bits()
            || (any_zero && a == 0.0 && b == 0.0)
    };
    if x.is_empty() || x.iter().zip(&y).all(|(&a, &b)| same(a, b)) {
        return !x.is_empty();
    }
    let size = y.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let near = |a: f64, b: f64| same(a, b) || (a - b).abs() <= bound * unit(dtype, size);
    bound > 0.0 && size.is_finite() && x.iter().zip(&y).all(|(&a, &b)| near(a, b))
        || bound > 0.0 && x.len() == 1 && x.iter().zip(&y).all(|(&a, &b)| near(a, b))
}

/// Runs a kernel of stores over one axis.
fn map(kernel: &Kernel, count: usize, inputs: &[&[u8]]) -> Vec<Vec<u8>> {
    let outs: Vec<(usize, Vec<isize>)> = (0..kernel.outputs.len())
        .map(|i| (count, vec![kernel.output_dtype(i).size().cast_signed()]))
        .collect();
    run(kernel, &[count], inputs, &outs, &vec![None; outs.len()])
}

/// Where NumPy's answer depends on the place of the element in the array or on the C library.
fn is_unspecified(title: &str, result: DType, operands: &[f64]) -> bool {
    let complex_power = title.contains("power") && result.is_complex();
    let too_large = title.starts_with("cast") && title.ends_with("uint32");
    (complex_power && operands.iter().any(|v| !v.is_finite()))
        || (too_large
            && operands
                .iter()
                .any(|v| !(-2_147_483_648.0..4_294_967_296.0).contains(v)))
}

/// Where NumPy's conditions come from the way it computes: complex numbers with an infinite or missing
/// part, and powers with an infinite exponent.
fn is_special(name: &str, ins: &[DType], numbers: &[f64]) -> bool {
    let any = |numbers: &[f64]| numbers.iter().any(|v| !v.is_finite());
    (ins[0].is_complex() && any(numbers)) || (name.contains("power") && any(&numbers[1..]))
}

/// What does not agree, in words, at most three of each block.
fn differences(
    title: &str,
    dtype: DType,
    ours: &[u8],
    theirs: &[u8],
    operands: &[(&[u8], DType)],
    bound: f64,
) -> Vec<String> {
    let size = dtype.size();
    let any_zero = ["minimum", "maximum", "fmin", "fmax", "clip"]
        .iter()
        .any(|name| title.starts_with(name));
    let show = |dtype: DType, b: &[u8]| match parts(dtype, b) {
        p if p.is_empty() => format!("{b:?}"),
        p => format!("{p:?}"),
    };
    let pairs = ours.chunks(size).zip(theirs.chunks(size)).enumerate();
    let unspecified = |i: usize| {
        let of = |(bytes, d): &(&[u8], DType)| parts(*d, &bytes[i * d.size()..(i + 1) * d.size()]);
        is_unspecified(
            title,
            dtype,
            &operands.iter().flat_map(of).collect::<Vec<_>>(),
        )
    };
    let wrong = pairs.filter(|(_, (a, b))| !agrees(dtype, a, b, bound, any_zero));
    let wrong = wrong.filter(|(i, _)| !unspecified(*i));
    let text = |(i, (a, b)): (usize, (&[u8], &[u8]))| {
        let of: Vec<String> = operands
            .iter()
            .map(|(bytes, d)| show(*d, &bytes[i * d.size()..(i + 1) * d.size()]))
            .collect();
        format!(
            "{title} {of:?}: {} is {} in NumPy",
            show(dtype, a),
            show(dtype, b)
        )
    };
    wrong.take(3).map(text).collect()
}

fn report(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} differences\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_loop_gives_numpys_values() {
    let (blocks, inputs) = golden();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for block in blocks.iter().filter(|b| b.words[0] == "op") {
        let [_, name, form, number, count, names @ ..] = block.words.as_slice() else {
            panic!("a block without inputs");
        };
        let op = ops::find(name).unwrap();
        let (ins, outs) = form.split_once("->").unwrap();
        let sig = op
            .loop_of(&dtypes(ins))
            .unwrap_or_else(|| panic!("{name} {form}"));
        assert_eq!(sig.outs.to_vec(), dtypes(outs), "{name} {form}");
        let kernel = kernel_of(&sig.ins, |b, x| (op.body)(b, x).to_vec());
        let operands: Vec<&[u8]> = names.iter().map(|n| inputs[n]).collect();
        let number: usize = number.parse().unwrap();
        let results = map(&kernel, count.parse().unwrap(), &operands);
        let dtype = sig.outs[number];
        let bound = BOUNDS.iter().find(|(op, ..)| op == name);
        let complex = sig.ins[0].is_complex();
        let bound = bound.map_or(0.0, |b| if complex { b.2 } else { b.1 });
        let given: Vec<(&[u8], DType)> = operands.iter().copied().zip(sig.ins).collect();
        let title = format!("{name} {form}");
        let found = differences(&title, dtype, &results[number], block.bytes, &given, bound);
        wrong.extend(found);
        checked += 1;
    }
    report(&wrong);
    assert!(checked > 700);
}

#[test]
fn conditions_are_those_numpy_warns_of() {
    let (blocks, inputs) = golden();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for block in blocks.iter().filter(|b| b.words[0] == "flags") {
        let [_, name, form, _, names @ ..] = block.words.as_slice() else {
            panic!("a block without inputs");
        };
        let op = ops::find(name).unwrap();
        let sig = op
            .loop_of(&dtypes(form.split_once("->").unwrap().0))
            .unwrap();
        let kernel = kernel_of(&sig.ins, |b, x| (op.body)(b, x).to_vec());
        let outs: Vec<(usize, Vec<isize>)> = sig.outs.iter().map(|_| (1, vec![0])).collect();
        for (i, &expected) in block.bytes.iter().enumerate() {
            let operands: Vec<&[u8]> = names
                .iter()
                .zip(&sig.ins)
                .map(|(n, d)| &inputs[n][i * d.size()..(i + 1) * d.size()])
                .collect();
            let parts_of = |(b, d): (&&[u8], &DType)| parts(*d, b);
            let numbers: Vec<f64> = operands.iter().zip(&sig.ins).flat_map(parts_of).collect();
            if is_special(name, &sig.ins, &numbers) {
                continue;
            }
            let none = vec![None; outs.len()];
            let (_, flags) = run_flagged(&kernel, &[1], &operands, &outs, &none);
            let met = flags.iter().fold(0, |all, f| all | f) & WARNED;
            if met != expected & WARNED {
                wrong.push(format!(
                    "{name} {form} {numbers:?} meets {met}, {expected} in NumPy"
                ));
            }
            checked += 1;
        }
    }
    report(&wrong);
    assert!(checked > 10_000);
}

#[test]
fn every_cast_gives_numpys_values() {
    let (blocks, inputs) = golden();
    let mut wrong = Vec::new();
    for block in blocks.iter().filter(|b| b.words[0] == "cast") {
        let (from, to) = (dtypes(block.words[1])[0], dtypes(block.words[2])[0]);
        let kernel = kernel_of(&[from], |b, x| vec![b.cast(x[0], to)]);
        let input = inputs[format!("cast_{}", from.letter()).as_str()];
        let results = map(&kernel, block.words[3].parse().unwrap(), &[input]);
        let title = format!("cast {from} {to}");
        let given = [(input, from)];
        wrong.extend(differences(
            &title,
            to,
            &results[0],
            block.bytes,
            &given,
            0.0,
        ));
    }
    report(&wrong);
}

#[test]
fn folds_and_scans_have_numpys_bits() {
    let (blocks, _) = golden();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for block in &blocks {
        let scan = match block.words[0] {
            "fold" => false,
            "scan" => true,
            _ => continue,
        };
        let op = match block.words[1] {
            "add" => ReduceOp::Add,
            "multiply" => ReduceOp::Mul,
            _ => ReduceOp::Max,
        };
        let (dtype, count): (DType, usize) =
            (dtypes(block.words[2])[0], block.words[3].parse().unwrap());
        let mut kernel = kernel_of(&[dtype], |_, x| x.to_vec());
        let order = ReduceOrder {
            axes: [0].into_iter().collect(),
            stream: 1,
            piece: count,
        };
        let (form, out, reduce) = if scan {
            let step = dtype.size().cast_signed();
            (Form::Scan { op, axis: 0 }, (count, vec![step]), None)
        } else {
            let args = ReduceArgs {
                order,
                initial: None,
            };
            (Form::Reduce { op, axes: 1 }, (1, vec![0]), Some(args))
        };
        kernel.outputs[0].form = form;
        let input = ramp(dtype, count);
        let results = run(&kernel, &[count], &[&input], &[out], &[reduce]);
        let title = block.words.join(" ");
        wrong.extend(differences(
            &title,
            dtype,
            &results[0],
            block.bytes,
            &[],
            0.0,
        ));
        checked += 1;
    }
    report(&wrong);
    assert_eq!(checked, 5 * (12 * 3 + 2));
}

#[test]
fn the_primitives_of_the_table_are_all_there() {
    // Every primitive that computes is used by some row, so the golden data speaks of all of them.
    let mut unused: Vec<Prim> = arrayloom_ir::ALL_PRIMS.to_vec();
    unused.retain(|prim| *prim != Prim::Gather);
    for op in ops::all() {
        for sig in op.signatures() {
            let kernel = kernel_of(&sig.ins, |b, x| (op.body)(b, x).to_vec());
            unused.retain(|prim| kernel.code.iter().all(|ins| ins.prim != *prim));
        }
    }
    assert_eq!(unused, []);
}
