//! Passes along the last axis, whose windows GPUs read from local memory, beside the text of other devices: the same
//! bits for lines of any length, wherever windows are cut.

use crate::{Shim, TARGET, compiled};
use arrayloom_codegen::{Form, Target, operation};
use arrayloom_device::{
    Device as _, End, ExtCall, FILTER_PASS, FilterPass, Fold, Keys, Queue, Spread, Tensor,
};
use arrayloom_types::DType::{self, F16, F32, F64, I8, I16, I32, I64, U16, U32, U64};
use arrayloom_types::{Kind, Layout};

/// The most points of windows where lines have rows before and behind their outputs, and where they have none.
const MOST: [u32; 2] = [65, 129];

/// Lines, and outputs of each: more than a group has, in whole items.
const LONG: [usize; 2] = [3, 516];

/// What there is beyond the ends of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// Rows.
    Rows,
    /// Its first row, and its last one.
    Nearest,
    /// Nothing, and a number for it.
    Missing,
    /// Some rows before, and nothing behind.
    Later,
}

/// A pass with the dtypes of voxels, arithmetic and results.
type Case = (FilterPass, [DType; 3]);

fn cases() -> Vec<Case> {
    let pass = |fold: Fold, channels: [u8; 2], dtypes: [DType; 3]| {
        let pass = FilterPass {
            channels,
            ..FilterPass::new(fold, 1)
        };
        (pass, dtypes)
    };
    let keyed = |keys: Keys, (pass, dtypes): Case| {
        let keys = [keys; 2];
        (FilterPass { keys, ..pass }, dtypes)
    };
    let mean = |(pass, dtypes): Case| {
        let points = 27.0;
        (FilterPass { points, ..pass }, dtypes)
    };
    let spread = |spread: Spread, (pass, dtypes): Case| {
        let (spread, given) = (Some(spread), [0.25, 3.0]);
        let pass = FilterPass {
            spread,
            given,
            ..pass
        };
        (pass, dtypes)
    };
    vec![
        pass(Fold::Weights, [1, 1], [F32; 3]),
        pass(Fold::Weights, [1, 1], [U16, F64, I32]),
        pass(Fold::Weights, [1, 1], [I8, F32, F32]),
        pass(Fold::Odd, [1, 1], [F16, F32, F16]),
        pass(Fold::Odd, [1, 1], [F64; 3]),
        pass(Fold::Laplacian, [1, 2], [I16, F32, F32]),
        pass(Fold::Laplacian, [2, 2], [F64; 3]),
        pass(Fold::Laplacian, [2, 1], [F32, F32, I32]),
        keyed(Keys::Highest, pass(Fold::Least, [1, 1], [F32, U32, F32])),
        keyed(Keys::Lowest, pass(Fold::Least, [1, 1], [I64, U64, I64])),
        keyed(Keys::Rising, pass(Fold::Range, [1, 2], [F16, U16, F16])),
        keyed(Keys::Rising, pass(Fold::Range, [2, 1], [U32; 3])),
        pass(Fold::Sum, [1, 1], [I32; 3]),
        pass(Fold::Sum, [1, 2], [I64, U64, U64]),
        mean(pass(Fold::Sum, [1, 1], [I16, I32, F32])),
        mean(pass(Fold::Sum, [2, 1], [U64, U64, I64])),
        pass(Fold::Squares, [1, 2], [U16, F64, F64]),
        spread(
            Spread::Sauvola,
            mean(pass(Fold::Squares, [2, 1], [F64, F64, F32])),
        ),
        pass(Fold::Moments, [1, 3], [F32, F64, F64]),
        spread(
            Spread::Deviation,
            pass(Fold::Moments, [2, 1], [F64, F64, F32]),
        ),
        spread(Spread::Wiener, pass(Fold::Moments, [3, 1], [F64; 3])),
    ]
}

/// Bytes that look random: finite numbers, if they are floats.
fn bytes(dtype: DType, count: usize) -> Vec<u8> {
    let size = dtype.size();
    let byte = |at: usize| at.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()[6];
    let finite = |at: usize| match at % size + 1 {
        last if last == size && dtype.kind() == Kind::Float => byte(at) & 0xbf,
        _ => byte(at),
    };
    (0..count * size).map(finite).collect()
}

/// A small number in this dtype.
fn number(dtype: DType, value: u8) -> Vec<u8> {
    match dtype {
        F32 => f32::from(value).to_le_bytes().to_vec(),
        F64 => f64::from(value).to_le_bytes().to_vec(),
        _ => u64::from(value).to_le_bytes()[..dtype.size()].to_vec(),
    }
}

/// What missing voxels add in list `list`.
fn bias(fold: Fold, work: DType, list: usize) -> Vec<u8> {
    let own = match (fold, list) {
        (Fold::Least | Fold::Range, _) => [u8::MAX, 0, 0],
        (Fold::Moments, 0) => [0, 0, 1],
        (Fold::Moments, _) => [9, 2, 1],
        (_, 0) => [0; 3],
        _ => [3, 5, 0],
    };
    let number = |&value: &u8| match value {
        u8::MAX => vec![u8::MAX; work.size()],
        _ => number(work, value),
    };
    let own = own[..fold.numbers(work)].iter();
    own.flat_map(number).collect()
}

/// The numbers of a pass over such lines; results are missing.
fn operands(
    (pass, [from, work, _]): Case,
    [outer, length]: [usize; 2],
    ends: Ends,
) -> Vec<(Layout, Vec<u8>)> {
    let taps = pass.taps as usize;
    let (before, rows) = match ends {
        Ends::Rows => (0, length + taps - 1),
        Ends::Nearest | Ends::Missing => (pass.before.cast_signed(), length),
        Ends::Later => (-3, length),
    };
    let last = i32::try_from(rows).unwrap() - 1;
    let row = |at: i32| match at - before {
        row if ends == Ends::Nearest => row.clamp(0, last),
        row if row <= last => row.max(-1),
        _ => -1,
    };
    let index: Vec<i32> = (0..).take(length + taps - 1).map(row).collect();
    let mut lists = 1;
    let start = index.windows(taps).map(|window| {
        if window.contains(&-1) {
            lists += 1;
            return -lists;
        }
        let follow = window.windows(2).all(|w| w[0] + 1 == w[1]);
        if follow { window[0] } else { -1 }
    });
    let start: Vec<i32> = start.collect();
    let lists = usize::try_from(lists).unwrap();
    let table = |list: &[i32]| -> Vec<u8> { list.iter().flat_map(|n| n.to_le_bytes()).collect() };
    let weighted = pass.fold.is_weighted();
    let weights = pass.fold.numbers(work) * lists * taps;
    let bias: Vec<u8> = (0..lists).flat_map(|n| bias(pass.fold, work, n)).collect();
    let voxels = [usize::from(pass.channels[0]) * outer, rows, 1];
    let mut all = vec![
        (from, voxels.to_vec(), bytes(from, voxels.iter().product())),
        (I32, vec![length], table(&start)),
        (I32, vec![index.len()], table(&index)),
    ];
    all.extend(weighted.then(|| (work, vec![weights], bytes(work, weights))));
    all.push((work, vec![bias.len() / work.size()], bias));
    let packed = all.into_iter();
    packed
        .map(|(dtype, shape, bytes)| (Layout::contiguous(dtype, &shape), bytes))
        .collect()
}

/// What a pass gives on `target`, and whether it reads windows from local memory.
fn found(
    device: &Shim,
    (pass, [_, _, to]): Case,
    [outer, length]: [usize; 2],
    operands: &[(Layout, Vec<u8>)],
    target: Target,
) -> (Vec<u8>, bool) {
    let placed = |layout: &Layout, bytes: &[u8]| {
        let buf = device.alloc(bytes.len() as u64).unwrap();
        let host = End::Host(bytes.as_ptr().cast_mut());
        let count = bytes.len() as u64;
        device
            .copy(Queue(0), End::Dev(buf, 0), host, count)
            .unwrap();
        let layout = layout.clone();
        Tensor { buf, layout }
    };
    let ins: Vec<Tensor> = operands.iter().map(|(l, b)| placed(l, b)).collect();
    let shape = [usize::from(pass.channels[1]) * outer, length, 1];
    let result = Layout::contiguous(to, &shape);
    let mut bytes = vec![0xcd; result.len() * to.size()];
    let outs = [placed(&result, &bytes)];
    let call = ExtCall {
        name: FILTER_PASS,
        outs: &outs,
        ins: &ins,
        attrs: &pass.attrs(),
    };
    let made = operation(&call, target).unwrap();
    device
        .run_steps(&made.steps, (&made.ins, &made.outs))
        .unwrap();
    let (back, count) = (End::Host(bytes.as_mut_ptr()), bytes.len() as u64);
    device
        .copy(Queue(0), back, End::Dev(outs[0].buf, 0), count)
        .unwrap();
    for tensor in ins.iter().chain(&outs) {
        device.free(tensor.buf);
    }
    let tiled = matches!(made.steps.list[0].entry.form, Form::Tile(_));
    (bytes, tiled)
}

/// Runs a case with and without local memory.
fn both(device: &Shim, case: Case, lines: [usize; 2], ends: Ends) {
    let operands = operands(case, lines, ends);
    let (tile, tiled) = found(device, case, lines, &operands, TARGET);
    let cores = Target {
        cores: true,
        ..TARGET
    };
    let (other, never) = found(device, case, lines, &operands, cores);
    let what = format!("{case:?}, {lines:?}, {ends:?}");
    assert!(tile == other && !never, "{what}");
    if lines == LONG {
        let (pass, [from, ..]) = case;
        let fits = pass.taps <= MOST[usize::from(ends != Ends::Rows)];
        assert_eq!(tiled, fits && from.size() > 1, "{what}");
    }
}

/// Runs all cases.
fn all(device: &Shim) {
    let most = MOST.into_iter().flat_map(|most| [most, most + 1]);
    for (taps, (pass, dtypes)) in [1, 2, 3, 8]
        .into_iter()
        .chain(most)
        .flat_map(|taps| cases().into_iter().map(move |case| (taps, case)))
    {
        // Mirror images have a middle.
        let taps = taps | u32::from(pass.fold == Fold::Odd);
        let before = taps / 2;
        let pass = FilterPass {
            taps,
            before,
            ..pass
        };
        for lines in [[1, 3], [75, 28], [3, 506], LONG] {
            for ends in [Ends::Rows, Ends::Nearest, Ends::Missing, Ends::Later] {
                both(device, (pass, dtypes), lines, ends);
            }
        }
    }
}

#[test]
fn tiles() {
    let noting = Shim::new(None);
    all(&noting);
    let entries = noting.wanted.into_inner().unwrap();
    all(&Shim::new(Some(compiled(&entries, "tiles"))));
}
