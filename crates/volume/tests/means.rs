//! Means of integers are exact sums, divided and rounded once, half to even.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{Correlate, Linear, LinearAxis, Neighbourhood, Rank, WindowAxis};
use arrayloom_volume::{Ctx, Meter, Mode, Op, View, ViewMut};

const SHAPE: [i64; 2] = [19, 70];

const DTYPES: [DType; 9] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::U32,
    DType::I32,
    DType::U64,
    DType::I64,
];

/// Elements of this dtype, near each other and far from zero where they have room.
fn numbers(dtype: DType) -> Vec<i128> {
    let base = match dtype {
        DType::U64 => i128::from(u64::MAX) - 4000,
        DType::I64 => -1_700_000_000_000_000_000,
        DType::I32 => i128::from(i32::MIN),
        DType::U32 => 4_000_000_000,
        DType::I8 | DType::I16 => -100,
        _ => 0,
    };
    let most = match dtype {
        DType::Bool => 2,
        DType::U8 | DType::I8 => 200,
        _ => 3001,
    };
    let each = 0..SHAPE[0] * SHAPE[1];
    each.map(|i| base + i128::from((i * i * 48_271 + i / 7) % most))
        .collect()
}

fn bytes(dtype: DType, numbers: &[i128]) -> Vec<u8> {
    let each = numbers.iter();
    each.flat_map(|v| v.to_le_bytes()[..dtype.size()].to_vec())
        .collect()
}

fn run(op: &dyn Op, dtype: DType, data: &[u8]) -> Vec<u8> {
    let whole = Region::whole(&SHAPE);
    let ctx = Ctx {
        threads: 1,
        meter: Meter::new(1 << 30),
    };
    let view = View {
        region: &whole,
        shape: &SHAPE,
        dtype,
        data,
    };
    let mut out = vec![0; usize::try_from(whole.voxels()).unwrap() * op.dtype().size()];
    let to = ViewMut {
        region: &whole,
        dtype: op.dtype(),
        data: &mut out,
    };
    op.run(&ctx, &[view], to).unwrap();
    out
}

/// The means over windows of these extents of the points that `mask` has.
fn means(numbers: &[i128], lens: [i64; 2], mode: Mode, mask: &[bool]) -> Vec<i128> {
    let at = |d: usize, i: i64| match mode {
        Mode::Nearest => Some(i.clamp(0, SHAPE[d] - 1)),
        _ => (0..SHAPE[d]).contains(&i).then_some(i),
    };
    let mut means = Vec::new();
    for y in 0..SHAPE[0] {
        for x in 0..SHAPE[1] {
            let places = (0..lens[0]).flat_map(|i| (0..lens[1]).map(move |j| (i, j)));
            let there = places
                .zip(mask)
                .filter(|(_, m)| **m)
                .filter_map(|((i, j), _)| {
                    let place = at(0, y + i - lens[0] / 2).zip(at(1, x + j - lens[1] / 2));
                    match (place, mode) {
                        (Some((y, x)), _) => {
                            Some(numbers[usize::try_from(y * SHAPE[1] + x).unwrap()])
                        }
                        #[expect(clippy::cast_possible_truncation, reason = "a whole number")]
                        (None, Mode::Constant(value)) => Some(value as i128),
                        (None, _) => None,
                    }
                });
            let (sum, n) = there.fold((0, 0), |(sum, n), v| (sum + v, n + 1));
            let (down, rest) = (i128::div_euclid(sum, n), 2 * sum.rem_euclid(n));
            means.push(down + i128::from(rest > n || rest == n && down % 2 != 0));
        }
    }
    means
}

/// The dtype of means.
fn result_of(dtype: DType) -> DType {
    match dtype {
        DType::Bool => DType::U8,
        other => other,
    }
}

fn over_box(lens: [i64; 2], mode: Mode, out: DType) -> Linear {
    let axis = |(axis, &len): (usize, &i64)| LinearAxis {
        axis,
        taps: vec![1.0 / f64::from(i32::try_from(len).unwrap()); usize::try_from(len).unwrap()],
        derive: Vec::new(),
        before: len / 2,
        mode,
    };
    let axes = lens.iter().enumerate().map(axis).collect();
    Linear::new(2, axes, out).unwrap()
}

fn over_footprint(lens: [i64; 2], mask: &[bool], mode: Mode, out: DType) -> Correlate {
    let axes = lens.map(|len| WindowAxis {
        len: usize::try_from(len).unwrap(),
        before: len / 2,
        mode,
    });
    let window = Neighbourhood::new(axes.to_vec(), mask).unwrap();
    let points = mask.iter().filter(|&&there| there).count();
    let share = 1.0 / f64::from(i32::try_from(points).unwrap());
    Correlate::new(window, vec![share; points], out).unwrap()
}

#[test]
fn small_numbers_have_the_same_means_beside_large_ones() {
    let voxels = i128::from(SHAPE[0] * SHAPE[1]);
    let mask = [true, false, true, true, true, false];
    for (dtype, least) in [(DType::U64, 0), (DType::I64, -50)] {
        let small: Vec<i128> = (0..voxels).map(|i| i * i % 101 + least).collect();
        let mut mixed = small.clone();
        mixed[small.len() - 1] = 1 << 62;
        let [small, mixed] = [small, mixed].map(|numbers| bytes(dtype, &numbers));
        for out in [dtype, DType::F64, DType::F32] {
            let ops: [Box<dyn Op>; 2] = [
                Box::new(over_box([3, 25], Mode::Nearest, out)),
                Box::new(over_footprint([2, 3], &mask, Mode::Renormalize, out)),
            ];
            for op in ops {
                // The large number is in no window of these rows.
                let rows = 10 * usize::try_from(SHAPE[1]).unwrap() * out.size();
                let [found, other] = [&small, &mixed].map(|data| run(&*op, dtype, data));
                assert!(found[..rows] == other[..rows], "{dtype} {out}");
            }
        }
    }
}

#[test]
fn means_over_boxes_are_rounded_once() {
    for dtype in DTYPES {
        let out = result_of(dtype);
        let numbers = numbers(dtype);
        let data = bytes(dtype, &numbers);
        let inside = numbers[numbers.len() - 1];
        for lens in [[1, 6], [2, 3], [13, 4], [3, 25], [5, 1]] {
            let constant = i32::try_from(inside).map_or(3.0, f64::from);
            for mode in [Mode::Nearest, Mode::Constant(constant)] {
                let op = over_box(lens, mode, out);
                let all = vec![true; usize::try_from(lens[0] * lens[1]).unwrap()];
                let wanted = bytes(out, &means(&numbers, lens, mode, &all));
                assert!(
                    run(&op, dtype, &data) == wanted,
                    "{dtype} {lens:?} {mode:?}"
                );
            }
        }
    }
}

#[test]
fn means_over_footprints_are_rounded_once() {
    for dtype in DTYPES {
        let out = result_of(dtype);
        let numbers = numbers(dtype);
        let data = bytes(dtype, &numbers);
        for mode in [Mode::Nearest, Mode::Constant(7.0), Mode::Renormalize] {
            let (lens, mask) = ([3, 4], [0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0].map(|m| m > 0));
            let op = over_footprint(lens, &mask, mode, out);
            let wanted = bytes(out, &means(&numbers, lens, mode, &mask));
            assert!(run(&op, dtype, &data) == wanted, "{dtype} {mode:?}");
        }
    }
}

#[test]
fn windows_without_points_have_a_mean_of_zero() {
    let axis = WindowAxis {
        len: 3,
        before: 1,
        mode: Mode::Renormalize,
    };
    let mut mask = [false; 9];
    mask[0] = true;
    for (dtype, out) in DTYPES.map(|dtype| (dtype, DType::F32)) {
        let window = Neighbourhood::new(vec![axis; 2], &mask).unwrap();
        let op = Correlate::new(window, vec![1.0], out).unwrap();
        let found = run(&op, dtype, &bytes(dtype, &numbers(dtype)));
        assert_eq!(found[..4], 0f32.to_ne_bytes(), "{dtype}");
    }
}

#[test]
fn ranks_of_clipped_windows_are_in_proportion_and_medians_in_the_middle() {
    let axis = |len, mode| WindowAxis {
        len,
        before: i64::try_from(len / 2).unwrap(),
        mode,
    };
    let axes = vec![axis(1, Mode::Nearest), axis(3, Mode::Renormalize)];
    let window = || Neighbourhood::new(axes.clone(), &[true; 3]).unwrap();
    let data: Vec<u8> = (0..SHAPE[0] * SHAPE[1])
        .map(|i| [5, 1, 9, 2][usize::try_from(i % 4).unwrap()])
        .collect();
    let rank = Rank::new(window(), 1, DType::U8).unwrap();
    assert_eq!(run(&rank, DType::U8, &data)[..4], [1, 5, 2, 5]);
    let median = Rank::new(window(), 1, DType::U8).unwrap().of_percent(50.0);
    assert_eq!(run(&median, DType::U8, &data)[..4], [5, 5, 2, 5]);
}
