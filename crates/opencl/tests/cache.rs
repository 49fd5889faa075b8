//! Programs on the disk: what a fresh device finds there, and what it builds anew.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrayloom_device::{Arg, Device as _, End, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_opencl::{Config, OpenCl, Place};
use arrayloom_types::DType;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// Opens a device with this cache, and gives `sqrt(9) * 3 - 9`.
fn computed(dir: &Path) -> f64 {
    let device = OpenCl::open(Config {
        place: Place::Device,
        cache: Some((dir.to_path_buf(), 1 << 30)),
        ..Config::default()
    });
    let device = device.unwrap();
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let (root, three) = (b.un(Prim::Sqrt, x), b.constant(DType::F64, 3.0));
    let product = b.bin(Prim::Mul, root, three);
    let value = b.bin(Prim::Sub, product, x).0;
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![DType::F64],
        outputs: vec![Output {
            value,
            form: Form::Store,
        }],
        rank: 1,
    };
    let mut number = [9.0f64];
    let host = End::Host(number.as_mut_ptr().cast());
    let [from, to] = [device.alloc(8).unwrap(), device.alloc(8).unwrap()];
    device.copy(Queue(0), End::Dev(from, 0), host, 8).unwrap();
    let view = |buf| Arg::View {
        buf,
        offset: 0,
        strides: [8].into_iter().collect(),
    };
    let launch = Launch {
        shape: &[1],
        outs: &[view(to)],
        ins: &[view(from)],
        reduces: &[None],
        flags: None,
    };
    device.run(Queue(0), &kernel, &launch).unwrap();
    device.copy(Queue(0), host, End::Dev(to, 0), 8).unwrap();
    let event = device.record(Queue(0)).unwrap();
    assert!(device.poll(event, true).unwrap());
    number[0]
}

#[test]
fn a_program_is_built_once() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built-once");
    drop(fs::remove_dir_all(&dir));
    let value = computed(&dir);
    assert!(value.abs() < 1e-300);
    let files = || -> Vec<_> {
        let all = fs::read_dir(&dir).unwrap();
        all.map(|entry| entry.unwrap().path()).collect()
    };
    let kept = files();
    assert_eq!(kept.len(), 1);
    let image = fs::read(&kept[0]).unwrap();
    // A program that is built again would come as another file.
    let file = fs::metadata(&kept[0]).unwrap().ino();
    assert!(computed(&dir).abs() < 1e-300);
    assert_eq!(fs::metadata(&kept[0]).unwrap().ino(), file);
    // A broken file is replaced by a whole one.
    fs::write(&kept[0], &image[..image.len() / 2]).unwrap();
    assert!(computed(&dir).abs() < 1e-300);
    assert_eq!(files(), kept);
    assert!(fs::read(&kept[0]).unwrap().len() > image.len() / 2);
    fs::remove_dir_all(&dir).unwrap();
}
