//! What devices in the memory of the host share: blocks, copies, walks over a domain.

#![expect(unsafe_code, reason = "copies name memory by address")]

use crate::{Arg, Buf, DeviceError, End};
use arrayloom_types::{DType, Layout};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The unit of allocation, which carries the alignment.
#[derive(Clone, Copy)]
#[repr(align(512))]
struct Unit(#[expect(dead_code, reason = "reached by address only")] [u8; 512]);

/// Blocks on the heap by their addresses, which are the numbers of their [`Buf`]s.
#[derive(Default)]
pub struct HostMemory(Mutex<BTreeMap<u64, Vec<Unit>>>);

impl HostMemory {
    /// A block for the device with this name, aligned to 512 bytes.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn alloc(&self, device: &'static str, bytes: u64) -> Result<Buf, DeviceError> {
        let none = || DeviceError::OutOfMemory {
            device,
            need: bytes,
            free: 0,
        };
        let count = usize::try_from(bytes.div_ceil(512).max(1)).map_err(|_too_large| none())?;
        let mut memory: Vec<Unit> = Vec::new();
        memory
            .try_reserve_exact(count)
            .map_err(|_too_large| none())?;
        memory.resize(count, Unit([0; 512]));
        let first = memory.as_mut_ptr().expose_provenance() as u64;
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        blocks.insert(first, memory);
        Ok(Buf(first))
    }

    /// Gives a block back.
    pub fn free(&self, buf: Buf) {
        let mut blocks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(blocks.remove(&buf.0));
    }

    /// Number of blocks in use.
    pub fn blocks(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Copies bytes; the two ranges may overlap.
    ///
    /// # Errors
    /// [`DeviceError::Failed`] for a copy longer than the address space.
    pub fn copy(&self, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let bytes = usize::try_from(bytes).map_err(|_too_large| DeviceError::Failed {
            device: "host",
            what: format!("a copy of {bytes} bytes is longer than the address space"),
        })?;
        // SAFETY: whoever calls `Device::copy` vouches for both ranges; this works at once, so nobody
        // else uses them meanwhile.
        unsafe { ptr::copy(address(src).cast_const(), address(dst), bytes) };
        Ok(())
    }
}

/// The address of one end of a copy, where buffers are host addresses.
fn address(end: End) -> *mut u8 {
    match end {
        End::Host(at) => at,
        End::Dev(buf, offset) => host_pointer(buf.0.wrapping_add(offset)),
    }
}

/// The host pointer with this address. Addresses fit: they were pointers before.
pub fn host_pointer(address: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

/// All indices of `extents` in C order, the last one fastest.
pub fn points(extents: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<'_> {
    let total: usize = extents.iter().product();
    (0..total).map(move |mut number| {
        let mut index = vec![0; extents.len()];
        for (slot, &extent) in index.iter_mut().zip(extents).rev() {
            *slot = number % extent;
            number /= extent;
        }
        index
    })
}

/// The same bytes as ranges that are apart, rising.
pub fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::new();
    for (low, high) in ranges {
        match joined.last_mut() {
            Some(last) if low < last.1 => last.1 = last.1.max(high),
            _ => joined.push((low, high)),
        }
    }
    joined
}

impl Arg {
    /// The bytes that a view of this shape touches, as host addresses, where buffers are host addresses;
    /// `None` for a scalar and for no element.
    pub fn range(&self, shape: &[usize], dtype: DType) -> Option<(u64, u64)> {
        let Arg::View {
            buf,
            offset,
            strides,
        } = self
        else {
            return None;
        };
        let layout = Layout {
            dtype,
            offset: *offset,
            shape: shape.into(),
            strides: strides.clone(),
        };
        if layout.is_empty() {
            return None;
        }
        let (low, high) = layout.byte_range();
        let at = |by: isize| buf.0.wrapping_add_signed(by as i64);
        Some((at(low), at(high)))
    }

    /// The same argument from this row of the domain on.
    #[must_use]
    pub fn from_row(&self, row: usize) -> Arg {
        match self {
            Arg::View {
                buf,
                offset,
                strides,
            } => Arg::View {
                buf: *buf,
                offset: offset + strides.first().copied().unwrap_or(0) * row.cast_signed(),
                strides: strides.clone(),
            },
            Arg::Scalar(scalar) => Arg::Scalar(*scalar),
        }
    }

    /// The host address of the element at `index`, where buffers are host addresses; `None` for a scalar.
    pub fn address(&self, index: &[usize]) -> Option<usize> {
        let Arg::View {
            buf,
            offset,
            strides,
        } = self
        else {
            return None;
        };
        let way: isize = index
            .iter()
            .zip(strides)
            .map(|(&i, &s)| i.cast_signed() * s)
            .sum();
        let base = usize::try_from(buf.0).ok()?;
        Some(base.wrapping_add_signed(*offset + way))
    }
}
