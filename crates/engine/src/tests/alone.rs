//! Lines that want their results at once.

use super::{Array, Operand, World, guarded, map_node};
use arrayloom_types::{DType, Scalar};

const SITE: u32 = 4711;
/// Bytes of each array.
const NBYTES: usize = 160_000;

fn node(out: &Array, a: &Array, site: u32) -> arrayloom_ir::Node {
    let operand = Operand::View(a.slot, a.layout.clone());
    let three = Operand::Scalar(Scalar::from_f64(DType::F64, 3.0));
    let mut node = map_node("add", out, &[operand, three], None);
    node.site = site;
    node
}

/// The bits of one value.
fn bits(w: &World, array: &Array) -> u64 {
    w.floats(array)[7].to_bits()
}

fn learn(w: &World, a: &Array, site: u32) {
    for _ in 0..4 {
        assert!(!w.engine.runs_at_once(site, NBYTES));
        let c = w.lazy(DType::F64, &[20_000]);
        w.record(node(&c, a, site)).unwrap();
        assert_eq!(bits(w, &c), 4.0f64.to_bits());
        w.engine.release(c.slot);
    }
}

#[test]
fn a_known_line_runs_at_once_in_memory_that_was_there() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    learn(w, &a, SITE);
    let mut places = Vec::new();
    for _ in 0..3 {
        assert!(w.engine.runs_at_once(SITE, NBYTES));
        let c = w.ready(DType::F64, &[20_000], &[]);
        w.engine.run_now(node(&c, &a, SITE)).unwrap();
        assert!(!w.engine.is_pending(c.slot));
        assert_eq!(w.peek(&c)[..8], 4f64.to_le_bytes());
        places.push(c.addr);
        w.engine.release(c.slot);
    }
    assert!(
        places.iter().all(|&place| place == places[0]),
        "warm memory"
    );
    w.engine.release(a.slot);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn what_is_pending_runs_first() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    learn(w, &a, SITE + 1);
    let b = w.lazy(DType::F64, &[20_000]);
    w.record(node(&b, &a, SITE + 2)).unwrap();
    assert!(
        !w.engine.runs_at_once(SITE + 1, NBYTES),
        "it may meet the other one"
    );
    let c = w.ready(DType::F64, &[20_000], &[]);
    w.engine.run_now(node(&c, &b, SITE + 1)).unwrap();
    assert_eq!(bits(w, &c), 7.0f64.to_bits());
    assert_eq!(bits(w, &b), 4.0f64.to_bits());
    for array in [a, b, c] {
        w.engine.release(array.slot);
    }
}

#[test]
fn trimming_tells_what_the_system_got() {
    let (w, _turn) = guarded();
    w.engine.trim();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    w.engine.release(a.slot);
    let cached = w.engine.memory_report(0).cached;
    assert!(cached >= 160_000, "it waits at its address");
    assert!(w.engine.trim() <= cached, "each byte counts once");
    assert_eq!(w.engine.memory_report(0).cached, 0);
}

/// Records an expression of two operations and looks at its result: `b = a + 3`, `c = b + 3`.
fn look_at_end(w: &World, a: &Array, site: u32) {
    let b = w.lazy(DType::F64, &[20_000]);
    w.record(node(&b, a, site)).unwrap();
    assert!(!w.engine.ends_at_once(site + 1, &[b.slot]));
    let c = w.lazy(DType::F64, &[20_000]);
    w.record(node(&c, &b, site + 1)).unwrap();
    w.engine.release(b.slot);
    assert_eq!(bits(w, &c), 7.0f64.to_bits());
    w.engine.release(c.slot);
}

fn learn_end(w: &World, a: &Array, site: u32) {
    (0..4).for_each(|_| look_at_end(w, a, site));
}

#[test]
fn an_expression_that_is_looked_at_runs_with_its_last_operation() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    let site = SITE + 10;
    learn_end(w, &a, site);
    for _ in 0..3 {
        let b = w.lazy(DType::F64, &[20_000]);
        w.record(node(&b, &a, site)).unwrap();
        assert!(w.engine.ends_at_once(site + 1, &[b.slot]));
        let c = w.ready(DType::F64, &[20_000], &[]);
        w.engine.run_end(node(&c, &b, site + 1)).unwrap();
        assert_eq!(w.peek(&c)[..8], 7f64.to_le_bytes());
        assert!(w.engine.is_pending(b.slot), "it need not be stored");
        w.engine.release(b.slot);
        assert!(w.engine.is_idle(), "its operation went with it");
        w.engine.release(c.slot);
    }
    w.engine.release(a.slot);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn an_operand_that_is_wanted_after_all_is_computed() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    let site = SITE + 20;
    learn_end(w, &a, site);
    let b = w.lazy(DType::F64, &[20_000]);
    w.record(node(&b, &a, site)).unwrap();
    assert!(w.engine.ends_at_once(site + 1, &[b.slot]));
    let c = w.ready(DType::F64, &[20_000], &[]);
    w.engine.run_end(node(&c, &b, site + 1)).unwrap();
    w.engine.sync_write(a.slot).unwrap();
    w.write(&a, &vec![50.0; 20_000]);
    assert_eq!(bits(w, &b), 4.0f64.to_bits(), "of the old value");
    assert_eq!(bits(w, &c), 7.0f64.to_bits());
    for array in [a, b, c] {
        w.engine.release(array.slot);
    }
}

#[test]
fn other_operations_in_the_list_keep_an_expression_lazy() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
    let site = SITE + 30;
    learn_end(w, &a, site);
    let other = w.lazy(DType::F64, &[20_000]);
    w.record(node(&other, &a, site + 5)).unwrap();
    let b = w.lazy(DType::F64, &[20_000]);
    w.record(node(&b, &a, site)).unwrap();
    assert!(!w.engine.ends_at_once(site + 1, &[b.slot]));
    w.engine.flush().unwrap();
    for array in [a, b, other] {
        w.engine.release(array.slot);
    }
}

#[test]
fn short_expressions_of_new_arrays_run_one_by_one() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let site = SITE + 40;
    assert!(w.engine.is_in_cache(NBYTES));
    for _ in 0..4 {
        assert!(!w.engine.runs_at_once(site, NBYTES));
        let a = w.ready(DType::F64, &[20_000], &vec![1.0; 20_000]);
        look_at_end(w, &a, site);
        w.engine.release(a.slot);
    }
    assert!(w.engine.runs_at_once(site, NBYTES));
    assert!(w.engine.runs_at_once(site + 1, NBYTES));
    assert!(!w.engine.runs_at_once(site, 1 << 30), "no cache holds it");
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn operands_whose_values_wait_in_blocks_cost_no_barrier() {
    let (w, _turn) = guarded();
    let site = SITE + 50;
    for _ in 0..4 {
        let read = w.ready(DType::F64, &[20_000], &vec![-2.0; 20_000]);
        let a = w.lazy(DType::F64, &[20_000]);
        w.record(node(&a, &read, SITE + 55)).unwrap();
        w.engine.flush().unwrap();
        look_at_end(w, &a, site);
        w.engine.release(a.slot);
        w.engine.release(read.slot);
    }
    assert!(!w.engine.runs_at_once(site, NBYTES), "one pass is quicker");
}
