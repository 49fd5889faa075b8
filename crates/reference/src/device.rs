//! The interpreter as a device: host memory, one thread, everything done at once.

use crate::{eval, operations};
use arrayloom_device::{
    Abilities, Buf, Caps, Device, DeviceError, End, Event, ExtCall, HostMemory, Launch, Queue,
    host_pointer,
};
use arrayloom_ir::Kernel;

const NAME: &str = "reference";

/// A device that interprets kernels. A [`Buf`] is a host address.
pub struct Reference {
    caps: Caps,
    memory: HostMemory,
}

impl Reference {
    /// A device without any memory allocated.
    pub fn new() -> Reference {
        Reference {
            caps: Caps {
                detail: "interpreter".to_owned(),
                ..Caps::on_host(NAME, Abilities::ALL)
            },
            memory: HostMemory::default(),
        }
    }
}

impl Default for Reference {
    fn default() -> Reference {
        Reference::new()
    }
}

impl Device for Reference {
    fn caps(&self) -> &Caps {
        &self.caps
    }

    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError> {
        self.memory.alloc(NAME, bytes)
    }

    fn free(&self, buf: Buf) {
        self.memory.free(buf);
    }

    fn copy(&self, _queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError> {
        self.memory.copy(dst, src, bytes)
    }

    fn run(&self, _queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError> {
        let unsupported = |what: String| DeviceError::Unsupported { device: NAME, what };
        if !launch.fits(kernel) {
            return Err(unsupported("the launch does not fit the kernel".to_owned()));
        }
        arrayloom_ir::verify(kernel).map_err(|e| unsupported(e.to_string()))?;
        eval::run(kernel, launch).map_err(unsupported)
    }

    fn record(&self, _queue: Queue) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }

    fn wait(&self, _queue: Queue, _event: Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn poll(&self, _event: Event, _block: bool) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn ext(&self, _queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        if let Some(what) = operations::lacks(call) {
            return Err(DeviceError::Unsupported { device: NAME, what });
        }
        operations::run(call);
        Ok(())
    }

    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        Some(host_pointer(buf.0))
    }
}
