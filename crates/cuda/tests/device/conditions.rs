//! Floating-point conditions that are told when somebody waits anyway.

use super::fake::Fake;
use arrayloom_cuda::Cuda;
use arrayloom_device::{Arg, Buf, Device as _, End, Launch, Queue};
use arrayloom_ir::{Builder, Form, FpFlags, Kernel, Output, Prim};
use arrayloom_types::DType;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

const COUNT: usize = 5000;
const BYTES: u64 = 8 * COUNT as u64;

/// The root of a quotient: three instructions after the two operands.
fn kernel() -> Kernel {
    let mut b = Builder::new();
    let (x, y) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let ratio = b.bin(Prim::Div, x, y);
    let value = b.un(Prim::Sqrt, ratio).0;
    let form = Form::Store;
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; 2],
        outputs: vec![Output { value, form }],
        rank: 1,
    }
}

fn view(buf: Buf) -> Arg {
    Arg::View {
        buf,
        offset: 0,
        strides: [8].into_iter().collect(),
    }
}

/// Puts the kernel into a queue; what it met comes later.
fn put(device: &Cuda, [x, y, to]: [Buf; 3]) -> Arc<[AtomicU8]> {
    let kernel = kernel();
    let met: Arc<[AtomicU8]> = kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
    let launch = Launch {
        shape: &[COUNT],
        outs: &[view(to)],
        ins: &[view(x), view(y)],
        reduces: &[None],
        flags: None,
    };
    device
        .run_watched(Queue(0), &kernel, &launch, &met)
        .unwrap();
    met
}

fn send(device: &Cuda, to: Buf, value: f64, at: usize, other: f64) {
    let mut all = vec![value; COUNT];
    all[at] = other;
    let host = End::Host(all.as_mut_ptr().cast());
    device.copy(Queue(0), End::Dev(to, 0), host, BYTES).unwrap();
}

/// Only the first launch of a kernel waits. Others tell after all of them, even where operands have changed.
#[test]
fn launches_follow_one_another() {
    for delay in [1, 0, 7] {
        let fake = Fake::new(&format!("late-conditions-{delay}"));
        fake.set("delay", delay);
        let device = fake.open().unwrap();
        let blocks @ [x, y, to] = [BYTES; 3].map(|bytes| device.alloc(bytes).unwrap());
        send(&device, x, 1.0, 0, 1.0);
        send(&device, y, 2.0, 7, 0.0);
        let first = put(&device, blocks);
        assert_eq!(first[2].load(Relaxed), FpFlags::DIVIDE.0);
        // Writing over an operand is another kernel.
        put(&device, [x, y, y]);
        let waits = || {
            let called = fake.called();
            let waits = called.iter().filter(|name| *name == "cuStreamSynchronize");
            waits.count()
        };
        let before = waits();
        let all: Vec<_> = (0..4)
            .map(|n| {
                send(&device, y, 2.0, n, if n % 2 == 0 { -1.0 } else { 0.0 });
                // The second and the last write over an operand.
                let to = if n % 2 == 0 { to } else { y };
                put(&device, [x, y, to])
            })
            .collect();
        assert_eq!(waits(), before, "a launch waited");
        let told = || -> Vec<(u8, u8)> {
            let pair = |met: &Arc<[AtomicU8]>| (met[2].load(Relaxed), met[3].load(Relaxed));
            all.iter().map(pair).collect()
        };
        assert_eq!(told(), [(0, 0); 4]);
        let done = device.record(Queue(0)).unwrap();
        assert!(device.poll(done, true).unwrap());
        let (negative, zero) = ((0, FpFlags::INVALID.0), (FpFlags::DIVIDE.0, 0));
        assert_eq!(told(), [negative, zero, negative, zero]);
        for buf in blocks {
            device.free(buf);
        }
        drop(device);
        assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
    }
}

/// Nobody asks any more what launches met: their memory is given back when they are done.
#[test]
fn launches_may_be_forgotten() {
    let fake = Fake::new("forgotten-conditions");
    fake.set("delay", 1);
    let device = fake.open().unwrap();
    let blocks = [BYTES; 3].map(|bytes| device.alloc(bytes).unwrap());
    for _ in 0..3 {
        put(&device, blocks);
    }
    drop(device);
    assert_eq!((fake.get("faults"), fake.get("live")), (0, 0));
}
