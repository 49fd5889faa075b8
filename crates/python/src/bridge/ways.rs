//! The usual conversions on the host, from rule to rule, without a plan in Python.
//!
//! What is done here is what the planner would do with no keywords, or with `copy=False` alone. Whatever has
//! a peculiarity goes to the planner: subclasses, unusual elements, gradients, write-protected memory
//! for a kind that would write to it, arrays of other devices.
#![expect(
    unsafe_code,
    reason = "makes arrays over memory that was just allocated"
)]

use super::export::{capsule, element_of, ready, spec_of};
use super::import::{adopt, refused, set_base};
use super::kinds::Known;
use super::rules::{self, Lends, Rule, Steps, Takes, Writing};
use super::{share, table};
use crate::np::{self, Arr, Place};
use crate::state;
use crate::sync;
use arrayloom_dlpack::Spec;
use arrayloom_types::{DType, contiguous_strides};
use numpy::npyffi::{PY_ARRAY_API, flags};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// Copies start on such an address, as the planner's do.
const ALIGN: usize = 64;

/// Memory that a kind lends.
struct Lent<'py> {
    array: Bound<'py, PyAny>,
    arr: Arr,
    dtype: DType,
    readonly: bool,
    /// Nobody else has the memory: it was copied from a device just now.
    fresh: bool,
}

impl<'py> Lent<'py> {
    /// A plain array of elements that are ours as well.
    fn of(array: Bound<'py, PyAny>, writing: Writing) -> Option<Lent<'py>> {
        let kind = array.get_type_ptr();
        if kind != np::array_type() && kind != state::lazy_type() {
            return None;
        }
        let arr = Arr::of(&array)?;
        Some(Lent {
            dtype: arr.dtype()?,
            readonly: match writing {
                Writing::ByFlag => !arr.writeable(),
                Writing::Always => false,
                Writing::Never => true,
            },
            fresh: false,
            arr,
            array,
        })
    }
}

/// Sees the memory of an array; `None` where the planner must look.
fn lend<'py>(x: &Bound<'py, PyAny>, known: Known, rule: &Rule) -> PyResult<Option<Lent<'py>>> {
    let array = match &rule.lends {
        Lends::Numpy | Lends::Ours => Some(x.clone()),
        Lends::Table => {
            let found = table::torch_array(x, known.table)?;
            found.and_then(|(array, e)| (!matches!(e.code(), 4 | 7..)).then_some(array))
        }
        Lends::View(view) | Lends::Download(view, _) => match view.bind(x.py()).call1((x,)) {
            Ok(array) => Some(array),
            // The planner knows why, and says so.
            Err(error) if error.is_instance_of::<PyException>(x.py()) => None,
            Err(error) => return Err(error),
        },
        Lends::Unknown => None,
    };
    let lent = array.and_then(|array| Lent::of(array, rule.writing));
    Ok(lent.map(|lent| Lent {
        fresh: matches!(rule.lends, Lends::Download(..)),
        ..lent
    }))
}

/// The result of a usual conversion, or `None` if the planner is needed.
pub(crate) fn usual<'py>(
    x: &Bound<'py, PyAny>,
    known: Known,
    to: &Rule,
    must_share: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(from) = rules::of_name(known.name) else {
        return Ok(None);
    };
    if planned(from, to, must_share) {
        return Ok(None);
    }
    if let (Lends::Download(_, Some(map)), Takes::Ours) = (&from.lends, &to.takes) {
        return mapped(x, map.bind(x.py()));
    }
    let Some(lent) = lend(x, known, from)? else {
        return Ok(None);
    };
    match &to.takes {
        Takes::Numpy if matches!(from.lends, Lends::Ours) => {
            ready(x.py(), lent.arr)?;
            np::plain_view(x).map(Some)
        }
        Takes::Numpy => Ok(Some(lent.array)),
        Takes::Ours => adopt(&lent.array).map(Some),
        _ => taken(lent, from, to, must_share),
    }
}

/// Whether a pair of kinds always needs the planner: nobody knows a shorter way, or it copies and must not.
fn planned(from: &Rule, to: &Rule, must_share: bool) -> bool {
    match (&from.lends, &to.takes) {
        (_, Takes::Unknown) => true,
        (Lends::Download(_, map), Takes::Ours) => map.is_none(),
        (Lends::Ours, Takes::Upload(_, wrap)) => wrap.is_none(),
        (Lends::Download(..), _) | (_, Takes::Upload(..)) => must_share,
        _ => false,
    }
}

/// An array of ours over memory of a device, if the host sees it.
fn mapped<'py>(
    x: &Bound<'py, PyAny>,
    map: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let seen = map.call1((x,))?;
    if Arr::of(&seen).is_none() {
        return Ok(None);
    }
    adopt(&seen).map(Some)
}

/// Gives memory, or a copy of it, to a kind with conditions.
fn taken<'py>(
    lent: Lent<'py>,
    from: &Rule,
    to: &Rule,
    must_share: bool,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = lent.array.py();
    let guarded = lent.readonly && from.writing == Writing::ByFlag;
    if !to.has(lent.arr, lent.dtype)? || (guarded && to.writing == Writing::Always) {
        return Ok(None);
    }
    match (&to.takes, &from.lends) {
        (Takes::Upload(_, Some(wrap)), Lends::Ours) => return wrapped(&lent, wrap.bind(py)),
        (Takes::Upload(push, _), _) => return uploaded(&lent, push.bind(py)).map(Some),
        _ => {}
    }
    let fits = to.fits(lent.arr, lent.dtype);
    let isolated = to.writing == Writing::Never && !(lent.readonly || lent.fresh || must_share);
    let given = if fits && !isolated {
        ready(py, lent.arr)?;
        lent.array
    } else if must_share {
        return Ok(None);
    } else {
        let shared = match from.lends {
            Lends::Ours if fits => share::share_pages(&lent.array)?,
            _ => None,
        };
        match shared {
            Some(pages) => pages,
            None => copied(&lent)?,
        }
    };
    made(&given, lent.dtype, to)
}

/// Makes an array of a kind over memory that fits.
fn made<'py>(
    array: &Bound<'py, PyAny>,
    dtype: DType,
    to: &Rule,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let Some(arr) = Arr::of(array) else {
        return Ok(None);
    };
    let element = element_of(dtype).map_err(|what| refused(&what))?;
    let spec = spec_of(arr, Some(element), 0)?;
    let take = match &to.takes {
        Takes::Table(at) => return table::give_to(array, &spec, *at),
        Takes::Capsule(take) => take.get(py)?,
        _ => return Ok(None),
    };
    let compact = matches!(to.steps, Steps::Compact | Steps::CompactRows);
    let tensor = if compact && rules::compact_rows(arr) {
        // Steps that are never taken may be anything. Some consumers want them to be right as well, others
        // read an order of axes out of them.
        let strides = contiguous_strides(arr.shape(), dtype.size());
        let exact = Spec {
            strides: &strides,
            ..spec
        };
        capsule(array, &exact, false)?
    } else {
        capsule(array, &spec, false)?
    };
    let result = take.call1((tensor,))?;
    Ok((!result.is(py.NotImplemented())).then_some(result))
}

/// Shares an array of ours with a device that computes in the host's memory.
fn wrapped<'py>(lent: &Lent<'py>, wrap: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if lent.readonly || !rules::compact_rows(lent.arr) {
        return Ok(None);
    }
    let py = lent.array.py();
    ready(py, lent.arr)?;
    let made = wrap.call1((np::plain_view(&lent.array)?,))?;
    Ok((!made.is(py.NotImplemented())).then_some(made))
}

/// Copies an array to another device.
fn uploaded<'py>(lent: &Lent<'py>, push: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if rules::compact_rows(lent.arr) {
        sync::read(lent.array.py(), lent.arr)?;
        return push.call1((&lent.array,));
    }
    push.call1((copied(lent)?,))
}

/// The elements in compact memory that any kind takes.
fn copied<'py>(lent: &Lent<'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = lent.array.py();
    sync::read(py, lent.arr)?;
    let shape = lent.arr.shape();
    let size = lent.dtype.size();
    let room = np::empty(py, DType::U8, &[lent.arr.len() * size + ALIGN], &[1])?;
    // SAFETY: the room is an array, just made.
    let start = unsafe { Arr::new(room.as_ptr()) }.addr();
    let place = Place {
        kind: np::array_type(),
        dtype: lent.dtype,
        shape,
        strides: &contiguous_strides(shape, size),
        data: start.next_multiple_of(ALIGN) as *mut u8,
        flags: flags::NPY_ARRAY_WRITEABLE,
    };
    let copy = np::new_array(py, &place)?;
    set_base(&copy, room)?;
    // SAFETY: two arrays of one shape and dtype.
    let status = unsafe {
        PY_ARRAY_API.PyArray_CopyInto(py, copy.as_ptr().cast(), lent.array.as_ptr().cast())
    };
    crate::slot::checked(py, status)?;
    Ok(copy)
}
