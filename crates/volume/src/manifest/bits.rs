//! Rearranged bytes and bits, and checksums.
#![expect(
    clippy::inline_always,
    reason = "inlined into code compiled for wide vectors"
)]

use arrayloom_cpu::{Wide, wide};

/// Elements of `size` bytes whose first bytes come first, then all second bytes, and so on.
pub(super) fn unshuffle(from: &[u8], size: usize, to: &mut [u8]) {
    let n = from.len() / size;
    let (whole, rest) = to.split_at_mut(n * size);
    match size {
        2 => wide(Planes::<2>(from, whole.as_chunks_mut().0)),
        4 => wide(Planes::<4>(from, whole.as_chunks_mut().0)),
        8 => wide(Planes::<8>(from, whole.as_chunks_mut().0)),
        _ => {
            for (byte, plane) in from[..n * size].chunks_exact(n.max(1)).enumerate() {
                for (element, &value) in whole.chunks_exact_mut(size).zip(plane) {
                    element[byte] = value;
                }
            }
        }
    }
    rest.copy_from_slice(&from[n * size..]);
}

/// Elements of `N` bytes, at most eight, from a row for each of their bytes.
struct Planes<'a, const N: usize>(&'a [u8], &'a mut [[u8; N]]);

impl<const N: usize> Wide for Planes<'_, N> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let n = self.1.len();
        let planes: [&[u8]; N] = std::array::from_fn(|byte| &self.0[byte * n..][..n]);
        for (i, element) in self.1.iter_mut().enumerate() {
            let mut word = 0u64;
            for (byte, plane) in planes.iter().enumerate() {
                word |= u64::from(plane[i]) << (8 * byte);
            }
            element.copy_from_slice(&word.to_le_bytes()[..N]);
        }
    }
}

/// The same with bits: a row for each bit of an element. If the elements are no multiple of eight, Blosc 1 leaves
/// all of them as they are.
pub(super) fn unshuffle_bits(from: &[u8], size: usize, to: &mut [u8]) {
    /// Groups of eight elements that are turned at a time.
    const GROUPS: usize = 64;
    let n = from.len() / size;
    if !n.is_multiple_of(8) {
        to.copy_from_slice(from);
        return;
    }
    let row = n / 8;
    let mut bytes = [[0; 8]; 8 * GROUPS];
    for first in (0..row).step_by(GROUPS) {
        let groups = GROUPS.min(row - first);
        let part = &mut to[8 * first * size..][..8 * groups * size];
        // At most eight bytes of an element at a time.
        for low in (0..size).step_by(8) {
            let some = (size - low).min(8);
            let bytes = &mut bytes[..some * groups];
            for (byte, plane) in bytes.chunks_exact_mut(groups).enumerate() {
                let start = |bit: usize| (8 * (low + byte) + bit) * row + first;
                wide(Turn {
                    rows: std::array::from_fn(|bit| &from[start(bit)..][..groups]),
                    to: plane,
                });
            }
            let planes = bytes.as_flattened();
            if some == size {
                unshuffle(planes, size, part);
                continue;
            }
            for (byte, plane) in planes.chunks_exact(8 * groups).enumerate() {
                for (element, &value) in part.chunks_exact_mut(size).zip(plane) {
                    element[low + byte] = value;
                }
            }
        }
    }
    to[n * size..].copy_from_slice(&from[n * size..]);
}

/// Bytes from a row for each of their bits.
struct Turn<'a> {
    rows: [&'a [u8]; 8],
    to: &'a mut [[u8; 8]],
}

impl Wide for Turn<'_> {
    type Out = ();

    #[inline(always)]
    fn run(self) {
        let n = self.to.len();
        let rows = self.rows.map(|row| &row[..n]);
        for (group, to) in self.to.iter_mut().enumerate() {
            let mut square = 0u64;
            for (bit, row) in rows.iter().enumerate() {
                square |= u64::from(row[group]) << (8 * bit);
            }
            *to = transposed(square).to_le_bytes();
        }
    }
}

/// The transpose of eight rows of eight bits.
#[inline(always)]
fn transposed(mut x: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00AA_00AA_00AA_00AA),
        (14, 0x0000_CCCC_0000_CCCC),
        (28, 0x0000_0000_F0F0_F0F0),
    ] {
        let t = (x ^ (x >> shift)) & mask;
        x ^= t ^ (t << shift);
    }
    x
}

/// Checks the CRC-32C that stands in the last four bytes.
pub(super) fn check_crc32c(data: &[u8]) -> Result<(), String> {
    let Some((data, &stored)) = data.split_last_chunk::<4>() else {
        return Err("no room for a checksum".to_owned());
    };
    let (stored, found) = (u32::from_le_bytes(stored), crc32c::crc32c(data));
    if stored == found {
        return Ok(());
    }
    Err(format!(
        "its checksum is {found:08x}, and {stored:08x} is stored: it is corrupt"
    ))
}

/// Undoes differences between neighbours of a row, for elements of `size` bytes in order of this machine.
pub(super) fn undo_differences(data: &mut [u8], row_bytes: usize, size: usize) {
    for row in data.chunks_mut(row_bytes.max(1)) {
        match size {
            1 => sums(row, |a: [u8; 1], b| [a[0].wrapping_add(b[0])]),
            2 => sums(row, |a: [u8; 2], b| {
                u16::from_ne_bytes(a)
                    .wrapping_add(u16::from_ne_bytes(b))
                    .to_ne_bytes()
            }),
            4 => sums(row, |a: [u8; 4], b| {
                u32::from_ne_bytes(a)
                    .wrapping_add(u32::from_ne_bytes(b))
                    .to_ne_bytes()
            }),
            _ => sums(row, |a: [u8; 8], b| {
                u64::from_ne_bytes(a)
                    .wrapping_add(u64::from_ne_bytes(b))
                    .to_ne_bytes()
            }),
        }
    }
}

fn sums<const N: usize>(row: &mut [u8], add: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    let mut before = [0; N];
    let (elements, _) = row.as_chunks_mut::<N>();
    for element in elements {
        before = add(before, *element);
        *element = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_bits_come_back_in_order() {
        for (size, count) in [1, 2, 3, 4, 8, 16]
            .map(|size| [(size, 43), (size, 1029)])
            .as_flattened()
        {
            let (size, count) = (*size, *count);
            let data: Vec<u8> = (0..size * count)
                .map(|i| u8::try_from(i * 37 % 251).unwrap())
                .collect();
            let n = data.len() / size;
            let mut planes = vec![0; data.len()];
            for (i, element) in data.chunks_exact(size).enumerate() {
                for (b, &value) in element.iter().enumerate() {
                    planes[b * n + i] = value;
                }
            }
            let mut out = vec![0; data.len()];
            unshuffle(&planes, size, &mut out);
            assert_eq!(out, data);

            unshuffle_bits(&data, size, &mut out);
            assert_eq!(out, data, "{n} elements are no rows of bits");
            let whole = n / 8 * 8;
            let data = &data[..whole * size];
            let mut rows = vec![0; data.len()];
            for (i, element) in data.chunks_exact(size).enumerate() {
                for bit in 0..8 * size {
                    let set = element[bit / 8] >> (bit % 8) & 1;
                    rows[bit * (whole / 8) + i / 8] |= set << (i % 8);
                }
            }
            unshuffle_bits(&rows, size, &mut out[..data.len()]);
            assert_eq!(out[..data.len()], *data, "size {size}");
        }
    }

    #[test]
    fn rows_of_differences_are_summed() {
        let mut data = [1u8, 2, 255, 5, 5, 5];
        undo_differences(&mut data, 3, 1);
        assert_eq!(data, [1, 3, 2, 5, 10, 15]);
    }

    #[test]
    fn checksums_are_compared() {
        let mut data = b"123456789".to_vec();
        data.extend(0xE306_9283u32.to_le_bytes());
        assert!(check_crc32c(&data).is_ok());
        data[0] ^= 1;
        assert!(check_crc32c(&data).unwrap_err().contains("corrupt"));
    }
}
