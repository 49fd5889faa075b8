//! One launch: the whole kernel on the device, in parts, or on the host.

use super::parts::{self, Part, Place, parts};
use super::session::{Session, View};
use super::store::Store;
use super::{Staged, finish};
use crate::{Arg, Device, DeviceError, Launch, Queue, ReduceArgs};
use arrayloom_ir::{Form, Kernel, Prim};
use arrayloom_types::{DType, Shape, contiguous_strides};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// A launch while it is worked on.
pub(super) struct Work<'a> {
    pub(super) session: Session<'a>,
    device: &'a dyn Device,
    host: &'a dyn Device,
    kernel: &'a Kernel,
    launch: &'a Launch<'a>,
    /// Where the conditions of the whole kernel are noted, if they are wanted.
    met: Option<&'a Arc<[AtomicU8]>>,
    /// Regions of the values in between.
    values: BTreeMap<u32, usize>,
    /// Lack of device memory is told, not cured by the host.
    tells_lack: bool,
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
    /// Where the conditions are noted, if they are wanted.
    met: Option<&'a Arc<[AtomicU8]>>,
}

impl<'a> Work<'a> {
    pub(super) fn new(
        staged: &'a Staged,
        store: &'a mut Store,
        (kernel, launch, met): (&'a Kernel, &'a Launch<'a>, Option<&'a Arc<[AtomicU8]>>),
        tells_lack: bool,
    ) -> Work<'a> {
        Work {
            session: Session::new(staged, store),
            device: &*staged.device,
            host: &*staged.host,
            kernel,
            launch,
            met,
            values: BTreeMap::new(),
            tells_lack,
        }
    }

    /// Finds the memory of all operands.
    fn cover(&mut self) -> Result<(), DeviceError> {
        let (kernel, launch) = (self.kernel, self.launch);
        let ins = launch.ins.iter().zip(&kernel.inputs);
        let mut ranges: Vec<(u64, u64)> = ins
            .filter_map(|(arg, &d)| arg.range(launch.shape, d))
            .collect();
        for (i, arg) in launch.outs.iter().enumerate() {
            let shape = kernel.outputs[i].form.extents(launch.shape);
            ranges.extend(arg.range(&shape, kernel.output_dtype(i)));
        }
        self.session.cover(ranges)
    }

    fn operand(&self, arg: &Arg, shape: &[usize], dtype: DType) -> Operand {
        let found = arg.range(shape, dtype);
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
        self.kernel.outputs[i].form.extents(self.launch.shape)
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
            met: self.met,
        }
    }

    /// The whole kernel at once, in parts, or on the host.
    pub(super) fn run(&mut self) -> Result<(), DeviceError> {
        self.cover()?;
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
                Err(lack) if self.tells_lack && is_lack(&lack) => return Err(lack),
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
                    // What is written cannot be computed again.
                    self.tells_lack &= !matches!(part.out, Place::Out(_));
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
        let wanted = self.met.zip(part.origin);
        let met: Arc<[AtomicU8]> = part.kernel.code.iter().map(|_| AtomicU8::new(0)).collect();
        let reduces = [part.reduce.clone()];
        let call = Call {
            kernel: &part.kernel,
            ins,
            outs,
            reduces: &reduces,
            met: wanted.map(|_| &met),
        };
        match self.on_device(&call) {
            Ok(()) if wanted.is_some() => finish(self.device)?,
            Ok(()) => {}
            Err(lack) if self.tells_lack && is_lack(&lack) => return Err(lack),
            Err(refused) => self.on_host(&call, &refused)?,
        }
        if let (Some((all, origin)), Some(met)) = (wanted, met.last()) {
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
        if !caps.unified && !self.has_all_of_tables(call) {
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
            met: call.met.filter(|_| caps.abilities.flags),
        };
        self.call(&without, true)?;
        if caps.unified {
            // The host may look at its memory at once.
            return finish(self.device);
        }
        self.session.is_late();
        Ok(())
    }

    /// True if all that the call may read or write by number goes to the device with it: only then are values known as
    /// wholes.
    fn has_all_of_tables(&self, call: &Call<'_>) -> bool {
        let whole = |operand: &Operand| match operand {
            Operand::View(view) => self.session.is_whole(view),
            Operand::Plain(_) => false,
        };
        let mut tables = call.kernel.tables();
        let outputs = call.kernel.outputs.iter().zip(&call.outs);
        let mut scattered = outputs.filter(|(output, _)| output.form.is_scatter());
        tables.all(|input| whole(&call.ins[input])) && scattered.all(|(_, out)| whole(out))
    }

    /// Runs a call on the host, because the device said no.
    fn on_host(&mut self, call: &Call<'_>, refused: &DeviceError) -> Result<(), DeviceError> {
        let lack = is_lack(refused);
        let what = if lack {
            "not enough memory of the device".to_owned()
        } else {
            refused.what()
        };
        let stats = &mut self.session.stats;
        stats.fell_back(format!("{}: {what}", name_of(call.kernel)));
        stats.on_host_for_memory += u64::from(lack);
        if call.kernel.goes_by_number() {
            self.session.bring_everything()?;
        }
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
                Operand::View(view) if !call.kernel.outputs[i].form.is_scatter() => {
                    let shape = call.kernel.outputs[i].form.extents(shape);
                    let dtype = call.kernel.output_dtype(i);
                    self.session.covers(view, &shape, dtype)
                }
                _ => false,
            };
            outs.push(self.arg(operand, fresh, on_device)?);
        }
        let launch = Launch {
            shape,
            outs: &outs,
            ins: &ins,
            reduces: call.reduces,
            flags: None,
        };
        let side = if on_device { self.device } else { self.host };
        match call.met {
            Some(met) => side.run_watched(Queue(0), call.kernel, &launch, met)?,
            None => side.run(Queue(0), call.kernel, &launch)?,
        }
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
            let Operand::View(view) = self.output(i) else {
                continue;
            };
            if self.kernel.outputs[i].form.is_scatter() {
                self.session.bring_all_back(&view)?;
            } else {
                let dtype = self.kernel.output_dtype(i);
                self.session.bring_back(&view, &self.extents(i), dtype)?;
            }
        }
        Ok(())
    }
}

pub(super) fn all_stored(kernel: &Kernel) -> bool {
    let mut forms = kernel.outputs.iter().map(|output| output.form);
    forms.all(|form| matches!(form, Form::Store | Form::Scan { .. } | Form::Scatter { .. }))
}

/// True for an answer that there is not enough memory.
pub(super) fn is_lack(error: &DeviceError) -> bool {
    matches!(error, DeviceError::OutOfMemory { .. })
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
