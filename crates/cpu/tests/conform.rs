//! The device against the interpreter: the whole suite as it ships, and under other settings.

use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_device::{Buf, Caps, Device, DeviceError, End, Event, Launch, Queue, conform};
use arrayloom_ir::Kernel;
use arrayloom_reference::Reference;
use std::sync::Arc;

/// The suite takes a device by value.
struct Shared(Arc<Cpu>);

impl Device for Shared {
    fn caps(&self) -> &Caps {
        self.0.caps()
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.0.alloc(bytes)
    }
    fn free(&self, buf: Buf) {
        self.0.free(buf);
    }
    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.0.copy(queue, dst, src, bytes)
    }
    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.0.run(queue, kernel, launch)
    }
    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        self.0.record(queue)
    }
    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        self.0.wait(queue, event)
    }
    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        self.0.poll(event, block)
    }
    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.0.host_ptr(buf)
    }
}

fn open(threads: usize, isa: Option<Isa>, tile_elems: Option<usize>, jit: bool) -> Shared {
    let min_parallel_steps = if threads > 1 { 1 } else { usize::MAX };
    // A small bound, so that small launches go around the caches too.
    let stream_bytes = if tile_elems.is_some() { 64 } else { 16 << 20 };
    Shared(Cpu::open(CpuConfig {
        threads,
        isa,
        tile_elems,
        min_parallel_steps,
        stream_bytes,
        jit,
        min_jit_ops: 0,
        ..CpuConfig::default()
    }))
}

mod one_thread {
    use super::{Reference, conform, open};
    conform::suite!(open(1, None, None, false), Reference::new());
}

mod compiled {
    use super::{Reference, conform, open};
    conform::suite!(open(1, None, None, true), Reference::new());
}

mod three_threads_tiny_tiles {
    use super::{Reference, conform, open};
    conform::suite!(open(3, None, Some(3), false), Reference::new());
}

mod compiled_three_threads_odd_tiles {
    use super::{Reference, conform, open};
    conform::suite!(open(3, None, Some(21), true), Reference::new());
}

mod two_threads_avx2 {
    use super::{Isa, Reference, conform, open};
    conform::suite!(open(2, Some(Isa::Avx2), None, false), Reference::new());
}

mod compiled_avx2 {
    use super::{Isa, Reference, conform, open};
    conform::suite!(open(2, Some(Isa::Avx2), Some(75), true), Reference::new());
}

mod baseline_odd_tiles {
    use super::{Isa, Reference, conform, open};
    conform::suite!(
        open(1, Some(Isa::Baseline), Some(37), true),
        Reference::new()
    );
}
