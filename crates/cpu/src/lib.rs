//! The CPU device: a portable tile interpreter on all cores
