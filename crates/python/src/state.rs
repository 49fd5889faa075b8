//! What the module holds for the life of the process: the engine, the array type, the settings.

use arrayloom_engine::Engine;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The objects that every part uses.
pub(crate) struct State {
    /// The engine.
    pub(crate) engine: Arc<Engine>,
    /// The subclass of `numpy.ndarray`.
    pub(crate) lazy_type: Py<PyAny>,
    /// The capsule of our memory handler.
    pub(crate) handler: Py<PyAny>,
}

static STATE: OnceLock<State> = OnceLock::new();
static LAZY: AtomicBool = AtomicBool::new(true);
static MIN_BYTES: AtomicUsize = AtomicUsize::new(256 << 10);

/// Keeps the objects; returns false if that was done before.
pub(crate) fn set(state: State) -> bool {
    STATE.set(state).is_ok()
}

/// The objects, if the module has been initialised.
pub(crate) fn get() -> Option<&'static State> {
    STATE.get()
}

/// The objects.
pub(crate) fn state() -> &'static State {
    #[expect(
        clippy::expect_used,
        reason = "the module cannot be imported without it"
    )]
    STATE.get().expect("the module was initialised at import")
}

/// The engine.
pub(crate) fn engine() -> &'static Engine {
    &state().engine
}

/// The type of lazy arrays.
pub(crate) fn lazy_type() -> *mut pyo3::ffi::PyTypeObject {
    state().lazy_type.as_ptr().cast()
}

/// Whether new results may be lazy.
pub(crate) fn lazy() -> bool {
    LAZY.load(Ordering::Relaxed)
}

/// Results of at least this many bytes are lazy.
pub(crate) fn min_bytes() -> usize {
    MIN_BYTES.load(Ordering::Relaxed)
}

/// Changes settings; absent ones stay.
pub(crate) fn configure(lazy: Option<bool>, min_bytes: Option<usize>) {
    if let Some(lazy) = lazy {
        LAZY.store(lazy, Ordering::Relaxed);
    }
    if let Some(min_bytes) = min_bytes {
        MIN_BYTES.store(min_bytes, Ordering::Relaxed);
    }
}
