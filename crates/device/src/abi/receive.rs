//! C records as a kernel and its launch again. Every number is checked.

#![expect(unsafe_code, reason = "records come as pointers from another library")]

use super::table::{
    ARG_SCALAR, ARG_VIEW, CArg, CFold, CIns, CKernel, CLaunch, COutput, CTensor, FORM_ARG,
    FORM_REDUCE, FORM_SCAN, FORM_SCATTER, FORM_STORE,
};
use crate::{Arg, Buf, Launch, ReduceArgs, Tensor};
use arrayloom_ir::{Form, Ins, Kernel, Output, Prim, ReduceOp, ScatterMode};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::{DType, Layout, Scalar};
use std::sync::atomic::AtomicU8;

const FOLDS: [ReduceOp; 9] = [
    ReduceOp::Add,
    ReduceOp::Mul,
    ReduceOp::Min,
    ReduceOp::Max,
    ReduceOp::Fmin,
    ReduceOp::Fmax,
    ReduceOp::And,
    ReduceOp::Or,
    ReduceOp::Xor,
];

/// `len` records behind a pointer, which may be null if there are none.
///
/// # Safety
/// So many records are there and stay unchanged for `'a`.
pub(super) unsafe fn records<'a, T>(data: *const T, len: usize) -> Result<&'a [T], String> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() {
        return Err(format!("{len} records are missing"));
    }
    // SAFETY: the caller vouches for the records; the pointer is not null.
    Ok(unsafe { std::slice::from_raw_parts(data, len) })
}

fn dtype(number: u32) -> Result<DType, String> {
    let found = u8::try_from(number).ok().and_then(DType::from_index);
    found.ok_or_else(|| format!("dtype {number} is unknown"))
}

fn fold_op(number: u32) -> Result<ReduceOp, String> {
    let found = FOLDS.get(number as usize).copied();
    found.ok_or_else(|| format!("fold {number} is unknown"))
}

fn instruction(ins: &CIns) -> Result<Ins, String> {
    let prim = Prim::from_index(ins.prim);
    Ok(Ins {
        prim: prim.ok_or_else(|| format!("primitive {} is unknown", ins.prim))?,
        dtype: dtype(u32::from(ins.dtype))?,
        a: ins.a,
        b: ins.b,
        c: ins.c,
        bits: ins.bits,
    })
}

fn output(output: &COutput) -> Result<Output, String> {
    let axes = output.axes;
    let form = match output.form {
        FORM_STORE => Form::Store,
        FORM_REDUCE => Form::Reduce {
            op: fold_op(output.op)?,
            axes,
        },
        FORM_ARG => Form::Arg {
            max: output.op != 0,
            axes,
        },
        FORM_SCAN => Form::Scan {
            op: fold_op(output.op)?,
            axis: u8::try_from(axes).map_err(|_large| format!("axis {axes} does not exist"))?,
        },
        FORM_SCATTER => Form::Scatter {
            mode: ScatterMode::ALL
                .get(output.op as usize)
                .copied()
                .ok_or_else(|| format!("way to scatter {} is unknown", output.op))?,
            at: axes,
        },
        other => return Err(format!("form {other} is unknown")),
    };
    Ok(Output {
        value: output.value,
        form,
    })
}

/// The kernel of a record.
///
/// # Safety
/// The record and what it points to are readable.
pub(super) unsafe fn kernel(record: &CKernel) -> Result<Kernel, String> {
    // SAFETY: the caller vouches for all of them.
    let code = unsafe { records(record.code, record.code_len as usize) }?;
    // SAFETY: the caller vouches for all of them.
    let inputs = unsafe { records(record.inputs, record.inputs_len as usize) }?;
    // SAFETY: the caller vouches for all of them.
    let outputs = unsafe { records(record.outputs, record.outputs_len as usize) }?;
    let rank = u8::try_from(record.rank);
    Ok(Kernel {
        code: code.iter().map(instruction).collect::<Result<_, _>>()?,
        inputs: inputs
            .iter()
            .map(|&d| dtype(u32::from(d)))
            .collect::<Result<_, _>>()?,
        outputs: outputs.iter().map(output).collect::<Result<_, _>>()?,
        rank: rank.map_err(|_large| format!("rank {} is too large", record.rank))?,
    })
}

/// The arrays of an operation that is no kernel.
///
/// # Safety
/// The records and what they point to are readable.
pub(super) unsafe fn tensors(first: *const CTensor, len: usize) -> Result<Vec<Tensor>, String> {
    // SAFETY: the caller vouches for them.
    let all = unsafe { records(first, len) }?;
    let mut tensors = Vec::with_capacity(len);
    for record in all {
        // SAFETY: the caller vouches for an extent for each axis.
        let shape = unsafe { records(record.shape, record.rank as usize) }?;
        // SAFETY: and for a step.
        let strides = unsafe { records(record.strides, record.rank as usize) }?;
        tensors.push(Tensor {
            buf: Buf(record.buf),
            layout: Layout {
                dtype: dtype(record.dtype)?,
                offset: isize::try_from(record.offset).unwrap_or(0),
                shape: shape.into(),
                strides: strides.into(),
            },
        });
    }
    Ok(tensors)
}

/// The parts of a launch that have another form in C.
pub(super) struct Received<'a> {
    shape: &'a [usize],
    outs: Vec<Arg>,
    ins: Vec<Arg>,
    reduces: Vec<Option<ReduceArgs>>,
    flags: Option<&'a [AtomicU8]>,
}

impl<'a> Received<'a> {
    /// The launch of a record.
    ///
    /// # Safety
    /// The record belongs to the kernel, and it and what it points to are readable for `'a`; the flags
    /// are writable and nobody else uses them.
    pub(super) unsafe fn new(record: &CLaunch, kernel: &Kernel) -> Result<Received<'a>, String> {
        let rank = usize::from(kernel.rank);
        // SAFETY: the caller vouches for one extent for each axis.
        let shape = unsafe { records(record.shape, rank) }?;
        // SAFETY: the caller vouches for one record for each output.
        let outs = unsafe { records(record.outs, kernel.outputs.len()) }?;
        // SAFETY: the caller vouches for one record for each input.
        let ins = unsafe { records(record.ins, kernel.inputs.len()) }?;
        // SAFETY: the caller vouches for one record for each output.
        let folds = unsafe { records(record.folds, kernel.outputs.len()) }?;
        let flags = if record.flags.is_null() {
            None
        } else {
            let flags: *const AtomicU8 = record.flags.cast_const().cast();
            // SAFETY: the caller vouches for one byte for each instruction.
            Some(unsafe { records(flags, kernel.code.len()) }?)
        };
        // SAFETY: the caller vouches for the steps of the views.
        let args = |all: &[CArg]| all.iter().map(|a| unsafe { arg(a, rank) }).collect();
        // SAFETY: the caller vouches for the axes of the orders.
        let reduces = |all: &[CFold]| all.iter().map(|f| unsafe { fold(f) }).collect();
        let reduces: Result<_, String> = reduces(folds);
        let reduces = reduces?;
        let outs: Result<_, String> = args(outs);
        let ins: Result<_, String> = args(ins);
        Ok(Received {
            shape,
            outs: outs?,
            ins: ins?,
            reduces,
            flags,
        })
    }

    pub(super) fn launch(&self) -> Launch<'_> {
        Launch {
            shape: self.shape,
            outs: &self.outs,
            ins: &self.ins,
            reduces: &self.reduces,
            flags: self.flags,
        }
    }
}

/// # Safety
/// A view has `rank` readable steps.
unsafe fn arg(record: &CArg, rank: usize) -> Result<Arg, String> {
    match record.kind {
        ARG_SCALAR => Ok(Arg::Scalar(Scalar::from_bytes(
            dtype(record.dtype)?,
            &record.scalar,
        ))),
        ARG_VIEW => Ok(Arg::View {
            buf: Buf(record.buf),
            offset: isize::try_from(record.offset).unwrap_or(0),
            // SAFETY: the caller vouches for the steps.
            strides: unsafe { records(record.strides, rank) }?.into(),
        }),
        other => Err(format!("argument kind {other} is unknown")),
    }
}

/// # Safety
/// The axes of a fold are readable.
unsafe fn fold(record: &CFold) -> Result<Option<ReduceArgs>, String> {
    if record.present == 0 {
        return Ok(None);
    }
    // SAFETY: the caller vouches for the axes.
    let axes = unsafe { records(record.axes, record.axes_len as usize) }?;
    let order = ReduceOrder {
        axes: axes.into(),
        stream: u8::try_from(record.stream)
            .map_err(|_large| format!("a run of {} axes", record.stream))?,
        piece: usize::try_from(record.piece).unwrap_or(usize::MAX),
    };
    let initial = if record.has_initial == 0 {
        None
    } else {
        let dtype = dtype(record.initial_dtype)?;
        Some(Scalar::from_bytes(dtype, &record.initial))
    };
    Ok(Some(ReduceArgs { order, initial }))
}
