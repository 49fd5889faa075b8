//! What can be wrong with a foreign tensor.

/// Why a tensor cannot be taken or given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DlpackError {
    /// The tensor's layout is of another major version.
    #[error("DLPack version {major}.{minor} is not known here; ask the producer for 1.x")]
    Version {
        /// Major version of the producer.
        major: u32,
        /// Minor version of the producer.
        minor: u32,
    },
    /// There is no tensor.
    #[error("the producer gave a null pointer instead of a tensor")]
    Null,
    /// The number of axes is out of range.
    #[error("a tensor of {ndim} axes; between 0 and 64 are possible")]
    Rank {
        /// Number of axes.
        ndim: i32,
    },
    /// Extents are missing.
    #[error("a tensor of {ndim} axes without extents")]
    NoShape {
        /// Number of axes.
        ndim: i32,
    },
    /// An extent is negative.
    #[error("axis {axis} has the extent {extent}")]
    Extent {
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: i64,
    },
    /// The number of bytes, or a step, does not fit in an address.
    #[error("extents and steps of this tensor reach further than addresses do")]
    TooLarge,
    /// The element type cannot be exchanged.
    #[error("element type code {code}, {bits} bits, {lanes} lanes cannot be exchanged; cast first")]
    Element {
        /// Family.
        code: u8,
        /// Bits of a lane.
        bits: u8,
        /// Lanes.
        lanes: u16,
    },
    /// No such device type.
    #[error("device type {kind} is not one of DLPack's")]
    Device {
        /// The number.
        kind: i32,
    },
    /// Elements without memory.
    #[error("a tensor of {elements} elements without memory")]
    NoData {
        /// Number of elements.
        elements: u64,
    },
    /// The memory is known by a handle, and the elements do not start at its beginning.
    #[error(
        "a tensor that starts {offset} bytes into a buffer that only a handle names; copy it first"
    )]
    HandleOffset {
        /// Bytes from the buffer's beginning.
        offset: usize,
    },
    /// A step is no multiple of the element size.
    #[error("a step of {step} bytes is no multiple of the element size {size}; copy first")]
    Step {
        /// The step in bytes.
        step: isize,
        /// Bytes of an element.
        size: usize,
    },
}
