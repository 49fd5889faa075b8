//! What the engine promises, one test each.

use super::*;

#[test]
fn temporaries_never_get_memory() {
    let (w, _turn) = guarded();
    let before = w.engine.slots_in_use();
    w.engine.reset_stats();
    let a = w.ready(DType::F64, &[1000], &vec![4.0; 1000]);
    let (t, out) = (w.lazy(DType::F64, &[1000]), w.lazy(DType::F64, &[1000]));
    w.map("add", &t, &[read(&a), number(5.0)]).unwrap();
    w.map("sqrt", &out, &[read(&t)]).unwrap();
    w.engine.release(t.slot);
    assert!(w.engine.is_pending(out.slot));
    assert_eq!(w.engine.pending_nodes(), 2);
    assert_eq!(w.floats(&out), vec![3.0; 1000]);
    assert!(!w.engine.is_pending(out.slot));
    let stats = w.engine.stats();
    assert_eq!(
        (stats.kernels, stats.contracted, stats.fused_ops),
        (1, 1, 2)
    );
    assert_eq!(stats.ops["add"].elements, 1000);
    assert_eq!((stats.bytes_read, stats.bytes_written), (8000, 8000));
    w.engine.release(a.slot);
    w.engine.release(out.slot);
    assert_eq!(w.engine.slots_in_use(), before);
}

#[test]
fn a_dropped_result_is_never_computed() {
    let (w, _turn) = guarded();
    w.engine.reset_stats();
    let a = w.ready(DType::F64, &[10], &[1.0; 10]);
    let t = w.lazy(DType::F64, &[10]);
    w.map("exp", &t, &[read(&a)]).unwrap();
    w.engine.release(t.slot);
    w.engine.flush().unwrap();
    let stats = w.engine.stats();
    assert_eq!((stats.kernels, stats.dropped), (0, 1));
    w.engine.release(a.slot);
}

#[test]
fn a_shifted_self_update_acts_as_if_copied() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[6]);
    let ones = w.ready(DType::F64, &[6], &[1.0; 6]);
    w.map("_copy", &a, &[read(&ones)]).unwrap();
    let (head, tail) = (a.window(&[0], &[5], 1), a.window(&[1], &[5], 1));
    w.map("add", &tail, &[read(&tail), read(&head)]).unwrap();
    w.map("add", &tail, &[read(&tail), read(&head)]).unwrap();
    assert_eq!(w.floats(&a), [1.0, 3.0, 4.0, 4.0, 4.0, 4.0]);
    for array in [a, ones] {
        w.engine.release(array.slot);
    }
}

#[test]
fn fresh_memory_is_taken_back_and_written_late() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[4], &[1.0; 4]);
    w.map("multiply", &a, &[read(&a), number(3.0)]).unwrap();
    w.map("add", &a, &[read(&a), number(3.0)]).unwrap();
    assert_eq!(w.engine.pending_nodes(), 2);
    assert_eq!(w.peek(&a), w.bytes(&a));
    assert_eq!(w.floats(&a), [6.0; 4]);
    w.engine.release(a.slot);
}

#[test]
fn fresh_memory_that_a_kernel_reads_stays_where_it_is() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[4], &[1.0; 4]);
    let t = w.lazy(DType::F64, &[4]);
    w.map("add", &t, &[read(&a), number(1.0)]).unwrap();
    let (entered, enter) = std::sync::mpsc::channel();
    let engine = Arc::clone(&w.engine);
    *w.device.meanwhile.lock().unwrap() = Some(Box::new(move || {
        entered.send(()).unwrap();
        while engine.pending_nodes() == 0 {
            std::thread::yield_now();
        }
    }));
    std::thread::scope(|scope| {
        scope.spawn(|| w.engine.flush().unwrap());
        enter.recv().unwrap();
        w.map("multiply", &a, &[read(&a), number(3.0)]).unwrap();
    });
    assert_eq!(w.floats(&t), [2.0; 4]);
    assert_eq!(w.floats(&a), [3.0; 4]);
    for array in [a, t] {
        w.engine.release(array.slot);
    }
}

#[test]
fn memory_is_settled_while_nothing_recorded_needs_it() {
    let (w, _turn) = guarded();
    let (a, t) = (
        w.ready(DType::F64, &[4], &[1.0; 4]),
        w.lazy(DType::F64, &[4]),
    );
    assert!(w.engine.is_settled(a.slot));
    w.map("add", &t, &[read(&a), number(1.0)]).unwrap();
    assert!(!w.engine.is_settled(a.slot), "it is read");
    assert!(!w.engine.is_settled(t.slot), "it is written");
    w.engine.flush().unwrap();
    assert!(w.engine.is_settled(a.slot));
    assert!(!w.engine.is_settled(t.slot), "nobody has looked at it");
    w.write(&a, &[5.0; 4]);
    w.map("multiply", &a, &[read(&a), number(3.0)]).unwrap();
    assert_eq!(w.engine.pending_nodes(), 1, "it is still fresh");
    assert_eq!(w.floats(&a), [15.0; 4]);
    assert_eq!(w.floats(&t), [2.0; 4]);
    for array in [a, t] {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_write_to_published_memory_runs_at_once() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[4], &[1.0; 4]);
    w.engine.sync_read(a.slot).unwrap();
    let t = w.lazy(DType::F64, &[4]);
    w.map("add", &t, &[read(&a), number(1.0)]).unwrap();
    w.map("multiply", &a, &[read(&a), number(3.0)]).unwrap();
    assert_eq!(w.engine.pending_nodes(), 0);
    assert_eq!(w.peek(&a), w.bytes(&a));
    assert_eq!(w.floats(&a), [3.0; 4]);
    assert_eq!(w.floats(&t), [2.0; 4]);
    for array in [a, t] {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_half_written_array_has_its_half() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[4]);
    let half = a.window(&[2], &[2], 1);
    w.map("_copy", &half, &[number(7.0)]).unwrap();
    assert_eq!(w.floats(&a)[2..], [7.0, 7.0]);
    w.engine.release(a.slot);
}

#[test]
fn conditions_name_their_operation() {
    let (w, _turn) = guarded();
    w.engine.take_fp_events();
    let a = w.ready(DType::F64, &[2], &[0.0, 1.0]);
    let (t, out) = (w.lazy(DType::F64, &[2]), w.lazy(DType::F64, &[2]));
    let mut node = map_node("divide", &t, &[number(1.0), read(&a)], None);
    node.site = 17;
    w.engine.record(node).unwrap();
    w.map("add", &out, &[read(&t), number(1.0)]).unwrap();
    w.engine.flush().unwrap();
    let events = w.engine.take_fp_events();
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].op, events[0].site), ("divide", 17));
    assert_eq!(events[0].flags, arrayloom_ir::FpFlags::DIVIDE);
    for array in [a, t, out] {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_full_list_runs() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[8]);
    w.map("_copy", &a, &[number(0.0)]).unwrap();
    for _ in 0..600 {
        w.map("add", &a, &[read(&a), number(1.0)]).unwrap();
        assert!(w.engine.pending_nodes() < 512);
    }
    assert_eq!(w.floats(&a), [600.0; 8]);
    w.engine.release(a.slot);
}

#[test]
fn memory_of_the_caller_is_read_until_forgotten() {
    let (w, _turn) = guarded();
    let mut memory = [2.0f64; 8];
    let slot = w.engine.adopt_external(memory.as_mut_ptr().cast(), 64);
    let layout = Layout::contiguous(DType::F64, &[8]);
    let out = w.lazy(DType::F64, &[8]);
    w.map("square", &out, &[Operand::View(slot, layout)])
        .unwrap();
    assert!(w.engine.is_pending(out.slot));
    w.engine.forget_external(slot);
    assert!(!w.engine.is_pending(out.slot));
    memory.fill(9.0);
    assert_eq!(w.floats(&out), [4.0; 8]);
    w.engine.release(out.slot);
}

#[test]
fn a_kernel_the_device_lacks_is_run_in_parts() {
    let (w, _turn) = guarded();
    w.engine.reset_stats();
    let a = w.ready(DType::F64, &[8], &[4.0; 8]);
    let (t, out) = (w.lazy(DType::F64, &[8]), w.lazy(DType::F64, &[8]));
    w.map("sqrt", &t, &[read(&a)]).unwrap();
    w.map("negative", &out, &[read(&t)]).unwrap();
    w.engine.release(t.slot);
    w.device.longest.store(2, Ordering::Relaxed);
    assert_eq!(w.floats(&out), [-2.0; 8]);
    assert_eq!(w.engine.stats().unfused_kernels, 1);
    w.map("add", &out, &[read(&a), number(1.0)]).unwrap_err();
    let error = w.engine.flush().unwrap_err();
    assert_eq!(error.kind(), arrayloom_types::ErrorKind::Unsupported);
    assert!(
        error
            .to_string()
            .contains("add with dtypes (float64, float64)"),
        "{error}"
    );
    w.device.longest.store(usize::MAX, Ordering::Relaxed);
    assert_eq!(w.floats(&out), [5.0; 8]);
    for array in [a, out] {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_slot_that_is_gone_is_an_error() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[8]);
    w.engine.release(a.slot);
    let error = w.map("add", &a, &[read(&a), number(1.0)]).unwrap_err();
    assert!(matches!(error, EngineError::BadSlot { .. }));
    assert_eq!(w.engine.pending_nodes(), 0);
}

/// The node of `out = table[index]`, rows of a matrix by number.
fn rows(table: &Array, index: &Array, out: &Array) -> Node {
    let steps = &table.layout.strides;
    let shape = out.layout.shape.clone();
    let spread = |layout: &Layout, strides: [isize; 2]| Layout {
        shape: shape.clone(),
        strides: strides.as_slice().into(),
        ..layout.clone()
    };
    let entry = Table {
        walk: spread(&table.layout, [0, steps[1]]),
        whole: table.layout.clone(),
    };
    Node {
        action: Action::Gather,
        sig: LoopSig {
            ins: smallvec![DType::F64],
            outs: smallvec![DType::F64],
        },
        outs: smallvec![(out.slot, out.layout.clone())],
        ins: smallvec![
            Operand::Table(table.slot, Box::new(entry)),
            Operand::View(index.slot, spread(&index.layout, [8, 0])),
            Operand::Scalar(Scalar::from_i64(DType::I64, steps[0] as i64)),
        ],
        mask: None,
        site: 0,
        told: false,
        part: false,
    }
}

#[test]
fn a_table_is_read_as_it_was_when_recorded() {
    let (w, _turn) = guarded();
    let source = w.ready(DType::F64, &[3, 2], &[0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    let index = w.ready(DType::F64, &[4], &[0.0; 4]);
    let index = Array {
        layout: Layout::contiguous(DType::I64, &[4]),
        ..index
    };
    w.write(&index, &[2.0, 0.0, 2.0, 1.0]);
    let table = w.lazy(DType::F64, &[3, 2]);
    let (picked, out) = (w.lazy(DType::F64, &[4, 2]), w.lazy(DType::F64, &[4, 2]));
    w.map("add", &table, &[read(&source), number(1.0)]).unwrap();
    w.record(rows(&table, &index, &picked)).unwrap();
    w.map("multiply", &out, &[read(&picked), number(2.0)])
        .unwrap();
    w.map("_copy", &table, &[number(0.0)]).unwrap();
    let back = w.lazy(DType::F64, &[4, 2]);
    w.record(rows(&table, &index, &back)).unwrap();
    w.engine.release(picked.slot);
    assert_eq!(
        w.floats(&out),
        [42.0, 44.0, 2.0, 4.0, 42.0, 44.0, 22.0, 24.0]
    );
    assert_eq!(w.floats(&back), [0.0; 8]);
    assert_eq!(w.floats(&table), [0.0; 6]);
    for array in [source, index, table, out, back] {
        w.engine.release(array.slot);
    }
}
