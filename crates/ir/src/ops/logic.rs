//! Logical operations and tests of floats.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
