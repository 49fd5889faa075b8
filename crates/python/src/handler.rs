//! NumPy's memory handler for arrays in the arena: who frees what.
//!
//! NumPy asks the handler of an array to free its memory when the array dies. Ours gives slots of the
//! arena back to the engine, and everything else to the handler that NumPy used before. Large blocks
//! that it is asked for come from the arena, so results of NumPy itself can be operands later.
#![expect(unsafe_code, reason = "a table of C functions that NumPy calls")]

use crate::{picked, state};
use arrayloom_ir::SlotId;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;

type Malloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type Calloc = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type Realloc = unsafe extern "C" fn(*mut c_void, *mut c_void, usize) -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void, *mut c_void, usize);

/// `PyDataMem_Handler`, version 1.
#[repr(C)]
struct Handler {
    name: [u8; 127],
    version: u8,
    ctx: *mut c_void,
    malloc: Malloc,
    calloc: Calloc,
    realloc: Realloc,
    free: Free,
}

/// The functions of NumPy's own handler and what they want as their first argument.
struct Numpy {
    ctx: usize,
    malloc: Malloc,
    calloc: Calloc,
    realloc: Realloc,
    free: Free,
}

static NUMPY: OnceLock<Numpy> = OnceLock::new();

/// Frees a large block of `malloc`, as programs with large arrays do.
///
/// The C library of Linux asks the system for blocks above a threshold, which grows with what is freed: blocks below
/// are kept for the next request. Our large arrays are none of its blocks, so without this, C code with large buffers of
/// its own, such as a Fourier transform, would get new pages at each call.
fn grow_threshold() {
    // The threshold grows to 32 MiB at most, with what the library adds to a block.
    const LARGEST: usize = (32 << 20) - (64 << 10);
    // SAFETY: any size may be asked for.
    let block = std::hint::black_box(unsafe { libc::malloc(LARGEST) });
    // SAFETY: `malloc` gave it, or it is null.
    unsafe { libc::free(block) };
}

/// Makes the capsule of our handler.
///
/// # Errors
/// `ImportError` when NumPy's handler has another version.
pub(crate) fn make(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let version = py
        .import("numpy._core.multiarray")?
        .call_method0("get_handler_version")?;
    if version.extract::<u32>()? != 1 {
        return Err(PyImportError::new_err(
            "arrayloom does not know this version of NumPy's memory handlers; install numpy<2.5",
        ));
    }
    grow_threshold();
    let current = current_handler(py)?;
    // SAFETY: the capsule was checked by name; NumPy's own table lives as long as the process.
    let numpy = unsafe { &*current };
    NUMPY.get_or_init(|| Numpy {
        ctx: numpy.ctx as usize,
        malloc: numpy.malloc,
        calloc: numpy.calloc,
        realloc: numpy.realloc,
        free: numpy.free,
    });
    let mut name = [0u8; 127];
    name[..9].copy_from_slice(b"arrayloom");
    let table = Box::leak(Box::new(Handler {
        name,
        version: 1,
        ctx: ptr::null_mut(),
        malloc,
        calloc,
        realloc,
        free,
    }));
    // SAFETY: the table is never freed; the name is static.
    let capsule = unsafe {
        ffi::PyCapsule_New(
            (&raw mut *table).cast(),
            crate::np::HANDLER_CAPSULE.as_ptr(),
            None,
        )
    };
    // SAFETY: a new reference or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.map(Bound::unbind)
}

/// The table of the handler that NumPy uses for an ordinary array.
fn current_handler(py: Python<'_>) -> PyResult<*const Handler> {
    let capsule = crate::np::default_handler(py)?;
    // SAFETY: a live object; the call checks that it is such a capsule.
    let table =
        unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), crate::np::HANDLER_CAPSULE.as_ptr()) };
    if table.is_null() {
        return Err(PyErr::fetch(py));
    }
    Ok(table.cast::<Handler>().cast_const())
}

fn numpy() -> &'static Numpy {
    #[expect(clippy::expect_used, reason = "the handler exists only after `make`")]
    NUMPY.get().expect("the handler was made at import")
}

/// The slot at this address and the address where it starts.
fn slot_of(block: *mut c_void) -> Option<SlotId> {
    let (slot, base) = state::get()?.engine.slot_at(block as usize)?;
    debug_assert_eq!(base.cast(), block, "NumPy frees what it was given");
    Some(slot)
}

/// A block of the arena, if it is large enough for one.
fn from_arena(size: usize, zeroed: bool) -> Option<*mut c_void> {
    // First, because NumPy asks for every small array.
    if size < state::min_bytes() || !state::lazy() {
        return None;
    }
    let state = state::get()?;
    let block = state.engine.new_ready(size, zeroed).ok()?;
    if state.engine.slot_at(block.addr as usize).is_none() {
        // The arena is full: such memory could not be told from others when it is freed.
        state.engine.release(block.slot);
        return None;
    }
    Some(block.addr.cast())
}

unsafe extern "C" fn malloc(_ctx: *mut c_void, size: usize) -> *mut c_void {
    from_arena(size, false).unwrap_or_else(|| {
        let numpy = numpy();
        // SAFETY: NumPy's own function with its own context.
        unsafe { (numpy.malloc)(numpy.ctx as *mut c_void, size) }
    })
}

unsafe extern "C" fn calloc(_ctx: *mut c_void, count: usize, size: usize) -> *mut c_void {
    let whole = count.checked_mul(size);
    whole.and_then(|n| from_arena(n, true)).unwrap_or_else(|| {
        let numpy = numpy();
        // SAFETY: as in `malloc`.
        unsafe { (numpy.calloc)(numpy.ctx as *mut c_void, count, size) }
    })
}

unsafe extern "C" fn realloc(_ctx: *mut c_void, block: *mut c_void, size: usize) -> *mut c_void {
    let numpy = numpy();
    let Some(slot) = slot_of(block) else {
        // SAFETY: as in `malloc`; the block came from there.
        return unsafe { (numpy.realloc)(numpy.ctx as *mut c_void, block, size) };
    };
    let engine = state::engine();
    let guard = engine.guard();
    let old = guard.and_then(|g| g.slot_at(block as usize).map(|s| g.nbytes(s)));
    let old = old.unwrap_or(0);
    if engine.sync_read(slot).is_err() {
        return ptr::null_mut();
    }
    // SAFETY: `malloc` has no requirement on its context.
    let fresh = unsafe { malloc(ptr::null_mut(), size) };
    if fresh.is_null() {
        return fresh;
    }
    // SAFETY: both blocks have at least so many bytes; the old one has been computed.
    unsafe { ptr::copy_nonoverlapping(block.cast::<u8>(), fresh.cast::<u8>(), old.min(size)) };
    engine.release(slot);
    fresh
}

unsafe extern "C" fn free(_ctx: *mut c_void, block: *mut c_void, size: usize) {
    if let Some(slot) = slot_of(block) {
        state::engine().release(slot);
        picked::forget(slot);
        return;
    }
    let numpy = numpy();
    // SAFETY: as in `malloc`; the block came from there.
    unsafe { (numpy.free)(numpy.ctx as *mut c_void, block, size) }
}
