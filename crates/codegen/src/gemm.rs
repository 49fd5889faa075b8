//! A product of matrices as libraries with BLAS's functions take it.

use crate::lower::Memory;
use crate::product::{Product, STACKED};
use arrayloom_device::{ExtCall, Tensor};
use arrayloom_types::DType;

/// A matrix with its columns one behind the other, or turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Which operand or result it is.
    pub memory: Memory,
    /// Its rows lie one behind the other.
    pub turned: bool,
    /// Elements from one column to the next; from one row if it is turned.
    pub pitch: usize,
    /// Elements from one matrix of a call to the next.
    pub step: usize,
    /// Bytes from the first matrix of a call to that of the next call.
    pub next: isize,
}

/// A product that calls for stacks of matrices do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemm {
    /// Of all matrices.
    pub dtype: DType,
    /// Rows and columns of the result, and the shared axis.
    pub sizes: [usize; 3],
    /// Left, right, and the result, which is never turned. They may be the others of the operation, as turned ones.
    pub factors: [Factor; 3],
    /// Matrices of a call.
    pub count: usize,
    /// How many calls.
    pub calls: usize,
}

/// A matrix as it lies, with steps in elements.
#[derive(Clone, Copy)]
struct Matrix {
    memory: Memory,
    shape: [usize; 2],
    steps: [isize; 2],
    /// From one matrix of the stack to the next: bytes along its axes.
    stack: [isize; STACKED],
}

impl Matrix {
    /// The last two axes of an operand, whose steps along the stack are number `at` of the product. None if elements
    /// do not lie at multiples of their size.
    fn of(tensor: &Tensor, product: &Product, memory: Memory, at: usize) -> Option<Matrix> {
        let layout = &tensor.layout;
        let (&shape, &steps) = (layout.shape.last_chunk()?, layout.strides.last_chunk()?);
        let size = layout.dtype.size();
        let start = tensor.buf.0.wrapping_add_signed(layout.offset as i64);
        let stack = product.steps.map(|steps| steps[at]);
        let whole = |step: &isize| step.unsigned_abs().is_multiple_of(size);
        let aligned = start.is_multiple_of(size as u64) && steps.iter().chain(&stack).all(whole);
        aligned.then(|| Matrix {
            memory,
            shape,
            steps: steps.map(|step| step / size.cast_signed()),
            stack,
        })
    }

    fn turned(self) -> Matrix {
        let ([rows, columns], [down, along]) = (self.shape, self.steps);
        Matrix {
            shape: [columns, rows],
            steps: [along, down],
            ..self
        }
    }

    /// Elements from one column to the next, if columns are dense and lie one behind the other.
    fn by_columns(self) -> Option<usize> {
        let ([rows, columns], [down, along]) = (self.shape, self.steps);
        let dense = rows == 1 || down == 1;
        let pitch = if columns == 1 {
            rows
        } else {
            usize::try_from(along).ok()?
        };
        (dense && pitch >= rows).then_some(pitch)
    }

    fn factor(self, size: usize, axis: usize, count: usize) -> Option<Factor> {
        let straight = self.by_columns().map(|pitch| (pitch, false));
        let (pitch, turned) = straight.or_else(|| Some((self.turned().by_columns()?, true)))?;
        // Some libraries want a step where there is none to take.
        let step = if count == 1 {
            size.cast_signed()
        } else {
            self.stack[axis]
        };
        Some(Factor {
            memory: self.memory,
            turned,
            pitch,
            step: usize::try_from(step).ok()? / size,
            next: self.stack[1 - axis],
        })
    }
}

impl Gemm {
    /// The product `matmul` that is called; none where a matrix has neither dense rows nor dense columns, or where
    /// there is nothing to add.
    pub fn of(call: &ExtCall<'_>) -> Option<Gemm> {
        let product = Product::of(call).ok()?;
        let ([left, right], [out]) = (call.ins, call.outs) else {
            return None;
        };
        if product.matrix.contains(&0) || product.stack.contains(&0) {
            return None;
        }
        let mut out = Matrix::of(out, &product, Memory::Out(0), 0)?;
        let mut left = Matrix::of(left, &product, Memory::In(0), 1)?;
        let mut right = Matrix::of(right, &product, Memory::In(1), 2)?;
        if out.by_columns().is_none() {
            // The turned product is that of the turned operands in the other order.
            (out, left, right) = (out.turned(), right.turned(), left.turned());
        }
        out.by_columns()?;
        let axis = usize::from(product.stack[1] >= product.stack[0]);
        let count = product.stack[axis];
        let size = product.dtype.size();
        let factor = |matrix: Matrix| matrix.factor(size, axis, count);
        Some(Gemm {
            dtype: product.dtype,
            sizes: [out.shape[0], out.shape[1], product.matrix[2]],
            factors: [factor(left)?, factor(right)?, factor(out)?],
            count,
            calls: product.stack[1 - axis],
        })
    }
}
