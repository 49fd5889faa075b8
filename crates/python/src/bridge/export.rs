//! Arrays that go out: NumPy's and ours as DLPack capsules of either form.
#![expect(unsafe_code, reason = "makes capsules")]

use super::import::{LEGACY, VERSIONED, refused};
use super::owner::Owner;
use crate::methods::Call;
use crate::np::Arr;
use crate::sync;
use arrayloom_dlpack::abi::{DLDataType, DLDevice, IS_COPIED, READ_ONLY, device};
use arrayloom_dlpack::{Element, Managed, Spec, export_legacy, export_versioned};
use arrayloom_types::{DType, Kind};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The host.
pub(crate) const HOST: DLDevice = DLDevice {
    device_type: device::CPU,
    device_id: 0,
};

/// DLPack's element for a dtype.
pub(crate) fn element_of(dtype: DType) -> Result<Element, arrayloom_dlpack::DlpackError> {
    let code = match dtype.kind() {
        Kind::Bool => 6,
        Kind::Signed => 0,
        Kind::Unsigned => 1,
        Kind::Float => 2,
        Kind::Complex => 5,
    };
    Element::from_dl(DLDataType {
        code,
        bits: u8::try_from(dtype.size() * 8).unwrap_or(0),
        lanes: 1,
    })
}

/// What is exported of an array whose value is there.
pub(crate) fn spec_of<'a>(array: Arr, element: Option<Element>, flags: u64) -> PyResult<Spec<'a>> {
    let element = match (element, array.dtype()) {
        (Some(element), _) => element,
        (None, Some(dtype)) => element_of(dtype).map_err(|what| refused(&what))?,
        (None, None) => {
            return Err(PyBufferError::new_err(
                "DLPack has no elements like those of this array (its byte order or dtype); cast first",
            ));
        }
    };
    Ok(Spec {
        data: array.addr(),
        device: HOST,
        element,
        shape: array.shape(),
        strides: array.strides(),
        flags,
    })
}

unsafe extern "C" fn drop_versioned(capsule: *mut PyObject) {
    // SAFETY: the destructor gets its own capsule; another name means that its tensor was taken.
    if unsafe { ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) } == 1 {
        // SAFETY: the name was checked.
        let tensor = unsafe { ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()) };
        // SAFETY: nobody took the tensor, so it is still ours.
        drop(unsafe { Managed::from_versioned(tensor.cast()) });
    }
}

unsafe extern "C" fn drop_legacy(capsule: *mut PyObject) {
    // SAFETY: as above.
    if unsafe { ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) } == 1 {
        // SAFETY: the name was checked.
        let tensor = unsafe { ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()) };
        // SAFETY: as above.
        drop(unsafe { Managed::from_legacy(tensor.cast()) });
    }
}

/// A capsule that lends memory and keeps its owner.
pub(crate) fn capsule<'py>(
    py: Python<'py>,
    owner: Owner,
    spec: &Spec<'_>,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let made = if versioned {
        let tensor = export_versioned(spec, owner).map_err(|what| refused(&what))?;
        // SAFETY: the destructor frees the tensor unless somebody takes it.
        unsafe { ffi::PyCapsule_New(tensor.cast(), VERSIONED.as_ptr(), Some(drop_versioned)) }
    } else {
        let tensor = export_legacy(spec, owner).map_err(|what| refused(&what))?;
        // SAFETY: as above.
        unsafe { ffi::PyCapsule_New(tensor.cast(), LEGACY.as_ptr(), Some(drop_legacy)) }
    };
    crate::slot::owned(py, made)
}

/// Make a DLPack capsule over the memory of a NumPy array.
///
/// `element` names the elements where the dtype cannot: `bfloat16` for an array of `uint16`. The old
/// form carries no flags, so read-only memory goes out without a mark.
#[pyfunction]
#[pyo3(signature = (array, versioned, flags=0, element=None))]
pub(crate) fn to_capsule<'py>(
    array: &Bound<'py, PyAny>,
    versioned: bool,
    flags: u64,
    element: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let Some(arr) = Arr::of(array) else {
        return Err(PyTypeError::new_err("only NumPy arrays become capsules"));
    };
    let element = element.map(|name| {
        let found = Element::from_name(name);
        found.ok_or_else(|| PyTypeError::new_err(format!("DLPack has no elements like {name}")))
    });
    ready(array.py(), arr)?;
    let spec = spec_of(arr, element.transpose()?, flags)?;
    capsule(array.py(), Owner::new(array), &spec, versioned)
}

/// Brings an array's value to its address, for readers and writers that we do not see.
pub(crate) fn ready(py: Python<'_>, array: Arr) -> PyResult<()> {
    if array.writeable() {
        sync::write(py, array)
    } else {
        sync::read(py, array)
    }
}

/// The arguments of `__dlpack__`.
#[derive(Default)]
struct Wanted<'py> {
    stream: Option<Bound<'py, PyAny>>,
    max_version: Option<(u32, u32)>,
    dl_device: Option<(i32, i32)>,
    copy: Option<bool>,
}

impl<'py> Wanted<'py> {
    fn read(words: Option<&Bound<'py, PyDict>>) -> PyResult<Wanted<'py>> {
        let mut wanted = Wanted::default();
        for (name, value) in words.into_iter().flatten() {
            let text = name.extract::<String>()?;
            if value.is_none() {
                continue;
            }
            match text.as_str() {
                "stream" => wanted.stream = Some(value),
                "max_version" => wanted.max_version = Some(value.extract()?),
                "dl_device" => wanted.dl_device = Some(value.extract()?),
                "copy" => wanted.copy = Some(value.extract()?),
                _ => {
                    let text = format!("__dlpack__() got an unexpected keyword argument '{text}'");
                    return Err(PyTypeError::new_err(text));
                }
            }
        }
        Ok(wanted)
    }
}

/// `__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)` of our arrays.
pub(crate) fn dlpack<'py>(call: &Call<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    if !call.args.is_empty() {
        return Err(PyTypeError::new_err(
            "__dlpack__() takes keyword arguments only",
        ));
    }
    let wanted = Wanted::read(call.kwargs)?;
    if let Some(stream) = &wanted.stream
        && stream.extract::<i64>().ok() != Some(-1)
    {
        return Err(PyBufferError::new_err(format!(
            "memory of the host has no stream {stream}; pass None"
        )));
    }
    if let Some(place) = wanted.dl_device
        && place != (device::CPU, 0)
    {
        return Err(PyBufferError::new_err(format!(
            "this array lies on the host, DLPack device (1, 0), not on {place:?}; convert it first"
        )));
    }
    let versioned = wanted.max_version.is_some_and(|(major, _)| major >= 1);
    let copied = wanted.copy == Some(true);
    let array = if copied {
        call.this.call_method0("copy")?
    } else {
        call.this.clone()
    };
    let Some(arr) = Arr::of(&array) else {
        return Err(PyTypeError::new_err("a method of arrays"));
    };
    ready(call.this.py(), arr)?;
    let mut flags = if copied { IS_COPIED } else { 0 };
    if !arr.writeable() {
        if !versioned {
            return Err(PyBufferError::new_err(
                "DLPack before 1.0 cannot say that memory is read-only; pass max_version=(1, 0) or a copy",
            ));
        }
        flags |= READ_ONLY;
    }
    let spec = spec_of(arr, None, flags)?;
    capsule(call.this.py(), Owner::new(&array), &spec, versioned)
}

/// The same memory as a plain `numpy.ndarray`, its value computed.
#[pyfunction]
pub(crate) fn plain<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let Some(arr) = Arr::of(array) else {
        return Err(PyTypeError::new_err("not an array"));
    };
    ready(array.py(), arr)?;
    crate::np::plain_view(array)
}

/// How many consumers hold memory of an array by DLPack; 0 for memory that is not ours.
#[pyfunction]
pub(crate) fn exports(array: &Bound<'_, PyAny>) -> usize {
    let found = Arr::of(array).and_then(|array| crate::state::engine().slot_at(array.addr()));
    found.map_or(0, |(slot, _)| super::owner::exports(slot))
}
