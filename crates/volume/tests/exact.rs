//! Cutting a volume never changes a bit: random expressions, budgets, failures.
#![expect(
    clippy::unwrap_used,
    clippy::result_large_err,
    reason = "a failing test says where"
)]

mod cases;

use arrayloom_plan::AxisNeed;
use arrayloom_types::{DType, Region};
use arrayloom_volume::ops::{BoxExtremum, Extremum, Neighbourhood, Rank, WindowAxis};
use arrayloom_volume::{
    Ctx, Expr, Meter, Mode, Node, Op, Options, Report, Sink, Source, Target, View, ViewMut,
    VolumeError, Worker, plan_for, run,
};
use cases::{Case, Memory, Once, Random, bits, random_case};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// The longest axes of volumes of one to four axes that are quick to filter.
const SMALL: [usize; 4] = [200, 24, 14, 8];

fn options(rank: usize, budget: u64, threads: usize) -> Options<'static> {
    Options {
        budget,
        threads,
        align: (0..rank).map(|_| 1).collect(),
        done: Vec::new(),
        watch: None,
        written: None,
        meter: None,
        workers: Vec::new(),
    }
}

fn names(expr: &Expr) -> Vec<&str> {
    let each = expr.nodes().iter().map(|n| match n {
        Node::Apply(op, _) => op.name(),
        Node::Source(_) => "source",
    });
    each.collect()
}

/// The bits of the result, and how it was computed.
fn compute(case: &Case, options: &Options<'_>) -> Result<(Vec<u64>, Report), VolumeError> {
    let sink = Once::new(&case.shape, case.size);
    let report = run(&case.expr, &mut Target::Sink(&sink), options)?;
    let (bytes, written) = sink.state.into_inner().unwrap();
    let written: u64 = written.iter().map(Region::voxels).sum();
    assert_eq!(
        written,
        Region::whole(&case.shape).voxels(),
        "every voxel is written"
    );
    let dtype = case.expr.dtype(case.expr.nodes().len() - 1);
    Ok((bits(dtype, &bytes), report))
}

#[test]
fn chunked_is_whole_bit_for_bit_and_memory_stays_below_the_plan() {
    let mut random = Random(1);
    let (mut cut, mut blocks) = (0, 0);
    for number in 0..400 {
        let case = random_case(&mut random, &SMALL);
        let (whole, _) = compute(&case, &options(case.shape.len(), 1 << 32, 1)).unwrap();
        for _ in 0..3 {
            let budget = 1u64 << (9 + random.below(10));
            let mut options = options(case.shape.len(), budget, 1 + random.below(2));
            if random.below(2) == 0 {
                options.align = case.shape.iter().map(|_| 1 + random.small(5)).collect();
            }
            match compute(&case, &options) {
                Ok((part, report)) => {
                    assert!(part == whole, "case {number} budget {budget}");
                    assert!(
                        report.peak <= report.planned_peak && report.planned_peak <= budget,
                        "case {number}: {report:?}"
                    );
                    let ops = names(&case.expr);
                    assert_eq!(report.halved, 0, "case {number} {ops:?}: {report:?}");
                    cut += 1;
                    blocks += report.blocks;
                }
                Err(VolumeError::TooSmall { least, .. }) => {
                    options.budget = least;
                    assert!(
                        compute(&case, &options).unwrap().0 == whole,
                        "the least is enough"
                    );
                }
                Err(other) => panic!("case {number}: {other}"),
            }
        }
    }
    assert!(cut > 400 && blocks > 3000, "{cut} runs in {blocks} blocks");
}

#[test]
fn a_refusal_at_any_allocation_changes_nothing() {
    let mut random = Random(2);
    let mut refused = 0;
    for number in 0..25 {
        let case = random_case(&mut random, &SMALL);
        let rank = case.shape.len();
        let (whole, _) = compute(&case, &options(rank, 1 << 32, 1)).unwrap();
        let with = |meter: &Arc<Meter>| {
            let mut options = options(rank, 1 << 15, 1);
            options.meter = Some(Arc::clone(meter));
            compute(&case, &options)
        };
        let meter = Meter::new(1 << 15);
        let Ok(_) = with(&meter) else { continue };
        let all = meter.allocations();
        for fail in (0..all).step_by(1 + usize::try_from(all / 40).unwrap()) {
            let meter = Meter::new(1 << 15);
            meter.fail_at(fail);
            let (bytes, report) = with(&meter).unwrap();
            assert!(bytes == whole, "case {number} failing at {fail}");
            assert_eq!(report.halved, 1);
            assert_eq!(meter.used(), 0, "everything is given back");
            refused += 1;
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_refusal_at_any_allocation_computes_one_block_again_at_most() {
    let shape = vec![30i64, 16, 16];
    let window = |len: usize| {
        let before = i64::try_from(len / 2).unwrap();
        let mode = Mode::Mirror;
        vec![WindowAxis { len, before, mode }; 3]
    };
    let data: Vec<u8> = (0..7680)
        .map(|i| u8::try_from(i * 31 % 251).unwrap())
        .collect();
    for threads in [1, 2] {
        let computed = Arc::new(AtomicU64::new(0));
        let mut expr = Expr::new();
        let memory = Memory::new(&shape, 1, data.clone());
        let source = expr.source(Arc::new(memory), &shape, DType::U8);
        let first = BoxExtremum::new(Extremum::Maximum, window(3), DType::U8).unwrap();
        let first = expr.apply(Arc::new(first), &[source], &shape).unwrap();
        let counted = Counted {
            op: BoxExtremum::new(Extremum::Minimum, window(5), DType::U8).unwrap(),
            voxels: Arc::clone(&computed),
        };
        expr.apply(Arc::new(counted), &[first], &shape).unwrap();
        let (values, region) = (expr.values(threads), Region::whole(&shape));
        let mut plans = (1..60).filter_map(|n| {
            let budget = 2000 * n;
            let plan = plan_for(&values, &region, budget, &[1, 1, 1]).ok()?;
            (plan.len() > 2).then_some((budget, plan))
        });
        let (budget, plan) = plans.next_back().unwrap();
        let blocks = (0..plan.len()).map(|i| plan.core(i).voxels());
        let largest = blocks.max().unwrap();
        let (shape, size) = (shape.clone(), 1);
        let case = Case { expr, shape, size };
        let (whole, _) = compute(&case, &options(3, 1 << 32, 1)).unwrap();
        let all = whole.len() as u64;
        let run_with = |meter: &Arc<Meter>| {
            computed.store(0, Relaxed);
            let mut options = options(3, budget, threads);
            options.meter = Some(Arc::clone(meter));
            let (bytes, report) = compute(&case, &options).unwrap();
            assert!(bytes == whole && meter.used() == 0);
            (computed.load(Relaxed), report)
        };
        let meter = Meter::new(budget);
        assert_eq!(run_with(&meter).0, all, "nothing is computed twice");
        for fail in 0..meter.allocations() {
            let meter = Meter::new(budget);
            meter.fail_at(fail);
            let (found, report) = run_with(&meter);
            assert!(report.halved <= 1);
            assert!(
                found <= all + largest,
                "failing at {fail}: {found} of {all}"
            );
        }
    }
}

/// Counts the voxels that an operation computes.
struct Counted {
    op: BoxExtremum,
    voxels: Arc<AtomicU64>,
}

impl Op for Counted {
    fn name(&self) -> &'static str {
        "counted minimum"
    }

    fn dtype(&self) -> DType {
        self.op.dtype()
    }

    fn needs(&self, operand: usize) -> Vec<AxisNeed> {
        self.op.needs(operand)
    }

    fn scratch(&self, extents: &[i64], shape: &[i64], threads: usize) -> u64 {
        self.op.scratch(extents, shape, threads)
    }

    fn cost_ns(&self) -> f64 {
        self.op.cost_ns()
    }

    fn run(&self, ctx: &Ctx, inputs: &[View<'_>], out: ViewMut<'_>) -> Result<(), VolumeError> {
        let voxels = out.region.voxels();
        self.op.run(ctx, inputs, out)?;
        self.voxels.fetch_add(voxels, Relaxed);
        Ok(())
    }
}

#[test]
fn boxes_that_are_done_are_not_written_again() {
    let mut random = Random(3);
    let mut resumed = 0;
    for _ in 0..60 {
        let case = random_case(&mut random, &SMALL);
        let rank = case.shape.len();
        let (whole, _) = compute(&case, &options(rank, 1 << 32, 1)).unwrap();
        let done = Mutex::new(Vec::new());
        let keep = |r: &Region| {
            done.lock().unwrap().push(r.clone());
            Ok(())
        };
        let stop = |p: arrayloom_volume::Progress| p.voxels * 2 < p.total;
        let mut first = options(rank, 1 << 14, 1);
        first.watch = Some(&stop);
        first.written = Some(&keep);
        let sink = Once::new(&case.shape, case.size);
        let stopped = run(&case.expr, &mut Target::Sink(&sink), &first);
        if matches!(stopped, Err(VolumeError::TooSmall { .. })) {
            continue;
        }
        assert!(
            matches!(stopped, Err(VolumeError::Cancelled { .. })),
            "{stopped:?}"
        );
        let mut second = options(rank, 1 << 15, 1);
        second.done = done.into_inner().unwrap();
        run(&case.expr, &mut Target::Sink(&sink), &second).unwrap();
        let dtype = case.expr.dtype(case.expr.nodes().len() - 1);
        assert!(bits(dtype, &sink.state.into_inner().unwrap().0) == whole);
        resumed += 1;
    }
    assert!(resumed > 20, "{resumed}");
}

#[test]
fn a_slab_reads_every_voxel_once() {
    let shape = vec![60i64, 20, 20];
    let memory = Arc::new(Memory::new(&shape, 1, vec![1u8; 24_000]));
    let mut expr = Expr::new();
    let source = expr.source(Arc::clone(&memory) as Arc<dyn Source>, &shape, DType::U8);
    let axes = vec![
        WindowAxis {
            len: 5,
            before: 2,
            mode: Mode::Reflect
        };
        3
    ];
    let op = BoxExtremum::new(Extremum::Maximum, axes.clone(), DType::U8).unwrap();
    let first = expr.apply(Arc::new(op), &[source], &shape).unwrap();
    let op = BoxExtremum::new(Extremum::Minimum, axes, DType::U8).unwrap();
    expr.apply(Arc::new(op), &[first], &shape).unwrap();
    let case = Case {
        expr,
        shape,
        size: 1,
    };
    let (_, report) = compute(&case, &options(3, 60_000, 1)).unwrap();
    assert!(report.blocks > 1);
    assert_eq!(*memory.read.lock().unwrap(), 24_000);
}

#[test]
fn a_slab_reads_every_granule_once() {
    let shape = vec![60i64, 24, 24];
    for budget in [40_000, 50_000, 60_000] {
        let mut memory = Memory::new(
            &shape,
            1,
            (0..34_560)
                .map(|i| u8::try_from(i % 251).unwrap())
                .collect(),
        );
        memory.granule = Some([8, 24, 24].as_slice().into());
        let memory = Arc::new(memory);
        let mut expr = Expr::new();
        let source = expr.source(Arc::clone(&memory) as Arc<dyn Source>, &shape, DType::U8);
        let axis = WindowAxis {
            len: 5,
            before: 2,
            mode: Mode::Reflect,
        };
        let op = BoxExtremum::new(Extremum::Maximum, vec![axis; 3], DType::U8).unwrap();
        expr.apply(Arc::new(op), &[source], &shape).unwrap();
        let case = Case {
            expr,
            shape: shape.clone(),
            size: 1,
        };
        let (_, report) = compute(&case, &options(3, budget, 1)).unwrap();
        assert!(report.blocks > 1, "{report:?}");
        assert!(report.peak <= budget);
        let reads = memory.regions.lock().unwrap();
        assert!(reads.iter().all(|r| r.lo[0] % 8 == 0), "{reads:?}");
        let voxels: u64 = reads.iter().map(Region::voxels).sum();
        assert_eq!(voxels, 34_560);
    }
}

#[test]
fn axes_without_a_window_do_not_go_around_with_the_next_filter() {
    let wrapped = |lens: [usize; 2]| {
        let axis = |len: usize| WindowAxis {
            len,
            before: i64::try_from(len / 2).unwrap(),
            mode: Mode::Wrap,
        };
        lens.map(axis).to_vec()
    };
    let mut cut = 0;
    for shape in [[6i64, 4], [4, 7], [9, 5]] {
        let count = shape[0] * shape[1];
        let data = (0..count).map(|i| u8::try_from(i * 77 % 251).unwrap());
        let data: Vec<u8> = data.collect();
        for lens in [[3, 1], [1, 3], [1, 1]] {
            let memory = Arc::new(Memory::new(&shape, 1, data.clone()));
            let mut expr = Expr::new();
            let mut last = expr.source(memory, &shape, DType::U8);
            for (kind, lens) in [(Extremum::Minimum, lens), (Extremum::Maximum, [3, 3])] {
                let op = BoxExtremum::new(kind, wrapped(lens), DType::U8).unwrap();
                last = expr.apply(Arc::new(op), &[last], &shape).unwrap();
            }
            let (shape, size) = (shape.to_vec(), 1);
            let case = Case { expr, shape, size };
            let (whole, _) = compute(&case, &options(2, 1 << 32, 1)).unwrap();
            for budget in (200..3000).step_by(100) {
                match compute(&case, &options(2, budget, 1)) {
                    Ok((part, report)) => {
                        assert_eq!(part, whole, "{:?} {lens:?} {budget}", case.shape);
                        cut += u32::from(report.blocks > 1);
                    }
                    Err(VolumeError::TooSmall { .. }) => {}
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
    assert!(cut > 5, "{cut}");
}

#[test]
fn workers_with_different_budgets_share_the_work() {
    let mut random = Random(8);
    let (mut shared, mut halved) = (0, 0);
    for number in 0..80 {
        let case = random_case(&mut random, &SMALL);
        let rank = case.shape.len();
        let (whole, _) = compute(&case, &options(rank, 1 << 32, 1)).unwrap();
        let mut options = options(rank, 0, 1);
        if random.below(2) == 0 {
            options.align = case.shape.iter().map(|_| 1 + random.small(5)).collect();
        }
        for n in 0..2 + random.below(3) {
            let budget = 1u64 << (13 + random.below(6));
            let meter = Meter::new(budget);
            if n == 0 && random.below(2) == 0 {
                meter.fail_at(random.below(30) as u64);
            }
            options.workers.push(Worker {
                budget,
                threads: 1 + random.below(2),
                meter: Some(meter),
                device: None,
            });
        }
        match compute(&case, &options) {
            Ok((part, report)) => {
                assert!(part == whole, "case {number}");
                let budgets: u64 = options.workers.iter().map(|w| w.budget).sum();
                assert!(report.peak <= budgets);
                shared += 1;
                halved += report.halved;
            }
            Err(VolumeError::TooSmall { .. }) => {}
            Err(other) => panic!("case {number}: {other}"),
        }
        let meters = options.workers.iter().filter_map(|w| w.meter.as_ref());
        assert!(meters.into_iter().all(|m| m.used() == 0));
    }
    assert!(shared > 40 && halved > 5, "{shared} {halved}");
}

/// Fails behind the twentieth voxel: when it is read, or when it is written.
struct Broken {
    reading: bool,
}

impl Source for Broken {
    fn read(&self, region: &Region, _: &mut [u8]) -> Result<(), String> {
        if self.reading && region.lo[0] > 20 {
            Err("chunk 7 is torn".to_owned())
        } else {
            Ok(())
        }
    }
}

impl Sink for Broken {
    fn write(&self, region: &Region, _: &[u8]) -> Result<(), String> {
        if !self.reading && region.lo[0] > 20 {
            Err("no space left".to_owned())
        } else {
            Ok(())
        }
    }
}

#[test]
fn errors_name_block_and_box() {
    // The halo of the first block lies behind the torn place already.
    for (reading, block, why) in [
        (true, "block 0 at [", "chunk 7 is torn"),
        (false, "block 1 at [", "no space left"),
    ] {
        let mut expr = Expr::new();
        let source = expr.source(Arc::new(Broken { reading }), &[100_000], DType::U8);
        let axes = vec![WindowAxis {
            len: 3,
            before: 1,
            mode: Mode::Reflect,
        }];
        let op = BoxExtremum::new(Extremum::Maximum, axes, DType::U8).unwrap();
        expr.apply(Arc::new(op), &[source], &[100_000]).unwrap();
        let mut target = Target::Sink(&Broken { reading });
        let failed = run(&expr, &mut target, &options(1, 60_000, 1)).unwrap_err();
        let text = failed.to_string();
        assert!(text.contains(block) && text.contains(why), "{text}");
        assert_eq!(failed.kind(), arrayloom_types::ErrorKind::Io);
    }
}

/// Medians of `region` of bytes that fill an array of this shape.
fn medians_in(shape: &[i64], region: &Region, threads: usize) -> Vec<u8> {
    let axis = WindowAxis {
        len: 3,
        before: 1,
        mode: Mode::Reflect,
    };
    let flat = WindowAxis {
        len: 1,
        before: 0,
        ..axis
    };
    let last = shape.len() - 2;
    let axes: Vec<WindowAxis> = (0..shape.len())
        .map(|d| if d < last { flat } else { axis })
        .collect();
    let op = Rank::new(Neighbourhood::new(axes, &[true; 9]).unwrap(), 4, DType::U8).unwrap();
    let whole = Region::whole(shape);
    let mut random = Random(9);
    let data: Vec<u8> = (0..whole.voxels())
        .map(|_| u8::try_from(random.below(256)).unwrap())
        .collect();
    let mut out = vec![0; usize::try_from(region.voxels()).unwrap()];
    let ctx = Ctx {
        threads,
        meter: Meter::new(1 << 30),
    };
    let view = View {
        region: &whole,
        shape,
        dtype: DType::U8,
        data: &data,
    };
    let to = ViewMut {
        region,
        dtype: DType::U8,
        data: &mut out,
    };
    op.run(&ctx, &[view], to).unwrap();
    out
}

#[test]
fn tiles_beside_one_another_are_those_that_follow_one_another() {
    // Rows of the whole are cut into several tiles, those of the parts are not.
    for shape in [&[75i64, 2500][..], &[9, 40, 300]] {
        let (whole, last) = (Region::whole(shape), shape.len() - 1);
        let row = usize::try_from(shape[last]).unwrap();
        let found = medians_in(shape, &whole, 1);
        assert!(found.iter().any(|&v| v != found[0]), "medians differ");
        assert_eq!(found, medians_in(shape, &whole, 3), "with several threads");
        for (lo, hi) in [
            (0, 100),
            (100, 128),
            (128, 256),
            (256, shape[last].min(1200)),
        ] {
            let part = whole.with_axis(last, lo, hi);
            let (lo, hi) = (usize::try_from(lo).unwrap(), usize::try_from(hi).unwrap());
            let wanted: Vec<u8> = found
                .chunks(row)
                .flat_map(|r| &r[lo..hi])
                .copied()
                .collect();
            for threads in [1, 3] {
                assert_eq!(
                    medians_in(shape, &part, threads),
                    wanted,
                    "{shape:?} {part}"
                );
            }
        }
    }
}
