//! Products of matrices on a device that has them. All others are NumPy's, which calls a tuned BLAS.

use crate::map::Outcome;
use crate::methods::Call;
use crate::np::Arr;
use crate::operand::Reason;
use crate::{backends, birth, error, state, sync};
use arrayloom_device::{Buf, Device as _, DeviceError, ExtCall, Queue, Tensor};
use arrayloom_types::{DType, Layout};
use pyo3::prelude::*;

/// `a @ b` for two matrices of one dtype, if the backend in use has the operation `matmul`.
pub(crate) fn matmul<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(staged) = backends::staged() else {
        return Ok(None);
    };
    let (Some(left), Some(right)) = (Arr::of(a), Arr::of(b)) else {
        return Ok(None);
    };
    let Some((dtype, shape)) = shape_of(left, right) else {
        return Ok(None);
    };
    let largest = left.nbytes().max(right.nbytes());
    let size = birth::nbytes(dtype, &shape);
    if largest.max(size.unwrap_or(0)) < state::min_bytes() {
        return Ok(None);
    }
    let Some(born) = birth::ready(py, dtype, &shape, false)? else {
        return Ok(None);
    };
    sync::read(py, left)?;
    sync::read(py, right)?;
    let tensor = |addr: usize, layout: Layout| Tensor {
        buf: Buf(addr as u64),
        layout,
    };
    let operand = |array: Arr| tensor(array.addr(), array.layout(dtype, array.addr()));
    let ins = [operand(left), operand(right)];
    let Some(result) = Arr::of(&born.array) else {
        return Ok(None);
    };
    let outs = [operand(result)];
    let call = ExtCall {
        name: "matmul",
        outs: &outs,
        ins: &ins,
        attrs: &[],
    };
    match sync::detached(py, || staged.ext(Queue(0), &call)) {
        Ok(()) => Ok(Some(born.array)),
        Err(DeviceError::Unsupported { .. } | DeviceError::OutOfMemory { .. }) => Ok(None),
        Err(failed) => Err(error::to_python(py, &failed.into())),
    }
}

/// Dtype and extents of the product, if both are matrices that fit.
fn shape_of(left: Arr, right: Arr) -> Option<(DType, [usize; 2])> {
    let dtype = left.dtype().filter(|d| right.dtype() == Some(*d))?;
    let (&[rows, inner], &[other, columns]) = (left.shape(), right.shape()) else {
        return None;
    };
    let fits = inner == other && ![rows, inner, columns].contains(&0);
    fits.then_some((dtype, [rows, columns]))
}

/// `a.dot(b)`.
pub(crate) fn dot<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let product = match (call.args, call.kwargs) {
        ([other], None) => matmul(call.this.py(), call.this, other)?,
        _ => None,
    };
    Ok(product.map_or(Outcome::Numpy(Reason::Library), Outcome::Done))
}
