//! Heaviside, spacing and other odd ones.

use crate::OpDef;
pub(super) const OPS: &[OpDef] = &[];
