//! Memory that ends where nobody may read on.

#![expect(
    unsafe_code,
    reason = "pages that nobody may touch come from the system"
)]

/// Memory whose last byte is the last one before a page that nobody may touch.
pub(crate) struct Fenced {
    start: *mut u8,
    /// Bytes of the pages that may be touched.
    pages: usize,
    /// Bytes at their end that are used.
    len: usize,
}

impl Fenced {
    const PAGE: usize = 4096;

    /// A copy of `bytes`.
    pub(crate) fn new(bytes: &[u8]) -> Fenced {
        let pages = bytes.len().next_multiple_of(Fenced::PAGE);
        let (read_write, private) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let whole = pages + Fenced::PAGE;
        // SAFETY: new pages at a place of the system's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), whole, read_write, private, -1, 0) };
        assert_ne!(start, libc::MAP_FAILED, "pages");
        let start: *mut u8 = start.cast();
        let fence = start.wrapping_add(pages);
        // SAFETY: the last one of these pages, which holds nothing.
        let refused = unsafe { libc::mprotect(fence.cast(), Fenced::PAGE, libc::PROT_NONE) };
        assert_eq!(refused, 0, "a fence");
        let fenced = Fenced {
            start,
            pages,
            len: bytes.len(),
        };
        // SAFETY: as many bytes before the fence, which nobody else knows yet.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), fenced.first(), bytes.len()) };
        fenced
    }

    /// Where they begin.
    pub(crate) fn first(&self) -> *mut u8 {
        self.start.wrapping_add(self.pages - self.len)
    }

    /// What they are now.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        // SAFETY: the bytes before the fence, set when it was made; no kernel runs any more.
        unsafe { std::slice::from_raw_parts(self.first(), self.len) }.to_vec()
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: the pages of `new`; no kernel runs any more.
        unsafe { libc::munmap(self.start.cast(), self.pages + Fenced::PAGE) };
    }
}
