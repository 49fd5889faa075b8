//! Which memory of the program waits for recorded operations before it can be written.

use super::{Array, World, guarded, map_node, number, read};
use crate::Due;
use arrayloom_guard::State;
use arrayloom_types::DType;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

fn state(w: &World, array: &Array) -> State {
    let guard = w.engine.guard().unwrap();
    guard.state(guard.slot_at(array.addr.addr()).unwrap())
}

/// An array that the program has looked at.
fn known(w: &World, value: f64) -> Array {
    let array = w.ready(DType::F64, &[1000], &[value; 1000]);
    w.engine.sync_write(array.slot).unwrap();
    array
}

#[test]
fn operands_of_what_runs_at_once_stay_writable() {
    let (w, _turn) = guarded();
    let a = known(w, 1.0);
    let b = known(w, 2.0);
    let seen = Arc::new(Mutex::new(None));
    let (mine, pages) = (Arc::clone(&seen), w.engine.guard().unwrap());
    let slot = pages.slot_at(b.addr.addr()).unwrap();
    *w.device.meanwhile.lock().unwrap() = Some(Box::new(move || {
        *mine.lock().unwrap() = Some(pages.state(slot));
    }));
    w.map("add", &a, &[read(&a), read(&b)]).unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        Some(State::Ready),
        "no barrier meanwhile"
    );
    assert_eq!(state(w, &a), State::Ready);
    assert_eq!(w.floats(&a), [3.0; 1000]);
    let c = w.lazy(DType::F64, &[1000]);
    w.engine
        .compute(map_node("negative", &c, &[read(&a)], None))
        .unwrap();
    assert_eq!(state(w, &a), State::Ready);
    assert_eq!(w.floats(&c), [-3.0; 1000]);
    for array in [a, b, c] {
        w.engine.release(array.slot);
    }
}

#[test]
fn temporary_operands_stay_writable() {
    let (w, _turn) = guarded();
    let live = w.live_bytes();
    let (a, b) = (known(w, 1.0), known(w, 2.0));
    let c = w.lazy(DType::F64, &[1000]);
    let node = map_node("add", &c, &[read(&a), read(&b)], None);
    assert_eq!(w.engine.add(node, &[a.slot]).unwrap(), Due::Later);
    assert_eq!(state(w, &a), State::Ready, "nobody can write to it");
    assert_eq!(state(w, &b), State::ReadOnly);
    w.engine.release(a.slot);
    let others: Vec<_> = (0..8).map(|_| known(w, 9.0)).collect();
    assert_eq!(
        w.floats(&c),
        [3.0; 1000],
        "the memory waited for its reader"
    );
    for array in others.into_iter().chain([b, c]) {
        w.engine.release(array.slot);
    }
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn operands_of_what_failed_wait() {
    let (w, _turn) = guarded();
    let a = known(w, 1.0);
    let b = known(w, 2.0);
    w.device.runs_left.store(0, Ordering::Relaxed);
    assert!(w.map("add", &a, &[read(&a), read(&b)]).is_err());
    w.device.runs_left.store(i64::MAX, Ordering::Relaxed);
    assert_eq!(state(w, &b), State::ReadOnly);
    w.engine.sync_write(b.slot).unwrap();
    w.write(&b, &[7.0; 1000]);
    assert_eq!(w.floats(&a), [3.0; 1000], "the value before the write");
    for array in [a, b] {
        w.engine.release(array.slot);
    }
}

#[test]
fn small_operations_on_a_pending_array_end_the_list() {
    let (w, _turn) = guarded();
    let a = w.lazy(DType::F64, &[70, 60]);
    w.map("add", &a, &[number(1.0), number(0.5)]).unwrap();
    let column = |j: usize| a.window(&[0, j], &[70, 1], 1);
    let record = |j: usize| {
        let ins = [read(&column(j - 1)), number(1.0)];
        w.map("add", &column(j), &ins).unwrap();
        w.engine.pending_nodes() == 0
    };
    let last = (1..60).find(|&j| record(j));
    let last = last.expect("it runs before the last column");
    assert!(
        state(w, &a).is_published(),
        "further ones need not be recorded"
    );
    let expected = (0..60u32).map(|j| match j as usize {
        at if at <= last => 1.5 + f64::from(j),
        _ => 1.5,
    });
    assert!(w.floats(&a)[..60].iter().copied().eq(expected));
    w.engine.release(a.slot);
}
