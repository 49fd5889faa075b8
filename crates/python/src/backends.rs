//! Every device by name: the one place that knows them all.

use crate::host_loops;
use arrayloom_cpu::{Cpu, CpuConfig};
use arrayloom_device::Device;
use arrayloom_engine::Settings;
use arrayloom_reference::Reference;
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};

/// A device that can be asked for by name.
struct Backend {
    name: &'static str,
    open: fn(Python<'_>, &Settings) -> PyResult<Arc<dyn Device>>,
}

/// All devices, the best first.
const BACKENDS: [Backend; 2] = [
    Backend {
        name: "cpu",
        open: open_cpu,
    },
    Backend {
        name: "reference",
        open: |_, _| Ok(Arc::new(Reference::new())),
    },
];

/// Opens the device that the settings name; an unknown name gives the best device.
pub(crate) fn open(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let named = BACKENDS.iter().find(|b| b.name == settings.backend);
    (named.unwrap_or(&BACKENDS[0]).open)(py, settings)
}

fn open_cpu(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let config = CpuConfig {
        threads: settings.threads,
        loops: host_loops::collect(py)?,
        ..CpuConfig::default()
    };
    let cpu = Cpu::open(config);
    CPU.get_or_init(|| Arc::clone(&cpu));
    Ok(cpu)
}

static CPU: OnceLock<Arc<Cpu>> = OnceLock::new();

/// The CPU device, if it is in use.
pub(crate) fn cpu() -> Option<&'static Cpu> {
    CPU.get().map(Arc::as_ref)
}
