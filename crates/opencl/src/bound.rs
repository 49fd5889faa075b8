//! Where the operands of a launch lie: in blocks of the device, or in the host's memory as it is.

use crate::device::{OpenCl, failed, trouble};
use crate::driver::Mem;
use arrayloom_codegen::Memory;
use arrayloom_device::{Arg, DeviceError, Launch, joined};
use arrayloom_ir::Kernel;
use std::sync::Arc;

/// Where the operands of a launch lie.
pub(crate) struct Bound {
    /// Inputs, then outputs; values have no place.
    places: Vec<Option<(Arc<Mem>, isize)>>,
    ins: usize,
    pub(crate) scratch: Vec<Mem>,
}

impl Bound {
    fn place(&self, memory: Memory) -> Option<&(Arc<Mem>, isize)> {
        match memory {
            Memory::In(i) => self.places.get(i)?.as_ref(),
            Memory::Out(i) => self.places.get(self.ins + i)?.as_ref(),
            Memory::Scratch(_) => None,
        }
    }

    pub(crate) fn mem(&self, memory: Memory) -> Result<&Mem, DeviceError> {
        let found = match memory {
            Memory::Scratch(i) => self.scratch.get(i),
            _ => self.place(memory).map(|(mem, _)| &**mem),
        };
        // A view without elements has no memory in the host's: any block will do.
        let any = || self.places.iter().flatten().next().map(|(mem, _)| &**mem);
        found
            .or_else(any)
            .ok_or_else(|| failed("an operand without memory"))
    }

    pub(crate) fn offset(&self, memory: Memory) -> isize {
        self.place(memory).map_or(0, |place| place.1)
    }
}

impl OpenCl {
    /// The memory of all views of a launch, and bytes from its start to the first element.
    pub(crate) fn bind(&self, kernel: &Kernel, launch: &Launch<'_>) -> Result<Bound, DeviceError> {
        let ins = launch.ins.iter().zip(&kernel.inputs);
        let outs = launch
            .outs
            .iter()
            .enumerate()
            .map(|(i, arg)| (arg, kernel.output_dtype(i)));
        let views: Vec<_> = ins.map(|(arg, &dtype)| (arg, dtype)).chain(outs).collect();
        if !self.caps.unified {
            let place = |(arg, _): &(&Arg, _)| match arg {
                Arg::View { buf, offset, .. } => self.block(*buf).map(|mem| Some((mem, *offset))),
                Arg::Scalar(_) => Ok(None),
            };
            let all: Result<Vec<_>, DeviceError> = views.iter().map(place).collect();
            return Ok(Bound {
                places: all?,
                ins: launch.ins.len(),
                scratch: Vec::new(),
            });
        }
        let ranges: Vec<Option<(u64, u64)>> = views
            .iter()
            .enumerate()
            .map(|(number, (arg, dtype))| {
                // A fold of nothing has results all the same.
                match number.checked_sub(launch.ins.len()) {
                    Some(i) => arg.range(&kernel.outputs[i].form.extents(launch.shape), *dtype),
                    None => arg.range(launch.shape, *dtype),
                }
            })
            .collect();
        // Blocks over the same memory must be one.
        // A start at 128 leaves elements at multiples of their size.
        let regions = ranges
            .iter()
            .flatten()
            .map(|(low, high)| (low & !127, *high));
        let mut mems = Vec::new();
        for (low, high) in joined(regions.collect()) {
            let bytes = usize::try_from(high - low).unwrap_or(usize::MAX);
            mems.push((
                low,
                high,
                Arc::new(self.context.host(low, bytes).map_err(trouble)?),
            ));
        }
        let place = |((arg, _), range): (&(&Arg, _), &Option<(u64, u64)>)| {
            let Arg::View { buf, offset, .. } = arg else {
                return None;
            };
            let (low, _) = (*range)?;
            let (start, _, mem) = mems.iter().find(|(l, h, _)| *l <= low && low < *h)?;
            let first = buf.0.wrapping_add_signed(*offset as i64);
            let way = isize::try_from(first.wrapping_sub(*start).cast_signed()).ok()?;
            Some((Arc::clone(mem), way))
        };
        let places = views.iter().zip(&ranges).map(place).collect();
        Ok(Bound {
            places,
            ins: launch.ins.len(),
            scratch: Vec::new(),
        })
    }
}
