//! Long windows, which are joined from boxes, against every window read point by point.
#![expect(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    reason = "a failing test says where"
)]

use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{
    BoxExtremum, Extremum, Linear, LinearAxis, Neighbourhood, Rank, Statistic, WindowAxis, local,
};
use arrayloom_volume::{Ctx, Meter, Mode, Op, View, ViewMut};
use std::sync::Arc;

const MODES: [Mode; 6] = [
    Mode::Reflect,
    Mode::Mirror,
    Mode::Nearest,
    Mode::Wrap,
    Mode::Constant(2.0),
    Mode::Renormalize,
];

/// Volumes, and windows of which one is long: along the last axis, across rows of all lengths, in lines that are
/// stacked, beyond the axis.
/// Scans take rows of 32 elements and more: of several strips, with a pass along lines behind them and without.
const CASES: [(&[i64], &[usize]); 14] = [
    (&[300], &[64]),
    (&[9000], &[127]),
    (&[150, 3], &[100, 1]),
    (&[120, 40], &[70, 3]),
    (&[30, 200], &[2, 65]),
    (&[90, 300], &[71, 66]),
    (&[40, 30, 20], &[1, 1, 67]),
    (&[3, 80, 5], &[2, 99, 1]),
    (&[5, 7], &[1, 130]),
    (&[700, 3], &[1100, 1]),
    (&[60, 9, 40], &[50, 1, 1]),
    (&[50, 6, 40], &[55, 2, 3]),
    (&[4, 12_000], &[60, 1]),
    (&[40, 50, 32], &[60, 55, 1]),
];

fn values(shape: &[i64]) -> Vec<f64> {
    let voxels = usize::try_from(shape.iter().product::<i64>()).unwrap();
    let value = |i: usize| ((i * i * 48_271 + i / 7) % 251) as f64 - 20.0;
    (0..voxels).map(value).collect()
}

fn axes(lens: &[usize], mode: Mode) -> Vec<WindowAxis> {
    let axis = |&len: &usize| WindowAxis {
        len,
        before: i64::try_from(len / 3).unwrap(),
        mode,
    };
    lens.iter().map(axis).collect()
}

fn mean_of(lens: &[usize], mode: Mode, out: DType) -> Linear {
    let axis = |(axis, w): (usize, WindowAxis)| LinearAxis {
        axis,
        taps: vec![1.0 / w.len as f64; w.len],
        derive: Vec::new(),
        before: w.before,
        mode,
    };
    let axes = axes(lens, mode).into_iter().enumerate().map(axis);
    Linear::new(lens.len(), axes.collect(), out).unwrap()
}

fn spread_of(lens: &[usize], mode: Mode) -> Arc<dyn Op> {
    let all = vec![true; lens.iter().product()];
    let window = Neighbourhood::new(axes(lens, mode), &all).unwrap();
    local(window, Statistic::Variance, DType::F64).unwrap()
}

fn run(op: &dyn Op, shape: &[i64], values: &[f64], dtype: DType, threads: usize) -> Vec<f64> {
    let whole = Region::whole(shape);
    run_box(op, shape, (values, dtype), threads, (&whole, &whole))
}

/// The results in a box, of the values in another one.
fn run_box(
    op: &dyn Op,
    shape: &[i64],
    (values, dtype): (&[f64], DType),
    threads: usize,
    (held, region): (&Region, &Region),
) -> Vec<f64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "small whole numbers"
    )]
    let data: Vec<u8> = match dtype {
        DType::F32 => values
            .iter()
            .flat_map(|v| (*v as f32).to_le_bytes())
            .collect(),
        DType::U16 => values
            .iter()
            .flat_map(|v| ((*v + 20.0) as u16).to_le_bytes())
            .collect(),
        _ => values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    };
    let ctx = Ctx {
        threads,
        meter: Meter::new(1 << 30),
    };
    let view = View {
        region: held,
        shape,
        dtype,
        data: &data,
    };
    let voxels: i64 = (0..shape.len())
        .map(|d| region.hi[d] - region.lo[d])
        .product();
    let mut out = vec![0; usize::try_from(voxels).unwrap() * op.dtype().size()];
    let to = ViewMut {
        region,
        dtype: op.dtype(),
        data: &mut out,
    };
    op.run(&ctx, &[view], to).unwrap();
    match op.dtype() {
        DType::F32 => {
            let words = out.as_chunks().0.iter();
            words.map(|&b| f64::from(f32::from_le_bytes(b))).collect()
        }
        _ => out
            .as_chunks()
            .0
            .iter()
            .map(|&b| f64::from_le_bytes(b))
            .collect(),
    }
}

/// The coordinate whose value stands at `at` of an axis of `n` points.
fn place(mode: Mode, at: i64, n: i64) -> Option<i64> {
    match mode {
        Mode::Reflect => {
            let at = at.rem_euclid(2 * n);
            Some(at.min(2 * n - 1 - at))
        }
        Mode::Mirror => {
            let turn = (2 * n - 2).max(1);
            let at = at.rem_euclid(turn);
            Some(at.min(turn - at))
        }
        Mode::Nearest => Some(at.clamp(0, n - 1)),
        Mode::Wrap => Some(at.rem_euclid(n)),
        _ => (0..n).contains(&at).then_some(at),
    }
}

/// What `of` gives of the values of each window along axis `d`; those that are not there are constants or left out.
fn along(
    (shape, d): (&[i64], usize),
    values: &[f64],
    axis: WindowAxis,
    of: &dyn Fn(&[f64]) -> f64,
) -> Vec<f64> {
    let step = shape[d + 1..].iter().product::<i64>();
    let n = shape[d];
    let each = 0..i64::try_from(values.len()).unwrap();
    let window = |i: i64| {
        let at = i / step % n;
        let points = at - axis.before..at - axis.before + i64::try_from(axis.len).unwrap();
        let value = |p: i64| match (place(axis.mode, p, n), axis.mode) {
            (Some(p), _) => Some(values[usize::try_from(i + (p - at) * step).unwrap()]),
            (None, Mode::Constant(value)) => Some(value),
            _ => None,
        };
        of(&points.filter_map(value).collect::<Vec<_>>())
    };
    each.map(window).collect()
}

fn separable(
    (shape, lens, mode): (&[i64], &[usize], Mode),
    values: &[f64],
    of: &dyn Fn(&[f64]) -> f64,
) -> Vec<f64> {
    let axes = axes(lens, mode).into_iter().enumerate();
    axes.fold(values.to_vec(), |values, (d, axis)| {
        along((shape, d), &values, axis, of)
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn cases() -> impl Iterator<Item = (&'static [i64], &'static [usize], Mode)> {
    let each = CASES.into_iter();
    each.flat_map(|(shape, lens)| MODES.map(|mode| (shape, lens, mode)))
}

#[test]
fn ends_of_long_windows_are_found() {
    for (shape, lens, mode) in cases() {
        let values = values(shape);
        let least = |values: &[f64]| values.iter().copied().fold(f64::INFINITY, f64::min);
        let wanted = separable((shape, lens, mode), &values, &least);
        for dtype in [DType::F32, DType::F64] {
            let op = BoxExtremum::new(Extremum::Minimum, axes(lens, mode), dtype).unwrap();
            for threads in [1, 3] {
                let found = run(&op, shape, &values, dtype, threads);
                assert!(found == wanted, "{shape:?} {lens:?} {mode:?} {dtype}");
            }
        }
    }
}

/// The rank, of 1000, of the values of a window that has `n` points.
fn rank_of(values: &[f64], n: usize, thousandth: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = thousandth * n / 1000;
    let rank = if sorted.len() == n {
        rank
    } else {
        rank * sorted.len() / n
    };
    if values.iter().any(|v| v.is_nan()) {
        f64::NAN
    } else {
        sorted[rank]
    }
}

#[test]
fn ranks_of_long_windows_are_found() {
    let along_one = |lens: &[usize]| lens.iter().filter(|&&len| len > 1).count() == 1;
    for (shape, lens, mode) in cases().filter(|(_, lens, _)| along_one(lens)) {
        let n = lens.iter().product();
        let mut values = values(shape);
        for thousandth in [0, 500, 730, 999] {
            let of = |values: &[f64]| rank_of(values, n, thousandth);
            let wanted = separable((shape, lens, mode), &values, &of);
            for dtype in [DType::F32, DType::F64] {
                let window = Neighbourhood::new(axes(lens, mode), &vec![true; n]).unwrap();
                let op = Rank::new(window, thousandth * n / 1000, dtype).unwrap();
                for threads in [1, 3] {
                    let found = run(&op, shape, &values, dtype, threads);
                    let mut pairs = found.iter().zip(&wanted);
                    let same =
                        pairs.all(|(a, b)| a.total_cmp(b).is_eq() || a.is_nan() && b.is_nan());
                    assert!(same, "{shape:?} {lens:?} {mode:?} {dtype} {thousandth}");
                }
            }
            let place = (shape.len() + thousandth / 9) % values.len();
            values[place] = f64::NAN;
        }
    }
}

#[test]
fn means_of_long_windows_are_near_and_do_not_depend_on_threads() {
    for (shape, lens, mode) in cases() {
        let values = values(shape);
        let wanted = separable((shape, lens, mode), &values, &mean);
        for (dtype, bound) in [(DType::F32, 1e-3), (DType::F64, 1e-12)] {
            let op = mean_of(lens, mode, dtype);
            let found = run(&op, shape, &values, dtype, 1);
            let far = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
            let far = far.fold(0.0, f64::max);
            assert!(far < bound, "{shape:?} {lens:?} {mode:?} {dtype}: {far}");
            assert!(found == run(&op, shape, &values, dtype, 4));
        }
    }
}

/// The values of a volume at the coordinates `lo..hi` of axis `d`.
fn cut((all, shape): (&[f64], &[i64]), d: usize, (lo, hi): (i64, i64)) -> Vec<f64> {
    let inner: i64 = shape[d + 1..].iter().product();
    let place = |at: i64| usize::try_from(at * inner).unwrap();
    let rows = all.chunks(place(shape[d]));
    let rows: Vec<&[f64]> = rows.map(|r| &r[place(lo)..place(hi)]).collect();
    rows.concat()
}

#[test]
fn windows_have_the_same_bits_in_every_box() {
    for (shape, lens, mode) in cases() {
        let values = values(shape);
        let least = BoxExtremum::new(Extremum::Minimum, axes(lens, mode), DType::F32).unwrap();
        let means = [DType::F32, DType::F64].map(|dtype| mean_of(lens, mode, dtype));
        let spread = spread_of(lens, mode);
        let ops: [(&dyn Op, DType); 5] = [
            (&least, DType::F32),
            (&means[0], DType::F32),
            (&means[1], DType::F64),
            (&*spread, DType::F32),
            (&*spread, DType::U16),
        ];
        for (op, dtype) in ops {
            let whole = run(op, shape, &values, dtype, 1);
            for d in 0..shape.len() {
                let n = shape[d];
                for (lo, hi) in [(0, 1), (n / 3, n - n / 4), (n - 1, n)] {
                    let region = Region::whole(shape).with_axis(d, lo, hi);
                    let cut = |all: &[f64]| cut((all, shape), d, (lo, hi));
                    let wanted = cut(&whole);
                    // Where windows have one point, the box is all that there is.
                    let (held, given) = match lens[d] {
                        1 => (region.clone(), cut(&values)),
                        _ => (Region::whole(shape), values.clone()),
                    };
                    let found = run_box(op, shape, (&given, dtype), 2, (&held, &region));
                    let same = found
                        .iter()
                        .zip(&wanted)
                        .all(|(a, b)| a.to_bits() == b.to_bits());
                    let name = op.name();
                    assert!(
                        same,
                        "{name} {shape:?} {lens:?} {mode:?} {dtype} {lo}..{hi} of {d}"
                    );
                }
            }
        }
    }
}

#[test]
fn variances_of_long_windows_do_not_cancel() {
    for (shape, lens, mode) in cases() {
        let values = values(shape);
        let wanted = {
            let means = separable((shape, lens, mode), &values, &mean);
            let squares: Vec<f64> = values.iter().map(|v| v * v).collect();
            let square = |mode| match mode {
                Mode::Constant(value) => Mode::Constant(value * value),
                other => other,
            };
            let squares = separable((shape, lens, square(mode)), &squares, &mean);
            let each = squares.iter().zip(&means);
            each.map(|(square, mean)| square - mean * mean)
                .collect::<Vec<_>>()
        };
        let op = spread_of(lens, mode);
        // Without their large mean, the same. Numbers of 16 bits have exact sums.
        let shift = match mode {
            Mode::Constant(_) => 0.0,
            _ => 1e9,
        };
        let shifted: Vec<f64> = values.iter().map(|v| v + shift).collect();
        let whole = match mode {
            Mode::Constant(_) => vec![],
            _ => run(&*op, shape, &values, DType::U16, 2),
        };
        for found in [run(&*op, shape, &shifted, DType::F64, 2), whole] {
            let far = found.iter().zip(&wanted).map(|(a, b)| (a - b).abs());
            let far = far.fold(0.0, f64::max);
            assert!(far < 1e-3, "{shape:?} {lens:?} {mode:?}: {far}");
        }
    }
}

#[test]
fn constants_and_infinity_stay_where_they_are_in_columns() {
    let (shape, columns) = ([300, 40], 40);
    for dtype in [DType::F32, DType::F64] {
        let op = mean_of(&[101, 1], Mode::Nearest, dtype);
        let mut values = vec![7.0; 300 * columns];
        assert_eq!(run(&op, &shape, &values, dtype, 1), values);
        values[150 * columns + 3] = f64::INFINITY;
        let found = run(&op, &shape, &values, dtype, 1);
        let infinite = found.iter().filter(|v| v.is_infinite()).count();
        assert_eq!(infinite, 101);
        let column: Vec<f64> = found.iter().skip(3).step_by(columns).copied().collect();
        assert_eq!(column.iter().filter(|v| v.is_infinite()).count(), 101);
    }
}

#[test]
fn constants_stay_and_infinity_stays_where_it_is() {
    let shape = [1000];
    for dtype in [DType::F32, DType::F64] {
        let op = mean_of(&[101], Mode::Nearest, dtype);
        for value in [1.0, -7.0, 1e38] {
            let found = run(&op, &shape, &[value; 1000], dtype, 1);
            assert!(
                found.iter().all(|v| (v / value - 1.0).abs() < 1e-7),
                "{value}"
            );
        }
        let mut values = vec![1.0; 1000];
        values[500] = f64::INFINITY;
        let found = run(&op, &shape, &values, dtype, 1);
        let infinite = found.iter().filter(|v| v.is_infinite()).count();
        let ones = found
            .iter()
            .filter(|v| v.to_bits() == 1f64.to_bits())
            .count();
        assert_eq!((infinite, ones), (101, 899));
        let found = run(
            &*spread_of(&[101], Mode::Nearest),
            &shape,
            &values,
            dtype,
            1,
        );
        let unknown = found.iter().filter(|v| v.is_nan()).count();
        let zeros = found.iter().filter(|v| v.to_bits() == 0).count();
        assert_eq!((unknown, zeros), (101, 899));
    }
}
