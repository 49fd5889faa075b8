//! What goes wrong with memory.

use arrayloom_types::ErrorKind;

/// A resource did not give memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// Memory ran out.
    #[error(
        "out of memory: {need} bytes wanted, {free} bytes free ({by}); free arrays or raise the limit"
    )]
    OutOfMemory {
        /// Bytes wanted.
        need: u64,
        /// Bytes free, as far as the refusing layer knows.
        free: u64,
        /// The layer that refused.
        by: &'static str,
    },
}

impl MemoryError {
    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            MemoryError::OutOfMemory { .. } => ErrorKind::Memory,
        }
    }
}

/// A text that is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not an amount of memory; write bytes, a unit such as 512MiB or 2GB, or a share such as 50%"
)]
pub struct LimitError {
    /// The text.
    pub text: String,
}
