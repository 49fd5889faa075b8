//! Memory resources: pooled host blocks, limits and statistics
