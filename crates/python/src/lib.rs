//! The Python extension module of arrayloom: the only crate that knows Python.

mod array_function;
mod array_ufunc;
mod assign;
mod backends;
mod birth;
mod bridge;
mod buffer;
mod builtins;
mod caller;
mod compress;
mod conform;
mod conversions;
mod copies;
mod counting;
mod creation;
mod delegate;
mod direct;
mod elision;
mod error;
mod explain;
mod fallback;
mod fold;
mod functions;
mod gather;
mod handler;
mod host_loops;
mod index;
mod join;
mod journal;
mod keywords;
mod kind_of_types;
mod lazy_type;
mod leaving;
mod lift;
mod lifting;
mod lone;
mod long_long;
mod map;
mod masked;
mod masks;
mod memory;
mod methods;
mod modules;
mod news;
mod np;
mod numbers;
mod operand;
mod operations;
mod ops;
mod parts;
mod picked;
mod places;
mod plain_index;
mod power;
mod process;
mod pydevice;
mod quantiles;
mod ranges;
mod record;
mod roll;
mod runner;
mod scatter;
mod searches;
mod seeming;
mod settling;
mod site;
mod slices;
mod slot;
mod sorting;
mod state;
mod stats;
mod super_ufunc;
mod sync;
mod truth;
mod twin;
mod vectors;
mod volume;

use pyo3::prelude::*;

/// The native half of the package `arrayloom`.
#[pymodule]
#[pyo3(name = "_ext")]
mod ext {
    #[pymodule_export]
    use super::backends::gpus;
    #[pymodule_export]
    use super::buffer::BufferExport;
    #[pymodule_export]
    use super::conform::{conform, mutants, probe};
    #[pymodule_export]
    use super::explain::{dump_kernels, explain, is_pending, take_dumps};
    #[pymodule_export]
    use super::fallback::refuse_fallbacks;
    #[pymodule_export]
    use super::journal::{keep_journal, take_journal};
    #[pymodule_export]
    use super::leaving::let_threads_out;
    #[pymodule_export]
    use super::lifting::lifting;
    #[pymodule_export]
    use super::map::short_moves_crawl;
    #[pymodule_export]
    use super::memory::{
        memory_amount, memory_cached, memory_free, memory_limit, memory_replay, memory_report,
        memory_restart_peak, memory_trace, note_rung, scope_close, scope_figures, scope_open,
    };
    #[pymodule_export]
    use super::operations::philox;
    #[pymodule_export]
    use super::process::{after_fork_child, after_fork_parent, before_fork, reinstall_handler};
    #[pymodule_export]
    use super::runner::enable_runner_patches;
    #[pymodule_export]
    use super::settling::{Settling, settle};
    #[pymodule_export]
    use super::site::{stand_in, warn_at_once};
    #[pymodule_export]
    use super::stats::{configure, devices, flush, is_lazy, min_bytes, reset_stats, stats, trim};

    #[pymodule_export]
    use super::volume::VolumeExpr;
    #[pymodule_export]
    use super::volume::steps::flood;

    use super::{Bound, PyModule, PyResult, start};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        start(module)
    }
}

/// Looks up NumPy, starts the engine and makes the array type.
fn start(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    modules::init(py)?;
    np::init(py)?;
    ops::init(py)?;
    numbers::init()?;
    index::init()?;
    assign::init()?;
    keywords::init(py)?;
    site::init(py)?;
    caller::init(py)?;
    let settings =
        arrayloom_engine::Settings::from_env().map_err(|error| error::to_python(py, &error))?;
    let min_bytes = settings.min_bytes;
    let device = backends::open(py, &settings)?;
    let engine = arrayloom_engine::Engine::start(settings, device);
    let engine = engine.map_err(|e| error::to_python(py, &e))?;
    let guarded = engine.guard().is_some();
    let state = state::State {
        engine,
        lazy_type: lazy_type::make(py)?,
        handler: handler::make(py)?,
    };
    module.add("LazyArray", &state.lazy_type)?;
    let fresh = state::set(state);
    debug_assert!(fresh, "the module is initialised once");
    state::configure(Some(guarded), Some(min_bytes));
    news::init();
    buffer::init(py)?;
    plain_index::init()?;
    conversions::init(modules::numpy(py)?)?;
    seeming::init(py)?;
    builtins::init(module)?;
    memory::init(module)?;
    super_ufunc::init(py)?;
    bridge::init(module)?;
    leaving::init(module)?;
    process::init(module)
}
