//! Operations that are no kernels, on a device that has them: products of matrices, sorts, Fourier transforms
//! and random numbers. All others are NumPy's, which calls a tuned BLAS.

use crate::birth::Born;
use crate::map::Outcome;
use crate::methods::Call;
use crate::np::Arr;
use crate::operand::Reason;
use crate::{backends, birth, state, sync};
use arrayloom_device::{Device as _, ExtCall, Queue, Staged};
use arrayloom_engine::SlotView;
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
    let Some(born) = birth::unmade(py, dtype, shape)? else {
        return Ok(None);
    };
    let call = Operation {
        name: "matmul",
        ins: &[factors.left, factors.right],
        outs: &[SlotView {
            layout: Layout::contiguous(dtype, &factors.matrices),
            ..whole(&born)
        }],
        attrs: &[],
    };
    Ok(call.run(py, staged)?.then_some(born.array))
}

/// The operands of a product, as stacks of matrices that fit.
struct Factors {
    left: SlotView,
    right: SlotView,
    /// Of the result, as the device sees it.
    matrices: Shape,
    /// Of the result.
    shape: Shape,
}

impl Factors {
    fn of(left: Arr, right: Arr, stacked: bool) -> Option<Factors> {
        let dtype = left.dtype().filter(|d| right.dtype() == Some(*d))?;
        let views = [left, right].map(|array| view(array, dtype));
        let layouts = views.each_ref().map(|view| view.layout.clone());
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
        let [mut left, mut right] = views;
        left.layout = spread(&x, [rows, inner]);
        right.layout = spread(&y, [inner, columns]);
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

/// An array as the engine sees it.
pub(crate) fn view(array: Arr, dtype: DType) -> SlotView {
    let found = state::engine().slot_at(array.addr());
    let base = found.map_or(array.addr(), |(_, start)| start as usize);
    SlotView {
        slot: found.map(|(slot, _)| slot),
        base: base as u64,
        layout: array.layout(dtype, base),
    }
}

/// A new array as the engine sees it.
pub(crate) fn whole(born: &Born<'_>) -> SlotView {
    SlotView {
        slot: Some(born.slot),
        base: 0,
        layout: born.layout.clone(),
    }
}

/// An operation on arrays, which need not be computed.
struct Operation<'a> {
    name: &'a str,
    ins: &'a [SlotView],
    outs: &'a [SlotView],
    attrs: &'a [u8],
}

impl Operation<'_> {
    /// Runs it on the device, where its results stay. False if the device does not have it, or has no room for it.
    fn run(&self, py: Python<'_>, staged: &Staged) -> PyResult<bool> {
        let work = || {
            let run = |ins: &[_], outs: &[_]| {
                let (name, attrs) = (self.name, self.attrs);
                let call = ExtCall {
                    name,
                    outs,
                    ins,
                    attrs,
                };
                staged.ext(Queue(0), &call)
            };
            state::engine().operate(self.ins, self.outs, run)
        };
        sync::force(py, work, work)
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
    let operands = [view(array, dtype)];
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
    let places = birth::unmade(py, DType::I64, array.shape())?;
    let ties = birth::unset(py, DType::U32, &[1], true)?;
    let (Some(places), Some(ties)) = (places, ties) else {
        return Ok(None);
    };
    let outs = [&places, &ties].map(whole);
    let call = Operation {
        name: "argsort",
        ins: &[view(array, dtype)],
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
    let inverse = matches!(name, "ifft" | "irfft");
    let mut attrs = vec![axis, kind, u8::from(inverse)];
    attrs.extend(factor.to_le_bytes());
    attrs.extend((length as u64).to_le_bytes());
    let call = Operation {
        name: "fft",
        ins: &[view(array, dtype)],
        outs: &[view(target, made)],
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
    let Some(born) = birth::unmade(py, dtype, &[count])? else {
        return Ok(None);
    };
    let attrs: Vec<u8> = state.iter().flat_map(|word| word.to_le_bytes()).collect();
    let call = Operation {
        name: "philox",
        ins: &[],
        outs: &[whole(&born)],
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
