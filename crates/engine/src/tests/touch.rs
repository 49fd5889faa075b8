//! Memory that is touched without asking.

use super::*;
use arrayloom_guard::State;
use std::thread;

fn state(w: &World, array: &Array) -> State {
    let guard = w.engine.guard().unwrap();
    guard.state(guard.slot_at(array.addr.addr()).unwrap())
}

#[test]
fn a_touch_computes_and_a_write_waits_for_readers() {
    let (w, _turn) = guarded();
    let a = w.ready(DType::F64, &[1000], &vec![2.0; 1000]);
    let (b, c) = (w.lazy(DType::F64, &[1000]), w.lazy(DType::F64, &[1000]));
    w.map("square", &b, &[read(&a)]).unwrap();
    assert_eq!(state(w, &b), State::Lazy);
    assert_eq!(w.peek(&b)[..8], 4.0f64.to_le_bytes());
    w.map("negative", &c, &[read(&b)]).unwrap();
    assert_eq!(state(w, &b), State::ReadOnly);
    w.write(&b, &[0.0; 1000]);
    assert!(
        !w.engine.is_pending(c.slot),
        "the reader ran before the write"
    );
    assert_eq!(w.floats(&c), vec![-4.0; 1000]);
    assert_eq!(w.floats(&b), vec![0.0; 1000]);
    for array in [a, b, c] {
        w.engine.release(array.slot);
    }
}

#[test]
fn a_computed_value_that_is_written_again_hides_its_old_bytes() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[1000]);
    w.map("_copy", &a, &[number(1.0)]).unwrap();
    w.engine.flush().unwrap();
    assert_eq!(state(w, &a), State::Computed);
    w.map("add", &a, &[read(&a), number(1.0)]).unwrap();
    assert_eq!(w.engine.pending_nodes(), 1);
    assert_eq!(w.peek(&a)[..8], 2.0f64.to_le_bytes());
    w.engine.release(a.slot);
}

#[test]
fn sync_write_lets_every_reader_run_first() {
    let (w, _turn) = guarded();
    let (a, b) = (w.lazy(DType::F64, &[100]), w.lazy(DType::F64, &[100]));
    w.map("_copy", &a, &[number(3.0)]).unwrap();
    w.map("square", &b, &[read(&a)]).unwrap();
    w.engine.sync_write(a.slot).unwrap();
    assert_eq!(state(w, &a), State::Ready);
    w.write(&a, &[5.0; 100]);
    assert_eq!(w.floats(&b), [9.0; 100]);
    assert_eq!(w.floats(&a), [5.0; 100]);
    for array in [a, b] {
        w.engine.release(array.slot);
    }
}

#[test]
fn an_array_that_was_never_written_can_be_touched() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[100]);
    assert!(w.engine.is_pending(a.slot));
    let _arbitrary = w.peek(&a);
    assert!(!w.engine.is_pending(a.slot));
    w.engine.release(a.slot);
}

#[test]
fn a_failed_touch_keeps_the_work_and_its_error() {
    let (w, _turn) = guarded();
    let (a, b) = (w.lazy(DType::F64, &[100]), w.lazy(DType::F64, &[100]));
    w.map("_copy", &a, &[number(3.0)]).unwrap();
    // Until further notice: a late request of another touch may come first.
    w.device.longest.store(0, Ordering::Relaxed);
    let seen = f64::from_le_bytes(w.peek(&a)[..8].try_into().unwrap());
    assert!(seen.is_nan());
    let error = w.engine.take_failure().unwrap();
    assert!(error.to_string().contains("a long kernel"), "{error}");
    w.device.longest.store(usize::MAX, Ordering::Relaxed);
    w.map("square", &b, &[read(&a)]).unwrap();
    assert_eq!(w.floats(&b), [9.0; 100]);
    assert_eq!(w.floats(&a), [3.0; 100]);
    for array in [a, b] {
        w.engine.release(array.slot);
    }
}

#[test]
fn threads_touch_what_others_record() {
    let (w, _turn) = guarded();
    let barriers = w.engine.stats().guard.write_barriers;
    let a = w.ready(DType::F64, &[5000], &vec![1.0; 5000]);
    for round in 0..50 {
        let outs: Vec<Array> = (0..4).map(|_| w.lazy(DType::F64, &[5000])).collect();
        for out in &outs {
            w.map("add", out, &[read(&a), number(1.0)]).unwrap();
        }
        let expected = (f64::from(round) + 2.0).to_le_bytes();
        let places: Vec<usize> = outs.iter().map(|o| o.addr.expose_provenance()).collect();
        thread::scope(|scope| {
            for place in places {
                scope.spawn(move || {
                    let mut bytes = [0u8; 8];
                    let from = End::Host(std::ptr::with_exposed_provenance_mut(place + 8 * 4999));
                    let to = End::Host(bytes.as_mut_ptr());
                    w.device.copy(Queue(0), to, from, 8).unwrap();
                    assert_eq!(bytes, expected);
                });
            }
        });
        let last = w.lazy(DType::F64, &[5000]);
        w.map("add", &last, &[read(&a), number(1.0)]).unwrap();
        w.write(&a, &vec![f64::from(round) + 2.0; 5000]);
        assert_eq!(w.bytes(&last)[..8], expected);
        for array in outs.iter().chain([&last]) {
            w.engine.release(array.slot);
        }
    }
    assert_eq!(w.engine.stats().guard.write_barriers - barriers, 50);
    w.engine.release(a.slot);
}

#[test]
fn touches_and_forks_do_not_wait_for_each_other() {
    let (w, _turn) = guarded();
    for _ in 0..100 {
        let outs: Vec<Array> = (0..3).map(|_| w.lazy(DType::F64, &[3000])).collect();
        for out in &outs {
            w.map("_copy", out, &[number(2.0)]).unwrap();
        }
        let places: Vec<usize> = outs.iter().map(|o| o.addr.expose_provenance()).collect();
        thread::scope(|scope| {
            for place in places {
                scope.spawn(move || {
                    let mut bytes = [0u8; 8];
                    let from = End::Host(std::ptr::with_exposed_provenance_mut(place));
                    let to = End::Host(bytes.as_mut_ptr());
                    w.device.copy(Queue(0), to, from, 8).unwrap();
                    assert_eq!(bytes, 2.0f64.to_le_bytes());
                });
            }
            w.engine.before_fork();
            w.engine.after_fork_parent();
        });
        for out in &outs {
            w.engine.release(out.slot);
        }
    }
}
