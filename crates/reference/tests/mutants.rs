//! Devices with one thing wrong: the suite must find each of them.

use arrayloom_device::conform::{Group, Outcome, run_group};
use arrayloom_device::{Arg, Buf, Caps, Device, DeviceError, End, Event, Launch, Queue};
use arrayloom_ir::{Form, Kernel, Prim, ReduceOp};
use arrayloom_reference::Reference;

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Takes the first operand for contiguous along its last axis.
    IgnoresStride,
    /// Takes steps without their sign.
    IgnoresSign,
    /// Treats NaN as missing in maxima.
    LosesNan,
    /// Leaves out the last element of long rows of odd length.
    ShortTail,
    /// Sums one after another.
    PlainSum,
    /// Adds whole runs where pieces are asked for.
    NoPieces,
    /// Starts from the fold's own value, whatever was given.
    ForgetsInitial,
    /// Takes the largest for the smallest in complex and small types only.
    WrongArg,
    /// Copies all but the last byte.
    ShortCopy,
    /// Gives out memory that is not aligned.
    Unaligned,
    /// Rounds the intermediate values of fused kernels differently.
    FusedDiffers,
    /// Never tells a condition.
    NoFlags,
    /// Says that an event has not passed.
    NeverDone,
}

struct Mutant {
    inner: Reference,
    fault: Fault,
}

fn turned(arg: &Arg, change: impl Fn(usize, isize) -> isize) -> Arg {
    match arg {
        Arg::Scalar(s) => Arg::Scalar(*s),
        Arg::View {
            buf,
            offset,
            strides,
        } => Arg::View {
            buf: *buf,
            offset: *offset,
            strides: strides
                .iter()
                .enumerate()
                .map(|(i, &s)| change(i, s))
                .collect(),
        },
    }
}

impl Mutant {
    fn changed_kernel(&self, kernel: &Kernel) -> Kernel {
        let mut kernel = kernel.clone();
        let fused = kernel.code.len() > kernel.inputs.len() + 2;
        for ins in &mut kernel.code {
            match (self.fault, ins.prim) {
                (Fault::LosesNan, Prim::Max) => ins.prim = Prim::Fmax,
                (Fault::FusedDiffers, Prim::Floor) if fused => ins.prim = Prim::Ceil,
                _ => {}
            }
        }
        for output in &mut kernel.outputs {
            match &mut output.form {
                Form::Reduce { op, .. }
                    if self.fault == Fault::LosesNan && *op == ReduceOp::Max =>
                {
                    *op = ReduceOp::Fmax;
                }
                Form::Arg { max, .. } if self.fault == Fault::WrongArg => *max = !*max,
                _ => {}
            }
        }
        kernel
    }
}

impl Device for Mutant {
    fn caps(&self) -> &Caps {
        self.inner.caps()
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let shift = u64::from(self.fault == Fault::Unaligned) * 64;
        let buf = self.inner.alloc(bytes.saturating_add(shift))?;
        Ok(Buf(buf.0 + shift))
    }

    fn free(&self, buf: Buf) {
        let shift = u64::from(self.fault == Fault::Unaligned) * 64;
        self.inner.free(Buf(buf.0 - shift));
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let lost = u64::from(self.fault == Fault::ShortCopy && bytes > 4000);
        self.inner.copy(queue, dst, src, bytes - lost)
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let kernel = self.changed_kernel(kernel);
        let mut shape = launch.shape.to_vec();
        let mut ins = launch.ins.to_vec();
        let mut reduces = launch.reduces.to_vec();
        let last = shape.len().wrapping_sub(1);
        match self.fault {
            Fault::IgnoresStride => {
                if let Some(first) = ins.first_mut() {
                    let size = kernel.inputs[0].size().cast_signed();
                    *first = turned(first, |i, s| if i == last && s > size { size } else { s });
                }
            }
            // The views of reversed cases end where their blocks do.
            Fault::IgnoresSign => {
                for arg in &mut ins {
                    *arg = turned(arg, |_, s| s.max(0));
                }
            }
            Fault::ShortTail => {
                if let Some(n) = shape.last_mut().filter(|n| **n > 16 && **n % 2 == 1) {
                    *n -= 1;
                }
            }
            _ => {}
        }
        for args in reduces.iter_mut().flatten() {
            match self.fault {
                Fault::PlainSum => args.order.stream = 0,
                Fault::NoPieces => args.order.piece = usize::MAX,
                Fault::ForgetsInitial => args.initial = None,
                _ => {}
            }
        }
        let flags = launch.flags.filter(|_| self.fault != Fault::NoFlags);
        let launch = Launch {
            shape: &shape,
            outs: launch.outs,
            ins: &ins,
            reduces: &reduces,
            flags,
        };
        self.inner.run(queue, &kernel, &launch)
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        self.inner.record(queue)
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        self.inner.wait(queue, event)
    }

    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        Ok(self.fault != Fault::NeverDone && self.inner.poll(event, block)?)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.inner.host_ptr(buf)
    }
}

/// How many cases of a group a faulty device fails.
fn failures(fault: Fault, group: Group) -> usize {
    let device = Mutant {
        inner: Reference::new(),
        fault,
    };
    let results = run_group(group, &device, &Reference::new());
    let failed = |outcome: &Outcome| matches!(outcome, Outcome::Fail(_));
    results.iter().filter(|case| failed(&case.outcome)).count()
}

#[test]
fn every_fault_is_found() {
    for (fault, group) in [
        (Fault::IgnoresStride, Group::Map),
        (Fault::IgnoresSign, Group::Casts),
        (Fault::LosesNan, Group::Map),
        (Fault::LosesNan, Group::Reduce),
        (Fault::ShortTail, Group::Map),
        (Fault::ShortTail, Group::InPlace),
        (Fault::PlainSum, Group::Reduce),
        (Fault::NoPieces, Group::Reduce),
        (Fault::ForgetsInitial, Group::Reduce),
        (Fault::WrongArg, Group::ArgScan),
        (Fault::ShortCopy, Group::Memory),
        (Fault::Unaligned, Group::Memory),
        (Fault::FusedDiffers, Group::Fusion),
        (Fault::NoFlags, Group::Flags),
        (Fault::NeverDone, Group::Memory),
    ] {
        assert!(failures(fault, group) > 0, "{fault:?} passes {group:?}");
    }
}
