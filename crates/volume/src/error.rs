//! What can go wrong on a volume.

use arrayloom_types::{DType, ErrorKind, Region};

/// What went wrong, with the facts.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VolumeError {
    /// An allocation did not fit the budget, or the system refused it.
    #[error(
        "{need} bytes do not fit: {used} of {limit} bytes are in use; a larger memory limit would do"
    )]
    OutOfMemory {
        /// Bytes asked for.
        need: u64,
        /// Bytes in use.
        used: u64,
        /// The budget.
        limit: u64,
    },
    /// Not even the smallest block fits.
    #[error(
        "the memory limit of {budget} bytes is too small: the smallest block takes {least} bytes; \
         give at least that much, or smaller windows, chunks or shards"
    )]
    TooSmall {
        /// Bytes of the smallest block.
        least: u64,
        /// The budget.
        budget: u64,
    },
    /// An argument that makes no sense.
    #[error("{0}")]
    Argument(String),
    /// A dtype that an operation does not take.
    #[error("{op} takes no {dtype}; convert the input first")]
    DType {
        /// The operation.
        op: &'static str,
        /// The dtype.
        dtype: DType,
    },
    /// The work was cancelled.
    #[error("cancelled after {done} of {blocks} blocks")]
    Cancelled {
        /// Blocks that were written.
        done: u64,
        /// All blocks.
        blocks: u64,
    },
    /// Reading a source failed.
    #[error("reading {region} failed: {message}")]
    Read {
        /// The box that was read.
        region: Region,
        /// What the source says.
        message: String,
    },
    /// Writing to a sink failed.
    #[error("writing {region} failed: {message}")]
    Write {
        /// The box that was written.
        region: Region,
        /// What the sink says.
        message: String,
    },
    /// A block failed.
    #[error("block {index} at {region}: {source}")]
    Block {
        /// Its number in the plan.
        index: u64,
        /// Its core.
        region: Region,
        /// Why.
        source: Box<VolumeError>,
    },
    /// An operation written in another language failed.
    #[error("computing {region} failed: {message}")]
    Compute {
        /// The box that was computed.
        region: Region,
        /// What it says.
        message: String,
    },
    /// A device failed.
    #[error("{0}; run it without this device")]
    Device(String),
    /// The journal of an earlier run cannot be used.
    #[error("cannot resume from {path}: {reason}")]
    Journal {
        /// The file.
        path: String,
        /// Why.
        reason: String,
    },
}

impl VolumeError {
    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        match self {
            VolumeError::OutOfMemory { .. } | VolumeError::TooSmall { .. } => ErrorKind::Memory,
            VolumeError::Argument(_) => ErrorKind::Value,
            VolumeError::DType { .. } => ErrorKind::Type,
            VolumeError::Block { source, .. } => source.kind(),
            VolumeError::Cancelled { .. }
            | VolumeError::Compute { .. }
            | VolumeError::Device(_) => ErrorKind::Device,
            _ => ErrorKind::Io,
        }
    }

    /// True if less memory would have been enough.
    pub fn is_memory(&self) -> bool {
        match self {
            VolumeError::OutOfMemory { .. } => true,
            VolumeError::Block { source, .. } => source.is_memory(),
            _ => false,
        }
    }
}
