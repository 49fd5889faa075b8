//! Python objects that foreign owners keep alive.
//!
//! A deleter may run on a thread that the interpreter does not know. Such a reference is put aside and
//! dropped by the interpreter soon after, so that no deleter ever waits for a lock. At the end of the
//! process it is left alone.
#![expect(unsafe_code, reason = "counts references by hand")]

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ASIDE: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// A reference to an object, to be dropped on any thread.
pub(crate) struct Owner(usize);

impl Owner {
    /// Keeps an object alive.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> Owner {
        Owner(object.clone().into_ptr() as usize)
    }
}

/// Deleters inside deleters: a chain of exports must not need a stack as long as itself.
const DEEPEST: u32 = 16;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: may be asked at any time, on any thread.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return;
        }
        // SAFETY: as above.
        let attached = unsafe { ffi::PyGILState_Check() } == 1;
        let depth = DEPTH.get();
        if attached && depth < DEEPEST {
            DEPTH.set(depth + 1);
            // SAFETY: the reference is ours, and this thread holds the interpreter's lock.
            unsafe { ffi::Py_DECREF(self.0 as *mut PyObject) };
            DEPTH.set(depth);
            if depth == 0 {
                settle();
            }
            return;
        }
        let mut aside = lock();
        aside.push(self.0);
        if !attached && aside.len() == 1 {
            // SAFETY: may be called on any thread. If the queue is full, the next one who comes drops all.
            let queued = unsafe { ffi::Py_AddPendingCall(Some(drop_all), ptr::null_mut()) };
            debug_assert!(queued == 0 || queued == -1, "as documented");
        }
    }
}

fn lock() -> MutexGuard<'static, Vec<usize>> {
    ASIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

extern "C" fn drop_all(_nothing: *mut c_void) -> c_int {
    settle();
    0
}

/// Drops what deleters have put aside. The caller's thread is attached.
pub(crate) fn settle() {
    let depth = DEPTH.get();
    if depth > 0 {
        return;
    }
    DEPTH.set(1);
    loop {
        let taken = std::mem::take(&mut *lock());
        if taken.is_empty() {
            break;
        }
        for object in taken {
            // SAFETY: the reference was put aside by its only owner.
            unsafe { ffi::Py_DECREF(object as *mut PyObject) };
        }
    }
    DEPTH.set(0);
}
