//! Every device by name: the one place that knows them all.

use crate::error::to_python;
use crate::host_loops::{self, Replaced};
use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_device::Device;
use arrayloom_engine::{EngineError, Settings};
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

/// Opens the device that the settings name, or the best one.
///
/// # Errors
/// `SettingError` for a name that no device has.
pub(crate) fn open(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let names = BACKENDS.map(|b| b.name);
    let at = choose("ARRAYLOOM_BACKEND", &settings.backend, &names);
    let at = at.map_err(|error| to_python(py, &error))?;
    (BACKENDS[at.unwrap_or(0)].open)(py, settings)
}

/// The place of `value` among `names`; nothing for an empty value.
fn choose(
    variable: &'static str,
    value: &str,
    names: &[&str],
) -> Result<Option<usize>, EngineError> {
    if value.is_empty() {
        return Ok(None);
    }
    let at = names.iter().position(|name| *name == value);
    at.map(Some).ok_or_else(|| EngineError::BadSetting {
        variable,
        value: value.to_owned(),
        takes: names.join(", "),
    })
}

fn open_cpu(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let sets = [Isa::Avx512, Isa::Avx2, Isa::Baseline];
    let isa = choose("ARRAYLOOM_ISA", &settings.isa, &sets.map(Isa::name));
    let math = choose("ARRAYLOOM_MATH", &settings.math, &["numpy", "own"])
        .map_err(|error| to_python(py, &error))?;
    let config = CpuConfig {
        isa: isa
            .map_err(|error| to_python(py, &error))?
            .map(|at| sets[at]),
        tile_elems: (settings.tile > 0).then_some(settings.tile),
        threads: settings.threads,
        sweep_rows: (settings.sweep_rows > 0).then_some(settings.sweep_rows),
        jit: settings.jit,
        loops: host_loops::collect(py, replaced(py, math)?)?,
        ..CpuConfig::default()
    };
    let cpu = Cpu::open(config);
    CPU.get_or_init(|| Arc::clone(&cpu));
    Ok(cpu)
}

/// Whose loops the CPU device replaces, by the number of the choice among "numpy" and "own".
fn replaced(py: Python<'_>, math: Option<usize>) -> PyResult<Replaced> {
    match math {
        None => Replaced::slow_ones(py),
        Some(0) => Ok(Replaced::None),
        Some(_) => Ok(Replaced::All),
    }
}

static CPU: OnceLock<Arc<Cpu>> = OnceLock::new();

/// The CPU device, if it is in use.
pub(crate) fn cpu() -> Option<&'static Cpu> {
    CPU.get().map(Arc::as_ref)
}
