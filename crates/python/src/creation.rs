//! The functions that make arrays: NumPy's own, except for large results of the native dtypes.
//!
//! Whatever is unusual goes to NumPy as it came; if NumPy's result is large, it still lies in the arena
//! and becomes a lazy array.

use crate::assign::copy_row;
use crate::birth;
use crate::lift::{is_new, lift};
use crate::map::Outcome;
use crate::np::{self, Arr};
use crate::operand::{Input, Reason, classify};
use crate::record::{self, Draft};
use crate::{copies, delegate, keywords, modules, ranges, site, state, sync};
use arrayloom_ir::{Action, LoopSig};
use arrayloom_types::{DType, Scalar, Shape, contiguous_strides};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use smallvec::smallvec;

/// Most axes that an array of NumPy can have.
pub(crate) const NUMPY_RANKS: usize = 64;

/// NumPy's function of this name.
fn numpy<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    modules::numpy(py)?.getattr(name)
}

/// NumPy's own result; if it is large, it lies in the arena and is lazy.
fn in_numpy<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = args.py();
    let function = numpy(py, name)?;
    if !state::lazy() {
        return function.call(args, kwargs);
    }
    let result = delegate::in_arena(py, || function.call(args, kwargs))?;
    lift(&result);
    Ok(result)
}

/// The usual arguments of a creation function: shape and dtype, and nothing that asks for more.
struct Wanted {
    shape: Shape,
    dtype: DType,
    /// False where the dtype is what creation functions make by default.
    named: bool,
}

/// Reads `(shape, [value,] dtype=None, order='C')`; `None` if NumPy must look at it.
fn wanted(
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
    dtype_at: usize,
) -> PyResult<Option<Wanted>> {
    if args.is_empty() || args.len() > dtype_at + 1 || !state::lazy() {
        return Ok(None);
    }
    let Some(shape) = shape_of(&args.get_item(0)?) else {
        return Ok(None);
    };
    let mut dtype = args.get_item(dtype_at).ok();
    for (name, value) in kwargs.into_iter().flat_map(PyDictMethods::iter) {
        match name.cast::<PyString>()?.to_str()? {
            "dtype" if dtype.is_none() => dtype = Some(value),
            "order" if value.extract::<&str>().is_ok_and(|v| v == "C") => {}
            _ => return Ok(None),
        }
    }
    let dtype = dtype.filter(|value| !value.is_none());
    let named = dtype.is_some();
    let dtype = match dtype {
        None => Some(DType::F64),
        Some(value) => named_dtype(&value)?,
    };
    let wanted = dtype.map(|dtype| Wanted {
        shape,
        dtype,
        named,
    });
    Ok(wanted.filter(|w| birth::worth_it(w.dtype, &w.shape)))
}

/// The dtype of an argument; None means `float64`.
fn named_dtype(value: &Bound<'_, PyAny>) -> PyResult<Option<DType>> {
    let kind = value.as_ptr();
    if value.is_none() || kind == (&raw mut ffi::PyFloat_Type).cast() {
        return Ok(Some(DType::F64));
    }
    keywords::dtype_from(value)
}

fn shape_of(value: &Bound<'_, PyAny>) -> Option<Shape> {
    let extent = |value: &Bound<'_, PyAny>| value.extract::<usize>().ok();
    let ranks = 0..=NUMPY_RANKS;
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        let shape: Option<Shape> = tuple.iter_borrowed().map(|v| extent(&v)).collect();
        return shape.filter(|s| ranks.contains(&s.len()));
    }
    value
        .is_exact_instance_of::<pyo3::types::PyInt>()
        .then(|| extent(value).map(|n| smallvec![n]))?
}

/// A lazy array that holds one value everywhere.
fn filled<'py>(
    py: Python<'py>,
    wanted: &Wanted,
    value: Scalar,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let site = site::capture(py)?.unwrap_or(0);
    if record::is_numpys(false, (wanted.dtype, &wanted.shape), site) {
        return Ok(None);
    }
    let strides = contiguous_strides(&wanted.shape, wanted.dtype.size());
    let Some(born) = birth::lazy(py, wanted.dtype, &wanted.shape, &strides)? else {
        return Ok(None);
    };
    let mut draft = Draft::new();
    draft.scalar(value);
    let sig = LoopSig {
        ins: smallvec![value.dtype],
        outs: smallvec![value.dtype],
    };
    draft.record(
        py,
        Action::Map(copy_row().def),
        sig,
        smallvec![(born.slot, born.layout)],
        site,
    )?;
    Ok(Some(born.array))
}

/// Return a new array filled with zeros.
pub(crate) fn zeros<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = wanted(args, kwargs, 1)?
        && let Some(born) = birth::unset(args.py(), wanted.dtype, &wanted.shape, true)?
    {
        return Ok(born.array);
    }
    in_numpy("zeros", args, kwargs)
}

/// Return a new array without setting its elements.
pub(crate) fn empty<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = wanted(args, kwargs, 1)?
        && let Some(born) = birth::unset(args.py(), wanted.dtype, &wanted.shape, false)?
    {
        return Ok(born.array);
    }
    in_numpy("empty", args, kwargs)
}

/// Return a new array filled with ones.
pub(crate) fn ones<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = wanted(args, kwargs, 1)? {
        let one = Scalar::from_i64(wanted.dtype, 1);
        if let Some(array) = filled(args.py(), &wanted, one)? {
            return Ok(array);
        }
    }
    in_numpy("ones", args, kwargs)
}

/// Return a new array filled with `fill_value`.
pub(crate) fn full<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = args.py();
    if args.len() >= 2
        && let Some(value) = classify(py, &args.get_item(1)?)?
        && let Some(mut wanted) = wanted(args, kwargs, 2)?
    {
        let natural = match &value {
            Input::Scalar(scalar) => Some(scalar.dtype),
            Input::Weak(weak) => Some(weak.own_dtype()),
            Input::View(_) => None,
        };
        if let (false, Some(natural)) = (wanted.named, natural) {
            wanted.dtype = natural;
        }
        let scalar = match value {
            Input::Scalar(scalar) if !scalar.dtype.is_complex() || wanted.dtype.is_complex() => {
                Some(scalar)
            }
            Input::Weak(weak) => weak.assigned_to(wanted.dtype),
            _ => None,
        };
        if let Some(scalar) = scalar
            && birth::worth_it(wanted.dtype, &wanted.shape)
            && let Some(array) = filled(py, &wanted, scalar)?
        {
            return Ok(array);
        }
    }
    in_numpy("full", args, kwargs)
}

/// Converts an operand of `array`, `asarray` and the like that is lazy already; the rest is NumPy's.
fn converted<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
    copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if args.len() == 1 && kwargs.is_none_or(PyDictMethods::is_empty) {
        let object = args.get_item(0)?;
        if object.get_type_ptr() == state::lazy_type() {
            if !copy {
                return Ok(object);
            }
            if let Outcome::Done(copied) = copies::duplicate(&object, None, 'K')? {
                return Ok(copied);
            }
        }
    }
    converted_by_numpy(name, args, kwargs)
}

/// Lets NumPy convert the first argument, whose value it needs.
fn converted_by_numpy<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(object) = args.get_item(0)
        && let Some(array) = Arr::of(&object)
    {
        if object.get_type_ptr() == state::lazy_type() {
            // Of a derived class NumPy would make a view, which forgets the metadata of `dtype=` and what `order="A"` means.
            let items: Vec<_> = args.iter().collect();
            let function = numpy(args.py(), name)?;
            return delegate::call(&function, &items, kwargs, 0..0, (name, Reason::Library));
        }
        sync::read(args.py(), array)?;
        return in_numpy(name, args, kwargs);
    }
    let result = in_numpy(name, args, kwargs)?;
    Ok(viewed(&result).unwrap_or(result))
}

/// The lazy array that an object had for NumPy (`__array__`), if `view` is a view of it as a whole: NumPy makes one
/// where it would have given a plain array as it is.
fn viewed<'py>(view: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let kind = view.get_type_ptr();
    // A view that others hold is what the object had.
    if !is_new(view) || kind != np::array_type() && kind != state::lazy_type() {
        return None;
    }
    let array = Arr::of(view)?;
    let base = array.base(view.py())?;
    if base.get_type_ptr() != state::lazy_type() {
        return None;
    }
    let whole = Arr::of(&base)?;
    let same = array.addr() == whole.addr()
        && array.descr() == whole.descr()
        && array.shape() == whole.shape()
        && array.strides() == whole.strides()
        && array.writeable() == whole.writeable();
    same.then_some(base)
}

/// Create an array.
pub(crate) fn array<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    converted("array", args, kwargs, true)
}

/// Convert the input to an array.
pub(crate) fn asarray<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    converted("asarray", args, kwargs, false)
}

/// Return evenly spaced values within a given interval.
pub(crate) fn arange<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    match ranges::arange(args, kwargs)? {
        Some(range) => Ok(range),
        None => in_numpy("arange", args, kwargs),
    }
}

macro_rules! from_numpy {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        pub(crate) fn $name<'py>(
            args: &Bound<'py, PyTuple>,
            kwargs: Option<&Bound<'py, PyDict>>,
        ) -> PyResult<Bound<'py, PyAny>> {
            in_numpy(stringify!($name), args, kwargs)
        }
    )*};
}

from_numpy! {
    /// Return evenly spaced numbers over a specified interval.
    linspace;
    /// Return a two-dimensional array with ones on the diagonal and zeros elsewhere.
    eye;
    /// Return the identity array.
    identity;
    /// Construct an array by executing a function over each coordinate.
    fromfunction;
    /// Construct an array from data in a text or binary file.
    fromfile;
    /// Load arrays from files.
    load;
    /// Load data from a text file.
    loadtxt;
}

/// Return a contiguous array in memory.
pub(crate) fn ascontiguousarray<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let contiguous = |object: &Bound<'py, PyAny>| {
        Arr::of(object)
            .is_some_and(|a| a.has(numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS) && a.ndim() > 0)
    };
    if args.get_item(0).is_ok_and(|object| contiguous(&object)) {
        return converted("ascontiguousarray", args, kwargs, false);
    }
    let lazy = |object: &Bound<'py, PyAny>| object.get_type_ptr() == state::lazy_type();
    let has_axes = |object: &Bound<'py, PyAny>| Arr::of(object).is_some_and(|a| a.ndim() > 0);
    if args.get_item(0).is_ok_and(|o| lazy(&o) && has_axes(&o))
        && args.len() == 1
        && kwargs.is_none()
        && let Outcome::Done(copied) = copies::duplicate(&args.get_item(0)?, None, 'C')?
    {
        return Ok(copied);
    }
    converted_by_numpy("ascontiguousarray", args, kwargs)
}

/// The layout facts of a prototype that a `*_like` function copies, if it is an array of ours.
fn like(
    args: &Bound<'_, PyTuple>,
    kwargs: Option<&Bound<'_, PyDict>>,
    most: usize,
) -> Option<Wanted> {
    if args.is_empty() || args.len() > most || !kwargs.is_none_or(PyDictMethods::is_empty) {
        return None;
    }
    let object = args.get_item(0).ok()?;
    let kind = object.get_type_ptr();
    if kind != state::lazy_type() && kind != np::array_type() {
        return None;
    }
    let array = Arr::of(&object)?;
    let wanted = Wanted {
        shape: array.shape().into(),
        dtype: array.dtype()?,
        named: true,
    };
    let ordered = array.has(numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS);
    (ordered && birth::worth_it(wanted.dtype, &wanted.shape)).then_some(wanted)
}

/// Return an array of zeros with the same shape and type as a given array.
pub(crate) fn zeros_like<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = like(args, kwargs, 1)
        && let Some(born) = birth::unset(args.py(), wanted.dtype, &wanted.shape, true)?
    {
        return Ok(born.array);
    }
    in_numpy("zeros_like", args, kwargs)
}

/// Return a new array with the same shape and type as a given array, elements not set.
pub(crate) fn empty_like<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    match unset_like(args, kwargs)? {
        Some(array) => Ok(array),
        None => in_numpy("empty_like", args, kwargs),
    }
}

/// What [`empty_like`] gives where the prototype is an array of ours; its value is not needed.
pub(crate) fn unset_like<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(wanted) = like(args, kwargs, 1) else {
        return Ok(None);
    };
    let born = birth::unset(args.py(), wanted.dtype, &wanted.shape, false)?;
    Ok(born.map(|born| born.array))
}

/// Return an array of ones with the same shape and type as a given array.
pub(crate) fn ones_like<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(wanted) = like(args, kwargs, 1) {
        let one = Scalar::from_i64(wanted.dtype, 1);
        if let Some(array) = filled(args.py(), &wanted, one)? {
            return Ok(array);
        }
    }
    in_numpy("ones_like", args, kwargs)
}

/// Return a full array with the same shape and type as a given array.
pub(crate) fn full_like<'py>(
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    if args.len() == 2
        && let Some(wanted) = like(args, kwargs, 2)
        && let Some(Input::Weak(weak)) = classify(args.py(), &args.get_item(1)?)?
        && let Some(scalar) = weak.assigned_to(wanted.dtype)
        && let Some(array) = filled(args.py(), &wanted, scalar)?
    {
        return Ok(array);
    }
    in_numpy("full_like", args, kwargs)
}
