//! Recording, flushing, kernel cache and residency
