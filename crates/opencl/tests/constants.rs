//! Kernels of constants only, which compilers compute themselves.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use arrayloom_device::{Arg, Device as _, End, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_opencl::{Config, OpenCl};
use arrayloom_types::DType;

const COUNT: usize = 100;

/// Truth values that say whether `prim` of something that is no number is equal to itself.
fn is_number(device: &OpenCl, prim: Prim) -> [u8; COUNT] {
    let mut b = Builder::new();
    let number = b.constant(DType::F64, 0.75);
    let none = b.un(Prim::Acosh, number);
    let (made, other) = (b.un(prim, none), b.un(Prim::Rint, none));
    let value = b.compare(Prim::Eq, made, other).0;
    let kernel = Kernel {
        code: b.finish(),
        inputs: Vec::new(),
        outputs: vec![Output {
            value,
            form: Form::Store,
        }],
        rank: 1,
    };
    let mut found = [0xa5u8; COUNT];
    let (host, bytes) = (End::Host(found.as_mut_ptr().cast()), COUNT as u64);
    let block = device.alloc(bytes).unwrap();
    device
        .copy(Queue(0), End::Dev(block, 0), host, bytes)
        .unwrap();
    let launch = Launch {
        shape: &[COUNT],
        outs: &[Arg::View {
            buf: block,
            offset: 0,
            strides: [1].into_iter().collect(),
        }],
        ins: &[],
        reduces: &[None],
        flags: None,
    };
    device.run(Queue(0), &kernel, &launch).unwrap();
    device
        .copy(Queue(0), host, End::Dev(block, 0), bytes)
        .unwrap();
    let event = device.record(Queue(0)).unwrap();
    assert!(device.poll(event, true).unwrap());
    found
}

#[test]
fn what_is_no_number_stays_so_through_roundings() {
    let device = OpenCl::open(Config::default()).unwrap();
    for prim in [
        Prim::Rint,
        Prim::Floor,
        Prim::Ceil,
        Prim::Trunc,
        Prim::ModfInt,
    ] {
        assert_eq!(is_number(&device, prim), [0; COUNT], "{prim:?}");
    }
}
