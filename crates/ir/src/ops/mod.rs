//! The op table: one static row per operation.

use crate::OpDef;

/// All rows.
pub fn all() -> impl Iterator<Item = &'static OpDef> {
    std::iter::empty()
}
