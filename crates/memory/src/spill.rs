//! A file as virtual memory: what does not fit in memory lies there and is read as memory all the same.

#![expect(unsafe_code, reason = "maps a file that only this process knows")]
#![cfg(unix)]

use crate::{Addr, MemoryError, Vmm};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;

const GRANULE: u64 = 2 << 20;
/// The part of a disk that stays free for others is one of so many, or so many bytes where that is less.
#[cfg(target_os = "linux")]
const KEPT_PART: u64 = 20;
#[cfg(target_os = "linux")]
const KEPT_BYTES: u64 = 1 << 30;

/// Space in an unnamed file of one directory. The kernel writes its pages out when memory gets short, and
/// reads them when they are touched.
#[derive(Debug)]
pub struct SpillFile {
    file: File,
    /// Bytes of the file that were asked for, for a message.
    length: Mutex<u64>,
}

impl SpillFile {
    /// A file in this directory. It has no name, so it goes with the process.
    ///
    /// # Errors
    /// What opening the file gives.
    pub fn open(directory: &Path) -> std::io::Result<SpillFile> {
        let file = tempfile::tempfile_in(directory)?;
        Ok(SpillFile {
            file,
            length: Mutex::new(0),
        })
    }

    fn refused(&self, need: u64) -> MemoryError {
        MemoryError::OutOfMemory {
            need,
            free: 0,
            by: self.name(),
        }
    }

    /// Takes the pages of a range out of the process: they are the kernel's to write out from then on. The
    /// content stays.
    pub fn page_out(addr: u64, bytes: u64) {
        let low = addr.next_multiple_of(4096);
        let high = (addr + bytes) / 4096 * 4096;
        if low >= high {
            return;
        }
        let (at, len) = (pointer(low), length(high - low));
        // SAFETY: pages of a shared file mapping come back from the file when they are touched.
        unsafe { libc::madvise(at, len, libc::MADV_DONTNEED) };
    }
}

fn pointer(at: u64) -> *mut libc::c_void {
    std::ptr::with_exposed_provenance_mut(length(at))
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// Bytes of a disk.
#[cfg(target_os = "linux")]
struct Disk {
    free: u64,
    all: u64,
}

#[cfg(target_os = "linux")]
impl Disk {
    /// True if it has room for so many bytes, and keeps what other files need.
    fn has_room(&self, bytes: u64) -> bool {
        let kept = (self.all / KEPT_PART).min(KEPT_BYTES);
        self.free.saturating_sub(kept) >= bytes
    }
}

/// The disk of a file; `None` where the system does not tell.
#[cfg(target_os = "linux")]
fn disk(file: &File) -> Option<Disk> {
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the place is the size of the answer.
    let status = unsafe { libc::fstatvfs(file.as_raw_fd(), facts.as_mut_ptr()) };
    // SAFETY: numbers, which may all be zero.
    let facts = unsafe { facts.assume_init() };
    (status == 0).then(|| Disk {
        free: facts.f_bavail.saturating_mul(facts.f_frsize),
        all: facts.f_blocks.saturating_mul(facts.f_frsize),
    })
}

impl Vmm for SpillFile {
    fn granule(&self) -> u64 {
        GRANULE
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        let anywhere = std::ptr::null_mut();
        let file = self.file.as_raw_fd();
        // SAFETY: a new mapping at a place that the kernel picks; the file belongs to this value alone.
        let start = unsafe { libc::mmap(anywhere, length(bytes), protection, flags, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(self.refused(bytes));
        }
        Ok(start.expose_provenance() as u64)
    }

    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        let end = addr.offset + bytes;
        let mut length = self.length.lock().unwrap_or_else(PoisonError::into_inner);
        if end > *length {
            self.file
                .set_len(end)
                .map_err(|_disk_full| self.refused(bytes))?;
            *length = end;
        }
        drop(length);
        #[cfg(target_os = "linux")]
        {
            let (Ok(from), Ok(len)) = (i64::try_from(addr.offset), i64::try_from(bytes)) else {
                return Err(self.refused(bytes));
            };
            if disk(&self.file).is_some_and(|disk| !disk.has_room(bytes)) {
                return Err(self.refused(bytes));
            }
            // The blocks are taken now: a full disk is an error here and a crash later.
            // SAFETY: the call takes numbers only.
            let status = unsafe { libc::fallocate(self.file.as_raw_fd(), 0, from, len) };
            let errno = std::io::Error::last_os_error().raw_os_error();
            if status != 0 && errno != Some(libc::EOPNOTSUPP) {
                // The blocks that it has taken before it failed stay the file's.
                self.unmap(addr, bytes);
                return Err(self.refused(bytes));
            }
        }
        Ok(())
    }

    fn unmap(&self, addr: Addr, bytes: u64) {
        #[cfg(target_os = "linux")]
        if let (Ok(from), Ok(len)) = (i64::try_from(addr.offset), i64::try_from(bytes)) {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the call takes numbers only. If it is refused, the disk stays full of old bytes.
            unsafe { libc::fallocate(self.file.as_raw_fd(), mode, from, len) };
        }
        #[cfg(not(target_os = "linux"))]
        SpillFile::page_out(addr.host(), bytes);
    }

    fn release(&self, buf: u64, bytes: u64) {
        // SAFETY: the arena owns the range and is gone.
        unsafe { libc::munmap(pointer(buf), length(bytes)) };
    }

    fn name(&self) -> &'static str {
        "spill file"
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn the_last_of_a_disk_stays_free() {
        let (gib, tib) = (1 << 30, 1 << 40);
        let disk = |free, all| Disk { free, all };
        assert!(disk(50 * gib, tib).has_room(49 * gib));
        assert!(!disk(50 * gib, tib).has_room(49 * gib + 1));
        assert!(disk(gib, 2 * gib).has_room(gib - gib / 10));
        assert!(!disk(gib, 2 * gib).has_room(gib - gib / 20));
        assert!(!disk(gib / 2, tib).has_room(1));
        assert!(disk(gib / 2, tib).has_room(0));
    }

    #[test]
    fn files_of_many_threads_do_not_meet() {
        let open = || SpillFile::open(&std::env::temp_dir()).unwrap();
        let files: Vec<SpillFile> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(open)).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let mut numbers: Vec<u64> = files
            .iter()
            .map(|file| file.file.metadata().unwrap().ino())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), files.len());
    }

    #[test]
    fn what_does_not_fit_on_the_disk_takes_nothing_of_it() {
        let file = SpillFile::open(&std::env::temp_dir()).unwrap();
        let buf = file.reserve(1 << 42).unwrap();
        let (at, held) = (Addr { buf, offset: 0 }, || {
            file.file.metadata().unwrap().blocks()
        });
        file.map(at, GRANULE).unwrap();
        let before = held();
        let behind = at.plus(GRANULE);
        let free = disk(&file.file).unwrap().free;
        let error = file.map(behind, free / GRANULE * GRANULE).unwrap_err();
        assert!(matches!(error, MemoryError::OutOfMemory { .. }), "{error}");
        // The system refuses this one, whatever the disk has.
        assert!(file.map(behind, 1 << 62).is_err());
        assert_eq!(held(), before);
        file.map(behind, GRANULE).unwrap();
        file.unmap(behind, GRANULE);
        assert_eq!(held(), before);
        file.release(buf, 1 << 42);
    }
}
