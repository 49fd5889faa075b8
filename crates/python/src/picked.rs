//! `x[mask]` without moving elements, for `x[mask] = f(x[mask])` and its kind.
//!
//! What a mask picks is not taken at once. Element-wise operations on picked elements are recorded on all places
//! instead, and `x[mask] = result` puts the values back where the same mask is true: one pass over memory. Whatever
//! else wants the elements gets them then (engine, `picked.rs`). At places that are not picked stands the first element
//! that is, so that operations there meet no condition that they do not meet anyway.
#![expect(unsafe_code, reason = "reads computed values where they lie")]

use crate::map::{self, Options, Outcome};
use crate::np::Arr;
use crate::operand::{Input, View, view_of};
use crate::ops::{self, OpEntry};
use crate::record::Draft;
use crate::truth::{self, Truth};
use crate::{birth, masks, site, state, sync};
use arrayloom_engine::{Picked, Row};
use arrayloom_ir::{Action, SlotId};
use arrayloom_types::{DType, Operand, Scalar, contiguous_strides};
use numpy::npyffi::flags::NPY_ARRAY_C_CONTIGUOUS;
use pyo3::prelude::*;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// One place in so many must be picked: work is done on all of them.
const SPARSE: usize = 4;

/// The wholes of picked elements, by the slots of these.
static WHOLES: Mutex<BTreeMap<SlotId, Py<PyAny>>> = Mutex::new(BTreeMap::new());
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn wholes<T>(work: impl FnOnce(&mut BTreeMap<SlotId, Py<PyAny>>) -> T) -> T {
    let mut wholes = WHOLES.lock().unwrap_or_else(PoisonError::into_inner);
    let result = work(&mut wholes);
    COUNT.store(wholes.len(), Ordering::Relaxed);
    result
}

/// True if there are picked elements that may not have been taken.
pub(crate) fn any() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// An array is gone.
pub(crate) fn forget(slot: SlotId) {
    if any() {
        // Dropped without the lock: it may be an array's last reference.
        drop(wholes(|wholes| wholes.remove(&slot)));
    }
}

/// Drops wholes whose elements have been taken.
pub(crate) fn tidy() {
    if !any() {
        return;
    }
    let engine = state::engine();
    let taken: Vec<_> = wholes(|wholes| {
        let all = wholes.keys().copied();
        let gone: Vec<SlotId> = all.filter(|&slot| !engine.is_picked(slot)).collect();
        gone.iter().filter_map(|slot| wholes.remove(slot)).collect()
    });
    drop(taken);
}

/// `array[mask]` for an array and a contiguous mask of its shape. `None` if the elements had better be taken at
/// once.
pub(crate) fn later(py: Python<'_>, array: Arr, mask: Arr) -> PyResult<Option<Bound<'_, PyAny>>> {
    let Some(values) = view_of(array) else {
        return Ok(None);
    };
    let Some((slot, _)) = values.slot else {
        return Ok(None);
    };
    let from = values.row().filter(|_| array.has(NPY_ARRAY_C_CONTIGUOUS));
    let engine = state::engine();
    let site = site::capture(py)?.filter(|&site| engine.picks_later(site));
    let Some(site) = site else {
        return Ok(None);
    };
    tidy();
    let (dtype, places) = (values.layout.dtype, array.len());
    let Some(truth) = truth::of(py, mask)? else {
        return Ok(None);
    };
    let Truth { row, count, .. } = truth;
    let enough = count >= places.div_ceil(SPARSE);
    let Some(first) = truth.first.filter(|_| enough) else {
        return Ok(None);
    };
    let Some(one) = place_of(first, &values).map(|offset| Row { slot, offset }) else {
        return Ok(None);
    };
    // SAFETY: one of the elements.
    let fill = sync::look(py, one, |address| unsafe {
        masks::element_at(address, dtype)
    })?;
    let Some((whole, slot)) = chosen_or(py, row, &values, fill, site)? else {
        return Ok(None);
    };
    let picked = Picked {
        whole: Row { slot, offset: 0 },
        from,
        unchanged: true,
        mask: row,
        places,
        count,
        size: dtype.size(),
        site,
        take: masks::take,
    };
    born(py, whole, picked)
}

/// `np.where(mask, values, fill)`, recorded whatever this line has taught: alone it is never wanted.
fn chosen_or<'py>(
    py: Python<'py>,
    mask: Row,
    values: &View,
    fill: Scalar,
    site: u32,
) -> PyResult<Option<(Bound<'py, PyAny>, SlotId)>> {
    let dtype = values.layout.dtype;
    let operands = [DType::Bool, dtype, dtype].map(Operand::Strong);
    let row = ops::by_name("_where");
    let Some((row, sig)) = row.and_then(|row| Some((row, row.resolve(&operands)?))) else {
        return Ok(None);
    };
    let shape = &values.layout.shape;
    let mut draft = Draft::new();
    draft.row(mask.slot, mask.offset, DType::Bool, shape);
    draft.view(py, values, shape)?;
    draft.scalar(fill);
    let strides = contiguous_strides(shape, dtype.size());
    let Some(born) = birth::lazy(py, dtype, shape, &strides)? else {
        return Ok(None);
    };
    let outs = std::iter::once((born.slot, born.layout)).collect();
    draft.record(py, Action::Map(row.def), sig, outs, site)?;
    Ok(Some((born.array, born.slot)))
}

/// The array of picked elements whose whole is `whole`.
fn born<'py>(
    py: Python<'py>,
    whole: Bound<'py, PyAny>,
    picked: Picked,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(dtype) = Arr::of(&whole).and_then(Arr::dtype) else {
        return Ok(None);
    };
    let Some(born) = birth::picked(py, dtype, picked)? else {
        return Ok(None);
    };
    wholes(|wholes| wholes.insert(born.slot, whole.unbind()));
    Ok(Some(born.array))
}

/// Bytes before one of the elements of a view, counted in C order.
fn place_of(mut number: usize, view: &View) -> Option<usize> {
    let mut offset = view.layout.offset;
    for (&extent, &step) in view.layout.shape.iter().zip(&view.layout.strides).rev() {
        offset += (number % extent).cast_signed() * step;
        number /= extent;
    }
    usize::try_from(offset).ok()
}

/// What picks the elements that are all of `view`, and their whole; none for any other view.
fn whole_of<'py>(py: Python<'py>, view: &View) -> Option<(Picked, Bound<'py, PyAny>)> {
    let (slot, _) = view.slot.filter(|_| view.pending)?;
    let picked = state::engine().picked(slot)?;
    let whole = wholes(|wholes| wholes.get(&slot).map(|whole| whole.clone_ref(py)))?;
    let whole = whole.into_bound(py);
    let dtype = Arr::of(&whole)?.dtype()?;
    let layout = &view.layout;
    let all = layout.offset == 0
        && layout.dtype == dtype
        && layout.shape.as_slice() == [picked.count]
        && (picked.count == 1 || layout.is_contiguous());
    all.then_some((picked, whole))
}

/// Records an element-wise call of picked elements on all places. `None` if operands are not all picked by one mask.
pub(crate) fn call<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    inputs: &[Input],
    options: &Options<'_, 'py>,
) -> PyResult<Option<Outcome<'py>>> {
    let mut like: Option<Picked> = None;
    let mut on_all: SmallVec<[Input; 3]> = SmallVec::new();
    // The wholes live until the call is recorded.
    let mut held = Vec::new();
    for input in inputs {
        let view = match input {
            Input::View(view) => view,
            Input::Scalar(scalar) => {
                on_all.push(Input::Scalar(*scalar));
                continue;
            }
            Input::Weak(weak) => {
                on_all.push(Input::Weak(*weak));
                continue;
            }
        };
        let Some((picked, whole)) = whole_of(py, view) else {
            return Ok(None);
        };
        let Some(array) = Arr::of(&whole) else {
            return Ok(None);
        };
        let shape = |whole: &Bound<'py, PyAny>| Arr::of(whole).map(Arr::shape);
        let fits = like.is_none_or(|like| like.mask == picked.mask)
            && held
                .first()
                .is_none_or(|first| shape(first) == shape(&whole));
        let Some(view) = view_of(array).filter(|_| fits) else {
            return Ok(None);
        };
        like = Some(picked);
        held.push(whole);
        on_all.push(Input::View(view));
    }
    let Some(like) = like.filter(|_| options.mask.is_none()) else {
        return Ok(None);
    };
    let target = options.out.map(|out| {
        let view = Arr::of(out).filter(|a| a.writeable()).and_then(view_of)?;
        let (picked, _) = whole_of(py, &view).filter(|(p, _)| p.mask == like.mask)?;
        Some((view, picked))
    });
    if matches!(target, Some(None)) {
        return Ok(None);
    }
    let options_on_all = Options {
        dtype: options.dtype,
        ..Options::default()
    };
    let Outcome::Done(whole) = map::with_inputs(py, entry, on_all, &options_on_all)? else {
        return Ok(None);
    };
    let Some(array) = Arr::of(&whole).filter(|a| a.has(NPY_ARRAY_C_CONTIGUOUS)) else {
        return Ok(None);
    };
    let Some(Row { slot, .. }) = view_of(array).and_then(|view| view.row()) else {
        return Ok(None);
    };
    let whole_row = Row { slot, offset: 0 };
    let Some(Some((view, _))) = target else {
        let picked = Picked {
            whole: whole_row,
            from: None,
            unchanged: false,
            size: array.itemsize(),
            ..like
        };
        return Ok(born(py, whole, picked)?.map(Outcome::Done));
    };
    let (Some((own, _)), Some(out)) = (view.slot, options.out) else {
        return Ok(None);
    };
    if array.dtype() != Some(view.layout.dtype) {
        return Ok(None);
    }
    state::engine().repick(own, whole_row);
    drop(wholes(|wholes| wholes.insert(own, whole.unbind())));
    Ok(Some(Outcome::Done(out.clone())))
}

/// Elements at all places, for picked elements that go back to where `mask` is true; none for other values.
pub(crate) fn to_put_back<'py>(
    value: &Bound<'py, PyAny>,
    mask: Arr,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    let view = Arr::of(value).filter(|_| any()).and_then(view_of);
    let Some((picked, whole)) = view.as_ref().and_then(|view| whole_of(py, view)) else {
        return Ok(None);
    };
    let fits = Arr::of(&whole).map(Arr::shape) == Some(mask.shape());
    let boolean = mask.dtype() == Some(DType::Bool);
    if !fits || !boolean || !truth::is_at(py, mask, picked.mask)? {
        return Ok(None);
    }
    // If the mask was computed for that, the list ran, without the whole of elements that nothing was done to.
    Ok(view
        .and_then(|view| whole_of(py, &view))
        .map(|(_, whole)| whole))
}
