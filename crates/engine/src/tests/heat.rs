//! The heat equation as a program records it: kernels, contraction and peak memory.

use super::*;

pub(super) const N: usize = 120;
pub(super) const INNER: [usize; 2] = [N, N];
const BYTES: usize = (N + 2) * (N + 2) * 8;

/// One step: gives the new state and how much it changed.
pub(super) fn step(w: &World, grid: &Array) -> (Array, Array) {
    let window = |i, j| grid.window(&[i, j], &INNER, 1);
    let (center, others) = (
        window(1, 1),
        [window(0, 1), window(2, 1), window(1, 2), window(1, 0)],
    );
    let mut sum = center.clone();
    let mut temporaries = Vec::new();
    for other in &others {
        let next = w.lazy(DType::F64, &INNER);
        w.map("add", &next, &[read(&sum), read(other)]).unwrap();
        temporaries.push(next.clone());
        sum = next;
    }
    let new = w.lazy(DType::F64, &INNER);
    w.map("multiply", &new, &[number(0.2), read(&sum)]).unwrap();
    let (change, size) = (w.lazy(DType::F64, &INNER), w.lazy(DType::F64, &INNER));
    w.map("subtract", &change, &[read(&new), read(&center)])
        .unwrap();
    w.map("absolute", &size, &[read(&change)]).unwrap();
    let delta = w.lazy(DType::F64, &[1, 1]);
    w.engine
        .record(reduce_node(ReduceOp::Add, 0b11, &size, &delta))
        .unwrap();
    for temporary in temporaries.iter().chain([&change, &size]) {
        w.engine.release(temporary.slot);
    }
    (new, delta)
}

#[test]
fn a_step_is_one_kernel_and_needs_two_arrays() {
    let (w, _turn) = guarded();
    w.engine.forget_places();
    w.engine.restart_peak();
    let start = w.live_bytes();
    let grid = w.lazy(DType::F64, &[N + 2, N + 2]);
    w.map("_copy", &grid, &[number(0.0)]).unwrap();
    let top = grid.window(&[0, 0], &[1, N + 2], 1);
    w.map("_copy", &top, &[number(40.0)]).unwrap();
    let mut state: Option<Array> = None;
    w.engine.flush().unwrap();
    w.engine.reset_stats();
    for round in 0..4 {
        let (new, delta) = step(w, &grid);
        if let Some(old) = state.take() {
            w.engine.release(old.slot);
        }
        let change = w.floats(&delta)[0];
        assert!(change > 0.0);
        w.engine.release(delta.slot);
        let center = grid.window(&[1, 1], &INNER, 1);
        w.map("_copy", &center, &[read(&new)]).unwrap();
        state = Some(new);
        let stats = w.engine.stats();
        // The first store is a kernel; the next ones exchange blocks.
        assert_eq!(stats.kernels, 1 + round + round.min(1));
        assert_eq!(stats.contracted, 6 * (round + 1));
        let live = w.live_bytes() - start;
        assert!(live < 2 * BYTES + BYTES / 8, "{live}");
    }
    let peak = w.engine.pool().stats().peak_bytes - start;
    assert!(peak < 3 * BYTES, "NumPy needs four arrays: {peak}");
    w.engine.release(grid.slot);
    w.engine.flush().unwrap();
    w.engine.release(state.unwrap().slot);
    assert_eq!(w.live_bytes(), start);
}
