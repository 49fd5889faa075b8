//! Which copies are propagated, and what comes of them.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where something is missing"
)]

use crate::common::{Program, View, number, read, window};
use arrayloom_fuse::{Cache, Fused, Options, fuse, propagate};
use arrayloom_ir::{Node, Operand, SlotId};
use std::collections::BTreeSet;

const N: usize = 300;

/// `of` moved on by one row or column, which comes in again at the other end and is copied first. As the steps
/// of axes of extent one mean nothing, they are zero.
fn roll(p: &mut Program, of: &View, axis: usize, live: bool) -> View {
    let out = p.array(&[N, N], live);
    let last = isize::try_from(N).unwrap() - 1;
    let at = |i: isize| if axis == 0 { (i, 0) } else { (0, i) };
    let shape = |n: usize| if axis == 0 { [n, N] } else { [N, n] };
    for (to, from, n) in [(0, last, 1), (1, 0, N - 1)] {
        let mut from = window(of, at(from), shape(n));
        let mut to = window(&out, at(to), shape(n));
        if n == 1 {
            from.1.strides[axis] = 0;
            to.1.strides[axis] = 0;
        }
        p.map("_copy", &to, &[read(&from)]);
    }
    out
}

fn add(p: &mut Program, a: &View, b: &View, live: bool) -> View {
    let out = p.array(&[N, N], live);
    p.map("add", &out, &[read(a), read(b)]);
    out
}

fn propagated(p: &Program) -> Option<Vec<Node>> {
    propagate(&p.nodes, p, &mut Cache::new(), &Options::default())
}

/// The kernels, and the slots that they read.
fn fused(p: &Program) -> (Fused, BTreeSet<SlotId>) {
    let list = propagated(p).unwrap();
    let fused = fuse(&list, p, &mut Cache::new(), &Options::default());
    let slots = fused.groups.iter().flat_map(|group| &group.ins);
    let slots = slots.filter_map(Operand::slot).collect();
    (fused, slots)
}

#[test]
fn what_is_rolled_is_read_where_it_comes_from() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let (down, right) = (roll(&mut p, &a, 0, false), roll(&mut p, &a, 1, false));
    let sum = add(&mut p, &down, &right, false);
    let out = add(&mut p, &sum, &a, true);
    let (fused, slots) = fused(&p);
    assert_eq!(slots, BTreeSet::from([a.0]));
    let written = fused.groups.iter().flat_map(|group| &group.outs);
    assert!(
        written.clone().all(|(slot, _)| *slot == out.0),
        "sums of parts get no memory"
    );
    let points: usize = written.map(|(_, layout)| layout.len()).sum();
    assert_eq!(points, N * N);
    assert_eq!(fused.dead.len(), 4, "nobody reads the copies");
}

#[test]
fn rolls_of_rolls_are_read_where_the_first_comes_from() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, false);
    let both = roll(&mut p, &down, 1, false);
    add(&mut p, &both, &a, true);
    assert_eq!(fused(&p).1, BTreeSet::from([a.0]));
}

#[test]
fn copies_that_the_program_holds_are_read_as_they_are() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, true);
    add(&mut p, &down, &a, true);
    assert!(propagated(&p).is_none());
}

#[test]
fn parts_of_an_array_are_found_in_its_pieces() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, false);
    let parts = [(0, 1), (2, 1)].map(|at| window(&down, at, [N - 2, N - 2]));
    let out = p.array(&[N - 2, N - 2], true);
    p.map("add", &out, &[read(&parts[0]), read(&parts[1])]);
    assert_eq!(fused(&p).1, BTreeSet::from([a.0]));
}

#[test]
fn a_source_that_changes_ends_it() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, false);
    p.map(
        "multiply",
        &window(&a, (299, 5), [1, 1]),
        &[number(2.0), number(3.0)],
    );
    add(&mut p, &down, &a, true);
    assert!(
        propagated(&p).is_none(),
        "the row that comes in again has changed"
    );
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, false);
    p.map("add", &a, &[read(&a), read(&down)]);
    assert!(
        propagated(&p).is_none(),
        "an update in place needs the old values"
    );
}

#[test]
fn what_is_not_copied_is_read_where_it_is() {
    let mut p = Program::default();
    let (a, b) = (p.array(&[N, N], true), p.array(&[N, N], false));
    let rows = |n: usize, at: isize, of: &View| window(of, (at, 0), [n, N]);
    p.map("negative", &rows(1, 0, &b), &[read(&rows(1, 5, &a))]);
    p.map("_copy", &rows(N - 2, 2, &b), &[read(&rows(N - 2, 0, &a))]);
    p.map("_copy", &rows(1, 1, &b), &[read(&rows(1, 7, &a))]);
    assert!(propagated(&p).is_none(), "nobody reads it");
    add(&mut p, &a, &b, true);
    let (found, slots) = fused(&p);
    assert_eq!(slots, BTreeSet::from([a.0]));
    assert_eq!(found.dead.len(), 2, "the copies");
    let mut p = Program::default();
    let (a, b) = (p.array(&[N, N], true), p.array(&[N, N], false));
    p.map("_copy", &rows(N - 1, 1, &b), &[read(&rows(N - 1, 0, &a))]);
    add(&mut p, &a, &b, true);
    let (fused, slots) = fused(&p);
    assert_eq!(slots, BTreeSet::from([a.0, b.0]));
    assert_eq!(
        fused.dead.len(),
        1,
        "only the first row is read, which was there before"
    );
}

#[test]
fn pieces_that_overlap_are_read_as_they_are() {
    let mut p = Program::default();
    let (a, b) = (p.array(&[N, N], true), p.array(&[N, N], false));
    let rows = |n: usize, at: isize, of: &View| window(of, (at, 0), [n, N]);
    for (to, n) in [(0, 2), (1, N - 1)] {
        p.map("_copy", &rows(n, to, &b), &[read(&rows(n, 0, &a))]);
    }
    add(&mut p, &a, &b, true);
    assert!(propagated(&p).is_none());
}

#[test]
fn small_parts_are_not_worth_it() {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let down = roll(&mut p, &a, 0, false);
    add(&mut p, &down, &a, true);
    let options = |seam_bytes| Options {
        seam_bytes,
        ..Options::default()
    };
    assert!(propagate(&p.nodes, &p, &mut Cache::new(), &options(8 * N * N / 2)).is_some());
    assert!(propagate(&p.nodes, &p, &mut Cache::new(), &options(8 * N * N / 2 + 1)).is_none());
}

#[test]
fn long_computations_are_not_cut() {
    let program = |steps: usize| {
        let mut p = Program::default();
        let a = p.array(&[N, N], true);
        let mut last = roll(&mut p, &a, 0, false);
        for _ in 0..steps {
            last = add(&mut p, &last, &a, false);
        }
        add(&mut p, &last, &a, true);
        p
    };
    assert!(propagated(&program(4)).is_some());
    assert!(propagated(&program(6)).is_none());
}
