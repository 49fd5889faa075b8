//! Moving rows of few elements, such as the coordinates of points, between memory and tiles.

#![expect(
    unsafe_code,
    reason = "elements lie at computed addresses that the launch vouches for"
)]

use crate::place::{self, gather, scatter};

/// Bytes of a row from which one copy is quicker than its elements one by one.
const LONG: usize = 32;

/// Rows of elements in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// Bytes from element to element of a row.
    pub(crate) step: isize,
    /// Bytes from row to row.
    pub(crate) pitch: isize,
    /// Elements of a row.
    pub(crate) row: usize,
    /// Rows.
    pub(crate) rows: usize,
}

/// Rows of a tile or of memory: bytes from element to element, and from row to row.
type Steps = (isize, isize);

/// Copies the rows at `from` to a tile, one after another.
///
/// # Safety
/// The elements may be read and `out` has room for them, aligned; both are apart.
pub(crate) unsafe fn gather_rows(size: usize, from: *const u8, plane: Plane, out: *mut u8) {
    let row = plane.row * size;
    if plane.rows == 1 || plane.pitch == 0 {
        // SAFETY: promised by the caller: one row.
        unsafe { gather(size, from, plane.step, out, plane.row) };
        // SAFETY: as above: room for all rows.
        unsafe { double(out, row, plane.rows * row) };
        return;
    }
    let to = (size.cast_signed(), row.cast_signed());
    // SAFETY: promised by the caller.
    unsafe { copy(size, (from, (plane.step, plane.pitch)), (out, to), plane) };
}

/// Copies a tile to the rows at `out`.
///
/// # Safety
/// The tile may be read and the places written; both are apart or the same.
pub(crate) unsafe fn scatter_rows(size: usize, from: *const u8, out: *mut u8, plane: Plane) {
    if plane.rows == 1 {
        // SAFETY: promised by the caller.
        unsafe { scatter(size, from, out, plane.step, plane.row) };
        return;
    }
    let tile = (size.cast_signed(), (plane.row * size).cast_signed());
    // SAFETY: promised by the caller.
    unsafe { copy(size, (from, tile), (out, (plane.step, plane.pitch)), plane) };
}

/// Repeats the first `done` bytes until there are `all`.
///
/// # Safety
/// `all` bytes may be written at `out`; the first `done` are there.
unsafe fn double(out: *mut u8, mut done: usize, all: usize) {
    while done < all {
        let next = done.min(all - done);
        // SAFETY: promised by the caller; what is read was written, and lies before what is written.
        unsafe { std::ptr::copy_nonoverlapping(out, out.wrapping_add(done), next) };
        done += next;
    }
}

/// # Safety
/// The elements may be read and written, as many as the plane has; both are apart or the same.
unsafe fn copy(size: usize, from: (*const u8, Steps), out: (*mut u8, Steps), plane: Plane) {
    match size {
        // SAFETY: promised by the caller.
        1 => unsafe { copy_as::<u8>(from, out, plane) },
        // SAFETY: as above.
        2 => unsafe { copy_as::<u16>(from, out, plane) },
        // SAFETY: as above.
        4 => unsafe { copy_as::<u32>(from, out, plane) },
        // SAFETY: as above.
        8 => unsafe { copy_as::<u64>(from, out, plane) },
        // SAFETY: as above.
        _ => unsafe { copy_as::<[u64; 2]>(from, out, plane) },
    }
}

/// # Safety
/// As for [`copy`].
unsafe fn copy_as<T: Copy>(from: (*const u8, Steps), out: (*mut u8, Steps), plane: Plane) {
    let rows = plane.rows;
    let size = size_of::<T>();
    let even = size.cast_signed();
    match plane.row {
        row if row * size >= LONG && (from.1.0, out.1.0) == (even, even) => {
            let ((mut from, (_, from_pitch)), (mut out, (_, pitch))) = (from, out);
            for _ in 0..rows {
                if !std::ptr::eq(from, out) {
                    // SAFETY: promised by the caller.
                    unsafe { place::copy(from, out, row * size) };
                }
                (from, out) = (from.wrapping_offset(from_pitch), out.wrapping_offset(pitch));
            }
        }
        // SAFETY: promised by the caller.
        2 => unsafe { copy_few::<T, 2>(from, out, rows) },
        // SAFETY: as above.
        3 => unsafe { copy_few::<T, 3>(from, out, rows) },
        // SAFETY: as above.
        4 => unsafe { copy_few::<T, 4>(from, out, rows) },
        row => {
            let ((mut from, (from_step, from_pitch)), (mut out, (step, pitch))) = (from, out);
            for _ in 0..rows {
                let (mut a, mut o) = (from, out);
                for _ in 0..row {
                    // SAFETY: promised by the caller.
                    let value = unsafe { a.cast::<T>().read_unaligned() };
                    // SAFETY: as above.
                    unsafe { o.cast::<T>().write_unaligned(value) };
                    (a, o) = (a.wrapping_offset(from_step), o.wrapping_offset(step));
                }
                (from, out) = (from.wrapping_offset(from_pitch), out.wrapping_offset(pitch));
            }
        }
    }
}

/// Copies rows of a length that the compiler knows.
///
/// # Safety
/// As for [`copy`].
unsafe fn copy_few<T: Copy, const N: usize>(
    (mut from, (from_step, from_pitch)): (*const u8, Steps),
    (mut out, (step, pitch)): (*mut u8, Steps),
    rows: usize,
) {
    for _ in 0..rows {
        for i in 0..N.cast_signed() {
            let (a, o) = (
                from.wrapping_offset(i * from_step),
                out.wrapping_offset(i * step),
            );
            // SAFETY: promised by the caller.
            let value = unsafe { a.cast::<T>().read_unaligned() };
            // SAFETY: as above.
            unsafe { o.cast::<T>().write_unaligned(value) };
        }
        (from, out) = (from.wrapping_offset(from_pitch), out.wrapping_offset(pitch));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of `row` elements of `N` bytes, `apart` of them from one to the next, spread over memory and gathered
    /// again.
    fn there_and_back<const N: usize>(row: usize, rows: usize, apart: usize) {
        let tile: Vec<u8> = (0..251).cycle().take(row * rows * N).collect();
        let (step, pitch) = (apart * N, apart * N * row + 5 * N);
        let plane = Plane {
            step: step.cast_signed(),
            pitch: pitch.cast_signed(),
            row,
            rows,
        };
        let mut memory = vec![0u8; pitch * rows];
        let mut back = vec![0u8; tile.len()];
        // SAFETY: the memory holds all the rows.
        unsafe { scatter_rows(N, tile.as_ptr(), memory.as_mut_ptr(), plane) };
        // SAFETY: as above.
        unsafe { gather_rows(N, memory.as_ptr(), plane, back.as_mut_ptr()) };
        assert_eq!(tile, back, "{rows} rows of {row} elements of {N} bytes");
        let element = |i: usize, k: usize| &memory[i * pitch + k * step..][..N];
        assert_eq!(element(rows - 1, row - 1), &tile[tile.len() - N..]);
    }

    #[test]
    fn rows_come_back() {
        for row in [1, 2, 3, 4, 5, 6, 7, 32, 45, 300] {
            for (rows, apart) in [(1, 3), (2, 3), (7, 3), (2, 1), (7, 1)] {
                there_and_back::<1>(row, rows, apart);
                there_and_back::<2>(row, rows, apart);
                there_and_back::<4>(row, rows, apart);
                there_and_back::<8>(row, rows, apart);
                there_and_back::<16>(row, rows, apart);
            }
        }
    }

    #[test]
    fn a_row_for_all_is_repeated() {
        let from = [1u16, 2, 3];
        for rows in [1usize, 2, 3, 10] {
            let mut out = vec![0u16; 3 * rows];
            let plane = Plane {
                step: -2,
                pitch: 0,
                row: 3,
                rows,
            };
            let last = from.as_ptr().wrapping_add(2).cast();
            // SAFETY: three elements backwards, and room for all rows.
            unsafe { gather_rows(2, last, plane, out.as_mut_ptr().cast()) };
            assert_eq!(out, [3, 2, 1].repeat(rows));
        }
    }
}
