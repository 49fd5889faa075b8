//! What a device may have beyond the eight methods, and the words that those options speak in.

use crate::{Arg, Buf, DeviceError, Queue};
use arrayloom_types::Layout;

/// An array of a device, as an operation beyond kernels takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The block that it lies in.
    pub buf: Buf,
    /// Dtype, bytes from the start of the block, extents and steps.
    pub layout: Layout,
}

impl Tensor {
    /// The same as an operand of a launch.
    pub fn arg(&self) -> Arg {
        Arg::View {
            buf: self.buf,
            offset: self.layout.offset,
            strides: self.layout.strides.clone(),
        }
    }

    /// The bytes that it touches, as host addresses, where buffers are host addresses.
    pub fn range(&self) -> Option<(u64, u64)> {
        self.arg().range(&self.layout.shape, self.layout.dtype)
    }
}

/// An operation that is no kernel.
#[derive(Clone, Copy, Debug)]
pub struct ExtCall<'a> {
    /// Its name, such as `matmul`.
    pub name: &'a str,
    /// The results.
    pub outs: &'a [Tensor],
    /// The operands.
    pub ins: &'a [Tensor],
    /// More facts, as the operation defines them.
    pub attrs: &'a [u8],
}

/// Something that another library made, or may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Foreign {
    /// Memory of the device, by the address that its driver knows.
    Memory {
        /// Where it starts.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// A queue or stream, as the driver names it.
    Queue(u64),
    /// A context, as the driver names it.
    Context(u64),
}

/// What became of something foreign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Imported {
    /// Memory. [`crate::Device::free`] lets go of it; its owner frees it.
    Buf(Buf),
    /// A queue whose work is in order with the foreign one.
    Queue(Queue),
    /// Nothing to hold: the device works with it from now on.
    Nothing,
}

/// Who uses memory of the host beside kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Nobody, unless [`Residency::bring`] was called.
    Private,
    /// Others read it. The number is another one once somebody wrote.
    Read(u64),
    /// Others may read and write it.
    Shared,
}

/// What memory of the host holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Values that somebody wrote.
    Values,
    /// Zeros.
    Zeros,
    /// Nothing that means anything yet.
    Nothing,
}

/// Tells of an address and a number of bytes who uses them.
pub type UseOf = dyn Fn(u64, u64) -> Use + Send + Sync;

/// Copies that a device keeps of the memory of the host, between kernels. Addresses are those of the host.
/// Nobody calls two of these at a time, or one while a kernel is put in.
pub trait Residency: Send + Sync {
    /// From now on copies stay.
    fn start(&self, use_of: Box<UseOf>);

    /// This memory belongs to one value: what kernels use of it is copied as a whole, so that all that they read and write
    /// of it, piece by piece, stays. No effect on memory that is known.
    fn begin(&self, address: u64, bytes: u64, contents: Contents);

    /// Somebody else will read these bytes: what the device has newer is there afterwards.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn bring(&self, address: u64, bytes: u64) -> Result<(), DeviceError>;

    /// These bytes are gone, or will be written by somebody else: copies of them are worth nothing.
    fn forget(&self, address: u64, bytes: u64);

    /// A series of kernels is over: what is shared is brought and forgotten, and everything unless
    /// copies may stay.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn settle(&self, may_stay: bool) -> Result<(), DeviceError>;

    /// True if the device has a copy of some of this range.
    fn holds(&self, address: u64, bytes: u64) -> bool;
}
