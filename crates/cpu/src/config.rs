//! What the device is opened with: threads, instruction set, tile length, loops of the host.

#![expect(
    unsafe_code,
    reason = "loops of the host are foreign functions; whoever adds one vouches for it"
)]

use crate::Isa;
use arrayloom_ir::Prim;
use arrayloom_types::DType;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};

/// An inner loop in the form of NumPy's: operand pointers, the count, steps in bytes, own data.
pub type HostLoopFn = unsafe extern "C" fn(
    args: *mut *mut c_char,
    dims: *const isize,
    steps: *const isize,
    data: *mut c_void,
);

/// An inner loop of the host with its data.
#[derive(Clone, Copy, Debug)]
pub struct HostLoop {
    /// The function.
    pub function: HostLoopFn,
    /// Passed on unchanged.
    pub data: *mut c_void,
}

// SAFETY: `HostLoops::insert` demands that the loop may run on any thread.
unsafe impl Send for HostLoop {}
// SAFETY: as above, at the same time too.
unsafe impl Sync for HostLoop {}

/// Inner loops of the host for primitives that the device would hand to the mathematics library.
#[derive(Clone, Debug, Default)]
pub struct HostLoops {
    table: BTreeMap<(Prim, DType), HostLoop>,
}

impl HostLoops {
    /// No loop.
    pub fn new() -> HostLoops {
        HostLoops::default()
    }

    /// Uses `host` for `prim` on operands of type `dtype`.
    ///
    /// # Safety
    /// For as long as the table lives, the loop may be called from any thread, from several at once
    /// and without any lock; it reads the primitive's operands and writes its one result, with the
    /// result type that kernels give the primitive.
    pub unsafe fn insert(&mut self, prim: Prim, dtype: DType, host: HostLoop) {
        self.table.insert((prim, dtype), host);
    }

    /// The loop for `prim` on operands of type `dtype`.
    pub fn get(&self, prim: Prim, dtype: DType) -> Option<HostLoop> {
        self.table.get(&(prim, dtype)).copied()
    }

    /// Number of loops.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True when there is no loop.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

/// What the device is opened with.
#[derive(Clone, Debug)]
pub struct CpuConfig {
    /// Threads to work with, the caller counted; 0 means one per processor.
    pub threads: usize,
    /// Highest instruction set to use; the best one of the processor if absent.
    pub isa: Option<Isa>,
    /// Elements of a tile; chosen by the level-1 cache if absent.
    pub tile_elems: Option<usize>,
    /// Below this much work (steps of `work.rs`) one thread works alone: waking another one takes as long as a fair
    /// part of it. More if arrays are stored.
    pub min_parallel_steps: usize,
    /// Launches that write more bytes than this go around the caches.
    pub stream_bytes: usize,
    /// Bytes that the rows of a sweep take up in a level-2 cache.
    pub sweep_bytes: usize,
    /// Rows that each stage of a sweep computes at a time; chosen by the cache if absent.
    pub sweep_rows: Option<usize>,
    /// Compile kernels at run time, where the processor and the system allow it.
    pub jit: bool,
    /// Below this many element operations a kernel that is not compiled yet is interpreted.
    pub min_jit_ops: usize,
    /// Loops of the host.
    pub loops: HostLoops,
}

impl Default for CpuConfig {
    fn default() -> CpuConfig {
        CpuConfig {
            threads: 0,
            isa: None,
            tile_elems: None,
            min_parallel_steps: 2_000_000,
            stream_bytes: 16 << 20,
            sweep_bytes: 512 << 10,
            sweep_rows: None,
            jit: true,
            min_jit_ops: 100_000,
            loops: HostLoops::new(),
        }
    }
}
