//! Values that go to places by number, or to those that a mask picks, on a device with memory of its own: what is
//! written stays there.

use crate::compress::{by_place, kernel};
use crate::{Engine, EngineError, SlotView};
use arrayloom_device::{Arg, Tensor};
use arrayloom_ir::{Builder, Form, Kernel, Prim, ScatterMode, Value};
use arrayloom_types::{DType, Scalar};

/// The numbers along one axis of the target.
#[derive(Clone, Debug)]
pub struct Along {
    /// One for each value.
    pub numbers: SlotView,
    /// Bytes from one number to the next.
    pub step: isize,
}

/// What is written.
#[derive(Clone, Debug)]
pub enum Put {
    /// A value for each place.
    Array(SlotView),
    /// The same value everywhere.
    Number(Scalar),
}

impl Put {
    const fn dtype(&self) -> DType {
        match self {
            Put::Array(values) => values.layout.dtype,
            Put::Number(number) => number.dtype,
        }
    }
}

impl Engine {
    /// Writes values, or combines them with what is there, at places by number, one after another in C order of the values.
    /// The layout of `target` has an extent for each axis of the values, and steps along those that are no numbers'. False
    /// if the device has no memory of its own, or does not do it: then nothing was written.
    ///
    /// The numbers are in bounds, and neither they nor the values share memory with the target.
    ///
    /// # Errors
    /// As for [`Engine::operate`].
    pub fn scatter(
        &self,
        target: &SlotView,
        along: &[Along],
        what: &Put,
        mode: ScatterMode,
    ) -> Result<bool, EngineError> {
        if !self.copies_values() {
            return Ok(false);
        }
        let mut ins: Vec<SlotView> = along.iter().map(|one| one.numbers.clone()).collect();
        if let Put::Array(values) = what {
            ins.push(values.clone());
        }
        // Where nothing goes, what is there stays.
        ins.push(target.clone());
        let shape = &target.layout.shape;
        let putting = putting(along, what.dtype(), mode, shape.len());
        self.operate(&ins, std::slice::from_ref(target), |ins, outs| {
            let mut arguments = Vec::with_capacity(2 * along.len() + 1);
            for (one, numbers) in along.iter().zip(ins) {
                arguments.push(numbers.arg());
                arguments.push(step(one.step));
            }
            arguments.push(match what {
                Put::Array(_) => ins[along.len()].arg(),
                Put::Number(number) => Arg::Scalar(*number),
            });
            self.launch_on(&putting, shape, (&arguments, &[outs[0].arg()]))
        })
    }

    /// Writes the rows of `values` one after another to the places of `target` at which a contiguous mask of its first axes
    /// is true. False as for [`Engine::scatter`].
    ///
    /// There are as many rows as true places, and neither they nor the mask share memory with the target.
    ///
    /// # Errors
    /// As for [`Engine::operate`].
    pub fn scatter_picked(
        &self,
        target: &SlotView,
        mask: &SlotView,
        values: &SlotView,
    ) -> Result<bool, EngineError> {
        let operands = [values, target, mask].map(Clone::clone);
        self.move_picked(&operands, target, |counted, ins, out| {
            let [values, old, mask] = ins else {
                return Ok(());
            };
            let shape = &out.layout.shape;
            let [truth, count] = by_place(mask, counted, shape.len());
            let arguments = [
                truth,
                count,
                step(values.layout.strides[0]),
                row_of(values, mask.layout.shape.len()),
                old.arg(),
            ];
            let filling = filling(out.layout.dtype, shape.len());
            self.launch_on(&filling, shape, (&arguments, &[out.arg()]))
        })
    }
}

fn step(bytes: isize) -> Arg {
    Arg::Scalar(Scalar::from_i64(DType::I64, bytes as i64))
}

/// The first row of some, at every place of a mask of so many axes.
fn row_of(values: &Tensor, axes: usize) -> Arg {
    let mut strides = values.layout.strides.clone();
    strides.remove(0);
    strides.insert_many(0, std::iter::repeat_n(0, axes));
    Arg::View {
        buf: values.buf,
        offset: values.layout.offset,
        strides,
    }
}

/// Puts values where numbers say: of each axis the number and its step, then the value.
fn putting(along: &[Along], dtype: DType, mode: ScatterMode, rank: usize) -> Kernel {
    let mut inputs = Vec::with_capacity(2 * along.len() + 1);
    let mut b = Builder::new();
    let mut take = |b: &mut Builder, dtype: DType| {
        inputs.push(dtype);
        b.input(u32::try_from(inputs.len() - 1).unwrap_or(u32::MAX), dtype)
    };
    let mut bytes: Option<Value> = None;
    for one in along {
        let number = take(&mut b, one.numbers.layout.dtype);
        let number = b.cast(number, DType::I64);
        let step = take(&mut b, DType::I64);
        let part = b.bin(Prim::Mul, number, step);
        bytes = Some(bytes.map_or(part, |so_far| b.bin(Prim::Add, so_far, part)));
    }
    let at = bytes.unwrap_or_else(|| b.constant(DType::I64, 0.0));
    let value = take(&mut b, dtype);
    kernel(
        b,
        inputs,
        &[(value, Form::Scatter { mode, at: at.0 })],
        rank,
    )
}

/// Fills picked places: truth value, running count, bytes of a step from row to row, row, and what is there.
fn filling(dtype: DType, rank: usize) -> Kernel {
    let mut b = Builder::new();
    let mask = b.input(0, DType::Bool);
    let [counted, step] = [1, 2].map(|input| b.input(input, DType::I64));
    let old = b.input(4, dtype);
    let [one, zero] = [1.0, 0.0].map(|number| b.constant(DType::I64, number));
    let before = b.bin(Prim::Sub, counted, one);
    let number = b.select(mask, before, zero);
    let bytes = b.bin(Prim::Mul, number, step);
    let new = b.gather(bytes, 3, dtype);
    let value = b.select(mask, new, old);
    let inputs = vec![DType::Bool, DType::I64, DType::I64, dtype, dtype];
    kernel(b, inputs, &[(value, Form::Store)], rank)
}
