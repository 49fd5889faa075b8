//! Bitwise operations and shifts.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
