//! Integer plans: in which order NumPy adds, and how a domain is cut.
//!
//! No memory and no device: shapes and steps in, orders and boxes out.

mod order;

pub use order::ReduceOrder;
