//! Tensors whose memory the host cannot read: addresses on devices, and handles of buffers.
//!
//! They are only taken apart and put together here. Who may use them, and when, is decided in Python.

use super::export::capsule;
use super::import::{consume, hold, peek, refused};
use arrayloom_dlpack::abi::{DLDevice, device};
use arrayloom_dlpack::{Element, Spec};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Address or handle, device type, device number.
type Where = (usize, i32, i32);
/// Element type, extents, steps in bytes.
type Form = (String, Vec<usize>, Vec<isize>);

/// Whether a capsule's tensor lies where the host cannot read. False for whatever is broken.
#[pyfunction]
pub(crate) fn lies_elsewhere(tensor: &Bound<'_, PyAny>) -> bool {
    peek(tensor).is_some_and(|kind| device::is_known(kind) && !device::is_host(kind))
}

/// Take the tensor out of a capsule without touching its memory: `(owner, place, form, read-only)`.
///
/// The producer's deleter runs when the owner dies.
#[pyfunction]
pub(crate) fn take_foreign<'py>(
    tensor: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyAny>, Where, Form, bool)> {
    let managed = consume(tensor)?;
    let found = managed.check().map_err(|what| refused(&what))?;
    let place = (found.data, found.device.device_type, found.device.device_id);
    let form = (
        found.element.name().to_owned(),
        found.shape.to_vec(),
        found.strides.to_vec(),
    );
    let read_only = managed.read_only();
    Ok((hold(tensor.py(), managed)?, place, form, read_only))
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
    capsule(owner, &spec, versioned)
}
