//! One GPU: its context, and objects of the driver that give back what they hold.

#![expect(unsafe_code, reason = "handles of the driver are shared among threads")]

use crate::api::{Address, Code, Driver, Failure, Handle, Missing, Virtual};
use crate::libraries;
use arrayloom_device::DeviceError;
use std::ffi::{CStr, c_int, c_void};
use std::path::Path;
use std::ptr;
use std::sync::Arc;

/// The device's name in messages.
pub(crate) const NAME: &str = "cuda";
/// Streams that do not wait for the one that everybody shares.
const NON_BLOCKING: u32 = 1;
/// Events without clocks, which cost less.
const WITHOUT_TIME: u32 = 2;
/// The answer of an event that has not passed.
const NOT_READY: i32 = 600;

/// What a device has in words and numbers.
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) memory: u64,
    pub(crate) units: u64,
    /// Compute capability: 90 for 9.0.
    pub(crate) capability: i32,
    /// Of the driver: 12080 for 12.8.
    pub(crate) driver: i32,
}

/// A GPU, and the context that all libraries of the process share.
pub(crate) struct Context {
    pub(crate) driver: Driver,
    pub(crate) paged: Option<Virtual>,
    pub(crate) device: c_int,
    raw: Handle,
}

// SAFETY: contexts may be made current in any thread, and all calls of the driver may come from any.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// The context is current in this thread until this is dropped.
pub(crate) struct Current<'a>(&'a Driver);

impl Drop for Current<'_> {
    fn drop(&mut self) {
        let mut last = ptr::null_mut();
        // A driver that is shut down has no current context.
        drop(self.0.context_pop(&mut last));
    }
}

/// Why the device cannot be used, and what helps.
pub(crate) fn unavailable(why: &str, cure: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: NAME,
        what: format!("{why}; {cure}"),
    }
}

impl From<Failure> for DeviceError {
    fn from(failure: Failure) -> DeviceError {
        let (device, what) = (NAME, failure.to_string());
        if failure.is_memory() {
            let (need, free) = (0, 0);
            DeviceError::OutOfMemory { device, need, free }
        } else if failure.is_loss() {
            DeviceError::Lost { device, what }
        } else {
            DeviceError::Failed { device, what }
        }
    }
}

/// How many GPUs there are; none without a driver.
pub fn count() -> usize {
    let Ok(library) = libraries::driver(None) else {
        return 0;
    };
    let counted = Driver::load(&library).ok().and_then(|driver| {
        let mut count = 0;
        driver.init(0).ok()?;
        driver.device_count(&mut count).ok()?;
        usize::try_from(count).ok()
    });
    libraries::keep(library);
    counted.unwrap_or(0)
}

const INSTALL: &str = "install NVIDIA's driver for this GPU";

impl Context {
    /// Opens the driver, and a device of it.
    pub(crate) fn open(path: Option<&Path>, index: usize) -> Result<Arc<Context>, DeviceError> {
        let none = |why: String| unavailable(&why, INSTALL);
        let library = libraries::driver(path)
            .map_err(|error| none(format!("there is no CUDA driver: {error}")))?;
        let old = |name: Missing| {
            let name = name.to_string_lossy();
            let why = format!("the CUDA driver is too old: it has no {name}");
            unavailable(&why, "install a driver for CUDA 11.2 or newer")
        };
        let driver = Driver::load(&library).map_err(old)?;
        let words = |code: Code| none(driver.failure(code).to_string());
        driver.init(0).map_err(words)?;
        let mut count = 0;
        driver.device_count(&mut count).map_err(words)?;
        let number = c_int::try_from(index).ok().filter(|&i| i < count);
        let Some(number) = number else {
            let why = format!("there are {count} GPUs, and number {index} is wanted");
            return Err(unavailable(&why, "name one that there is"));
        };
        let mut device = 0;
        driver.device_get(&mut device, number).map_err(words)?;
        let mut raw = ptr::null_mut();
        driver.context_retain(&mut raw, device).map_err(words)?;
        // Some virtual GPUs lack it: memory comes in segments then.
        let paged = Virtual::load(&library).ok();
        libraries::keep(library);
        Ok(Arc::new(Context {
            driver,
            paged,
            device,
            raw,
        }))
    }

    /// What the device is.
    pub(crate) fn facts(&self) -> Result<Facts, Failure> {
        let driver = &self.driver;
        let mut name: [std::ffi::c_char; 256] = [0; 256];
        self.done(driver.device_name(name.as_mut_ptr(), 255, self.device))?;
        // SAFETY: the array ends with a zero that the driver was not lent.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) };
        let attribute = |number| {
            let mut value = 0;
            let told = driver.device_attribute(&mut value, number, self.device);
            self.done(told).map(|()| value)
        };
        let mut bytes = 0;
        self.done(driver.device_memory(&mut bytes, self.device))?;
        let mut version = 0;
        self.done(driver.version(&mut version))?;
        Ok(Facts {
            name: name.to_string_lossy().into_owned(),
            memory: bytes as u64,
            units: u64::try_from(attribute(16)?).unwrap_or(1).max(1),
            capability: attribute(75)? * 10 + attribute(76)?,
            driver: version,
        })
    }

    /// A failure with its name.
    pub(crate) fn done(&self, result: Result<(), Code>) -> Result<(), Failure> {
        result.map_err(|code| self.driver.failure(code))
    }

    /// Makes the context current in this thread; what was current before is again afterwards.
    pub(crate) fn enter(&self) -> Result<Current<'_>, Failure> {
        self.done(self.driver.context_push(self.raw))?;
        Ok(Current(&self.driver))
    }

    /// Waits for everything.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.done(self.driver.context_finish())
    }

    /// Copies from a block of another device of the same driver.
    pub(crate) fn copy_peer(
        &self,
        to: Address,
        from: (&Context, Address),
        bytes: usize,
        stream: &Stream,
    ) -> Result<(), Failure> {
        let (there, at) = from;
        self.done(
            self.driver
                .copy_peer(to, self.raw, at, there.raw, bytes, stream.raw),
        )
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        drop(self.driver.context_release(self.device));
    }
}

macro_rules! owned {
    ($(#[$doc:meta])* $name:ident $release:ident) => {
        $(#[$doc])*
        pub(crate) struct $name {
            pub(crate) raw: Handle,
            context: Arc<Context>,
            /// Somebody else gives it back.
            lent: bool,
        }

        // SAFETY: handles of the driver may be used from any thread.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                if self.lent {
                    return;
                }
                // A driver that is shut down has given everything back.
                if let Ok(_current) = self.context.enter() {
                    drop(self.context.driver.$release(self.raw));
                }
            }
        }
    };
}

owned!(
    /// A queue of the device.
    Stream stream_destroy);
owned!(
    /// A point in a stream.
    Mark event_destroy);
owned!(
    /// Machine code on the device.
    Module module_unload);

impl Stream {
    /// A new one. The context is current.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Stream, Failure> {
        let mut raw = ptr::null_mut();
        context.done(context.driver.stream_create(&mut raw, NON_BLOCKING))?;
        let context = Arc::clone(context);
        let lent = false;
        Ok(Stream { raw, context, lent })
    }

    /// The stream of another library, by its handle. Whoever names it vouches that it stays.
    pub(crate) fn lent(context: &Arc<Context>, handle: u64) -> Stream {
        let address = usize::try_from(handle).unwrap_or(0);
        Stream {
            raw: ptr::with_exposed_provenance_mut(address),
            context: Arc::clone(context),
            lent: true,
        }
    }

    /// Returns when its work is done.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let context = &self.context;
        context.done(context.driver.stream_finish(self.raw))
    }

    /// A point after all work that it has now.
    pub(crate) fn mark(&self) -> Result<Mark, Failure> {
        let mark = Mark::new(&self.context)?;
        self.set(&mark).map(|()| mark)
    }

    /// Moves a point behind all work that the stream has now.
    pub(crate) fn set(&self, mark: &Mark) -> Result<(), Failure> {
        let context = &self.context;
        context.done(context.driver.event_record(mark.raw, self.raw))
    }

    /// Makes later work wait for a point of any stream.
    pub(crate) fn wait(&self, mark: &Mark) -> Result<(), Failure> {
        let context = &self.context;
        context.done(context.driver.stream_wait(self.raw, mark.raw, 0))
    }
}

impl Mark {
    /// A point that is in no stream yet.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Mark, Failure> {
        let mut raw = ptr::null_mut();
        context.done(context.driver.event_create(&mut raw, WITHOUT_TIME))?;
        let context = Arc::clone(context);
        let lent = false;
        Ok(Mark { raw, context, lent })
    }

    /// True when everything before it is done; with `block`, waits for that.
    pub(crate) fn passed(&self, block: bool) -> Result<bool, Failure> {
        let context = &self.context;
        if block {
            let waited = context.driver.event_finish(self.raw);
            return context.done(waited).map(|()| true);
        }
        match context.driver.event_query(self.raw) {
            Ok(()) => Ok(true),
            Err(code) if code.code == NOT_READY => Ok(false),
            Err(code) => Err(context.driver.failure(code)),
        }
    }
}

impl Module {
    /// Puts machine code on the device. The context is current.
    pub(crate) fn load(context: &Arc<Context>, image: &[u8]) -> Result<Module, Failure> {
        let mut raw = ptr::null_mut();
        let at: *const c_void = image.as_ptr().cast();
        context.done(context.driver.module_load(&mut raw, at))?;
        let context = Arc::clone(context);
        let lent = false;
        Ok(Module { raw, context, lent })
    }

    /// A kernel in it.
    pub(crate) fn function(&self, name: &CStr) -> Result<Handle, Failure> {
        let mut found = ptr::null_mut();
        let context = &self.context;
        let got = context
            .driver
            .module_function(&mut found, self.raw, name.as_ptr());
        context.done(got).map(|()| found)
    }
}
