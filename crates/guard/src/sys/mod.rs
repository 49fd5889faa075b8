//! The system calls of the guard, one thin function each; no policy.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
pub(crate) use linux::*;

#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;

/// What may be done with pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// None at all.
    None,
    /// Reading only.
    Read,
    /// Reading and writing.
    ReadWrite,
}

/// A refused system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refused {
    /// Name of the call.
    pub(crate) call: &'static str,
    /// The system's reason.
    pub(crate) errno: i32,
}

/// `bytes` rounded up to whole pages, at least one; none if that overflows.
pub(crate) fn whole_pages(bytes: usize) -> Option<usize> {
    bytes.max(1).checked_next_multiple_of(page_size())
}
