//! From device to device, where the source and the target both know it: the target's own import is called.
//!
//! What is done here is what the planner would do with no keywords, or with a device that the array lies on.
//! Whatever has a peculiarity goes to the planner: a stream that was named, another current device,
//! arrays that need a closer look.
#![expect(unsafe_code, reason = "reads a context variable and types by address")]

use super::entry::{keep, kept};
use super::export::HOST;
use super::kinds::Known;
use super::rules::{Asked, Hook, Lends, Rule, Takes};
use super::table;
use crate::np;
use crate::slot::{checked, owned};
use crate::state;
use arrayloom_dlpack::abi::{DLDevice, device};
use pyo3::exceptions::PyException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyNotImplemented, PyString, PyTuple, PyTupleMethods, PyType};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The context variable with the streams that blocks have named.
static STREAMS: AtomicUsize = AtomicUsize::new(0);
/// The function that orders a target's work behind a source's.
static ORDER: AtomicUsize = AtomicUsize::new(0);
/// The type of arrays that keep memory of devices for others.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// Say what the order of work on devices is decided by: `streams` has the streams that blocks have named,
/// `order(x, source, target, place)` waits where nobody else does, `kept` is the type of arrays that keep memory of devices
/// for others.
#[pyfunction]
pub(crate) fn set_abroad(
    streams: &Bound<'_, PyAny>,
    order: &Bound<'_, PyAny>,
    kept: &Bound<'_, PyType>,
) {
    keep(&STREAMS, streams);
    keep(&ORDER, order);
    keep(&KEPT, kept.as_any());
}

/// What of a kind's description concerns memory of devices.
#[derive(Debug)]
pub(crate) struct Abroad {
    /// The whole description.
    spec: Py<PyAny>,
    /// Bits of DLPack's device types on which the kind has arrays.
    families: u32,
    /// A function that says on which device of the only family besides the host an array lies.
    place: Option<(i32, Py<PyAny>)>,
    /// The kind's own import.
    take: Option<Asked>,
    /// A function that says which device is the current one; the kind makes one current for each import if
    /// there is `None`.
    current: Option<Asked>,
    enters: bool,
    asks_stream: bool,
    orders_exports: bool,
}

fn bit(family: i32) -> u32 {
    u32::try_from(family).map_or(0, |family| 1_u32.checked_shl(family).unwrap_or(0))
}

impl Abroad {
    /// Reads a specification.
    pub(crate) fn read(spec: &Bound<'_, PyAny>, hook: Hook<'_>) -> PyResult<Abroad> {
        let mut families = Vec::new();
        for name in spec.getattr("devices")?.try_iter()? {
            // Families that DLPack does not number are the planner's.
            families.extend(device::number_of(&name?.extract::<String>()?));
        }
        let mut far = families.iter().filter(|&&family| family != device::CPU);
        let place = match (far.next(), far.next(), hook("place")?) {
            (Some(&family), None, Some(place)) => Some((family, place)),
            _ => None,
        };
        Ok(Abroad {
            spec: spec.clone().unbind(),
            families: families.iter().fold(0, |bits, &family| bits | bit(family)),
            place,
            take: hook("take")?.map(Asked::new),
            current: hook("current")?.map(Asked::new),
            enters: hook("enter")?.is_some(),
            asks_stream: spec.getattr("asks_stream")?.extract()?,
            orders_exports: spec.getattr("orders_exports")?.extract()?,
        })
    }

    /// Whether the kind has arrays on devices of this type.
    #[inline]
    pub(crate) fn knows(&self, family: i32) -> bool {
        self.families & bit(family) != 0
    }

    /// Whether the kind imports memory of devices by a function of its own.
    #[inline]
    pub(crate) fn takes(&self) -> bool {
        self.take.is_some()
    }

    /// Whether two kinds have arrays on devices of one type, other than the host.
    #[inline]
    pub(crate) fn shares_family(&self, other: &Abroad) -> bool {
        self.families & other.families & !bit(device::CPU) != 0
    }

    /// Whether a device is the current one, or the kind does not ask for that.
    fn is_current(&self, py: Python<'_>, place: DLDevice) -> PyResult<bool> {
        if !self.enters || !is_ordered(place) {
            return Ok(true);
        }
        let Some(current) = &self.current else {
            return Ok(false);
        };
        Ok(current.get(py)?.call0()?.extract::<i32>()? == place.device_id)
    }
}

/// Whether arrays of a device belong to a stream.
fn is_ordered(place: DLDevice) -> bool {
    matches!(place.device_type, device::CUDA | device::ROCM)
}

/// A device by its name, such as `cuda:0`; `None` for names that the planner must read.
pub(crate) fn device_of(name: &Bound<'_, PyAny>) -> Option<DLDevice> {
    let text = name.cast_exact::<PyString>().ok()?.to_str().ok()?;
    let (family, number) = text.split_once(':').unwrap_or((text, "0"));
    if family == "cpu" {
        return (text == "cpu").then_some(HOST);
    }
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(DLDevice {
        device_type: device::number_of(family)?,
        device_id: number.parse().ok()?,
    })
}

/// Where an array lies, `None` if the planner must look.
pub(crate) fn place_of(
    x: &Bound<'_, PyAny>,
    known: Known,
    rule: &Rule,
) -> PyResult<Option<DLDevice>> {
    match &rule.lends {
        Lends::Numpy | Lends::Ours => {
            let kind = x.get_type_ptr();
            let plain = kind == np::array_type() || kind == state::lazy_type();
            Ok(plain.then_some(HOST))
        }
        Lends::Table => Ok(table::place_of(x, known.table)),
        _ => told(x, rule),
    }
}

/// Where an array lies, as its kind's hook says.
pub(crate) fn told(x: &Bound<'_, PyAny>, rule: &Rule) -> PyResult<Option<DLDevice>> {
    let py = x.py();
    let Some((family, place)) = &rule.abroad.place else {
        return Ok(None);
    };
    let number = match place.bind(py).call1((x,)) {
        Ok(number) => number,
        // The planner knows why, and says so.
        Err(error) if error.is_instance_of::<PyException>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    if number.is(PyNotImplemented::get(py)) {
        return Ok(None);
    }
    Ok(Some(DLDevice {
        device_type: *family,
        device_id: number.extract()?,
    }))
}

/// Whether it is a usual call that a kind takes memory of this device as it is.
fn is_wanted(to: &Rule, place: DLDevice, asked: Option<DLDevice>) -> bool {
    if matches!(to.takes, Takes::Ours) {
        // Arrays of ours compute on the host. On another device they only lend memory on.
        return asked == Some(place);
    }
    to.abroad.knows(place.device_type) && asked.is_none_or(|asked| asked == place)
}

/// Hands an array that lies on a device to a kind that knows the device; `None` if the planner is needed.
pub(crate) fn hand_over<'py>(
    x: &Bound<'py, PyAny>,
    from: &Rule,
    place: DLDevice,
    to: &Rule,
    asked: Option<DLDevice>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    let Some(take) = ready(py, place, to, asked)? else {
        return Ok(None);
    };
    let ordered = is_ordered(place) && to.abroad.asks_stream && from.abroad.orders_exports;
    if !ordered {
        let family = device::name_of(place.device_type).unwrap_or_default();
        let name = format!("{family}:{}", place.device_id);
        kept(py, &ORDER)?.call1((x, &from.abroad.spec, &to.abroad.spec, name))?;
    }
    Ok(done(take.get(py)?.call1((x,))?))
}

/// The target's import, if it can be called just so.
fn ready<'a>(
    py: Python<'_>,
    place: DLDevice,
    to: &'a Rule,
    asked: Option<DLDevice>,
) -> PyResult<Option<&'a Asked>> {
    let Some(take) = &to.abroad.take else {
        return Ok(None);
    };
    let usual =
        is_wanted(to, place, asked) && !is_stream_named(py)? && to.abroad.is_current(py, place)?;
    Ok(usual.then_some(take))
}

fn done(made: Bound<'_, PyAny>) -> Option<Bound<'_, PyAny>> {
    let py = made.py();
    (!made.is(PyNotImplemented::get(py))).then_some(made)
}

/// The same for an array that keeps memory of a device for others.
pub(crate) fn hand_on<'py>(
    x: &Bound<'py, PyAny>,
    to: &Rule,
    asked: Option<DLDevice>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = x.py();
    if x.get_type_ptr() as usize != KEPT.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let Some(place) = device_of(&x.getattr(pyo3::intern!(py, "device"))?) else {
        return Ok(None);
    };
    let Some(take) = ready(py, place, to, asked)? else {
        return Ok(None);
    };
    if !to.abroad.asks_stream {
        x.call_method0(pyo3::intern!(py, "wait"))?;
    }
    Ok(done(take.get(py)?.call1((x,))?))
}

/// Whether a block names a stream for any device.
fn is_stream_named(py: Python<'_>) -> PyResult<bool> {
    let variable = kept(py, &STREAMS)?;
    let mut value = ptr::null_mut();
    // SAFETY: the variable is a context variable, which is checked; no default is given.
    let status =
        unsafe { ffi::PyContextVar_Get(variable.as_ptr(), ptr::null_mut(), &raw mut value) };
    checked(py, status)?;
    if value.is_null() {
        return Ok(false);
    }
    let named = owned(py, value)?;
    Ok(!named.cast::<PyTuple>().is_ok_and(PyTupleMethods::is_empty))
}
