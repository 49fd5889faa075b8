//! `a[key]`, `a[key] = value`, iteration.
//!
//! A basic key makes a view and touches no memory. A key that names one element reads memory. All
//! other keys are NumPy's work on computed data.
#![expect(unsafe_code, reason = "C slots of the array type")]

use crate::lift::{lift, make_lazy, stays_plain, while_plain};
use crate::map::{Options, Outcome};
use crate::np::{self, Arr};
use crate::operand::Reason;
use crate::slot::{checked, enter, lend, object, owned};
use crate::{assign, delegate, fallback, gather, masks, picked, scatter, state, sync};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyEllipsis, PySlice, PyTuple};
use std::ffi::c_int;
use std::sync::OnceLock;

/// `ndarray`'s own slots.
struct Own {
    subscript: ffi::binaryfunc,
    assign: ffi::objobjargproc,
    iter: ffi::getiterfunc,
    item: ffi::ssizeargfunc,
}

static OWN: OnceLock<Own> = OnceLock::new();

/// Looks up `ndarray`'s slots.
pub(crate) fn init() -> PyResult<()> {
    // SAFETY: NumPy's type object is static.
    let kind = unsafe { &*np::array_type() };
    // SAFETY: `ndarray` is a mapping.
    let mapping = unsafe { &*kind.tp_as_mapping };
    // SAFETY: `ndarray` is a sequence.
    let sequence = unsafe { &*kind.tp_as_sequence };
    let missing = || PyNotImplementedError::new_err("numpy.ndarray lacks an index slot");
    let own = Own {
        subscript: mapping.mp_subscript.ok_or_else(missing)?,
        assign: mapping.mp_ass_subscript.ok_or_else(missing)?,
        iter: kind.tp_iter.ok_or_else(missing)?,
        item: sequence.sq_item.ok_or_else(missing)?,
    };
    let fresh = OWN.set(own).is_ok();
    debug_assert!(fresh, "the slots are looked up once");
    Ok(())
}

fn own() -> &'static Own {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    OWN.get().expect("index::init ran at import")
}

/// What a key asks for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    /// One element.
    Element,
    /// A view.
    View,
    /// Anything else: arrays, masks, lists.
    Other,
}

fn kind_of(array: Arr, key: &Bound<'_, PyAny>) -> Key {
    let Ok(tuple) = key.cast_exact::<PyTuple>() else {
        return match basic(key) {
            Some(true) if array.ndim() == 1 => Key::Element,
            Some(_) => Key::View,
            None => Key::Other,
        };
    };
    let mut integers = 0;
    for part in tuple.iter_borrowed() {
        match basic(&part) {
            Some(integer) => integers += usize::from(integer),
            None => return Key::Other,
        }
    }
    if integers == array.ndim() && integers == tuple.len() {
        Key::Element
    } else {
        Key::View
    }
}

/// Whether one part of a key is an integer (true) or another part of a basic key (false).
fn basic(part: &Bound<'_, PyAny>) -> Option<bool> {
    let kind = part.get_type_ptr();
    if kind == &raw mut ffi::PyLong_Type {
        return Some(true);
    }
    if kind == &raw mut ffi::PySlice_Type || part.is_none() || part.is(PyEllipsis::get(part.py())) {
        return Some(false);
    }
    if part.is_exact_instance_of::<PySlice>() {
        return Some(false);
    }
    np::scalar_dtype(kind)
        .filter(|d| d.is_integer())
        .map(|_| true)
}

/// `a[key]`.
pub(crate) unsafe extern "C" fn subscript(a: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends both objects.
        let (a, key) = (unsafe { lend(py, a) }, unsafe { lend(py, key) });
        // SAFETY: the slot belongs to a subclass of `ndarray`.
        let array = unsafe { Arr::new(a.as_ptr()) };
        match kind_of(array, &key) {
            Key::View => {}
            Key::Element => sync::read(py, array)?,
            Key::Other if sync::is_value_there(array) && picks_few(array, &key) => {
                let plain = delegate::plain(&a)?;
                // SAFETY: `ndarray`'s own slot, with live objects.
                return owned(py, unsafe {
                    (own().subscript)(plain.as_ptr(), key.as_ptr())
                });
            }
            Key::Other => {
                if let Outcome::Done(picked) = masks::get(&a, &key)? {
                    return Ok(picked);
                }
                return match gather::get(&a, &key)? {
                    Outcome::Done(picked) => Ok(picked),
                    Outcome::Numpy(reason) => in_numpy(py, &a, array, &key, reason),
                };
            }
        }
        view(&a, || {
            // SAFETY: `ndarray`'s own slot, with live objects.
            unsafe { (own().subscript)(a.as_ptr(), key.as_ptr()) }
        })
    })
}

/// What one of `ndarray`'s slots gives for a lazy array: an element, or a view, which is lazy unless there is no need.
fn view<'py>(
    a: &Bound<'py, PyAny>,
    slot: impl FnOnce() -> *mut PyObject,
) -> PyResult<Bound<'py, PyAny>> {
    let view = owned(a.py(), while_plain(a, slot))?;
    let Some(made) = exact(&view) else {
        return Ok(view);
    };
    // A view of a view is one of the array itself, which NumPy sees only among arrays of one type.
    let root = Arr::of(a).and_then(|array| array.base(a.py()));
    if let Some(root) = root.filter(|root| root.get_type_ptr() == state::lazy_type()) {
        made.rebase(root);
    }
    if !stays_plain(made) {
        make_lazy(&view);
    }
    Ok(view)
}

/// The array, if it is exactly NumPy's.
fn exact(object: &Bound<'_, PyAny>) -> Option<Arr> {
    let plain = object.get_type_ptr() == np::array_type();
    // SAFETY: exactly an array.
    plain.then(|| unsafe { Arr::new(object.as_ptr()) })
}

/// An index of arrays, masks or fields that is not recorded.
fn in_numpy<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    array: Arr,
    key: &Bound<'py, PyAny>,
    reason: Reason,
) -> PyResult<Bound<'py, PyAny>> {
    sync::read(py, array)?;
    let (plain, key) = (delegate::plain(a)?, ready_key(py, key)?);
    let work = || {
        // SAFETY: `ndarray`'s own slot, with live objects.
        owned(py, unsafe {
            (own().subscript)(plain.as_ptr(), key.as_ptr())
        })
    };
    if array.nbytes() < state::min_bytes() {
        return work();
    }
    if reason.counts() {
        fallback::count(py, "getitem", Reason::Delegated, [a, &key])?;
    }
    let result = delegate::in_arena(py, work)?;
    lift(&result);
    Ok(result)
}

/// The key with its arrays computed and plain.
fn ready_key<'py>(py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let part = |part: &Bound<'py, PyAny>| match Arr::of(part) {
        Some(array) => sync::read(py, array).and_then(|()| delegate::plain(part)),
        None => Ok(part.clone()),
    };
    let Ok(tuple) = key.cast_exact::<PyTuple>() else {
        return part(key);
    };
    let parts = tuple
        .iter()
        .map(|p| part(&p))
        .collect::<PyResult<Vec<_>>>()?;
    Ok(PyTuple::new(py, parts)?.into_any())
}

/// `a[key] = value`.
pub(crate) unsafe extern "C" fn set(
    a: *mut PyObject,
    key: *mut PyObject,
    value: *mut PyObject,
) -> c_int {
    enter(|py| {
        // SAFETY: the interpreter lends both objects.
        let (a, key) = (unsafe { lend(py, a) }, unsafe { lend(py, key) });
        // SAFETY: the slot belongs to a subclass of `ndarray`.
        let array = unsafe { Arr::new(a.as_ptr()) };
        if value.is_null() {
            // SAFETY: `ndarray`'s own slot; it raises its error for deletion.
            return checked(py, unsafe {
                (own().assign)(a.as_ptr(), key.as_ptr(), value)
            });
        }
        // SAFETY: as above.
        let value = unsafe { lend(py, value) };
        let recorded = match kind_of(array, &key) {
            Key::View => {
                let view = view(&a, || {
                    // SAFETY: `ndarray`'s own slot, with live objects.
                    unsafe { (own().subscript)(a.as_ptr(), key.as_ptr()) }
                })?;
                if is_small_and_there(&view, &value) {
                    return np::assign(&view, &value).map(|()| 0);
                }
                if let Some((view, value)) = assign::moved(&view, &value)? {
                    return np::assign(&view, &value).map(|()| 0);
                }
                assign::copy_into(py, &view, &value)?
            }
            Key::Other if takes_few(array, &key, &value) => {
                let plain = delegate::plain(&a)?;
                let value = delegate::plain(&value)?;
                // SAFETY: as above.
                return checked(py, unsafe {
                    (own().assign)(plain.as_ptr(), key.as_ptr(), value.as_ptr())
                });
            }
            Key::Other => masked(py, &a, &key, &value)? || scatter::set(&a, &key, &value)?,
            Key::Element if sync::is_open(array) && Arr::of(&value).is_none() => {
                // SAFETY: `ndarray`'s own slot, with live objects.
                return checked(py, unsafe {
                    (own().assign)(a.as_ptr(), key.as_ptr(), value.as_ptr())
                });
            }
            Key::Element => false,
        };
        if recorded {
            return Ok(0);
        }
        assign_now(py, &a, array, &key, &value)
    })
}

/// True for a small view of memory that the program uses itself, and a value that is a number or lies in memory:
/// nothing is gained by recording the assignment.
fn is_small_and_there(view: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> bool {
    let small = |array: Arr| {
        array.writeable() && array.nbytes() < state::min_bytes() && sync::is_open(array)
    };
    is_there(value) && Arr::of(view).is_some_and(small)
}

/// True for a number, and for an array of NumPy's type or ours whose value lies in memory.
fn is_there(value: &Bound<'_, PyAny>) -> bool {
    let kind = value.get_type_ptr();
    match Arr::of(value) {
        Some(array) if kind == state::lazy_type() || kind == np::array_type() => {
            sync::is_value_there(array)
        }
        Some(_) => false,
        None => assign::is_number(value),
    }
}

/// True if a key of plain integer arrays, integers and slices picks so few bytes that NumPy had better do it.
fn picks_few(array: Arr, key: &Bound<'_, PyAny>) -> bool {
    let shape = array.shape();
    let tuple = key.cast_exact::<PyTuple>().ok();
    if tuple.is_some_and(|tuple| tuple.len() > shape.len()) {
        return false;
    }
    // Vectors are walked side by side; index arrays of more axes span a grid at most.
    let (mut bytes, mut longest) = (array.itemsize(), 1);
    for (axis, &extent) in shape.iter().enumerate() {
        let part = match tuple {
            Some(tuple) => tuple.get_borrowed_item(axis).ok(),
            None => (axis == 0).then(|| key.as_borrowed()),
        };
        let Some(part) = part else {
            bytes = bytes.saturating_mul(extent);
            continue;
        };
        match (basic(&part), plain_index(&part)) {
            (Some(true), _) => {}
            (Some(false), _) if part.is_exact_instance_of::<PySlice>() => {
                bytes = bytes.saturating_mul(extent);
            }
            (None, Some(index)) if index.ndim() == 1 => longest = index.len().max(longest),
            (None, Some(index)) => bytes = bytes.saturating_mul(index.len()),
            _ => return false,
        }
    }
    bytes.saturating_mul(longest) < state::min_bytes()
}

/// A plain array of integers with axes.
fn plain_index(part: &Bound<'_, PyAny>) -> Option<Arr> {
    let plain = part.get_type_ptr() == np::array_type();
    let index = Arr::of(part).filter(|index| plain && index.ndim() > 0)?;
    index
        .dtype()
        .filter(|dtype| dtype.is_integer())
        .map(|_| index)
}

/// True for such a key, memory that the program uses itself, and a value that is a number or lies in memory.
fn takes_few(array: Arr, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> bool {
    sync::is_open(array) && is_there(value) && picks_few(array, key)
}

/// `a[mask] = value` for a mask of the array's shape and a number, or what the same mask has picked. On a device with memory
/// of its own, for any mask and value.
fn masked<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<bool> {
    let (Some(array), Some(mask)) = (Arr::of(a), Arr::of(key)) else {
        return Ok(false);
    };
    if mask.shape() != array.shape() {
        return scatter::set_picked(a, key, value);
    }
    if picked::puts_nothing(py, array, mask, value)? {
        return Ok(true);
    }
    let whole = picked::to_put_back(value, mask)?;
    if whole.is_none() && !assign::is_number(value) {
        return scatter::set_picked(a, key, value);
    }
    let options = Options {
        mask: Some(key),
        out: Some(a),
        unsafe_cast: true,
        ..Options::default()
    };
    let value = whole.as_ref().map_or(value, |whole| &whole.array);
    assign::record(py, value, &options)
}

/// NumPy's own assignment, on memory that may be written.
fn assign_now<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    array: Arr,
    key: &Bound<'py, PyAny>,
    value: &Bound<'py, PyAny>,
) -> PyResult<c_int> {
    if array.writeable() {
        sync::write(py, array)?;
    }
    let (key, value) = (ready_key(py, key)?, ready_key(py, value)?);
    if kind_of(array, &key) == Key::Other && array.nbytes() >= state::min_bytes() {
        fallback::count(py, "setitem", Reason::Delegated, [a, &key, &value])?;
    }
    let plain = delegate::plain(a)?;
    // SAFETY: `ndarray`'s own slot, with live objects.
    checked(py, unsafe {
        (own().assign)(plain.as_ptr(), key.as_ptr(), value.as_ptr())
    })
}

/// `iter(a)`: elements of a vector are read, rows of a matrix are views.
pub(crate) unsafe extern "C" fn iter(a: *mut PyObject) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the object.
        let a = unsafe { lend(py, a) };
        read_vector(py, &a)?;
        // SAFETY: `ndarray`'s own slot, with a live object.
        owned(py, unsafe { (own().iter)(a.as_ptr()) })
    })
}

/// `a[i]` by C code.
pub(crate) unsafe extern "C" fn item(a: *mut PyObject, i: isize) -> *mut PyObject {
    object(|py| {
        // SAFETY: the interpreter lends the object.
        let a = unsafe { lend(py, a) };
        read_vector(py, &a)?;
        view(&a, || {
            // SAFETY: `ndarray`'s own slot, with a live object.
            unsafe { (own().item)(a.as_ptr(), i) }
        })
    })
}

fn read_vector(py: Python<'_>, a: &Bound<'_, PyAny>) -> PyResult<()> {
    match Arr::of(a) {
        Some(array) if array.ndim() == 1 => sync::read(py, array),
        _ => Ok(()),
    }
}
