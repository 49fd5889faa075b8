//! Operations that are no kernels, on a device that has them: products of matrices, sorts, Fourier transforms
//! and random numbers. All others are NumPy's, which calls a tuned BLAS.

use crate::map::Outcome;
use crate::methods::Call;
use crate::np::Arr;
use crate::operand::Reason;
use crate::{backends, birth, error, state, sync};
use arrayloom_device::{Buf, Device as _, DeviceError, ExtCall, Queue, Staged, Tensor};
use arrayloom_types::DType;
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
    let Some(result) = Arr::of(&born.array) else {
        return Ok(None);
    };
    let call = Operation {
        name: "matmul",
        ins: &[(left, dtype), (right, dtype)],
        outs: &[(result, dtype)],
        attrs: &[],
    };
    Ok(call.run(py, staged)?.then_some(born.array))
}

/// An operation on arrays whose values are computed.
struct Operation<'a> {
    name: &'a str,
    ins: &'a [(Arr, DType)],
    outs: &'a [(Arr, DType)],
    attrs: &'a [u8],
}

impl Operation<'_> {
    /// Runs it on the device. False if the device does not have it, or has no room for it.
    fn run(&self, py: Python<'_>, staged: &Staged) -> PyResult<bool> {
        let tensor = |&(array, dtype): &(Arr, DType)| Tensor {
            buf: Buf(array.addr() as u64),
            layout: array.layout(dtype, array.addr()),
        };
        let ins: Vec<Tensor> = self.ins.iter().map(tensor).collect();
        let outs: Vec<Tensor> = self.outs.iter().map(tensor).collect();
        let call = ExtCall {
            name: self.name,
            outs: &outs,
            ins: &ins,
            attrs: self.attrs,
        };
        match sync::detached(py, || staged.ext(Queue(0), &call)) {
            Ok(()) => Ok(true),
            Err(DeviceError::Unsupported { .. } | DeviceError::OutOfMemory { .. }) => Ok(false),
            Err(failed) => Err(error::to_python(py, &failed.into())),
        }
    }
}

/// The device for an operation on this array along this axis, and the first attribute.
fn device_for(array: Arr, axis: usize) -> Option<(&'static Staged, DType, u8)> {
    let dtype = array.dtype()?;
    let pays = state::lazy() && array.len() > 0 && array.nbytes() >= state::min_bytes();
    let axis = u8::try_from(axis).ok().filter(|_| pays)?;
    Some((backends::staged()?, dtype, axis))
}

/// Sorts an array in place. Elements that are equal keep their order. False if the device does not do it: then
/// the array is as it was.
pub(crate) fn sort(py: Python<'_>, array: Arr, axis: usize) -> PyResult<bool> {
    let Some((staged, dtype, axis)) = device_for(array, axis) else {
        return Ok(false);
    };
    sync::write(py, array)?;
    let operands = [(array, dtype)];
    let call = Operation {
        name: "sort",
        ins: &operands,
        outs: &operands,
        attrs: &[axis],
    };
    call.run(py, staged)
}

/// The numbers of the elements in the order of their values. Without `stable` the device does it only where no
/// two elements are equal: the order of those is NumPy's own.
pub(crate) fn argsort(
    py: Python<'_>,
    array: Arr,
    axis: usize,
    stable: bool,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    let Some((staged, dtype, axis)) = device_for(array, axis) else {
        return Ok(None);
    };
    let places = birth::ready(py, DType::I64, array.shape(), false)?;
    let ties = birth::ready(py, DType::U32, &[1], true)?;
    let (Some(places), Some(ties)) = (places, ties) else {
        return Ok(None);
    };
    sync::read(py, array)?;
    let (Some(to), Some(tied)) = (Arr::of(&places.array), Arr::of(&ties.array)) else {
        return Ok(None);
    };
    let outs = [(to, DType::I64), (tied, DType::U32)];
    let call = Operation {
        name: "argsort",
        ins: &[(array, dtype)],
        outs: &outs[..if stable { 1 } else { 2 }],
        attrs: &[axis],
    };
    let unique = call.run(py, staged)? && (stable || !ties.array.get_item(0)?.is_truthy()?);
    Ok(unique.then_some(places.array))
}

/// One of NumPy's Fourier transforms along `axis` of `array`, into `target`. False if the device does not do it.
pub(crate) fn transform(
    py: Python<'_>,
    name: &str,
    (array, target): (Arr, Arr),
    axis: usize,
    factor: f64,
) -> PyResult<bool> {
    let Some((staged, dtype, axis)) = device_for(array, axis) else {
        return Ok(false);
    };
    let results = target.shape().get(usize::from(axis)).copied().unwrap_or(0);
    let (kind, length) = match name {
        "fft" | "ifft" if dtype.is_complex() => (0, results),
        "fft" | "ifft" => (3, results),
        "rfft_n_even" => (1, 2 * results.saturating_sub(1)),
        "rfft_n_odd" => (1, (2 * results).saturating_sub(1)),
        _ => (2, results),
    };
    let Some(made) = target.dtype() else {
        return Ok(false);
    };
    sync::read(py, array)?;
    sync::write(py, target)?;
    let inverse = matches!(name, "ifft" | "irfft");
    let mut attrs = vec![axis, kind, u8::from(inverse)];
    attrs.extend(factor.to_le_bytes());
    attrs.extend((length as u64).to_le_bytes());
    let call = Operation {
        name: "fft",
        ins: &[(array, dtype)],
        outs: &[(target, made)],
        attrs: &attrs,
    };
    call.run(py, staged)
}

/// A vector of random numbers of NumPy's `Philox`, or of its words: `state` has the four words of the counter and
/// the two of the key. `None` if no device does it.
#[pyfunction]
pub(crate) fn philox<'py>(
    py: Python<'py>,
    state: [u64; 6],
    count: usize,
    dtype: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let dtype = match dtype {
        "float64" => DType::F64,
        "float32" => DType::F32,
        _ => DType::U64,
    };
    let bytes = birth::nbytes(dtype, &[count]).unwrap_or(0);
    let Some(staged) = backends::staged().filter(|_| state::lazy() && bytes >= state::min_bytes())
    else {
        return Ok(None);
    };
    let Some(born) = birth::ready(py, dtype, &[count], false)? else {
        return Ok(None);
    };
    let Some(result) = Arr::of(&born.array) else {
        return Ok(None);
    };
    let attrs: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
    let call = Operation {
        name: "philox",
        ins: &[],
        outs: &[(result, dtype)],
        attrs: &attrs,
    };
    Ok(call.run(py, staged)?.then_some(born.array))
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
