//! The null device gives real memory, counts, and writes nothing.

use arrayloom_device::{Arg, Buf, Device as _, DeviceError, End, Launch, Null, NullCounts, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_memory::{HostSegments, Limit};
use arrayloom_types::DType;
use std::sync::Arc;

fn null(limit: u64) -> Null {
    let host = HostSegments::pool(1 << 20);
    Null::new(Arc::new(Limit::new(Arc::new(host), limit)))
}

fn negation() -> Kernel {
    let mut b = Builder::new();
    let x = b.input(0, DType::F64);
    let value = b.un(Prim::Neg, x).0;
    Kernel {
        code: b.finish(),
        inputs: vec![DType::F64],
        outputs: vec![Output {
            value,
            form: Form::Store,
        }],
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

#[test]
fn everything_is_counted_and_nothing_is_written() {
    let device = null(1 << 30);
    let buf = device.alloc(80).unwrap();
    assert_eq!(buf.0 % 512, 0);
    let address = device.host_ptr(buf).unwrap();
    assert_eq!(address.addr() as u64, buf.0);
    let args = [view(buf)];
    let launch = Launch {
        shape: &[10],
        outs: &args,
        ins: &args,
        reduces: &[None],
        flags: None,
    };
    device.run(Queue(0), &negation(), &launch).unwrap();
    let mut host = [1u8; 80];
    let end = End::Host(host.as_mut_ptr());
    device.copy(Queue(0), end, End::Dev(buf, 0), 80).unwrap();
    assert_eq!(host, [1; 80]);
    let event = device.record(Queue(0)).unwrap();
    assert!(device.poll(event, true).unwrap());
    device.free(buf);
    let expected = NullCounts {
        allocs: 1,
        frees: 1,
        copies: 1,
        copied_bytes: 80,
        runs: 1,
        instructions: 2,
        points: 10,
    };
    assert_eq!(device.counts(), expected);
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = null(1000);
    assert_eq!(device.caps().memory, 1000);
    let error = device.alloc(1001).unwrap_err();
    assert!(matches!(
        error,
        DeviceError::OutOfMemory {
            need: 1001,
            free: 1000,
            ..
        }
    ));
    let launch = Launch {
        shape: &[10],
        outs: &[],
        ins: &[],
        reduces: &[],
        flags: None,
    };
    let refused = device.run(Queue(0), &negation(), &launch);
    assert!(matches!(refused, Err(DeviceError::Unsupported { .. })));
    assert_eq!(device.counts(), NullCounts::default());
}
