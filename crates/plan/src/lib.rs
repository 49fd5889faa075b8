//! Integer plans: in which order NumPy adds, how a domain is cut for threads, and how a volume is cut
//! into boxes that fit a memory.
//!
//! No memory and no device: shapes and steps in, orders and boxes out.

mod bands;
mod bound;
mod chunk;
mod cut;
mod edge;
mod needs;
mod order;
mod reduce;
mod search;
mod sweep;
mod tree;

pub use bands::bands;
pub use bound::lower_bound;
pub use chunk::{Buffers, Infeasible, Plan, Problem, plan, plan_fastest};
pub use edge::{AxisNeed, Edge, Window};
pub use needs::{Operand, Scratch, Value, needs, operand_box};
pub use order::ReduceOrder;
pub use reduce::{DEFAULT_BUFSIZE, ReduceFacts, SumRules, reduce_order, reduce_strides};
pub use sweep::{Band, Link, Ownership, Ring, Route, Schedule, Timing, Touch, schedule};
pub use tree::{LANES, LEAF, tree_split};
