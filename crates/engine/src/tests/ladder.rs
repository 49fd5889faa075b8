//! Programs under limits far below what they need: the same bits, every rung counted, nothing left behind.

use super::heat::{INNER, N, step};
use super::*;
use crate::{Amount, Rung};

const BYTES: u64 = ((N + 2) * (N + 2) * 8) as u64;

/// Some steps of the heat equation; the bytes of grid and change, and the peak of memory in use.
fn heat(w: &World) -> (Vec<u8>, Vec<f64>) {
    let grid = w.lazy(DType::F64, &[N + 2, N + 2]);
    w.map("_copy", &grid, &[number(0.0)]).unwrap();
    let top = grid.window(&[0, 0], &[1, N + 2], 1);
    w.map("_copy", &top, &[number(40.0)]).unwrap();
    let mut changes = Vec::new();
    for _ in 0..6 {
        let (new, delta) = step(w, &grid);
        changes.push(w.floats(&delta)[0]);
        let center = grid.window(&[1, 1], &INNER, 1);
        w.map("_copy", &center, &[read(&new)]).unwrap();
        w.engine.release(delta.slot);
        w.engine.release(new.slot);
    }
    let bytes = w.bytes(&grid);
    w.engine.release(grid.slot);
    (bytes, changes)
}

fn times(w: &World, rung: Rung) -> u64 {
    let report = w.engine.memory_report(0);
    report.rungs[rung as usize].1.times
}

#[test]
fn limits_below_the_working_set_change_no_bit() {
    let (w, _turn) = guarded();
    w.engine.forget_places();
    let expected = heat(w);
    let slots = w.engine.slots_in_use();
    let live = w.live_bytes();
    let spills = times(w, Rung::Spill) + times(w, Rung::Predict);
    let boxes = times(w, Rung::Boxes);
    for part in [1, 2, 4, 8] {
        w.engine.forget_places();
        let room = 2 * BYTES / part;
        let used = w.engine.restart_peak();
        w.engine.set_memory_limit(used + room);
        assert_eq!(heat(w), expected, "1/{part} of the working set");
        let report = w.engine.memory_report(0);
        w.engine.set_memory_limit(u64::MAX);
        assert!(report.peak <= used + room, "1/{part}: {}", report.peak);
        assert_eq!(w.engine.slots_in_use(), slots, "1/{part}");
        assert_eq!(w.live_bytes(), live, "1/{part}");
    }
    assert!(times(w, Rung::Spill) + times(w, Rung::Predict) > spills);
    assert!(times(w, Rung::Boxes) > boxes);
    assert_eq!(w.engine.pool().spilled().0, 0);
}

#[test]
fn every_failing_allocation_is_survived() {
    let (w, _turn) = guarded();
    w.engine.forget_places();
    let expected = heat(w);
    let slots = w.engine.slots_in_use();
    let live = w.live_bytes();
    let mut at = 0;
    loop {
        w.engine.forget_places();
        w.engine.allocations_left.store(at, Ordering::Relaxed);
        let result = heat(w);
        let all = w.engine.allocations_left.swap(i64::MAX, Ordering::Relaxed) > 0;
        assert_eq!(result, expected, "allocation {at}");
        assert_eq!(w.engine.slots_in_use(), slots, "allocation {at}");
        assert_eq!(w.live_bytes(), live, "allocation {at}");
        if all {
            break;
        }
        at += 1;
    }
    assert!(at >= 6, "{at}");
}

#[test]
fn spilled_values_come_back_when_they_are_touched() {
    let (w, _turn) = guarded();
    let values: Vec<f64> = (0..1024).map(f64::from).collect();
    let array = w.ready(DType::F64, &[1024], &values);
    let reader = w.lazy(DType::F64, &[1024]);
    w.map("negative", &reader, &[read(&array)]).unwrap();
    let turn = w.engine.turns.take();
    assert!(w.engine.spill(u64::MAX) >= 8192);
    drop(turn);
    assert_eq!(w.floats(&array), values);
    let doubled: Vec<f64> = values.iter().map(|v| v * 2.0).collect();
    w.write(&array, &doubled);
    assert_eq!(w.peek(&array)[8..16], 2.0f64.to_le_bytes());
    let negative: Vec<f64> = values.iter().map(|v| -v).collect();
    assert_eq!(
        w.floats(&reader),
        negative,
        "the old value was read before the write"
    );
    let turn = w.engine.turns.take();
    w.engine.spill(u64::MAX);
    w.engine.unspill();
    drop(turn);
    assert_eq!(
        w.engine.pool().spilled().0,
        0,
        "all is in memory for a fork"
    );
    assert_eq!(w.floats(&array), doubled);
    w.engine.release(array.slot);
    w.engine.release(reader.slot);
}

#[test]
fn without_a_file_the_error_names_owners_and_a_cure() {
    let settings = Settings {
        lazy: false,
        spill: false,
        memory_limit: Amount(1 << 20),
        ..Settings::default()
    };
    let w = World::start(settings, vec![Arc::new(Reference::new())]);
    let held: Vec<_> = [400, 300, 200, 100]
        .map(|kib| w.engine.new_ready(kib << 10, false).unwrap())
        .into();
    w.engine.describe(held[0].slot, 77, DType::F64, &[160, 320]);
    let error = w.engine.new_ready(100 << 10, false).unwrap_err();
    let EngineError::OutOfMemory(shortage) = &error else {
        panic!("{error}");
    };
    let sizes: Vec<u64> = shortage
        .owners
        .iter()
        .map(|owner| owner.nbytes >> 10)
        .collect();
    assert_eq!(sizes, [400, 300, 200]);
    assert_eq!(shortage.owners[0].site, 77);
    assert_eq!((shortage.need, shortage.limit), (100 << 10, 1 << 20));
    let text = error.to_string();
    for words in ["100.0 KiB wanted", "limit of 1.0 MiB", "ARRAYLOOM_SPILL=1"] {
        assert!(text.contains(words), "{text}");
    }
    let too_large = w.engine.new_ready(2 << 20, false).unwrap_err().to_string();
    assert!(
        too_large.contains("smaller than this one array"),
        "{too_large}"
    );
    for new in held {
        w.engine.release(new.slot);
    }
    assert_eq!(w.engine.memory_report(9).owners, []);
    let again = w.engine.new_ready(1 << 20, true).unwrap();
    w.engine.release(again.slot);
}

#[test]
fn more_than_the_machine_has_is_an_error_unless_there_is_a_limit() {
    let settings = Settings {
        lazy: false,
        ..Settings::default()
    };
    let w = World::start(settings, vec![Arc::new(Reference::new())]);
    let held = w.engine.new_ready(1 << 20, false).unwrap();
    let text = w.engine.new_ready(1 << 45, false).unwrap_err().to_string();
    assert!(
        text.contains("32.0 TiB wanted") && text.contains("set memory.limit"),
        "{text}"
    );
    let climbed = |rung| times(&w, rung);
    assert_eq!([Rung::Trim, Rung::Spill, Rung::Boxes].map(climbed), [0; 3]);
    assert_eq!(climbed(Rung::Error), 1);
    w.engine.set_memory_limit(1 << 20);
    let text = w.engine.new_ready(1 << 45, false).unwrap_err().to_string();
    assert!(text.contains("no room for 32.0 TiB"), "{text}");
    assert!(climbed(Rung::Boxes) > 0);
    w.engine.release(held.slot);
}

#[test]
fn work_that_pins_much_memory_runs_early() {
    let (w, _turn) = guarded();
    let used = w.engine.restart_peak();
    w.engine.set_memory_limit(used + 40 * 8192);
    let values = vec![1.0; 1024];
    let mut sums = Vec::new();
    for _ in 0..40 {
        let big = w.ready(DType::F64, &[1024], &values);
        let sum = w.lazy(DType::F64, &[1]);
        w.record(reduce_node(ReduceOp::Add, 1, &big, &sum)).unwrap();
        w.engine.release(big.slot);
        sums.push(sum);
    }
    w.engine.set_memory_limit(u64::MAX);
    for sum in sums {
        assert_eq!(w.floats(&sum), [1024.0]);
        w.engine.release(sum.slot);
    }
}
