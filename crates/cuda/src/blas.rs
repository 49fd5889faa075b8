//! Products of matrices by cuBLAS.
//!
//! Floats are multiplied and added with at least their own precision: numbers of 32 bits are never rounded to
//! TF32. The order of sums is the library's, for which ours holds as well: a result differs from the exact one by at
//! most `n * 2^-24` (`float32`) or `n * 2^-53` (`float64`) times the sum of the products' sizes, for `n` products.

use crate::api::{Address, Code, Cublas, Moved};
use crate::context::{Context, Stream};
use crate::fft::address;
use crate::libraries::{self, Places};
use arrayloom_codegen::Product;
use arrayloom_device::{ExtCall, Tensor};
use arrayloom_types::DType;
use libloading::os::unix::Library;
use std::ffi::c_int;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// The oldest version that is used: CUDA 11's.
const OLDEST: c_int = 11_000;
/// Precision at least that of the operands.
const DEFAULT_MATH: c_int = 0;
/// The library chooses how it multiplies.
const DEFAULT_WAY: c_int = -1;
/// The numbers of dtypes, and of what sums are computed in: 32 bits and 64 bits.
const KINDS: [(DType, c_int, c_int); 4] = [
    (DType::F32, 0, 68),
    (DType::F64, 1, 70),
    (DType::C64, 4, 68),
    (DType::C128, 5, 70),
];

/// A matrix in memory, with steps in elements.
#[derive(Clone, Copy)]
struct Matrix {
    address: Address,
    shape: [usize; 2],
    steps: [isize; 2],
    /// From one matrix of the stack to the next: bytes along the two axes.
    stack: [isize; 2],
}

impl Matrix {
    /// The last two axes of an operand, whose steps along the stack are number `at` of the product.
    fn of(tensor: &Tensor, product: &Product, at: usize) -> Option<Matrix> {
        let layout = &tensor.layout;
        let (&shape, &steps) = (layout.shape.last_chunk()?, layout.strides.last_chunk()?);
        let address = address(tensor);
        let size = layout.dtype.size().cast_signed();
        let stack = product.steps.map(|steps| steps[at]);
        let whole = steps.iter().chain(&stack).all(|step| step % size == 0);
        let aligned = address.is_multiple_of(layout.dtype.size() as u64);
        (whole && aligned).then(|| Matrix {
            address,
            shape,
            steps: steps.map(|step| step / size),
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

    /// Elements from one row to the next, if rows are dense and lie one behind the other.
    fn by_rows(self) -> Option<usize> {
        let ([rows, columns], [down, along]) = (self.shape, self.steps);
        let dense = columns == 1 || along == 1;
        let pitch = if rows == 1 {
            columns
        } else {
            usize::try_from(down).ok()?
        };
        (dense && pitch >= columns).then_some(pitch)
    }

    /// The same of rows or of columns, and 1 for columns.
    fn pitch(self) -> Option<(c_int, c_int)> {
        let rows = self.by_rows().map(|pitch| (pitch, 0));
        let (pitch, turn) = rows.or_else(|| Some((self.turned().by_rows()?, 1)))?;
        Some((c_int::try_from(pitch).ok()?, turn))
    }
}

/// A product as cuBLAS takes it.
pub(crate) struct Gemm {
    kind: c_int,
    compute: c_int,
    one: u64,
    size: isize,
    /// Of the result as cuBLAS sees it, and the shared axis.
    numbers: [c_int; 3],
    /// The operands in cuBLAS's order, and the result.
    matrices: [Matrix; 3],
    /// Elements from one row or column to the next, and whether it is columns.
    pitches: [(c_int, c_int); 3],
    /// Matrices of one call, and the axis of the stack that they lie along.
    count: c_int,
    axis: usize,
    /// Calls.
    calls: usize,
}

impl Gemm {
    /// The product that is called, if cuBLAS does it as the matrices lie.
    pub(crate) fn of(call: &ExtCall<'_>) -> Option<Gemm> {
        let product = Product::of(call).ok()?;
        let ([left, right], [out]) = (call.ins, call.outs) else {
            return None;
        };
        let of_dtype = |(dtype, ..): &&(DType, c_int, c_int)| *dtype == product.dtype;
        let &(dtype, kind, compute) = KINDS.iter().find(of_dtype)?;
        if product.matrix.contains(&0) || product.stack.contains(&0) {
            return None;
        }
        let mut out = Matrix::of(out, &product, 0)?;
        let mut left = Matrix::of(left, &product, 1)?;
        let mut right = Matrix::of(right, &product, 2)?;
        if out.by_rows().is_none() {
            (out, left, right) = (out.turned(), right.turned(), left.turned());
        }
        // cuBLAS has columns one behind the other: for it all matrices are turned, and so is their order.
        let pitch = c_int::try_from(out.by_rows()?).ok()?;
        let matrices = [right, left, out];
        let numbers = [out.shape[1], out.shape[0], product.matrix[2]];
        let axis = usize::from(product.stack[1] >= product.stack[0]);
        let count = product.stack[axis];
        if count > 1 && matrices.iter().any(|matrix| matrix.stack[axis] < 0) {
            return None;
        }
        let number = |n: usize| c_int::try_from(n).ok();
        Some(Gemm {
            kind,
            compute,
            one: match dtype.real() {
                DType::F32 => u64::from(1f32.to_bits()),
                _ => 1f64.to_bits(),
            },
            size: dtype.size().cast_signed(),
            numbers: [
                number(numbers[0])?,
                number(numbers[1])?,
                number(numbers[2])?,
            ],
            matrices,
            pitches: [right.pitch()?, left.pitch()?, (pitch, 0)],
            count: number(count)?,
            axis,
            calls: product.stack[1 - axis],
        })
    }
}

/// The library, and its handle.
pub(crate) struct Blas {
    api: Cublas,
    handle: Mutex<Moved>,
    /// What it is and where it was found.
    pub(crate) words: String,
    context: Arc<Context>,
}

impl Blas {
    /// Opens the first that can be used. The context is current.
    pub(crate) fn open(context: &Arc<Context>, places: &Places) -> Result<Blas, String> {
        libraries::PRODUCTS.first(places, |library, path| Blas::of(context, library, path))
    }

    fn of(context: &Arc<Context>, library: Library, path: &Path) -> Result<Blas, String> {
        let at = path.display();
        let api = Cublas::load(&library)
            .map_err(|name| format!("{at} has no {}", name.to_string_lossy()))?;
        libraries::keep(library);
        let failed = |code: Code| format!("{at}: {code}");
        let mut handle = ptr::null_mut();
        api.create(&mut handle).map_err(failed)?;
        let mut blas = Blas {
            api,
            handle: Mutex::new(Moved(handle)),
            words: String::new(),
            context: Arc::clone(context),
        };
        let mut version = 0;
        blas.api.version(handle, &mut version).map_err(failed)?;
        if version < OLDEST {
            return Err(format!("{at} is too old: version {version}"));
        }
        blas.api.math(handle, DEFAULT_MATH).map_err(failed)?;
        blas.words = format!("cuBLAS {version} ({at})");
        Ok(blas)
    }

    /// Puts a product into a stream, with memory to work in.
    pub(crate) fn multiply(
        &self,
        gemm: &Gemm,
        stream: &Stream,
        (place, bytes): (Address, usize),
    ) -> Result<(), Code> {
        let Gemm { kind, compute, .. } = *gemm;
        let (one, zero) = ([gemm.one, 0], [0u64; 2]);
        let [m, n, k] = gemm.numbers;
        let [(pitch_a, turn_a), (pitch_b, turn_b), (pitch_c, _)] = gemm.pitches;
        let steps = gemm
            .matrices
            .map(|matrix| (matrix.stack[gemm.axis] / gemm.size) as i64);
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        // The stream comes first: a new one has the library's own memory.
        self.api.stream(handle.0, stream.raw)?;
        self.api.workspace(handle.0, place, bytes)?;
        for number in 0..gemm.calls {
            let [a, b, c] = gemm.matrices.map(|matrix| {
                let bytes = matrix.stack[1 - gemm.axis] * number.cast_signed();
                matrix.address.wrapping_add_signed(bytes as i64)
            });
            self.api.multiply(
                handle.0,
                turn_a,
                turn_b,
                m,
                n,
                k,
                one.as_ptr().cast(),
                a,
                kind,
                pitch_a,
                steps[0],
                b,
                kind,
                pitch_b,
                steps[1],
                zero.as_ptr().cast(),
                c,
                kind,
                pitch_c,
                steps[2],
                gemm.count,
                compute,
                DEFAULT_WAY,
            )?;
        }
        Ok(())
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        if let Ok(_current) = self.context.enter() {
            // Products may still run; what failed is told to whoever waits for it.
            drop(self.context.finish());
            let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.api.destroy(handle.0));
        }
    }
}
