//! Runs one case on one device: blocks up, kernel, blocks down.

use super::data::{self, Rng, Values};
use super::place::{block_bytes, offsets};
use crate::{Arg, Buf, Device, DeviceError, End, Launch, Queue, ReduceArgs};
use arrayloom_ir::Kernel;
use arrayloom_types::{Layout, Scalar, Shape, Strides};
use std::sync::atomic::{AtomicU8, Ordering};

/// What fills the gaps between elements, so that a stray write is seen.
const GAP: u8 = 0xA5;

/// An operand of a case.
#[derive(Clone, Debug)]
pub(super) enum Input {
    /// A view and the bytes of its block.
    View(Layout, Vec<u8>),
    /// One value.
    Scalar(Scalar),
}

impl Input {
    /// An operand with values made from a seed.
    pub(super) fn random(layout: Layout, seed: u64, values: Values) -> Input {
        let mut block = vec![GAP; block_bytes(&layout)];
        let size = layout.dtype.size();
        let mut rng = Rng::new(seed);
        for at in offsets(&layout) {
            let value = data::element(layout.dtype, &mut rng, values);
            block[at..at + size].copy_from_slice(value.as_bytes());
        }
        Input::View(layout, block)
    }

    /// A C-contiguous operand with these bytes.
    pub(super) fn packed(dtype: arrayloom_types::DType, shape: &[usize], bytes: &[u8]) -> Input {
        Input::View(Layout::contiguous(dtype, shape), bytes.to_vec())
    }
}

/// A case: a kernel and everything it is bound to.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) kernel: Kernel,
    pub(super) shape: Shape,
    pub(super) ins: Vec<Input>,
    pub(super) outs: Vec<Layout>,
    pub(super) reduces: Vec<Option<ReduceArgs>>,
    /// For each result, the operand in whose block it lies.
    pub(super) on_top: Vec<Option<usize>>,
    /// For each result that goes by number, its bytes before; its view has no steps.
    pub(super) before: Vec<Option<Vec<u8>>>,
    /// True when the conditions of the instructions are wanted.
    pub(super) flags: bool,
    /// Where everything is put in.
    pub(super) queue: Queue,
}

impl Job {
    /// A case without folds, in-place results or conditions.
    pub(super) fn new(kernel: Kernel, shape: &[usize], ins: Vec<Input>, outs: Vec<Layout>) -> Job {
        Job {
            reduces: vec![None; outs.len()],
            on_top: vec![None; outs.len()],
            before: vec![None; outs.len()],
            kernel,
            shape: shape.into(),
            ins,
            outs,
            flags: false,
            queue: Queue(0),
        }
    }

    /// Bytes of its operands and results.
    pub(super) fn bytes(&self) -> usize {
        let ins = self.ins.iter().map(|input| match input {
            Input::View(_, block) => block.len(),
            Input::Scalar(_) => 0,
        });
        ins.chain(self.outs.iter().map(block_bytes)).sum()
    }
}

/// Moves a layout so that its first element is aligned; gives the bytes in front of it that are left out.
fn align(layout: &mut Layout) -> usize {
    let past = layout.offset.unsigned_abs() % layout.dtype.align();
    layout.offset -= past.cast_signed();
    past
}

/// Runs a case whose operands and results all begin at aligned addresses, which changes no value. For an
/// oracle that has no other ones.
pub(super) fn execute_aligned(device: &dyn Device, job: &Job) -> Result<Found, DeviceError> {
    let mut job = job.clone();
    for input in &mut job.ins {
        if let Input::View(layout, block) = input {
            block.drain(..align(layout));
        }
    }
    let apart = |i: &usize| job.on_top[*i].is_none() && job.before[*i].is_none();
    let mut left_out = vec![0; job.outs.len()];
    for i in (0..job.outs.len()).filter(apart) {
        left_out[i] = align(&mut job.outs[i]);
    }
    let mut found = execute(device, &job)?;
    for (block, bytes) in found.blocks.iter_mut().zip(left_out) {
        block.splice(..0, vec![GAP; bytes]);
    }
    Ok(found)
}

/// What a device made of a case.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The block of each result, gaps included.
    pub(super) blocks: Vec<Vec<u8>>,
    /// The conditions of each instruction.
    pub(super) flags: Vec<u8>,
}

impl Found {
    /// The elements of result `i` in C order, one after another.
    pub(super) fn packed(&self, job: &Job, i: usize) -> Vec<u8> {
        let size = job.outs[i].dtype.size();
        let places = offsets(&job.outs[i]);
        places
            .iter()
            .flat_map(|&at| self.blocks[i][at..at + size].iter().copied())
            .collect()
    }
}

/// Blocks that are given back however the case ends.
struct Blocks<'a> {
    device: &'a dyn Device,
    queue: Queue,
    held: Vec<Buf>,
}

impl Blocks<'_> {
    fn upload(&mut self, bytes: &[u8]) -> Result<Buf, DeviceError> {
        let buf = self.device.alloc(bytes.len() as u64)?;
        self.held.push(buf);
        let host = End::Host(bytes.as_ptr().cast_mut());
        self.device
            .copy(self.queue, End::Dev(buf, 0), host, bytes.len() as u64)?;
        Ok(buf)
    }

    fn download(&self, buf: Buf, bytes: usize) -> Result<Vec<u8>, DeviceError> {
        let mut host = vec![0; bytes];
        let to = End::Host(host.as_mut_ptr());
        self.device
            .copy(self.queue, to, End::Dev(buf, 0), bytes as u64)?;
        finish(self.device, self.queue)?;
        Ok(host)
    }
}

impl Drop for Blocks<'_> {
    fn drop(&mut self) {
        for buf in self.held.drain(..) {
            self.device.free(buf);
        }
    }
}

/// Waits for everything in a queue.
pub(super) fn finish(device: &dyn Device, queue: Queue) -> Result<(), DeviceError> {
    let event = device.record(queue)?;
    if device.poll(event, true)? {
        Ok(())
    } else {
        Err(DeviceError::Failed {
            device: device.caps().name,
            what: "poll with block came back before the event".to_owned(),
        })
    }
}

/// A case whose operands are on a device.
pub(super) struct Bound<'a> {
    job: &'a Job,
    blocks: Blocks<'a>,
    ins: Vec<Arg>,
    outs: Vec<Arg>,
    /// The block of each result, and its bytes.
    results: Vec<(Buf, usize)>,
    flags: Vec<AtomicU8>,
}

impl<'a> Bound<'a> {
    /// Brings everything that a case reads to a device.
    pub(super) fn new(device: &'a dyn Device, job: &'a Job) -> Result<Bound<'a>, DeviceError> {
        let mut blocks = Blocks {
            device,
            queue: job.queue,
            held: Vec::new(),
        };
        let mut ins = Vec::new();
        for input in &job.ins {
            ins.push(match input {
                Input::Scalar(scalar) => Arg::Scalar(*scalar),
                Input::View(layout, bytes) => view(blocks.upload(bytes)?, layout),
            });
        }
        let mut outs = Vec::new();
        let mut results = Vec::new();
        for (i, (layout, on_top)) in job.outs.iter().zip(&job.on_top).enumerate() {
            let below = on_top.map(|i| (&ins[i], &job.ins[i]));
            let (buf, bytes) = if let Some((Arg::View { buf, .. }, Input::View(_, block))) = below {
                (*buf, block.len())
            } else {
                let bytes = block_bytes(layout);
                let before = job.before[i].clone();
                let before = before.unwrap_or_else(|| vec![GAP; bytes]);
                (blocks.upload(&before)?, bytes)
            };
            outs.push(match &job.before[i] {
                None => view(buf, layout),
                Some(_) => Arg::View {
                    buf,
                    offset: layout.offset,
                    strides: Strides::from_elem(0, job.shape.len()),
                },
            });
            results.push((buf, bytes));
        }
        let flags = job.kernel.code.iter().map(|_| AtomicU8::new(0));
        Ok(Bound {
            job,
            blocks,
            ins,
            outs,
            results,
            flags: flags.collect(),
        })
    }

    /// The launch of the case.
    pub(super) fn launch(&self) -> Launch<'_> {
        Launch {
            shape: &self.job.shape,
            outs: &self.outs,
            ins: &self.ins,
            reduces: &self.job.reduces,
            flags: self.job.flags.then_some(self.flags.as_slice()),
        }
    }

    /// Runs the case.
    pub(super) fn run(&self) -> Result<Found, DeviceError> {
        let (device, queue) = (self.blocks.device, self.job.queue);
        device.run(queue, &self.job.kernel, &self.launch())?;
        finish(device, queue)?;
        let flags = self.flags.iter().map(|f| f.load(Ordering::Relaxed));
        let mut found = Found {
            blocks: Vec::new(),
            flags: flags.collect(),
        };
        for &(buf, bytes) in &self.results {
            found.blocks.push(self.blocks.download(buf, bytes)?);
        }
        Ok(found)
    }
}

/// Runs a case.
pub(super) fn execute(device: &dyn Device, job: &Job) -> Result<Found, DeviceError> {
    Bound::new(device, job)?.run()
}

pub(super) fn view(buf: Buf, layout: &Layout) -> Arg {
    Arg::View {
        buf,
        offset: layout.offset,
        strides: layout.strides.clone(),
    }
}
