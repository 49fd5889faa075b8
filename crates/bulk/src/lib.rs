//! Work on whole arrays in memory that is no expression of elements: merging runs that are sorted
//! already, picking elements by truth values, and counting.
//!
//! Everything is a function of slices and a number of threads; results do not depend on that number.
//! Threads are started for a call and end with it.

mod argsort;
mod count;
mod merge;
mod pick;
mod threads;

pub use argsort::{has_equals_likely, merge_places};
pub use count::{Bins, Real, histogram, occurrences};
pub use merge::{Order, has_both_zeros, merge_runs};
pub use pick::{count_true, pick, pick_rows, places};
pub use threads::{bands, on_threads};
