//! `np.roll`: copies of the pieces of an array to their new places.

use crate::birth::{self, Born};
use crate::copies;
use crate::keywords::arguments;
use crate::map::{self, Outcome, leave};
use crate::np::Arr;
use crate::operand::{Input, View, classify};
use crate::parts::axis_of;
use crate::record::{self, Draft, Run};
use crate::{assign, site, state};
use arrayloom_ir::{Action, LoopSig};
use arrayloom_types::{Layout, copy_strides};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use smallvec::{SmallVec, smallvec};

/// `np.roll(a, shift, axis=None)`.
pub(crate) fn roll<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let Some([Some(array), Some(shift), axis]) = arguments(["a", "shift", "axis"], args, kwargs)?
    else {
        leave!(Delegated)
    };
    let (Some(whole), Some(shifts)) = (Arr::of(&array), each(&shift)) else {
        leave!(Delegated)
    };
    let Some(axis) = axis else {
        let flat = match copies::flat_view(&array)? {
            Outcome::Done(flat) => flat,
            other @ Outcome::Numpy(_) => return Ok(other),
        };
        let rolled = match turned(py, &flat, &shifts, &[0])? {
            Outcome::Done(rolled) => rolled,
            other @ Outcome::Numpy(_) => return Ok(other),
        };
        let shape = PyTuple::new(py, whole.shape())?;
        return Ok(Outcome::Done(rolled.call_method1("reshape", (shape,))?));
    };
    let axes: Option<SmallVec<[usize; 3]>> = items(&axis)
        .iter()
        .map(|a| axis_of(a, whole.ndim()))
        .collect();
    let Some(axes) = axes else { leave!(Mismatch) };
    turned(py, &array, &shifts, &axes)
}

/// A number, or those of a list or tuple.
fn items<'py>(value: &Bound<'py, PyAny>) -> SmallVec<[Bound<'py, PyAny>; 3]> {
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        tuple.iter().collect()
    } else if let Ok(list) = value.cast_exact::<PyList>() {
        list.iter().collect()
    } else {
        smallvec![value.clone()]
    }
}

/// Shifts that are whole numbers.
fn each(shift: &Bound<'_, PyAny>) -> Option<SmallVec<[isize; 3]>> {
    items(shift).iter().map(|one| one.extract().ok()).collect()
}

/// The array with its elements moved along axes, by one shift for all or one for each, those of one axis added up.
fn turned<'py>(
    py: Python<'py>,
    array: &Bound<'py, PyAny>,
    shifts: &[isize],
    axes: &[usize],
) -> PyResult<Outcome<'py>> {
    let count = shifts.len().max(axes.len());
    let fits = |given: usize| given == 1 || given == count;
    if !fits(shifts.len()) || !fits(axes.len()) {
        leave!(Mismatch)
    }
    let Some(Input::View(view)) = classify(py, array)? else {
        leave!(Operand)
    };
    let (dtype, shape) = (view.layout.dtype, &view.layout.shape);
    if view.layout.is_empty() || !(view.pending || birth::worth_it(dtype, shape)) {
        leave!(Small)
    }
    if !state::lazy() {
        leave!(Off)
    }
    let Some(site) = site::capture(py)? else {
        leave!(ErrState)
    };
    let hasty = birth::nbytes(dtype, shape)
        .filter(|&bytes| birth::is_in_shared_cache(bytes))
        .is_some_and(|bytes| record::at_once(view.pending, bytes, site));
    let mut starts: SmallVec<[usize; 4]> = SmallVec::from_elem(0, shape.len());
    for place in 0..count {
        let axis = axes[place.min(axes.len() - 1)];
        let (extent, shift) = (
            shape[axis].cast_signed(),
            shifts[place.min(shifts.len() - 1)],
        );
        let start = starts[axis].cast_signed() + shift.rem_euclid(extent);
        starts[axis] = start.rem_euclid(extent).unsigned_abs();
    }
    let strides = copy_strides(&view.layout, dtype.size());
    if hasty && !crawls(&view, &starts, &strides) {
        leave!(Small)
    }
    let (birth, run) = record::way(hasty);
    let Some(born) = birth(py, dtype, shape, &strides)? else {
        leave!(Off)
    };
    let wrapped = starts.iter().filter(|start| **start > 0).count();
    for piece in 0..1usize << wrapped {
        copy_piece(py, (&view, &born), &starts, piece, (run, site))?;
    }
    Ok(Outcome::Done(born.array))
}

/// True if NumPy's copy of the largest piece to a new array, which begins with a page, would crawl.
fn crawls(view: &View, starts: &[usize], strides: &[isize]) -> bool {
    let steps = starts.iter().zip(strides);
    let moved: isize = steps.map(|(&start, step)| start.cast_signed() * step).sum();
    let inner = view.layout.shape.last().zip(starts.last());
    let row = inner.map_or(0, |(extent, start)| {
        (extent - start) * view.layout.dtype.size()
    });
    map::crawls(moved.cast_unsigned().wrapping_sub(view.array.addr()), row)
}

/// Copies one piece, or records that. Bit k of its number tells whether it is, along the k-th axis that is rolled, the part
/// that goes around to the start.
fn copy_piece<'py>(
    py: Python<'py>,
    (view, born): (&View, &Born<'py>),
    starts: &[usize],
    mut piece: usize,
    (run, site): (Run<'py>, u32),
) -> PyResult<()> {
    let mut target = born.layout.clone();
    let mut source = view.layout.clone();
    for (axis, &start) in starts.iter().enumerate().filter(|(_, start)| **start > 0) {
        let rest = source.shape[axis] - start;
        if piece & 1 == 0 {
            narrow(&mut target, axis, start, rest);
            narrow(&mut source, axis, 0, rest);
        } else {
            narrow(&mut target, axis, 0, start);
            narrow(&mut source, axis, rest, start);
        }
        piece >>= 1;
    }
    let mut draft = Draft::new();
    let first = view.layout.offset;
    draft.view_as(py, view, |own| Layout {
        offset: own.offset + source.offset - first,
        ..source.clone()
    })?;
    let sig = LoopSig {
        ins: smallvec![source.dtype],
        outs: smallvec![source.dtype],
    };
    let outs = smallvec![(born.slot, target)];
    run(
        draft,
        py,
        Action::Map(assign::copy_row().def),
        sig,
        outs,
        site,
    )
}

/// The part of a layout from `start` on, of `extent` places, along an axis.
fn narrow(layout: &mut Layout, axis: usize, start: usize, extent: usize) {
    layout.offset += start.cast_signed() * layout.strides[axis];
    layout.shape[axis] = extent;
}
