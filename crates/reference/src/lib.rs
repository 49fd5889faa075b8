//! A slow interpreter of kernels: the oracle in Rust
