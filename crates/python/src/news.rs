//! News of page faults: work inside one cannot raise or warn by itself.
//!
//! It asks the interpreter to call us as soon as the faulting C call is over.
#![expect(unsafe_code, reason = "a C callback of the interpreter")]

use crate::slot::enter;
use crate::{state, sync};
use pyo3::ffi;
use std::ffi::{c_int, c_void};
use std::ptr;

/// Lets the engine tell us.
pub(crate) fn init() {
    state::engine().on_notice(ask);
}

/// Runs on the thread that touched, inside its fault: only a call from the main thread makes the
/// interpreter look at once.
fn ask() {
    // SAFETY: callable from any thread, without the interpreter lock, by Python's documentation; no
    // access to an array happens while the interpreter holds the lock of its queue. A full queue is
    // no loss: the next sync tells the same news.
    let _ = unsafe { ffi::Py_AddPendingCall(Some(tell), ptr::null_mut()) };
}

/// Runs on the main thread, with the interpreter.
extern "C" fn tell(_nothing: *mut c_void) -> c_int {
    enter(|py| {
        sync::news(py)?;
        Ok(0)
    })
}
