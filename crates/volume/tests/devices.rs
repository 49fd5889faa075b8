//! Filters on devices have the bits of those on the CPU: on the OpenCL driver that is installed, in the host's
//! memory and in the device's own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::result_large_err,
    reason = "a failing test says where"
)]

mod cases;

use arrayloom_device::Device;
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_types::DType;
use arrayloom_volume::ops::{
    BoxExtremum, BoxRange, Correlate, Extremum, Linear, LinearAxis, Neighbourhood, Statistic,
    WindowAxis, local,
};
use arrayloom_volume::{
    Expr, Meter, Mode, Op, Options, Report, Target, VolumeError, Worker, WorkerDevice, run,
};
use cases::{Memory, Once, Random, bits, random_case, window};
use std::path::PathBuf;
use std::sync::Arc;

fn opencl(place: Place) -> Arc<dyn Device> {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let config = Config {
        place,
        cache: Some((cache, 1 << 30)),
        ..Config::default()
    };
    Arc::new(OpenCl::open(config).expect("an OpenCL driver"))
}

fn options(rank: usize, workers: Vec<Worker>) -> Options<'static> {
    Options {
        budget: 1 << 32,
        threads: 1,
        align: (0..rank).map(|_| 1).collect(),
        done: Vec::new(),
        watch: None,
        written: None,
        meter: None,
        workers,
    }
}

fn worker(device: &Arc<dyn Device>, queue: u32, budget: u64) -> Worker {
    Worker {
        budget: 1 << 30,
        threads: 1,
        meter: None,
        device: Some(WorkerDevice {
            device: Arc::clone(device),
            queue,
            meter: Meter::new(budget),
        }),
    }
}

fn compute(
    expr: &Expr,
    (shape, size): (&[i64], usize),
    workers: Vec<Worker>,
) -> Result<(Vec<u8>, Report), VolumeError> {
    let sink = Once::new(shape, size);
    let options = options(shape.len(), workers);
    let report = run(expr, &mut Target::Sink(&sink), &options)?;
    Ok((sink.state.into_inner().unwrap().0, report))
}

const DTYPES: [DType; 12] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::U16,
    DType::I16,
    DType::U32,
    DType::I32,
    DType::U64,
    DType::I64,
    DType::F16,
    DType::F32,
    DType::F64,
];

/// Elements of any value of their dtype, a few NaN among floats; those of floats are of a modest size.
fn elements(random: &mut Random, dtype: DType, count: usize) -> Vec<u8> {
    let mut data = Vec::new();
    for _ in 0..count {
        let word = (random.small(1 << 30) << 34 ^ random.small(1 << 30) << 10).cast_unsigned();
        let modest = f32::from(i16::try_from(random.small(4000) - 2000).unwrap()) / 7.0;
        let modest = if random.below(500) == 0 {
            f32::NAN
        } else {
            modest
        };
        match dtype {
            DType::Bool => data.push(u8::from(word >> 63 == 1 || word >> 40 & 1 == 1)),
            DType::F16 => data.extend(half::f16::from_f32(modest).to_bits().to_ne_bytes()),
            DType::F32 => data.extend(modest.to_ne_bytes()),
            DType::F64 => data.extend((f64::from(modest) / 3.0).to_ne_bytes()),
            _ => data.extend(&(word >> 8 | word << 30).to_le_bytes()[8 - dtype.size()..]),
        }
    }
    data
}

/// A statistic of mean and variance.
fn of_moments(random: &mut Random) -> Statistic {
    match random.below(6) {
        0 => Statistic::Variance,
        1 => Statistic::Deviation,
        2 => Statistic::Variation,
        3 => Statistic::Wiener(2500.0),
        4 => Statistic::Niblack(0.3),
        _ => Statistic::Sauvola { k: 0.2, r: 90.0 },
    }
}

/// A statistic of windows that are boxes.
fn statistic(random: &mut Random, axes: Vec<WindowAxis>, out: DType) -> Arc<dyn Op> {
    let kind = of_moments(random);
    let points = axes.iter().map(|a| a.len).product();
    let window = Neighbourhood::new(axes, &vec![true; points]).unwrap();
    // Halves are left to the CPU.
    let out = if out == DType::F16 { DType::F32 } else { out };
    local(window, kind, out).unwrap()
}

fn filter(random: &mut Random, rank: usize, dtype: DType, out: DType) -> Arc<dyn Op> {
    let weight = |random: &mut Random| f64::from(u8::try_from(random.below(97)).unwrap()) / 97.0;
    match random.below(6) {
        4 | 5 => {
            let axes = window(random, rank, 6);
            statistic(random, axes, out)
        }
        0 => Arc::new(BoxExtremum::new(Extremum::Maximum, window(random, rank, 6), dtype).unwrap()),
        kind => {
            let odd = random.below(4) == 0;
            let axes = window(random, rank, 7).into_iter().enumerate();
            let axes = axes.map(|(axis, w)| {
                let mut taps: Vec<f64> = (0..w.len).map(|_| weight(random) - 0.3).collect();
                let (n, share) = (w.len, 1.0 / f64::from(u8::try_from(w.len).unwrap()));
                if kind == 1 {
                    taps = vec![share; n];
                } else if odd && n % 2 == 1 {
                    for t in 0..=n / 2 {
                        taps[t] = -taps[n - 1 - t];
                    }
                    taps[n / 2] = 0.0;
                }
                LinearAxis {
                    axis,
                    derive: match kind {
                        2 => (0..n).map(|_| weight(random) - 0.5).collect(),
                        _ => Vec::new(),
                    },
                    taps,
                    before: w.before,
                    mode: match (kind, w.mode) {
                        // Sums of whole numbers are exact beside whole constants.
                        (1, Mode::Constant(_)) => Mode::Constant(1.0),
                        (_, mode) => mode,
                    },
                }
            });
            Arc::new(Linear::new(rank, axes.collect(), out).unwrap())
        }
    }
}

/// Blocks of an operation that a device computed and those it left, whose bits are those of the CPU.
fn compared(
    random: &mut Random,
    device: &Arc<dyn Device>,
    (op, shape, dtype): (Arc<dyn Op>, &[i64], DType),
) -> (u64, u64) {
    let (name, out) = (op.name().to_owned(), op.dtype());
    let mut expr = Expr::new();
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap();
    let data = elements(random, dtype, count);
    let memory = Memory::new(shape, dtype.size(), data);
    let source = expr.source(Arc::new(memory), shape, dtype);
    expr.apply(op, &[source], shape).unwrap();
    let (whole, _) = compute(&expr, (shape, out.size()), Vec::new()).unwrap();
    let (mut blocks, mut left) = (0, 0);
    for budget in [1 << 30, 1 << (15 + random.below(4))] {
        let workers = vec![worker(device, 7, budget)];
        match compute(&expr, (shape, out.size()), workers) {
            Err(VolumeError::TooSmall { .. }) => {}
            done => {
                let (part, report) = done.unwrap();
                let (wanted, got) = (bits(out, &whole), bits(out, &part));
                let wrong = wanted.iter().zip(&got).position(|(a, b)| a != b);
                assert_eq!(
                    wrong.map(|i| (wanted[i], got[i])),
                    None,
                    "{name} {shape:?} {dtype} to {out}, {wrong:?}"
                );
                blocks += report.blocks;
                left += report.left.values().sum::<u64>();
            }
        }
    }
    (blocks, left)
}

fn shape_of(random: &mut Random, rank: usize) -> Vec<i64> {
    let most = [300, 30, 13][rank - 1];
    (0..rank).map(|_| 1 + random.small(most)).collect()
}

#[test]
fn filters_of_every_dtype_have_the_bits_of_the_cpu() {
    let mut random = Random(11);
    for place in [Place::Natural, Place::Device] {
        let device = opencl(place);
        let (mut blocks, mut left) = (0, 0);
        for number in 0..48 {
            let rank = 1 + random.below(3);
            let shape = shape_of(&mut random, rank);
            let dtype = DTYPES[number % 12];
            let out = DTYPES[random.below(12)];
            let op = filter(&mut random, rank, dtype, out);
            let (all, here) = compared(&mut random, &device, (op, &shape, dtype));
            blocks += all;
            left += here;
        }
        assert!(blocks > 100 && left * 20 < blocks, "{left} of {blocks}");
    }
}

/// A mean over some points of a window, a statistic of them, the range of a box, or the mean over one.
fn filter_of_points(random: &mut Random, kind: usize, rank: usize, dtype: DType) -> Arc<dyn Op> {
    let mut axes = window(random, rank, 5);
    let constant = [-3.0, 2.0, 1e19][random.below(3)];
    for axis in &mut axes {
        if let Mode::Constant(value) = &mut axis.mode {
            *value = constant;
        }
    }
    let mut out = DTYPES[random.below(12)];
    if out == DType::F16 {
        // Halves are left to the CPU.
        out = DType::F32;
    }
    let size: usize = axes.iter().map(|a| a.len).product();
    let mut mask: Vec<bool> = (0..size).map(|_| random.below(3) > 0).collect();
    mask[random.below(size)] = true;
    let share = |n: usize| 1.0 / f64::from(u16::try_from(n).unwrap());
    match kind {
        0 => Arc::new(BoxRange::new(axes, dtype).unwrap()),
        1 => {
            let each = axes.iter().enumerate().map(|(axis, w)| LinearAxis {
                axis,
                taps: vec![share(w.len); w.len],
                derive: Vec::new(),
                before: w.before,
                mode: w.mode,
            });
            Arc::new(Linear::new(rank, each.collect(), out).unwrap())
        }
        2 => {
            let points = Neighbourhood::new(axes, &mask).unwrap();
            let weights = vec![share(points.points.len()); points.points.len()];
            Arc::new(Correlate::new(points, weights, out).unwrap())
        }
        _ => {
            let kind = of_moments(random);
            local(Neighbourhood::new(axes, &mask).unwrap(), kind, out).unwrap()
        }
    }
}

#[test]
fn means_statistics_and_ranges_of_every_dtype_have_the_bits_of_the_cpu() {
    let mut random = Random(14);
    let device = opencl(Place::Device);
    let (mut blocks, mut left) = (0, 0);
    for number in 0..96 {
        let rank = 1 + random.below(3);
        let shape = shape_of(&mut random, rank);
        let dtype = DTYPES[number % 12];
        let op = filter_of_points(&mut random, number / 12 % 4, rank, dtype);
        let (all, here) = compared(&mut random, &device, (op, &shape, dtype));
        blocks += all;
        left += here;
    }
    // Clipped windows of floats have weights of their own.
    assert!(blocks > 150 && left * 10 < blocks, "{left} of {blocks}");
}

const MODES: [Mode; 6] = [
    Mode::Reflect,
    Mode::Mirror,
    Mode::Nearest,
    Mode::Wrap,
    Mode::Constant(-1.75),
    Mode::Renormalize,
];

/// Volumes and long windows along lines, across rows of all lengths, along several axes, and beyond the axis.
const LONG: [(&[i64], &[usize]); 12] = [
    (&[400], &[48]),
    (&[500], &[127]),
    (&[300, 5], &[49, 1]),
    (&[240, 34], &[100, 1]),
    (&[20, 260], &[1, 64]),
    (&[150, 70], &[64, 49]),
    (&[120, 2, 33], &[49, 1, 1]),
    (&[4, 100, 34], &[3, 64, 2]),
    (&[130, 60, 3], &[48, 100, 1]),
    (&[4, 5, 200], &[2, 3, 127]),
    (&[60, 20, 33], &[50, 49, 48]),
    (&[30, 7], &[1, 130]),
];

fn long_axes(lens: &[usize], mode: Mode) -> Vec<WindowAxis> {
    let axis = |&len: &usize| WindowAxis {
        len,
        before: i64::try_from(len / 3).unwrap(),
        mode,
    };
    lens.iter().map(axis).collect()
}

/// Compares a device, which computes all blocks, with the CPU: in one block, and in several, whose number it gives.
fn in_blocks(
    random: &mut Random,
    device: &Arc<dyn Device>,
    (op, shape, dtype): (Arc<dyn Op>, &[i64], DType),
) -> u64 {
    let (name, out) = (op.name().to_owned(), op.dtype());
    let mut expr = Expr::new();
    let count = usize::try_from(shape.iter().product::<i64>()).unwrap();
    let data = elements(random, dtype, count);
    let source = Arc::new(Memory::new(shape, dtype.size(), data));
    let source = expr.source(source, shape, dtype);
    expr.apply(op, &[source], shape).unwrap();
    let (whole, _) = compute(&expr, (shape, out.size()), Vec::new()).unwrap();
    let on_device = |budget: u64| {
        let done = compute(&expr, (shape, out.size()), vec![worker(device, 7, budget)]);
        if let Err(VolumeError::TooSmall { .. }) = done {
            return None;
        }
        let (part, report) = done.unwrap();
        let same = bits(out, &whole) == bits(out, &part);
        assert!(same, "{name} {shape:?} {dtype}, {budget} bytes");
        assert_eq!((report.abroad, report.left.len()), (report.blocks, 0));
        Some(report.blocks)
    };
    assert_eq!(on_device(1 << 30), Some(1));
    let mut budgets = (10..24).rev().filter_map(|bits| on_device(1 << bits));
    budgets.find(|&blocks| blocks > 1).unwrap_or(1)
}

#[test]
fn long_means_have_the_bits_of_the_cpu() {
    use DType::{F16, F32, F64, I64};
    let mut random = Random(15);
    let device = opencl(Place::Device);
    let (mut cases, mut blocks) = (0, 0);
    for ((shape, lens), mode) in LONG.into_iter().flat_map(|l| MODES.map(|mode| (l, mode))) {
        for (dtype, out) in [(F32, F32), (F64, F64), (F16, F32), (I64, F64)] {
            let axes = long_axes(lens, mode).into_iter().enumerate();
            let axis = |(axis, w): (usize, WindowAxis)| LinearAxis {
                axis,
                taps: vec![1.0 / f64::from(u16::try_from(w.len).unwrap()); w.len],
                derive: Vec::new(),
                before: w.before,
                mode,
            };
            let mean = Linear::new(lens.len(), axes.map(axis).collect(), out).unwrap();
            blocks += in_blocks(&mut random, &device, (Arc::new(mean), shape, dtype));
            cases += 1;
        }
    }
    assert!(blocks > 2 * cases, "{blocks} of {cases}");
}

#[test]
fn long_variances_have_the_bits_of_the_cpu() {
    let mut random = Random(16);
    let device = opencl(Place::Device);
    let (mut cases, mut blocks) = (0, 0);
    for ((shape, lens), mode) in LONG.into_iter().flat_map(|l| MODES.map(|mode| (l, mode))) {
        for dtype in [DType::F32, DType::F64] {
            let points = lens.iter().product();
            let window = Neighbourhood::new(long_axes(lens, mode), &vec![true; points]).unwrap();
            let op = local(window, of_moments(&mut random), DType::F64).unwrap();
            blocks += in_blocks(&mut random, &device, (op, shape, dtype));
            cases += 1;
        }
    }
    assert!(blocks > 2 * cases, "{blocks} of {cases}");
}

#[test]
fn graphs_have_the_bits_of_the_cpu_whatever_the_device_lacks() {
    let mut random = Random(12);
    let device = opencl(Place::Device);
    let (mut blocks, mut left) = (0, 0);
    for number in 0..60 {
        let case = random_case(&mut random, &[300, 40, 20, 9]);
        let last = case.expr.nodes().len() - 1;
        let dtype = case.expr.dtype(last);
        let shaped = (&case.shape[..], case.size);
        let (whole, _) = compute(&case.expr, shaped, Vec::new()).unwrap();
        let budget = 1 << (16 + random.below(8));
        let mut workers = vec![worker(&device, 7, budget)];
        if random.below(2) == 0 {
            workers.push(worker(&device, 9, 1 << 20));
        }
        match compute(&case.expr, shaped, workers.clone()) {
            Ok((part, report)) => {
                assert_eq!(bits(dtype, &whole), bits(dtype, &part), "case {number}");
                blocks += report.blocks;
                left += report.left.values().sum::<u64>();
            }
            Err(VolumeError::TooSmall { .. }) => {}
            Err(other) => panic!("case {number}: {other}"),
        }
        let devices = workers.iter().filter_map(|w| w.device.as_ref());
        assert!(devices.into_iter().all(|d| d.meter.used() == 0));
    }
    assert!(blocks > 80 && left > 20, "{left} of {blocks}");
}

#[test]
fn a_refusal_at_any_allocation_changes_nothing() {
    let mut random = Random(13);
    let device = opencl(Place::Device);
    let shape = [40, 31, 17];
    let data = elements(&mut random, DType::F32, 40 * 31 * 17);
    let mut expr = Expr::new();
    let source = expr.source(Arc::new(Memory::new(&shape, 4, data)), &shape, DType::F32);
    let axis = |axis| LinearAxis {
        axis,
        taps: vec![0.1, 0.25, 0.3, 0.25, 0.1],
        derive: Vec::new(),
        before: 2,
        mode: Mode::Mirror,
    };
    let smooth = Linear::new(3, (0..3).map(axis).collect(), DType::F32).unwrap();
    let smooth = expr.apply(Arc::new(smooth), &[source], &shape).unwrap();
    let boxed = BoxExtremum::new(Extremum::Minimum, window(&mut random, 3, 3), DType::F32);
    expr.apply(Arc::new(boxed.unwrap()), &[smooth], &shape)
        .unwrap();
    let (whole, _) = compute(&expr, (&shape, 4), Vec::new()).unwrap();
    let with = |fail: u64| {
        let one = worker(&device, 7, 1 << 18);
        let meter = Arc::clone(&one.device.as_ref().unwrap().meter);
        meter.fail_at(fail);
        let done = compute(&expr, (&shape, 4), vec![one]).unwrap();
        assert_eq!(meter.used(), 0, "everything is given back");
        (done, meter.allocations())
    };
    let ((_, report), all) = with(u64::MAX >> 1);
    assert!(report.blocks > 2 && report.abroad == report.blocks);
    for fail in 0..all {
        let ((part, report), _) = with(fail);
        assert!(part == whole, "failing at {fail}");
        // What nobody needed was let go of, or the blocks became smaller.
        assert!(report.halved <= 1, "{report:?}");
    }
}
