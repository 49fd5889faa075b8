//! `np.concatenate` and `repeat`: copies into the parts of one new array.

use crate::assign;
use crate::birth::{self, Born};
use crate::copies;
use crate::keywords::arguments;
use crate::map::{Outcome, leave};
use crate::operand::{Input, View, classify};
use crate::parts::{axis_number, axis_of};
use crate::{record, site, state};
use arrayloom_types::{DType, Shape, Strides, contiguous_strides, promote};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySlice, PyTuple};

/// Bytes from which on the parts of a repeated array are long.
const LONG_PART: usize = 4096;

/// `np.concatenate(arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind')`.
pub(crate) fn concatenate<'py>(
    py: Python<'py>,
    args: &[Bound<'py, PyAny>],
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Outcome<'py>> {
    let names = ["arrays", "axis", "out", "dtype", "casting"];
    let Some([Some(parts), axis, None, None, casting]) = arguments(names, args, kwargs)? else {
        leave!(Delegated)
    };
    // No axis is the first one, None is all.
    let flat = axis.is_none() && (args.len() > 1 || kwargs.contains("axis")?);
    // Casts to the common dtype are of the same kind, but no stricter rule is looked at.
    let usual =
        casting.is_none_or(|rule| rule.extract::<&str>().is_ok_and(|rule| rule == "same_kind"));
    if flat || !usual {
        leave!(Delegated)
    }
    let axis = axis.map_or(Some(0), |axis| axis_number(&axis));
    let (Some(parts), Some(axis)) = (items(&parts), axis) else {
        leave!(Delegated)
    };
    let mut views = Vec::with_capacity(parts.len());
    for part in &parts {
        match classify(py, part)? {
            Some(Input::View(view)) => views.push(view),
            _ => leave!(Delegated),
        }
    }
    let Some(joint) = Joint::of(&views, axis) else {
        leave!(Mismatch)
    };
    let pending = views.iter().any(|view| view.pending);
    if joint.shape.contains(&0) || !(pending || birth::worth_it(joint.dtype, &joint.shape)) {
        leave!(Small)
    }
    if !state::lazy() {
        leave!(Off)
    }
    let whole = (joint.dtype, joint.shape.as_slice());
    if site::capture(py)?.is_some_and(|site| record::is_numpys(pending, whole, site)) {
        leave!(Small)
    }
    let Some(born) = birth::lazy(py, joint.dtype, &joint.shape, &joint.strides)? else {
        leave!(Off)
    };
    let mut start = 0;
    for (part, view) in parts.iter().zip(&views) {
        let end = start + view.layout.shape[joint.axis].cast_signed();
        if end > start {
            let place = joint.part(&born, start, end)?;
            if !assign::copy_into(py, &place, part)? {
                leave!(Delegated)
            }
        }
        start = end;
    }
    Ok(Outcome::Done(born.array))
}

/// The elements of a list or tuple.
fn items<'py>(parts: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = parts.cast_exact::<PyList>() {
        return Some(list.iter().collect());
    }
    let tuple = parts.cast_exact::<PyTuple>().ok()?;
    Some(tuple.iter().collect())
}

/// The array that parts are joined to.
struct Joint {
    dtype: DType,
    axis: usize,
    shape: Shape,
    strides: Strides,
}

impl Joint {
    /// `None` where the parts do not fit together.
    fn of(views: &[View], axis: isize) -> Option<Joint> {
        let first = &views.first()?.layout;
        let rank = first.shape.len();
        let from_end = if axis < 0 { rank.cast_signed() } else { 0 };
        let axis = usize::try_from(axis + from_end).ok()?;
        if axis >= rank {
            return None;
        }
        let (mut dtype, mut shape) = (first.dtype, first.shape.clone());
        for view in &views[1..] {
            let own = &view.layout;
            dtype = promote(dtype, own.dtype);
            let same = |(i, (a, b)): (usize, (&usize, &usize))| i == axis || a == b;
            let fits =
                own.shape.len() == rank && shape.iter().zip(&own.shape).enumerate().all(same);
            if !fits {
                return None;
            }
            shape[axis] += own.shape[axis];
        }
        let mut strides = Strides::from_elem(0, rank);
        let mut step = dtype.size().cast_signed();
        for &axis in outer_to_inner(views, rank).iter().rev() {
            strides[axis] = step;
            step *= shape[axis].cast_signed();
        }
        Some(Joint {
            dtype,
            axis,
            shape,
            strides,
        })
    }

    /// The places from `start` to `end` on the joined axis.
    fn part<'py>(&self, born: &Born<'py>, start: isize, end: isize) -> PyResult<Bound<'py, PyAny>> {
        let py = born.array.py();
        let key = (0..=self.axis).map(|axis| {
            if axis == self.axis {
                PySlice::new(py, start, end, 1)
            } else {
                PySlice::full(py)
            }
        });
        born.array
            .get_item(PyTuple::new(py, key.collect::<Vec<_>>())?)
    }
}

/// The axes in the order of their steps, largest first; where parts differ, C order wins. This is
/// NumPy's `PyArray_CreateMultiSortedStridePerm`.
fn outer_to_inner(views: &[View], rank: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    for i in 1..rank {
        let axis = order[i];
        let mut place = i;
        for j in (0..i).rev() {
            match further_out(views, axis, order[j]) {
                Some(true) => place = j,
                Some(false) => break,
                None => {}
            }
        }
        order[place..=i].rotate_right(1);
    }
    order
}

/// Whether `axis` belongs further out than `other`; `None` when no part tells.
fn further_out(views: &[View], axis: usize, other: usize) -> Option<bool> {
    let mut answer = None;
    for layout in views.iter().map(|view| &view.layout) {
        if layout.shape[axis] != 1 && layout.shape[other] != 1 {
            let larger = layout.strides[axis].unsigned_abs() > layout.strides[other].unsigned_abs();
            answer = Some(larger && answer.unwrap_or(true));
        }
    }
    answer
}

/// `a.repeat(count, axis=None)` with one count for all elements.
pub(crate) fn repeat<'py>(
    array: &Bound<'py, PyAny>,
    count: &Bound<'py, PyAny>,
    axis: Option<&Bound<'py, PyAny>>,
) -> PyResult<Outcome<'py>> {
    let py = array.py();
    let Ok(count) = count.extract::<usize>() else {
        leave!(Delegated)
    };
    let flat = match axis.filter(|axis| !axis.is_none()) {
        Some(_) => array.clone(),
        None => match copies::flat_view(array)? {
            Outcome::Done(flat) => flat,
            other @ Outcome::Numpy(_) => return Ok(other),
        },
    };
    let Some(Input::View(view)) = classify(py, &flat)? else {
        leave!(Delegated)
    };
    let rank = view.layout.shape.len();
    let axis = match axis.filter(|axis| !axis.is_none()) {
        Some(axis) => axis_of(axis, rank),
        None => (rank > 0).then_some(0),
    };
    let Some(axis) = axis else { leave!(Mismatch) };
    let (dtype, mut shape) = (view.layout.dtype, view.layout.shape.clone());
    let Some(extent) = shape[axis].checked_mul(count) else {
        leave!(Mismatch)
    };
    let long = shape[axis];
    shape[axis] = extent;
    if shape.contains(&0) || !(view.pending || birth::worth_it(dtype, &shape)) {
        leave!(Small)
    }
    // Long parts NumPy copies as a block each.
    let part = dtype.size() * shape[axis + 1..].iter().product::<usize>();
    let whole = (dtype, shape.as_slice());
    if part >= LONG_PART
        && site::capture(py)?.is_some_and(|site| record::is_numpys(view.pending, whole, site))
    {
        leave!(Small)
    }
    let Some(born) = birth::lazy(py, dtype, &shape, &contiguous_strides(&shape, dtype.size()))?
    else {
        leave!(Off)
    };
    let mut apart: Vec<usize> = shape.to_vec();
    apart[axis] = long;
    apart.insert(axis + 1, count);
    let target = born.array.call_method1("reshape", (apart,))?;
    let mut key: Vec<Bound<'py, PyAny>> = vec![PySlice::full(py).into_any(); axis + 1];
    key.push(py.None().into_bound(py));
    let source = flat.get_item(PyTuple::new(py, key)?)?;
    if assign::copy_into(py, &target, &source)? {
        Ok(Outcome::Done(born.array))
    } else {
        leave!(Delegated)
    }
}
