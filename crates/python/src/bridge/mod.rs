//! Arrays of other frameworks: which kind an object is, DLPack capsules out and in, the exchange table.
//!
//! What costs nanoseconds is here. What needs thought (routes, refusals, copies) is in the Python
//! package `arrayloom.bridge`, which is asked whenever the shortest way does not apply.

mod abroad;
mod entry;
mod export;
mod foreign;
mod import;
mod kinds;
mod memory_view;
mod owner;
mod rules;
mod share;
mod table;
mod ways;

pub(crate) use export::dlpack;
pub(crate) use owner::{Owner, exports};

use pyo3::prelude::*;

/// The functions for `arrayloom.bridge`, as the attribute `bridge` of the extension module.
pub(crate) fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let bridge = PyModule::new(py, "arrayloom._ext.bridge")?;
    bridge.add_function(wrap_pyfunction!(kinds::register_type, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(kinds::forget_types, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(entry::set_hooks, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(rules::set_rule, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(abroad::set_abroad, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(entry::set_watched, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(export::to_capsule, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(export::plain, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(export::exports, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(import::from_capsule, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(import::capsule_info, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(import::adopt, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(foreign::lies_elsewhere, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(foreign::take_foreign, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(foreign::lend_foreign, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(share::share_pages, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(table::torch_view, &bridge)?)?;
    bridge.add_function(wrap_pyfunction!(table::to_table, &bridge)?)?;
    entry::add(&bridge)?;
    table::init(py)?;
    module.add("bridge", bridge)
}
