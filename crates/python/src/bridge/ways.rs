//! The usual conversions on the host, from rule to rule, without a plan in Python.
//!
//! What is done here is what the planner would do with no keywords, with `copy=False` or with a device. Whatever has
//! a peculiarity goes to the planner: subclasses, unusual elements, gradients, write-protected memory
//! for a kind that would write to it. What lies on a device goes on in `abroad`.
#![expect(
    unsafe_code,
    reason = "makes arrays over memory that was just allocated"
)]

use super::abroad;
use super::entry::Words;
use super::export::{HOST, capsule, element_of, ready, spec_of};
use super::import::{adopt, refused, set_base};
use super::kinds::Known;
use super::owner::Owner;
use super::rules::{self, Lends, Rule, Steps, Takes, Writing};
use super::{memory_view, share, table};
use crate::np::{self, Arr, Place};
use crate::state;
use crate::sync;
use arrayloom_dlpack::Spec;
use arrayloom_dlpack::abi::{DLDevice, device};
use arrayloom_types::{DType, contiguous_strides};
use numpy::npyffi::{PY_ARRAY_API, flags};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyNotImplemented};

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

/// Where the memory of an array is.
enum Seen<'py> {
    /// On the host, or copied there.
    Here(Lent<'py>),
    /// On a device.
    There(DLDevice),
    /// The planner must look.
    Unclear,
}

/// Sees the memory of an array, for a target.
fn see<'py>(x: &Bound<'py, PyAny>, known: Known, rule: &Rule, to: &Rule) -> PyResult<Seen<'py>> {
    let array = match &rule.lends {
        Lends::Numpy | Lends::Ours => Some(x.clone()),
        Lends::Table => match table::seen(x, known.table)? {
            Some(table::Seen::There(place)) => return Ok(Seen::There(place)),
            Some(table::Seen::Here(array, e)) => (!matches!(e.code(), 4 | 7..)).then_some(array),
            None => None,
        },
        Lends::View(view) | Lends::Download(view, _) => match shown(x, view.bind(x.py()), to) {
            Ok(array) => array,
            // The planner knows why, and says so.
            Err(error) if error.is_instance_of::<PyException>(x.py()) => None,
            Err(error) => return Err(error),
        },
        Lends::Unknown => None,
    };
    if let Some(lent) = array.and_then(|array| Lent::of(array, rule.writing)) {
        let fresh = matches!(rule.lends, Lends::Download(..));
        // Immutable memory that the hook lends to be written: the planner takes that away.
        let lax = rule.writing == Writing::Never && !fresh && lent.arr.writeable();
        return Ok(if lax {
            Seen::Unclear
        } else {
            Seen::Here(Lent { fresh, ..lent })
        });
    }
    Ok(abroad::told(x, rule)?.map_or(Seen::Unclear, Seen::There))
}

/// What a hook shows of an array: an array of NumPy's, or one for the target over the `memoryview` that it
/// returns.
fn shown<'py>(
    x: &Bound<'py, PyAny>,
    hook: &Bound<'py, PyAny>,
    to: &Rule,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = hook.call1((x,))?;
    let Ok(view) = found.cast_exact::<PyMemoryView>() else {
        return Ok(Some(found));
    };
    let kind = match to.takes {
        Takes::Ours => state::lazy_type(),
        _ => np::array_type(),
    };
    memory_view::array_over(view, kind)
}

/// The result of a usual conversion, or `None` if the planner is needed.
pub(crate) fn usual<'py>(
    x: &Bound<'py, PyAny>,
    known: Known,
    to: &Rule,
    words: Words,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(from) = rules::of_name(known.name) else {
        return abroad::hand_on(x, to, words.device);
    };
    if words.device.is_some_and(|device| device != HOST) || meet_abroad(from, to) {
        return match place_abroad(x, known, from)? {
            Some(place) => abroad::hand_over(x, from, place, to, words.device),
            None => Ok(None),
        };
    }
    if planned(from, to, words.must_share) {
        return Ok(None);
    }
    if words.device.is_some() && !to.abroad.knows(device::CPU) {
        return Ok(None);
    }
    if let (Lends::Download(_, Some(map)), Takes::Ours) = (&from.lends, &to.takes) {
        return mapped(x, map.bind(x.py()));
    }
    let lent = match see(x, known, from, to)? {
        Seen::Here(lent) => lent,
        Seen::There(place) => return abroad::hand_over(x, from, place, to, words.device),
        Seen::Unclear => return Ok(None),
    };
    match &to.takes {
        Takes::Numpy if matches!(from.lends, Lends::Ours) => {
            ready(x.py(), lent.arr)?;
            np::plain_view(x).map(Some)
        }
        Takes::Numpy => Ok(Some(lent.array)),
        Takes::Ours => adopt(&lent.array).map(Some),
        Takes::Unknown => Ok(None),
        _ => taken(lent, from, to, words.must_share),
    }
}

/// On which device an array lies that needs no closer look.
fn place_abroad(x: &Bound<'_, PyAny>, known: Known, from: &Rule) -> PyResult<Option<DLDevice>> {
    let place = match &from.lends {
        Lends::Table => match table::seen(x, known.table)? {
            Some(table::Seen::There(place)) => Some(place),
            _ => None,
        },
        _ => abroad::told(x, from)?,
    };
    Ok(place.filter(|place| !device::is_host(place.device_type)))
}

/// Whether arrays of a kind lie on devices only, and another kind takes them there.
fn meet_abroad(from: &Rule, to: &Rule) -> bool {
    matches!(from.lends, Lends::Download(..) | Lends::Unknown)
        && to.abroad.takes()
        && from.abroad.shares_family(&to.abroad)
}

/// Whether a pair of kinds always needs the planner: nobody knows a shorter way, or it copies and must not.
fn planned(from: &Rule, to: &Rule, must_share: bool) -> bool {
    match (&from.lends, &to.takes) {
        (_, Takes::Unknown) => !to.abroad.takes(),
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
        (Takes::Upload(push, _), _) => return uploaded(&lent, push.get(py)?).map(Some),
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
        capsule(py, Owner::waiting(array), &exact, false)?
    } else {
        capsule(py, Owner::waiting(array), &spec, false)?
    };
    let result = take.call1((tensor,))?;
    Ok((!result.is(PyNotImplemented::get(py))).then_some(result))
}

/// Shares an array of ours with a device that computes in the host's memory.
fn wrapped<'py>(lent: &Lent<'py>, wrap: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if lent.readonly || !rules::compact_rows(lent.arr) {
        return Ok(None);
    }
    let py = lent.array.py();
    ready(py, lent.arr)?;
    let made = wrap.call1((np::plain_view(&lent.array)?,))?;
    Ok((!made.is(PyNotImplemented::get(py))).then_some(made))
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
