//! The optional entries of a table, for a device in Rust.

#![expect(
    unsafe_code,
    reason = "entries are called through pointers, with pointers"
)]

use super::export::{device, entry};
use super::receive;
use super::table::{CExt, CForeign, CKernel, FOREIGN_CONTEXT, FOREIGN_MEMORY, FOREIGN_QUEUE};
use crate::{Buf, DeviceError, ExtCall, Foreign, Imported, Queue};
use arrayloom_memory::{Addr, MemoryError, Vmm};
use std::ffi::c_void;
use std::sync::Arc;

/// A request that means nothing.
fn failed(what: String) -> DeviceError {
    DeviceError::Failed {
        device: "loaded",
        what,
    }
}

pub(super) unsafe extern "C" fn prepare(
    handle: *mut c_void,
    kernels: *const *const CKernel,
    count: usize,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives so many pointers.
        let records = unsafe { receive::records(kernels, count) }.map_err(failed)?;
        let one = |record: &*const CKernel| {
            // SAFETY: each is a readable record.
            let record = unsafe { &**record };
            // SAFETY: what the record of a kernel points to is readable.
            unsafe { receive::kernel(record) }
        };
        let kernels: Result<Vec<_>, String> = records.iter().map(one).collect();
        let kernels = kernels.map_err(failed)?;
        // SAFETY: the loader gives a handle of `open`.
        unsafe { device(handle) }.prepare(&kernels.iter().collect::<Vec<_>>())
    })
}

pub(super) unsafe extern "C" fn ext(handle: *mut c_void, queue: u32, call: *const CExt) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a record that is readable during the call.
        let record = unsafe { &*call };
        // SAFETY: the record names texts and arrays that are readable during the call.
        let name = unsafe { receive::records(record.name.data, record.name.len) };
        // SAFETY: as above.
        let outs = unsafe { receive::tensors(record.outs, record.outs_len as usize) };
        // SAFETY: as above.
        let ins = unsafe { receive::tensors(record.ins, record.ins_len as usize) };
        // SAFETY: as above.
        let attrs = unsafe { receive::records(record.attrs, record.attrs_len) };
        let (outs, ins) = (outs.map_err(failed)?, ins.map_err(failed)?);
        let name = String::from_utf8_lossy(name.map_err(failed)?).into_owned();
        let call = ExtCall {
            name: &name,
            outs: &outs,
            ins: &ins,
            attrs: attrs.map_err(failed)?,
        };
        // SAFETY: the loader gives a handle of `open`.
        unsafe { device(handle) }.ext(Queue(queue), &call)
    })
}

pub(super) unsafe extern "C" fn import(
    handle: *mut c_void,
    foreign: *const CForeign,
    number: *mut u64,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a readable record.
        let record = unsafe { *foreign };
        let foreign = match record.kind {
            FOREIGN_MEMORY => Foreign::Memory {
                address: record.value,
                bytes: record.bytes,
            },
            FOREIGN_QUEUE => Foreign::Queue(record.value),
            FOREIGN_CONTEXT => Foreign::Context(record.value),
            other => return Err(failed(format!("foreign thing {other} is unknown"))),
        };
        // SAFETY: the loader gives a handle of `open`.
        let found = match unsafe { device(handle) }.import(foreign)? {
            Imported::Buf(buf) => buf.0,
            Imported::Queue(queue) => u64::from(queue.0),
            Imported::Nothing => 0,
        };
        // SAFETY: the loader gives a place for one number.
        unsafe { number.write(found) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn export(
    handle: *mut c_void,
    buf: u64,
    bytes: u64,
    queue: u32,
    foreign: *mut CForeign,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let found = unsafe { device(handle) }.export(Buf(buf), bytes, Queue(queue))?;
        let (kind, value, bytes) = match found {
            Foreign::Memory { address, bytes } => (FOREIGN_MEMORY, address, bytes),
            Foreign::Queue(value) => (FOREIGN_QUEUE, value, 0),
            Foreign::Context(value) => (FOREIGN_CONTEXT, value, 0),
        };
        let record = CForeign {
            kind,
            reserved: 0,
            value,
            bytes,
        };
        // SAFETY: the loader gives a place for one record.
        unsafe { foreign.write(record) };
        Ok(())
    })
}

/// The device's virtual memory.
///
/// # Safety
/// The handle came from `open`.
unsafe fn vmm(handle: *mut c_void) -> Result<Arc<dyn Vmm>, DeviceError> {
    // SAFETY: promised by the caller.
    let device = unsafe { device(handle) };
    let none = || device.lacks("no virtual memory".to_owned());
    device.vmm().ok_or_else(none)
}

fn out_of_memory(error: &MemoryError) -> DeviceError {
    match error {
        MemoryError::OutOfMemory { need, free, .. } => DeviceError::OutOfMemory {
            device: "loaded",
            need: *need,
            free: *free,
        },
        other => failed(other.to_string()),
    }
}

pub(super) unsafe extern "C" fn vmm_granule(handle: *mut c_void, granule: *mut u64) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let found = unsafe { vmm(handle) }?.granule();
        // SAFETY: the loader gives a place for one number.
        unsafe { granule.write(found) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn vmm_reserve(handle: *mut c_void, bytes: u64, buf: *mut u64) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let reserved = unsafe { vmm(handle) }?.reserve(bytes);
        let found = reserved.map_err(|error| out_of_memory(&error))?;
        // SAFETY: the loader gives a place for one number.
        unsafe { buf.write(found) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn vmm_map(
    handle: *mut c_void,
    buf: u64,
    offset: u64,
    bytes: u64,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        let mapped = unsafe { vmm(handle) }?.map(Addr { buf, offset }, bytes);
        mapped.map_err(|error| out_of_memory(&error))
    })
}

pub(super) unsafe extern "C" fn vmm_unmap(
    handle: *mut c_void,
    buf: u64,
    offset: u64,
    bytes: u64,
) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        unsafe { vmm(handle) }?.unmap(Addr { buf, offset }, bytes);
        Ok(())
    })
}

pub(super) unsafe extern "C" fn vmm_release(handle: *mut c_void, buf: u64, bytes: u64) -> i32 {
    entry(|| {
        // SAFETY: the loader gives a handle of `open`.
        unsafe { vmm(handle) }?.release(buf, bytes);
        Ok(())
    })
}
