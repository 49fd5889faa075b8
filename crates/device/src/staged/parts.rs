//! A kernel of several operations as kernels of one each, with memory for every value in between.

use crate::ReduceArgs;
use arrayloom_ir::{Arity, Builder, Form, Ins, Kernel, Output, Prim, ScatterMode};
use arrayloom_types::{DType, Scalar};

/// Where a part reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Input of the whole kernel.
    In(usize),
    /// Output of the whole kernel.
    Out(usize),
    /// The value of an instruction, at every point.
    Value(u32),
    /// One value.
    Scalar(Scalar),
}

/// One operation.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) kernel: Kernel,
    pub(super) ins: Vec<Place>,
    pub(super) out: Place,
    pub(super) reduce: Option<ReduceArgs>,
    /// The instruction of the whole kernel that the last one of the part is.
    pub(super) origin: Option<usize>,
}

/// The parts in order. A kernel of one operation is one part.
pub(super) fn parts(whole: &Kernel, reduces: &[Option<ReduceArgs>]) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let mut places: Vec<Place> = Vec::new();
    for (number, ins) in whole.code.iter().enumerate() {
        places.push(match ins.prim {
            Prim::Input => Place::In(ins.a as usize),
            Prim::Const => Place::Scalar(constant(ins)),
            _ => {
                parts.push(operation(whole, number, &places));
                Place::Value(as_u32(number))
            }
        });
    }
    if let [output] = whole.outputs.as_slice()
        && let Some(last) = parts.last_mut()
        && output.form == Form::Store
        && places[output.value as usize] == last.out
    {
        last.out = Place::Out(0);
        return parts;
    }
    let several = whole.outputs.len() > 1;
    let mut leaving = Vec::new();
    for (i, output) in whole.outputs.iter().enumerate() {
        let dtype = whole.code[output.value as usize].dtype;
        let mut from = places[output.value as usize];
        // Another output may lie on this input.
        if several && matches!(from, Place::In(_)) {
            let kept = Place::Value(output.value);
            parts.push(leave(dtype, whole.rank, Form::Store, from, kept));
            from = kept;
        }
        let mut part = leave(dtype, whole.rank, output.form, from, Place::Out(i));
        if let Form::Scatter { mode, at } = output.form {
            scatter_by(&mut part, mode, places[at as usize]);
        }
        part.reduce.clone_from(&reduces[i]);
        part.origin = Some(output.value as usize);
        leaving.push(part);
    }
    parts.extend(leaving);
    parts
}

fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn constant(ins: &Ins) -> Scalar {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&ins.bits.to_le_bytes());
    Scalar::from_bytes(ins.dtype, &bytes)
}

/// Instruction `number` alone.
fn operation(whole: &Kernel, number: usize, places: &[Place]) -> Part {
    let ins = whole.code[number];
    let mut b = Builder::new();
    let mut reads = Vec::new();
    let mut dtypes: Vec<DType> = Vec::new();
    let mut alone = ins;
    let used: &[u32] = match ins.prim.arity() {
        Arity::Leaf => &[],
        Arity::Unary => &[ins.a],
        Arity::Binary => &[ins.a, ins.b],
        Arity::Ternary => &[ins.a, ins.b, ins.c],
    };
    let mut operands = [ins.a, ins.b, ins.c];
    for (slot, &v) in operands.iter_mut().zip(used) {
        let place = places[v as usize];
        let dtype = whole.code[v as usize].dtype;
        let known = reads.iter().position(|p| *p == place);
        let input = known.unwrap_or(reads.len());
        if known.is_none() {
            reads.push(place);
            dtypes.push(dtype);
        }
        *slot = b.input(as_u32(input), dtype).0;
    }
    [alone.a, alone.b, alone.c] = operands;
    if ins.prim == Prim::Gather {
        let table = ins.b as usize;
        alone.b = as_u32(reads.len());
        reads.push(Place::In(table));
        dtypes.push(whole.inputs[table]);
    }
    let value = b.push(alone).0;
    let form = Form::Store;
    Part {
        kernel: Kernel {
            code: b.finish(),
            inputs: dtypes,
            outputs: vec![Output { value, form }],
            rank: whole.rank,
        },
        ins: reads,
        out: Place::Value(as_u32(number)),
        reduce: None,
        origin: Some(number),
    }
}

/// A value that leaves as it is.
fn leave(dtype: DType, rank: u8, form: Form, from: Place, to: Place) -> Part {
    let mut b = Builder::new();
    let value = b.input(0, dtype).0;
    Part {
        kernel: Kernel {
            code: b.finish(),
            inputs: vec![dtype],
            outputs: vec![Output { value, form }],
            rank,
        },
        ins: vec![from],
        out: to,
        reduce: None,
        origin: None,
    }
}

/// Gives a part that scatters its only value the value that says where.
fn scatter_by(part: &mut Part, mode: ScatterMode, by: Place) {
    let mut b = Builder::new();
    let value = b.input(0, part.kernel.inputs[0]).0;
    let at = b.input(1, DType::I64).0;
    let form = Form::Scatter { mode, at };
    part.kernel.code = b.finish();
    part.kernel.inputs.push(DType::I64);
    part.kernel.outputs = vec![Output { value, form }];
    part.ins.push(by);
}

/// Bytes of one value.
pub(super) fn value_bytes(kernel: &Kernel, value: u32, points: usize) -> usize {
    kernel.code[value as usize].dtype.size() * points
}
