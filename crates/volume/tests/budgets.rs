//! Budgets are kept: a run stays within its budget, or is refused with the least one that is enough.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

mod cases;

use arrayloom_types::Region;
use arrayloom_volume::{Options, Report, Target, VolumeError, run};
use cases::{Case, Once, Random, bits, random_case};

/// Computes the box `wanted` of the result within `budget`: its bits, and how.
fn compute(
    case: &Case,
    wanted: &Region,
    budget: u64,
    threads: usize,
) -> Result<(Vec<u64>, Report), Box<VolumeError>> {
    let sink = Once::new(&case.shape, case.size);
    let options = Options {
        budget,
        threads,
        align: case.shape.iter().map(|_| 1).collect(),
        done: Region::whole(&case.shape).minus(wanted),
        watch: None,
        written: None,
        meter: None,
        workers: Vec::new(),
    };
    let report = run(&case.expr, &mut Target::Sink(&sink), &options).map_err(Box::new)?;
    let (bytes, written) = sink.state.into_inner().unwrap();
    let written: u64 = written.iter().map(Region::voxels).sum();
    assert_eq!(written, wanted.voxels(), "every voxel is written");
    let dtype = case.expr.dtype(case.expr.nodes().len() - 1);
    Ok((bits(dtype, &bytes), report))
}

/// A small box somewhere in a volume, at its faces as often as inside.
fn some_box(random: &mut Random, shape: &[i64]) -> Region {
    let span = |&n: &i64| {
        let len = n.min(1 + random.small(4));
        let at = [0, n - len, random.small(4096) % (n - len + 1)];
        let at = at[random.below(3)];
        (at, at + len)
    };
    let (lo, hi): (Vec<i64>, Vec<i64>) = shape.iter().map(span).unzip();
    Region::new(&lo, &hi)
}

/// Boxes of volumes that are much larger than what a block reads, in memory, in chunks and around wrapped axes.
#[test]
fn a_run_stays_within_its_budget_or_names_the_least_that_is_enough() {
    let mut random = Random(11);
    let (mut ran, mut refused) = (0, 0);
    for number in 0..400 {
        let case = random_case(&mut random, &[3000, 120, 40, 19]);
        let wanted = some_box(&mut random, &case.shape);
        let threads = 1 + random.below(2);
        let (whole, _) = compute(&case, &wanted, 1 << 32, threads).unwrap();
        let budget = (1u64 << (6 + random.below(12))) + random.below(999) as u64;
        let mut enough = |budget: u64| {
            let (part, report) = compute(&case, &wanted, budget, threads).unwrap();
            assert!(part == whole, "case {number} budget {budget}");
            let (peak, planned) = (report.peak, report.planned_peak);
            assert!(
                peak <= planned && planned <= budget && report.halved == 0,
                "case {number} of {:?}, {wanted}, budget {budget}: {report:?}",
                case.shape
            );
            ran += 1;
        };
        let refusal = |budget| match compute(&case, &wanted, budget, threads) {
            Ok(_) => None,
            Err(error) => match *error {
                VolumeError::TooSmall { least, .. } => Some(least),
                other => panic!("case {number} of {:?}, {wanted}: {other}", case.shape),
            },
        };
        match refusal(budget) {
            None => enough(budget),
            Some(least) => {
                assert!(least > budget, "case {number}");
                enough(least);
                assert_eq!(refusal(least - 1), Some(least), "case {number}");
                refused += 1;
            }
        }
    }
    assert!(ran > 300 && refused > 50, "{ran} {refused}");
}
