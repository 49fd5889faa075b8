//! Integer plans: in which order NumPy adds, and how a domain is cut.
//!
//! No memory and no device: shapes and steps in, orders and boxes out.

mod bands;
mod order;
mod reduce;
mod sweep;
mod tree;

pub use bands::bands;
pub use order::ReduceOrder;
pub use reduce::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order, reduce_strides};
pub use sweep::{Band, Link, Ownership, Ring, Route, Schedule, Timing, Touch, schedule};
pub use tree::{LANES, LEAF, tree_split};
