//! Small programs and the passes over rows that they become.

use crate::common::{Program, number, read, shallow_water, window};
use arrayloom_fuse::{Cache, Fused, Options, Pass, fuse};
use arrayloom_types::{DType, Layout};

/// Passes of a program, however small.
fn passes(p: &Program) -> Fused {
    let options = Options {
        sweep: true,
        sweep_points: 1,
        sweep_columns: 1,
        sweep_least: 1,
        ..Options::default()
    };
    fuse(&p.nodes, p, &mut Cache::new(), &options)
}

fn text(fused: &Fused) -> String {
    let pass = |pass: &Pass| match pass {
        Pass::Kernel(place) => format!("kernel {place}\n"),
        Pass::Sweep(sweep) => sweep.to_string(),
    };
    fused.passes.iter().map(pass).collect()
}

#[test]
fn half_steps_of_shallow_water_live_in_rings() {
    assert_eq!(
        text(&passes(&shallow_water(40))),
        "\
kernel 0\n\
kernel 1\n\
sweep of groups [2, 3, 4]\n\
ring 0: pitch 304, reach 1\n\
ring 1: pitch 304, reach 1\n\
ring 2: pitch 304, reach 1\n\
ring 3: pitch 312, reach 0\n\
ring 4: pitch 312, reach 0\n\
ring 5: pitch 312, reach 0\n\
block 0: slot 0 at 0 pitch 320, foreign rows 1 and 1\n\
block 1: slot 1 at 0 pitch 320, foreign rows 1 and 1\n\
block 2: slot 2 at 0 pitch 320, foreign rows 1 and 1\n\
stage of 39 rows, 1 ahead, 1 warm: block0[1] block0[0] direct block1[1] block1[0] direct direct block2[1] block2[0] -> ring0[0]+0 ring1[0]+0 ring2[0]+0\n\
stage of 38 rows, 0 ahead, 0 warm: block0[1] block0[1] direct block2[1] block2[1] direct direct block1[1] block1[1] -> ring3[0]+0 ring4[0]+0 ring5[0]+0\n\
stage of 38 rows, 0 ahead, 0 warm: ring1[1]+0 ring1[0]+0 ring4[0]+8 ring4[0]+0 direct block0[1] ring0[1]+0 direct ring0[0]+0 ring5[0]+8 ring3[0]+8 ring5[0]+0 ring3[0]+0 block1[1] ring2[1]+0 ring2[0]+0 block2[1] -> block0[1] block1[1] block2[1]\n\
"
    );
}

/// `work = 0.2 * (c + n + s + e + w)`.
fn stencil(p: &mut Program, grid: &crate::common::View) -> crate::common::View {
    let [c, n, s, e, w] =
        [(1, 1), (0, 1), (2, 1), (1, 2), (1, 0)].map(|at| window(grid, at, [100, 100]));
    let mut sum = c;
    for other in [n, s, e, w] {
        sum = p.temp("add", &[read(&sum), read(&other)]);
    }
    p.temp("multiply", &[number(0.2), read(&sum)])
}

#[test]
fn two_steps_of_heat_go_in_place_and_end_in_a_sum() {
    let mut p = Program::default();
    let grid = p.array(&[102, 102], true);
    let center = window(&grid, (1, 1), [100, 100]);
    for _ in 0..2 {
        let work = stencil(&mut p, &grid);
        p.map("_copy", &center, &[read(&work)]);
    }
    let work = stencil(&mut p, &grid);
    let change = p.temp("subtract", &[read(&work), read(&center)]);
    let size = p.temp("absolute", &[read(&change)]);
    p.sum(&size, 0b11, true);
    assert_eq!(
        text(&passes(&p)),
        "\
sweep of groups [0, 1, 2, 3, 4]\n\
ring 0: pitch 800, reach 1\n\
ring 1: pitch 800, reach 1\n\
block 0: slot 0 at 0 pitch 816, foreign rows 6 and 4\n\
stage of 100 rows, 4 ahead, 8 warm: block0[1] block0[0] block0[2] block0[1] block0[1] direct -> ring0[0]+0\n\
stage of 100 rows, 3 ahead, 7 warm: ring0[0]+0 -> block0[1]\n\
stage of 100 rows, 2 ahead, 5 warm: block0[1] block0[0] block0[2] block0[1] block0[1] direct -> ring1[0]+0\n\
stage of 100 rows, 1 ahead, 4 warm: ring1[0]+0 -> block0[1]\n\
stage of 100 rows, 0 ahead, 2 warm: block0[1] block0[0] block0[2] block0[1] block0[1] direct -> direct\n\
"
    );
}

#[test]
fn rows_less_their_means_are_one_pass() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let out = p.array(&[30, 40], true);
    let sum = p.sum(&a, 0b10, false);
    let mean = p.temp("divide", &[read(&sum), number(40.0)]);
    p.map("subtract", &out, &[read(&a), read(&mean)]);
    assert_eq!(
        text(&passes(&p)),
        "\
sweep of groups [0, 1, 2]\n\
ring 0: pitch 8, reach 0\n\
ring 1: pitch 8, reach 0\n\
block 0: slot 1 at 0 pitch 320, foreign rows 0 and 0\n\
stage of 30 rows, 0 ahead, 0 warm: direct -> ring0[0]+0\n\
stage of 30 rows, 0 ahead, 0 warm: ring0[0]+0 direct -> ring1[0]+0\n\
stage of 30 rows, 0 ahead, 0 warm: direct ring1[0]+0 -> block0[0]\n\
"
    );
}

#[test]
fn columns_less_their_means_are_kernels_of_whole_rows() {
    // A pass over columns would read the matrix once less, and each line of the result before it is written.
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let out = p.array(&[30, 40], true);
    let sum = p.sum(&a, 0b01, false);
    let mean = p.temp("divide", &[read(&sum), number(30.0)]);
    p.map("subtract", &out, &[read(&a), read(&mean)]);
    assert_eq!(text(&passes(&p)), "kernel 0\nkernel 1\nkernel 2\n");
}

#[test]
fn functions_are_called_for_wide_pieces_of_rows_only() {
    let spread = |rows| {
        let mut p = Program::default();
        let a = p.array(&[rows, 2000], true);
        let sum = p.sum(&a, 0b01, false);
        let apart = p.temp("subtract", &[read(&a), read(&sum)]);
        let tanh = p.temp("tanh", &[read(&apart)]);
        p.sum(&tanh, 0b01, true);
        text(&passes(&p))
    };
    assert!(spread(100).contains("panels of 512 columns"));
    assert!(!spread(1000).contains("panels"));
}

#[test]
fn what_only_a_pass_over_columns_reads_lives_in_a_panel() {
    let mut p = Program::default();
    let a = p.array(&[30, 40], true);
    let out = p.array(&[30, 40], true);
    let mean = p.sum(&a, 0b01, false);
    let apart = p.temp("subtract", &[read(&a), read(&mean)]);
    let square = p.temp("multiply", &[read(&apart), read(&apart)]);
    let spread = p.sum(&square, 0b01, false);
    p.map("divide", &out, &[read(&apart), read(&spread)]);
    assert_eq!(
        text(&passes(&p)),
        "\
sweep of groups [0, 1, 2] over panels of 512 columns\n\
ring 0: pitch 8, reach 0\n\
block 0: slot 2 at 0 pitch 8, foreign rows 0 and 0\n\
block 1: slot 5 at 0 pitch 8, foreign rows 0 and 0\n\
block 2: slot 1 at 0 pitch 8, foreign rows 0 and 0\n\
stage of 40 rows, 0 ahead, 0 warm: direct -> block0[0]\n\
stage of 40 rows, 0 ahead, 0 warm: direct block0[0] -> ring0[0]+0 block1[0]\n\
stage of 40 rows, 0 ahead, 0 warm: ring0[0]+0 block1[0] -> block2[0]\n\
"
    );
}

#[test]
fn what_has_no_relation_between_rows_ends_a_pass() {
    let mut p = Program::default();
    let a = p.array(&[40, 40], true);
    let twice = p.temp("add", &[read(&a), read(&a)]);
    let turned = Layout {
        strides: [8, 320].as_slice().into(),
        ..Layout::contiguous(DType::F64, &[40, 40])
    };
    let turned = (twice.0, turned);
    let out = p.array(&[40, 40], true);
    p.map("add", &out, &[read(&turned), read(&a)]);
    assert_eq!(text(&passes(&p)), "kernel 0\nkernel 1\n");
}

#[test]
fn steps_of_a_volume_are_one_pass_while_their_planes_fit() {
    let mut p = Program::default();
    let extents = [66, 134, 130];
    let grid = p.array(&extents, true);
    let inner = |axis: usize, by: isize| {
        let mut layout = Layout::contiguous(DType::F64, &extents);
        layout.shape = [64, 132, 128].as_slice().into();
        layout.offset = layout.strides.iter().sum::<isize>() + by * layout.strides[axis];
        (grid.0, layout)
    };
    let center = inner(0, 0);
    for _ in 0..3 {
        let mut sum = center.clone();
        for axis in 0..3 {
            for by in [-1, 1] {
                sum = p.temp("add", &[read(&sum), read(&inner(axis, by))]);
            }
        }
        let work = p.temp("multiply", &[number(0.125), read(&sum)]);
        p.map("_copy", &center, &[read(&work)]);
    }
    let options = |sweep_planes| Options {
        sweep: true,
        sweep_planes,
        ..Options::default()
    };
    let passes = |planes| fuse(&p.nodes, &p, &mut Cache::new(), &options(planes)).passes;
    let together = passes(8 << 20);
    assert!(matches!(together.as_slice(), [Pass::Sweep(sweep)] if sweep.groups.len() == 6));
    assert!(passes(1 << 20).len() > 1);
    let apart = passes(1 << 10);
    assert!(apart.iter().all(|pass| matches!(pass, Pass::Kernel(_))));
}
