//! The elements of arrays as slices.
#![expect(unsafe_code, reason = "reads and fills the memory of arrays")]

use crate::np::Arr;

/// The first `count` elements.
///
/// # Safety
/// The array is contiguous in some order, aligned for `T`, lives, and has `count` of them, which are computed and
/// which nobody writes while the slice is in use.
pub(crate) unsafe fn elements<'a, T>(array: Arr, count: usize) -> &'a [T] {
    let start = std::ptr::with_exposed_provenance(array.addr());
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts(start, count) }
}

/// The first `count` elements, to be written.
///
/// # Safety
/// As for [`elements`], of an array that may be written and that nobody else uses.
pub(crate) unsafe fn places<'a, T>(array: Arr, count: usize) -> &'a mut [T] {
    let start = std::ptr::with_exposed_provenance_mut(array.addr());
    // SAFETY: promised by the caller.
    unsafe { std::slice::from_raw_parts_mut(start, count) }
}
