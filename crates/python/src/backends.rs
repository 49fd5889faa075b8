//! Every device by name: the one place that knows them all.

use crate::error::to_python;
use crate::host_loops;
use crate::pydevice::{Callers, PyDevice};
use arrayloom_cpu::{Cpu, CpuConfig, Isa};
use arrayloom_cuda::{self as cuda, Cuda};
use arrayloom_device::{Device, DeviceError, Null, Staged, abi};
use arrayloom_engine::{EngineError, Settings};
use arrayloom_memory::{Limit, MemoryResource, host_memory, physical_memory};
use arrayloom_opencl::{self as opencl, OpenCl};
use arrayloom_reference::{Reference, Sim, SimConfig};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The device that the settings name, seen as one in the memory of the host; the CPU if they name none.
///
/// # Errors
/// `SettingError` for a name that no device has.
pub(crate) fn open(py: Python<'_>, settings: &Settings) -> PyResult<Arc<dyn Device>> {
    let cpu = open_cpu(py, settings)?;
    CPU.get_or_init(|| Arc::clone(&cpu));
    if matches!(settings.backend.as_str(), "" | "cpu") {
        return Ok(cpu);
    }
    let device = find(py, &settings.backend, Callers::WithLock)?;
    let staged = STAGED.get_or_init(|| {
        let in_python = PYTHON.load(Relaxed);
        Arc::new(if in_python {
            Staged::confined(device, cpu)
        } else {
            Staged::new(device, cpu)
        })
    });
    Ok(Arc::<Staged>::clone(staged))
}

/// A device by its name, by the path of its library, or as Python names it: `package.module:Class`.
///
/// # Errors
/// `SettingError` for a name that no device has; whatever the device raises when it is opened.
pub(crate) fn find(py: Python<'_>, name: &str, callers: Callers) -> PyResult<Arc<dyn Device>> {
    let failed = |error: DeviceError| to_python(py, &error.into());
    match name {
        "cpu" => return Ok(open_cpu(py, &Settings::default())?),
        "reference" => return Ok(Arc::new(Reference::new())),
        "sim" => return Ok(Arc::new(Sim::open(SimConfig::default()).map_err(failed)?)),
        "null" => return Ok(Arc::new(Null::new(limited_host_memory()?))),
        _ => {}
    }
    if is_gpu(name) {
        return find_gpu(py, name);
    }
    let found = py
        .import("arrayloom._backends")?
        .call_method1("find", (name,))?;
    if let Ok(path) = found.extract::<PathBuf>() {
        let loaded = abi::load(&path, 0).map_err(|error| {
            let error = EngineError::BadSetting {
                variable: "ARRAYLOOM_BACKEND",
                value: name.to_owned(),
                takes: format!("a backend that can be loaded; {error}"),
            };
            to_python(py, &error)
        })?;
        return Ok(Arc::new(loaded));
    }
    PYTHON.store(true, Relaxed);
    Ok(Arc::new(PyDevice::new(&found, callers)?))
}

/// True for names of devices behind drivers.
fn is_gpu(name: &str) -> bool {
    number_of(name, "opencl")
        .or(number_of(name, "cuda"))
        .is_some()
}

/// A device behind a driver: `opencl`, `cuda:1`.
///
/// # Errors
/// The exception that says what is missing.
pub(crate) fn find_gpu(py: Python<'_>, name: &str) -> PyResult<Arc<dyn Device>> {
    match number_of(name, "opencl") {
        Some(index) => Ok(Arc::new(open_opencl(py, index)?)),
        None => Ok(Arc::new(open_cuda(
            py,
            number_of(name, "cuda").unwrap_or(0),
        )?)),
    }
}

/// The devices behind drivers that this machine has.
#[pyfunction]
pub(crate) fn gpus() -> Vec<String> {
    let all = [("opencl", opencl::count()), ("cuda", cuda::count())];
    let names = all
        .iter()
        .flat_map(|(family, count)| (0..*count).map(move |n| format!("{family}:{n}")));
    names.collect()
}

/// Host memory that refuses what the machine does not have.
fn limited_host_memory() -> PyResult<Arc<dyn MemoryResource>> {
    let memory = host_memory().map_err(|error| PyMemoryError::new_err(error.to_string()))?;
    Ok(Arc::new(Limit::new(memory, physical_memory())))
}

/// The number of a device of a family: 0 for `family`, 3 for `family:3`.
fn number_of(name: &str, family: &str) -> Option<usize> {
    match name.strip_prefix(family)? {
        "" => Some(0),
        rest => rest.strip_prefix(':')?.parse().ok(),
    }
}

/// Opens a device of OpenCL. Nothing of a driver is touched before.
fn open_opencl(py: Python<'_>, index: usize) -> PyResult<OpenCl> {
    let settings = settings(py)?;
    let config = opencl::Config {
        index,
        libraries: settings.libraries,
        cache: settings
            .kernel_cache()
            .map(|dir| (dir, settings.cache_bytes)),
        ..opencl::Config::default()
    };
    let opened = py.detach(|| OpenCl::open(config));
    opened.map_err(|error| to_python(py, &error.into()))
}

/// Opens a device of CUDA. Nothing of a driver, a compiler or a library is touched before.
fn open_cuda(py: Python<'_>, index: usize) -> PyResult<Cuda> {
    let settings = settings(py)?;
    let folders = py
        .import("arrayloom._backends")?
        .call_method0("cuda_folders")?;
    let (packages, toolkits) = folders.extract()?;
    let config = cuda::Config {
        index,
        packages,
        toolkits,
        libraries: settings.libraries,
        cache: settings
            .kernel_cache()
            .map(|dir| (dir, settings.cache_bytes)),
        ..cuda::Config::default()
    };
    let opened = py.detach(|| Cuda::open(config));
    opened.map_err(|error| to_python(py, &error.into()))
}

/// The settings of the environment.
fn settings(py: Python<'_>) -> PyResult<Settings> {
    Settings::from_env().map_err(|error| to_python(py, &error))
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

fn open_cpu(py: Python<'_>, settings: &Settings) -> PyResult<Arc<Cpu>> {
    let sets = [Isa::Avx512, Isa::Avx2, Isa::Baseline];
    let isa = choose("ARRAYLOOM_ISA", &settings.isa, &sets.map(Isa::name));
    let math = choose("ARRAYLOOM_MATH", &settings.math, &["numpy", "own"])
        .map_err(|error| to_python(py, &error))?;
    let config = CpuConfig {
        isa: isa
            .map_err(|error| to_python(py, &error))?
            .map(|at| sets[at]),
        tile_elems: (settings.tile.0 > 0).then_some(settings.tile.0),
        threads: settings.threads.0,
        sweep_rows: (settings.sweep_rows.0 > 0).then_some(settings.sweep_rows.0),
        jit: settings.jit,
        loops: host_loops::collect(py, math)?,
        ..CpuConfig::default()
    };
    Ok(Cpu::open(config))
}

static CPU: OnceLock<Arc<Cpu>> = OnceLock::new();
static STAGED: OnceLock<Arc<Staged>> = OnceLock::new();
static PYTHON: AtomicBool = AtomicBool::new(false);

/// True when a device in use is written in Python, so that work needs the interpreter lock.
pub(crate) fn needs_python() -> bool {
    PYTHON.load(Relaxed) && STAGED.get().is_some()
}

/// What stands between the engine and a device that is not ours, if there is one.
pub(crate) fn staged() -> Option<&'static Staged> {
    STAGED.get().map(Arc::as_ref)
}

/// The CPU device, if it is in use.
pub(crate) fn cpu() -> Option<&'static Cpu> {
    CPU.get().map(Arc::as_ref)
}
