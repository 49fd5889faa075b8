//! A kernel and its launch as C records, without copying what has the same form on both sides.

use super::table::{
    ARG_SCALAR, ARG_VIEW, CArg, CFold, CIns, CKernel, CLaunch, COutput, FORM_ARG, FORM_REDUCE,
    FORM_SCAN, FORM_SCATTER, FORM_STORE,
};
use crate::{Arg, Launch, ReduceArgs};
use arrayloom_ir::{Form, Ins, Kernel};
use smallvec::SmallVec;
use std::mem::{offset_of, size_of};
use std::ptr;

/// Instructions cross as they are: both records have the same layout.
const _: () = {
    assert!(size_of::<Ins>() == size_of::<CIns>());
    assert!(offset_of!(Ins, prim) == offset_of!(CIns, prim));
    assert!(offset_of!(Ins, dtype) == offset_of!(CIns, dtype));
    assert!(offset_of!(Ins, a) == offset_of!(CIns, a));
    assert!(offset_of!(Ins, b) == offset_of!(CIns, b));
    assert!(offset_of!(Ins, c) == offset_of!(CIns, c));
    assert!(offset_of!(Ins, bits) == offset_of!(CIns, bits));
    assert!(usize::BITS == 64, "offsets cross as 64 bits");
};

/// The parts that have another form.
pub(super) struct Sent {
    outputs: SmallVec<[COutput; 4]>,
    ins: SmallVec<[CArg; 8]>,
    outs: SmallVec<[CArg; 4]>,
    folds: SmallVec<[CFold; 4]>,
}

impl Sent {
    pub(super) fn new(kernel: &Kernel, launch: &Launch<'_>) -> Sent {
        Sent {
            outputs: Sent::outputs(kernel),
            ins: launch.ins.iter().map(arg).collect(),
            outs: launch.outs.iter().map(arg).collect(),
            folds: launch.reduces.iter().map(|r| fold(r.as_ref())).collect(),
        }
    }

    /// The outputs of a kernel.
    pub(super) fn outputs(kernel: &Kernel) -> SmallVec<[COutput; 4]> {
        kernel.outputs.iter().map(output).collect()
    }

    /// The record of the kernel; it points into both.
    pub(super) fn kernel(&self, kernel: &Kernel) -> CKernel {
        kernel_record(kernel, &self.outputs)
    }

    /// The record of the launch; it points into both.
    pub(super) fn launch(&self, launch: &Launch<'_>) -> CLaunch {
        CLaunch {
            size: size::<CLaunch>(),
            reserved: 0,
            shape: launch.shape.as_ptr(),
            outs: self.outs.as_ptr(),
            ins: self.ins.as_ptr(),
            folds: self.folds.as_ptr(),
            flags: launch
                .flags
                .map_or(ptr::null_mut(), |flags| flags.as_ptr().cast_mut().cast()),
        }
    }
}

/// The record of a kernel with these outputs; it points into both.
pub(super) fn kernel_record(kernel: &Kernel, outputs: &[COutput]) -> CKernel {
    CKernel {
        size: size::<CKernel>(),
        rank: u32::from(kernel.rank),
        code_len: length(kernel.code.len()),
        inputs_len: length(kernel.inputs.len()),
        outputs_len: length(outputs.len()),
        code: kernel.code.as_ptr().cast(),
        inputs: kernel.inputs.as_ptr().cast(),
        outputs: outputs.as_ptr(),
    }
}

fn size<T>() -> u32 {
    length(size_of::<T>())
}

fn length(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn output(output: &arrayloom_ir::Output) -> COutput {
    let (form, op, axes) = match output.form {
        Form::Store => (FORM_STORE, 0, 0),
        Form::Reduce { op, axes } => (FORM_REDUCE, op as u32, axes),
        Form::Arg { max, axes } => (FORM_ARG, u32::from(max), axes),
        Form::Scan { op, axis } => (FORM_SCAN, op as u32, u32::from(axis)),
        Form::Scatter { mode, at } => (FORM_SCATTER, mode as u32, at),
    };
    COutput {
        value: output.value,
        form,
        op,
        axes,
    }
}

fn arg(arg: &Arg) -> CArg {
    match arg {
        Arg::View {
            buf,
            offset,
            strides,
        } => CArg {
            kind: ARG_VIEW,
            dtype: 0,
            buf: buf.0,
            offset: *offset as i64,
            strides: strides.as_ptr(),
            scalar: [0; 16],
        },
        Arg::Scalar(scalar) => CArg {
            kind: ARG_SCALAR,
            dtype: scalar.dtype as u32,
            buf: 0,
            offset: 0,
            strides: ptr::null(),
            scalar: scalar.bytes,
        },
    }
}

fn fold(args: Option<&ReduceArgs>) -> CFold {
    let initial = args.and_then(|args| args.initial);
    CFold {
        present: u32::from(args.is_some()),
        stream: args.map_or(0, |args| u32::from(args.order.stream)),
        piece: args.map_or(0, |args| args.order.piece as u64),
        axes: args.map_or(ptr::null(), |args| args.order.axes.as_ptr()),
        axes_len: args.map_or(0, |args| length(args.order.axes.len())),
        has_initial: u32::from(initial.is_some()),
        initial_dtype: initial.map_or(0, |scalar| scalar.dtype as u32),
        reserved: 0,
        initial: initial.map_or([0; 16], |scalar| scalar.bytes),
    }
}
