//! Every single allocation and run of a program fails once; trying again gives the same result.

use super::*;

/// Records a program of several groups and gives the arrays it keeps.
fn program(w: &World, source: &Array) -> Vec<Array> {
    let shape = [12, 10];
    let [a, b, t, u] = std::array::from_fn(|_| w.lazy(DType::F64, &shape));
    let rows = w.lazy(DType::F64, &[12, 1]);
    let inner = a.window(&[1, 1], &[10, 8], 1);
    let left = a.window(&[1, 0], &[10, 8], 1);
    let record = |node| w.engine.record(node).unwrap();
    record(map_node("add", &a, &[read(source), number(1.0)], None));
    record(map_node("multiply", &t, &[read(&a), read(source)], None));
    record(reduce_node(ReduceOp::Add, 0b10, &t, &rows));
    record(map_node(
        "subtract",
        &inner,
        &[read(&inner), read(&left)],
        None,
    ));
    record(map_node("divide", &u, &[read(&a), read(&rows)], None));
    record(map_node("maximum", &b, &[read(&u), read(&t)], None));
    record(map_node("add", &a, &[read(&a), read(&b)], None));
    w.engine.release(t.slot);
    w.engine.release(u.slot);
    vec![a, b, rows]
}

fn values() -> Vec<f64> {
    (0..120).map(|i| f64::from(i) * 0.37 - 3.0).collect()
}

fn results(w: &World, arrays: &[Array]) -> Vec<Vec<u8>> {
    let all = arrays.iter().map(|array| w.bytes(array)).collect();
    for array in arrays {
        w.engine.release(array.slot);
    }
    all
}

#[test]
fn every_failure_can_be_tried_again() {
    let (w, _turn) = guarded();
    let source = w.ready(DType::F64, &[12, 10], &values());
    let arrays = program(w, &source);
    let expected = results(w, &arrays);
    let slots = w.engine.slots_in_use();
    let live = w.engine.pool().stats().live_bytes;
    let mut failures = 0;
    for what in ["run", "alloc"] {
        for at in 0..20 {
            let arrays = program(w, &source);
            let counter = match what {
                "run" => &w.device.runs_left,
                _ => &w.engine.allocations_left,
            };
            counter.store(at, Ordering::Relaxed);
            let first = w.engine.flush();
            counter.store(i64::MAX, Ordering::Relaxed);
            failures += usize::from(first.is_err());
            assert_eq!(first.is_err(), w.engine.pending_nodes() > 0);
            assert_eq!(results(w, &arrays), expected, "{what} {at}");
            assert_eq!(w.engine.slots_in_use(), slots, "{what} {at}");
            assert_eq!(w.engine.pool().stats().live_bytes, live, "{what} {at}");
        }
    }
    assert!(failures >= 8, "{failures}");
    w.engine.release(source.slot);
}
