//! `searchsorted`, `digitize` and `interp`: many values are searched for in a table on all cores.
//!
//! Tables that are not sorted, and arguments of other kinds, are NumPy's to judge.
#![expect(unsafe_code, reason = "reads and fills the memory of arrays")]

use crate::birth;
use crate::keywords::arguments;
use crate::map::{Outcome, leave};
use crate::np::Arr;
use crate::{copies, parts, slices, state, sync};
use arrayloom_bulk::{Curve, Number, Table};
use arrayloom_types::{DType, promote};
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// How many times as long as the values a table may be: all of it is read once.
const LONGEST: usize = 16;

/// The values of a search, if there are many.
fn many(values: Option<&Bound<'_, PyAny>>) -> Option<Arr> {
    let array = Arr::of(values?)?;
    let known = array.dtype().is_some() && array.ndim() > 0 && array.len() > 0;
    (known && state::lazy() && array.nbytes() >= state::min_bytes()).then_some(array)
}

/// An array of any array or list.
fn array<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    match Arr::of(object) {
        Some(_) => Ok(object.clone()),
        None => object
            .py()
            .import("numpy")?
            .call_method1("asarray", (object,)),
    }
}

/// The array in this dtype, C-contiguous and aligned, with computed values.
fn packed<'py>(array: &Bound<'py, PyAny>, dtype: DType) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let ready = |array: &Arr| array.dtype() == Some(dtype) && array.has(NPY_ARRAY_C_CONTIGUOUS);
    let made = if Arr::of(array).is_some_and(|array| ready(&array)) {
        array.clone()
    } else if let Outcome::Done(copy) = copies::duplicate(array, Some(dtype), 'C')? {
        copy
    } else {
        let plain = parts::ready(array)?;
        plain.call_method1("astype", (dtype.name(), "C"))?
    };
    let Some(array) = Arr::of(&made) else {
        return Ok(None);
    };
    sync::read(py, array)?;
    let aligned = array.addr().is_multiple_of(dtype.size());
    Ok((aligned && ready(&array)).then_some(made))
}

/// The dtype in which elements of these are compared; NumPy knows others too.
fn compared(table: DType, values: DType) -> Option<DType> {
    match promote(table, values) {
        DType::Bool | DType::I8 | DType::U8 | DType::I16 | DType::U16 => Some(DType::I32),
        DType::F16 => Some(DType::F32),
        dtype => (dtype.is_integer() || dtype.is_float()).then_some(dtype),
    }
}

/// `np.searchsorted(a, v, side='left', sorter=None)`.
pub(crate) fn searchsorted<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let Some([Some(table), Some(values), side, None]) =
        arguments(["a", "v", "side", "sorter"], args, kwargs)?
    else {
        leave!(Delegated)
    };
    let right = match side.as_ref().map(PyAnyMethods::extract::<&str>) {
        None | Some(Ok("left")) => false,
        Some(Ok("right")) => true,
        _ => leave!(Delegated),
    };
    search(py, &table, &values, right)
}

/// `np.digitize(x, bins, right=False)`, of bins that ascend.
pub(crate) fn digitize<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let Some([Some(values), Some(bins), right]) = arguments(["x", "bins", "right"], args, kwargs)?
    else {
        leave!(Delegated)
    };
    let right = right.map_or(Ok(false), |right| right.is_truthy())?;
    let bins = array(&bins)?;
    let Some(ends) = Arr::of(&bins).filter(|bins| bins.ndim() == 1 && bins.len() > 0) else {
        leave!(Delegated)
    };
    if ends.dtype().is_some_and(DType::is_float) {
        let last = bins.get_item(-1)?;
        if last.ne(&last)? {
            // A search finds NaN last; NumPy asks whether bins ascend in another way.
            leave!(Delegated)
        }
    }
    search(py, &bins, &values, !right)
}

/// How many elements of the table are less than each value, or, on the right, less or equal.
fn search<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    values: &Bound<'py, PyAny>,
    right: bool,
) -> PyResult<Outcome<'py>> {
    let Some(count) = many(Some(values)).map(Arr::len) else {
        leave!(Small)
    };
    let table = array(table)?;
    let fits = |table: &Arr| table.ndim() == 1 && table.len() / LONGEST <= count;
    let known = Arr::of(&table).filter(fits).and_then(Arr::dtype);
    let dtype = known.zip(Arr::of(values).and_then(Arr::dtype));
    let Some(dtype) = dtype.and_then(|(table, values)| compared(table, values)) else {
        leave!(Delegated)
    };
    let (Some(table), Some(values)) = (packed(&table, dtype)?, packed(values, dtype)?) else {
        leave!(Delegated)
    };
    let (Some(table), Some(values)) = (Arr::of(&table), Arr::of(&values)) else {
        leave!(Delegated)
    };
    let found = match dtype {
        DType::I32 => found::<i32>(py, table, values, right)?,
        DType::U32 => found::<u32>(py, table, values, right)?,
        DType::I64 => found::<i64>(py, table, values, right)?,
        DType::U64 => found::<u64>(py, table, values, right)?,
        DType::F32 => found::<f32>(py, table, values, right)?,
        DType::F64 => found::<f64>(py, table, values, right)?,
        _ => None,
    };
    match found {
        Some(found) => Ok(Outcome::Done(found)),
        None => leave!(Delegated),
    }
}

/// The search among elements of one type, in packed arrays.
fn found<T: Number>(
    py: Python<'_>,
    table: Arr,
    values: Arr,
    right: bool,
) -> PyResult<Option<Bound<'_, PyAny>>> {
    // SAFETY: a packed array of this type, with computed values that the caller holds.
    let table = unsafe { slices::elements::<T>(table, table.len()) };
    let Some(table) = Table::new(table) else {
        return Ok(None);
    };
    let result = birth::fresh(py, DType::I64, values.shape())?;
    let Some(places) = Arr::of(&result) else {
        return Ok(None);
    };
    // SAFETY: as for the table.
    let values = unsafe { slices::elements::<T>(values, values.len()) };
    // SAFETY: a new array of as many places.
    let places = unsafe { slices::places::<isize>(places, values.len()) };
    py.detach(|| table.places(values, right, places, parts::threads()));
    Ok(Some(result))
}

/// Real numbers as packed doubles.
fn doubles<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let array = array(object)?;
    match Arr::of(&array).and_then(Arr::dtype) {
        Some(dtype) if !dtype.is_complex() => packed(&array, DType::F64),
        _ => Ok(None),
    }
}

/// `np.interp(x, xp, fp, left=None, right=None)`.
pub(crate) fn interp<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let names = ["x", "xp", "fp", "left", "right", "period"];
    let Some([Some(at), Some(x), Some(y), left, right, None]) = arguments(names, args, kwargs)?
    else {
        leave!(Delegated)
    };
    let Some(count) = many(Some(&at)).map(Arr::len) else {
        leave!(Small)
    };
    let end = |value: Option<Bound<'py, PyAny>>| match value {
        None => Some(None),
        Some(value) => value.extract::<f64>().ok().map(Some),
    };
    let (Some(left), Some(right)) = (end(left), end(right)) else {
        leave!(Delegated)
    };
    let (Some(x), Some(y), Some(at)) = (doubles(&x)?, doubles(&y)?, doubles(&at)?) else {
        leave!(Delegated)
    };
    let (Some(x), Some(y), Some(at)) = (Arr::of(&x), Arr::of(&y), Arr::of(&at)) else {
        leave!(Delegated)
    };
    if x.ndim() != 1 || y.ndim() != 1 || x.len() / LONGEST > count {
        leave!(Delegated)
    }
    // SAFETY: packed arrays of doubles, with computed values that are held here.
    let points = [x, y].map(|points| unsafe { slices::elements::<f64>(points, points.len()) });
    let Some(curve) = Curve::new(points, count, left, right) else {
        leave!(Delegated)
    };
    let result = birth::fresh(py, DType::F64, at.shape())?;
    let Some(out) = Arr::of(&result) else {
        leave!(Delegated)
    };
    // SAFETY: as for the points.
    let at = unsafe { slices::elements::<f64>(at, count) };
    // SAFETY: a new array of as many values.
    let out = unsafe { slices::places::<f64>(out, count) };
    py.detach(|| curve.values(at, out, parts::threads()));
    Ok(Outcome::Done(result))
}
