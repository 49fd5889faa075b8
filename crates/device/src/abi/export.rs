//! From a device in Rust to the table of C functions.

#![expect(
    unsafe_code,
    reason = "entries are called through pointers, with pointers"
)]

use super::export_options as options;
use super::receive::{self, Received};
use super::table::{
    CAPS_FLAGS, CAPS_FUSED, CAPS_NUMPY_ORDER, CAPS_UNALIGNED, CAPS_UNIFIED, CCaps, CKernel,
    CLaunch, CTable, CText, DEVICE_LOST, FAILED, MAJOR, MINOR, OK, OUT_OF_MEMORY, UNSUPPORTED,
};
use crate::{Buf, Device, DeviceError, End, Event, Queue};
use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::size_of;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::Arc;

/// What a library exports: how its devices are opened.
pub trait Open {
    /// Opens device number `index`.
    ///
    /// # Errors
    /// [`DeviceError`] naming what is missing.
    fn open(index: u32) -> Result<Arc<dyn Device>, DeviceError>;
}

/// The table of a backend.
pub const fn table_of<O: Open>() -> CTable {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table has a hundred bytes"
    )]
    let size = size_of::<CTable>() as u32;
    CTable {
        size,
        major: MAJOR,
        minor: MINOR,
        reserved: 0,
        open: Some(open::<O>),
        close: Some(close),
        last_error: Some(last_error),
        caps: Some(caps),
        alloc: Some(alloc),
        free: Some(free),
        copy: Some(copy),
        run: Some(run),
        record: Some(record),
        wait: Some(wait),
        poll: Some(poll),
        host_ptr: Some(host_ptr),
        prepare: Some(options::prepare),
        ext: Some(options::ext),
        import: Some(options::import),
        export: Some(options::export),
        vmm_granule: Some(options::vmm_granule),
        vmm_reserve: Some(options::vmm_reserve),
        vmm_map: Some(options::vmm_map),
        vmm_unmap: Some(options::vmm_unmap),
        vmm_release: Some(options::vmm_release),
    }
}

/// What a handle points to.
type Opened = Arc<dyn Device>;

thread_local! {
    static ERROR: RefCell<String> = const { RefCell::new(String::new()) };
}

/// The device of a handle.
///
/// # Safety
/// The handle came from `open` and is not closed during `'a`.
pub(super) unsafe fn device<'a>(handle: *mut c_void) -> &'a dyn Device {
    // SAFETY: the caller vouches for the handle, which `open` made of a box of this type.
    let opened: &Opened = unsafe { &*handle.cast::<Opened>().cast_const() };
    &**opened
}

/// Runs an entry: errors and panics become numbers, and words for `last_error`.
pub(super) fn entry(body: impl FnOnce() -> Result<(), DeviceError>) -> i32 {
    let (status, what) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return OK,
        Ok(Err(error)) => {
            let status = match error {
                DeviceError::OutOfMemory { .. } => OUT_OF_MEMORY,
                DeviceError::Unsupported { .. } => UNSUPPORTED,
                DeviceError::Lost { .. } => DEVICE_LOST,
                DeviceError::Failed { .. } => FAILED,
            };
            (status, error.what())
        }
        Err(panic) => {
            let said = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
            let said = said.or_else(|| panic.downcast_ref::<String>().cloned());
            (FAILED, format!("it panicked: {}", said.unwrap_or_default()))
        }
    };
    ERROR.with_borrow_mut(|kept| *kept = what);
    status
}

extern "C" fn last_error() -> CText {
    ERROR.with_borrow(|what| CText {
        data: what.as_ptr(),
        len: what.len(),
    })
}

unsafe extern "C" fn open<O: Open>(index: u32, handle: *mut *mut c_void) -> i32 {
    entry(|| {
        let opened: Box<Opened> = Box::new(O::open(index)?);
        // SAFETY: the loader gives a place for one pointer.
        unsafe { handle.write(Box::into_raw(opened).cast()) };
        Ok(())
    })
}

unsafe extern "C" fn close(handle: *mut c_void) -> i32 {
    entry(|| {
        // SAFETY: the loader closes a handle of `open` once.
        drop(unsafe { Box::from_raw(handle.cast::<Opened>()) });
        Ok(())
    })
}

unsafe extern "C" fn caps(handle: *mut c_void, into: *mut CCaps) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let caps = unsafe { device(handle) }.caps();
        let flag = |has: bool, bit: u32| if has { bit } else { 0 };
        let can = &caps.abilities;
        // SAFETY: the record begins with its size, which the loader has set.
        let size = unsafe { into.cast::<u32>().read() };
        #[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
        let filled = CCaps {
            size,
            flags: flag(caps.unified, CAPS_UNIFIED)
                | flag(caps.fused, CAPS_FUSED)
                | flag(can.unaligned, CAPS_UNALIGNED)
                | flag(can.numpy_order, CAPS_NUMPY_ORDER)
                | flag(can.flags, CAPS_FLAGS),
            threads: u32::try_from(caps.threads).unwrap_or(u32::MAX),
            dtypes: can.dtypes,
            forms: can.forms,
            reserved: 0,
            memory: caps.memory,
            prims: [can.prims as u64, (can.prims >> 64) as u64],
            name: text(caps.name),
            detail: text(&caps.detail),
        };
        let bytes = (size as usize).min(size_of::<CCaps>());
        let from = (&raw const filled).cast::<u8>();
        // SAFETY: the loader's record has `size` bytes, ours not fewer than are copied.
        unsafe { ptr::copy_nonoverlapping(from, into.cast(), bytes) };
        Ok(())
    })
}

fn text(text: &str) -> CText {
    CText {
        data: text.as_ptr(),
        len: text.len(),
    }
}

unsafe extern "C" fn alloc(
    handle: *mut c_void,
    bytes: u64,
    buf: *mut u64,
    need_free: *mut u64,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let result = unsafe { device(handle) }.alloc(bytes);
        if let Err(DeviceError::OutOfMemory { need, free, .. }) = &result {
            // SAFETY: the loader gives a place for two numbers; this is the first.
            unsafe { need_free.write(*need) };
            // SAFETY: the second of the two.
            let second = unsafe { need_free.add(1) };
            // SAFETY: as above.
            unsafe { second.write(*free) };
        }
        let found = result?;
        // SAFETY: the loader gives a place for one number.
        unsafe { buf.write(found.0) };
        Ok(())
    })
}

unsafe extern "C" fn free(handle: *mut c_void, buf: u64) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        unsafe { device(handle) }.free(Buf(buf));
        Ok(())
    })
}

unsafe extern "C" fn copy(
    handle: *mut c_void,
    queue: u32,
    dst_host: *mut u8,
    dst_buf: u64,
    dst_offset: u64,
    src_host: *const u8,
    src_buf: u64,
    src_offset: u64,
    bytes: u64,
) -> i32 {
    let end = |host: *mut u8, buf, offset| {
        if host.is_null() {
            End::Dev(Buf(buf), offset)
        } else {
            End::Host(host)
        }
    };
    let dst = end(dst_host, dst_buf, dst_offset);
    let src = end(src_host.cast_mut(), src_buf, src_offset);
    // SAFETY: the loader gives a handle of `open`.
    entry(|| unsafe { device(handle) }.copy(Queue(queue), dst, src, bytes))
}

unsafe extern "C" fn run(
    handle: *mut c_void,
    queue: u32,
    kernel: *const CKernel,
    launch: *const CLaunch,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let device = unsafe { device(handle) };
        let name = device.caps().name;
        let refused = |what| DeviceError::Unsupported { device: name, what };
        // SAFETY: the loader gives a record that stays during the call.
        let record = unsafe { &*kernel };
        // SAFETY: what it points to stays as long.
        let kernel = unsafe { receive::kernel(record) }.map_err(refused)?;
        // SAFETY: the loader gives a record that stays during the call.
        let record = unsafe { &*launch };
        // SAFETY: what it points to stays as long, and it belongs to the kernel.
        let received = unsafe { Received::new(record, &kernel) }.map_err(refused)?;
        device.run(Queue(queue), &kernel, &received.launch())
    })
}

unsafe extern "C" fn record(handle: *mut c_void, queue: u32, event: *mut u64) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let found = unsafe { device(handle) }.record(Queue(queue))?;
        // SAFETY: the loader gives a place for one number.
        unsafe { event.write(found.0) };
        Ok(())
    })
}

unsafe extern "C" fn wait(handle: *mut c_void, queue: u32, event: u64) -> i32 {
    // SAFETY: the loader gives a handle of `open`.
    entry(|| unsafe { device(handle) }.wait(Queue(queue), Event(event)))
}

unsafe extern "C" fn poll(handle: *mut c_void, event: u64, block: u8, passed: *mut u8) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let found = unsafe { device(handle) }.poll(Event(event), block != 0)?;
        // SAFETY: the loader gives a place for one byte.
        unsafe { passed.write(u8::from(found)) };
        Ok(())
    })
}

unsafe extern "C" fn host_ptr(handle: *mut c_void, buf: u64) -> *mut u8 {
    let mut found = ptr::null_mut();
    let status = entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let address = unsafe { device(handle) }.host_ptr(Buf(buf));
        found = address.unwrap_or(ptr::null_mut());
        Ok(())
    });
    if status == OK { found } else { ptr::null_mut() }
}
