//! Folds, places of extremes and running folds.

use super::Suite;
use super::compare::Closeness;
use super::data::Values;
use super::exec::{Input, Job};
use super::place::Pattern;
use super::table;
use crate::ReduceArgs;
use arrayloom_ir::{AxisMask, Builder, Form, ReduceOp};
use arrayloom_plan::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order, reduce_strides};
use arrayloom_types::{ALL_DTYPES, DType, Kind, Layout, Scalar, Shape};

const OPS: [ReduceOp; 9] = [
    ReduceOp::Add,
    ReduceOp::Mul,
    ReduceOp::Min,
    ReduceOp::Max,
    ReduceOp::Fmin,
    ReduceOp::Fmax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];

/// Layout, extents and folded axes of the small cases.
const SMALL: [(Pattern, &[usize], AxisMask); 20] = [
    (Pattern::Contiguous, &[1], 1),
    (Pattern::Contiguous, &[7], 1),
    (Pattern::Contiguous, &[131], 1),
    (Pattern::Contiguous, &[1037], 1),
    (Pattern::Contiguous, &[9, 17], 1),
    (Pattern::Contiguous, &[9, 17], 2),
    (Pattern::Contiguous, &[9, 17], 3),
    (Pattern::Contiguous, &[5, 6, 7], 0b010),
    (Pattern::Contiguous, &[5, 6, 7], 0b101),
    (Pattern::Contiguous, &[5, 6, 7], 0b110),
    (Pattern::Contiguous, &[4, 1, 3], 0b010),
    (Pattern::Contiguous, &[0, 5], 1),
    (Pattern::Contiguous, &[5, 0], 1),
    (Pattern::Strided, &[9, 17], 2),
    (Pattern::Strided, &[9, 17], 3),
    (Pattern::Reversed, &[9, 17], 1),
    (Pattern::Reversed, &[40, 17], 3),
    (Pattern::Permuted, &[5, 6, 7], 0b011),
    (Pattern::Broadcast, &[9, 17], 2),
    (Pattern::Unaligned, &[67], 1),
];

/// The result of folding `axes` away: where its elements lie, with step zero on those axes.
fn folded(layout: &Layout, axes: AxisMask, dtype: DType) -> Layout {
    let shape: Shape = (0..layout.shape.len())
        .map(|i| {
            if axes >> i & 1 == 1 {
                1
            } else {
                layout.shape[i]
            }
        })
        .collect();
    Layout {
        dtype,
        offset: 0,
        strides: reduce_strides(&layout.shape, &layout.strides, axes, dtype.size()),
        shape,
    }
}

/// One fold of an operand.
struct Fold {
    op: ReduceOp,
    axes: AxisMask,
    input: Layout,
    values: Values,
    initial: Option<Scalar>,
    /// True when the order has pieces of a buffer.
    cast: bool,
    bufsize: usize,
}

impl Fold {
    fn new(op: ReduceOp, axes: AxisMask, input: Layout, values: Values) -> Fold {
        Fold {
            op,
            axes,
            input,
            values,
            initial: None,
            cast: false,
            bufsize: DEFAULT_BUFSIZE,
        }
    }

    fn job(&self, seed: u64) -> Job {
        let (dtype, shape) = (self.input.dtype, &self.input.shape);
        let out = folded(&self.input, self.axes, dtype);
        let order = reduce_order(&ReduceFacts {
            shape,
            in_strides: &self.input.strides,
            out_strides: &out.strides,
            reduced: self.axes,
            cast: self.cast,
            bufsize: self.bufsize,
            rules: SumRules::Since2_3,
        });
        let mut b = Builder::new();
        let x = b.input(0, dtype);
        let form = Form::Reduce {
            op: self.op,
            axes: self.axes,
        };
        let kernel = table::kernel(b, &[(x.0, form)], &[dtype], shape.len());
        let input = Input::random(self.input.clone(), seed, self.values);
        let mut job = Job::new(kernel, shape, vec![input], vec![out]);
        job.reduces = vec![Some(ReduceArgs {
            order,
            initial: self.initial,
        })];
        job
    }
}

/// Whether NumPy has this fold for the dtype.
fn exists(op: ReduceOp, dtype: DType) -> bool {
    match op {
        ReduceOp::And | ReduceOp::Or | ReduceOp::Xor => dtype.kind() < Kind::Float,
        _ => true,
    }
}

fn closeness(op: ReduceOp) -> Closeness {
    match op {
        ReduceOp::Min | ReduceOp::Max | ReduceOp::Fmin | ReduceOp::Fmax => Closeness::ZeroSign,
        _ => Closeness::Bits,
    }
}

/// Folds of every dtype over small domains; sums over large ones.
pub(super) fn reduce(suite: &mut Suite<'_>) {
    for op in OPS {
        for dtype in ALL_DTYPES.into_iter().filter(|&d| exists(op, d)) {
            for (seed, (pattern, shape, axes)) in (0..).zip(SMALL) {
                let empty = (0..shape.len()).any(|i| axes >> i & 1 == 1 && shape[i] == 0);
                if empty && op.identity(dtype).is_none() {
                    continue;
                }
                let input = pattern.input(dtype, shape, 1);
                for values in [Values::Any, Values::Tame] {
                    let fold = Fold::new(op, axes, input.clone(), values);
                    let name = format!(
                        "reduce/{op:?}/{dtype}/{}/{shape:?}/axes{axes:#b}/{values:?}",
                        pattern.name()
                    );
                    suite.judge(name, &fold.job(seed), closeness(op));
                }
            }
        }
    }
    initial(suite);
    large(suite);
}

/// Folds that start from a given value.
fn initial(suite: &mut Suite<'_>) {
    for op in [ReduceOp::Add, ReduceOp::Mul, ReduceOp::Min, ReduceOp::Max] {
        for dtype in [DType::F32, DType::F64, DType::I32, DType::C64, DType::F16] {
            for shape in [[0, 3], [6, 3]] {
                let input = Layout::contiguous(dtype, &shape);
                let mut fold = Fold::new(op, 1, input, Values::Tame);
                fold.initial = Some(Scalar::from_f64(dtype, 2.5));
                let name = format!("reduce/initial/{op:?}/{dtype}/{shape:?}");
                suite.judge(name, &fold.job(9), closeness(op));
            }
        }
    }
}

/// Sums long enough for trees, pieces and threads.
fn large(suite: &mut Suite<'_>) {
    let cases: [(Pattern, &[usize], AxisMask); 9] = [
        (Pattern::Contiguous, &[20_003], 1),
        (Pattern::Contiguous, &[120, 151], 1),
        (Pattern::Contiguous, &[120, 151], 2),
        (Pattern::Contiguous, &[2, 9001], 2),
        (Pattern::Contiguous, &[9001, 2], 1),
        (Pattern::Contiguous, &[20, 25, 31], 0b101),
        (Pattern::Strided, &[120, 151], 3),
        (Pattern::Strided, &[12, 30, 41], 7),
        (Pattern::Reversed, &[15_001], 1),
    ];
    let dtypes = [DType::F16, DType::F32, DType::F64, DType::C64, DType::C128];
    for dtype in dtypes {
        for (seed, (pattern, shape, axes)) in (0..).zip(cases) {
            for (cast, bufsize) in [
                (false, DEFAULT_BUFSIZE),
                (true, DEFAULT_BUFSIZE),
                (true, 48),
            ] {
                let input = pattern.input(dtype, shape, 0);
                let mut fold = Fold::new(ReduceOp::Add, axes, input, Values::Tame);
                (fold.cast, fold.bufsize) = (cast, bufsize);
                let name = format!(
                    "reduce/large/{dtype}/{}/{shape:?}/axes{axes:#b}/{}",
                    pattern.name(),
                    if cast {
                        format!("pieces{bufsize}")
                    } else {
                        "whole".to_owned()
                    }
                );
                suite.judge(name, &fold.job(seed), Closeness::Bits);
            }
        }
    }
}

/// Places of extremes and running folds.
pub(super) fn arg_and_scan(suite: &mut Suite<'_>) {
    for dtype in ALL_DTYPES {
        for (seed, (pattern, shape, axes)) in (0..).zip(SMALL) {
            if (0..shape.len()).any(|i| axes >> i & 1 == 1 && shape[i] == 0) {
                continue;
            }
            for values in [Values::Any, Values::Few] {
                for max in [false, true] {
                    let name = format!(
                        "arg/{}/{dtype}/{}/{shape:?}/axes{axes:#b}/{values:?}",
                        if max { "max" } else { "min" },
                        pattern.name()
                    );
                    let form = Form::Arg { max, axes };
                    let job = one_form(form, pattern.input(dtype, shape, 1), axes, values, seed);
                    suite.judge(name, &job, Closeness::Bits);
                }
            }
        }
    }
    for op in OPS {
        for dtype in ALL_DTYPES.into_iter().filter(|&d| exists(op, d)) {
            scans(suite, op, dtype);
        }
    }
}

fn scans(suite: &mut Suite<'_>, op: ReduceOp, dtype: DType) {
    let cases: [(Pattern, &[usize], u8); 8] = [
        (Pattern::Contiguous, &[1037], 0),
        (Pattern::Contiguous, &[9, 17], 0),
        (Pattern::Contiguous, &[9, 17], 1),
        (Pattern::Strided, &[5, 6, 7], 1),
        (Pattern::Reversed, &[9, 17], 0),
        (Pattern::Broadcast, &[9, 17], 0),
        (Pattern::Contiguous, &[0, 4], 0),
        (Pattern::Unaligned, &[67], 0),
    ];
    for (seed, (pattern, shape, axis)) in (0..).zip(cases) {
        for values in [Values::Any, Values::Tame] {
            let form = Form::Scan { op, axis };
            let job = one_form(form, pattern.input(dtype, shape, 0), 0, values, seed);
            let name = format!(
                "scan/{op:?}/{dtype}/{}/{shape:?}/axis{axis}/{values:?}",
                pattern.name()
            );
            suite.judge(name, &job, closeness(op));
        }
    }
}

/// A kernel that hands its only operand to a form; `axes` are those that the result lacks.
fn one_form(form: Form, input: Layout, axes: AxisMask, values: Values, seed: u64) -> Job {
    let (dtype, shape) = (input.dtype, input.shape.clone());
    let mut b = Builder::new();
    let x = b.input(0, dtype);
    let kernel = table::kernel(b, &[(x.0, form)], &[dtype], shape.len());
    let out = folded(&input, axes, kernel.output_dtype(0));
    Job::new(
        kernel,
        &shape,
        vec![Input::random(input, seed, values)],
        vec![out],
    )
}
