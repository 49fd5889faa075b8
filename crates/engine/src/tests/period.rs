//! Long loops run in lists of whole iterations, which share one plan.

use super::*;

const N: u16 = 5000;

fn array(w: &World) -> Array {
    w.lazy(DType::F64, &[usize::from(N)])
}

fn ready(w: &World, values: &[f64]) -> Array {
    w.ready(DType::F64, &[values.len()], values)
}

/// One iteration, five operations: `a = abs((a + x) * 0.5 - x * a)`, each at its place in the program.
fn iterate(w: &World, a: Array, x: f64) -> Array {
    let place = |site: u32, name: &str, ins: &[Operand]| {
        let out = array(w);
        let mut node = map_node(name, &out, ins, None);
        node.site = site;
        w.record(node).unwrap();
        out
    };
    let sum = place(11, "add", &[read(&a), number(x)]);
    let half = place(12, "multiply", &[read(&sum), number(0.5)]);
    let product = place(13, "multiply", &[read(&a), number(x)]);
    let difference = place(14, "subtract", &[read(&half), read(&product)]);
    let new = place(15, "absolute", &[read(&difference)]);
    for old in [a, sum, half, product, difference] {
        w.engine.release(old.slot);
    }
    new
}

#[test]
fn lists_of_a_long_loop_are_alike() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let full = w.engine.settings().max_pending_nodes.0;
    let start: Vec<f64> = (0..N).map(|i| f64::from(i) / 8.0).collect();
    let mut expected = start.clone();
    let mut a = ready(w, &start);
    // What comes before the loop is no part of an iteration.
    w.map("negative", &a, &[read(&a)]).unwrap();
    for e in &mut expected {
        *e = -*e;
    }
    let mut plans = Vec::new();
    let xs = (0..7u8).map(|i| 0.25 + f64::from(i) / 64.0).cycle();
    for x in xs.take(2 * full) {
        a = iterate(w, a, x);
        for e in &mut expected {
            *e = ((*e + x) * 0.5 - *e * x).abs();
        }
        let pending = w.engine.pending_nodes();
        assert!(pending < full);
        if pending < 5 {
            plans.push(known_plans(w));
        }
    }
    assert!(plans.len() >= 9, "{plans:?}");
    assert!(
        plans[2..].iter().all(|&known| known == plans[2]),
        "{plans:?}"
    );
    assert_eq!(w.floats(&a), expected);
    w.engine.release(a.slot);
    assert_eq!(w.engine.slots_in_use(), slots);
}

fn known_plans(w: &World) -> usize {
    crate::engine::lock(&w.engine.cache).plans()
}

#[test]
fn what_stays_in_a_full_list_keeps_what_it_reads() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let a = ready(w, &vec![3.0; usize::from(N)]);
    let [b, c, d] = [0; 3].map(|_| array(w));
    w.map("square", &b, &[read(&a)]).unwrap();
    w.map("add", &c, &[read(&b), number(1.0)]).unwrap();
    w.map("multiply", &d, &[read(&c), read(&b)]).unwrap();
    w.engine.release(b.slot);
    w.engine.release(c.slot);
    w.engine.run_first(1).unwrap();
    assert_eq!(w.engine.pending_nodes(), 2);
    // The program may write to `a` now, and not before.
    w.write(&a, &vec![0.0; usize::from(N)]);
    w.engine.run_first(9).unwrap();
    assert_eq!(w.engine.pending_nodes(), 0);
    assert_eq!(w.floats(&d), vec![90.0; usize::from(N)]);
    for array in [a, d] {
        w.engine.release(array.slot);
    }
    assert_eq!(w.engine.slots_in_use(), slots);
}
