//! Any device as one that shares the memory of the host, so that whole programs run on it.
//!
//! Kernels come with host addresses. What they read is copied to the device, and what they wrote is
//! copied back, once each. A kernel that the device does not have is cut into single operations; what it
//! still lacks runs on the host's device. Everything is counted with its reason.

mod parts;
mod session;

use crate::{Arg, Buf, Caps, Device, DeviceError, End, Event, Launch, Queue, ReduceArgs, Sweep};
use arrayloom_ir::{Form, Kernel, Output, Prim};
use arrayloom_types::{DType, Shape, contiguous_strides};
use parts::{Part, Place, parts};
use session::{Session, View, finish, range};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What became of the kernels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedStats {
    /// Kernels that the device ran as they were.
    pub native: u64,
    /// Kernels that it ran in parts.
    pub decomposed: u64,
    /// Parts and kernels that the host ran instead.
    pub fallbacks: u64,
    /// Why, and how often.
    pub reasons: BTreeMap<String, u64>,
    /// Copies from the host to the device.
    pub uploads: u64,
    /// Their bytes.
    pub upload_bytes: u64,
    /// Copies from the device to the host.
    pub downloads: u64,
    /// Their bytes.
    pub download_bytes: u64,
}

impl StagedStats {
    fn add(&mut self, other: StagedStats) {
        self.native += other.native;
        self.decomposed += other.decomposed;
        self.fallbacks += other.fallbacks;
        self.uploads += other.uploads;
        self.upload_bytes += other.upload_bytes;
        self.downloads += other.downloads;
        self.download_bytes += other.download_bytes;
        for (why, count) in other.reasons {
            *self.reasons.entry(why).or_default() += count;
        }
    }

    fn fell_back(&mut self, why: String) {
        self.fallbacks += 1;
        *self.reasons.entry(why).or_default() += 1;
    }
}

/// A device behind the memory of the host.
pub struct Staged {
    device: Arc<dyn Device>,
    host: Arc<dyn Device>,
    caps: Caps,
    stats: Mutex<StagedStats>,
}

impl Staged {
    /// `device` for whoever works with host addresses; `host` runs what it lacks, and owns the memory.
    pub fn new(device: Arc<dyn Device>, host: Arc<dyn Device>) -> Staged {
        let caps = Caps {
            unified: true,
            abilities: host.caps().abilities,
            ..device.caps().clone()
        };
        Staged {
            device,
            host,
            caps,
            stats: Mutex::default(),
        }
    }

    /// Counts since the start or the last [`Staged::reset_stats`].
    pub fn stats(&self) -> StagedStats {
        let stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        stats.clone()
    }

    /// Sets all counts to zero.
    pub fn reset_stats(&self) {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner) = StagedStats::default();
    }
}

/// A launch while it is worked on.
struct Work<'a> {
    session: Session<'a>,
    device: &'a dyn Device,
    host: &'a dyn Device,
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    /// Regions of the values in between.
    values: BTreeMap<u32, usize>,
}

/// An operand of one call: where it lies, or its value.
#[derive(Clone)]
enum Operand {
    View(View),
    /// As it came: a scalar, or a view without elements.
    Plain(Arg),
}

/// One call on either side.
struct Call<'a> {
    kernel: &'a Kernel,
    ins: Vec<Operand>,
    outs: Vec<Operand>,
    reduces: &'a [Option<ReduceArgs>],
    flags: Option<&'a [AtomicU8]>,
}

impl<'a> Work<'a> {
    fn new(staged: &'a Staged, kernel: &'a Kernel, launch: &'a Launch<'a>) -> Work<'a> {
        let mut session = Session::new(&*staged.device, &*staged.host);
        let ins = launch.ins.iter().zip(&kernel.inputs);
        let mut ranges: Vec<(u64, u64)> = ins
            .filter_map(|(arg, &d)| range(arg, launch.shape, d))
            .collect();
        for (i, arg) in launch.outs.iter().enumerate() {
            let shape = extents(launch.shape, kernel.outputs[i].form);
            ranges.extend(range(arg, &shape, kernel.output_dtype(i)));
        }
        session.cover(ranges);
        Work {
            session,
            device: &*staged.device,
            host: &*staged.host,
            kernel,
            launch,
            values: BTreeMap::new(),
        }
    }

    fn operand(&self, arg: &Arg, shape: &[usize], dtype: DType) -> Operand {
        let found = range(arg, shape, dtype);
        let view = self.session.locate(arg, found);
        view.map_or_else(|| Operand::Plain(arg.clone()), Operand::View)
    }

    fn input(&self, i: usize) -> Operand {
        let shape = self.launch.shape;
        self.operand(&self.launch.ins[i], shape, self.kernel.inputs[i])
    }

    fn output(&self, i: usize) -> Operand {
        let dtype = self.kernel.output_dtype(i);
        self.operand(&self.launch.outs[i], &self.extents(i), dtype)
    }

    /// The extents of output `i`.
    fn extents(&self, i: usize) -> Shape {
        extents(self.launch.shape, self.kernel.outputs[i].form)
    }

    /// The kernel as it is.
    fn whole(&self) -> Call<'a> {
        Call {
            kernel: self.kernel,
            ins: (0..self.launch.ins.len()).map(|i| self.input(i)).collect(),
            outs: (0..self.launch.outs.len())
                .map(|i| self.output(i))
                .collect(),
            reduces: self.launch.reduces,
            flags: self.launch.flags,
        }
    }

    /// The whole kernel at once, in parts, or on the host.
    fn run(&mut self) -> Result<(), DeviceError> {
        let all = parts(self.kernel, self.launch.reduces);
        let refused = if all.len() > 1 && !self.device.caps().fused {
            None
        } else {
            let call = self.whole();
            match self.on_device(&call) {
                Ok(()) => {
                    self.session.stats.native += 1;
                    return self.bring_back();
                }
                Err(refused) => Some(refused),
            }
        };
        match refused {
            Some(refused) if all.len() == 1 || !is_unsupported(&refused) => {
                let call = self.whole();
                self.on_host(&call, &refused)?;
            }
            _ => {
                self.session.stats.decomposed += 1;
                for part in &all {
                    self.part(part)?;
                }
            }
        }
        self.bring_back()
    }

    fn part(&mut self, part: &Part) -> Result<(), DeviceError> {
        let mut ins = Vec::new();
        for place in &part.ins {
            let operand = self.place(*place);
            ins.push(operand);
        }
        let outs = vec![self.place(part.out)];
        let wanted = self.launch.flags.zip(part.origin);
        let flags: Vec<AtomicU8> = part.kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
        let reduces = [part.reduce.clone()];
        let call = Call {
            kernel: &part.kernel,
            ins,
            outs,
            reduces: &reduces,
            flags: wanted.map(|_| flags.as_slice()),
        };
        if let Err(refused) = self.on_device(&call) {
            self.on_host(&call, &refused)?;
        }
        if let (Some((all, origin)), Some(met)) = (wanted, flags.last()) {
            all[origin].fetch_or(met.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        Ok(())
    }

    fn place(&mut self, place: Place) -> Operand {
        match place {
            Place::In(i) => self.input(i),
            Place::Out(i) => self.output(i),
            Place::Scalar(scalar) => Operand::Plain(Arg::Scalar(scalar)),
            Place::Value(value) => {
                let points = self.launch.shape.iter().product();
                let bytes = parts::value_bytes(self.kernel, value, points);
                let session = &mut self.session;
                let region = *self
                    .values
                    .entry(value)
                    .or_insert_with(|| session.value(bytes));
                let size = self.kernel.code[value as usize].dtype.size();
                Operand::View(View {
                    region,
                    offset: 0,
                    strides: contiguous_strides(self.launch.shape, size),
                })
            }
        }
    }

    fn on_device(&mut self, call: &Call<'_>) -> Result<(), DeviceError> {
        let caps = self.device.caps();
        let mut lacks = caps.abilities.lacks(call.kernel);
        if !caps.unified && goes_by_number(call.kernel) {
            lacks = Some("a table in the memory of the host".to_owned());
        }
        if let Some(what) = lacks {
            let device = caps.name;
            return Err(DeviceError::Unsupported { device, what });
        }
        let without = Call {
            kernel: call.kernel,
            ins: call.ins.clone(),
            outs: call.outs.clone(),
            reduces: call.reduces,
            flags: call.flags.filter(|_| caps.abilities.flags),
        };
        self.call(&without, true)?;
        finish(self.device)
    }

    /// Runs a call on the host, because the device said no.
    fn on_host(&mut self, call: &Call<'_>, refused: &DeviceError) -> Result<(), DeviceError> {
        let why = format!("{}: {}", name_of(call.kernel), refused.what());
        self.session.stats.fell_back(why);
        self.call(call, false)
    }

    fn call(&mut self, call: &Call<'_>, on_device: bool) -> Result<(), DeviceError> {
        let shape = self.launch.shape;
        let mut ins = Vec::with_capacity(call.ins.len());
        for operand in &call.ins {
            ins.push(self.arg(operand, false, on_device)?);
        }
        let mut outs = Vec::with_capacity(call.outs.len());
        for (i, operand) in call.outs.iter().enumerate() {
            let fresh = match operand {
                Operand::View(view) => {
                    let shape = extents(shape, call.kernel.outputs[i].form);
                    let dtype = call.kernel.output_dtype(i);
                    self.session.covers(view, &shape, dtype)
                }
                Operand::Plain(_) => false,
            };
            outs.push(self.arg(operand, fresh, on_device)?);
        }
        let launch = Launch {
            shape,
            outs: &outs,
            ins: &ins,
            reduces: call.reduces,
            flags: call.flags,
        };
        let side = if on_device { self.device } else { self.host };
        side.run(Queue(0), call.kernel, &launch)?;
        for operand in &call.outs {
            if let Operand::View(view) = operand {
                self.session.wrote(view, on_device);
            }
        }
        Ok(())
    }

    fn arg(&mut self, operand: &Operand, fresh: bool, on_device: bool) -> Result<Arg, DeviceError> {
        match operand {
            Operand::Plain(arg) => Ok(arg.clone()),
            Operand::View(view) if on_device => self.session.device_arg(view, fresh),
            Operand::View(view) => self.session.host_arg(view, fresh),
        }
    }

    /// Brings all results to the user's memory.
    fn bring_back(&mut self) -> Result<(), DeviceError> {
        for i in 0..self.launch.outs.len() {
            if let Operand::View(view) = self.output(i) {
                let dtype = self.kernel.output_dtype(i);
                self.session.bring_back(&view, &self.extents(i), dtype)?;
            }
        }
        Ok(())
    }
}

/// The extents of an output: one on the axes that are folded away.
fn extents(shape: &[usize], form: Form) -> Shape {
    let folded = match form {
        Form::Reduce { axes, .. } | Form::Arg { axes, .. } => axes,
        Form::Store | Form::Scan { .. } | Form::Scatter { .. } => 0,
    };
    let axes = shape.iter().enumerate();
    axes.map(|(i, &n)| if folded >> i & 1 == 1 { 1 } else { n })
        .collect()
}

/// True for kernels that read or write elements by number: only the numbers say which.
fn goes_by_number(kernel: &Kernel) -> bool {
    let scatters = |output: &Output| matches!(output.form, Form::Scatter { .. });
    kernel.code.iter().any(|ins| ins.prim == Prim::Gather) || kernel.outputs.iter().any(scatters)
}

fn all_stored(kernel: &Kernel) -> bool {
    let mut forms = kernel.outputs.iter().map(|output| output.form);
    forms.all(|form| matches!(form, Form::Store | Form::Scan { .. } | Form::Scatter { .. }))
}

fn is_unsupported(error: &DeviceError) -> bool {
    matches!(error, DeviceError::Unsupported { .. })
}

/// What a kernel does, in a word.
fn name_of(kernel: &Kernel) -> String {
    let form = kernel.outputs.first().map(|output| output.form);
    match (form, kernel.code.last()) {
        (Some(Form::Reduce { op, .. }), Some(last)) => format!("{op:?} fold of {}", last.dtype),
        (Some(Form::Scan { op, .. }), Some(last)) => format!("{op:?} scan of {}", last.dtype),
        (Some(Form::Arg { .. }), Some(last)) => format!("place in {}", last.dtype),
        (Some(Form::Scatter { mode, .. }), Some(last)) => {
            format!("{mode:?} scatter of {}", last.dtype)
        }
        (_, Some(last)) if last.prim == Prim::Input => format!("copy of {}", last.dtype),
        (_, Some(last)) => format!("{} of {}", last.prim.name(), last.dtype),
        _ => "nothing".to_owned(),
    }
}

impl Device for Staged {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.host.alloc(bytes)
    }

    fn free(&self, buf: Buf) {
        self.host.free(buf);
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.host.copy(queue, dst, src, bytes)
    }

    fn run(&self, _queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if !launch.fits(kernel) {
            return Err(DeviceError::Unsupported {
                device: self.caps.name,
                what: "the launch does not fit the kernel".to_owned(),
            });
        }
        if launch.outs.is_empty() || launch.shape.contains(&0) && all_stored(kernel) {
            return Ok(());
        }
        let mut work = Work::new(self, kernel, launch);
        let result = work.run();
        let stats = std::mem::take(&mut work.session.stats);
        drop(work);
        let mut all = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
        all.add(stats);
        result
    }

    fn sweep(&self, queue: Queue, sweep: &Sweep<'_>) -> Result<bool, DeviceError> {
        if self.device.caps().unified {
            self.device.sweep(queue, sweep)
        } else {
            Ok(false)
        }
    }

    fn record(&self, _queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _queue: Queue, _event: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _event: Event, _block: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        self.host.host_ptr(buf)
    }
}
