//! Rounding and parts of floats.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
