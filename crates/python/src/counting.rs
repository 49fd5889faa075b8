//! `histogram` of bins of equal width, and `bincount`: counted on all cores.
//!
//! NumPy makes the edges of the bins, and judges all arguments that are not of the usual kind.
#![expect(unsafe_code, reason = "counts the values in the memory of arrays")]
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "ends of bins are rounded as NumPy rounds them; numbers are below the size of a table"
)]

use crate::keywords::arguments;
use crate::map::{Outcome, leave};
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::{modules, parts, scatter, site, slices, sync};
use arrayloom_bulk::{self as bulk, Bins, Real};
use arrayloom_types::DType;
use numpy::npyffi::flags::{NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PySlice};

/// Bins and numbers that every thread has a table for, at most.
const MOST: usize = 1 << 16;

/// The array, if its elements follow one another in some order and are worth several threads.
fn values(value: Option<&Bound<'_, PyAny>>) -> Option<(Arr, DType)> {
    let array = Arr::of(value?)?;
    let dtype = array.dtype()?;
    let packed = array.has(NPY_ARRAY_C_CONTIGUOUS) || array.has(NPY_ARRAY_F_CONTIGUOUS);
    let aligned = array.addr().is_multiple_of(dtype.align());
    (packed && aligned && parts::share(array).is_some()).then_some((array, dtype))
}

/// `np.histogram(a, bins=10, range=None, density=None, weights=None)`.
pub(crate) fn histogram<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let names = ["a", "bins", "range", "density", "weights"];
    let Some([a, bins, range, density, weights]) = arguments(names, args, kwargs)? else {
        leave!(Mismatch)
    };
    let density = density.is_some_and(|d| !d.is(PyBool::new(py, false)));
    let (Some((array, dtype)), Some(a)) = (values(a.as_ref()), a) else {
        leave!(Delegated)
    };
    if !dtype.is_integer() && !matches!(dtype, DType::F32 | DType::F64) {
        leave!(Delegated)
    }
    let whole = |bins: Bound<'py, PyAny>| {
        let whole = bins.is_exact_instance_of::<PyInt>();
        bins.extract::<usize>().ok().filter(|_| whole)
    };
    let bins = bins.map_or(Some(10), whole);
    let (Some(bins @ 1..=MOST), false, None, Some(_)) =
        (bins, density, weights, site::capture(py)?)
    else {
        leave!(Delegated)
    };
    let ends = match range {
        None => (a.call_method0("min")?, a.call_method0("max")?),
        Some(range) => match range.extract() {
            Ok(ends) => ends,
            Err(_) => leave!(Delegated),
        },
    };
    sync::read(py, array)?;
    let Some(ends) = Ends::of(&ends, dtype) else {
        leave!(Delegated)
    };
    let none = np::plain_view(&a)?.call_method0("ravel")?;
    let none = none.get_item(PySlice::new(py, 0, 0, 1))?;
    let words = PyDict::new(py);
    words.set_item("range", (&ends.low, &ends.high))?;
    let numpy = modules::numpy(py)?;
    let edges = numpy.call_method("histogram_bin_edges", (none, bins), Some(&words))?;
    let Some(found) = Arr::of(&edges) else {
        leave!(Delegated)
    };
    let counts = match (dtype, found.dtype()) {
        (DType::F32, Some(DType::F32)) => ends.count::<f32>(py, array, found),
        (_, Some(DType::F64)) => ends.count_from(py, (array, dtype), found),
        _ => None,
    };
    let Some(counts) = counts else {
        leave!(Delegated)
    };
    let result = (table(py, &counts)?, edges);
    Ok(Outcome::Done(result.into_pyobject(py)?.into_any()))
}

/// A new array of counts.
fn table<'py>(py: Python<'py>, counts: &[u64]) -> PyResult<Bound<'py, PyAny>> {
    let result = np::empty(py, DType::I64, &[counts.len()], &[8])?;
    let Some(array) = Arr::of(&result) else {
        return Ok(result);
    };
    // SAFETY: a new array of as many integers, which nobody else knows.
    let out = unsafe { slices::places::<u64>(array, counts.len()) };
    out.copy_from_slice(counts);
    Ok(result)
}

/// The lowest and the highest value that are counted.
struct Ends<'py> {
    low: Bound<'py, PyAny>,
    high: Bound<'py, PyAny>,
    /// Both as numbers, and what NumPy takes for their distance.
    numbers: [f64; 3],
}

impl<'py> Ends<'py> {
    /// `None` for those that NumPy computes with in another dtype than that of the edges, or that are no
    /// ends of an interval.
    fn of(ends: &(Bound<'py, PyAny>, Bound<'py, PyAny>), dtype: DType) -> Option<Ends<'py>> {
        let (low, high) = ends;
        let kind = np::scalar_dtype(low.get_type_ptr());
        let alike = kind == np::scalar_dtype(high.get_type_ptr());
        let own = kind == Some(dtype) && alike;
        let plain = |end: &Bound<'_, PyAny>| {
            end.is_exact_instance_of::<PyFloat>() || end.is_exact_instance_of::<PyInt>()
        };
        let narrow = dtype.is_integer() && dtype.size() < 8 || dtype == DType::F64;
        if !(own || narrow && plain(low) && plain(high)) {
            return None;
        }
        let as_number = |end: &Bound<'_, PyAny>| end.extract::<f64>().ok();
        let (from, to) = (as_number(low)?, as_number(high)?);
        let whole = |end: &Bound<'_, PyAny>| end.extract::<i64>().ok().map(i128::from);
        let width = match (whole(low), whole(high)) {
            (Some(low), Some(high)) => (high - low) as f64,
            _ if dtype.is_integer() && own => return None,
            _ if dtype == DType::F32 => f64::from(to as f32 - from as f32),
            _ => to - from,
        };
        let fits = from < to && width.is_finite() && width > 0.0;
        fits.then(|| Ends {
            low: low.clone(),
            high: high.clone(),
            numbers: [from, to, width],
        })
    }

    fn count_from(&self, py: Python<'_>, from: (Arr, DType), edges: Arr) -> Option<Vec<u64>> {
        let (array, dtype) = from;
        match dtype {
            DType::F64 => self.count::<f64>(py, array, edges),
            DType::I8 => self.convert(py, array, edges, <f64 as From<i8>>::from),
            DType::U8 => self.convert(py, array, edges, <f64 as From<u8>>::from),
            DType::I16 => self.convert(py, array, edges, <f64 as From<i16>>::from),
            DType::U16 => self.convert(py, array, edges, <f64 as From<u16>>::from),
            DType::I32 => self.convert(py, array, edges, <f64 as From<i32>>::from),
            DType::U32 => self.convert(py, array, edges, <f64 as From<u32>>::from),
            _ => None,
        }
    }

    fn count<R: Real + Narrowed>(
        &self,
        py: Python<'_>,
        array: Arr,
        edges: Arr,
    ) -> Option<Vec<u64>> {
        self.convert(py, array, edges, std::convert::identity::<R>)
    }

    fn convert<T: Copy + Sync, R: Real + Narrowed>(
        &self,
        py: Python<'_>,
        array: Arr,
        edges: Arr,
        real: impl Fn(T) -> R + Send + Sync,
    ) -> Option<Vec<u64>> {
        // SAFETY: the caller asked for the dtype of the edges, which are new.
        let edges = unsafe { slices::elements::<R>(edges, edges.len()) };
        // SAFETY: the caller chose the type by the dtype; the values have been computed.
        let values = unsafe { slices::elements::<T>(array, array.len()) };
        let [low, high, width] = self.numbers.map(R::narrowed);
        let bins = Bins {
            low,
            high,
            width,
            count: R::narrowed(edges.len().checked_sub(1)? as f64),
            edges,
        };
        let threads = parts::threads();
        Some(py.detach(|| bulk::histogram(values, real, bins, threads)))
    }
}

/// A number of `f64` that the type holds.
trait Narrowed {
    fn narrowed(value: f64) -> Self;
}

impl Narrowed for f64 {
    fn narrowed(value: f64) -> f64 {
        value
    }
}

impl Narrowed for f32 {
    fn narrowed(value: f64) -> f32 {
        value as f32
    }
}

/// `np.bincount(x, /, weights=None, minlength=0)`.
pub(crate) fn bincount<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let Some([x, weights, least]) = arguments(["x", "weights", "minlength"], args, kwargs)? else {
        leave!(Mismatch)
    };
    let least = least.map_or(Some(0), |least| least.extract::<usize>().ok());
    let Some(x) = x else { leave!(Delegated) };
    let there = scatter::counts_there(&x, weights.as_ref());
    let given = match Arr::of(&x) {
        Some(array) if there => array.dtype().map(|dtype| (array, dtype)),
        _ => values(Some(&x)),
    };
    let (Some((array, dtype)), Some(least)) = (given, least) else {
        leave!(Delegated)
    };
    if array.ndim() != 1 || array.len() == 0 || weights.is_some() && !there {
        leave!(Delegated)
    }
    if !dtype.is_integer() || dtype == DType::U64 {
        leave!(Delegated)
    }
    let end = |name: &str| -> PyResult<i64> { x.call_method0(name)?.extract() };
    let (low, high) = (end("min")?, end("max")?);
    let size = usize::try_from(high)
        .unwrap_or(0)
        .saturating_add(1)
        .max(least);
    if low < 0 || size > MOST {
        leave!(Delegated)
    }
    if there {
        let counts = scatter::count(&x, weights.as_ref(), size)?;
        return Ok(counts.map_or(Outcome::Numpy(Reason::Delegated), Outcome::Done));
    }
    sync::read(py, array)?;
    let counts = match dtype {
        DType::I8 => occurrences(py, array, size, |v: i8| v.cast_unsigned().into()),
        DType::U8 => occurrences(py, array, size, |v: u8| v.into()),
        DType::I16 => occurrences(py, array, size, |v: i16| v.cast_unsigned().into()),
        DType::U16 => occurrences(py, array, size, |v: u16| v.into()),
        DType::I32 => occurrences(py, array, size, |v: i32| v.cast_unsigned() as usize),
        DType::U32 => occurrences(py, array, size, |v: u32| v as usize),
        _ => occurrences(py, array, size, |v: i64| v.cast_unsigned() as usize),
    };
    Ok(Outcome::Done(table(py, &counts)?))
}

fn occurrences<T: Copy + Sync>(
    py: Python<'_>,
    array: Arr,
    size: usize,
    number: impl Fn(T) -> usize + Send + Sync,
) -> Vec<u64> {
    // SAFETY: the caller chose the type by the dtype; the values have been computed.
    let values = unsafe { slices::elements::<T>(array, array.len()) };
    py.detach(|| bulk::occurrences(values, number, size, parts::threads()))
}
