//! Work on whole arrays in memory that is no expression of elements: sorting them, searching sorted ones, selecting
//! elements by their order, picking them by truth values, and counting.
//!
//! Everything is a function of slices and a number of threads; results do not depend on that number.
//! Threads are started for a call and end with it.

mod count;
mod merge;
mod number;
mod pick;
mod search;
mod select;
mod sort;
mod threads;

pub use count::{Bins, Real, histogram, occurrences};
pub use number::Number;
pub use pick::{count_true, pick, pick_rows, places};
pub use search::{Curve, Table};
pub use select::{Element, select};
pub use sort::{argsort, has_equals_likely, sort};
pub use threads::{bands, on_threads};
