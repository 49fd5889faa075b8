//! A whole backend in one file: sums, differences and products of float64 on one thread. Built as a
//! `cdylib`: `ARRAYLOOM_BACKENDS=mine:librust_backend.so arrayloom --backend mine app.py`.

#![expect(unsafe_code, reason = "a launch names memory by address")]

use arrayloom_device::{Abilities, Arg, Buf, Caps, Device, DeviceError, End, Event};
use arrayloom_device::{HostMemory, Launch, Queue, export_backend, points};
use arrayloom_ir::{Kernel, Prim};
use arrayloom_types::DType;
use std::sync::Arc;

struct Mine(Caps, HostMemory);

#[rustfmt::skip]
fn element(arg: &Arg, at: &[usize]) -> *mut f64 {
    std::ptr::with_exposed_provenance_mut(arg.address(at).unwrap_or(0))
}

#[rustfmt::skip]
impl Device for Mine {
    fn caps(&self) -> &Caps { &self.0 }
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> { self.1.alloc("mine", bytes) }
    fn free(&self, buf: Buf) { self.1.free(buf); }
    fn copy(&self, _: Queue, to: End, from: End, n: u64) -> Result<(), DeviceError> { self.1.copy(to, from, n) }
    fn record(&self, _: Queue) -> Result<Event, DeviceError> { Ok(Event(0)) }
    fn wait(&self, _: Queue, _: Event) -> Result<(), DeviceError> { Ok(()) }
    fn poll(&self, _: Event, _: bool) -> Result<bool, DeviceError> { Ok(true) }

    fn run(&self, _: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if let Some(what) = self.0.abilities.lacks(kernel) {
            return Err(DeviceError::Unsupported { device: "mine", what });
        }
        for at in points(launch.shape) {
            let mut values: Vec<f64> = Vec::with_capacity(kernel.code.len());
            for ins in &kernel.code {
                let (a, b) = (ins.a as usize, ins.b as usize);
                values.push(match (ins.prim, launch.ins.get(a)) {
                    (Prim::Input, Some(Arg::Scalar(s))) => f64::from_bits(s.bits()),
                    // SAFETY: whoever launches a kernel vouches for its views.
                    (Prim::Input, Some(view)) => unsafe { element(view, &at).read_unaligned() },
                    (Prim::Add, _) => values[a] + values[b],
                    (Prim::Sub, _) => values[a] - values[b],
                    (Prim::Mul, _) => values[a] * values[b],
                    _ => f64::from_bits(ins.bits),
                });
            }
            for (out, to) in kernel.outputs.iter().zip(launch.outs) {
                // SAFETY: as above.
                unsafe { element(to, &at).write_unaligned(values[out.value as usize]) };
            }
        }
        Ok(())
    }
}
export_backend!(|_| {
    let can = Abilities::maps(&[Prim::Add, Prim::Sub, Prim::Mul], &[DType::F64]);
    let caps = Caps::on_host("mine", can);
    Ok(Arc::new(Mine(caps, HostMemory::default())))
});
