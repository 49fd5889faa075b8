//! Memory of NumPy arrays as bytes, and bytes of ours as views for Python.
#![expect(
    unsafe_code,
    reason = "the memory of arrays and blocks crosses the border to Python here"
)]

use crate::np::Arr;
use crate::sync;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;

/// `NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED`.
const PLAIN: std::ffi::c_int = 0x0001 | 0x0100;

/// The memory of a C-contiguous, aligned array, kept alive.
pub(super) struct Bytes {
    _owner: Py<PyAny>,
    addr: usize,
    len: usize,
}

impl Bytes {
    /// The memory of `array`, whose value has been computed.
    pub(super) fn of(array: &Bound<'_, PyAny>, writeable: bool) -> PyResult<Bytes> {
        let Some(arr) = Arr::of(array).filter(|a| a.has(PLAIN) && (!writeable || a.writeable()))
        else {
            return Err(PyValueError::new_err(
                "a C-contiguous, aligned array is needed",
            ));
        };
        if writeable {
            sync::write(array.py(), arr)?;
        } else {
            sync::read(array.py(), arr)?;
        }
        Ok(Bytes {
            _owner: array.clone().unbind(),
            addr: arr.addr(),
            len: arr.nbytes(),
        })
    }

    /// The bytes.
    pub(super) fn get(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the array is alive and its memory is computed; who starts a run keeps from writing.
        unsafe { std::slice::from_raw_parts(self.addr as *const u8, self.len) }
    }

    /// The bytes, to be written.
    pub(super) fn get_mut(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above; the array was made for the result, and nobody else knows it yet.
        unsafe { std::slice::from_raw_parts_mut(self.addr as *mut u8, self.len) }
    }
}

/// A `memoryview` of `data`. It must not be used after the call that it is made for.
pub(super) fn readable<'py>(py: Python<'py>, data: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let len = ffi::Py_ssize_t::try_from(data.len())?;
    // CPython takes a mutable pointer also for views that it only reads.
    let pointer = data.as_ptr().cast_mut().cast();
    // SAFETY: the bytes live as long as the call; the callers are ours and keep no view.
    let view = unsafe { ffi::PyMemoryView_FromMemory(pointer, len, ffi::PyBUF_READ) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, view) }
}

/// A writeable `memoryview` of `data`. It must not be used after the call that it is made for.
pub(super) fn writeable<'py>(py: Python<'py>, data: &mut [u8]) -> PyResult<Bound<'py, PyAny>> {
    let len = ffi::Py_ssize_t::try_from(data.len())?;
    let pointer = data.as_mut_ptr().cast();
    // SAFETY: the bytes live as long as the call; the callers are ours and keep no view.
    let view = unsafe { ffi::PyMemoryView_FromMemory(pointer, len, ffi::PyBUF_WRITE) };
    // SAFETY: a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, view) }
}
