//! The eight kinds of failure that cross crate borders.

/// What kind of failure an error is; decides the Python class it becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An operand has a dtype that the operation does not take.
    Type,
    /// A value or a shape does not fit.
    Value,
    /// An index is out of bounds.
    Index,
    /// Memory ran out.
    Memory,
    /// The device failed.
    Device,
    /// The device does not have this kernel; another way must be taken.
    Unsupported,
    /// A file or stream failed.
    Io,
    /// A bug of ours.
    Internal,
}
