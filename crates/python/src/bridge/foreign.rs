//! Tensors whose memory the host cannot read: addresses on devices, and handles of buffers.
//!
//! They are only taken apart and put together here. Who may use them, and when, is decided in Python.

use super::export::capsule;
use super::import::{consume, hold, peek, refused};
use super::owner::Owner;
use arrayloom_dlpack::abi::{DLDevice, device};
use arrayloom_dlpack::{Element, Spec};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Address or handle, device type, device number.
type Where = (usize, i32, i32);
/// Element type, extents, steps in bytes.
type Form = (String, Vec<usize>, Vec<isize>);

/// Whether a capsule's tensor lies where the host cannot read. False for whatever is broken.
#[pyfunction]
pub(crate) fn lies_elsewhere(tensor: &Bound<'_, PyAny>) -> bool {
    peek(tensor).is_some_and(|kind| device::is_known(kind) && !device::is_host(kind))
}

/// Owner, address or handle, device such as `cuda:0`, element type, extents, steps in bytes, whether it is read-only.
type Taken<'py> = (
    Bound<'py, PyAny>,
    usize,
    String,
    &'static str,
    Bound<'py, PyTuple>,
    Bound<'py, PyTuple>,
    bool,
);

/// Take the tensor out of a capsule without touching its memory:
/// `(owner, address, device, element type, extents, steps in bytes, read-only)`.
///
/// The producer's deleter runs when the owner dies.
#[pyfunction]
pub(crate) fn take_foreign<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Taken<'py>> {
    let py = tensor.py();
    let managed = consume(tensor)?;
    let read_only = managed.read_only();
    let found = managed.check().map_err(|what| refused(&what))?;
    let kind = found.device.device_type;
    let family = device::name_of(kind).map_or_else(|| format!("device{kind}"), str::to_owned);
    let shape = PyTuple::new(py, &found.shape)?;
    let strides = PyTuple::new(py, &found.strides)?;
    Ok((
        hold(py, managed)?,
        found.data,
        format!("{family}:{}", found.device.device_id),
        found.element.name(),
        shape,
        strides,
        read_only,
    ))
}

/// Make a capsule for memory of a device, which keeps `owner` until the consumer has done with it.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "arguments of Python functions are extracted"
)]
pub(crate) fn lend_foreign<'py>(
    owner: &Bound<'py, PyAny>,
    place: Where,
    form: Form,
    flags: u64,
    versioned: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let (name, shape, strides) = &form;
    let element = Element::from_name(name)
        .ok_or_else(|| PyTypeError::new_err(format!("DLPack has no elements like {name}")))?;
    let spec = Spec {
        data: place.0,
        device: DLDevice {
            device_type: place.1,
            device_id: place.2,
        },
        element,
        shape,
        strides,
        flags,
    };
    capsule(owner.py(), Owner::new(owner), &spec, versioned)
}
