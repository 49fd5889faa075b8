//! Small programs and the groups they become.

use crate::common::{Program, number, read, shallow_water, window};
use arrayloom_fuse::{Cache, Fused, Options, fuse};
use arrayloom_ir::{Action, LoopSig, Node, Operand, ReduceOp, SlotId};
use arrayloom_types::{DType, Layout};
use smallvec::smallvec;

impl Program {
    fn fuse(&self) -> Fused {
        fuse(&self.nodes, self, &mut Cache::new(), &Options::default())
    }
}

fn text(fused: &Fused) -> String {
    let groups: Vec<String> = fused.groups.iter().map(ToString::to_string).collect();
    groups.join("\n")
}

#[test]
fn a_heat_step_is_one_store_and_one_stencil_with_its_sum() {
    let mut p = Program::default();
    let grid = p.array(&[102, 102], true);
    let work = p.array(&[100, 100], true);
    let [c, n, s, e, w] =
        [(1, 1), (0, 1), (2, 1), (1, 2), (1, 0)].map(|at| window(&grid, at, [100, 100]));
    p.map("_copy", &c, &[read(&work)]);
    let t1 = p.temp("add", &[read(&c), read(&n)]);
    let t2 = p.temp("add", &[read(&t1), read(&s)]);
    let t3 = p.temp("add", &[read(&t2), read(&e)]);
    let t4 = p.temp("add", &[read(&t3), read(&w)]);
    let tmp = p.array(&[100, 100], true);
    p.map("multiply", &tmp, &[number(0.2), read(&t4)]);
    let d = p.temp("subtract", &[read(&tmp), read(&c)]);
    let a = p.temp("absolute", &[read(&d)]);
    let delta = p.sum(&a, 0b11, true);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 2, "{}", text(&fused));
    let stencil = &fused.groups[1];
    assert_eq!(stencil.contracted, 6);
    let outs: Vec<SlotId> = stencil.outs.iter().map(|(slot, _)| *slot).collect();
    assert_eq!(outs, [tmp.0, delta.0]);
    assert_eq!(stencil.ins.len(), 6, "five views and a number");
    let order = &stencil.folds[1].as_ref().unwrap().order;
    assert_eq!((order.stream, order.piece), (2, 10_000));
}

#[test]
fn a_shallow_water_step_is_five_kernels() {
    let p = shallow_water(40);
    let fused = p.fuse();
    let sizes: Vec<(usize, usize)> = fused
        .groups
        .iter()
        .map(|g| (g.ins.len(), g.outs.len()))
        .collect();
    // Columns, rows, half steps both ways, update; numbers count as inputs.
    assert_eq!(sizes, [(6, 6), (6, 6), (9, 3), (9, 3), (17, 3)]);
}

#[test]
fn in_place_updates_of_one_view_are_one_store() {
    let mut p = Program::default();
    let a = p.array(&[50], true);
    let b = p.array(&[50], true);
    p.map("add", &a, &[read(&a), read(&b)]);
    p.map("multiply", &a, &[read(&a), number(2.0)]);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 1);
    assert_eq!(
        text(&fused),
        "group over [50], nodes [0, 1], 0 contracted\n\
         in 0: slot 0 float64 at 0 steps [8]\n\
         in 1: slot 1 float64 at 0 steps [8]\n\
         in 2: one float64\n\
         to 0: slot 0 float64 at 0 steps [8]\n\
         %0 = float64 Input 0\n\
         %1 = float64 Input 1\n\
         %2 = float64 Add %0 %1\n\
         %3 = float64 Input 2\n\
         %4 = float64 Mul %2 %3\n\
         out 0 = %4\n"
    );
}

#[test]
fn a_shifted_self_update_reads_before_it_writes() {
    let mut p = Program::default();
    let a = p.array(&[50], true);
    let (head, tail) = (
        Layout::contiguous(DType::F64, &[49]),
        Layout {
            offset: 8,
            ..Layout::contiguous(DType::F64, &[49])
        },
    );
    let (head, tail) = ((a.0, head), (a.0, tail));
    p.map("add", &tail, &[read(&tail), read(&head)]);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 2, "{}", text(&fused));
    assert_eq!(fused.groups[0].outs[0].0, SlotId(1), "a temporary");
    assert_eq!(fused.groups[1].outs[0], tail);
}

#[test]
fn what_nobody_sees_is_dropped_and_what_is_overwritten_too() {
    let mut p = Program::default();
    let a = p.array(&[50], true);
    let _unused = p.temp("add", &[read(&a), number(1.0)]);
    let out = p.array(&[50], true);
    p.map("add", &out, &[read(&a), number(1.0)]);
    p.map("multiply", &out, &[read(&a), number(3.0)]);
    let fused = p.fuse();
    assert_eq!(fused.dead, [0, 1]);
    assert_eq!(fused.groups.len(), 1);
    assert_eq!(fused.groups[0].nodes, [2]);
}

#[test]
fn a_fold_is_seen_by_later_groups_only() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let twice = p.temp("add", &[read(&a), read(&a)]);
    let rows = p.sum(&twice, 0b10, false);
    let out = p.array(&[30, 40], true);
    p.map("divide", &out, &[read(&twice), read(&rows)]);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 2, "{}", text(&fused));
    assert_eq!(
        fused.groups[0].outs.len(),
        2,
        "the doubled array is needed again"
    );
    let steps = fused.groups[0].outs[1].1.strides.to_vec();
    assert_eq!(steps, [8, 0]);
}

#[test]
fn independent_work_of_another_shape_does_not_part_a_chain() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let v = p.array(&[7], true);
    let out = p.array(&[30, 40], true);
    let t = p.temp("add", &[read(&a), number(1.0)]);
    p.map("negative", &v, &[read(&v)]);
    p.map("sqrt", &out, &[read(&t)]);
    let fused = p.fuse();
    let nodes: Vec<Vec<u32>> = fused.groups.iter().map(|g| g.nodes.clone()).collect();
    assert_eq!(nodes, [vec![0, 2], vec![1]]);
}

#[test]
fn a_write_to_what_a_group_reads_elsewhere_waits() {
    let mut p = Program::default();
    let a = p.array(&[20, 20], true);
    let (left, right) = (window(&a, (0, 0), [20, 10]), window(&a, (0, 5), [20, 10]));
    let x = p.array(&[20, 10], true);
    p.map("sqrt", &x, &[read(&right)]);
    p.map("exp", &left, &[read(&x)]);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 2, "{}", text(&fused));
    let apart = window(&a, (0, 10), [20, 10]);
    let mut p2 = Program::default();
    let b = p2.array(&[20, 20], true);
    assert_eq!(a.0, b.0);
    p2.map("sqrt", &apart, &[read(&left)]);
    p2.map("exp", &left, &[read(&apart)]);
    assert_eq!(p2.fuse().groups.len(), 1);
}

#[test]
fn structure_decides_about_new_code_and_sizes_do_not() {
    let mut cache = Cache::new();
    for n in [10, 20, 30] {
        let mut p = Program::default();
        let a = p.array(&[n, 4], true);
        let out = p.array(&[n, 4], true);
        let t = p.temp("multiply", &[read(&a), number(2.5)]);
        p.map("add", &out, &[read(&t), read(&a)]);
        let fused = fuse(&p.nodes, &p, &mut cache, &Options::default());
        assert_eq!(fused.groups.len(), 1);
    }
    assert_eq!((cache.hits(), cache.misses()), (2, 1));
}

#[test]
fn a_mask_keeps_old_values_and_computes_with_ones_elsewhere() {
    let mut p = Program::default();
    let a = p.array(&[9], true);
    let out = p.array(&[9], true);
    let mask = p.array(&[9], true);
    let mask = Operand::View(mask.0, Layout::contiguous(DType::Bool, &[9]));
    p.map("sqrt", &out, &[read(&a)]);
    p.nodes[0].mask = Some(mask);
    let fused = p.fuse();
    let kernel = fused.groups[0].kernel.to_string();
    assert_eq!(
        kernel,
        "%0 = bool Input 0\n\
         %1 = float64 Input 1\n\
         %2 = float64 Const 0x3ff0000000000000\n\
         %3 = float64 Select %0 %1 %2\n\
         %4 = float64 Sqrt %3\n\
         %5 = float64 Input 2\n\
         %6 = float64 Select %0 %4 %5\n\
         out 0 = %6\n"
    );
}

#[test]
fn without_fusion_every_node_is_a_kernel() {
    let mut p = Program::default();
    let a = p.array(&[50], true);
    let out = p.array(&[50], true);
    let t = p.temp("add", &[read(&a), number(1.0)]);
    p.map("sqrt", &out, &[read(&t)]);
    let options = Options {
        fuse: false,
        ..Options::default()
    };
    let fused = fuse(&p.nodes, &p, &mut Cache::new(), &options);
    assert_eq!(fused.groups.len(), 2);
    assert_eq!(fused.groups[0].contracted, 0);
}

#[test]
fn axes_of_extent_one_do_not_part_groups() {
    let mut p = Program::default();
    let a = p.array(&[1, 50], true);
    let out = p.array(&[50], true);
    let t = p.temp("add", &[read(&a), number(1.0)]);
    let flat = (t.0, Layout::contiguous(DType::F64, &[50]));
    p.map("sqrt", &out, &[read(&flat)]);
    let fused = p.fuse();
    assert_eq!(fused.groups.len(), 1, "{}", text(&fused));
    assert_eq!(fused.groups[0].shape.as_slice(), [50]);
}

#[test]
fn folds_over_the_same_axes_share_a_pass() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let t = p.temp("square", &[read(&a)]);
    let _rows = p.sum(&t, 0b10, true);
    let _again = p.sum(&a, 0b10, true);
    let _columns = p.sum(&t, 0b01, true);
    let fused = p.fuse();
    let nodes: Vec<Vec<u32>> = fused.groups.iter().map(|g| g.nodes.clone()).collect();
    assert_eq!(nodes, [vec![0, 1, 2], vec![3]]);
}

#[test]
fn a_scan_takes_what_it_scans_with_it() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let t = p.temp("square", &[read(&a)]);
    let out = p.array(&[30, 40], true);
    p.push(Node {
        action: Action::Scan {
            op: ReduceOp::Add,
            axis: 1,
        },
        sig: LoopSig {
            ins: smallvec![DType::F64],
            outs: smallvec![DType::F64],
        },
        outs: smallvec![out],
        ins: smallvec![read(&t)],
        mask: None,
        site: 0,
        told: false,
        part: false,
    });
    let _sum = p.sum(&t, 0b10, true);
    let fused = p.fuse();
    let nodes: Vec<Vec<u32>> = fused.groups.iter().map(|g| g.nodes.clone()).collect();
    assert_eq!(nodes, [vec![0, 1], vec![2]]);
}
