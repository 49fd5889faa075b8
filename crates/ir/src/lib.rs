//! Scalar primitives, the op table, kernels and the verifier
