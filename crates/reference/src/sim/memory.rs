//! Memory of the simulated device: nobody else can touch it.
//!
//! It is a range of addresses without access. While a task runs it can be read and written; a program
//! that forgets a copy and uses a device address as its own gets a segmentation fault, at once.

#![expect(unsafe_code, reason = "maps memory and copies by address")]

use arrayloom_device::Buf;
use std::collections::BTreeMap;
use std::ptr;

/// Buffers are numbered from here: no address that a processor knows begins like this.
const FIRST: u64 = 0x5100_0000_0000_0000;
/// Alignment of blocks.
const ALIGN: u64 = 512;
/// What new blocks are full of.
const POISON: u8 = 0xCB;

/// A range of memory, and which parts of it are in use.
pub(super) struct Memory {
    base: *mut u8,
    bytes: u64,
    /// Offset and length of the free parts.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

// SAFETY: the range belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Memory {}

impl Memory {
    /// So many bytes; `None` if the system refuses.
    pub(super) fn new(bytes: u64) -> Option<Memory> {
        let bytes = bytes.next_multiple_of(4096);
        let length = usize::try_from(bytes).ok()?;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address of the system's choice touches no other memory.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        (base != libc::MAP_FAILED).then(|| Memory {
            base: base.cast(),
            bytes,
            free: [(0, bytes)].into(),
            used: BTreeMap::new(),
        })
    }

    /// Bytes that are not in use.
    pub(super) fn left(&self) -> u64 {
        self.free.values().sum()
    }

    /// The first free part that is large enough, full of poison.
    pub(super) fn alloc(&mut self, bytes: u64) -> Option<Buf> {
        let want = bytes.checked_next_multiple_of(ALIGN)?.max(ALIGN);
        let (&at, &length) = self.free.iter().find(|(_, length)| **length >= want)?;
        self.free.remove(&at);
        if length > want {
            self.free.insert(at + want, length - want);
        }
        self.used.insert(at, want);
        let open = self.open()?;
        // SAFETY: the part lies in the range, which is open.
        unsafe { ptr::write_bytes(open.0.host(at), POISON, usize::try_from(want).ok()?) };
        Some(Buf(FIRST + at))
    }

    /// Gives a block back; one that is not in use is ignored.
    pub(super) fn release(&mut self, buf: Buf) {
        let at = buf.0.wrapping_sub(FIRST);
        let Some(mut length) = self.used.remove(&at) else {
            return;
        };
        let mut start = at;
        if let Some(next) = self.free.remove(&(at + length)) {
            length += next;
        }
        let before = self.free.range(..at).next_back().map(|(&a, &l)| (a, l));
        if let Some((low, bytes)) = before.filter(|(low, bytes)| low + bytes == at) {
            self.free.remove(&low);
            start = low;
            length += bytes;
        }
        self.free.insert(start, length);
    }

    /// Number of blocks in use.
    pub(super) fn blocks(&self) -> usize {
        self.used.len()
    }

    /// True when `bytes` from `offset` lie in the block.
    pub(super) fn holds(&self, buf: Buf, offset: u64, bytes: u64) -> bool {
        let length = self.used.get(&buf.0.wrapping_sub(FIRST));
        length.is_some_and(|&length| offset.checked_add(bytes).is_some_and(|end| end <= length))
    }

    fn host(&self, at: u64) -> *mut u8 {
        self.base
            .wrapping_add(usize::try_from(at).unwrap_or(usize::MAX))
    }

    fn protect(&self, protection: i32) -> bool {
        let length = usize::try_from(self.bytes).unwrap_or(0);
        // SAFETY: the mapping is ours, whole.
        unsafe { libc::mprotect(self.base.cast(), length, protection) == 0 }
    }

    /// Opens the range until the guard is dropped; `None` if the system refuses.
    pub(super) fn open(&self) -> Option<Opened<'_>> {
        self.protect(libc::PROT_READ | libc::PROT_WRITE)
            .then_some(Opened(self))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let length = usize::try_from(self.bytes).unwrap_or(0);
        // SAFETY: the mapping is ours and nobody uses it any more.
        unsafe { libc::munmap(self.base.cast(), length) };
    }
}

/// The range while it may be used.
pub(super) struct Opened<'a>(&'a Memory);

impl Opened<'_> {
    /// The host address of a buffer.
    pub(super) fn address(&self, buf: Buf) -> u64 {
        let at = self.0.host(buf.0.wrapping_sub(FIRST));
        at.expose_provenance() as u64
    }

    /// Copies bytes into a block that holds them.
    pub(super) fn write(&self, buf: Buf, offset: u64, bytes: &[u8]) {
        assert!(self.0.holds(buf, offset, bytes.len() as u64));
        let to = self.0.host(buf.0 - FIRST + offset);
        // SAFETY: the block holds so many bytes and is open; the source is a slice.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// Copies bytes out of a block that holds them.
    pub(super) fn read(&self, buf: Buf, offset: u64, bytes: usize) -> Vec<u8> {
        assert!(self.0.holds(buf, offset, bytes as u64));
        let from = self.0.host(buf.0 - FIRST + offset);
        let mut copy = vec![0; bytes];
        // SAFETY: the block holds so many bytes and is open; the target is as long.
        unsafe { ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), bytes) };
        copy
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let closed = self.0.protect(libc::PROT_NONE);
        debug_assert!(closed, "the range can be closed, as it could be opened");
    }
}

/// Puts bytes to a host address.
///
/// # Safety
/// So many bytes are writable there and nobody else uses them meanwhile.
pub(super) unsafe fn put(host: *mut u8, bytes: &[u8]) {
    // SAFETY: the caller vouches for the target; the source is a slice.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), host, bytes.len()) };
}
