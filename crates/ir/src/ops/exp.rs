//! Exponentials and logarithms.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
