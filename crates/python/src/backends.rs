//! Every device by name: the one place that knows them all.

use arrayloom_device::Device;
use arrayloom_engine::Settings;
use arrayloom_reference::Reference;
use pyo3::prelude::*;
use std::sync::Arc;

/// A device that can be asked for by name.
struct Backend {
    name: &'static str,
    open: fn(Python<'_>, &Settings) -> PyResult<Arc<dyn Device>>,
}

/// All devices, the best first.
const BACKENDS: [Backend; 1] = [Backend {
    name: "reference",
    open: |_, _| Ok(Arc::new(Reference::new())),
}];

/// Opens the device that the settings name; an unknown name gives the best device.
pub(crate) fn open(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let named = BACKENDS.iter().find(|b| b.name == settings.backend);
    (named.unwrap_or(&BACKENDS[0]).open)(py, settings)
}
