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
    let live = w.live_bytes();
    let mut failures = 0;
    for what in ["run", "alloc"] {
        for at in 0..20 {
            let arrays = program(w, &source);
            let counter = w.left(what == "run");
            counter.store(at, Ordering::Relaxed);
            let first = w.engine.flush();
            counter.store(i64::MAX, Ordering::Relaxed);
            failures += usize::from(first.is_err());
            assert_eq!(first.is_err(), w.engine.pending_nodes() > 0);
            assert_eq!(results(w, &arrays), expected, "{what} {at}");
            assert_eq!(w.engine.slots_in_use(), slots, "{what} {at}");
            assert_eq!(w.live_bytes(), live, "{what} {at}");
        }
    }
    assert!(failures >= 1, "{failures}");
    let rungs = w.engine.memory_report(0).rungs;
    let climbed: u64 = rungs.iter().map(|(_, stats)| stats.times).sum();
    assert!(climbed >= 3, "lack of memory is dealt with: {climbed}");
    w.engine.release(source.slot);
}

#[test]
fn memory_of_the_caller_outlives_a_failure() {
    let (w, _turn) = guarded();
    let slots = w.engine.slots_in_use();
    let layout = Layout::contiguous(DType::F64, &[8]);
    for room in [true, false] {
        let mut memory = [2.0f64; 8];
        let slot = w.engine.adopt_external(memory.as_mut_ptr().cast(), 64);
        let out = w.lazy(DType::F64, &[8]);
        w.map("square", &out, &[Operand::View(slot, layout.clone())])
            .unwrap();
        w.device.runs_left.store(0, Ordering::Relaxed);
        // The result takes the first block, the copy the second.
        let blocks = if room { i64::MAX } else { 1 };
        w.engine.allocations_left.store(blocks, Ordering::Relaxed);
        w.engine.forget_external(slot);
        w.engine.allocations_left.store(i64::MAX, Ordering::Relaxed);
        memory.fill(9.0);
        assert!(w.engine.take_failure().is_some());
        assert_eq!(w.engine.pending_nodes(), usize::from(room));
        if room {
            assert_eq!(w.floats(&out), [4.0; 8]);
        }
        w.engine.release(out.slot);
    }
    assert_eq!(w.engine.slots_in_use(), slots);
}
