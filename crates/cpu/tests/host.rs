//! Loops of the host take the place of the mathematics library, with single values at step zero.

#![expect(unsafe_code, reason = "a loop of the host is a foreign function")]

use arrayloom_cpu::{Cpu, CpuConfig, HostLoop, HostLoops};
use arrayloom_device::{Arg, Buf, Device as _, Launch, Queue};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_types::{DType, Scalar, Strides};
use std::ffi::{c_char, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Writes `1000 a + b` and counts its elements in `data`.
unsafe extern "C" fn marked(
    args: *mut *mut c_char,
    dims: *const isize,
    steps: *const isize,
    data: *mut c_void,
) {
    // SAFETY: the device passes one count.
    let n = unsafe { dims.read() };
    // SAFETY: the data is a counter, see below.
    let count = unsafe { &*data.cast::<AtomicUsize>() };
    count.fetch_add(n.cast_unsigned(), Ordering::Relaxed);
    let operand = |which: usize, i: isize| {
        // SAFETY: the device passes three steps.
        let step = unsafe { steps.wrapping_add(which).read() };
        // SAFETY: the device passes three pointers.
        let start = unsafe { args.wrapping_add(which).read() };
        start
            .wrapping_offset(i * step)
            .cast::<c_void>()
            .cast::<f64>()
    };
    for i in 0..n {
        // SAFETY: an element of the first operand.
        let a = unsafe { operand(0, i).read() };
        // SAFETY: an element of the second operand.
        let b = unsafe { operand(1, i).read() };
        // SAFETY: an element of the result.
        unsafe { operand(2, i).write(1000.0 * a + b) };
    }
}

#[test]
fn loops_of_the_host_are_used() {
    let mut count = Box::new(AtomicUsize::new(0));
    let mut loops = HostLoops::new();
    let host = HostLoop {
        function: marked,
        data: (&raw mut *count).cast(),
    };
    // SAFETY: the loop only reads its operands, writes its result and counts atomically.
    unsafe { loops.insert(Prim::Pow, DType::F64, host) };
    let cpu = Cpu::open(CpuConfig {
        threads: 2,
        min_parallel_steps: 1,
        loops,
        ..CpuConfig::default()
    });
    let mut b = Builder::new();
    let (x, y) = (b.input(0, DType::F64), b.input(1, DType::F64));
    let power = b.bin(Prim::Pow, x, y);
    let kernel = Kernel {
        code: b.finish(),
        inputs: vec![DType::F64; 2],
        outputs: vec![Output {
            value: power.0,
            form: Form::Store,
        }],
        rank: 1,
    };
    let n = 50_000u32;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let mut out = vec![0.0; x.len()];
    let view = |address: usize| Arg::View {
        buf: Buf(address as u64),
        offset: 0,
        strides: Strides::from_slice(&[8]),
    };
    let launch = Launch {
        shape: &[x.len()],
        ins: &[
            view(x.as_ptr().expose_provenance()),
            Arg::Scalar(Scalar::from_f64(DType::F64, 2.0)),
        ],
        outs: &[view(out.as_mut_ptr().expose_provenance())],
        reduces: &[None],
        flags: None,
    };
    cpu.run(Queue(0), &kernel, &launch).unwrap();
    let expected: Vec<f64> = x.iter().map(|x| 1000.0 * x + 2.0).collect();
    assert_eq!(out, expected);
    assert_eq!(count.load(Ordering::Relaxed), x.len());
    // A child of a fork starts its threads anew.
    cpu.after_fork_child();
    cpu.set_threads(3);
    cpu.run(Queue(0), &kernel, &launch).unwrap();
    assert_eq!(count.load(Ordering::Relaxed), 2 * x.len());
}
