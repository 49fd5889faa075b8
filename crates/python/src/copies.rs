//! Methods that give the elements a new place: `copy`, `astype`, `flatten`, `ravel`, `fill`.

use crate::assign::{self, copy_row};
use crate::birth;
use crate::keywords;
use crate::map::{Options, Outcome, leave};
use crate::methods::Call;
use crate::np::{self, Arr};
use crate::operand::{Input, View, classify};
use crate::record::Draft;
use crate::{functions, join, record, site, state};
use arrayloom_ir::{Action, LoopSig};
use arrayloom_types::{DType, Layout, contiguous_strides, copy_strides, fortran_strides};
use numpy::npyffi::flags::{NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_F_CONTIGUOUS};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use smallvec::smallvec;

/// The argument of a method by position or name; `None` if absent.
pub(crate) fn argument<'py>(
    call: &Call<'_, 'py>,
    at: usize,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match (call.args.get(at), call.kwargs) {
        (Some(value), _) => Ok(Some(value.clone())),
        (None, Some(kwargs)) => kwargs.get_item(name),
        (None, None) => Ok(None),
    }
}

/// The letter of `order=`, or the default.
fn order_of(value: Option<&Bound<'_, PyAny>>, default: char) -> Option<char> {
    match value {
        None => Some(default),
        Some(value) if value.is_none() => Some(default),
        Some(value) => value.extract::<char>().ok().map(|c| c.to_ascii_uppercase()),
    }
}

/// Number of arguments that the call has at all.
pub(crate) fn given(call: &Call<'_, '_>) -> usize {
    call.args.len() + call.kwargs.map_or(0, PyDictMethods::len)
}

/// `a.copy(order='C')`.
pub(crate) fn copy<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let order = argument(call, 0, "order")?;
    if given(call) != usize::from(order.is_some()) {
        leave!(Keyword)
    }
    let Some(order) = order_of(order.as_ref(), 'C') else {
        leave!(Mismatch)
    };
    duplicate(call.this, None, order)
}

/// `copy.copy(a)`, which keeps the order of the axes.
pub(crate) fn alike<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    if given(call) != 0 {
        leave!(Keyword)
    }
    duplicate(call.this, None, 'K')
}

/// `a.astype(dtype, order='K', casting='unsafe', subok=True, copy=True)`.
pub(crate) fn astype<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let (Some(dtype), copy) = (argument(call, 0, "dtype")?, argument(call, 4, "copy")?) else {
        leave!(Mismatch)
    };
    if call.args.len() > 1 || given(call) != 1 + usize::from(copy.is_some()) {
        leave!(Keyword)
    }
    let Some(dtype) = keywords::dtype_from(&dtype)? else {
        leave!(Operand)
    };
    let Some(from) = Arr::of(call.this).and_then(Arr::dtype) else {
        leave!(Operand)
    };
    if from == dtype && copy.is_some_and(|c| !c.is_truthy().unwrap_or(true)) {
        return Ok(Outcome::Done(call.this.clone()));
    }
    if from.is_complex() && !dtype.is_complex() && dtype != DType::Bool {
        leave!(Mismatch)
    }
    duplicate(call.this, Some(dtype), 'K')
}

/// `a.flatten(order='C')`: a vector of its own.
pub(crate) fn flatten<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let order = argument(call, 0, "order")?;
    if given(call) != usize::from(order.is_some()) {
        leave!(Mismatch)
    }
    match order_of(order.as_ref(), 'C') {
        Some('C') => flat_copy(call.this),
        Some('F') => flat_copy(&call.this.getattr("T")?),
        _ => leave!(Delegated),
    }
}

/// `a.ravel(order='C')`: a view where that is possible.
pub(crate) fn ravel<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let Some(array) = Arr::of(call.this) else {
        leave!(Operand)
    };
    let order = argument(call, 0, "order")?;
    if given(call) != usize::from(order.is_some()) {
        leave!(Mismatch)
    }
    let is_view = match order_of(order.as_ref(), 'C') {
        Some('C') => array.has(NPY_ARRAY_C_CONTIGUOUS),
        Some('F') => array.has(NPY_ARRAY_F_CONTIGUOUS),
        Some('A') => array.has(NPY_ARRAY_C_CONTIGUOUS) || array.has(NPY_ARRAY_F_CONTIGUOUS),
        _ => leave!(Delegated),
    };
    if is_view {
        return own(call, "ravel").map(Outcome::Done);
    }
    match order_of(order.as_ref(), 'C') {
        Some('F') => flat_copy(&call.this.getattr("T")?),
        _ => flat_copy(call.this),
    }
}

/// The elements in C order as a vector: a view where that is possible.
pub(crate) fn flat_view<'py>(array: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let call = Call {
        this: array,
        args: &[],
        kwargs: None,
    };
    ravel(&call)
}

/// `a.repeat(repeats, axis=None)`.
pub(crate) fn repeat<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let (count, axis) = (argument(call, 0, "repeats")?, argument(call, 1, "axis")?);
    let Some(count) = count else { leave!(Mismatch) };
    if given(call) != 1 + usize::from(axis.is_some()) {
        leave!(Mismatch)
    }
    join::repeat(call.this, &count, axis.as_ref())
}

/// `a.round(decimals=0, out=None)`.
pub(crate) fn round<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let (decimals, out) = (argument(call, 0, "decimals")?, argument(call, 1, "out")?);
    if given(call) != usize::from(decimals.is_some()) + usize::from(out.is_some()) {
        leave!(Mismatch)
    }
    let decimals = decimals.map_or(Ok(0), |value| value.extract::<i32>());
    let Ok(decimals) = decimals else {
        leave!(Mismatch)
    };
    functions::round(
        call.this,
        decimals,
        out.as_ref().filter(|out| !out.is_none()),
    )
}

/// `a.reshape(...)`: a view where that is possible, else a view of a recorded copy.
pub(crate) fn reshape<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let Some(array) = Arr::of(call.this) else {
        leave!(Operand)
    };
    if array.has(NPY_ARRAY_C_CONTIGUOUS) || call.kwargs.is_some() {
        if !array.has(NPY_ARRAY_C_CONTIGUOUS) {
            // NumPy decides whether a view is possible; if it copies, it reads computed values.
            crate::sync::read(py, array)?;
        }
        return own(call, "reshape").map(Outcome::Done);
    }
    let words = PyDict::new(py);
    words.set_item("copy", false)?;
    let as_view = Call {
        this: call.this,
        args: call.args,
        kwargs: Some(&words),
    };
    if let Ok(view) = own(&as_view, "reshape") {
        return Ok(Outcome::Done(view));
    }
    let copied = match duplicate(call.this, None, 'C')? {
        Outcome::Done(copied) => copied,
        other @ Outcome::Numpy(_) => return Ok(other),
    };
    let copied = Call {
        this: &copied,
        args: call.args,
        kwargs: None,
    };
    own(&copied, "reshape").map(Outcome::Done)
}

/// `ndarray`'s own method on the array as it is.
fn own<'py>(call: &Call<'_, 'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = call.this.py();
    let mut args = vec![call.this.clone()];
    args.extend_from_slice(call.args);
    let method = np::method(py, name)?;
    method.call(pyo3::types::PyTuple::new(py, args)?, call.kwargs)
}

/// `a.fill(value)`.
pub(crate) fn fill<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let py = call.this.py();
    let [value] = call.args else { leave!(Mismatch) };
    if call.kwargs.is_some() || !assign::is_number(value) {
        leave!(Mismatch)
    }
    let options = Options {
        out: Some(call.this),
        unsafe_cast: true,
        ..Options::default()
    };
    if assign::record(py, value, &options)? {
        return Ok(Outcome::Done(py.None().into_bound(py)));
    }
    leave!(Mismatch)
}

/// A copy of the array in its own or another dtype.
pub(crate) fn duplicate<'py>(
    array: &Bound<'py, PyAny>,
    dtype: Option<DType>,
    order: char,
) -> PyResult<Outcome<'py>> {
    let py = array.py();
    let Some(Input::View(view)) = classify(py, array)? else {
        leave!(Operand)
    };
    let dtype = dtype.unwrap_or(view.layout.dtype);
    let shape = &view.layout.shape;
    let strides = match order {
        'F' => fortran_strides(shape, dtype.size()),
        'A' if is_fortran(&view.layout) => fortran_strides(shape, dtype.size()),
        'C' | 'A' => contiguous_strides(shape, dtype.size()),
        'K' => copy_strides(&view.layout, dtype.size()),
        _ => leave!(Keyword),
    };
    copied(py, &view, dtype, shape, &strides)
}

/// True where NumPy takes Fortran's order for the order "any".
fn is_fortran(layout: &Layout) -> bool {
    layout.is_fortran_contiguous() && !layout.is_contiguous()
}

/// A C-ordered copy as a vector.
fn flat_copy<'py>(array: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let py = array.py();
    let Some(Input::View(view)) = classify(py, array)? else {
        leave!(Operand)
    };
    let dtype = view.layout.dtype;
    let vector = [view.layout.len()];
    let strides = contiguous_strides(&vector, dtype.size());
    copied(py, &view, dtype, &vector, &strides)
}

/// A copy into a new array of `shape`: the view's own, or a vector of as many elements.
fn copied<'py>(
    py: Python<'py>,
    view: &View,
    dtype: DType,
    shape: &[usize],
    strides: &[isize],
) -> PyResult<Outcome<'py>> {
    if view.layout.is_empty() || !(view.pending || birth::worth_it(dtype, shape)) {
        leave!(Small)
    }
    if !state::lazy() {
        leave!(Off)
    }
    let Some(site) = site::capture(py)? else {
        leave!(ErrState)
    };
    let bytes = birth::nbytes(dtype, shape).unwrap_or(usize::MAX);
    let at_once = record::at_once(view.pending, bytes, site);
    if at_once
        && birth::in_shared_cache(dtype, shape)
        && view.layout.is_contiguous()
        && strides == contiguous_strides(shape, dtype.size()).as_slice()
    {
        leave!(Small)
    }
    let mut draft = Draft::new();
    draft.view(py, view, &view.layout.shape)?;
    let (birth, run) = record::way(at_once);
    let Some(born) = birth(py, dtype, shape, strides)? else {
        leave!(Off)
    };
    let from = view.layout.dtype;
    let sig = LoopSig {
        ins: smallvec![from],
        outs: smallvec![from],
    };
    let target = if born.layout.shape == view.layout.shape {
        born.layout
    } else {
        Layout::contiguous(dtype, &view.layout.shape)
    };
    let outs = smallvec![(born.slot, target)];
    run(draft, py, Action::Map(copy_row().def), sig, outs, site)?;
    Ok(Outcome::Done(born.array))
}
