//! Operations that are no kernels: by a library of NVIDIA's where one does them, else by kernels of ours.
//!
//! A library reads operands that no result lies on, so that kernels of ours can begin anew wherever it fails.

use crate::api::{Address, Code};
use crate::blas::Order;
use crate::context::NAME;
use crate::device::{Bound, Cuda, Held, Lane};
use crate::fft::{Lines, Values, address};
use arrayloom_codegen::{Fourier, Made, Step, Steps, around, halves, operation};
use arrayloom_device::{Arg, DeviceError, ExtCall, Launch, Queue, Tensor};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim};
use arrayloom_types::{Layout, Scalar};

impl From<Code> for DeviceError {
    fn from(code: Code) -> DeviceError {
        DeviceError::Failed {
            device: NAME,
            what: code.to_string(),
        }
    }
}

impl Cuda {
    /// Does an operation.
    pub(crate) fn operate(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let _current = self.context.enter()?;
        let lane = self.lane(queue)?;
        let mut held = lane.hold();
        let done = match call.name {
            "matmul" => self.multiply(&lane, &mut held, call),
            "fft" => self.transform(&lane, &mut held, call),
            _ => Ok(false),
        };
        match done {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(why) => self.vendor.failed(&why),
        }
        let made = operation(call, self.target).map_err(|what| self.unsupported(what))?;
        self.scratch(&mut held, &made.steps.scratch)
            .and_then(|scratch| self.put_made(&lane, &made, scratch))
    }

    fn unsupported(&self, what: String) -> DeviceError {
        DeviceError::Unsupported {
            device: self.caps.name,
            what,
        }
    }

    /// Puts the steps of an operation into a stream.
    fn put_made(&self, lane: &Lane, made: &Made, scratch: Vec<Address>) -> Result<(), DeviceError> {
        let (ins, outs) = (&*made.ins, &*made.outs);
        let list: Vec<&Step> = made.steps.list.iter().collect();
        self.put_all(&lane.stream, &list, &Bound { ins, outs, scratch })
    }

    /// A product by cuBLAS; false if it is none for it.
    fn multiply(
        &self,
        lane: &Lane,
        held: &mut Held<'_>,
        call: &ExtCall<'_>,
    ) -> Result<bool, DeviceError> {
        let Some(order) = Order::of(call) else {
            return Ok(false);
        };
        let Some(library) = self.vendor.products(self) else {
            return Ok(false);
        };
        let bytes = self.vendor.workspace;
        let place = self.scratch(held, &[bytes])?[0];
        let bytes = usize::try_from(bytes).unwrap_or(0);
        library.multiply(&order, &lane.stream, (place, bytes))?;
        Ok(true)
    }

    /// A transform by cuFFT; false if it is none for it.
    fn transform(
        &self,
        lane: &Lane,
        held: &mut Held<'_>,
        call: &ExtCall<'_>,
    ) -> Result<bool, DeviceError> {
        let (Ok(wish), [from], [to]) = (Fourier::of(call), call.ins, call.outs) else {
            return Ok(false);
        };
        if wish.lines == 0 {
            return Ok(false);
        }
        let Some(library) = self.vendor.transforms(self) else {
            return Ok(false);
        };
        let straight = Lines::straight(&wish, [from, to]);
        let lines = straight.unwrap_or(Lines::whole(&wish));
        let made = match (straight, lines.values) {
            (None, _) => around(call, self.target),
            (Some(_), Values::ToReal) => halves(call, self.target),
            (Some(_), _) => Ok(Made::default()),
        };
        let mut made = made.map_err(|what| self.unsupported(what))?;
        let there = made.steps.scratch.first().copied().unwrap_or(0);
        let work = library.work(&lines)? as u64;
        let scratch = self.scratch(held, &[there, work])?;
        let (mut ends, stream) = ([from, to].map(address), &lane.stream);
        // The step that takes results from scratch comes behind the transform.
        let last = made.steps.list.split_off(made.steps.list.len().min(1));
        if there > 0 {
            self.put_made(lane, &made, scratch.clone())?;
            ends[0] = scratch[0];
        }
        if straight.is_none() {
            ends[1] = scratch[0];
        }
        library.transform(&lines, wish.inverse, ends, stream, scratch[1])?;
        made.steps.list = last;
        self.put_made(lane, &made, scratch)?;
        if straight.is_some() {
            self.scale(lane, to, f64::from_bits(wish.factor))?;
        }
        Ok(true)
    }

    /// Multiplies all numbers by a factor.
    fn scale(&self, lane: &Lane, tensor: &Tensor, factor: f64) -> Result<(), DeviceError> {
        if factor.to_bits() == 1f64.to_bits() {
            return Ok(());
        }
        let Layout {
            dtype,
            shape,
            strides,
            offset,
        } = &tensor.layout;
        let (part, mut shape, mut strides) = (dtype.real(), shape.clone(), strides.clone());
        if dtype.is_complex() {
            shape.push(2);
            strides.push(part.size().cast_signed());
        }
        let mut b = Builder::new();
        let (x, y) = (b.input(0, part), b.input(1, part));
        let (value, form) = (b.bin(Prim::Mul, x, y).0, Form::Store);
        let kernel = Kernel {
            code: b.finish(),
            inputs: vec![part; 2],
            outputs: vec![Output { value, form }],
            rank: u8::try_from(shape.len()).unwrap_or(u8::MAX),
        };
        let (buf, offset) = (tensor.buf, *offset);
        let view = Arg::View {
            buf,
            offset,
            strides,
        };
        let factor = Arg::Scalar(Scalar::from_f64(part, factor));
        let (ins, outs) = ([view.clone(), factor], [view]);
        let launch = Launch {
            shape: &shape,
            outs: &outs,
            ins: &ins,
            reduces: &[None],
            flags: None,
        };
        let made = Made {
            steps: Steps::clone(&*self.steps(&kernel, &launch)?),
            ins: ins.into(),
            outs: outs.into(),
        };
        self.put_made(lane, &made, Vec::new())
    }
}
