//! Where the operands of a launch lie: in blocks of the device, or in the host's memory as it is.

use crate::device::{OpenCl, failed, trouble};
use crate::driver::Mem;
use arrayloom_codegen::Memory;
use arrayloom_device::{Arg, DeviceError, Launch, joined};
use arrayloom_ir::Kernel;
use arrayloom_types::Scalar;
use std::sync::Arc;

/// Where the operands of a launch lie.
pub(crate) struct Bound {
    /// Inputs, then outputs; values have no place.
    places: Vec<Option<(Arc<Mem>, isize)>>,
    /// Inputs that are values.
    values: Vec<Option<Scalar>>,
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

    /// An input that is a value.
    pub(crate) fn value(&self, input: usize) -> Option<Scalar> {
        self.values.get(input).copied().flatten()
    }

    pub(crate) fn offset(&self, memory: Memory) -> isize {
        self.place(memory).map_or(0, |place| place.1)
    }
}

/// Operands, and the bytes that they touch where they lie in the host's memory.
pub(crate) type Views<'a> = Vec<(&'a Arg, Option<(u64, u64)>)>;

/// The operands and results of a launch.
pub(crate) fn views<'a>(kernel: &Kernel, launch: &Launch<'a>) -> Views<'a> {
    let ins = launch.ins.iter().zip(&kernel.inputs);
    let ins = ins.map(|(arg, &dtype)| (arg, arg.range(launch.shape, dtype)));
    let outs = launch.outs.iter().enumerate().map(|(i, arg)| {
        // A fold of nothing has results all the same.
        let extents = kernel.outputs[i].form.extents(launch.shape);
        (arg, arg.range(&extents, kernel.output_dtype(i)))
    });
    ins.chain(outs).collect()
}

impl OpenCl {
    /// The memory of views, and bytes from its start to their first elements. The first `ins` are operands.
    pub(crate) fn bind(&self, views: &Views<'_>, ins: usize) -> Result<Bound, DeviceError> {
        let value = |(arg, _): &(&Arg, _)| match arg {
            Arg::Scalar(scalar) => Some(*scalar),
            Arg::View { .. } => None,
        };
        let values = views.iter().take(ins).map(value).collect();
        if !self.caps.unified {
            let place = |(arg, _): &(&Arg, _)| match arg {
                Arg::View { buf, offset, .. } => self.block(*buf).map(|mem| Some((mem, *offset))),
                Arg::Scalar(_) => Ok(None),
            };
            let all: Result<Vec<_>, DeviceError> = views.iter().map(place).collect();
            return Ok(Bound {
                places: all?,
                values,
                ins,
                scratch: Vec::new(),
            });
        }
        // Blocks over the same memory must be one.
        // A start at 128 leaves elements at multiples of their size.
        let regions = views
            .iter()
            .filter_map(|(_, range)| range.map(|(low, high)| (low & !127, high)));
        let mut mems = Vec::new();
        for (low, high) in joined(regions.collect()) {
            let bytes = usize::try_from(high - low).unwrap_or(usize::MAX);
            mems.push((
                low,
                high,
                Arc::new(self.context.host(low, bytes).map_err(trouble)?),
            ));
        }
        let place = |(arg, range): &(&Arg, Option<(u64, u64)>)| {
            let Arg::View { buf, offset, .. } = arg else {
                return None;
            };
            let (low, _) = (*range)?;
            let (start, _, mem) = mems.iter().find(|(l, h, _)| *l <= low && low < *h)?;
            let first = buf.0.wrapping_add_signed(*offset as i64);
            let way = isize::try_from(first.wrapping_sub(*start).cast_signed()).ok()?;
            Some((Arc::clone(mem), way))
        };
        Ok(Bound {
            places: views.iter().map(place).collect(),
            values,
            ins,
            scratch: Vec::new(),
        })
    }
}
