//! Picking elements by truth values: how many, which, and where they are.

use crate::threads::{bands, on_threads, worth};

/// Truth values that one task looks at.
const TASK: usize = 64 << 10;

/// The cuts of a mask into tasks.
fn cuts(length: usize, threads: usize) -> Vec<usize> {
    let tasks = if threads > 1 { length / TASK } else { 1 };
    bands(length, tasks.clamp(1, 4 * threads))
}

/// The number of true values of each part between `cuts`.
fn counts(mask: &[u8], cuts: &[usize], threads: usize) -> Vec<usize> {
    let mut counts = vec![0; cuts.len() - 1];
    let tasks: Vec<_> = counts.iter_mut().zip(cuts.windows(2)).collect();
    // Truth values are counted several times faster than elements are picked.
    on_threads(tasks, worth(threads, mask.len() / 8), |(count, part)| {
        let (blocks, rest) = mask[part[0]..part[1]].as_chunks::<192>();
        let whole: usize = blocks.iter().map(|block| in_block(block)).sum();
        *count = whole + in_block(rest);
    });
    counts
}

/// The number of true values among at most 255: a byte holds it, so vectors of bytes do. Blocks of whole vectors leave
/// no rest to be counted one by one.
fn in_block(mask: &[u8]) -> usize {
    let add = |sum: u8, &m: &u8| sum.wrapping_add(u8::from(m != 0));
    usize::from(mask.iter().fold(0, add))
}

/// The number of true values.
pub fn count_true(mask: &[u8], threads: usize) -> usize {
    counts(mask, &cuts(mask.len(), threads), threads)
        .into_iter()
        .sum()
}

/// Cuts `out` into a part for each count. Should somebody change the mask meanwhile, the last parts are
/// shorter.
fn split<'a, T>(mut out: &'a mut [T], counts: &[usize]) -> Vec<&'a mut [T]> {
    let mut parts = Vec::with_capacity(counts.len());
    for &count in counts {
        let (part, rest) = out.split_at_mut(count.min(out.len()));
        parts.push(part);
        out = rest;
    }
    parts
}

/// What there is to pick from.
trait Values {
    type Value: Copy;

    /// The value of a number.
    fn one(&self, number: usize) -> Self::Value;

    /// The values of a block, from a number on.
    fn of_block(&self, number: usize) -> impl Iterator<Item = Self::Value>;

    /// Values from a number on, as many as `out` takes.
    fn run(&self, number: usize, out: &mut [Self::Value]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = self.one(number + i);
        }
    }
}

impl<T: Copy> Values for &[T] {
    type Value = T;

    fn one(&self, number: usize) -> T {
        self[number]
    }

    fn of_block(&self, number: usize) -> impl Iterator<Item = T> {
        self[number..][..BLOCK].iter().copied()
    }

    fn run(&self, number: usize, out: &mut [T]) {
        out.copy_from_slice(&self[number..][..out.len()]);
    }
}

/// The places themselves, counted from a first one.
struct Places(usize);

impl Values for Places {
    type Value = i64;

    fn one(&self, number: usize) -> i64 {
        whole(self.0 + number)
    }

    fn of_block(&self, number: usize) -> impl Iterator<Item = i64> {
        let first = self.one(number);
        (first..).take(BLOCK)
    }
}

/// Truth values that are looked at together.
const BLOCK: usize = 64;

/// True if all truth values of a block are stored as `value`. It looks at all of them: a first one that differs is as little
/// foreseeable.
fn are_all(block: &[u8; BLOCK], value: u8) -> bool {
    block.iter().fold(0, |unlike, &m| unlike | (m ^ value)) == 0
}

/// Writes the values of the true ones to `out`. Blocks that are false are skipped, runs of those that are true copied.
/// Elsewhere truth values are seldom foreseeable, so they do not decide which way the program goes: every value is
/// written, and the next one goes over it unless it was true.
fn fill<V: Values>(mask: &[u8], out: &mut [V::Value], values: &V) {
    let mut place = 0;
    let (blocks, rest) = mask.as_chunks::<BLOCK>();
    let mut number = 0;
    while let Some(block) = blocks.get(number) {
        let first = BLOCK * number;
        number += 1;
        if are_all(block, 0) {
            continue;
        }
        let room = out.get_mut(place..).unwrap_or_default();
        if are_all(block, 1) {
            let more = blocks[number..].iter();
            number += more.take_while(|&block| are_all(block, 1)).count();
            let length = (BLOCK * number - first).min(room.len());
            values.run(first, &mut room[..length]);
            place += length;
            continue;
        }
        place += match room.first_chunk_mut::<BLOCK>() {
            Some(room) => fill_block(block, room, (first, values)),
            None => fill_one_by_one(block, room, (first, values)),
        };
    }
    let room = out.get_mut(place..).unwrap_or_default();
    fill_one_by_one(rest, room, (BLOCK * blocks.len(), values));
}

/// Writes the values of the true ones from a number on, with room for all, and tells how many there are.
fn fill_block<V: Values>(
    block: &[u8; BLOCK],
    room: &mut [V::Value; BLOCK],
    (first, values): (usize, &V),
) -> usize {
    let mut place = 0;
    for (&m, value) in block.iter().zip(values.of_block(first)) {
        // So many are true at most; the compiler need not ask.
        room[place % BLOCK] = value;
        place += usize::from(m != 0);
    }
    place
}

/// Writes the values of the true ones from a number on as far as there is room, and tells how many there are.
fn fill_one_by_one<V: Values>(
    mask: &[u8],
    room: &mut [V::Value],
    (first, values): (usize, &V),
) -> usize {
    let mut place = 0;
    for (i, &m) in mask.iter().enumerate() {
        if let Some(o) = room.get_mut(place) {
            *o = values.one(first + i);
        }
        place += usize::from(m != 0);
    }
    place
}

/// The elements whose mask is true, in order; `out` has room for exactly as many.
///
/// # Panics
/// If there is not one truth value for each element.
pub fn pick<T: Copy + Send + Sync>(values: &[T], mask: &[u8], out: &mut [T], threads: usize) {
    assert_eq!(values.len(), mask.len(), "one truth value for each element");
    let cuts = cuts(mask.len(), threads);
    let counts = counts(mask, &cuts, threads);
    let tasks: Vec<_> = split(out, &counts)
        .into_iter()
        .zip(cuts.windows(2))
        .collect();
    on_threads(tasks, worth(threads, mask.len()), |(out, part)| {
        let values = &values[part[0]..part[1]];
        fill(&mask[part[0]..part[1]], out, &values);
    });
}

/// The rows of `width` bytes whose mask is true, in order; `out` has room for exactly as many.
///
/// # Panics
/// If there is not one truth value for each row.
pub fn pick_rows(values: &[u8], width: usize, mask: &[u8], out: &mut [u8], threads: usize) {
    assert_eq!(
        values.len(),
        width * mask.len(),
        "one truth value for each row"
    );
    let threads = if values.len() < TASK { 1 } else { threads };
    let cuts = bands(mask.len(), 4 * threads);
    let counts = counts(mask, &cuts, threads);
    let bytes: Vec<usize> = counts.iter().map(|count| count * width).collect();
    let tasks: Vec<_> = split(out, &bytes)
        .into_iter()
        .zip(cuts.windows(2))
        .collect();
    on_threads(tasks, worth(threads, values.len() / 8), |(out, part)| {
        let chosen = (part[0]..part[1]).filter(|&row| mask[row] != 0);
        for (out, row) in out.chunks_exact_mut(width).zip(chosen) {
            out.copy_from_slice(&values[row * width..][..width]);
        }
    });
}

/// The places of the true values of a mask in C order: an index for each axis of `shape`, one place after
/// the other; `out` has room for exactly as many.
///
/// # Panics
/// If the mask does not have this shape.
pub fn places(mask: &[u8], shape: &[usize], out: &mut [i64], threads: usize) {
    assert_eq!(
        mask.len(),
        shape.iter().product::<usize>(),
        "a mask of this shape"
    );
    let Some(&row) = shape.last().filter(|&&row| row > 0) else {
        return;
    };
    // Long vectors are cut anywhere, everything else between rows.
    let cuts = if shape.len() == 1 {
        cuts(row, threads)
    } else {
        let tasks = if mask.len() > TASK { 4 * threads } else { 1 };
        let rows = bands(mask.len() / row, tasks);
        rows.into_iter().map(|r| r * row).collect()
    };
    let counts = counts(mask, &cuts, threads);
    let indices: Vec<usize> = counts.iter().map(|count| count * shape.len()).collect();
    let tasks: Vec<_> = split(out, &indices)
        .into_iter()
        .zip(cuts.windows(2))
        .collect();
    on_threads(tasks, worth(threads, mask.len()), |(out, part)| {
        let mask = &mask[part[0]..part[1]];
        if shape.len() == 1 {
            fill(mask, out, &Places(part[0]));
        } else {
            rows_of_places(mask, part[0] / row, shape, out);
        }
    });
}

/// Places in whole rows, the first of which has this number.
fn rows_of_places(mask: &[u8], first: usize, shape: &[usize], out: &mut [i64]) {
    let (rank, row) = (shape.len(), shape[shape.len() - 1]);
    let mut columns = vec![0; row];
    let mut index = vec![0; rank];
    let mut done = 0;
    for (at, mask) in mask.chunks_exact(row).enumerate() {
        let count = count_true(mask, 1);
        let mut number = first + at;
        for axis in (0..rank - 1).rev() {
            index[axis] = whole(number % shape[axis]);
            number /= shape[axis];
        }
        fill(mask, &mut columns, &Places(0));
        let places = out[done..].chunks_exact_mut(rank).zip(&columns);
        for (place, &column) in places.take(count) {
            index[rank - 1] = column;
            place.copy_from_slice(&index);
        }
        done += (rank * count).min(out.len() - done);
    }
}

/// A place as NumPy stores it.
#[expect(clippy::cast_possible_wrap, reason = "no array has 2^63 elements")]
fn whole(place: usize) -> i64 {
    place as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mask(n: usize, every: usize) -> Vec<u8> {
        (0..n).map(|i| u8::from(i * i % 7 % every == 0)).collect()
    }

    #[test]
    fn picked_elements_are_those_of_a_filter() {
        for n in [0, 1, 7, 8, 9, 1000, 300_000] {
            for every in [1, 2, 5] {
                let (mask, values) = (mask(n, every), (0..n).collect::<Vec<_>>());
                let chosen = values.iter().copied().filter(|&i| mask[i] != 0);
                let expected: Vec<usize> = chosen.collect();
                for threads in [1, 3] {
                    let count = count_true(&mask, threads);
                    assert_eq!(count, expected.len());
                    let mut out = vec![0; count];
                    pick(&values, &mask, &mut out, threads);
                    assert_eq!(out, expected);
                    let mut first = vec![0; count];
                    places(&mask, &[n], &mut first, threads);
                    assert!(first.iter().zip(&expected).all(|(&a, &b)| a == whole(b)));
                }
            }
        }
    }

    #[test]
    fn places_have_an_index_for_every_axis() {
        for shape in [[3, 4, 5], [1, 300, 700], [200, 1, 900], [0, 2, 3]] {
            let n = shape.iter().product();
            let mask = mask(n, 3);
            for threads in [1, 4] {
                let count = count_true(&mask, threads);
                let mut out = vec![0; 3 * count];
                places(&mask, &shape, &mut out, threads);
                let chosen = (0..n).filter(|&i| mask[i] != 0);
                let expected = chosen.flat_map(|i| {
                    let index = [
                        i / (shape[1] * shape[2]),
                        i / shape[2] % shape[1],
                        i % shape[2],
                    ];
                    index.map(whole)
                });
                assert_eq!(out, expected.collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn rows_are_picked_whole() {
        let values: Vec<u8> = (0..60_000u32).map(|i| i.to_le_bytes()[0]).collect();
        let mask = mask(20_000, 2);
        let mut out = vec![0; 3 * count_true(&mask, 2)];
        pick_rows(&values, 3, &mask, &mut out, 4);
        let rows = values.chunks(3).zip(&mask).filter(|(_, m)| **m != 0);
        let expected: Vec<u8> = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        assert_eq!(out, expected);
    }
}
