//! Products of matrices as a kernel: products of elements, summed along the axis that both share.

use arrayloom_device::{Arg, ExtCall, Launch, ReduceArgs, Tensor};
use arrayloom_ir::{Builder, Form, Kernel, Output, Prim, ReduceOp};
use arrayloom_plan::ReduceOrder;
use arrayloom_types::DType;

/// The kernel of a product, and what it is launched with.
#[derive(Debug)]
pub struct Product {
    /// The kernel over rows, columns, and the shared axis.
    pub kernel: Kernel,
    shape: [usize; 3],
    ins: [Arg; 2],
    outs: [Arg; 1],
    reduces: [Option<ReduceArgs>; 1],
}

impl Product {
    /// The launch.
    pub fn launch(&self) -> Launch<'_> {
        Launch {
            shape: &self.shape,
            outs: &self.outs,
            ins: &self.ins,
            reduces: &self.reduces,
            flags: None,
        }
    }
}

/// A matrix over rows, columns and the shared axis; `axes` tells which of the three its own two are.
fn spread(tensor: &Tensor, axes: [usize; 2]) -> Arg {
    let mut strides = [0; 3];
    for (&axis, &stride) in axes.iter().zip(&tensor.layout.strides) {
        strides[axis] = stride;
    }
    Arg::View {
        buf: tensor.buf,
        offset: tensor.layout.offset,
        strides: strides.into_iter().collect(),
    }
}

/// The operation `matmul` of two matrices of one dtype as a kernel; nothing for others.
///
/// Sums are taken as trees, so they are at least as exact as those of a loop. `float16` and `bool` have rules of their own in
/// NumPy, and are left to it.
pub(crate) fn product(call: &ExtCall<'_>) -> Option<Product> {
    let ([left, right], [out]) = (call.ins, call.outs) else {
        return None;
    };
    let dtype = out.layout.dtype;
    let (&[rows, inner], &[other, columns]) = (&*left.layout.shape, &*right.layout.shape) else {
        return None;
    };
    let same = [left, right].iter().all(|t| t.layout.dtype == dtype);
    let fits = inner == other && *out.layout.shape == [rows, columns];
    let known = !matches!(dtype, DType::F16 | DType::Bool);
    if call.name != "matmul" || !(same && fits && known) {
        return None;
    }
    let mut b = Builder::new();
    let (x, y) = (b.input(0, dtype), b.input(1, dtype));
    let value = b.bin(Prim::Mul, x, y).0;
    let (op, axes) = (ReduceOp::Add, 0b100);
    let order = ReduceOrder {
        axes: [2, 1, 0].into_iter().collect(),
        stream: 1,
        piece: inner.max(1),
    };
    let form = Form::Reduce { op, axes };
    Some(Product {
        kernel: Kernel {
            code: b.finish(),
            inputs: vec![dtype; 2],
            outputs: vec![Output { value, form }],
            rank: 3,
        },
        shape: [rows, columns, inner],
        ins: [spread(left, [0, 2]), spread(right, [2, 1])],
        outs: [spread(out, [0, 1])],
        reduces: [Some(ReduceArgs {
            order,
            initial: None,
        })],
    })
}
