//! Indexing with arrays of integers, recorded: `a[i]`, `a[:, i, j]`, `a.take(i)`.
//!
//! The indices are computed and checked at the call, so that errors come where NumPy raises them; the
//! elements are picked later, fused with what uses them.

use crate::birth;
use crate::compress;
use crate::copies::{self, argument, given};
use crate::map::{self, Options, Outcome, leave};
use crate::methods::Call;
use crate::np::{self, Arr};
use crate::operand::{Input, View, classify};
use crate::parts::axis_of;
use crate::record::{self, Draft};
use crate::{ops, site, state};
use arrayloom_ir::{Action, LoopSig, SlotId};
use arrayloom_types::{
    DType, Layout, Scalar, Shape, Strides, broadcast_many, contiguous_strides, result_strides,
};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PyInt, PyList, PySlice, PyTuple};
use smallvec::smallvec;

/// Elements that one number picks at most: longer rows NumPy copies as a block each. Not so on a device with memory of its
/// own, from which they would come here first.
const LONG_ROW: usize = 8;

/// Index arrays of one key at most; NumPy has a limit of its own, and an error for it.
const MOST: usize = 8;

/// An index array and the axis of the view that it moves along.
pub(crate) struct Along<'py> {
    pub(crate) axis: usize,
    pub(crate) index: Bound<'py, PyAny>,
}

/// What is picked from where.
pub(crate) struct Pick<'py> {
    /// The array after the basic parts of the key.
    pub(crate) view: Bound<'py, PyAny>,
    pub(crate) along: Vec<Along<'py>>,
    /// How many of the other axes of the view stand before those of the index.
    before: usize,
    /// True where the result is in C order, as `take` gives it.
    ordered: bool,
}

/// `a[key]` for a key with arrays of integers; the rest is NumPy's.
pub(crate) fn get<'py>(a: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Outcome<'py>> {
    let (Some(array), true) = (Arr::of(a), state::lazy()) else {
        leave!(Off)
    };
    match parse(a, array.ndim(), key)? {
        Some(pick) => pick.record(),
        None => leave!(Delegated),
    }
}

/// `a.take(indices, axis=None, out=None, mode='raise')`.
pub(crate) fn take<'py>(call: &Call<'_, 'py>) -> PyResult<Outcome<'py>> {
    let (index, axis) = (argument(call, 0, "indices")?, argument(call, 1, "axis")?);
    let Some(index) = index else { leave!(Mismatch) };
    let axis = axis.filter(|axis| !axis.is_none());
    let plain = [(2, "out"), (3, "mode")].map(|(at, name)| argument(call, at, name));
    let [out, mode] = plain;
    let usual = out?.is_none_or(|out| out.is_none())
        && mode?.is_none_or(|mode| mode.extract::<&str>().is_ok_and(|m| m == "raise"));
    if !usual || given(call) > 4 || !state::lazy() {
        leave!(Delegated)
    }
    let view = match &axis {
        Some(_) => call.this.clone(),
        None => match copies::flat_view(call.this)? {
            Outcome::Done(flat) => flat,
            other @ Outcome::Numpy(_) => return Ok(other),
        },
    };
    let rank = Arr::of(&view).map_or(0, Arr::ndim);
    let axis = match axis {
        Some(axis) => axis_of(&axis, rank),
        None => (rank > 0).then_some(0),
    };
    let (Some(axis), Some(index)) = (axis, integers(&index)?) else {
        leave!(Delegated)
    };
    Pick::along(view, axis, index).record()
}

/// An array of integers with axes, or a list of them as such an array.
fn integers<'py>(part: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let kind = part.get_type_ptr();
    let array = if kind == state::lazy_type() || kind == np::array_type() {
        part.clone()
    } else if part.is_exact_instance_of::<PyList>() {
        let made = part.py().import("numpy")?.call_method1("asarray", (part,));
        let Ok(made) = made else { return Ok(None) };
        made
    } else {
        return Ok(None);
    };
    let whole = Arr::of(&array).is_some_and(|a| {
        a.dtype().is_some_and(DType::is_integer) && a.ndim() > 0 && !a.shape().contains(&0)
    });
    Ok(whole.then_some(array))
}

/// Takes a key apart; `None` if it has other parts than integers, arrays of them, and basic ones.
pub(crate) fn parse<'py>(
    a: &Bound<'py, PyAny>,
    ndim: usize,
    key: &Bound<'py, PyAny>,
) -> PyResult<Option<Pick<'py>>> {
    let py = a.py();
    let parts: Vec<_> = match key.cast_exact::<PyTuple>() {
        Ok(tuple) => tuple.iter().collect(),
        Err(_) => vec![key.clone()],
    };
    let ellipsis = PyEllipsis::get(py);
    let consumed = parts.iter().filter(|p| !p.is_none() && !p.is(ellipsis));
    let Some(rest) = ndim.checked_sub(consumed.count()) else {
        return Ok(None);
    };
    let mut basic = Vec::with_capacity(parts.len());
    let (mut along, mut fancy) = (Vec::new(), Vec::new());
    let (mut axis, mut before) = (0, None);
    for (number, part) in parts.into_iter().enumerate() {
        if part.is_none() || part.is_exact_instance_of::<PySlice>() {
            axis += 1;
            basic.push(part);
        } else if part.is(ellipsis) {
            axis += rest;
            basic.push(part);
        } else if is_integer(&part) {
            fancy.push(number);
            before.get_or_insert(axis - along.len());
            basic.push(part);
        } else if let Some(index) = integers(&part)? {
            fancy.push(number);
            before.get_or_insert(axis - along.len());
            along.push(Along { axis, index });
            axis += 1;
            basic.push(PySlice::full(py).into_any());
        } else {
            return Ok(None);
        }
    }
    if along.len() > MOST {
        return Ok(None);
    }
    let adjacent = fancy.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    let Ok(view) = a.get_item(PyTuple::new(py, basic)?) else {
        return Ok(None);
    };
    Ok(Some(Pick {
        view,
        along,
        before: before.filter(|_| adjacent).unwrap_or(0),
        ordered: false,
    }))
}

fn is_integer(part: &Bound<'_, PyAny>) -> bool {
    part.is_exact_instance_of::<PyInt>()
        || np::scalar_dtype(part.get_type_ptr()).is_some_and(DType::is_integer)
}

/// Calls row `name` on operands, as an expression of the program would.
fn apply<'py>(
    py: Python<'py>,
    name: &str,
    operands: &[&Bound<'py, PyAny>],
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(row) = ops::by_name(name) else {
        return Ok(None);
    };
    match map::call(py, row, operands, &Options::default())? {
        Outcome::Done(value) => Ok(Some(value)),
        Outcome::Numpy(_) => Ok(None),
    }
}

/// The numbers of an index array counted from the front; `None` if one is out of bounds.
pub(crate) fn checked<'py>(
    index: &Bound<'py, PyAny>,
    extent: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = index.py();
    let small = Arr::of(index).is_none_or(|a| a.nbytes() < state::min_bytes());
    let count = PyInt::new(py, extent).into_any();
    if !matches!(classify(py, index)?, Some(Input::View(view)) if view.pending) {
        let index = if small {
            crate::delegate::plain(index)?
        } else {
            index.clone()
        };
        let (low, high): (i128, i128) = (
            index.call_method0("min")?.extract()?,
            index.call_method0("max")?.extract()?,
        );
        let extent = i128::try_from(extent).unwrap_or(i128::MAX);
        if low < -extent || high >= extent {
            return Ok(None);
        }
        if low >= 0 {
            return Ok(Some(index));
        }
        if small {
            let wide = index.call_method1("astype", ("int64",))?;
            return wide.call_method1("__mod__", (count,)).map(Some);
        }
        let Some((wide, shifted)) = shifted(&index, &count)? else {
            return Ok(None);
        };
        return from_front(&wide, &shifted);
    }
    let Some((wide, shifted)) = shifted(index, &count)? else {
        return Ok(None);
    };
    let Outcome::Done(unsigned) = copies::duplicate(&shifted, Some(DType::U64), 'K')? else {
        return Ok(None);
    };
    let highest: u64 = unsigned.call_method0("max")?.extract()?;
    if highest >= 2 * extent as u64 {
        return Ok(None);
    }
    from_front(&wide, &shifted)
}

/// The numbers as `int64`, and with the extent added.
type Shifted<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

fn shifted<'py>(
    index: &Bound<'py, PyAny>,
    extent: &Bound<'py, PyAny>,
) -> PyResult<Option<Shifted<'py>>> {
    let Outcome::Done(wide) = copies::duplicate(index, Some(DType::I64), 'K')? else {
        return Ok(None);
    };
    let shifted = apply(index.py(), "add", &[&wide, extent])?;
    Ok(shifted.map(|shifted| (wide, shifted)))
}

/// Of each number the one that is not negative.
fn from_front<'py>(
    wide: &Bound<'py, PyAny>,
    shifted: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let zero = PyInt::new(wide.py(), 0).into_any();
    let Some(negative) = apply(wide.py(), "less", &[wide, &zero])? else {
        return Ok(None);
    };
    apply(wide.py(), "_where", &[&negative, shifted, wide])
}

impl<'py> Pick<'py> {
    /// What an index array picks along an axis, as `take` does.
    pub(crate) fn along(view: Bound<'py, PyAny>, axis: usize, index: Bound<'py, PyAny>) -> Self {
        Pick {
            view,
            before: axis,
            along: vec![Along { axis, index }],
            ordered: true,
        }
    }

    fn record(self) -> PyResult<Outcome<'py>> {
        let py = self.view.py();
        let Some(Input::View(view)) = classify(py, &self.view)? else {
            leave!(Delegated)
        };
        let mut indices = Vec::with_capacity(self.along.len());
        for along in &self.along {
            match classify(py, &along.index)? {
                Some(Input::View(index)) => indices.push(index),
                _ => leave!(Delegated),
            }
        }
        let layouts = indices.iter().map(|index| &index.layout);
        let Some(place) = self.place(&view.layout, layouts) else {
            leave!(Mismatch)
        };
        let kept = place.from.iter().flatten();
        let row: usize = kept.map(|&axis| view.layout.shape[axis]).product();
        let mut arrays = indices.iter().map(|index| index.array);
        if row > LONG_ROW && !compress::goes(view.array, || arrays.any(compress::is_abroad)) {
            leave!(Delegated)
        }
        let pending = view.pending || indices.iter().any(|index| index.pending);
        let dtype = view.layout.dtype;
        if place.shape.contains(&0) || !(pending || birth::worth_it(dtype, &place.shape)) {
            leave!(Small)
        }
        let strides = if self.ordered {
            contiguous_strides(&place.shape, dtype.size())
        } else {
            place.strides(&view, &indices)
        };
        let Some(site) = site::capture(py)? else {
            leave!(ErrState)
        };
        if record::is_numpys(pending, (dtype, &place.shape), site) {
            leave!(Small)
        }
        let mut draft = Draft::new();
        draft.table(py, &view, |layout| place.walk(layout, &self.along))?;
        let mut held = Vec::with_capacity(self.along.len());
        for along in &self.along {
            let Some(index) = checked(&along.index, view.layout.shape[along.axis])? else {
                leave!(Mismatch)
            };
            let Some(Input::View(found)) = classify(py, &index)? else {
                leave!(Delegated)
            };
            draft.view_as(py, &found, |layout| place.index(layout))?;
            let step = view.layout.strides[along.axis] as i64;
            draft.scalar(Scalar::from_i64(DType::I64, step));
            held.push(index);
        }
        let Some((array, slot, layout)) = place.born(py, dtype, (&strides, self.ordered))? else {
            leave!(Off)
        };
        let sig = LoopSig {
            ins: smallvec![dtype],
            outs: smallvec![dtype],
        };
        draft.record(py, Action::Gather, sig, smallvec![(slot, layout)], site)?;
        Ok(Outcome::Done(array))
    }

    /// The axes of the result; `None` if the index arrays do not fit one another.
    pub(crate) fn place<'l>(
        &self,
        view: &Layout,
        indices: impl Iterator<Item = &'l Layout>,
    ) -> Option<Place> {
        let numbers = broadcast_many(indices.map(|index| index.shape.as_slice())).ok()?;
        let mut shape = Shape::new();
        let mut from = Vec::new();
        let moved = |axis: &usize| self.along.iter().any(|along| along.axis == *axis);
        for axis in (0..view.shape.len()).filter(|axis| !moved(axis)) {
            shape.push(view.shape[axis]);
            from.push(Some(axis));
        }
        for (i, &n) in numbers.iter().enumerate() {
            shape.insert(self.before + i, n);
            from.insert(self.before + i, None);
        }
        Some(Place {
            shape,
            from,
            before: self.before,
            numbers,
        })
    }
}

/// The result: its shape, and for each axis the axis of the view that it is, or none for the index's.
pub(crate) struct Place {
    pub(crate) shape: Shape,
    from: Vec<Option<usize>>,
    before: usize,
    /// The axes of the index.
    pub(crate) numbers: Shape,
}

impl Place {
    /// Where the view is read before an index moves on.
    pub(crate) fn walk(&self, view: &Layout, along: &[Along<'_>]) -> Layout {
        debug_assert_eq!(
            self.shape.len() + along.len(),
            view.shape.len() + self.numbers.len(),
            "each index array stands for one axis"
        );
        let step = |from: &Option<usize>| from.map_or(0, |axis| view.strides[axis]);
        Layout {
            dtype: view.dtype,
            offset: view.offset,
            shape: self.shape.clone(),
            strides: self.from.iter().map(step).collect(),
        }
    }

    /// An index array at every point of the result.
    pub(crate) fn index(&self, index: &Layout) -> Layout {
        let spread = index.broadcast_to(&self.numbers);
        let mut strides = Strides::from_elem(0, self.shape.len());
        for (i, &step) in spread.strides.iter().enumerate() {
            strides[self.before + i] = step;
        }
        Layout {
            shape: self.shape.clone(),
            strides,
            ..spread
        }
    }

    /// True if elements of such a layout lie in C order along the axes of the index, in which NumPy meets them then.
    pub(crate) fn in_order(&self, layout: &Layout) -> bool {
        let steps = &layout.strides[self.before..self.before + self.numbers.len()];
        let steps = steps.iter().map(|step| step.unsigned_abs());
        let steps: Vec<usize> = steps.filter(|&step| step > 0).collect();
        steps.is_sorted_by(|outer, inner| outer >= inner)
    }

    /// The new array. NumPy makes one whose first axes are those of the index, and where they belong
    /// further in, a view of it.
    fn born<'py>(
        &self,
        py: Python<'py>,
        dtype: DType,
        (strides, ordered): (&Strides, bool),
    ) -> PyResult<Option<(Bound<'py, PyAny>, SlotId, Layout)>> {
        let layout = |offset| Layout {
            dtype,
            offset,
            shape: self.shape.clone(),
            strides: strides.clone(),
        };
        if ordered || self.before == 0 {
            let born = birth::lazy(py, dtype, &self.shape, strides)?;
            return Ok(born.map(|born| (born.array, born.slot, layout(born.layout.offset))));
        }
        let end = self.before + self.numbers.len();
        let numbers = self.before..end;
        let order: Vec<usize> = numbers
            .chain(0..self.before)
            .chain(end..self.shape.len())
            .collect();
        let shape: Shape = order.iter().map(|&axis| self.shape[axis]).collect();
        let steps: Strides = order.iter().map(|&axis| strides[axis]).collect();
        let Some(born) = birth::lazy(py, dtype, &shape, &steps)? else {
            return Ok(None);
        };
        let back: Vec<Option<usize>> = (0..order.len())
            .map(|axis| order.iter().position(|&o| o == axis))
            .collect();
        let view = born.array.call_method1("transpose", (back,))?;
        Ok(Some((view, born.slot, layout(born.layout.offset))))
    }

    /// NumPy's layout: the axes of the index in C order, and within them the other axes in the order of
    /// the view. Without others, the axes of the index are in the order of the index arrays.
    fn strides(&self, view: &View, indices: &[View]) -> Strides {
        let size = view.layout.dtype.size();
        let kept: Vec<usize> = self.from.iter().flatten().copied().collect();
        let elements: usize = kept.iter().map(|&axis| view.layout.shape[axis]).product();
        let mut inside_out = kept.clone();
        inside_out.reverse();
        inside_out.sort_by_key(|&axis| view.layout.strides[axis].unsigned_abs());
        let mut inner = Strides::from_elem(0, view.layout.shape.len());
        let mut step = size.cast_signed();
        for axis in inside_out {
            inner[axis] = step;
            step *= view.layout.shape[axis].cast_signed();
        }
        let outer = if kept.is_empty() {
            let spread: Vec<Layout> = indices
                .iter()
                .map(|index| index.layout.broadcast_to(&self.numbers))
                .collect();
            let steps: Vec<&[isize]> = spread.iter().map(|l| l.strides.as_slice()).collect();
            result_strides(&self.numbers, &steps, size)
        } else {
            contiguous_strides(&self.numbers, size * elements)
        };
        let axes = self.from.iter().enumerate();
        axes.map(|(axis, from)| match from {
            Some(from) => inner[*from],
            None => outer[axis - self.before],
        })
        .collect()
    }
}
