//! What a call through the C table costs, beside the same call on the device itself.
//!
//! Both are called in turns, in blocks; the median of the blocks is printed.

use arrayloom_device::abi::{Loaded, Open, table_of};
use arrayloom_device::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, HostMemory, Launch, Queue,
};
use arrayloom_ir::Kernel;
use arrayloom_types::DType;
use std::hint::black_box;
use std::io::{Write as _, stdout};
use std::sync::Arc;
use std::time::Instant;

struct Idle(Caps, HostMemory);

impl Device for Idle {
    fn caps(&self) -> &Caps {
        &self.0
    }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.1.alloc("idle", bytes)
    }
    fn free(&self, buf: Buf) {
        self.1.free(buf);
    }
    fn copy(&self, _: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.1.copy(dst, src, bytes)
    }
    fn run(&self, _: Queue, _: &Kernel, _: &Launch<'_>) -> Result<(), DeviceError> {
        Ok(())
    }
    fn record(&self, _: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }
    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> {
        Ok(())
    }
    fn poll(&self, event: Event, _: bool) -> Result<bool, DeviceError> {
        Ok(event.0 == 0)
    }
}

struct Opener;

impl Open for Opener {
    fn open(_: u32) -> Result<Arc<dyn Device>, DeviceError> {
        let caps = Caps::on_host("idle", Abilities::ALL);
        Ok(Arc::new(Idle(caps, HostMemory::default())))
    }
}

const CALLS: u32 = 200_000;

fn nanoseconds(mut call: impl FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..CALLS {
        call();
    }
    started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = table_of::<Opener>();
    #[expect(unsafe_code, reason = "the loader takes tables by pointer")]
    // SAFETY: the table is whole and outlives the device.
    let loaded = unsafe { Loaded::open(&raw const table, 0) }?;
    let native = Opener::open(0)?;
    let devices: [&dyn Device; 2] = [&*native, &loaded];
    let mut polls = [Vec::new(), Vec::new()];
    let mut runs = [Vec::new(), Vec::new()];
    let (kernel, none) = (Kernel::copy(DType::F64, 0), [None]);
    for _ in 0..31 {
        for (i, device) in devices.iter().enumerate() {
            let device = black_box(*device);
            polls[i].push(nanoseconds(|| {
                drop(black_box(device.poll(Event(0), true)));
            }));
            let args = [arrayloom_device::Arg::View {
                buf: Buf(0),
                offset: 0,
                strides: [].into_iter().collect(),
            }];
            let launch = Launch {
                shape: &[],
                outs: &args,
                ins: &args,
                reduces: &none,
                flags: None,
            };
            runs[i].push(nanoseconds(|| {
                drop(black_box(device.run(Queue(0), &kernel, &launch)));
            }));
        }
    }
    for (name, [native, loaded]) in [("poll", polls), ("run", runs)] {
        let (native, loaded) = (median(native), median(loaded));
        writeln!(
            stdout(),
            "{name}: native {native:.1} ns, through the table {loaded:.1} ns"
        )?;
    }
    Ok(())
}
