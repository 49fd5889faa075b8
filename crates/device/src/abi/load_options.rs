//! The optional entries of a table, as options of a device again.

#![expect(unsafe_code, reason = "calls functions of another library")]

use super::load::Opened;
use super::send::{Sent, kernel_record};
use super::table::{
    CExt, CForeign, CKernel, CTensor, CText, FOREIGN_CONTEXT, FOREIGN_MEMORY, FOREIGN_QUEUE,
};
use crate::{Buf, DeviceError, ExtCall, Foreign, Imported, Queue, Tensor};
use arrayloom_ir::Kernel;
use arrayloom_memory::{Addr, MemoryError, Vmm};
use std::ptr;
use std::sync::Arc;

fn absent(opened: &Opened, what: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: opened.name,
        what: format!("no entry `{what}`"),
    }
}

pub(super) fn prepare(opened: &Opened, kernels: &[&Kernel]) -> Result<(), DeviceError> {
    let Some(entry) = opened.table.prepare else {
        return Ok(());
    };
    let outputs: Vec<_> = kernels.iter().map(|kernel| Sent::outputs(kernel)).collect();
    let both = kernels.iter().zip(&outputs);
    let records: Vec<CKernel> = both.map(|(k, outputs)| kernel_record(k, outputs)).collect();
    let pointers: Vec<*const CKernel> = records.iter().map(ptr::from_ref).collect();
    // SAFETY: the handle is open and the records outlive the call.
    opened.check(unsafe { entry(opened.handle, pointers.as_ptr(), pointers.len()) })
}

fn tensor(tensor: &Tensor) -> CTensor {
    CTensor {
        buf: tensor.buf.0,
        offset: tensor.layout.offset as i64,
        dtype: tensor.layout.dtype as u32,
        rank: u32::try_from(tensor.layout.shape.len()).unwrap_or(u32::MAX),
        shape: tensor.layout.shape.as_ptr(),
        strides: tensor.layout.strides.as_ptr(),
    }
}

pub(super) fn ext(opened: &Opened, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
    let entry = opened.table.ext.ok_or_else(|| absent(opened, "ext"))?;
    let outs: Vec<CTensor> = call.outs.iter().map(tensor).collect();
    let ins: Vec<CTensor> = call.ins.iter().map(tensor).collect();
    let length = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let record = CExt {
        size: length(size_of::<CExt>()),
        outs_len: length(outs.len()),
        ins_len: length(ins.len()),
        reserved: 0,
        name: CText {
            data: call.name.as_ptr(),
            len: call.name.len(),
        },
        outs: outs.as_ptr(),
        ins: ins.as_ptr(),
        attrs: call.attrs.as_ptr(),
        attrs_len: call.attrs.len(),
    };
    // SAFETY: the handle is open, the record and what it names outlive the call; whoever calls
    // `Device::ext` vouches for the arrays.
    opened.check(unsafe { entry(opened.handle, queue.0, &raw const record) })
}

pub(super) fn import(opened: &Opened, foreign: Foreign) -> Result<Imported, DeviceError> {
    let entry = opened
        .table
        .import
        .ok_or_else(|| absent(opened, "import"))?;
    let (kind, value, bytes) = match foreign {
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
    let mut number = 0;
    // SAFETY: the handle is open, the record is readable, the place has one number.
    opened.check(unsafe { entry(opened.handle, &raw const record, &raw mut number) })?;
    Ok(match foreign {
        Foreign::Memory { .. } => Imported::Buf(Buf(number)),
        Foreign::Queue(_) => Imported::Queue(Queue(u32::try_from(number).unwrap_or(u32::MAX))),
        Foreign::Context(_) => Imported::Nothing,
    })
}

pub(super) fn export(
    opened: &Opened,
    buf: Buf,
    bytes: u64,
    queue: Queue,
) -> Result<Foreign, DeviceError> {
    let entry = opened
        .table
        .export
        .ok_or_else(|| absent(opened, "export"))?;
    let mut record = CForeign {
        kind: FOREIGN_MEMORY,
        reserved: 0,
        value: 0,
        bytes: 0,
    };
    let into = &raw mut record;
    // SAFETY: the handle is open and the record is ours.
    opened.check(unsafe { entry(opened.handle, buf.0, bytes, queue.0, into) })?;
    match record.kind {
        FOREIGN_MEMORY => Ok(Foreign::Memory {
            address: record.value,
            bytes: record.bytes,
        }),
        FOREIGN_QUEUE => Ok(Foreign::Queue(record.value)),
        FOREIGN_CONTEXT => Ok(Foreign::Context(record.value)),
        other => Err(DeviceError::Failed {
            device: opened.name,
            what: format!("it exports something of kind {other}, which is unknown"),
        }),
    }
}

/// The virtual memory of a table that has all five entries for it.
pub(super) fn vmm(opened: &Arc<Opened>) -> Option<Arc<dyn Vmm>> {
    let table = &opened.table;
    let mut granule = 0;
    // SAFETY: the handle is open, the place has one number.
    let status = unsafe { (table.vmm_granule?)(opened.handle, &raw mut granule) };
    let entries = LoadedVmm {
        granule,
        reserve: table.vmm_reserve?,
        map: table.vmm_map?,
        unmap: table.vmm_unmap?,
        release: table.vmm_release?,
        opened: Arc::clone(opened),
    };
    (opened.check(status).is_ok() && granule > 0).then(|| Arc::new(entries) as Arc<dyn Vmm>)
}

type RangeEntry = unsafe extern "C" fn(*mut std::ffi::c_void, u64, u64, u64) -> i32;

struct LoadedVmm {
    granule: u64,
    reserve: unsafe extern "C" fn(*mut std::ffi::c_void, u64, *mut u64) -> i32,
    map: RangeEntry,
    unmap: RangeEntry,
    release: unsafe extern "C" fn(*mut std::ffi::c_void, u64, u64) -> i32,
    opened: Arc<Opened>,
}

impl LoadedVmm {
    /// Whatever happened, there is no memory.
    fn refused(&self, bytes: u64, error: &DeviceError) -> MemoryError {
        let free = match error {
            DeviceError::OutOfMemory { free, .. } => *free,
            _ => 0,
        };
        MemoryError::OutOfMemory {
            need: bytes,
            free,
            by: self.opened.name,
        }
    }
}

impl Vmm for LoadedVmm {
    fn granule(&self) -> u64 {
        self.granule
    }

    fn reserve(&self, bytes: u64) -> Result<u64, MemoryError> {
        let mut buf = 0;
        // SAFETY: the handle is open, the place has one number.
        let status = unsafe { (self.reserve)(self.opened.handle, bytes, &raw mut buf) };
        let done = self.opened.check(status);
        done.map_err(|error| self.refused(bytes, &error))?;
        Ok(buf)
    }

    fn map(&self, addr: Addr, bytes: u64) -> Result<(), MemoryError> {
        // SAFETY: the handle is open; whoever calls `Vmm::map` vouches for the range.
        let status = unsafe { (self.map)(self.opened.handle, addr.buf, addr.offset, bytes) };
        let done = self.opened.check(status);
        done.map_err(|error| self.refused(bytes, &error))
    }

    fn unmap(&self, addr: Addr, bytes: u64) {
        // SAFETY: as for `map`. Nothing can be done about a failure.
        unsafe { (self.unmap)(self.opened.handle, addr.buf, addr.offset, bytes) };
    }

    fn release(&self, buf: u64, bytes: u64) {
        // SAFETY: the handle is open, and nothing is mapped in the range. Nothing can be done about a
        // failure.
        unsafe { (self.release)(self.opened.handle, buf, bytes) };
    }

    fn name(&self) -> &'static str {
        self.opened.name
    }
}
