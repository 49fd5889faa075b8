//! Element-wise cases: primitives, conversions, operations, in-place results.

use super::Suite;
use super::compare::Closeness;
use super::data::{Rng, Values, element};
use super::exec::{Input, Job};
use super::place::{PATTERNS, Pattern};
use super::table::{self, Loop};
use arrayloom_ir::{Builder, Form, Prim, ops};
use arrayloom_types::{ALL_DTYPES, DType, Layout};

/// The values that operand number `nth` of a primitive gets.
fn values(l: &Loop, nth: usize) -> Values {
    let whole = l.ins[nth].is_integer();
    match l.prim {
        Prim::Pow if whole && nth == 1 => Values::Whole(0, 9),
        // A huge exponent leaves a complex power no direction: systems give numbers, endless ones or none.
        Prim::Pow if l.ins[nth].is_complex() && nth == 1 => Values::Exponent,
        Prim::Shl | Prim::Shr if nth == 1 => Values::Whole(0, 70),
        Prim::Ldexp if nth == 1 => Values::Whole(-40, 40),
        _ => Values::Any,
    }
}

/// A case of one primitive.
pub(super) fn job(l: &Loop, pattern: Pattern, seed: u64) -> Job {
    let shape = pattern.shape();
    let last = l.ins.len() - 1;
    let ins = l.ins.iter().enumerate().map(|(nth, &dtype)| {
        let seed = seed * 7 + nth as u64;
        let values = values(l, nth);
        if pattern == Pattern::Scalar && nth == last {
            return Input::Scalar(element(dtype, &mut Rng::new(seed), values));
        }
        Input::random(pattern.input(dtype, &shape, nth), seed, values)
    });
    let outs = vec![pattern.output(l.out, &shape)];
    Job::new(l.kernel(shape.len()), &shape, ins.collect(), outs)
}

/// Every primitive over its dtypes and every layout.
pub(super) fn primitives(suite: &mut Suite<'_>) {
    for (number, l) in (0..).zip(&table::loops()) {
        for (at, pattern) in (0..).zip(PATTERNS) {
            let name = format!("map/{}/{}/{}", l.prim.name(), l.dtypes(), pattern.name());
            let job = job(l, pattern, number * 16 + at);
            suite.judge(name, &job, Closeness::of(l.prim, l.ins[0]));
        }
    }
    index_and_constant(suite);
    for (number, dtype) in (0..).zip(ALL_DTYPES) {
        for shape in [[5, 13], [3, 700], [1, 2000]] {
            let job = table_job(dtype, shape, number);
            let name = format!("map/Gather/{dtype}/{shape:?}");
            suite.judge(name, &job, Closeness::Bits);
        }
    }
}

/// Elements of a matrix by number of the row, every other column.
fn table_job(dtype: DType, shape: [usize; 2], seed: u64) -> Job {
    let (rows, size) = (7, dtype.size().cast_signed());
    let columns = 2 * shape[1];
    let mut b = Builder::new();
    let index = b.input(0, DType::I64);
    let step = (columns * dtype.size()).cast_signed();
    let step = b.constant(DType::I64, f64::from(i32::try_from(step).unwrap_or(0)));
    let bytes = b.bin(Prim::Mul, index, step);
    let value = b.gather(bytes, 1, dtype);
    let ins = [DType::I64, dtype];
    let kernel = table::kernel(b, &[(value.0, Form::Store)], &ins, 2);
    let whole = Layout::contiguous(dtype, &[rows, columns]);
    let Input::View(_, block) = Input::random(whole, seed, Values::Any) else {
        return Job::new(kernel, &shape, Vec::new(), Vec::new());
    };
    let walk = Layout {
        dtype,
        offset: 0,
        shape: shape.as_slice().into(),
        strides: [0, 2 * size].as_slice().into(),
    };
    let index = Layout::contiguous(DType::I64, &shape);
    let numbers = Input::random(index, seed + 50, Values::Whole(0, 6));
    let outs = vec![Layout::contiguous(dtype, &shape)];
    Job::new(
        kernel,
        &shape,
        vec![numbers, Input::View(walk, block)],
        outs,
    )
}

/// `Iota` and `Const`, which read no operand.
fn index_and_constant(suite: &mut Suite<'_>) {
    for pattern in PATTERNS {
        let shape = pattern.shape();
        for axis in 0..shape.len() {
            let mut b = Builder::new();
            let index = b.iota(u32::try_from(axis).unwrap_or(0));
            let kernel = table::kernel(b, &[(index.0, Form::Store)], &[], shape.len());
            let outs = vec![pattern.output(DType::I64, &shape)];
            let name = format!("map/Iota/axis{axis}/{}", pattern.name());
            suite.judge(
                name,
                &Job::new(kernel, &shape, vec![], outs),
                Closeness::Bits,
            );
        }
        for dtype in ALL_DTYPES {
            let mut b = Builder::new();
            let three = b.constant(dtype, 3.0);
            let kernel = table::kernel(b, &[(three.0, Form::Store)], &[], shape.len());
            let outs = vec![pattern.output(dtype, &shape)];
            let name = format!("map/Const/{dtype}/{}", pattern.name());
            suite.judge(
                name,
                &Job::new(kernel, &shape, vec![], outs),
                Closeness::Bits,
            );
        }
    }
}

/// Every conversion over every layout.
pub(super) fn casts(suite: &mut Suite<'_>) {
    for (number, from) in (0..).zip(ALL_DTYPES) {
        for to in ALL_DTYPES {
            let l = Loop {
                prim: Prim::Cast,
                ins: vec![from],
                out: to,
            };
            for pattern in PATTERNS {
                let rounded = from.is_float() || from.is_complex();
                let values = if rounded && to.is_integer() {
                    Values::Within(to)
                } else {
                    Values::Any
                };
                let mut job = job(&l, pattern, number);
                if let Input::View(layout, _) = &job.ins[0] {
                    job.ins[0] = Input::random(layout.clone(), number, values);
                }
                let name = format!("casts/{}/{}", l.dtypes(), pattern.name());
                suite.judge(name, &job, Closeness::Bits);
            }
        }
    }
}

/// The body of every operation, then large and threaded launches.
pub(super) fn operations(suite: &mut Suite<'_>) {
    for op in ops::all() {
        for (number, sig) in (0..).zip(op.signatures()) {
            let shape = Pattern::Strided.shape();
            let kernel = table::body(op, &sig.ins, shape.len());
            let exact = kernel.code.iter().all(|ins| {
                let operand = table::operands(ins)
                    .first()
                    .map(|&v| kernel.code[v as usize].dtype);
                operand.is_none_or(|d| Closeness::of(ins.prim, d) == Closeness::Bits)
            });
            if !exact {
                continue;
            }
            let shifts = kernel
                .code
                .iter()
                .any(|i| matches!(i.prim, Prim::Shl | Prim::Shr));
            let powers = kernel.code.iter().any(|i| i.prim == Prim::Pow);
            let ins = sig.ins.iter().enumerate().map(|(nth, &dtype)| {
                let values = match nth {
                    1 if powers => Values::Whole(0, 9),
                    1 if shifts => Values::Whole(0, 70),
                    _ => Values::Any,
                };
                Input::random(
                    Pattern::Strided.input(dtype, &shape, nth),
                    number * 3 + nth as u64,
                    values,
                )
            });
            let outs = sig.outs.iter().map(|&d| Layout::contiguous(d, &shape));
            let job = Job::new(kernel, &shape, ins.collect(), outs.collect());
            let dtypes: Vec<&str> = sig.ins.iter().map(|d| d.name()).collect();
            suite.judge(
                format!("ops/{}/{}", op.name, dtypes.join("-")),
                &job,
                Closeness::Bits,
            );
        }
    }
    large(suite);
}

/// A sum of two operands.
pub(super) fn addition(dtype: DType) -> Loop {
    Loop {
        prim: Prim::Add,
        ins: vec![dtype; 2],
        out: dtype,
    }
}

/// Sizes around the borders of tiles, rows and threads.
fn large(suite: &mut Suite<'_>) {
    let shapes: [&[usize]; 7] = [
        &[1023],
        &[1024],
        &[1025],
        &[70_001],
        &[3, 5_003],
        &[5_003, 3],
        &[2, 3, 1, 2, 65],
    ];
    for dtype in [DType::F32, DType::F64, DType::I16, DType::Bool] {
        let l = addition(dtype);
        for (seed, shape) in (0..).zip(shapes) {
            for pattern in [Pattern::Contiguous, Pattern::Broadcast, Pattern::Permuted] {
                let place = |nth| pattern.input(dtype, shape, nth);
                let ins =
                    [0, 1].map(|nth| Input::random(place(nth), seed + nth as u64, Values::Any));
                let outs = vec![Layout::contiguous(dtype, shape)];
                let job = Job::new(l.kernel(shape.len()), shape, ins.to_vec(), outs);
                let name = format!("ops/large/{dtype}/{shape:?}/{}", pattern.name());
                suite.judge(name, &job, Closeness::Bits);
            }
        }
    }
}

/// Results that lie on an operand, element on element.
pub(super) fn in_place(suite: &mut Suite<'_>) {
    let patterns = [
        Pattern::Contiguous,
        Pattern::Strided,
        Pattern::Reversed,
        Pattern::Permuted,
        Pattern::Unaligned,
    ];
    for (number, l) in (0..).zip(&table::loops()) {
        if l.prim.arity() == arrayloom_ir::Arity::Ternary {
            continue;
        }
        for pattern in patterns {
            for nth in 0..l.ins.len() {
                if l.ins[nth] != l.out {
                    continue;
                }
                let mut job = job(l, pattern, number);
                job.on_top[0] = Some(nth);
                let name = format!(
                    "in_place/{}/{}/{}/on{nth}",
                    l.prim.name(),
                    l.dtypes(),
                    pattern.name()
                );
                suite.judge(name, &job, Closeness::of(l.prim, l.ins[0]));
            }
        }
    }
    two_results(suite);
}

/// `x, y = x + y, x - y`, both in place: every operand is read before it is overwritten.
fn two_results(suite: &mut Suite<'_>) {
    for dtype in [DType::F32, DType::F64, DType::I32, DType::U8, DType::C128] {
        for (shape, pattern) in [
            (vec![10_007], Pattern::Contiguous),
            (vec![41, 67], Pattern::Strided),
            (vec![41, 67], Pattern::Reversed),
        ] {
            let mut b = Builder::new();
            let (x, y) = (b.input(0, dtype), b.input(1, dtype));
            let (sum, difference) = (b.bin(Prim::Add, x, y), b.bin(Prim::Sub, x, y));
            let outs = [(sum.0, Form::Store), (difference.0, Form::Store)];
            let kernel = table::kernel(b, &outs, &[dtype; 2], shape.len());
            let layout = pattern.output(dtype, &shape);
            let ins = [1, 2].map(|seed| Input::random(layout.clone(), seed, Values::Tame));
            let mut job = Job::new(kernel, &shape, ins.to_vec(), vec![layout.clone(), layout]);
            job.on_top = vec![Some(0), Some(1)];
            let name = format!("in_place/two/{dtype}/{}", pattern.name());
            suite.judge(name, &job, Closeness::Bits);
        }
    }
}
