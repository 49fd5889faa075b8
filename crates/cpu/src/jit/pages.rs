//! Pages of compiled code: written first, executable after, never both.

#![expect(
    unsafe_code,
    reason = "pages come from the system, and code in them is called"
)]

use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

/// The form of compiled code: addresses of the arguments, elements of a row, rows, bytes from row to row
/// for each argument; the answer is how many elements of a row were done.
type Entry = unsafe extern "sysv64" fn(*mut *mut u8, usize, usize, *const isize) -> usize;

/// The rows that one call does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    pub(crate) count: usize,
    /// For each argument the bytes from row to row; nobody asks if there is one row.
    pub(crate) steps: &'a [isize],
}

impl Rows<'_> {
    /// One row.
    pub(crate) const ONE: Rows<'static> = Rows {
        count: 1,
        steps: &[],
    };
}

/// One compiled function in pages of its own.
#[derive(Debug)]
pub(crate) struct Function {
    pages: NonNull<c_void>,
    bytes: usize,
}

// SAFETY: the pages are read-only once the value exists, and belong to no thread.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

const PAGE: usize = 4096;

impl Function {
    /// Puts code into executable pages.
    ///
    /// # Errors
    /// The system's, when it gives no memory or refuses to make it executable.
    pub(crate) fn new(code: &[u8]) -> io::Result<Function> {
        let bytes = code.len().next_multiple_of(PAGE).max(PAGE);
        let (read_write, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        // SAFETY: asks for new pages anywhere; touches nothing that exists.
        let pages = unsafe { libc::mmap(std::ptr::null_mut(), bytes, read_write, kind, -1, 0) };
        let pages = NonNull::new(pages)
            .filter(|pages| pages.as_ptr() != libc::MAP_FAILED)
            .ok_or_else(io::Error::last_os_error)?;
        let function = Function { pages, bytes };
        let to: *mut u8 = pages.as_ptr().cast();
        // SAFETY: the pages are new, writable and large enough.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), to, code.len()) };
        let read_execute = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: the pages are ours alone.
        let answer = unsafe { libc::mprotect(pages.as_ptr(), bytes, read_execute) };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(function)
    }

    /// Bytes of its pages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Calls the code for one row of `n` elements. The answer is how many of them it has done, from the first on.
    ///
    /// # Safety
    /// The pages hold code for [`Entry`]; `n` elements may be read or written at each argument as the code does;
    /// the processor has its instructions.
    pub(crate) unsafe fn call(&self, args: &[*mut u8], n: usize) -> usize {
        // SAFETY: promised by the caller. The code writes arguments between rows only.
        unsafe { self.enter(args.as_ptr().cast_mut(), n, Rows::ONE) }
    }

    /// Calls the code for `rows.count` rows of `n` elements; at least one, and no more if the processor has no
    /// masks. The answer is how many elements of a row it has done. The arguments are not what they were.
    ///
    /// # Safety
    /// As for [`Function::call`], and the same for each row.
    pub(crate) unsafe fn call_rows(&self, args: &mut [*mut u8], n: usize, rows: Rows<'_>) -> usize {
        debug_assert_eq!(rows.steps.len(), args.len());
        // SAFETY: promised by the caller.
        unsafe { self.enter(args.as_mut_ptr(), n, rows) }
    }

    /// # Safety
    /// As for [`Function::call_rows`]; `args` may be written if there is more than one row.
    unsafe fn enter(&self, args: *mut *mut u8, n: usize, rows: Rows<'_>) -> usize {
        // SAFETY: the caller promises that the pages hold such a function.
        let entry = unsafe { std::mem::transmute::<*mut c_void, Entry>(self.pages.as_ptr()) };
        // SAFETY: promised by the caller.
        unsafe { entry(args, n, rows.count, rows.steps.as_ptr()) }
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        // SAFETY: the pages are ours, and nobody can call into them any more.
        unsafe { libc::munmap(self.pages.as_ptr(), self.bytes) };
    }
}
