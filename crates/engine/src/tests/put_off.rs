//! What a fold needs and nobody else is not stored, and nobody can tell.

#![expect(clippy::cast_precision_loss, reason = "small whole numbers")]

use super::*;
use arrayloom_ir::FpFlags;

const N: usize = 20_000;

fn values() -> Vec<f64> {
    (0..N).map(|i| (i % 977) as f64 - 400.5).collect()
}

/// `|a - b|`, still held, and its sum.
fn distance(w: &World, a: &Array, b: &Array) -> (Array, Array) {
    let [difference, distance] = [(); 2].map(|()| w.lazy(DType::F64, &[N]));
    w.map("subtract", &difference, &[read(a), read(b)]).unwrap();
    w.map("absolute", &distance, &[read(&difference)]).unwrap();
    w.engine.release(difference.slot);
    (distance.clone(), total(w, &distance))
}

fn total(w: &World, of: &Array) -> Array {
    let sum = w.lazy(DType::F64, &[1]);
    w.record(reduce_node(ReduceOp::Add, 1, of, &sum)).unwrap();
    sum
}

/// Two arrays, and bytes in use with them alone.
fn two(w: &World) -> (Array, Array, u64) {
    let a = w.ready(DType::F64, &[N], &values());
    let b = w.lazy(DType::F64, &[N]);
    w.map("multiply", &b, &[read(&a), number(0.5)]).unwrap();
    w.engine.sync_read(b.slot).unwrap();
    (a, b, w.live_bytes() as u64)
}

fn expected() -> f64 {
    let w = World::eager();
    let (a, b, _) = two(&w);
    let (kept, sum) = distance(&w, &a, &b);
    let found = w.floats(&sum)[0];
    release(&w, &[&kept, &sum, &a, &b]);
    found
}

fn release(w: &World, arrays: &[&Array]) {
    for array in arrays {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_temporary_that_is_only_folded_gets_no_memory() {
    let expected = expected();
    let (w, _turn) = guarded();
    let (a, b, before) = two(w);
    let (kept, sum) = distance(w, &a, &b);
    assert_eq!(w.floats(&sum), [expected]);
    let one_page = 1 << 21;
    assert!(w.live_bytes() as u64 <= before + one_page);
    assert_eq!(w.engine.pending_nodes(), 2, "difference and distance");
    w.engine.release(kept.slot);
    assert_eq!(w.engine.pending_nodes(), 0, "dropped with the array");
    release(w, &[&a, &b, &sum]);
}

#[test]
fn it_has_its_value_when_somebody_wants_it_after_all() {
    let (w, _turn) = guarded();
    let (a, b, _) = two(w);
    for way in 0..4 {
        let (kept, sum) = distance(w, &a, &b);
        w.engine.sync_read(sum.slot).unwrap();
        assert_eq!(w.engine.pending_nodes(), 2);
        match way {
            0 => w.engine.sync_read(kept.slot).unwrap(),
            1 => assert_eq!(w.peek(&kept).len(), N * 8),
            // Its operands change: through the engine, and through their pages.
            2 => w.map("negative", &a, &[read(&a)]).unwrap(),
            _ => w.write(&b, &vec![7.0; N]),
        }
        let found = w.floats(&kept);
        let expected: Vec<f64> = values().iter().map(|v| (v * 0.5).abs()).collect();
        assert_eq!(found, expected, "way {way}");
        if way == 2 {
            w.map("negative", &a, &[read(&a)]).unwrap();
        }
        // The service thread may still be at a touch, and would run what is recorded next.
        drop(w.engine.turns.take());
        release(w, &[&kept, &sum]);
    }
    assert_eq!(w.floats(&b), vec![7.0; N]);
    release(w, &[&a, &b]);
}

#[test]
fn a_second_fold_finds_it_stored() {
    let expected = expected();
    let (w, _turn) = guarded();
    let (a, b, _) = two(w);
    let (kept, sum) = distance(w, &a, &b);
    assert_eq!(w.floats(&sum), [expected]);
    let again = total(w, &kept);
    assert_eq!(w.floats(&again), [expected]);
    assert_eq!(w.engine.pending_nodes(), 0, "no operation is put off twice");
    release(w, &[&kept, &sum, &again, &a, &b]);
}

#[test]
fn what_its_operands_are_is_kept_only_where_the_program_keeps_it() {
    let (w, _turn) = guarded();
    let (a, b, _) = two(w);
    let (kept, sum) = distance(w, &a, &b);
    w.engine.release(b.slot);
    w.engine.sync_read(sum.slot).unwrap();
    assert_eq!(w.engine.pending_nodes(), 0, "storing it frees an operand");
    release(w, &[&kept, &sum, &a]);
}

#[test]
fn conditions_are_told_once() {
    let (w, _turn) = guarded();
    let zero = w.ready(DType::F64, &[N], &vec![0.0; N]);
    let _before = w.engine.take_fp_events();
    let kept = w.lazy(DType::F64, &[N]);
    w.map("divide", &kept, &[number(1.0), read(&zero)]).unwrap();
    let sum = total(w, &kept);
    assert_eq!(w.floats(&sum), [f64::INFINITY]);
    let flags: Vec<FpFlags> = w.engine.take_fp_events().iter().map(|e| e.flags).collect();
    assert_eq!(flags, [FpFlags::DIVIDE]);
    assert_eq!(w.floats(&kept), vec![f64::INFINITY; N]);
    assert_eq!(w.engine.take_fp_events(), []);
    release(w, &[&kept, &sum, &zero]);
}

#[test]
fn a_failing_device_loses_nothing() {
    let expected = expected();
    let (w, _turn) = guarded();
    let (a, b, _) = two(w);
    for fails_at in 0..3 {
        let (kept, sum) = distance(w, &a, &b);
        w.device.runs_left.store(fails_at, Ordering::Relaxed);
        let failed = w.engine.sync_read(sum.slot).is_err();
        w.device.runs_left.store(i64::MAX, Ordering::Relaxed);
        assert_eq!(failed, fails_at == 0);
        assert_eq!(w.floats(&sum), [expected]);
        assert_eq!(w.floats(&kept).len(), N);
        release(w, &[&kept, &sum]);
    }
    release(w, &[&a, &b]);
}

#[test]
fn what_is_made_from_a_dear_temporary_is_stored() {
    let (w, _turn) = guarded();
    for n in [12, N] {
        let a = w.ready(DType::F64, &[n], &values()[..n]);
        let [dear, kept] = [(); 2].map(|()| w.lazy(DType::F64, &[n]));
        w.map("hypot", &dear, &[read(&a), number(3.0)]).unwrap();
        w.map("negative", &kept, &[read(&dear)]).unwrap();
        w.engine.release(dear.slot);
        let sum = total(w, &kept);
        w.engine.sync_read(sum.slot).unwrap();
        assert_eq!(w.engine.pending_nodes(), 0);
        let expected: Vec<f64> = values()[..n].iter().map(|v| -v.hypot(3.0)).collect();
        assert_eq!(w.floats(&kept), expected);
        release(w, &[&a, &kept, &sum]);
    }
}

#[test]
fn what_another_kernel_reads_is_stored() {
    let (w, _turn) = guarded();
    let (a, b, _) = two(w);
    let difference = w.lazy(DType::F64, &[N]);
    w.map("subtract", &difference, &[read(&a), read(&b)])
        .unwrap();
    let steps = w.lazy(DType::F64, &[N - 1]);
    let [left, right] = [0, 1].map(|start| difference.window(&[start], &[N - 1], 1));
    w.map("subtract", &steps, &[read(&right), read(&left)])
        .unwrap();
    let sum = total(w, &difference);
    w.engine.sync_read(sum.slot).unwrap();
    let halves: Vec<f64> = values().iter().map(|v| v * 0.5).collect();
    assert_eq!(w.floats(&difference), halves);
    let expected: Vec<f64> = halves.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(w.floats(&steps), expected);
    release(w, &[&a, &b, &difference, &steps, &sum]);
}
