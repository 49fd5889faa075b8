//! The Device trait, its null device and its conformance suite
