//! Limits of the guard and of its page pool. The defaults fit a workstation.

use crate::sys;

/// Bounds of what a [`crate::PagePool`] keeps for re-use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolLimits {
    /// Bytes kept at most; more is given back to the system, oldest first.
    pub cached_bytes: usize,
    /// Blocks kept at most; each one costs a memory map of the process.
    pub cached_blocks: usize,
}

impl Default for PoolLimits {
    /// A quarter of the machine's memory, in at most 512 blocks.
    fn default() -> PoolLimits {
        PoolLimits {
            cached_bytes: sys::physical_bytes() / 4,
            cached_blocks: 512,
        }
    }
}

/// How much address space the guard takes and how many slots it gives out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuardConfig {
    /// Address space for each size class; a power of two. Halved until the system agrees.
    pub reserve_bytes_per_class: usize,
    /// Slots that may be alive at once. Published ones cost a memory map each.
    pub max_slots: usize,
    /// Bounds of the page pool, if the guard makes its own.
    pub pool: PoolLimits,
    /// Stack of the thread that evaluates touched arrays.
    pub service_stack_bytes: usize,
}

impl Default for GuardConfig {
    /// 128 GiB for each class, a quarter of the maps the system allows, a 64 MiB stack.
    fn default() -> GuardConfig {
        GuardConfig {
            reserve_bytes_per_class: 1 << 37,
            max_slots: sys::max_map_count() / 4,
            pool: PoolLimits::default(),
            service_stack_bytes: 64 << 20,
        }
    }
}
