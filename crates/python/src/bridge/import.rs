//! Tensors that come in: a capsule becomes a NumPy array over the same memory, or one of ours.
#![expect(unsafe_code, reason = "takes tensors out of capsules")]

use super::owner;
use crate::np::{self, Arr, Place};
use crate::slot::lend;
use crate::{error, state};
use arrayloom_dlpack::abi::{DLManagedTensorVersioned, MAJOR, device};
use arrayloom_dlpack::{Element, Managed, Tensor};
use arrayloom_types::DType;
use numpy::npyffi::{PY_ARRAY_API, flags};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::ffi::CStr;
use std::mem::ManuallyDrop;

pub(crate) const LEGACY: &CStr = c"dltensor";
pub(crate) const VERSIONED: &CStr = c"dltensor_versioned";
const USED_LEGACY: &CStr = c"used_dltensor";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const OWNER: &CStr = c"arrayloom_dlpack_owner";

/// The Python exception for a tensor that cannot be taken.
pub(crate) fn refused(what: &arrayloom_dlpack::DlpackError) -> PyErr {
    PyBufferError::new_err(what.to_string())
}

fn is_named(capsule: &Bound<'_, PyAny>, name: &CStr) -> bool {
    // SAFETY: the call checks any object.
    unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 1 }
}

/// Takes the tensor out of a capsule, which is renamed so that nobody takes it again.
pub(crate) fn consume(capsule: &Bound<'_, PyAny>) -> PyResult<Managed> {
    let (name, used) = if is_named(capsule, VERSIONED) {
        (VERSIONED, USED_VERSIONED)
    } else if is_named(capsule, LEGACY) {
        (LEGACY, USED_LEGACY)
    } else if is_named(capsule, USED_LEGACY) || is_named(capsule, USED_VERSIONED) {
        return Err(PyBufferError::new_err(
            "this DLPack capsule was consumed before; ask the producer for a new one",
        ));
    } else {
        return Err(PyTypeError::new_err("not a DLPack capsule"));
    };
    let pointer = pointer(capsule, name);
    // SAFETY: a valid capsule; the name is static.
    unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) };
    let managed = if name == VERSIONED {
        // SAFETY: a capsule of this name holds such a tensor, and it is ours since the renaming.
        unsafe { Managed::from_versioned(pointer.cast()) }
    } else {
        // SAFETY: as above.
        unsafe { Managed::from_legacy(pointer.cast()) }
    };
    managed.map_err(|what| refused(&what))
}

fn pointer(capsule: &Bound<'_, PyAny>, name: &CStr) -> *mut std::ffi::c_void {
    // SAFETY: the caller has checked the name.
    unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr()) }
}

/// NumPy's dtype that has the bits of an element; bfloat16 and 8-bit floats are integers here.
fn carrier(element: Element) -> Option<DType> {
    let kinds = match (element.code(), element.bits()) {
        (6, 8) => DType::Bool,
        (0, 8) => DType::I8,
        (0, 16) => DType::I16,
        (0, 32) => DType::I32,
        (0, 64) => DType::I64,
        (1 | 4, 16) => DType::U16,
        (1, 32) => DType::U32,
        (1, 64) => DType::U64,
        (2, 16) => DType::F16,
        (2, 32) => DType::F32,
        (2, 64) => DType::F64,
        (5, 64) => DType::C64,
        (5, 128) => DType::C128,
        (1 | 7..=14, 8) => DType::U8,
        _ => return None,
    };
    Some(kinds)
}

unsafe extern "C" fn drop_owner(capsule: *mut PyObject) {
    // SAFETY: the destructor gets its own capsule, made in `hold`.
    let pointer = unsafe { ffi::PyCapsule_GetPointer(capsule, OWNER.as_ptr()) };
    if !pointer.is_null() {
        // SAFETY: the pointer came from a box of this type and is used only here.
        drop(unsafe { Box::from_raw(pointer.cast::<Managed>()) });
    }
}

/// An object that owns a tensor.
pub(crate) fn hold(py: Python<'_>, managed: Managed) -> PyResult<Bound<'_, PyAny>> {
    let holder = Box::into_raw(Box::new(managed));
    // SAFETY: the box lives until the destructor drops it.
    let capsule = unsafe { ffi::PyCapsule_New(holder.cast(), OWNER.as_ptr(), Some(drop_owner)) };
    crate::slot::owned(py, capsule)
}

/// An array over a tensor on the host, which it keeps alive.
pub(crate) fn array_over(
    py: Python<'_>,
    managed: Managed,
    kind: *mut ffi::PyTypeObject,
) -> PyResult<(Bound<'_, PyAny>, Element)> {
    let tensor = managed.check().map_err(|what| refused(&what))?;
    let element = tensor.element;
    if !device::is_host(tensor.device.device_type) {
        return Err(PyBufferError::new_err(format!(
            "a tensor on device type {} has no address on the host; move it there first",
            tensor.device.device_type
        )));
    }
    let dtype = carrier(element).ok_or_else(|| {
        PyTypeError::new_err(format!("NumPy has no elements like {}", element.name()))
    })?;
    let writeable = if managed.read_only() {
        0
    } else {
        flags::NPY_ARRAY_WRITEABLE
    };
    let array = np::new_array(py, &place(&tensor, dtype, kind, writeable))?;
    if !tensor.is_empty() {
        set_base(&array, hold(py, managed)?)?;
    }
    owner::settle();
    Ok((array, element))
}

fn place(tensor: &Tensor, dtype: DType, kind: *mut ffi::PyTypeObject, flags: i32) -> Place<'_> {
    Place {
        kind,
        dtype,
        shape: &tensor.shape,
        strides: &tensor.strides,
        data: tensor.data as *mut u8,
        flags,
    }
}

/// Makes `base` the owner of an array's memory.
pub(crate) fn set_base(array: &Bound<'_, PyAny>, base: Bound<'_, PyAny>) -> PyResult<()> {
    let py = array.py();
    let base = base.into_ptr();
    // SAFETY: a new array without a base; the call takes the reference also when it fails.
    let status = unsafe { PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base) };
    if status < 0 {
        Err(PyErr::fetch(py))
    } else {
        Ok(())
    }
}

/// Make an array over the memory of a capsule: `(array, element type, copied)`.
///
/// The array has the dtype of the bits: `uint16` for bfloat16, `uint8` for 8-bit floats.
#[pyfunction]
pub(crate) fn from_capsule<'py>(
    capsule: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, &'static str, bool)> {
    let managed = consume(capsule)?;
    let copied = managed.is_copied();
    let (array, element) = array_over(capsule.py(), managed, np::array_type())?;
    Ok((array, element.name(), copied))
}

/// The tensor of an unused capsule, which stays its owner.
fn look(
    capsule: &Bound<'_, PyAny>,
) -> Option<Result<ManuallyDrop<Managed>, arrayloom_dlpack::DlpackError>> {
    let versioned = is_named(capsule, VERSIONED);
    if !versioned && !is_named(capsule, LEGACY) {
        return None;
    }
    let pointer = pointer(capsule, if versioned { VERSIONED } else { LEGACY });
    if !versioned {
        // SAFETY: only looked at: nothing of it is dropped here.
        return Some(unsafe { Managed::from_legacy(pointer.cast()) }.map(ManuallyDrop::new));
    }
    let tensor = pointer.cast::<DLManagedTensorVersioned>();
    // SAFETY: a capsule of this name holds such a tensor, and every version starts with its version.
    let version = unsafe { (*tensor).version };
    if version.major != MAJOR {
        return None;
    }
    // SAFETY: as above; of a version that is not given back at once.
    Some(unsafe { Managed::from_versioned(tensor) }.map(ManuallyDrop::new))
}

/// The device type of an unused capsule's tensor.
pub(crate) fn peek(capsule: &Bound<'_, PyAny>) -> Option<i32> {
    let managed = look(capsule)?.ok()?;
    Some(managed.tensor().device.device_type)
}

/// What a capsule says of itself, without taking its tensor:
/// `(versioned, flags, device type, device number, element type, shape, steps in elements or None)`.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a row for Python")]
pub(crate) fn capsule_info(
    capsule: &Bound<'_, PyAny>,
) -> PyResult<(bool, u64, i32, i32, &'static str, Vec<usize>, Vec<isize>)> {
    let versioned = is_named(capsule, VERSIONED);
    let Some(managed) = look(capsule) else {
        return Err(PyTypeError::new_err("not an unused DLPack capsule"));
    };
    let managed = managed.map_err(|what| refused(&what))?;
    let flags = u64::from(managed.read_only()) | (u64::from(managed.is_copied()) << 1);
    let tensor = managed.check().map_err(|what| refused(&what))?;
    Ok((
        versioned,
        flags,
        tensor.device.device_type,
        tensor.device.device_id,
        tensor.element.name(),
        tensor.shape.to_vec(),
        tensor.strides.to_vec(),
    ))
}

/// The same memory as a lazy array; the argument is its owner.
#[pyfunction]
pub(crate) fn adopt<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if array.get_type_ptr() == state::lazy_type() {
        return Ok(array.clone());
    }
    let Some(arr) = Arr::of(array) else {
        return Err(error::internal(py, "only arrays are adopted"));
    };
    let Some(dtype) = arr.dtype() else {
        return Err(PyTypeError::new_err(format!(
            "arrayloom has no elements like those of this array of dtype {}; cast it first",
            array.getattr("dtype")?
        )));
    };
    let writeable = if arr.writeable() {
        flags::NPY_ARRAY_WRITEABLE
    } else {
        0
    };
    let place = Place {
        kind: state::lazy_type(),
        dtype,
        shape: arr.shape(),
        strides: arr.strides(),
        data: arr.addr() as *mut u8,
        flags: writeable,
    };
    let made = np::new_array(py, &place)?;
    // SAFETY: the array is alive.
    set_base(&made, unsafe { lend(py, array.as_ptr()) })?;
    Ok(made)
}
