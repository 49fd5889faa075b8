//! Devices that are wrong in one way each: the suite must find every one of them.

use crate::Reference;
use crate::sim::{Sim, SimConfig};
use arrayloom_device::{
    Abilities, Arg, Buf, Caps, Device, DeviceError, End, Event, Launch, Queue, host_pointer,
};
use arrayloom_ir::{Arity, Builder, Form, Ins, Kernel, Output, Prim, ReduceOp, ScatterMode, Value};
use arrayloom_types::DType;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is wrong with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Takes the first operand for contiguous along its last axis.
    IgnoresStride,
    /// Takes steps without their sign.
    IgnoresSign,
    /// Takes a step of zero for one element.
    StepZeroIsOne,
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
    /// Takes the largest for the smallest.
    WrongArg,
    /// Says that a running fold is done, and does nothing.
    LacksForm,
    /// Lets the first of several values at one place win.
    FirstWins,
    /// Puts values by number in the place of those that they should be combined with.
    SetsForAdd,
    /// Converts whole numbers by way of `float32`.
    WrongPromotion,
    /// Stops at the largest `int8` instead of wrapping.
    Saturates,
    /// Rounds `float16` at the end of a kernel only.
    WideHalf,
    /// Rounds the intermediate values of fused kernels differently.
    FusedDiffers,
    /// Never tells a condition.
    NoFlags,
    /// Copies all but the last byte.
    ShortCopy,
    /// Gives out memory that is not aligned.
    Unaligned,
    /// Keeps a block whenever memory runs out.
    LeaksOnError,
    /// Says that an event has not passed.
    NeverDone,
    /// Says that an event has passed before the work in front of it is done.
    EarlyPoll,
    /// Does not wait for other queues.
    DropsWait,
    /// Gives a block out again while work still uses it.
    ReusesEarly,
    /// Reads host memory after the copy has returned.
    CopiesLate,
    /// Runs on the host what it says it does not have.
    HidesFallback,
}

impl Fault {
    /// The level of the suite that must find it.
    pub fn level(self) -> u8 {
        match self {
            Fault::ShortCopy | Fault::Unaligned | Fault::NeverDone => 0,
            Fault::EarlyPoll | Fault::DropsWait | Fault::ReusesEarly | Fault::CopiesLate => 1,
            Fault::PlainSum
            | Fault::NoPieces
            | Fault::ForgetsInitial
            | Fault::WrongArg
            | Fault::LacksForm
            | Fault::FirstWins
            | Fault::SetsForAdd => 3,
            Fault::WideHalf | Fault::FusedDiffers => 4,
            Fault::LeaksOnError => 5,
            _ => 2,
        }
    }
}

/// All of them.
pub const MUTANTS: [Fault; 26] = [
    Fault::IgnoresStride,
    Fault::IgnoresSign,
    Fault::StepZeroIsOne,
    Fault::LosesNan,
    Fault::ShortTail,
    Fault::PlainSum,
    Fault::NoPieces,
    Fault::ForgetsInitial,
    Fault::WrongArg,
    Fault::LacksForm,
    Fault::FirstWins,
    Fault::SetsForAdd,
    Fault::WrongPromotion,
    Fault::Saturates,
    Fault::WideHalf,
    Fault::FusedDiffers,
    Fault::NoFlags,
    Fault::ShortCopy,
    Fault::Unaligned,
    Fault::LeaksOnError,
    Fault::NeverDone,
    Fault::EarlyPoll,
    Fault::DropsWait,
    Fault::ReusesEarly,
    Fault::CopiesLate,
    Fault::HidesFallback,
];

/// A copy that was put off.
struct Late {
    queue: Queue,
    to: (Buf, u64),
    from: u64,
    bytes: u64,
}

#[derive(Default)]
struct Memory {
    sizes: BTreeMap<Buf, u64>,
    spare: Vec<(Buf, u64)>,
    late: Vec<Late>,
}

/// A device with a fault.
pub struct Mutant {
    inner: Arc<dyn Device>,
    fault: Fault,
    caps: Caps,
    memory: Mutex<Memory>,
}

impl Mutant {
    /// The simulated device, or the interpreter where only that can have the fault, made wrong.
    ///
    /// # Errors
    /// When the simulated device does not open.
    pub fn new(fault: Fault, seed: u64) -> Result<Mutant, DeviceError> {
        let inner: Arc<dyn Device> = match fault {
            Fault::LeaksOnError
            | Fault::EarlyPoll
            | Fault::DropsWait
            | Fault::ReusesEarly
            | Fault::CopiesLate => Arc::new(Sim::open(SimConfig {
                memory: 16 << 20,
                seed,
                ..SimConfig::default()
            })?),
            _ => Arc::new(Reference::new()),
        };
        let mut caps = inner.caps().clone();
        caps.detail = format!("mutant: {fault:?}");
        if fault == Fault::HidesFallback {
            caps.abilities = Abilities {
                prims: Abilities::ALL.prims & !(1 << (Prim::Mul as u8)),
                ..Abilities::ALL
            };
        }
        Ok(Mutant {
            inner,
            fault,
            caps,
            memory: Mutex::default(),
        })
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Does what was put off.
    fn catch_up(&self) -> Result<(), DeviceError> {
        let late = std::mem::take(&mut self.memory().late);
        for copy in late {
            let (to, from) = (End::Dev(copy.to.0, copy.to.1), host_pointer(copy.from));
            self.inner
                .copy(copy.queue, to, End::Host(from), copy.bytes)?;
        }
        Ok(())
    }

    fn changed_kernel(&self, kernel: &Kernel) -> Kernel {
        let fused = kernel.code.len() > kernel.inputs.len() + 2;
        let mut kernel = match self.fault {
            Fault::WrongPromotion => rewritten(kernel, by_way_of_float32),
            Fault::Saturates => rewritten(kernel, saturated),
            Fault::WideHalf => rewritten(kernel, unrounded),
            _ => kernel.clone(),
        };
        for ins in &mut kernel.code {
            match (self.fault, ins.prim) {
                (Fault::LosesNan, Prim::Max) => ins.prim = Prim::Fmax,
                (Fault::FusedDiffers, Prim::Floor) if fused => ins.prim = Prim::Ceil,
                _ => {}
            }
        }
        for output in &mut kernel.outputs {
            match &mut output.form {
                Form::Reduce { op, .. } if self.has(Fault::LosesNan) && *op == ReduceOp::Max => {
                    *op = ReduceOp::Fmax;
                }
                Form::Arg { max, .. } if self.has(Fault::WrongArg) => *max = !*max,
                Form::Scatter { mode, .. } if self.has(Fault::SetsForAdd) => {
                    *mode = ScatterMode::Set;
                }
                _ => {}
            }
        }
        kernel
    }

    /// The operands as the fault sees them.
    fn changed_inputs(&self, launch: &Launch<'_>, kernel: &Kernel) -> Vec<Arg> {
        let mut ins = launch.ins.to_vec();
        let last = launch.shape.len().wrapping_sub(1);
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
            // Other axes would lead out of the block.
            Fault::StepZeroIsOne => {
                let short = launch.shape.last().is_some_and(|&n| n < 64);
                for (arg, dtype) in ins.iter_mut().zip(&kernel.inputs) {
                    let size = dtype.size().cast_signed();
                    let wrong = |i, s| s == 0 && short && i == last;
                    *arg = turned(arg, |i, s| if wrong(i, s) { size } else { s });
                }
            }
            _ => {}
        }
        ins
    }
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

/// The same elements from the last point to the first.
fn reversed(arg: &Arg, shape: &[usize]) -> Arg {
    match arg {
        Arg::Scalar(s) => Arg::Scalar(*s),
        Arg::View {
            buf,
            offset,
            strides,
        } => Arg::View {
            buf: *buf,
            offset: strides.iter().zip(shape).fold(*offset, |at, (step, &n)| {
                at + step * n.saturating_sub(1).cast_signed()
            }),
            strides: strides.iter().map(|step| -step).collect(),
        },
    }
}

type Change = fn(&mut Builder, &Ins, &[Value]) -> Option<Value>;

/// The kernel with other instructions where `change` gives some.
fn rewritten(kernel: &Kernel, change: Change) -> Kernel {
    let mut b = Builder::new();
    let mut values: Vec<Value> = Vec::new();
    for ins in &kernel.code {
        let count = match ins.prim.arity() {
            Arity::Leaf => 0,
            Arity::Unary => 1,
            Arity::Binary => 2,
            Arity::Ternary => 3,
        };
        let named = [ins.a, ins.b, ins.c];
        let operands: Vec<Value> = named[..count].iter().map(|&v| values[v as usize]).collect();
        let new = change(&mut b, ins, &operands).unwrap_or_else(|| {
            let mut same = *ins;
            let places = [&mut same.a, &mut same.b, &mut same.c];
            for (slot, (&v, &old)) in places.into_iter().zip(operands.iter().zip(&named)) {
                *slot = b.cast(v, kernel.code[old as usize].dtype).0;
            }
            b.push(same)
        });
        values.push(new);
    }
    let output = |output: &Output| Output {
        value: b
            .cast(
                values[output.value as usize],
                kernel.code[output.value as usize].dtype,
            )
            .0,
        form: output.form,
    };
    let outputs = kernel.outputs.iter().map(output).collect();
    Kernel {
        code: b.finish(),
        inputs: kernel.inputs.clone(),
        outputs,
        rank: kernel.rank,
    }
}

fn by_way_of_float32(b: &mut Builder, ins: &Ins, x: &[Value]) -> Option<Value> {
    let from = b.dtype(*x.first()?);
    if ins.prim != Prim::Cast || from != DType::I64 || ins.dtype != DType::F64 {
        return None;
    }
    let narrow = b.cast(x[0], DType::F32);
    Some(b.cast(narrow, DType::F64))
}

fn saturated(b: &mut Builder, ins: &Ins, x: &[Value]) -> Option<Value> {
    if ins.prim != Prim::Add || ins.dtype != DType::I8 {
        return None;
    }
    let (p, q) = (b.cast(x[0], DType::I16), b.cast(x[1], DType::I16));
    let sum = b.bin(Prim::Add, p, q);
    let (low, high) = (
        b.constant(DType::I16, -128.0),
        b.constant(DType::I16, 127.0),
    );
    let bounded = b.bin(Prim::Max, sum, low);
    let bounded = b.bin(Prim::Min, bounded, high);
    Some(b.cast(bounded, DType::I8))
}

fn unrounded(b: &mut Builder, ins: &Ins, x: &[Value]) -> Option<Value> {
    let arithmetic = matches!(ins.prim, Prim::Add | Prim::Sub | Prim::Mul);
    if !arithmetic || ins.dtype != DType::F16 {
        return None;
    }
    let (p, q) = (b.cast(x[0], DType::F32), b.cast(x[1], DType::F32));
    Some(b.bin(ins.prim, p, q))
}

impl Device for Mutant {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.catch_up()?;
        let mut memory = self.memory();
        let spare = memory.spare.iter().position(|(_, size)| *size == bytes);
        if let Some(at) = spare {
            return Ok(memory.spare.remove(at).0);
        }
        let shift = u64::from(self.has(Fault::Unaligned)) * 64;
        let found = self.inner.alloc(bytes.saturating_add(shift));
        if found.is_err() && self.has(Fault::LeaksOnError) {
            drop(self.inner.alloc(64 << 10));
        }
        let buf = Buf(found?.0 + shift);
        memory.sizes.insert(buf, bytes);
        Ok(buf)
    }

    fn free(&self, buf: Buf) {
        let mut memory = self.memory();
        let size = memory.sizes.get(&buf).copied();
        if let Some(size) = size.filter(|_| self.has(Fault::ReusesEarly)) {
            memory.spare.push((buf, size));
            return;
        }
        let shift = u64::from(self.has(Fault::Unaligned)) * 64;
        self.inner.free(Buf(buf.0 - shift));
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.catch_up()?;
        if let (Fault::CopiesLate, End::Dev(buf, offset), End::Host(from)) = (self.fault, dst, src)
        {
            self.memory().late.push(Late {
                queue,
                to: (buf, offset),
                from: from.expose_provenance() as u64,
                bytes,
            });
            return Ok(());
        }
        let lost = u64::from(self.has(Fault::ShortCopy) && bytes > 4000);
        self.inner.copy(queue, dst, src, bytes - lost)
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        self.catch_up()?;
        let scans = |output: &Output| matches!(output.form, Form::Scan { .. });
        if self.has(Fault::LacksForm) && kernel.outputs.iter().any(scans) {
            return Ok(());
        }
        let changed = self.changed_kernel(kernel);
        let mut shape = launch.shape.to_vec();
        if self.has(Fault::ShortTail)
            && let Some(n) = shape.last_mut().filter(|n| **n > 16 && **n % 2 == 1)
        {
            *n -= 1;
        }
        let mut reduces = launch.reduces.to_vec();
        for args in reduces.iter_mut().flatten() {
            match self.fault {
                Fault::PlainSum => args.order.stream = 0,
                Fault::NoPieces => args.order.piece = usize::MAX,
                Fault::ForgetsInitial => args.initial = None,
                _ => {}
            }
        }
        let silent = self.has(Fault::NoFlags) || changed.code.len() != kernel.code.len();
        let backwards = self.has(Fault::FirstWins) && kernel.scatters();
        let mut ins = self.changed_inputs(launch, kernel);
        if backwards {
            ins = ins.iter().map(|arg| reversed(arg, &shape)).collect();
        }
        let launch = Launch {
            shape: &shape,
            outs: launch.outs,
            ins: &ins,
            reduces: &reduces,
            flags: launch.flags.filter(|_| !silent),
        };
        self.inner.run(queue, &changed, &launch)
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        self.catch_up()?;
        self.inner.record(queue)
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        if self.has(Fault::DropsWait) {
            return Ok(());
        }
        self.inner.wait(queue, event)
    }

    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        match self.fault {
            Fault::NeverDone => Ok(false),
            Fault::EarlyPoll => Ok(true),
            _ => self.inner.poll(event, block),
        }
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.inner.host_ptr(buf)
    }
}
