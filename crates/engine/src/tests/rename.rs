//! Stores of dying temporaries exchange blocks, and nobody can tell.

use super::heat::{INNER, N, step};
use super::*;

fn start(w: &World) -> Array {
    let grid = w.lazy(DType::F64, &[N + 2, N + 2]);
    w.map("_copy", &grid, &[number(1.5)]).unwrap();
    let top = grid.window(&[0, 0], &[1, N + 2], 1);
    w.map("_copy", &top, &[number(40.0)]).unwrap();
    grid
}

fn store(w: &World, grid: &Array, new: &Array) {
    let center = grid.window(&[1, 1], &INNER, 1);
    w.map("_copy", &center, &[read(new)]).unwrap();
}

/// Runs `rounds` steps; `look` sees the grid and the temporary of each round before its store.
fn run(w: &World, rounds: usize, mut look: impl FnMut(usize, &Array, &Array)) -> Vec<f64> {
    let grid = start(w);
    let mut seen = Vec::new();
    for round in 0..rounds {
        let (new, delta) = step(w, &grid);
        seen.extend(w.floats(&delta));
        w.engine.release(delta.slot);
        look(round, &grid, &new);
        store(w, &grid, &new);
        w.engine.release(new.slot);
    }
    seen.extend(w.floats(&grid));
    w.engine.release(grid.slot);
    seen
}

fn renamed(w: &World) -> u64 {
    w.engine.stats().renamed
}

#[test]
fn a_loop_stores_without_a_second_pass() {
    let expected = run(&World::eager(), 6, |_, _, _| {});
    let (w, _turn) = guarded();
    w.engine.forget_places();
    let (before, live) = (renamed(w), w.live_bytes());
    let found = run(w, 6, |_, _, _| {});
    assert_eq!(found, expected);
    // The first store teaches, and its temporary has no shadow yet.
    assert_eq!(renamed(w) - before, 5);
    assert_eq!(w.live_bytes(), live);
}

#[test]
fn a_temporary_that_somebody_reads_is_where_it_belongs() {
    let expected = run(&World::eager(), 5, |_, _, _| {});
    let (w, _turn) = guarded();
    for way in 0..4 {
        w.engine.forget_places();
        let found = run(w, 5, |round, grid, new| {
            if round != 3 {
                return;
            }
            match way {
                // Through the engine, through the pages, through views that translate and that do not.
                0 => assert_eq!(w.floats(new).len(), N * N),
                1 => assert_eq!(w.peek(new).len(), N * N * 8),
                2 => {
                    let part = w.lazy(DType::F64, &[10, 20]);
                    let window = new.window(&[5, 7], &[10, 20], 1);
                    w.map("_copy", &part, &[read(&window)]).unwrap();
                    let (got, all) = (w.floats(&part), w.floats(new));
                    assert_eq!(got[21].to_bits(), all[6 * N + 8].to_bits());
                    w.engine.release(part.slot);
                }
                _ => {
                    let flat = w.lazy(DType::F64, &[N * N]);
                    let mut row = new.clone();
                    row.layout = Layout::contiguous(DType::F64, &[N * N]);
                    w.map("_copy", &flat, &[read(&row)]).unwrap();
                    assert_eq!(w.floats(&flat), w.floats(new));
                    w.engine.release(flat.slot);
                }
            }
            assert_eq!(w.floats(grid)[..1], [40.0]);
        });
        assert_eq!(found, expected, "way {way}");
    }
}

#[test]
fn an_updated_temporary_is_stored_updated() {
    let program = |w: &World| {
        run(w, 6, |_, _, new| {
            w.map("multiply", new, &[read(new), number(0.5)]).unwrap();
            w.engine.flush().unwrap();
        })
    };
    let expected = program(&World::eager());
    let (w, _turn) = guarded();
    w.engine.forget_places();
    assert_eq!(program(w), expected);
}

#[test]
fn a_place_that_is_wrong_twice_is_left_alone() {
    let (w, _turn) = guarded();
    w.engine.forget_places();
    let before = renamed(w);
    let found = run(w, 8, |_, _, new| {
        let copy = w.floats(new);
        assert_eq!(copy.len(), N * N);
    });
    assert_eq!(found.len(), 8 + (N + 2) * (N + 2));
    assert_eq!(renamed(w), before);
    assert!(w.engine.places_left_alone() > 0);
}
