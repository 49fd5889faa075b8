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

/// One place in so many must be picked: work is done on all of them. Not so on a device with memory of its own, from which
/// elements that were taken would come here to be put back.
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
    if count == 0 {
        return birth::fresh(py, dtype, &[0]).map(Some);
    }
    let enough = count >= places.div_ceil(SPARSE) || engine.copies_values();
    let Some(first) = truth.first.filter(|_| enough) else {
        return Ok(None);
    };
    let Some(one) = place_of(first, &values).map(|offset| Row { slot, offset }) else {
        return Ok(None);
    };
    // SAFETY: one of the elements.
    let fill = sync::look(py, one, dtype.size(), |address| unsafe {
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

/// The whole of picked elements. It has its value, or gets it, until this is dropped: the list may run before an
/// operation that reads it is recorded.
pub(crate) struct Whole<'py> {
    picked: Picked,
    pub(crate) array: Bound<'py, PyAny>,
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        state::engine().whole_is_read(self.picked.whole.slot);
    }
}

/// What picks the elements that are all of `view`, and their whole; none for any other view.
fn whole_of<'py>(py: Python<'py>, view: &View) -> Option<Whole<'py>> {
    let (slot, _) = view.slot.filter(|_| view.pending)?;
    let array = wholes(|wholes| wholes.get(&slot).map(|whole| whole.clone_ref(py)))?;
    let array = array.into_bound(py);
    let picked = state::engine().read_whole(slot)?;
    let whole = Whole { picked, array };
    let dtype = Arr::of(&whole.array)?.dtype()?;
    let layout = &view.layout;
    let all = layout.offset == 0
        && layout.dtype == dtype
        && layout.shape.as_slice() == [picked.count]
        && (picked.count == 1 || layout.is_contiguous());
    all.then_some(whole)
}

/// Operands that are all picked by one mask, on all places.
struct OnAll<'py> {
    inputs: SmallVec<[Input; 3]>,
    /// What picks one of them.
    like: Picked,
    /// The wholes, until the call is recorded.
    wholes: Vec<Whole<'py>>,
}

/// The operands on all places; none if they are not all numbers or picked by one mask.
fn on_all<'py>(py: Python<'py>, inputs: &[Input]) -> Option<OnAll<'py>> {
    let mut all: SmallVec<[Input; 3]> = SmallVec::new();
    let mut like: Option<Picked> = None;
    let mut wholes: Vec<Whole<'py>> = Vec::new();
    for input in inputs {
        all.push(match input {
            Input::Scalar(scalar) => Input::Scalar(*scalar),
            Input::Weak(weak) => Input::Weak(*weak),
            Input::View(view) => {
                let whole = whole_of(py, view)?;
                let array = Arr::of(&whole.array)?;
                let first = wholes.first().and_then(|first| Arr::of(&first.array));
                let fits = like.is_none_or(|like| like.mask == whole.picked.mask)
                    && first.is_none_or(|first| first.shape() == array.shape());
                let view = view_of(array).filter(|_| fits)?;
                like = Some(whole.picked);
                wholes.push(whole);
                Input::View(view)
            }
        });
    }
    Some(OnAll {
        inputs: all,
        like: like?,
        wholes,
    })
}

/// Records an element-wise call of picked elements on all places. `None` if operands are not all picked by one mask.
pub(crate) fn call<'py>(
    py: Python<'py>,
    entry: &OpEntry,
    inputs: &[Input],
    options: &Options<'_, 'py>,
) -> PyResult<Option<Outcome<'py>>> {
    let Some(all) = on_all(py, inputs).filter(|_| options.mask.is_none()) else {
        return Ok(None);
    };
    if options
        .out
        .is_some_and(|out| picked_slot(py, out, &all.like).is_none())
    {
        return Ok(None);
    }
    let words = Options {
        dtype: options.dtype,
        ..Options::default()
    };
    let Outcome::Done(whole) = map::with_inputs(py, entry, all.inputs, &words)? else {
        return Ok(None);
    };
    drop(all.wholes);
    let array = Arr::of(&whole).filter(|a| a.has(NPY_ARRAY_C_CONTIGUOUS));
    let row = array.and_then(view_of).and_then(|view| view.row());
    let (Some(array), Some(row)) = (array, row) else {
        return Ok(None);
    };
    let Some(out) = options.out else {
        let picked = Picked {
            whole: row,
            from: None,
            unchanged: false,
            size: array.itemsize(),
            ..all.like
        };
        return Ok(born(py, whole, picked)?.map(Outcome::Done));
    };
    let same = Arr::of(out).and_then(Arr::dtype) == array.dtype();
    let Some(slot) = picked_slot(py, out, &all.like).filter(|_| same) else {
        return Ok(None);
    };
    state::engine().repick(slot, row);
    drop(wholes(|wholes| wholes.insert(slot, whole.unbind())));
    Ok(Some(Outcome::Done(out.clone())))
}

/// True for an empty vector of the array's dtype and a mask without any true value: there is nothing to put.
pub(crate) fn puts_nothing(
    py: Python<'_>,
    array: Arr,
    mask: Arr,
    value: &Bound<'_, PyAny>,
) -> PyResult<bool> {
    let empty = |value: Arr| value.shape() == [0] && value.dtype() == array.dtype();
    let fits = mask.dtype() == Some(DType::Bool) && mask.has(NPY_ARRAY_C_CONTIGUOUS);
    if !fits || !array.writeable() || !Arr::of(value).is_some_and(empty) {
        return Ok(false);
    }
    Ok(truth::of(py, mask)?.is_some_and(|truth| truth.count == 0))
}

/// The slot of an array that may be written, if it is all that the mask of `like` picks.
fn picked_slot(py: Python<'_>, out: &Bound<'_, PyAny>, like: &Picked) -> Option<SlotId> {
    let view = Arr::of(out).filter(|a| a.writeable()).and_then(view_of)?;
    let whole = whole_of(py, &view)?;
    (whole.picked.mask == like.mask).then_some(view.slot?.0)
}

/// Elements at all places, for picked elements that go back to where `mask` is true; none for other values.
pub(crate) fn to_put_back<'py>(
    value: &Bound<'py, PyAny>,
    mask: Arr,
) -> PyResult<Option<Whole<'py>>> {
    let py = value.py();
    let view = Arr::of(value).filter(|_| any()).and_then(view_of);
    let Some(whole) = view.as_ref().and_then(|view| whole_of(py, view)) else {
        return Ok(None);
    };
    let fits = Arr::of(&whole.array).map(Arr::shape) == Some(mask.shape());
    let boolean = mask.dtype() == Some(DType::Bool);
    if !fits || !boolean || !truth::is_at(py, mask, whole.picked.mask)? {
        return Ok(None);
    }
    state::engine().puts_back(whole.picked.site);
    Ok(Some(whole))
}
