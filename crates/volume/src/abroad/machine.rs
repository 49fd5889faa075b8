//! The boxes that are alive while a device computes blocks: what it has of each value, and what the CPU has.
//!
//! Blocks take turns on two queues, each with memory of its own, so one block is brought to the device and back
//! while another one is computed. What a device does not have is computed by the CPU in between, and counted.

use crate::abroad::memory::{Lane, Mem};
use crate::abroad::recipe::{Packed, Recipe, Slot, Work};
use crate::block::{Block, View, region_bytes};
use crate::expr::{Expr, Node};
use crate::op::Op;
use crate::reader::Staged;
use crate::separable::Ctx;
use crate::state::Machine;
use crate::{Meter, VolumeError};
use arrayloom_device::{Arg, Device, DeviceError, Event, ExtCall, Launch, Queue, Tensor};
use arrayloom_plan::{Plan, Value, needs};
use arrayloom_types::{Layout, Region, Strides};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Blocks on their way at a time.
pub(crate) const TURNS: u64 = 2;

/// The queues of a device, in turn.
pub(crate) struct Lanes([Lane; 2]);

impl Lanes {
    /// Two queues from number `first` on, whose memory is counted by `meter`.
    pub(crate) fn new(device: &Arc<dyn Device>, first: u32, meter: &Arc<Meter>) -> Lanes {
        let lane = |n: u32| Lane::new(Arc::clone(device), Queue(first + n), Arc::clone(meter));
        Lanes([lane(0), lane(1)])
    }

    /// Lets go of memory that nobody needs.
    pub(crate) fn trim(&self) {
        self.0.iter().for_each(Lane::trim);
    }
}

/// A block of the result that is on its way back.
pub(crate) struct Coming<'l> {
    block: Option<Block>,
    event: Option<Event>,
    lane: &'l Lane,
}

impl Coming<'_> {
    /// The block, when it is there.
    ///
    /// # Errors
    /// Those of the device.
    pub(crate) fn wait(mut self) -> Result<Option<Block>, VolumeError> {
        let done = self.event.take().map(|event| self.lane.wait(event));
        done.unwrap_or(Ok(())).map(|()| self.block.take())
    }
}

impl Drop for Coming<'_> {
    fn drop(&mut self) {
        // The device may still write to the block.
        if self.event.take().is_some() {
            self.lane.settle();
        }
    }
}

/// What became of an operation on the device.
enum Tried<'l> {
    Made(Mem<'l>),
    /// The device does not have it.
    Lacks,
}

/// Computes blocks on a device.
pub(crate) struct Abroad<'a> {
    expr: &'a Expr,
    values: &'a [Value],
    plan: &'a Plan,
    lanes: &'a Lanes,
    host: Machine<'a>,
    /// Values that the device does not have.
    lacks: Vec<bool>,
    /// Blocks of operations that the CPU computed, by name.
    pub(crate) left: BTreeMap<String, u64>,
}

impl<'a> Abroad<'a> {
    pub(crate) fn new(
        expr: &'a Expr,
        values: &'a [Value],
        plan: &'a Plan,
        lanes: &'a Lanes,
    ) -> Abroad<'a> {
        Abroad {
            expr,
            values,
            plan,
            lanes,
            host: Machine::new(expr, values, plan),
            lacks: vec![false; values.len()],
            left: BTreeMap::new(),
        }
    }

    /// Computes block `i` from what was read for it. It is on its way when this returns.
    ///
    /// # Errors
    /// Those of operations, of the device and of memory.
    pub(crate) fn compute(
        &mut self,
        ctx: &Ctx,
        i: u64,
        staged: Staged,
    ) -> Result<Coming<'a>, VolumeError> {
        let core = self.plan.core(i);
        let boxes = needs(self.values, &core);
        let lane = &self.lanes.0[usize::from(i % TURNS == 1)];
        let last = self.values.len() - 1;
        self.host.absorb(ctx, staged)?;
        let mut there: Vec<Option<Mem<'a>>> = boxes.iter().map(|_| None).collect();
        for v in 0..=last {
            let Node::Apply(op, inputs) = &self.expr.nodes()[v] else {
                continue;
            };
            let tried = match self.recipe(&**op, inputs, v, &boxes) {
                Some(recipe) => self.on_device(lane, &mut there, (v, inputs), (&recipe, &boxes)),
                None => Ok(Tried::Lacks),
            };
            match tried? {
                Tried::Made(made) => there[v] = Some(made),
                Tried::Lacks => {
                    *self.left.entry(op.name().to_owned()).or_default() += 1;
                    self.on_cpu(ctx, lane, &there, (v, inputs), &boxes)?;
                }
            }
            for &input in inputs {
                let later = self.values[v + 1..].iter();
                if !later.flat_map(|l| &l.operands).any(|o| o.value == input) {
                    there[input] = None;
                    self.host.forget_value(input);
                }
            }
        }
        let Some(made) = &there[last] else {
            return Ok(Coming {
                block: Some(self.host.result(ctx, last, &core)?),
                event: None,
                lane,
            });
        };
        let mut block = Block::new(&ctx.meter, core, self.expr.dtype(last), 0)?;
        let event = lane.fetch(made, block.data_mut())?;
        Ok(Coming {
            block: Some(block),
            event: Some(event),
            lane,
        })
    }

    /// What the device has to do for value `v`, if it can.
    fn recipe(&self, op: &dyn Op, inputs: &[usize], v: usize, boxes: &[Region]) -> Option<Recipe> {
        // Boxes around wrapped axes are put together from pieces.
        let whole = Region::whole(self.expr.shape(v));
        if self.lacks[v] || boxes[v].is_empty() || !whole.contains(&boxes[v]) {
            return None;
        }
        let view = |&input: &usize| View {
            region: &boxes[input],
            shape: self.expr.shape(input),
            dtype: self.expr.dtype(input),
            data: &[],
        };
        let views: Vec<View<'_>> = inputs.iter().map(view).collect();
        op.on_device()?.recipe(&views, &boxes[v])
    }

    /// Has the device compute value `v`.
    fn on_device(
        &mut self,
        lane: &'a Lane,
        there: &mut [Option<Mem<'a>>],
        (v, inputs): (usize, &[usize]),
        (recipe, boxes): (&Recipe, &[Region]),
    ) -> Result<Tried<'a>, VolumeError> {
        for &input in inputs {
            if there[input].is_none() {
                let data = self.host.data(input).unwrap_or_default();
                let sent = lane.take(data.len() as u64)?;
                lane.send(&sent, data)?;
                there[input] = Some(sent);
            }
        }
        let tables = lane.take(recipe.tables.len() as u64)?;
        lane.send(&tables, &recipe.tables)?;
        let result = lane.take(region_bytes(&boxes[v], self.expr.dtype(v)) as u64)?;
        let mut between: BTreeMap<usize, Mem<'a>> = BTreeMap::new();
        for call in &recipe.calls {
            if let Slot::Between(number) = call.out.slot {
                between.insert(number, lane.take(call.out.bytes())?);
            }
            let tensor = |packed: &Packed| {
                let (mem, offset) = match packed.slot {
                    Slot::Input(i) => (there[inputs[i]].as_ref(), 0),
                    Slot::Table(offset) => (Some(&tables), offset),
                    Slot::Between(number) => (between.get(&number), 0),
                    Slot::Result => (Some(&result), 0),
                };
                let mut layout = Layout::contiguous(packed.dtype, &packed.shape);
                layout.offset = offset.cast_signed();
                mem.map(|mem| Tensor {
                    buf: mem.buf(),
                    layout,
                })
            };
            let ins: Option<Vec<Tensor>> = call.ins.iter().map(tensor).collect();
            let (Some(ins), Some(out)) = (ins, tensor(&call.out)) else {
                return Ok(Tried::Lacks);
            };
            match put_in(lane, &call.work, &ins, out) {
                Ok(()) => {}
                Err(DeviceError::Unsupported { .. }) => {
                    self.lacks[v] = true;
                    return Ok(Tried::Lacks);
                }
                Err(error) => return Err(lane.trouble(&error)),
            }
            for packed in &call.ins {
                if let Slot::Between(number) = packed.slot {
                    between.remove(&number);
                }
            }
        }
        Ok(Tried::Made(result))
    }

    /// Computes value `v` on the CPU.
    fn on_cpu(
        &mut self,
        ctx: &Ctx,
        lane: &Lane,
        there: &[Option<Mem<'a>>],
        (v, inputs): (usize, &[usize]),
        boxes: &[Region],
    ) -> Result<(), VolumeError> {
        for &input in inputs {
            if self.host.data(input).is_none()
                && let Some(mem) = &there[input]
            {
                let (region, dtype) = (boxes[input].clone(), self.expr.dtype(input));
                let mut block = Block::new(&ctx.meter, region, dtype, 0)?;
                let event = lane.fetch(mem, block.data_mut())?;
                lane.wait(event).inspect_err(|_| lane.settle())?;
                self.host.put(input, block);
            }
        }
        self.host.make(ctx, v, &boxes[v], &boxes[v])
    }
}

/// Has the device do one piece of work.
fn put_in(lane: &Lane, work: &Work, ins: &[Tensor], out: Tensor) -> Result<(), DeviceError> {
    match work {
        Work::Ext { name, attrs } => {
            let told = ExtCall {
                name,
                outs: &[out],
                ins,
                attrs,
            };
            lane.device.ext(lane.queue, &told)
        }
        Work::Kernel { kernel, places } => {
            let view = |(tensor, (offset, strides)): (&Tensor, &(isize, Strides))| Arg::View {
                buf: tensor.buf,
                offset: *offset,
                strides: strides.clone(),
            };
            let views: Vec<Arg> = ins.iter().zip(places).map(view).collect();
            let launch = Launch {
                shape: &out.layout.shape,
                outs: &[out.arg()],
                ins: &views,
                reduces: &[None],
                flags: None,
            };
            lane.device.run(lane.queue, kernel, &launch)
        }
    }
}
