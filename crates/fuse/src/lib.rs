//! Recorded operations to few kernels
