//! Circular and hyperbolic functions.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
