//! Loads and stores of single values, and copies: the only place that touches memory by address.

#![expect(unsafe_code, reason = "a launch names memory by address")]

use crate::value::Val;
use arrayloom_types::DType;
use std::ptr;

/// Reads the element at `address`, which need not be aligned.
///
/// # Safety
/// The bytes of one element at `address` are readable and not written meanwhile.
pub(crate) unsafe fn load(address: usize, dtype: DType) -> Val {
    let mut bytes = [0u8; 16];
    let from = ptr::with_exposed_provenance::<u8>(address);
    // SAFETY: the caller vouches for `size` readable bytes; `bytes` has 16, never fewer than a size.
    unsafe { ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), dtype.size()) };
    Val::from_bytes(dtype, bytes)
}

/// Writes an element to `address`, which need not be aligned.
///
/// # Safety
/// The bytes of one element at `address` are writable and not used by anyone else meanwhile.
pub(crate) unsafe fn store(address: usize, value: Val) {
    let bytes = value.to_bytes();
    let to = ptr::with_exposed_provenance_mut::<u8>(address);
    // SAFETY: the caller vouches for `size` writable bytes; `bytes` has 16, never fewer than a size.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, value.dtype().size()) };
}
