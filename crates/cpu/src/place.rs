//! Moving elements between memory with steps and contiguous tiles.

#![expect(
    unsafe_code,
    reason = "elements lie at computed addresses that the launch vouches for"
)]

use crate::Isa;
#[cfg(target_arch = "x86_64")]
use std::ffi::c_void;

/// Bytes of a page.
const PAGE: usize = 4096;
/// Bytes that the C library's copy moves by its own loops, whatever the addresses.
const SHORT: usize = 2048;

/// Copies bytes to a place apart.
///
/// A string copy of the processor, which the C library uses for longer parts, takes twenty times as long on
/// some where the target lies a few bytes further within its page than the source (glibc bug 30994). A
/// shift by an element gives just that, so such parts are short, and the last one is first: what is read then lies
/// within its page before all that was written.
///
/// # Safety
/// `bytes` bytes may be read at `from` and written at `out`; both are apart.
pub(crate) unsafe fn copy(from: *const u8, out: *mut u8, bytes: usize) {
    let ahead = out.addr().wrapping_sub(from.addr()) % PAGE;
    let part = if (1..64).contains(&ahead) {
        SHORT
    } else {
        bytes.max(1)
    };
    for at in (0..bytes).step_by(part).rev() {
        let (from, out) = (from.wrapping_add(at), out.wrapping_add(at));
        // SAFETY: promised by the caller.
        unsafe { std::ptr::copy_nonoverlapping(from, out, part.min(bytes - at)) };
    }
}

/// Copies `n` elements that lie `step` bytes apart to a tile.
///
/// # Safety
/// The elements may be read and `out` has room for them, aligned; both are apart.
pub(crate) unsafe fn gather(size: usize, from: *const u8, step: isize, out: *mut u8, n: usize) {
    if step == size.cast_signed() {
        // SAFETY: promised by the caller.
        unsafe { copy(from, out, n * size) };
        return;
    }
    match size {
        // SAFETY: promised by the caller.
        1 => unsafe { gather_as::<u8>(from, step, out, n) },
        // SAFETY: as above.
        2 => unsafe { gather_as::<u16>(from, step, out, n) },
        // SAFETY: as above.
        4 => unsafe { gather_as::<u32>(from, step, out, n) },
        // SAFETY: as above.
        8 => unsafe { gather_as::<u64>(from, step, out, n) },
        // SAFETY: as above.
        _ => unsafe { gather_as::<[u64; 2]>(from, step, out, n) },
    }
}

/// Elements in reverse, and every second, third or fourth one, have loops of their own.
///
/// # Safety
/// As for [`gather`].
unsafe fn gather_as<T: Copy>(from: *const u8, step: isize, out: *mut u8, n: usize) {
    let size = size_of::<T>().cast_signed();
    match step {
        // SAFETY: promised by the caller.
        _ if step == -size => unsafe { every::<T, -1>(from, out, n) },
        // SAFETY: as above.
        _ if step == 2 * size => unsafe { every::<T, 2>(from, out, n) },
        // SAFETY: as above.
        _ if step == 3 * size => unsafe { every::<T, 3>(from, out, n) },
        // SAFETY: as above.
        _ if step == 4 * size => unsafe { every::<T, 4>(from, out, n) },
        // SAFETY: as above.
        _ => unsafe { spread::<T>(from, step, out, size, n) },
    }
}

/// Copies every `STEP`th element to a tile.
///
/// # Safety
/// As for [`gather`].
unsafe fn every<T: Copy, const STEP: isize>(from: *const u8, out: *mut u8, n: usize) {
    let (from, out) = (from.cast::<T>(), out.cast::<T>());
    for i in 0..n {
        let at = from.wrapping_offset(i.cast_signed() * STEP);
        // SAFETY: promised by the caller.
        let value = unsafe { at.read_unaligned() };
        // SAFETY: as above.
        unsafe { out.wrapping_add(i).write_unaligned(value) };
    }
}

/// Copies a tile of `n` elements to places that lie `step` bytes apart.
///
/// # Safety
/// The tile may be read and the places written; both are apart or the same.
pub(crate) unsafe fn scatter(size: usize, from: *const u8, out: *mut u8, step: isize, n: usize) {
    if step == size.cast_signed() {
        if std::ptr::eq(from, out) {
            return;
        }
        // SAFETY: promised by the caller.
        unsafe { copy(from, out, n * size) };
        return;
    }
    match size {
        // SAFETY: promised by the caller.
        1 => unsafe { spread::<u8>(from, 1, out, step, n) },
        // SAFETY: as above.
        2 => unsafe { spread::<u16>(from, 2, out, step, n) },
        // SAFETY: as above.
        4 => unsafe { spread::<u32>(from, 4, out, step, n) },
        // SAFETY: as above.
        8 => unsafe { spread::<u64>(from, 8, out, step, n) },
        // SAFETY: as above.
        _ => unsafe { spread::<[u64; 2]>(from, 16, out, step, n) },
    }
}

/// Copies the elements that lie `by` bytes from those `step` bytes apart to a tile.
///
/// # Safety
/// The elements may be read and `out` has room for as many as `by` has, aligned; both are apart.
pub(crate) unsafe fn pick(size: usize, from: (*const u8, isize), by: &[i64], out: *mut u8) {
    match size {
        // SAFETY: promised by the caller.
        1 => unsafe { pick_as::<u8>(from, by, out) },
        // SAFETY: as above.
        2 => unsafe { pick_as::<u16>(from, by, out) },
        // SAFETY: as above.
        4 => unsafe { pick_as::<u32>(from, by, out) },
        // SAFETY: as above.
        8 => unsafe { pick_as::<u64>(from, by, out) },
        // SAFETY: as above.
        _ => unsafe { pick_as::<[u64; 2]>(from, by, out) },
    }
}

/// # Safety
/// As for [`pick`].
#[expect(
    clippy::cast_possible_truncation,
    reason = "bytes within a block fit an address"
)]
unsafe fn pick_as<T: Copy>((from, step): (*const u8, isize), by: &[i64], out: *mut u8) {
    // SAFETY: promised by the caller.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<T>(), by.len()) };
    let mut at = from;
    for (o, &by) in out.iter_mut().zip(by) {
        // SAFETY: promised by the caller.
        *o = unsafe { at.wrapping_offset(by as isize).cast::<T>().read_unaligned() };
        at = at.wrapping_offset(step);
    }
}

/// Writes one element to `n` places that lie `step` bytes apart.
///
/// # Safety
/// The element may be read and the places written; both are apart.
pub(crate) unsafe fn repeat(size: usize, from: *const u8, out: *mut u8, step: isize, n: usize) {
    match size {
        // SAFETY: promised by the caller.
        1 => unsafe { spread::<u8>(from, 0, out, step, n) },
        // SAFETY: as above.
        2 => unsafe { spread::<u16>(from, 0, out, step, n) },
        // SAFETY: as above.
        4 => unsafe { spread::<u32>(from, 0, out, step, n) },
        // SAFETY: as above.
        8 => unsafe { spread::<u64>(from, 0, out, step, n) },
        // SAFETY: as above.
        _ => unsafe { spread::<[u64; 2]>(from, 0, out, step, n) },
    }
}

/// # Safety
/// As for [`gather`] and [`scatter`].
unsafe fn spread<T: Copy>(from: *const u8, from_step: isize, out: *mut u8, step: isize, n: usize) {
    let (mut from, mut out) = (from, out);
    for _ in 0..n {
        // SAFETY: promised by the caller.
        let value = unsafe { from.cast::<T>().read_unaligned() };
        // SAFETY: promised by the caller.
        unsafe { out.cast::<T>().write_unaligned(value) };
        from = from.wrapping_offset(from_step);
        out = out.wrapping_offset(step);
    }
}

/// Copies bytes around the caches: whole lines do not go through them. [`fence`] ends a series.
///
/// # Safety
/// `bytes` bytes may be read at `from` and written at `out`; both are apart.
pub(crate) unsafe fn stream(from: *const u8, out: *mut u8, bytes: usize, isa: Isa) {
    let head = out.align_offset(64).min(bytes);
    let lines = (bytes - head) / 64;
    let tail = head + lines * 64;
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, out, head) };
    let (from_lines, out_lines) = (from.wrapping_add(head), out.wrapping_add(head));
    // SAFETY: whole lines, within the bytes that the caller promises, aligned after the head.
    unsafe { stream_lines(from_lines, out_lines, lines, isa) };
    let (from, out) = (from.wrapping_add(tail), out.wrapping_add(tail));
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, out, bytes - tail) };
}

/// # Safety
/// As many lines may be read at `from` and written at `out`, which is aligned to them.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_lines(from: *const u8, out: *mut u8, lines: usize, isa: Isa) {
    if isa == Isa::Avx512 {
        // SAFETY: promised by the caller; the processor has the instructions.
        unsafe { wide_lines(from, out, lines) };
        return;
    }
    for part in 0..4 * lines {
        // SAFETY: promised by the caller.
        unsafe { stream_part(from.wrapping_add(16 * part), out.wrapping_add(16 * part)) };
    }
}

/// # Safety
/// As for [`stream_lines`].
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
unsafe fn wide_lines(from: *const u8, out: *mut u8, lines: usize) {
    use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_stream_si512};
    for line in 0..lines {
        let from: *const __m512i = from.wrapping_add(64 * line).cast::<c_void>().cast();
        // SAFETY: promised by the caller.
        let value = unsafe { _mm512_loadu_si512(from) };
        let out: *mut __m512i = out.wrapping_add(64 * line).cast::<c_void>().cast();
        // SAFETY: promised by the caller; aligned.
        unsafe { _mm512_stream_si512(out, value) };
    }
}

/// # Safety
/// Sixteen bytes may be read at `from` and written at `out`, which is aligned to them.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn stream_part(from: *const u8, out: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let from: *const __m128i = from.cast::<c_void>().cast();
    // SAFETY: promised by the caller; every x86-64 has SSE2.
    let value = unsafe { _mm_loadu_si128(from) };
    let out: *mut __m128i = out.cast::<c_void>().cast();
    // SAFETY: as above; aligned.
    unsafe { _mm_stream_si128(out, value) };
}

/// # Safety
/// As many lines may be read at `from` and written at `out`.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream_lines(from: *const u8, out: *mut u8, lines: usize, _: Isa) {
    // SAFETY: promised by the caller.
    unsafe { std::ptr::copy_nonoverlapping(from, out, 64 * lines) };
}

/// Asks for the line at `from`, which need not be there. It comes into all caches: with the hint that it is used once,
/// Intel's server cores often lose it before, and wait two to four times as long.
#[inline]
pub(crate) fn fetch(from: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint that never fails, whatever the address.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(from.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}

/// Makes what [`stream`] wrote visible before anything that this thread writes later.
pub(crate) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered<T: Copy + PartialEq + std::fmt::Debug>(all: &[T]) {
        let size = size_of::<T>().cast_signed();
        for step in [-3, -2, -1, 0, 1, 2, 3, 4, 5] {
            for n in [0, 1, 7, 40] {
                let mut out = vec![all[0]; n];
                let (from, to) = (all[200..].as_ptr().cast(), out.as_mut_ptr().cast());
                // SAFETY: forty elements at these steps lie around the 200th; the target has room for `n`.
                unsafe { gather(size.cast_unsigned(), from, step * size, to, n) };
                let expected =
                    (0..n.cast_signed()).map(|i| all[200usize.strict_add_signed(i * step)]);
                assert_eq!(out, expected.collect::<Vec<_>>(), "{n} at step {step}");
            }
        }
    }

    #[test]
    fn gathers_at_every_step() {
        let numbers = || 0..420u16;
        gathered(&numbers().map(|i| i.to_le_bytes()[0]).collect::<Vec<_>>());
        gathered(&numbers().collect::<Vec<_>>());
        gathered(&numbers().map(u32::from).collect::<Vec<_>>());
        gathered(&numbers().map(u64::from).collect::<Vec<_>>());
        gathered(&numbers().map(|i| [u64::from(i), 7]).collect::<Vec<_>>());
    }

    #[test]
    fn copies_at_every_distance() {
        let all: Vec<u8> = (0..251).cycle().take(3 * PAGE).collect();
        let start = all.as_ptr().align_offset(64);
        for ahead in [0, 1, 8, 24, 63, 64, 100] {
            for bytes in [0, 1, SHORT, SHORT + 1, SHORT + 31, PAGE + 17] {
                let source = &all[start..start + bytes];
                let mut out = vec![0u8; 3 * PAGE];
                let level = source.as_ptr().addr().wrapping_sub(out.as_ptr().addr()) % PAGE;
                let to = level + ahead;
                // SAFETY: both hold three pages, and what is copied ends within them.
                unsafe { copy(source.as_ptr(), out.as_mut_ptr().wrapping_add(to), bytes) };
                assert_eq!(&out[to..to + bytes], source, "{bytes} bytes, {ahead} ahead");
                let others = out[..to].iter().chain(&out[to + bytes..]);
                assert!(others.copied().all(|x| x == 0));
            }
        }
    }
}
