//! The planner against brute force, against its lower bound, and its promises in random cases.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use arrayloom_plan::{
    AxisNeed, Buffers, Edge, Operand, Plan, Problem, Value, Window, lower_bound, plan,
};
use arrayloom_types::Region;
use std::sync::Arc;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, n: i64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((self.0 >> 33) % n.unsigned_abs()).unwrap()
    }

    fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high - low + 1)
    }
}

fn filter(of: usize, shape: &[i64], halo: &[(i64, i64)], edge: Edge, bytes: u64) -> Value {
    let need = |(axis, &(b, f)): (usize, &(i64, i64))| AxisNeed::Window {
        axis,
        window: Window::halo(b, f),
        edge,
    };
    Value {
        operands: vec![Operand {
            value: of,
            needs: halo.iter().enumerate().map(need).collect(),
        }],
        ..Value::source(shape, bytes)
    }
}

fn problem(values: &[Value], budget: u64, sweep: bool) -> Problem<'_> {
    let shape = &values[values.len() - 1].shape;
    Problem {
        values,
        write: Region::whole(shape),
        budget,
        align: shape.iter().map(|_| 1).collect(),
        uncut: Vec::new(),
        buffers: Buffers::ONE_BY_ONE,
        sweep,
    }
}

/// All ways to cut an axis by the rule for windows: near-equal reads, cores in between.
fn cuts(n: i64, (b, f): (i64, i64)) -> Vec<Vec<(i64, i64)>> {
    let h = b + f;
    let parts_of = |len: i64, parts: i64, i: i64| i * (len / parts) + i.min(len % parts);
    (1..=(n - h).max(1))
        .map(|parts| {
            (0..parts)
                .map(|i| {
                    let at = |i| parts_of(n - h, parts, i);
                    let lo = if i == 0 { 0 } else { at(i) + b };
                    (lo, if i + 1 == parts { n } else { at(i + 1) + h - f })
                })
                .collect()
        })
        .collect()
}

/// The fewest bytes that a grid of independent blocks reads, by trying every grid.
fn brute(shape: &[i64], halo: &[(i64, i64)], voxels: i64) -> Option<i64> {
    let all: Vec<Vec<(i64, i64)>> = shape
        .iter()
        .zip(halo)
        .map(|(&n, &(b, f))| {
            let grids = cuts(n, (b, f));
            let facts = grids.iter().map(|cores| {
                let read = |&(lo, hi): &(i64, i64)| (hi + f).min(n) - (lo - b).max(0);
                (
                    cores.iter().map(read).sum::<i64>(),
                    cores.iter().map(read).max().unwrap(),
                )
            });
            facts.collect()
        })
        .collect();
    let mut best = None;
    for a in &all[0] {
        for b in &all[1] {
            for c in &all[2] {
                let total = a.0 * b.0 * c.0;
                if a.1 * b.1 * c.1 <= voxels && best.is_none_or(|old| total < old) {
                    best = Some(total);
                }
            }
        }
    }
    best
}

#[test]
fn the_grid_is_the_best_of_all_grids() {
    let mut random = Random(7);
    let (mut cases, mut feasible) = (0, 0);
    while feasible < 1000 {
        cases += 1;
        assert!(cases < 4000, "{feasible} cases could be planned");
        let shape: Vec<i64> = (0..3).map(|_| random.between(3, 24)).collect();
        let halo: Vec<(i64, i64)> = shape
            .iter()
            .map(|n| (random.below((n / 2).min(4)), random.below((n / 2).min(4))))
            .collect();
        let all: i64 = shape.iter().product();
        let voxels = random.between(all / 40 + 1, all);
        // The result weighs nothing, so the budget counts what is read.
        let values = [
            Value::source(&shape, 1),
            filter(0, &shape, &halo, Edge::Clip, 0),
        ];
        let found = plan(&problem(&values, voxels.unsigned_abs(), false));
        let Some(best) = brute(&shape, &halo, voxels) else {
            continue;
        };
        let found = found.unwrap();
        assert_eq!(
            found.read_bytes,
            u128::from(best.unsigned_abs()),
            "{shape:?} {halo:?} {voxels}"
        );
        feasible += 1;
    }
}

/// What plans of 300 large volumes read, over the bound: grids, and slabs where they are better. Windows go from
/// 3 to 51 voxels, evenly or with small ones as common as large ones.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "figures"
)]
fn over_the_bound(small_windows: bool) -> (Vec<f64>, Vec<f64>) {
    let mut random = Random(3);
    let (mut grids, mut slabs) = (Vec::new(), Vec::new());
    let window = |random: &mut Random| {
        let half = if small_windows {
            (26f64).powf(random.below(1000) as f64 / 1000.0) as i64
        } else {
            random.between(1, 25)
        };
        (half, half)
    };
    while grids.len() < 300 {
        let (x, y) = (256 << random.below(5), 256 << random.below(5));
        let shape = [random.between(16, 1000), y, x];
        let (deep, flat) = (window(&mut random), window(&mut random));
        let halo = [deep, flat, flat];
        let all: i64 = shape.iter().product();
        let budget = all as f64 * (0.02 + 0.78 * random.below(1000) as f64 / 1000.0);
        let values = [
            Value::source(&shape, 1),
            filter(0, &shape, &halo, Edge::Clip, 0),
        ];
        let full: Vec<i64> = halo.iter().map(|h| h.0 + h.1).collect();
        let bound = lower_bound(&shape, &full, budget);
        let Ok(found) = plan(&problem(&values, budget as u64, false)) else {
            continue;
        };
        assert!(found.peak as f64 <= budget);
        grids.push(found.read_bytes as f64 / bound);
        let found = plan(&problem(&values, budget as u64, true)).unwrap();
        assert!(found.peak as f64 <= budget);
        slabs.push(found.read_bytes as f64 / bound);
    }
    grids.sort_by(f64::total_cmp);
    slabs.sort_by(f64::total_cmp);
    assert!(grids[0] >= 0.999, "nothing reads less: {}", grids[0]);
    (grids, slabs)
}

#[test]
fn large_volumes_come_close_to_the_bound() {
    let (grids, slabs) = over_the_bound(true);
    assert!(grids[150] <= 1.005, "median of grids {}", grids[150]);
    assert!(grids[270] <= 1.02, "p90 of grids {}", grids[270]);
    assert!(slabs[150] <= 1.005, "median of plans {}", slabs[150]);
    assert!(slabs[270] <= 1.02, "p90 of plans {}", slabs[270]);
}

#[test]
fn volumes_with_large_windows_come_close_to_the_bound() {
    // Few cuts, and whole numbers of them: no grid reads less.
    let (grids, slabs) = over_the_bound(false);
    assert!(grids[150] <= 1.006, "median of grids {}", grids[150]);
    assert!(grids[270] <= 1.022, "p90 of grids {}", grids[270]);
    assert!(slabs[150] <= 1.005, "median of plans {}", slabs[150]);
    assert!(slabs[270] <= 1.02, "p90 of plans {}", slabs[270]);
}

/// Random chains and graphs with halos, views, broadcasts and wrapped axes.
fn random_values(random: &mut Random) -> Vec<Value> {
    let rank = usize::try_from(random.between(1, 4)).unwrap();
    let shape: Vec<i64> = (0..rank).map(|_| random.between(1, 60)).collect();
    let edges = [
        Edge::Clip,
        Edge::Reflect,
        Edge::Mirror,
        Edge::Nearest,
        Edge::Wrap,
    ];
    let mut values = vec![Value::source(
        &shape,
        u64::try_from(random.between(1, 8)).unwrap(),
    )];
    for _ in 0..random.between(1, 4) {
        let of = usize::try_from(random.below(i64::try_from(values.len()).unwrap())).unwrap();
        let halo: Vec<(i64, i64)> = (0..rank)
            .map(|_| (random.below(5), random.below(5)))
            .collect();
        let edge = edges[usize::try_from(random.below(5)).unwrap()];
        let mut value = filter(of, &shape, &halo, edge, 4);
        if random.below(3) == 0 {
            let same = (0..rank).map(AxisNeed::same).collect();
            value.operands.push(Operand {
                value: 0,
                needs: same,
            });
        }
        let per_voxel = random.below(3).unsigned_abs();
        value.scratch =
            Arc::new(move |e| 64 + per_voxel * e.iter().product::<i64>().unsigned_abs());
        values.push(value);
    }
    values
}

/// What the largest block needs, from the boxes themselves.
fn true_peak(values: &[Value], found: &Plan, buffers: Buffers) -> u64 {
    let mut largest = vec![0u64; values.len()];
    let mut read = vec![0u64; values.len()];
    let mut scratch = 0u64;
    for i in 0..found.len() {
        for (v, need) in found.boxes(values, i).iter().enumerate() {
            largest[v] = largest[v].max(need.voxels() * values[v].bytes);
            // In a slab a piece is read beside the block; otherwise a whole block.
            let piece = found.sweep.map_or(need.clone(), |a| {
                let end = need.hi[a].min(need.lo[a].saturating_add(found.pieces[v]));
                need.with_axis(a, need.lo[a], end)
            });
            read[v] = read[v].max(piece.voxels() * values[v].bytes);
            if !values[v].is_source() {
                scratch = scratch.max((values[v].scratch)(&need.extents()));
            }
        }
    }
    let last = values.len() - 1;
    let buffers = |v: usize| match (values[v].is_source(), v == last) {
        (true, _) if buffers.source > 1 => largest[v] + read[v],
        (false, true) => largest[v] * buffers.sink,
        _ => largest[v],
    };
    (0..values.len()).map(buffers).sum::<u64>() + scratch
}

#[test]
fn no_block_of_any_plan_is_larger_than_planned() {
    let mut random = Random(11);
    let mut planned = 0;
    for _ in 0..10_000 {
        let values = random_values(&mut random);
        let mut p = problem(&values, 1 << random.between(6, 20), random.below(2) == 0);
        p.buffers = if random.below(2) == 0 {
            Buffers::OVERLAPPED
        } else {
            Buffers::ONE_BY_ONE
        };
        if random.below(3) == 0 {
            p.align = p
                .write
                .extents()
                .iter()
                .map(|_| random.between(1, 9))
                .collect();
        }
        let Ok(found) = plan(&p) else { continue };
        planned += 1;
        assert!(found.peak <= p.budget);
        // Every block of every thousandth plan would be slow: look at those with few blocks.
        if found.len() <= 200 {
            let peak = true_peak(&values, &found, p.buffers);
            assert!(
                peak <= found.peak,
                "{peak} > {} {values:?} {found:?}",
                found.peak
            );
        }
    }
    assert!(planned > 5000, "{planned}");
}

#[test]
fn cores_cover_the_result_once_and_the_rest_is_what_is_left() {
    let mut random = Random(5);
    for _ in 0..300 {
        let values = random_values(&mut random);
        let p = problem(&values, 1 << random.between(8, 14), true);
        let Ok(found) = plan(&p) else { continue };
        if found.len() > 400 {
            continue;
        }
        let cores: Vec<Region> = (0..found.len()).map(|i| found.core(i)).collect();
        assert_eq!(
            cores.iter().map(Region::voxels).sum::<u64>(),
            p.write.voxels()
        );
        for (i, a) in cores.iter().enumerate() {
            assert!(p.write.contains(a) && !a.is_empty());
            assert!(cores[..i].iter().all(|b| a.clip(b).is_empty()));
        }
        let done = random
            .below(i64::try_from(found.len()).unwrap() + 1)
            .unsigned_abs();
        let rest = found.rest(done);
        let left = usize::try_from(done).unwrap();
        assert!(rest.len() <= 5, "few boxes: {rest:?}");
        let voxels: u64 = cores[left..].iter().map(Region::voxels).sum();
        assert_eq!(rest.iter().map(Region::voxels).sum::<u64>(), voxels);
        for core in &cores[..left] {
            assert!(rest.iter().all(|r| r.clip(core).is_empty()));
        }
    }
}

#[test]
fn slabs_read_nothing_twice_if_their_planes_fit() {
    let mut random = Random(9);
    for _ in 0..100 {
        let shape = [
            random.between(20, 400),
            random.between(8, 64),
            random.between(8, 64),
        ];
        let (b, f) = (random.below(6), random.between(1, 6));
        let values = [
            Value::source(&shape, 4),
            filter(0, &shape, &[(b, f), (2, 2), (2, 2)], Edge::Reflect, 4),
        ];
        let plane = (shape[1] * shape[2] * 4).unsigned_abs();
        let budget = plane * ((b + f + 1).unsigned_abs() + 1);
        let found = plan(&problem(&values, budget, true)).unwrap();
        assert!(found.redundancy().abs() < 1e-12, "{shape:?} {found:?}");
    }
}

#[test]
fn what_does_not_fit_says_the_least_that_does() {
    let shape = [50, 50];
    let values = [
        Value::source(&shape, 4),
        filter(0, &shape, &[(3, 3), (3, 3)], Edge::Reflect, 4),
    ];
    let refused = plan(&problem(&values, 100, true)).unwrap_err();
    assert!(refused.least > 100);
    let fits = plan(&problem(&values, refused.least, true)).unwrap();
    assert!(fits.peak <= refused.least);
}

#[test]
fn cores_are_whole_granules() {
    let shape = [100, 70];
    let values = [
        Value::source(&shape, 4),
        filter(0, &shape, &[(3, 3), (3, 3)], Edge::Reflect, 4),
    ];
    let mut p = problem(&values, 20_000, true);
    p.align = [16, 32].as_slice().into();
    let found = plan(&p).unwrap();
    assert!(found.len() > 1);
    for (d, bounds) in found.bounds.iter().enumerate() {
        assert!(
            bounds.iter().all(|b| b % p.align[d] == 0 || *b == shape[d]),
            "{bounds:?}"
        );
    }
}
