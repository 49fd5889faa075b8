//! Devices that share a driver.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use arrayloom_device::{Arg, Buf, Device as _, End, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_types::DType;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const COUNT: usize = 60_000;

/// A device with blocks of its own, that keeps programs in this folder if there is one.
fn open(folder: Option<&Path>) -> OpenCl {
    let config = Config {
        place: Place::Device,
        cache: folder.map(|folder| (folder.to_owned(), 1 << 30)),
        ..Config::default()
    };
    OpenCl::open(config).expect("an OpenCL driver")
}

/// `x - 1 - 1 ...`, so many times.
fn lowered(times: i32) -> Kernel {
    let mut b = Builder::new();
    let one = b.constant(DType::I32, 1.0);
    let mut x = b.input(0, DType::I32);
    for _ in 0..times {
        x = b.bin(Prim::Sub, x, one);
    }
    Kernel {
        outputs: vec![Output {
            value: x.0,
            form: Form::Store,
        }],
        inputs: vec![DType::I32],
        code: b.finish(),
        rank: 1,
    }
}

/// Two blocks of a device, the first full of ones.
struct Blocks<'a> {
    device: &'a OpenCl,
    from: Buf,
    to: Buf,
}

impl<'a> Blocks<'a> {
    fn new(device: &'a OpenCl) -> Blocks<'a> {
        let bytes = 4 * COUNT as u64;
        let [from, to] = [(); 2].map(|()| device.alloc(bytes).expect("memory"));
        let ones = vec![1i32; COUNT];
        let host = End::Host(ones.as_ptr().cast_mut().cast());
        let put = device.copy(Queue(0), End::Dev(from, 0), host, bytes);
        put.expect("a copy");
        Blocks { device, from, to }
    }

    fn run(&self, kernel: &Kernel) {
        let view = |buf: Buf| Arg::View {
            buf,
            offset: 0,
            strides: [4].into_iter().collect(),
        };
        let launch = Launch {
            shape: &[COUNT],
            outs: &[view(self.to)],
            ins: &[view(self.from)],
            reduces: &[None],
            flags: None,
        };
        let run = self.device.run(Queue(0), kernel, &launch);
        run.expect("a run");
    }

    fn result(&self) -> Vec<i32> {
        let mut got = vec![0; COUNT];
        let host = End::Host(got.as_mut_ptr().cast());
        let sent = self
            .device
            .copy(Queue(0), host, End::Dev(self.to, 0), 4 * COUNT as u64);
        sent.expect("a copy");
        let end = self.device.record(Queue(0)).expect("an event");
        assert!(self.device.poll(end, true).expect("an end"));
        got
    }
}

/// One device takes the binary of a program to keep it, while another runs that program. Without care PoCL 3.1
/// ends the process.
#[test]
fn programs_are_kept_while_others_run_them() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared-programs");
    drop(std::fs::remove_dir_all(&root));
    let (busy, new) = (open(None), open(Some(&root)));
    let (busy, new) = (Blocks::new(&busy), Blocks::new(&new));
    for times in 1..6 {
        let kernel = lowered(times);
        let kept = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (kept, kernel) = (&kept, &kernel);
            let (busy, new) = (&busy, &new);
            busy.run(kernel);
            scope.spawn(move || {
                while !kept.load(Ordering::Relaxed) {
                    busy.run(kernel);
                }
            });
            new.run(kernel);
            kept.store(true, Ordering::Relaxed);
        });
        for blocks in [&busy, &new] {
            assert!(blocks.result().iter().all(|&x| x == 1 - times));
        }
    }
}
