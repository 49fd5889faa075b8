//! Values that go to places by number, on a device with memory of its own: `a[i] = v`, `a[mask] = v`, `np.add.at`,
//! `a.put`, `np.bincount`. What is written stays there.

use crate::copies::{argument, given};
use crate::gather::{self, Pick, checked};
use crate::map::{Outcome, leave};
use crate::methods::Call;
use crate::np::{self, Arr};
use crate::operand::{Input, Weak, classify};
use crate::operations::{view, whole};
use crate::ops::OpEntry;
use crate::{assign, birth, compress, copies, modules, site, state, sync, truth};
use arrayloom_engine::{Along, Put, SlotView};
use arrayloom_ir::ScatterMode;
use arrayloom_types::{DType, Layout, Operand, broadcast};
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

/// An array that may change on a device, which has it, or one of the key, its parts and the value.
fn abroad(a: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Option<Arr> {
    let array = Arr::of(a).filter(|array| state::lazy() && array.writeable())?;
    let there = |operand: &Bound<'_, PyAny>| Arr::of(operand).is_some_and(compress::is_abroad);
    let among = || match key.cast_exact::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().any(|part| there(&part)),
        Err(_) => there(key),
    };
    compress::goes(array, || there(value) || among()).then_some(array)
}

/// `a[key] = value` for a key with arrays of integers. False if NumPy must do it.
pub(crate) fn set<'py>(
    a: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let Some(array) = abroad(a, key, value) else {
        return Ok(false);
    };
    if is_no_place(key) && array.ndim() > 0 {
        return is_element(value, array.dtype());
    }
    match gather::parse(a, array.ndim(), key)? {
        Some(pick) => put(&pick, value, ScatterMode::Set),
        None => Ok(false),
    }
}

/// True for a number that a dtype has, as NumPy assigns it.
fn is_element(value: &Bound<'_, PyAny>, dtype: Option<DType>) -> PyResult<bool> {
    Ok(match (classify(value.py(), value)?, dtype) {
        (Some(Input::Weak(number)), Some(dtype)) => number.assigned_to(dtype).is_some(),
        (Some(Input::Scalar(number)), Some(dtype)) => number.dtype == dtype,
        _ => false,
    })
}

/// True for a vector of integers that has no elements.
fn is_no_place(key: &Bound<'_, PyAny>) -> bool {
    let none = |index: Arr| index.shape() == [0] && index.dtype().is_some_and(DType::is_integer);
    Arr::of(key).is_some_and(none)
}

/// `ufunc.at(a, key, value)`.
pub(crate) fn at<'py>(
    entry: &'static OpEntry,
    [a, key, value]: [&Bound<'py, PyAny>; 3],
) -> PyResult<Outcome<'py>> {
    let py = a.py();
    let mode = match entry.def.name {
        "add" | "subtract" => ScatterMode::Add,
        "maximum" => ScatterMode::Max,
        "minimum" => ScatterMode::Min,
        _ => leave!(Delegated),
    };
    let Some((array, dtype)) =
        abroad(a, key, value).and_then(|array| Some((array, array.dtype()?)))
    else {
        leave!(Delegated)
    };
    let Some(operand) = classify(py, value)? else {
        leave!(Delegated)
    };
    // NumPy computes in the dtype that both have in common, and a number of Python is an array to it.
    let exact = match operand {
        Input::Weak(weak) => is_exact(weak, dtype),
        _ => true,
    };
    let sig = entry.resolve(&[Operand::Strong(dtype), operand.promotes_as()]);
    let alike = sig.is_some_and(|sig| sig.ins.iter().chain(&sig.outs).all(|&d| d == dtype));
    if dtype == DType::Bool || !exact || !alike {
        leave!(Delegated)
    }
    if site::capture(py)?.is_none() {
        leave!(ErrState)
    }
    let negated = if entry.def.name == "subtract" {
        negative(py, value, dtype)?
    } else {
        value.clone()
    };
    let done = match gather::parse(a, array.ndim(), key)? {
        Some(pick) => put(&pick, &negated, mode)?,
        None => false,
    };
    if !done {
        leave!(Delegated)
    }
    Ok(Outcome::Done(py.None().into_bound(py)))
}

/// True if a dtype has this very number.
fn is_exact(number: Weak, dtype: DType) -> bool {
    let whole = |digits: u32, value: i128| value.unsigned_abs() <= 1 << digits;
    match (number, dtype.real()) {
        (Weak::Int(value), DType::F16) => whole(11, value),
        (Weak::Int(value), DType::F32) => whole(24, value),
        (Weak::Int(value), DType::F64) => whole(53, value),
        (Weak::Int(_), _) => number.to_scalar(dtype).is_some(),
        (Weak::Float(_), real) => real == DType::F64,
        (Weak::Complex(_), _) => dtype == DType::C128,
    }
}

/// What is added where `value` is subtracted from elements of a dtype.
fn negative<'py>(
    py: Python<'py>,
    value: &Bound<'py, PyAny>,
    dtype: DType,
) -> PyResult<Bound<'py, PyAny>> {
    let numpy = modules::numpy(py)?;
    let array = numpy.call_method1("asarray", (value, dtype.name()))?;
    array.call_method0("__neg__")
}

/// `a.put(indices, values, mode='raise')` of a value for each index, or one for all.
pub(crate) fn flat<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let names = [(0, "indices"), (1, "values"), (2, "mode")];
    let [index, values, mode] = names.map(|(at, name)| argument(call, at, name));
    let usual = mode?.is_none_or(|mode| mode.extract::<&str>().is_ok_and(|m| m == "raise"));
    let (Some(index), Some(values), true) = (index?, values?, usual && given(call) <= 3) else {
        leave!(Delegated)
    };
    let Some(array) = abroad(call.this, &index, &values) else {
        leave!(Delegated)
    };
    // Other numbers of values are repeated, or cut.
    let fits = match (Arr::of(&index), Arr::of(&values)) {
        (Some(_), None) => assign::is_number(&values),
        (Some(index), Some(values)) => index.ndim() == 1 && index.shape() == values.shape(),
        _ => false,
    };
    if !fits || !array.has(NPY_ARRAY_C_CONTIGUOUS) {
        leave!(Delegated)
    }
    let vector = match copies::flat_view(call.this)? {
        Outcome::Done(vector) => vector,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    if !set(&vector, &index, &values)? {
        leave!(Delegated)
    }
    Ok(Outcome::Done(py.None().into_bound(py)))
}

/// True if a device has a vector of numbers or their weights, as many.
pub(crate) fn counts_there(numbers: &Bound<'_, PyAny>, weights: Option<&Bound<'_, PyAny>>) -> bool {
    let Some(array) = Arr::of(numbers).filter(|_| state::lazy()) else {
        return false;
    };
    let weights = match weights.map(Arr::of) {
        None => return compress::is_abroad(array),
        Some(weights) => weights.filter(|weights| weights.shape() == array.shape()),
    };
    weights.is_some_and(|weights| [array, weights].into_iter().any(compress::is_abroad))
}

/// How often each number is in a vector of them, all below `size`, or the sums of their weights. `None` if NumPy must do it.
pub(crate) fn count<'py>(
    numbers: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    size: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = numbers.py();
    let dtype = weights.map_or(DType::I64, |_| DType::F64);
    let Some(born) = birth::unset(py, dtype, &[size], true)? else {
        return Ok(None);
    };
    let pick = Pick::along(born.array.clone(), 0, numbers.clone());
    let one = pyo3::types::PyInt::new(py, 1).into_any();
    let weights = weights.unwrap_or(&one);
    let done = put_at(&pick, vec![numbers.clone()], weights, ScatterMode::Add)?;
    Ok(done.then_some(born.array))
}

/// Puts a value, or one for each place, where a pick says. False if NumPy must do it.
fn put<'py>(pick: &Pick<'py>, value: &Bound<'py, PyAny>, mode: ScatterMode) -> PyResult<bool> {
    let Some((array, _)) = native(&pick.view) else {
        return Ok(false);
    };
    let mut numbers = Vec::with_capacity(pick.along.len());
    for along in &pick.along {
        match checked(&along.index, array.shape()[along.axis])? {
            Some(index) => numbers.push(index),
            None => return Ok(false),
        }
    }
    put_at(pick, numbers, value, mode)
}

/// As [`put`], with the numbers of the pick, which are within the array and counted from the front.
fn put_at<'py>(
    pick: &Pick<'py>,
    numbers: Vec<Bound<'py, PyAny>>,
    value: &Bound<'py, PyAny>,
    mode: ScatterMode,
) -> PyResult<bool> {
    let py = value.py();
    let Some((array, dtype)) = native(&pick.view) else {
        return Ok(false);
    };
    let target = view(array, dtype);
    let (mut held, mut along) = (Vec::new(), Vec::new());
    for (part, index) in pick.along.iter().zip(numbers) {
        let index = apart(index, &target)?;
        let Some((array, dtype)) = native(&index) else {
            return Ok(false);
        };
        along.push(Along {
            numbers: view(array, dtype),
            step: target.layout.strides[part.axis],
        });
        held.push(index);
    }
    let layouts = along.iter().map(|part| &part.numbers.layout);
    let Some(place) = pick.place(&target.layout, layouts) else {
        return Ok(false);
    };
    if along.is_empty() || place.shape.contains(&0) {
        return Ok(false);
    }
    for Along { numbers, .. } in &mut along {
        numbers.layout = place.index(&numbers.layout);
        if numbers.layout.strides.iter().any(|&step| step < 0) || !place.in_order(&numbers.layout) {
            return Ok(false);
        }
    }
    let Some((what, _held)) = values(value, &target, &place.shape)? else {
        return Ok(false);
    };
    if matches!(&what, Put::Array(values) if !place.in_order(&values.layout)) {
        return Ok(false);
    }
    let target = SlotView {
        layout: place.walk(&target.layout, &pick.along),
        ..target
    };
    let work = || state::engine().scatter(&target, &along, &what, mode);
    sync::force(py, work, work)
}

/// `a[mask] = value` for a contiguous mask of the first axes of the array. False if NumPy must do it.
pub(crate) fn set_picked<'py>(
    a: &Bound<'py, PyAny>,
    mask: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let py = a.py();
    let (Some(array), Some(truth)) = (abroad(a, mask, value), Arr::of(mask)) else {
        return Ok(false);
    };
    let rank = truth.ndim();
    let fits = truth.dtype() == Some(DType::Bool)
        && (1..=array.ndim()).contains(&rank)
        && array.shape()[..rank] == *truth.shape()
        && truth.has(NPY_ARRAY_C_CONTIGUOUS);
    let Some((dtype, true)) = array.dtype().map(|dtype| (dtype, fits)) else {
        return Ok(false);
    };
    if array.len() == 0 {
        return Ok(false);
    }
    let target = view(array, dtype);
    let mask = apart(mask.clone(), &target)?;
    let Some(truth) = Arr::of(&mask) else {
        return Ok(false);
    };
    let count = truth::count(py, truth)?;
    let shape = [&[count], &array.shape()[rank..]].concat();
    let Some((values, _held)) = rows(value, &target, &shape)? else {
        return Ok(false);
    };
    if count == 0 {
        return Ok(true);
    }
    let mask = view(truth, DType::Bool);
    let work = || state::engine().scatter_picked(&target, &mask, &values);
    sync::force(py, work, work)
}

/// The array and its dtype, if that is native.
fn native(array: &Bound<'_, PyAny>) -> Option<(Arr, DType)> {
    let array = Arr::of(array)?;
    Some((array, array.dtype()?))
}

/// The array, or a copy of it if it may share memory with the target.
fn apart<'py>(array: Bound<'py, PyAny>, target: &SlotView) -> PyResult<Bound<'py, PyAny>> {
    let shared = native(&array).is_some_and(|(array, dtype)| {
        let found = view(array, dtype);
        found.slot == target.slot
    });
    if shared {
        array.call_method0("copy")
    } else {
        Ok(array)
    }
}

/// A value in the dtype of the target, over so many places, and what holds it. `None` if NumPy must convert it, or it does
/// not fit.
fn values<'py>(
    value: &Bound<'py, PyAny>,
    target: &SlotView,
    shape: &[usize],
) -> PyResult<Option<(Put, Bound<'py, PyAny>)>> {
    let (py, dtype) = (value.py(), target.layout.dtype);
    let numpy = modules::numpy(py)?;
    let listed = value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>();
    let value = if listed {
        &numpy.call_method1("asarray", (value, dtype.name()))?
    } else {
        value
    };
    let Some(given) = classify(py, value)? else {
        return Ok(None);
    };
    let own = match &given {
        Input::Weak(weak) => {
            let number = weak.assigned_to(dtype);
            return Ok(number.map(|number| (Put::Number(number), value.clone())));
        }
        Input::Scalar(scalar) => scalar.dtype,
        Input::View(view) => view.layout.dtype,
    };
    if !assign::converts(&given, dtype) {
        return Ok(None);
    }
    let held = if own == dtype {
        value.clone()
    } else {
        let array = numpy.call_method1("asarray", (value,))?;
        array.call_method1("astype", (dtype.name(),))?
    };
    Ok(match classify(py, &held)? {
        Some(Input::Scalar(number)) => Some((Put::Number(number), held)),
        Some(Input::View(_)) => {
            let held = apart(held, target)?;
            let spread = native(&held).and_then(|(array, dtype)| {
                let values = view(array, dtype);
                let layout = spread_over(&values.layout, shape)?;
                Some(SlotView { layout, ..values })
            });
            spread.map(|values| (Put::Array(values), held))
        }
        _ => None,
    })
}

/// Such a value as rows in the arena, from which a device has them.
fn rows<'py>(
    value: &Bound<'py, PyAny>,
    target: &SlotView,
    shape: &[usize],
) -> PyResult<Option<(SlotView, Bound<'py, PyAny>)>> {
    let (py, dtype) = (value.py(), target.layout.dtype);
    let Some((given, held)) = values(value, target, shape)? else {
        return Ok(None);
    };
    if let Put::Array(values) = &given
        && values.slot.is_some()
    {
        return Ok(Some((values.clone(), held)));
    }
    let own = Arr::of(&held).map_or(&[][..], Arr::shape);
    let Some(born) = birth::ready(py, dtype, own)? else {
        return Ok(None);
    };
    np::assign(&born.array, &held)?;
    let layout = spread_over(&born.layout, shape);
    Ok(layout.map(|layout| {
        (
            SlotView {
                layout,
                ..whole(&born)
            },
            born.array,
        )
    }))
}

/// The layout over these extents; `None` if it has others.
fn spread_over(layout: &Layout, shape: &[usize]) -> Option<Layout> {
    let fits = broadcast(&layout.shape, shape).is_ok_and(|all| *all == *shape);
    fits.then(|| layout.broadcast_to(shape))
}
