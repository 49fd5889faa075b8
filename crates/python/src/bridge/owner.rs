//! Python objects that foreign owners keep alive.
//!
//! A deleter may run on a thread that the interpreter does not know. Such a reference is put aside and
//! dropped by the interpreter soon after, so that no deleter ever waits for a lock. Torch, JAX and TensorFlow
//! are an exception: they free tensors on threads of Python whose lock they have just let go, where NumPy's own
//! deleters take the lock again, so ours do as well. At the end of the process a reference is left alone.
#![expect(unsafe_code, reason = "counts references by hand")]

use crate::np::Arr;
use crate::state;
use arrayloom_ir::SlotId;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ASIDE: Mutex<Vec<usize>> = Mutex::new(Vec::new());
/// How many are put aside, for those who only want to know whether there are any.
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// How many consumers hold memory of a slot.
static LENT: Mutex<BTreeMap<u32, usize>> = Mutex::new(BTreeMap::new());

/// A reference to an object, to be dropped on any thread.
pub(crate) struct Owner {
    object: usize,
    may_wait: bool,
    /// Memory of ours, which must stay while this lives.
    slot: Option<u32>,
}

/// How many consumers hold memory of a slot, by DLPack or as a buffer. It must not be freed or moved before they let go.
pub(crate) fn exports(slot: SlotId) -> usize {
    let lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
    lent.get(&slot.0).copied().unwrap_or(0)
}

fn count(slot: u32, one_more: bool) {
    let mut lent = LENT.lock().unwrap_or_else(PoisonError::into_inner);
    let now = lent.entry(slot).or_default();
    *now = if one_more {
        *now + 1
    } else {
        now.saturating_sub(1)
    };
    if *now == 0 {
        lent.remove(&slot);
    }
}

impl Owner {
    /// Keeps an object alive.
    pub(crate) fn new(object: &Bound<'_, PyAny>) -> Owner {
        let found = Arr::of(object).and_then(|array| state::engine().slot_at(array.addr()));
        let slot = found.map(|(slot, _)| slot.0);
        if let Some(slot) = slot {
            count(slot, true);
        }
        Owner {
            object: object.clone().into_ptr() as usize,
            may_wait: false,
            slot,
        }
    }

    /// The same for consumers whose deleters may wait for the interpreter's lock.
    pub(crate) fn waiting(object: &Bound<'_, PyAny>) -> Owner {
        let mut owner = Owner::new(object);
        owner.may_wait = true;
        owner
    }

    /// Drops the reference under the interpreter's lock. False if this thread must not wait for it.
    fn drop_locked(&self) -> bool {
        // SAFETY: may be asked at any time, on any thread.
        if !self.may_wait || unsafe { ffi::PyGILState_GetThisThreadState() }.is_null() {
            return false;
        }
        // SAFETY: the interpreter is running, and knows this thread.
        let state = unsafe { ffi::PyGILState_Ensure() };
        // SAFETY: the reference is ours, and this thread holds the interpreter's lock now.
        unsafe { ffi::Py_DECREF(self.object as *mut PyObject) };
        // SAFETY: the pair of the call above.
        unsafe { ffi::PyGILState_Release(state) };
        true
    }
}

/// Deleters inside deleters: a chain of exports must not need a stack as long as itself.
const DEEPEST: u32 = 16;

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

impl Drop for Owner {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            count(slot, false);
        }
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
            unsafe { ffi::Py_DECREF(self.object as *mut PyObject) };
            DEPTH.set(depth);
            if depth == 0 {
                settle();
            }
            return;
        }
        if !attached && depth == 0 && self.drop_locked() {
            return;
        }
        let mut aside = lock();
        aside.push(self.object);
        WAITING.store(aside.len(), Ordering::Release);
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

fn take() -> Vec<usize> {
    let mut aside = lock();
    WAITING.store(0, Ordering::Release);
    std::mem::take(&mut *aside)
}

extern "C" fn drop_all(_nothing: *mut c_void) -> c_int {
    settle();
    0
}

/// Drops what deleters have put aside. The caller's thread is attached.
pub(crate) fn settle() {
    if WAITING.load(Ordering::Acquire) == 0 || DEPTH.get() > 0 {
        return;
    }
    DEPTH.set(1);
    loop {
        let taken = take();
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
