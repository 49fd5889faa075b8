//! Requests for memory as NumPy programs make them, one operation at a time.

use crate::common::Dice;

/// One step of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    /// An array of a name and a number of bytes.
    Get(u64, u64),
    /// The array of this name is gone.
    Free(u64),
}

/// A trace that is being written.
#[derive(Default)]
struct Tape {
    asks: Vec<Ask>,
    names: u64,
}

impl Tape {
    fn get(&mut self, bytes: u64) -> u64 {
        self.names += 1;
        self.asks.push(Ask::Get(self.names, bytes));
        self.names
    }

    fn free(&mut self, name: u64) {
        self.asks.push(Ask::Free(name));
    }

    /// A chain of temporaries, each freed when the next is there. Gives the last.
    fn chain(&mut self, bytes: u64, steps: u64) -> u64 {
        let mut last = self.get(bytes);
        for _ in 1..steps {
            let next = self.get(bytes);
            self.free(last);
            last = next;
        }
        last
    }
}

/// All five kinds, by name.
pub(crate) fn all() -> Vec<(&'static str, Vec<Ask>)> {
    vec![
        ("heat 2-D", heat()),
        ("shallow water", shallow_water()),
        ("5-D chunks with edges", chunks()),
        ("300 random images", images()),
        ("varying batch", batches()),
    ]
}

/// A five-point stencil: the grid lives, the rest are temporaries.
fn heat() -> Vec<Ask> {
    let mut tape = Tape::default();
    let (n, inner) = (3000u64, 2998u64);
    let grid = tape.get(n * n * 8);
    for _ in 0..150 {
        let work = tape.chain(inner * inner * 8, 5);
        let delta = tape.chain(inner * inner * 8, 2);
        tape.free(delta);
        tape.free(work);
    }
    tape.free(grid);
    tape.asks
}

/// Three fields on grids that differ by a row or a column.
fn shallow_water() -> Vec<Ask> {
    let mut tape = Tape::default();
    let n = 2000u64;
    let shapes = [(n + 2) * (n + 2), (n + 1) * n, n * (n + 1), n * n];
    let fields: Vec<u64> = (0..3).map(|_| tape.get(shapes[0] * 8)).collect();
    for _ in 0..60 {
        let halves: Vec<u64> = [
            shapes[1], shapes[1], shapes[1], shapes[2], shapes[2], shapes[2],
        ]
        .into_iter()
        .map(|points| tape.chain(points * 8, 4))
        .collect();
        for _ in 0..3 {
            let next = tape.chain(shapes[3] * 8, 5);
            tape.free(next);
        }
        for half in halves {
            tape.free(half);
        }
    }
    for field in fields {
        tape.free(field);
    }
    tape.asks
}

/// Chunks of a 5-D volume, shorter at its edges, each put through a chain of filters with halos.
fn chunks() -> Vec<Ask> {
    let mut tape = Tape::default();
    let (extents, chunk) = ([3u64, 4, 100, 1100, 1300], [1u64, 1, 32, 256, 256]);
    let counts: Vec<u64> = extents
        .iter()
        .zip(chunk)
        .map(|(&e, c)| e.div_ceil(c))
        .collect();
    for place in 0..counts.iter().product::<u64>() {
        let mut rest = place;
        let size: Vec<u64> = (0..5)
            .rev()
            .map(|axis| {
                let at = rest % counts[axis];
                rest /= counts[axis];
                (extents[axis] - at * chunk[axis]).min(chunk[axis])
            })
            .collect();
        let points = |halo: u64| size[..3].iter().map(|n| n + 2 * halo).product::<u64>() * 4;
        let read = tape.get(points(6));
        let smooth = tape.chain(points(4), 3);
        tape.free(read);
        let edges = tape.chain(points(2), 4);
        let out = tape.chain(points(0), 2);
        tape.free(smooth);
        tape.free(edges);
        tape.free(out);
    }
    tape.asks
}

/// Images of all sizes, a chain of operations on each.
fn images() -> Vec<Ask> {
    let mut tape = Tape::default();
    let mut dice = Dice::new(5);
    for _ in 0..300 {
        let (height, width) = (500 + dice.roll(3500), 500 + dice.roll(3500));
        let pixels = height * width;
        let read = tape.get(pixels * 3);
        let grey = tape.chain(pixels * 4, 3);
        tape.free(read);
        let blurred = tape.chain(pixels * 4, 4);
        let mask = tape.get(pixels);
        tape.free(grey);
        tape.free(blurred);
        tape.free(mask);
    }
    tape.asks
}

/// Layers of a network on batches of changing length: what the forward pass makes, the backward frees.
fn batches() -> Vec<Ask> {
    let mut tape = Tape::default();
    let mut dice = Dice::new(11);
    let widths = [784u64, 4096, 4096, 2048, 1024, 512, 10];
    for _ in 0..150 {
        let batch = 256 + dice.roll(1792);
        let mut kept = Vec::new();
        for pair in widths.windows(2) {
            kept.push(tape.chain(batch * pair[1] * 4, 2));
        }
        while let Some(activation) = kept.pop() {
            let width = widths[kept.len() + 1];
            let gradient = tape.chain(batch * width * 4, 2);
            tape.free(activation);
            tape.free(gradient);
        }
    }
    tape.asks
}
