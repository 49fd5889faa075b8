//! Host memory as the bottom of a stack: pages, pinned pages, and segments where there is no `mmap`.

#![expect(unsafe_code, reason = "system calls on ranges that the arena owns")]

use crate::{Addr, Arena, ArenaSize, AtOnce, BySize, MemoryError, MemoryResource, SegmentPool};
use crate::{Segments, Vmm, address_space_left, physical_memory, swap_memory};
use std::alloc::{Layout, alloc, dealloc};
use std::sync::Arc;

/// Blocks from this size on start at a multiple of it, so that the kernel can use huge pages.
const HUGE: u64 = 2 << 20;
/// The unit of what is smaller.
const PAGE: u64 = 4096;

/// Host pages. The range is readable and writable as soon as it is reserved; pages appear when they are
/// touched, and `unmap` gives them back.
#[cfg(unix)]
#[derive(Debug)]
pub struct HostPages {
    huge: bool,
    pinned: bool,
}

#[cfg(unix)]
impl HostPages {
    /// Pages for blocks of at least 2 MiB: huge ones where the kernel likes.
    pub fn huge() -> HostPages {
        HostPages {
            huge: true,
            pinned: false,
        }
    }

    /// Pages for small blocks.
    pub fn small() -> HostPages {
        HostPages {
            huge: false,
            pinned: false,
        }
    }

    /// Pages that stay in memory, for transfers to and from devices.
    pub fn pinned() -> HostPages {
        HostPages {
            huge: false,
            pinned: true,
        }
    }

    fn refused(&self, need: u64, free: u64) -> MemoryError {
        MemoryError::OutOfMemory {
            need,
            free,
            by: self.name(),
        }
    }
}

#[cfg(unix)]
fn pointer(addr: Addr) -> *mut libc::c_void {
    let at = usize::try_from(addr.host()).unwrap_or(0);
    std::ptr::with_exposed_provenance_mut(at)
}

#[cfg(unix)]
fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(unix)]
impl Vmm for HostPages {
    fn granule(&self) -> u64 {
        if self.huge { HUGE } else { 64 << 10 }
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        let left = address_space_left().unwrap_or(u64::MAX);
        let Some(wide) = bytes.checked_add(HUGE).filter(|wide| *wide <= left / 4) else {
            return Err(self.refused(bytes, left));
        };
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping at a place that the kernel picks touches no existing memory.
        let start = unsafe { libc::mmap(anywhere, length(wide), protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(self.refused(bytes, 0));
        }
        let place = start.expose_provenance() as u64;
        let first = place.next_multiple_of(HUGE);
        let outside = [(place, first), (first + bytes, place + wide)];
        for (low, high) in outside.into_iter().filter(|(low, high)| low < high) {
            let at = pointer(Addr {
                buf: low,
                offset: 0,
            });
            // SAFETY: head and tail lie in the new mapping and are not handed out.
            unsafe { libc::munmap(at, length(high - low)) };
        }
        #[cfg(target_os = "linux")]
        {
            let advice = if self.huge {
                libc::MADV_HUGEPAGE
            } else {
                libc::MADV_NOHUGEPAGE
            };
            let at = pointer(Addr {
                buf: first,
                offset: 0,
            });
            // SAFETY: the range was mapped just now; the advice changes no content, and a refusal only
            // means pages of another size.
            unsafe { libc::madvise(at, length(bytes), advice) };
        }
        Ok(first)
    }

    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        // Like the kernel where a mapping asks for more than there is at all.
        let all = physical_memory().saturating_add(swap_memory());
        if bytes > all {
            return Err(self.refused(bytes, all));
        }
        if self.pinned {
            // SAFETY: the range is the arena's own; pinning changes no content.
            let status = unsafe { libc::mlock(pointer(addr), length(bytes)) };
            if status != 0 {
                return Err(self.refused(bytes, 0));
            }
        }
        Ok(())
    }

    fn unmap(&self, addr: Addr, bytes: u64) {
        if self.pinned {
            // SAFETY: the range is the arena's own.
            unsafe { libc::munlock(pointer(addr), length(bytes)) };
        }
        // SAFETY: the arena owns the range and nobody uses its content any more.
        unsafe { libc::madvise(pointer(addr), length(bytes), libc::MADV_DONTNEED) };
    }

    fn release(&self, buf: u64, bytes: u64) {
        // SAFETY: the arena owns the range and is gone.
        unsafe { libc::munmap(pointer(Addr { buf, offset: 0 }), length(bytes)) };
    }

    fn maps_zeroed(&self) -> bool {
        // Elsewhere the advice to forget pages does not clear them.
        cfg!(target_os = "linux")
    }

    fn name(&self) -> &'static str {
        if self.pinned { "pinned host" } else { "host" }
    }
}

/// Host memory in segments from the ordinary allocator, for systems without `mmap`.
#[derive(Debug, Default)]
pub struct HostSegments;

impl Segments for HostSegments {
    fn open(&self, bytes: u64) -> Result<u64, MemoryError> {
        let refused = MemoryError::OutOfMemory {
            need: bytes,
            free: 0,
            by: self.name(),
        };
        let Some(layout) = segment_layout(bytes) else {
            return Err(refused);
        };
        // SAFETY: a segment has at least one byte.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            return Err(refused);
        }
        Ok(start.expose_provenance() as u64)
    }

    fn close(&self, buf: u64, bytes: u64) {
        let (Some(layout), Ok(at)) = (segment_layout(bytes), usize::try_from(buf)) else {
            return;
        };
        // SAFETY: the pool gives back what `open` gave it, with the same length, once.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(at), layout) };
    }

    fn name(&self) -> &'static str {
        "host"
    }
}

fn segment_layout(bytes: u64) -> Option<Layout> {
    let size = usize::try_from(bytes).ok()?;
    Layout::from_size_align(size, 4096).ok()
}

/// Host memory for blocks that start at pages: two arenas, for small and for large blocks.
///
/// # Errors
/// [`MemoryError::OutOfMemory`] if the system refuses the address space.
#[cfg(unix)]
pub fn host_memory() -> Result<Arc<dyn MemoryResource>, MemoryError> {
    let reserve = physical_memory().clamp(1 << 34, 1 << 40) * 4;
    let arena = |pages: HostPages, reserve| -> Result<Arc<dyn MemoryResource>, MemoryError> {
        let size = ArenaSize {
            reserve,
            unit: PAGE,
            large: HUGE,
        };
        Ok(Arc::new(Arena::new(
            Arc::new(pages),
            Arc::new(AtOnce),
            size,
        )?))
    };
    let above = arena(HostPages::huge(), reserve)?;
    let below = arena(HostPages::small(), reserve / 4)?;
    Ok(Arc::new(BySize::new(HUGE, below, above)))
}

/// Host memory for blocks that start at pages.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn host_memory() -> Result<Arc<dyn MemoryResource>, MemoryError> {
    let pool = SegmentPool::new(Arc::new(HostSegments), Arc::new(AtOnce), 32 << 20);
    Ok(Arc::new(pool))
}

/// A segment pool over the ordinary allocator, for tests and for systems without pages.
impl HostSegments {
    /// Such a pool.
    pub fn pool(segment: u64) -> SegmentPool {
        SegmentPool::new(Arc::new(HostSegments), Arc::new(AtOnce), segment)
    }
}
