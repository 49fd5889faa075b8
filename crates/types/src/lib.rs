//! Data types, shapes, strides, promotion and error kinds: the words every other crate speaks.
//!
//! No unsafe code, no input or output, no allocation beyond small vectors.

mod dtype;
mod error;
mod layout;
mod order;
mod overlap;
mod promote;
mod region;
mod scalar;
mod shape;

pub use dtype::{ALL_DTYPES, DType, Kind};
pub use error::ErrorKind;
pub use layout::{
    Layout, Strides, contiguous_strides, copy_strides, elementwise_strides, fold_strides,
    fortran_strides, result_strides,
};
pub use order::{Event, Queue};
pub use overlap::{Overlap, overlap};
pub use promote::{Operand, can_cast_safely, promote};
pub use region::{Coords, Region};
pub use scalar::Scalar;
pub use shape::{BroadcastError, Shape, broadcast, broadcast_many, count};
