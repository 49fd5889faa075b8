//! The exchange table of DLPack 1.3: functions of an array type that need no Python call.
//!
//! Ours is for consumers; torch's is used to go to and from its tensors.
#![expect(
    unsafe_code,
    reason = "functions that C calls, and functions of others"
)]

use super::export::{ready, spec_of};
use super::import::{array_over, refused};
use super::owner::Owner;
use crate::np::{self, Arr};
use crate::slot::{lend, owned};
use crate::state;
use arrayloom_dlpack::abi::{
    DLDevice, DLManagedTensorVersioned, DLPackExchangeAPI, DLPackExchangeAPIHeader, DLPackVersion,
    DLTensor, MAJOR, MINOR, READ_ONLY, SetError, device,
};
use arrayloom_dlpack::{Element, Managed, Spec, check, export_versioned};
use arrayloom_ir::SlotId;
use arrayloom_types::contiguous_strides;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use std::ffi::{CStr, CString, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

const CAPSULE: &CStr = c"dlpack_exchange_api";
const ATTRIBUTE: &str = "__dlpack_c_exchange_api__";

/// A table is only read.
struct Shared(DLPackExchangeAPI);

// SAFETY: nothing in it changes, and all functions may be called from any thread.
unsafe impl Sync for Shared {}

static OURS: Shared = Shared(DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: DLPackVersion {
            major: MAJOR,
            minor: MINOR,
        },
        prev_api: ptr::null_mut(),
    },
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(give),
    managed_tensor_to_py_object_no_sync: Some(take),
    // A borrowed tensor would need its steps in elements inside the array object.
    dltensor_from_py_object_no_sync: None,
    current_work_stream: Some(no_stream),
});

/// Puts our table on our type.
pub(crate) fn init(py: Python<'_>) -> PyResult<()> {
    let table = (&raw const OURS.0).cast_mut().cast::<c_void>();
    // SAFETY: the table and the name are static.
    let capsule = owned(py, unsafe {
        ffi::PyCapsule_New(table, CAPSULE.as_ptr(), None)
    })?;
    state::state()
        .lazy_type
        .bind(py)
        .setattr(ATTRIBUTE, capsule)
}

/// The address of a type's table of our major version, or 0.
pub(crate) fn of_type(kind: &Bound<'_, PyAny>) -> PyResult<usize> {
    let Some(capsule) = kind.getattr_opt(ATTRIBUTE)? else {
        return Ok(0);
    };
    // SAFETY: the call checks any object.
    if unsafe { ffi::PyCapsule_IsValid(capsule.as_ptr(), CAPSULE.as_ptr()) } != 1 {
        return Ok(0);
    }
    // SAFETY: the name was checked.
    let found = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), CAPSULE.as_ptr()) };
    let mut header = found.cast::<DLPackExchangeAPIHeader>();
    while !header.is_null() {
        // SAFETY: tables are static, and every version starts with this header.
        let current = unsafe { &*header };
        if current.version.major == MAJOR {
            return Ok(header as usize);
        }
        header = current.prev_api;
    }
    Ok(0)
}

fn table_at<'a>(table: usize) -> Option<&'a DLPackExchangeAPI> {
    // SAFETY: addresses come from `of_type`: null, or a static table of this version.
    unsafe { (table as *const DLPackExchangeAPI).as_ref() }
}

/// A torch tensor as its table describes it; `None` where torch must be asked first.
fn described(tensor: &Bound<'_, PyAny>, table: usize) -> Option<Managed> {
    let give = table_at(table).and_then(|t| t.managed_tensor_from_py_object_no_sync)?;
    let mut found = ptr::null_mut();
    // SAFETY: torch's own function with one of its tensors.
    let status = unsafe { give(tensor.as_ptr().cast(), &raw mut found) };
    if status != 0 {
        // The slow way says what is wrong.
        drop(PyErr::take(tensor.py()));
        return None;
    }
    // SAFETY: the function gave us the tensor. One that means nothing, such as one without memory, is torch's to explain.
    unsafe { Managed::from_versioned(found) }.ok()
}

/// What a torch tensor lends.
pub(crate) enum Seen<'py> {
    /// Memory of the host.
    Here(Bound<'py, PyAny>, Element),
    /// Memory of a device.
    There(DLDevice),
}

/// The memory of a torch tensor, as an array where the host reads it; `None` where torch must be asked first.
pub(crate) fn seen<'py>(tensor: &Bound<'py, PyAny>, table: usize) -> PyResult<Option<Seen<'py>>> {
    let Some(managed) = described(tensor, table) else {
        return Ok(None);
    };
    let place = managed.tensor().device;
    if !honest(tensor, managed.tensor())? {
        return Ok(None);
    }
    if place.device_type != device::CPU {
        return Ok(Some(Seen::There(place)));
    }
    match array_over(tensor.py(), managed, np::array_type()) {
        Ok((array, element)) => Ok(Some(Seen::Here(array, element))),
        // A tensor without memory, for instance, of which the planner knows what to say.
        Err(error) if error.is_instance_of::<PyBufferError>(tensor.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Where a torch tensor lies, whatever its values are.
pub(crate) fn place_of(tensor: &Bound<'_, PyAny>, table: usize) -> Option<DLDevice> {
    described(tensor, table).map(|managed| managed.tensor().device)
}

/// False if the tensor's values are not its memory's: the table skips torch's own checks.
fn honest(tensor: &Bound<'_, PyAny>, view: &DLTensor) -> PyResult<bool> {
    let py = tensor.py();
    let (code, bits) = (view.dtype.code, view.dtype.bits);
    if code <= 1 && bits == 8 {
        return is_of_bytes(tensor);
    }
    if code == 5 && bits == 32 {
        // NumPy has no such numbers, so they need a cast.
        return Ok(false);
    }
    if !(matches!(code, 2 | 4 | 5) || (7..=14).contains(&code)) {
        return Ok(true);
    }
    if tensor
        .getattr(pyo3::intern!(py, "requires_grad"))?
        .is_truthy()?
    {
        return Ok(false);
    }
    let says = |name| -> PyResult<bool> { tensor.call_method0(name)?.is_truthy() };
    if code == 5 && says(pyo3::intern!(py, "is_conj"))? {
        return Ok(false);
    }
    Ok(!says(pyo3::intern!(py, "is_neg"))?)
}

/// True for integers of eight bits: the table takes those of fewer bits, which torch has in bytes, for such.
fn is_of_bytes(tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
    static WHOLE: PyOnceLock<[Py<PyAny>; 2]> = PyOnceLock::new();
    let py = tensor.py();
    let whole = WHOLE.get_or_try_init(py, || {
        let torch = py.import("torch")?;
        let found = |name| torch.getattr(name).map(Bound::unbind);
        PyResult::Ok([found("uint8")?, found("int8")?])
    })?;
    let dtype = tensor.getattr(pyo3::intern!(py, "dtype"))?;
    Ok(whole.iter().any(|known| dtype.is(known)))
}

/// The memory of a torch tensor: `(array, element type)`, or None where torch must be asked first.
#[pyfunction]
pub(crate) fn torch_view<'py>(
    tensor: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyAny>, &'static str)>> {
    let known = super::kinds::of(tensor)?;
    Ok(match seen(tensor, known.table)? {
        Some(Seen::Here(array, element)) => Some((array, element.name())),
        _ => None,
    })
}

/// A tensor over an array's memory, whose value is there, by the exchange table of a type; `None` if there
/// is no such table.
pub(crate) fn give_to<'py>(
    array: &Bound<'py, PyAny>,
    spec: &Spec<'_>,
    table: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = array.py();
    let take = table_at(table).and_then(|t| t.managed_tensor_to_py_object_no_sync);
    let Some(take) = take else {
        return Ok(None);
    };
    let tensor = export_versioned(spec, Owner::waiting(array)).map_err(|what| refused(&what))?;
    let mut made = ptr::null_mut();
    // SAFETY: the function takes over the tensor, also if it fails.
    let status = unsafe { take(tensor, &raw mut made) };
    if status != 0 {
        return Err(PyErr::fetch(py));
    }
    owned(py, made.cast()).map(Some)
}

/// Make an object of a type over an array's memory, by the type's exchange table; None without one.
#[pyfunction]
#[pyo3(signature = (array, kind, element=None, flags=0))]
pub(crate) fn to_table<'py>(
    array: &Bound<'py, PyAny>,
    kind: &Bound<'py, PyAny>,
    element: Option<&str>,
    flags: u64,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let element = element.map(|name| {
        let found = Element::from_name(name);
        found.ok_or_else(|| PyTypeError::new_err(format!("DLPack has no elements like {name}")))
    });
    let Some(arr) = Arr::of(array) else {
        return Ok(None);
    };
    ready(array.py(), arr)?;
    let spec = spec_of(arr, element.transpose()?, flags)?;
    give_to(array, &spec, of_type(kind)?)
}

/// Runs the body of a function of our table: an error is left to the interpreter.
fn guarded(body: impl FnOnce(Python<'_>) -> PyResult<()>) -> c_int {
    // SAFETY: the functions of the table are called with the interpreter's lock, by its definition.
    let py = unsafe { Python::assume_attached() };
    let result = catch_unwind(AssertUnwindSafe(|| body(py)));
    match result {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => {
            error.restore(py);
            -1
        }
        Err(_) => {
            crate::error::internal(py, "a check inside arrayloom failed").restore(py);
            -1
        }
    }
}

unsafe extern "C" fn give(object: *mut c_void, out: *mut *mut DLManagedTensorVersioned) -> c_int {
    guarded(|py| {
        // SAFETY: the caller lends an object.
        let object = unsafe { lend(py, object.cast::<PyObject>()) };
        let Some(arr) = Arr::of(&object) else {
            return Err(PyTypeError::new_err("not an array of arrayloom"));
        };
        ready(py, arr)?;
        let flags = if arr.writeable() { 0 } else { READ_ONLY };
        let tensor = export_versioned(&spec_of(arr, None, flags)?, Owner::new(&object));
        let tensor = tensor.map_err(|what| refused(&what))?;
        // SAFETY: the caller gives a place for the result.
        unsafe { *out = tensor };
        Ok(())
    })
}

unsafe extern "C" fn take(tensor: *mut DLManagedTensorVersioned, out: *mut *mut c_void) -> c_int {
    guarded(|py| {
        // SAFETY: the caller gives the tensor away.
        let managed = unsafe { Managed::from_versioned(tensor) }.map_err(|what| refused(&what))?;
        let (array, element) = array_over(py, managed, state::lazy_type())?;
        if matches!(element.code(), 4 | 7..) {
            return Err(PyBufferError::new_err(format!(
                "arrayloom has no elements like {}; cast first",
                element.name()
            )));
        }
        // SAFETY: the caller gives a place for the result.
        unsafe { *out = array.into_ptr().cast() };
        Ok(())
    })
}

/// Memory of the engine that a consumer holds.
struct Block(SlotId);

impl Drop for Block {
    fn drop(&mut self) {
        state::engine().release(self.0);
    }
}

unsafe extern "C" fn allocate(
    like: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    context: *mut c_void,
    report: Option<SetError>,
) -> c_int {
    // SAFETY: the caller lends a prototype, complete but for its memory.
    let like = unsafe { &*like };
    match catch_unwind(AssertUnwindSafe(|| memory_like(like))) {
        Ok(Ok(tensor)) => {
            // SAFETY: the caller gives a place for the result.
            unsafe { *out = tensor };
            0
        }
        Ok(Err(text)) => fail(context, report, &text),
        Err(_) => fail(context, report, "a check inside arrayloom failed"),
    }
}

fn fail(context: *mut c_void, report: Option<SetError>, text: &str) -> c_int {
    if let (Some(report), Ok(text)) = (report, CString::new(text)) {
        // SAFETY: the caller's own function with its own context.
        unsafe { report(context, c"MemoryError".as_ptr(), text.as_ptr()) };
    }
    -1
}

fn memory_like(like: &DLTensor) -> Result<*mut DLManagedTensorVersioned, String> {
    let mut wanted = *like;
    // The prototype's memory is never looked at: any address that is not null will do.
    wanted.data = ptr::with_exposed_provenance_mut(64);
    wanted.strides = ptr::null_mut();
    wanted.byte_offset = 0;
    // SAFETY: extents as the prototype says, no steps.
    let tensor = unsafe { check(&wanted) }.map_err(|what| what.to_string())?;
    let host = DLDevice {
        device_type: device::CPU,
        device_id: 0,
    };
    if tensor.device != host {
        return Err(format!("no memory on device {:?}", tensor.device));
    }
    let bytes = tensor.len() * tensor.element.size();
    let block = state::engine().new_ready(bytes.max(1), false);
    let block = block.map_err(|error| error.to_string())?;
    let strides = contiguous_strides(&tensor.shape, tensor.element.size());
    let spec = Spec {
        data: block.addr as usize,
        device: host,
        element: tensor.element,
        shape: &tensor.shape,
        strides: &strides,
        flags: 0,
    };
    export_versioned(&spec, Block(block.slot)).map_err(|what| what.to_string())
}

unsafe extern "C" fn no_stream(_kind: i32, _number: i32, out: *mut *mut c_void) -> c_int {
    // SAFETY: the caller gives a place for the result.
    unsafe { *out = ptr::null_mut() };
    0
}
