//! Operations that are no kernels, on a device that has them: products of matrices, sorts, Fourier transforms
//! and random numbers. All others are NumPy's, which calls a tuned BLAS.

use crate::map::Outcome;
use crate::methods::Call;
use crate::np::Arr;
use crate::operand::Reason;
use crate::{backends, birth, error, state, sync};
use arrayloom_device::{Buf, Device as _, DeviceError, ExtCall, Queue, Staged, Tensor};
use arrayloom_types::{DType, Layout, Shape, broadcast};
use pyo3::prelude::*;

/// `a @ b` for arrays of one dtype, if the backend in use has the operation `matmul`; of more than two axes if they
/// may be `stacked`.
pub(crate) fn matmul<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    stacked: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(staged) = backends::staged() else {
        return Ok(None);
    };
    let (Some(left), Some(right)) = (Arr::of(a), Arr::of(b)) else {
        return Ok(None);
    };
    // Those of npbackend know matrices only.
    let stacked = stacked && !backends::needs_python();
    let Some(factors) = Factors::of(left, right, stacked) else {
        return Ok(None);
    };
    let (dtype, shape) = (factors.left.layout.dtype, &*factors.shape);
    let largest = left.nbytes().max(right.nbytes());
    let size = birth::nbytes(dtype, shape);
    if largest.max(size.unwrap_or(0)) < state::min_bytes() {
        return Ok(None);
    }
    let Some(born) = birth::ready(py, dtype, shape)? else {
        return Ok(None);
    };
    sync::read(py, left)?;
    sync::read(py, right)?;
    let Some(result) = Arr::of(&born.array) else {
        return Ok(None);
    };
    let out = Tensor {
        buf: Buf(result.addr() as u64),
        layout: Layout::contiguous(dtype, &factors.matrices),
    };
    let call = ExtCall {
        name: "matmul",
        outs: &[out],
        ins: &[factors.left, factors.right],
        attrs: &[],
    };
    Ok(done(py, staged, &call)?.then_some(born.array))
}

/// The operands of a product, as stacks of matrices that fit.
struct Factors {
    left: Tensor,
    right: Tensor,
    /// Of the result, as the device sees it.
    matrices: Shape,
    /// Of the result.
    shape: Shape,
}

impl Factors {
    fn of(left: Arr, right: Arr, stacked: bool) -> Option<Factors> {
        let dtype = left.dtype().filter(|d| right.dtype() == Some(*d))?;
        let layouts = [left, right].map(|array| array.layout(dtype, array.addr()));
        let most = if stacked { usize::MAX } else { 2 };
        let vectors = layouts.each_ref().map(|layout| layout.shape.len() == 1);
        let fit = |l: &Layout| (1..=most).contains(&l.shape.len()) && !l.shape.contains(&0);
        if !layouts.iter().all(fit) || vectors == [true; 2] {
            return None;
        }
        let [mut x, mut y] = layouts;
        // A vector is a row on the left, and a column on the right.
        if vectors[0] {
            x.shape.insert(0, 1);
            x.strides.insert(0, 0);
        }
        if vectors[1] {
            y.shape.push(1);
            y.strides.push(0);
        }
        let (outer_x, &[rows, inner]) = x.shape.split_last_chunk()?;
        let (outer_y, &[other, columns]) = y.shape.split_last_chunk()?;
        let outer = broadcast(outer_x, outer_y).ok()?;
        if inner != other {
            return None;
        }
        let spread =
            |layout: &Layout, own: [usize; 2]| layout.broadcast_to(&[&*outer, &own].concat());
        let tensor = |array: Arr, layout| Tensor {
            buf: Buf(array.addr() as u64),
            layout,
        };
        let (left, right) = (
            tensor(left, spread(&x, [rows, inner])),
            tensor(right, spread(&y, [inner, columns])),
        );
        let matrices: Shape = outer.iter().copied().chain([rows, columns]).collect();
        let own = [(rows, vectors[0]), (columns, vectors[1])];
        let own = own.iter().filter(|(_, vector)| !vector).map(|(n, _)| *n);
        let shape = outer.iter().copied().chain(own).collect();
        Some(Factors {
            left,
            right,
            matrices,
            shape,
        })
    }
}

/// Runs an operation on the device. False if the device does not have it, or has no room for it.
fn done(py: Python<'_>, staged: &Staged, call: &ExtCall<'_>) -> PyResult<bool> {
    match sync::detached(py, || staged.ext(Queue(0), call)) {
        Ok(()) => Ok(true),
        Err(DeviceError::Unsupported { .. } | DeviceError::OutOfMemory { .. }) => Ok(false),
        Err(failed) => Err(error::to_python(py, &failed.into())),
    }
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
        done(py, staged, &call)
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
    let places = birth::ready(py, DType::I64, array.shape())?;
    let ties = birth::unset(py, DType::U32, &[1], true)?;
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
    let Some(born) = birth::ready(py, dtype, &[count])? else {
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

/// `a.dot(b)`.
pub(crate) fn dot<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let product = match (call.args, call.kwargs) {
        ([other], None) => matmul(call.this.py(), call.this, other, false)?,
        _ => None,
    };
    Ok(product.map_or(Outcome::Numpy(Reason::Library), Outcome::Done))
}
