//! The text of some kernels, as plain files in `tests/golden`. `UPDATE=1` writes them anew.
//!
//! `tools/nvrtc.py` compiles the CUDA files for several GPUs.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and is told by the environment to write"
)]

use arrayloom_codegen::{Dialect, Entry, Target, lower, operation, source};
use arrayloom_device::{
    Arg, Buf, ExtCall, FILTER_PASS, FILTER_WINDOW, FilterPass, FilterWindow, Fold, Gather, Keys,
    Launch, Order, ReduceArgs, Spread, Tensor,
};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim, ReduceOp, ScatterMode, Value};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Layout, Scalar, contiguous_strides};
use std::path::Path;
use std::sync::atomic::AtomicU8;

/// A kernel over `shape` with packed operands, but for those that `change` replaces.
struct Case {
    builder: Builder,
    inputs: Vec<DType>,
    outputs: Vec<(Value, Form)>,
    shape: Vec<usize>,
    reduce: Option<ReduceArgs>,
    /// For a device whose items run on cores of a CPU.
    cores: bool,
    /// Floating-point conditions are wanted.
    watched: bool,
}

impl Case {
    fn new(shape: &[usize]) -> Case {
        Case {
            builder: Builder::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            shape: shape.to_vec(),
            reduce: None,
            cores: false,
            watched: false,
        }
    }

    fn input(&mut self, dtype: DType) -> Value {
        let number = u32::try_from(self.inputs.len()).unwrap();
        self.inputs.push(dtype);
        self.builder.input(number, dtype)
    }

    /// Compares the text of all steps in both languages with the files of this name.
    fn check(self, name: &str, change: impl Fn(&mut Vec<Arg>)) {
        let outputs = self
            .outputs
            .iter()
            .map(|&(v, form)| Output { value: v.0, form });
        let kernel = Kernel {
            outputs: outputs.collect(),
            inputs: self.inputs.clone(),
            code: self.builder.finish(),
            rank: u8::try_from(self.shape.len()).unwrap(),
        };
        let view = |number: u64, dtype: DType, axes: u32| {
            let kept = |i: usize| if axes >> i & 1 == 1 { 1 } else { self.shape[i] };
            let shape: Vec<usize> = (0..self.shape.len()).map(kept).collect();
            let mut strides = contiguous_strides(&shape, dtype.size());
            for (_, stride) in strides
                .iter_mut()
                .enumerate()
                .filter(|(i, _)| axes >> i & 1 == 1)
            {
                *stride = 0;
            }
            Arg::View {
                buf: Buf(number << 40),
                offset: 0,
                strides,
            }
        };
        let mut ins: Vec<Arg> = (1..)
            .zip(&self.inputs)
            .map(|(n, &d)| view(n, d, 0))
            .collect();
        change(&mut ins);
        let outs: Vec<Arg> = (100..)
            .zip(0..kernel.outputs.len())
            .map(|(n, i)| {
                let axes = match kernel.outputs[i].form {
                    Form::Reduce { axes, .. } | Form::Arg { axes, .. } => axes,
                    _ => 0,
                };
                view(n, kernel.output_dtype(i), axes)
            })
            .collect();
        let reduces: Vec<Option<ReduceArgs>> = kernel
            .outputs
            .iter()
            .map(|o| {
                let folds = matches!(o.form, Form::Reduce { .. });
                self.reduce.clone().filter(|_| folds)
            })
            .collect();
        let flags: Vec<AtomicU8> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
        let launch = Launch {
            shape: &self.shape,
            outs: &outs,
            ins: &ins,
            reduces: &reduces,
            flags: self.watched.then_some(flags.as_slice()),
        };
        let target = Target {
            unified: false,
            lanes: 1 << 16,
            cores: self.cores,
        };
        let steps = lower(&kernel, &launch, target).unwrap();
        let found = steps.watched.iter().map(|watched| &watched.step);
        let all = steps.list.iter().chain(found);
        let entries: Vec<&Entry> = all.map(|s| &s.entry).collect();
        // No GPU has such items.
        compare(&entries, name, !self.cores);
    }
}

/// Compares the text of these kernels with the files of this name.
fn compare(entries: &[&Entry], name: &str, gpu: bool) {
    let languages = [(Dialect::OpenCl, "cl"), (Dialect::Cuda, "cu")];
    for &(dialect, suffix) in &languages[..if gpu { 2 } else { 1 }] {
        let text = source(entries, dialect).unwrap();
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let file = dir.join(format!("{name}.{suffix}"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &text).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert_eq!(text, kept, "{name}.{suffix}: UPDATE=1 writes the file anew");
    }
}

/// An operation on packed arrays of these dtypes and extents, results last.
fn operation_case(
    name: &str,
    arrays: &[(DType, &[usize])],
    results: usize,
    attrs: &[u8],
    file: &str,
) {
    let tensors: Vec<Tensor> = (1..)
        .zip(arrays)
        .map(|(n, (dtype, shape))| Tensor {
            buf: Buf(n << 40),
            layout: Layout::contiguous(*dtype, shape),
        })
        .collect();
    let (ins, outs) = tensors.split_at(tensors.len() - results);
    let call = ExtCall {
        name,
        outs,
        ins,
        attrs,
    };
    let target = Target {
        unified: false,
        lanes: 1 << 16,
        cores: false,
    };
    let made = operation(&call, target).unwrap();
    let mut entries: Vec<&Entry> = Vec::new();
    for step in &made.steps.list {
        if !entries.contains(&&step.entry) {
            entries.push(&step.entry);
        }
    }
    compare(&entries, file, true);
}

#[test]
fn sorts() {
    let real: [(DType, &[usize]); 3] = [
        (DType::F32, &[9, 70_000]),
        (DType::I64, &[9, 70_000]),
        (DType::U32, &[]),
    ];
    operation_case("argsort", &real, 2, &[1], "argsort");
    let complex: [(DType, &[usize]); 2] = [(DType::C128, &[9, 70_000]); 2];
    operation_case("sort", &complex, 1, &[0], "sort_complex");
}

/// The text of a pass, with the dtypes of voxels, arithmetic and results, over rows of so many voxels.
fn pass_case(pass: FilterPass, [from, work, to]: [DType; 3], row: usize, file: &str) {
    let taps = pass.taps as usize;
    let [read, written] = pass.channels.map(usize::from);
    let lists = pass.fold.numbers(work);
    let (voxels, result) = ([4 * read, 39 + taps, row], [4 * written, 40, row]);
    let (index, weights, bias) = ([39 + taps], [lists * taps], [lists]);
    let mut arrays: Vec<(DType, &[usize])> = vec![
        (from, &voxels),
        (DType::I32, &[40]),
        (DType::I32, &index),
        (work, &weights),
        (work, &bias),
        (to, &result),
    ];
    if !pass.fold.is_weighted() {
        arrays.remove(3);
    }
    operation_case(FILTER_PASS, &arrays, 1, &pass.attrs(), file);
}

#[test]
fn filters() {
    let case =
        |pass: FilterPass, dtypes: [DType; 3], file: &str| pass_case(pass, dtypes, 1000, file);
    let pass = FilterPass::new;
    let sums = [DType::F16, DType::F32, DType::U16];
    case(pass(Fold::Weights, 9), sums, "filter_sums");
    case(pass(Fold::Odd, 5), [DType::F64; 3], "filter_odd");
    let both = FilterPass {
        channels: [2, 1],
        ..pass(Fold::Laplacian, 9)
    };
    case(
        both,
        [DType::F64, DType::F64, DType::I64],
        "filter_laplacian",
    );
    let greatest = FilterPass {
        keys: [Keys::Highest; 2],
        ..pass(Fold::Least, 7)
    };
    let floats = [DType::F32, DType::U32, DType::F32];
    case(greatest, floats, "filter_greatest");
    let mean = FilterPass {
        points: 27.0,
        ..pass(Fold::Sum, 3)
    };
    case(mean, [DType::I32, DType::I32, DType::U8], "filter_mean");
    case(
        mean,
        [DType::I64, DType::U64, DType::I64],
        "filter_long_mean",
    );
    let range = FilterPass {
        keys: [Keys::Plain, Keys::Rising],
        channels: [2, 1],
        ..pass(Fold::Range, 7)
    };
    case(range, floats, "filter_range");
    let squares = FilterPass {
        channels: [2, 1],
        points: 125.0,
        spread: Some(Spread::Sauvola),
        ..pass(Fold::Squares, 5)
    };
    let doubles = [DType::F64, DType::F64, DType::F32];
    case(squares, doubles, "filter_squares");
    let moments = FilterPass {
        channels: [3, 1],
        before: 2,
        spread: Some(Spread::Wiener),
        ..pass(Fold::Moments, 5)
    };
    case(moments, doubles, "filter_moments");
}

/// Along the last axis GPUs read windows from local memory.
#[test]
fn tiles() {
    let case = |pass: FilterPass, dtypes: [DType; 3], file: &str| pass_case(pass, dtypes, 1, file);
    let pass = FilterPass::new;
    let sums = [DType::F16, DType::F32, DType::U16];
    case(pass(Fold::Weights, 9), sums, "tile_sums");
    case(pass(Fold::Odd, 5), [DType::F64; 3], "tile_odd");
    let both = FilterPass {
        channels: [2, 1],
        ..pass(Fold::Laplacian, 9)
    };
    case(both, [DType::F64, DType::F64, DType::I64], "tile_laplacian");
    let greatest = FilterPass {
        keys: [Keys::Highest; 2],
        ..pass(Fold::Least, 7)
    };
    let floats = [DType::F32, DType::U32, DType::F32];
    case(greatest, floats, "tile_greatest");
    let moments = FilterPass {
        channels: [3, 1],
        before: 2,
        spread: Some(Spread::Wiener),
        ..pass(Fold::Moments, 5)
    };
    let doubles = [DType::F64, DType::F64, DType::F32];
    case(moments, doubles, "tile_moments");
}

/// Long windows are joined as on the CPU.
#[test]
fn long_windows() {
    for (order, name) in [(Order::Boxes, "boxes"), (Order::Cuts, "cuts")] {
        let pass = |fold: Fold| FilterPass {
            order,
            ..FilterPass::new(fold, 49)
        };
        let halves = [DType::F16, DType::F32, DType::F16];
        pass_case(pass(Fold::Mean), halves, 1000, &format!("{name}_mean"));
        let variance = FilterPass {
            channels: [2, 1],
            spread: Some(Spread::Deviation),
            ..pass(Fold::Moments)
        };
        let doubles = [DType::F64, DType::F64, DType::F32];
        pass_case(variance, doubles, 1000, &format!("{name}_moments"));
    }
}

/// The text of a filter over a window, with the dtypes of voxels, arithmetic and results.
fn window_case(window: FilterWindow, [from, work, to]: [DType; 3], file: &str) {
    let points = window.points as usize;
    let all = points + window.gather.more_points();
    let (places, mut offsets) = ([3 * all], [all]);
    if window.gather == Gather::Patches {
        offsets = [window.rank as usize];
    }
    let lists = [points];
    let long = work == DType::U64 && window.gather == Gather::Mean;
    let nothing = [1 + usize::from(long)];
    let mut arrays: Vec<(DType, &[usize])> = vec![
        (from, &[12, 22, 103]),
        (DType::I64, &[12]),
        (DType::I32, &[10 + 20 + 99]),
        (DType::I32, &[12 + 22 + 103]),
        (DType::I32, &places),
        (DType::I64, &offsets),
        (work, &lists),
        (work, &nothing),
        (to, &[10, 20, 99]),
    ];
    if !window.gather.is_weighted() {
        arrays.remove(6);
    }
    operation_case(FILTER_WINDOW, &arrays, 1, &window.attrs(), file);
}

fn window(gather: Gather, keys: Keys, points: u32) -> FilterWindow {
    FilterWindow {
        gather,
        points,
        rank: points / 2,
        keys,
        given: [0.125, 4.0, 16.0],
    }
}

#[test]
fn windows() {
    let case = window_case;
    let median = window(Gather::Rank, Keys::Rising, 27);
    let floats = [DType::F32, DType::U32, DType::F32];
    case(median, floats, "window_median");
    let large = window(Gather::Rank, Keys::Rising, 125);
    case(large, [DType::I16, DType::U16, DType::I16], "window_rank");
    let least = window(Gather::Least, Keys::Highest, 33);
    case(least, [DType::F64, DType::U64, DType::F64], "window_least");
    let sums = window(Gather::Weights, Keys::Plain, 19);
    case(sums, [DType::U8, DType::F32, DType::I16], "window_sums");
    let odd = window(Gather::Odd, Keys::Plain, 9);
    case(odd, [DType::F64; 3], "window_odd");
    let near = window(Gather::Bilateral, Keys::Plain, 27);
    let bytes = [DType::U8, DType::F32, DType::U8];
    case(near, bytes, "window_bilateral");
}

#[test]
fn windows_of_values() {
    let doubles = [DType::F64; 3];
    for (gather, points, dtypes, file) in [
        (Gather::Highest, 27, doubles, "window_heights"),
        (
            Gather::Bin,
            1,
            [DType::U16, DType::F64, DType::F32],
            "window_bin",
        ),
        (
            Gather::Entropy,
            27,
            [DType::F32, DType::F64, DType::F32],
            "window_entropy",
        ),
        (Gather::Diffusion, 6, doubles, "window_diffusion"),
        (Gather::Patches, 2, [DType::F32; 3], "window_patches"),
        (
            Gather::Mean,
            27,
            [DType::U16, DType::I32, DType::U16],
            "window_mean",
        ),
        (
            Gather::Mean,
            27,
            [DType::U64, DType::U64, DType::I32],
            "window_long_mean",
        ),
        (
            Gather::Spread(Spread::Wiener),
            27,
            [DType::F32, DType::F64, DType::F32],
            "window_spread",
        ),
    ] {
        window_case(window(gather, Keys::Plain, points), dtypes, file);
    }
}

fn steps(bytes: &[isize]) -> impl Fn(&mut Arg) {
    let new: Vec<isize> = bytes.to_vec();
    move |arg| {
        if let Arg::View { strides, .. } = arg {
            *strides = new.iter().copied().collect();
        }
    }
}

/// A stencil that is stored, and the sum of what it changes.
fn heat_case() -> Case {
    let mut case = Case::new(&[3000, 3000]);
    let parts: Vec<Value> = (0..5).map(|_| case.input(DType::F64)).collect();
    let b = &mut case.builder;
    let sum = parts[1..]
        .iter()
        .fold(parts[0], |sum, &x| b.bin(Prim::Add, sum, x));
    let fifth = b.constant(DType::F64, 0.2);
    let work = b.bin(Prim::Mul, fifth, sum);
    let change = b.bin(Prim::Sub, work, parts[0]);
    let change = b.un(Prim::Abs, change);
    let axes = 0b11;
    case.outputs = vec![
        (work, Form::Store),
        (
            change,
            Form::Reduce {
                op: ReduceOp::Add,
                axes,
            },
        ),
    ];
    let order = ReduceOrder {
        axes: [1, 0].into_iter().collect(),
        stream: 2,
        piece: 9_000_000,
    };
    case.reduce = Some(ReduceArgs {
        order,
        initial: None,
    });
    case
}

#[test]
fn heat() {
    heat_case().check("heat", |ins| {
        for arg in ins {
            steps(&[3002 * 8, 8])(arg);
        }
    });
}

#[test]
fn heat_on_cores() {
    let mut case = heat_case();
    case.cores = true;
    case.watched = true;
    case.check("heat_on_cores", |ins| {
        for arg in ins {
            steps(&[3002 * 8, 8])(arg);
        }
    });
}

/// Values that do not show in others are looked at one by one.
#[test]
fn conditions() {
    let mut case = Case::new(&[3000, 3000]);
    case.watched = true;
    let (a, c) = (case.input(DType::F64), case.input(DType::F64));
    let ratio = case.builder.bin(Prim::Div, a, c);
    let root = case.builder.un(Prim::Sqrt, ratio);
    let below = case.builder.un(Prim::Floor, root);
    let whole = case.builder.cast(below, DType::I32);
    let form = Form::Reduce {
        op: ReduceOp::Max,
        axes: 0b11,
    };
    case.outputs = vec![(whole, Form::Store), (root, form)];
    let order = ReduceOrder {
        axes: [1, 0].into_iter().collect(),
        stream: 2,
        piece: 9_000_000,
    };
    case.reduce = Some(ReduceArgs {
        order,
        initial: None,
    });
    case.check("conditions", |_| ());
}

#[test]
fn views() {
    let mut case = Case::new(&[20, 30, 40]);
    let (a, c, d) = (
        case.input(DType::F32),
        case.input(DType::F32),
        case.input(DType::F32),
    );
    let sum = case.builder.bin(Prim::Max, a, c);
    let sum = case.builder.bin(Prim::Mul, sum, d);
    case.outputs = vec![(sum, Form::Store)];
    case.check("views", |ins| {
        steps(&[4, 80, 2400])(&mut ins[0]);
        steps(&[-4800, 0, -4])(&mut ins[1]);
        ins[2] = Arg::Scalar(Scalar::from_f64(DType::F32, 2.0));
    });
}

#[test]
fn many_axes() {
    let mut case = Case::new(&[6, 7, 8, 9, 10]);
    let a = case.input(DType::I32);
    let places = (0..5)
        .map(|axis| case.builder.iota(axis))
        .collect::<Vec<_>>();
    let place = places
        .into_iter()
        .reduce(|x, y| case.builder.bin(Prim::Xor, x, y))
        .unwrap();
    let wide = case.builder.cast(a, DType::I64);
    let down = case.builder.bin(Prim::FloorDiv, wide, place);
    case.outputs = vec![(down, Form::Store)];
    case.check("many_axes", |_| ());
}

#[test]
fn halves() {
    let mut case = Case::new(&[10_000]);
    let (a, c) = (case.input(DType::F16), case.input(DType::F16));
    let product = case.builder.bin(Prim::Mul, a, c);
    let sine = case.builder.un(Prim::Sin, product);
    case.outputs = vec![(sine, Form::Store)];
    case.check("halves", |_| ());
}

#[test]
fn complex() {
    let mut case = Case::new(&[10_000]);
    let (a, c) = (case.input(DType::C128), case.input(DType::C128));
    let product = case.builder.bin(Prim::Mul, a, c);
    let power = case.builder.un(Prim::Exp, product);
    case.outputs = vec![(power, Form::Store)];
    case.check("complex", |_| ());
}

#[test]
fn extremes() {
    let mut case = Case::new(&[30, 100_000]);
    let a = case.input(DType::F64);
    let form = Form::Arg {
        max: false,
        axes: 0b10,
    };
    case.outputs = vec![
        (a, form),
        (
            a,
            Form::Scan {
                op: ReduceOp::Mul,
                axis: 1,
            },
        ),
    ];
    case.check("extremes", |_| ());
}

#[test]
fn parts() {
    let mut case = Case::new(&[3, 200_000]);
    let a = case.input(DType::U8);
    let wide = case.builder.cast(a, DType::U64);
    case.outputs = vec![(
        wide,
        Form::Reduce {
            op: ReduceOp::Add,
            axes: 0b10,
        },
    )];
    let order = ReduceOrder {
        axes: [1, 0].into_iter().collect(),
        stream: 1,
        piece: 200_000,
    };
    case.reduce = Some(ReduceArgs {
        order,
        initial: None,
    });
    case.check("parts", |_| ());
}

#[test]
fn numbered() {
    let mut case = Case::new(&[500, 400]);
    let (a, at) = (case.input(DType::F16), case.input(DType::I64));
    let doubled = case.builder.bin(Prim::Add, a, a);
    let (mode, at) = (ScatterMode::Add, at.0);
    case.outputs = vec![(doubled, Form::Scatter { mode, at })];
    case.check("numbered", |_| ());
}

#[test]
fn products() {
    let real: [(DType, &[usize]); 3] = [(DType::F64, &[900, 900]); 3];
    operation_case("matmul", &real, 1, &[], "product");
    let complex: [(DType, &[usize]); 3] = [(DType::C128, &[900, 900]); 3];
    operation_case("matmul", &complex, 1, &[], "product_complex");
}

#[test]
fn transforms() {
    let attrs = |kind: u8, length: u64| {
        let mut attrs = vec![0, kind, 1];
        attrs.extend(0.25f64.to_le_bytes());
        attrs.extend(length.to_le_bytes());
        attrs
    };
    let smooth: [(DType, &[usize]); 2] = [(DType::C64, &[2520, 90]); 2];
    operation_case("fft", &smooth, 1, &attrs(0, 2520), "fourier");
    let other: [(DType, &[usize]); 2] = [(DType::C128, &[1010, 90]), (DType::F64, &[2017, 90])];
    operation_case("fft", &other, 1, &attrs(2, 2017), "fourier_turned");
}

#[test]
fn random() {
    operation_case("philox", &[(DType::F32, &[100_000])], 1, &[7; 48], "philox");
}
