//! From a table of C functions, such as that of a shared library, to a device.

#![expect(unsafe_code, reason = "calls functions of another library")]

use super::send::Sent;
use super::table::{
    CAPS_FLAGS, CAPS_FUSED, CAPS_NUMPY_ORDER, CAPS_UNALIGNED, CAPS_UNIFIED, CCaps, CKernel,
    CLaunch, CTable, CText, DEVICE_LOST, MAJOR, OK, OUT_OF_MEMORY, UNSUPPORTED,
};
use super::{SYMBOL, load_options};
use crate::names::intern;
use crate::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, ExtCall, Foreign, Imported, Launch,
    Queue,
};
use arrayloom_ir::Kernel;
use arrayloom_memory::Vmm;
use std::error::Error as _;
use std::ffi::c_void;
use std::mem::{offset_of, size_of};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

/// Why a library is no backend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The library, or the symbol in it, could not be had.
    #[error(
        "{path} cannot be loaded: {why}; give the path of a library that exports {SYMBOL}",
        why = reason(.source)
    )]
    Library {
        /// The library.
        path: PathBuf,
        /// What the system said.
        source: libloading::Error,
    },
    /// The symbol returned no table.
    #[error("{SYMBOL} returned no table")]
    NoTable,
    /// The table has another major version.
    #[error(
        "the backend has version {major}, this loader reads {MAJOR}; build it with a newer header"
    )]
    Version {
        /// The version of the table.
        major: u32,
    },
    /// The table lacks an entry that every backend has.
    #[error("the table of the backend lacks `{entry}`")]
    Missing {
        /// Its name.
        entry: &'static str,
    },
    /// The device could not be opened.
    #[error(transparent)]
    Open(#[from] DeviceError),
}

/// What the system said: the error itself says only which call it was.
fn reason(error: &libloading::Error) -> String {
    error
        .source()
        .map_or_else(|| error.to_string(), ToString::to_string)
}

type Symbol = unsafe extern "C" fn() -> *const CTable;
type Handle = *mut c_void;
type Status = i32;
type CopyEntry =
    unsafe extern "C" fn(Handle, u32, *mut u8, u64, u64, *const u8, u64, u64, u64) -> Status;
type RunEntry = unsafe extern "C" fn(Handle, u32, *const CKernel, *const CLaunch) -> Status;

/// The entries of version 1, all there, and the options.
#[derive(Clone, Copy)]
struct Entries {
    caps: unsafe extern "C" fn(Handle, *mut CCaps) -> Status,
    alloc: unsafe extern "C" fn(Handle, u64, *mut u64, *mut u64) -> Status,
    free: unsafe extern "C" fn(Handle, u64) -> Status,
    copy: CopyEntry,
    run: RunEntry,
    record: unsafe extern "C" fn(Handle, u32, *mut u64) -> Status,
    wait: unsafe extern "C" fn(Handle, u32, u64) -> Status,
    poll: unsafe extern "C" fn(Handle, u64, u8, *mut u8) -> Status,
    host_ptr: Option<unsafe extern "C" fn(Handle, u64) -> *mut u8>,
}

/// An open device of a table; closed when nobody uses it any more.
pub(super) struct Opened {
    pub(super) table: CTable,
    pub(super) handle: Handle,
    pub(super) name: &'static str,
    close: unsafe extern "C" fn(Handle) -> Status,
    last_error: unsafe extern "C" fn() -> CText,
}

// SAFETY: the contract of the table demands that its functions may be called from any thread.
unsafe impl Send for Opened {}
// SAFETY: as above.
unsafe impl Sync for Opened {}

impl Opened {
    #[inline]
    pub(super) fn check(&self, status: Status) -> Result<(), DeviceError> {
        if status == OK {
            Ok(())
        } else {
            Err(self.error(status, 0, 0))
        }
    }

    #[cold]
    fn error(&self, status: Status, need: u64, free: u64) -> DeviceError {
        // SAFETY: takes nothing; the text is valid until the next call on this thread.
        let said = unsafe { (self.last_error)() };
        // SAFETY: no call stands between.
        let what = unsafe { text(said) };
        let device = self.name;
        match status {
            OUT_OF_MEMORY => DeviceError::OutOfMemory { device, need, free },
            UNSUPPORTED => DeviceError::Unsupported { device, what },
            DEVICE_LOST => DeviceError::Lost { device, what },
            _ => DeviceError::Failed { device, what },
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the handle is open and nobody uses it any more. Nothing can be done about a failure.
            unsafe { (self.close)(self.handle) };
        }
    }
}

/// A device behind a table.
pub struct Loaded {
    entries: Entries,
    handle: Handle,
    opened: Arc<Opened>,
    vmm: Option<Arc<dyn Vmm>>,
    caps: Caps,
}

// SAFETY: the handle is that of `opened`, which may be used from any thread.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded")
            .field("caps", &self.caps)
            .finish_non_exhaustive()
    }
}

/// Opens device number `index` of the library at `path`. The library stays loaded for the life of the
/// process: its threads and its memory may outlive the device.
///
/// # Errors
/// [`LoadError`] naming what is missing.
pub fn load(path: &Path, index: u32) -> Result<Loaded, LoadError> {
    let failed = |source| LoadError::Library {
        path: path.to_owned(),
        source,
    };
    // SAFETY: running the initialisers of a library that the user has named is what was asked for.
    let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
    let library: &'static libloading::Library = Box::leak(Box::new(library));
    // SAFETY: the symbol's name stands for its signature.
    let symbol = unsafe { library.get::<Symbol>(SYMBOL) }.map_err(failed)?;
    // SAFETY: it takes nothing and returns a table or null.
    let table = unsafe { symbol() };
    if table.is_null() {
        return Err(LoadError::NoTable);
    }
    // SAFETY: a table begins with its size and lives as long as the library, which is for ever.
    unsafe { Loaded::open(table, index) }
}

impl Loaded {
    /// Opens device number `index` of a table.
    ///
    /// # Errors
    /// [`LoadError`] for another version, a missing entry, or a device that does not open.
    ///
    /// # Safety
    /// The table has as many readable bytes as its first field says, its entries do what their comments
    /// say, and it outlives the device.
    pub unsafe fn open(table: *const CTable, index: u32) -> Result<Loaded, LoadError> {
        // SAFETY: the caller vouches for the bytes.
        let table = unsafe { whole(table) };
        if table.major != MAJOR {
            return Err(LoadError::Version { major: table.major });
        }
        let missing = |entry| LoadError::Missing { entry };
        let open = table.open.ok_or(missing("open"))?;
        let entries = Entries {
            caps: table.caps.ok_or(missing("caps"))?,
            alloc: table.alloc.ok_or(missing("alloc"))?,
            free: table.free.ok_or(missing("free"))?,
            copy: table.copy.ok_or(missing("copy"))?,
            run: table.run.ok_or(missing("run"))?,
            record: table.record.ok_or(missing("record"))?,
            wait: table.wait.ok_or(missing("wait"))?,
            poll: table.poll.ok_or(missing("poll"))?,
            host_ptr: table.host_ptr,
        };
        let mut opened = Opened {
            handle: ptr::null_mut(),
            name: "loaded",
            close: table.close.ok_or(missing("close"))?,
            last_error: table.last_error.ok_or(missing("last_error"))?,
            table,
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the entry takes a number and a place for a pointer.
        opened.check(unsafe { open(index, &raw mut handle) })?;
        opened.handle = handle;
        let caps = ask(&opened, entries.caps)?;
        opened.name = caps.name;
        let opened = Arc::new(opened);
        Ok(Loaded {
            vmm: load_options::vmm(&opened),
            entries,
            handle,
            opened,
            caps,
        })
    }

    #[inline]
    fn check(&self, status: Status) -> Result<(), DeviceError> {
        self.opened.check(status)
    }
}

/// What the device says of itself.
fn ask(
    opened: &Opened,
    entry: unsafe extern "C" fn(Handle, *mut CCaps) -> Status,
) -> Result<Caps, DeviceError> {
    let empty = CText {
        data: ptr::null(),
        len: 0,
    };
    let mut c = CCaps {
        size: u32::try_from(size_of::<CCaps>()).unwrap_or(0),
        flags: 0,
        threads: 1,
        dtypes: 0,
        forms: 0,
        reserved: 0,
        memory: u64::MAX,
        prims: [0; 2],
        name: empty,
        detail: empty,
    };
    // SAFETY: the record is ours and says its size.
    opened.check(unsafe { entry(opened.handle, &raw mut c) })?;
    let has = |bit: u32| c.flags & bit != 0;
    // SAFETY: texts of the record live as long as the device.
    let name = unsafe { text(c.name) };
    // SAFETY: as above.
    let detail = unsafe { text(c.detail) };
    Ok(Caps {
        name: intern(if name.is_empty() { "loaded" } else { &name }),
        detail,
        threads: c.threads.max(1) as usize,
        memory: c.memory,
        unified: has(CAPS_UNIFIED),
        fused: has(CAPS_FUSED),
        abilities: Abilities {
            prims: u128::from(c.prims[1]) << 64 | u128::from(c.prims[0]),
            dtypes: c.dtypes,
            forms: c.forms,
            unaligned: has(CAPS_UNALIGNED),
            numpy_order: has(CAPS_NUMPY_ORDER),
            flags: has(CAPS_FLAGS),
            values: true,
        },
    })
}

/// The table as this loader knows it: what it lacks is absent.
///
/// # Safety
/// It has as many readable bytes as its first field says.
unsafe fn whole(table: *const CTable) -> CTable {
    let mut known = CTable::EMPTY;
    // SAFETY: the caller vouches for the first field.
    let size = unsafe { table.cast::<u32>().read() } as usize;
    let to = (&raw mut known).cast::<u8>();
    // An entry is there as a whole or not at all.
    let pointer = size_of::<Option<unsafe extern "C" fn()>>();
    let entries = size.saturating_sub(offset_of!(CTable, open)) / pointer * pointer;
    let bytes = (offset_of!(CTable, open) + entries).min(size_of::<CTable>());
    if size >= offset_of!(CTable, open) {
        // SAFETY: both records have so many bytes.
        unsafe { ptr::copy_nonoverlapping(table.cast(), to, bytes) };
    }
    known
}

/// # Safety
/// The bytes of the text are readable.
unsafe fn text(text: CText) -> String {
    if text.data.is_null() {
        return String::new();
    }
    // SAFETY: the caller vouches for them.
    let bytes = unsafe { std::slice::from_raw_parts(text.data, text.len) };
    String::from_utf8_lossy(bytes).into_owned()
}

fn parts(end: End) -> (*mut u8, u64, u64) {
    match end {
        End::Host(at) => (at, 0, 0),
        End::Dev(buf, offset) => (ptr::null_mut(), buf.0, offset),
    }
}

impl Device for Loaded {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        let (mut buf, mut need_free) = (0, [bytes, 0]);
        let (to, sizes) = (&raw mut buf, need_free.as_mut_ptr());
        // SAFETY: the handle is open, the places have one and two numbers.
        let status = unsafe { (self.entries.alloc)(self.handle, bytes, to, sizes) };
        if status == OK {
            Ok(Buf(buf))
        } else {
            Err(self.opened.error(status, need_free[0], need_free[1]))
        }
    }

    fn free(&self, buf: Buf) {
        // SAFETY: the handle is open. Nothing can be done about a failure.
        unsafe { (self.entries.free)(self.handle, buf.0) };
    }

    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        let (to, from) = (parts(dst), parts(src));
        let entry = self.entries.copy;
        let (h, q) = (self.handle, queue.0);
        // SAFETY: the handle is open; whoever calls `Device::copy` vouches for both ranges.
        self.check(unsafe { entry(h, q, to.0, to.1, to.2, from.0, from.1, from.2, bytes) })
    }

    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        if !launch.fits(kernel) {
            return Err(DeviceError::Unsupported {
                device: self.caps.name,
                what: "the launch does not fit the kernel".to_owned(),
            });
        }
        let sent = Sent::new(kernel, launch);
        let (k, l) = (sent.kernel(kernel), sent.launch(launch));
        let (k, l) = (&raw const k, &raw const l);
        // SAFETY: the handle is open, the records fit each other and outlive the call; whoever calls
        // `Device::run` vouches for the views.
        self.check(unsafe { (self.entries.run)(self.handle, queue.0, k, l) })
    }

    fn record(&self, queue: Queue) -> Result<Event, DeviceError> {
        let mut event = 0;
        // SAFETY: the handle is open, the place has one number.
        self.check(unsafe { (self.entries.record)(self.handle, queue.0, &raw mut event) })?;
        Ok(Event(event))
    }

    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError> {
        // SAFETY: the handle is open.
        self.check(unsafe { (self.entries.wait)(self.handle, queue.0, event.0) })
    }

    #[inline]
    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError> {
        let mut passed = 0;
        let to = &raw mut passed;
        // SAFETY: the handle is open, the place has one byte.
        self.check(unsafe { (self.entries.poll)(self.handle, event.0, u8::from(block), to) })?;
        Ok(passed != 0)
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        // SAFETY: the handle is open.
        let found = unsafe { (self.entries.host_ptr?)(self.handle, buf.0) };
        (!found.is_null()).then_some(found)
    }

    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        load_options::ext(&self.opened, queue, call)
    }

    fn vmm(&self) -> Option<Arc<dyn Vmm>> {
        self.vmm.clone()
    }

    fn prepare(&self, kernels: &[&Kernel]) -> Result<(), DeviceError> {
        load_options::prepare(&self.opened, kernels)
    }

    fn import(&self, foreign: Foreign) -> Result<Imported, DeviceError> {
        load_options::import(&self.opened, foreign)
    }

    fn export(&self, buf: Buf, bytes: u64, queue: Queue) -> Result<Foreign, DeviceError> {
        load_options::export(&self.opened, buf, bytes, queue)
    }
}
