//! Which kind of array an object is, by the address of its type.
//!
//! A type that is met for the first time is shown to a function in Python, which knows the frameworks.
//! Its answer, also "none", is kept. Types in the table are kept alive, so their addresses stay theirs.
#![expect(unsafe_code, reason = "keeps types and names by address")]

use crate::slot::lend;
use pyo3::exceptions::PyValueError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Places of the table, a power of two. When it is three quarters full, new types are asked for each time.
const PLACES: usize = 1024;

struct Place {
    kind: AtomicUsize,
    name: AtomicUsize,
    table: AtomicUsize,
}

#[expect(
    clippy::declare_interior_mutable_const,
    reason = "each place of the table is a copy of its own"
)]
const NEW: Place = Place {
    kind: AtomicUsize::new(0),
    name: AtomicUsize::new(0),
    table: AtomicUsize::new(0),
};

static TABLE: [Place; PLACES] = [NEW; PLACES];
static USED: Mutex<usize> = Mutex::new(0);

/// What is known of a type.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// The kind's name, an interned string that lives for good; `None` of Python if it is no array.
    pub(crate) name: *mut PyObject,
    /// Its exchange table, or 0.
    pub(crate) table: usize,
}

fn start_of(kind: usize) -> usize {
    (kind >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

/// What is known of a type, if it was met before.
#[inline]
pub(crate) fn look_up(kind: *mut ffi::PyTypeObject) -> Option<Known> {
    let wanted = kind as usize;
    let mut at = start_of(wanted);
    loop {
        let place = &TABLE[at % PLACES];
        let found = place.kind.load(Ordering::Acquire);
        if found == wanted {
            let name = place.name.load(Ordering::Relaxed) as *mut PyObject;
            return (!name.is_null()).then(|| Known {
                name,
                table: place.table.load(Ordering::Relaxed),
            });
        }
        if found == 0 {
            return None;
        }
        at += 1;
    }
}

/// Keeps what is known of a type. False if the table is full.
fn keep(kind: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>, table: usize) -> bool {
    let wanted = kind.as_ptr() as usize;
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut at = start_of(wanted);
    loop {
        let place = &TABLE[at % PLACES];
        let found = place.kind.load(Ordering::Acquire);
        if found != wanted && found != 0 {
            at += 1;
            continue;
        }
        if found == 0 {
            if *used >= PLACES / 4 * 3 {
                return false;
            }
            *used += 1;
            // SAFETY: the type is alive; this reference is never dropped.
            unsafe { ffi::Py_INCREF(kind.as_ptr()) };
        }
        // SAFETY: as above.
        unsafe { ffi::Py_INCREF(name.as_ptr()) };
        place.table.store(table, Ordering::Relaxed);
        place.name.store(name.as_ptr() as usize, Ordering::Relaxed);
        place.kind.store(wanted, Ordering::Release);
        return true;
    }
}

/// Say which kind the instances of a type are. None for types that are no arrays.
#[pyfunction]
pub(crate) fn register_type(
    kind: &Bound<'_, PyType>,
    name: Option<&Bound<'_, PyString>>,
) -> PyResult<bool> {
    let py = kind.py();
    let name = match name {
        Some(name) => PyString::intern(py, name.to_str()?).into_any(),
        None => py.None().into_bound(py),
    };
    let table = super::table::of_type(kind.as_any())?;
    Ok(keep(kind.as_any(), &name, table))
}

/// Forget what is known of all types, after the registry changed.
#[pyfunction]
pub(crate) fn forget_types() {
    let _used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    for place in &TABLE {
        // The type keeps its place, so that searches go on past it.
        place.name.store(0, Ordering::Relaxed);
    }
}

/// The kind of an object, asking Python for types that are met for the first time.
pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Known> {
    if let Some(known) = look_up(object.get_type_ptr()) {
        return Ok(known);
    }
    let py = object.py();
    let kind = object.get_type().into_any();
    let name = super::entry::resolve(&kind)?;
    let name = match name.cast::<PyString>() {
        Ok(text) => PyString::intern(py, text.to_str()?).into_any(),
        Err(_) if name.is_none() => name,
        Err(_) => return Err(PyValueError::new_err("a kind's name is a string or None")),
    };
    let table = super::table::of_type(&kind)?;
    let kept = keep(&kind, &name, table);
    debug_assert!(
        kept || look_up(object.get_type_ptr()).is_none(),
        "kept or full"
    );
    // Interned names of registered kinds live as long as their framework's entry in the registry.
    Ok(Known {
        name: name.as_ptr(),
        table,
    })
}

/// The kind's name as an object.
pub(crate) fn name_of(py: Python<'_>, known: Known) -> Bound<'_, PyAny> {
    // SAFETY: names are kept for good.
    unsafe { lend(py, known.name) }
}
