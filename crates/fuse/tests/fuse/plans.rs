//! Lists that are alike share a plan; those that differ in what a plan depends on do not.

#![expect(
    clippy::unwrap_used,
    reason = "a test stops where something is missing"
)]

use crate::common::{Program, number, read, shallow_water, window};
use arrayloom_fuse::{Cache, Options, fuse, propagate};
use arrayloom_ir::{Action, Node, Operand, SlotId};
use arrayloom_types::{DType, Layout, Scalar};

const N: usize = 300;

/// Everything that planning gives, as text.
fn plan(p: &Program, cache: &mut Cache, options: &Options) -> String {
    let list = propagate(&p.nodes, p, cache, options);
    let fused = fuse(list.as_deref().unwrap_or(&p.nodes), p, cache, options);
    format!("{list:#?} {fused:#?}")
}

/// Two rolled rows, a masked product with scalars, sums, and a store into a part.
fn program() -> Program {
    let mut p = Program::default();
    let a = p.array(&[N, N], true);
    let rolled = p.array(&[N, N], false);
    let rows = |of, at, n| window(of, (at, 0), [n, N]);
    p.map(
        "_copy",
        &rows(&rolled, 0, N - 1),
        &[read(&rows(&a, 1, N - 1))],
    );
    let last = rows(&a, 0, 1);
    p.map(
        "_copy",
        &rows(&rolled, N.cast_signed() - 1, 1),
        &[read(&last)],
    );
    let sum = p.temp("add", &[read(&rolled), number(3.0)]);
    let product = p.temp("multiply", &[read(&sum), number(3.0)]);
    let ratio = p.temp("divide", &[read(&product), number(7.0)]);
    let total = p.sum(&ratio, 0b01, true);
    let inner = window(&a, (1, 1), [N - 2, N - 2]);
    p.map(
        "subtract",
        &inner,
        &[read(&inner), read(&window(&total, (0, 1), [1, N - 2]))],
    );
    p
}

/// The same operations on slots further on, with other scalars.
fn alike(p: &Program) -> Program {
    const ON: usize = 40;
    let on = |slot: &mut SlotId| slot.0 += u32::try_from(ON).unwrap_or(0);
    let mut other = p.clone();
    other.sizes = [vec![0; ON], p.sizes.clone()].concat();
    other.live = [vec![false; ON], p.live.clone()].concat();
    for node in &mut other.nodes {
        for (slot, _) in &mut node.outs {
            on(slot);
        }
        for operand in node.ins.iter_mut().chain(&mut node.mask) {
            match operand {
                Operand::View(slot, _) | Operand::Table(slot, _) => on(slot),
                Operand::Scalar(scalar) => scalar.bytes[0] ^= 0x55,
            }
        }
    }
    other
}

#[test]
fn lists_that_are_alike_share_a_plan() {
    for (p, plans) in [(program(), 2), (shallow_water(300), 1)] {
        let mut cache = Cache::new();
        let options = Options {
            sweep: true,
            ..Options::default()
        };
        plan(&p, &mut cache, &options);
        assert_eq!(cache.plans(), plans);
        let misses = cache.misses();
        for p in [alike(&p), alike(&alike(&p)), p] {
            let fresh = plan(&p, &mut Cache::new(), &options);
            assert!(plan(&p, &mut cache, &options) == fresh);
        }
        assert_eq!((cache.plans(), cache.misses()), (plans, misses));
    }
}

/// Something that a plan depends on, changed.
type Edit = fn(&mut Program);

/// The node that divides.
const DIVIDES: usize = 4;
/// The node that sums.
const SUMS: usize = 5;

const EDITS: [(&str, Edit); 15] = [
    ("who is alive", |p| p.live[3] = true),
    ("sizes", |p| p.sizes[1] += 8),
    ("order", |p| p.nodes.swap(0, 1)),
    ("length", |p| drop(p.nodes.pop())),
    ("slots", |p| {
        p.nodes[DIVIDES].ins[0] = p.nodes[DIVIDES - 1].ins[0].clone();
    }),
    ("which scalars are equal", |p| {
        p.nodes[3].ins[1] = number(4.0);
    }),
    ("dtypes of scalars", |p| {
        p.nodes[3].ins[1] = Operand::Scalar(Scalar::from_f64(DType::F32, 3.0));
    }),
    ("scalars and views", |p| {
        p.nodes[3].ins[1] = p.nodes[3].ins[0].clone();
    }),
    ("offsets", |p| view(&mut p.nodes[0]).offset += 8),
    ("steps", |p| view(&mut p.nodes[2]).strides[0] = 0),
    ("dtypes", |p| view(&mut p.nodes[2]).dtype = DType::I64),
    ("loops", |p| {
        let sig = &mut p.nodes[DIVIDES].sig;
        sig.ins
            .iter_mut()
            .chain(&mut sig.outs)
            .for_each(|dtype| *dtype = DType::F32);
    }),
    ("operations", |p| {
        p.nodes[DIVIDES].action = p.nodes[DIVIDES - 1].action;
    }),
    ("masks", |p| {
        let mask = Layout::contiguous(DType::Bool, &[N, N]);
        p.nodes[DIVIDES].mask = Some(Operand::View(SlotId(0), mask));
    }),
    ("starting values", |p| {
        if let Action::Reduce { initial, .. } = &mut p.nodes[SUMS].action {
            *initial = Some(Scalar::from_f64(DType::F64, 1.0));
        }
    }),
];

fn view(node: &mut Node) -> &mut Layout {
    let layout = node.ins.iter_mut().find_map(|operand| match operand {
        Operand::View(_, layout) => Some(layout),
        Operand::Scalar(_) | Operand::Table(..) => None,
    });
    layout.unwrap()
}

#[test]
fn whatever_a_plan_depends_on_is_in_its_key() {
    let options = Options::default();
    for (what, edit) in EDITS {
        let mut cache = Cache::new();
        plan(&program(), &mut cache, &options);
        let mut p = program();
        edit(&mut p);
        let known = cache.plans();
        let warm = plan(&p, &mut cache, &options);
        assert!(cache.plans() > known, "{what}");
        assert!(warm == plan(&p, &mut Cache::new(), &options), "{what}");
    }
    let mut cache = Cache::new();
    plan(&program(), &mut cache, &options);
    let known = cache.plans();
    let apart = Options {
        fuse: false,
        ..options
    };
    plan(&program(), &mut cache, &apart);
    assert!(cache.plans() > known);
}
