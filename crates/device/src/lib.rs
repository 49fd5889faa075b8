//! The one door behind which every device lives.
//!
//! A device allocates, copies and runs kernels. It knows no operations by name and no arrays: the op
//! table lives above, and a new operation breaks no device.

pub mod abi;
mod ability;
#[cfg(feature = "conform")]
pub mod conform;
mod driven;
mod error;
mod filter;
mod host;
mod launch;
mod names;
mod null;
mod optional;
mod staged;

pub use ability::{
    Abilities, FORM_ARG, FORM_GATHER, FORM_MAP, FORM_REDUCE, FORM_SCAN, FORM_SCATTER,
};
pub use arrayloom_types::{Event, Queue};
pub use driven::{Blocks, Marks, Queues};
pub use error::DeviceError;
pub use filter::{
    FILTER_PASS, FILTER_WINDOW, FilterPass, FilterWindow, Fold, Gather, Keys, Order, Spread,
};
pub use host::{HostMemory, host_pointer, joined, points};
pub use launch::{Arg, Buf, Launch, ReduceArgs, Rows, Stage, Sweep, rows_are_apart};
pub use names::intern;
pub use null::{Null, NullCounts};
pub use optional::{Contents, ExtCall, Foreign, Imported, Residency, Tensor, Use, UseOf};
pub use staged::{Staged, StagedStats};

use arrayloom_ir::Kernel;
use arrayloom_memory::Vmm;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

/// One end of a copy.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Host memory at this address.
    Host(*mut u8),
    /// Device memory at this byte offset.
    Dev(Buf, u64),
}

/// What a device is and can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Short name, such as `cpu`.
    pub name: &'static str,
    /// The hardware in words, such as the instruction set in use.
    pub detail: String,
    /// Worker threads.
    pub threads: usize,
    /// Bytes of memory it may use; `u64::MAX` if only the system bounds it.
    pub memory: u64,
    /// True when a [`Buf`] is a host address that both sides may use.
    pub unified: bool,
    /// True when kernels of several operations and outputs are welcome; otherwise the engine sends
    /// one operation at a time.
    pub fused: bool,
    /// Primitives, dtypes and forms.
    pub abilities: Abilities,
}

impl Caps {
    /// A device of one thread in the memory of the host.
    pub fn on_host(name: &'static str, abilities: Abilities) -> Caps {
        Caps {
            name,
            detail: "host memory".to_owned(),
            threads: 1,
            memory: u64::MAX,
            unified: true,
            fused: true,
            abilities,
        }
    }
}

/// A device.
///
/// Kernels of one queue run in order. Outputs never overlap inputs unless they are the same elements
/// at the same places; whoever calls [`Device::run`] guarantees that.
pub trait Device: Send + Sync {
    /// What it is.
    fn caps(&self) -> &Caps;

    /// Reserves memory, aligned to 512 bytes, contents arbitrary.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    fn alloc(&self, bytes: u64) -> Result<Buf, DeviceError>;

    /// Gives memory back. It is not given out again before the work that was put in earlier is done.
    fn free(&self, buf: Buf);

    /// Copies `bytes` between host and device, in any of the four directions. Host memory that is read may
    /// change as soon as this returns; host memory that is written is complete when an event that was
    /// recorded later in this queue has passed.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn copy(&self, queue: Queue, dst: End, src: End, bytes: u64) -> Result<(), DeviceError>;

    /// Runs a kernel. It may still be running when this returns, unless the launch has flags, which are
    /// then complete.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] when it does not have this kernel: the caller takes another way.
    fn run(&self, queue: Queue, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), DeviceError>;

    /// Runs a kernel whose launch has no flags, and ors the floating-point conditions that each instruction met
    /// into `met`. They are complete when an event that was recorded later in this queue has passed and was asked
    /// for by [`Device::poll`].
    ///
    /// # Errors
    /// As for [`Device::run`].
    fn run_watched(
        &self,
        queue: Queue,
        kernel: &Kernel,
        launch: &Launch<'_>,
        met: &Arc<[AtomicU8]>,
    ) -> Result<(), DeviceError> {
        let flags = Some(&**met);
        self.run(queue, kernel, &Launch { flags, ..*launch })
    }

    /// Runs several kernels in one pass over rows, if it can. `false` means that it did nothing, and the
    /// caller runs them one by one with memory for every intermediate value.
    ///
    /// # Errors
    /// As for [`Device::run`]. An error means as well that nothing was written: stages may update memory
    /// in place, and the caller runs them again.
    fn sweep(&self, queue: Queue, sweep: &Sweep<'_>) -> Result<bool, DeviceError> {
        let _ = (queue, sweep);
        Ok(false)
    }

    /// Marks a point in a queue.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn record(&self, queue: Queue) -> Result<Event, DeviceError>;

    /// Makes later work of `queue` wait for `event`.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn wait(&self, queue: Queue, event: Event) -> Result<(), DeviceError>;

    /// True when the event has passed; with `block`, waits for it.
    ///
    /// # Errors
    /// [`DeviceError`] when work before the event failed.
    fn poll(&self, event: Event, block: bool) -> Result<bool, DeviceError>;

    /// The host address of device memory, where both sides share it.
    fn host_ptr(&self, buf: Buf) -> Option<*mut u8> {
        let _ = buf;
        None
    }

    /// Does an operation that is no kernel, such as `matmul`.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for a name or for arrays that it does not have.
    fn ext(&self, queue: Queue, call: &ExtCall<'_>) -> Result<(), DeviceError> {
        let _ = queue;
        Err(self.lacks(format!("no operation {:?}", call.name)))
    }

    /// Libraries of others that it uses for such operations, each with its place, and why it uses none where
    /// it could. They are looked for now, if they were not before.
    fn libraries(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its virtual memory. A device without one has its blocks cut from large ones.
    fn vmm(&self) -> Option<Arc<dyn Vmm>> {
        None
    }

    /// These kernels will run soon: a device that compiles may do it at once for all of them. What it
    /// does not have is no failure here.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn prepare(&self, kernels: &[&Kernel]) -> Result<(), DeviceError> {
        let _ = kernels;
        Ok(())
    }

    /// These launches will come, each a few times: a device whose compiler takes long for a kernel may make one
    /// that serves them all. What it does not have is no failure here, and all of them may be made otherwise.
    ///
    /// # Errors
    /// [`DeviceError`] when the device fails.
    fn foresee(&self, calls: &[(&Kernel, &Launch<'_>)]) -> Result<(), DeviceError> {
        let _ = calls;
        Ok(())
    }

    /// Takes something of another library in. A unified device takes any memory of the host.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] for what it cannot use.
    fn import(&self, foreign: Foreign) -> Result<Imported, DeviceError> {
        match foreign {
            Foreign::Memory { address, .. } if self.caps().unified => {
                Ok(Imported::Buf(Buf(address)))
            }
            other => Err(self.lacks(format!("{other:?} cannot be taken in"))),
        }
    }

    /// A block as another library may use it, once the work that `queue` has now is done.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] if it cannot be shown to others.
    fn export(&self, buf: Buf, bytes: u64, queue: Queue) -> Result<Foreign, DeviceError> {
        let address = self.host_ptr(buf);
        let address =
            address.ok_or_else(|| self.lacks("its memory has no address for others".to_owned()))?;
        let event = self.record(queue)?;
        self.poll(event, true)?;
        Ok(Foreign::Memory {
            address: address.expose_provenance() as u64,
            bytes,
        })
    }

    /// The copies that it keeps of the memory of the host, if it works with host addresses and keeps any.
    fn residency(&self) -> Option<&dyn Residency> {
        None
    }

    /// The answer to what it does not have.
    fn lacks(&self, what: String) -> DeviceError {
        DeviceError::Unsupported {
            device: self.caps().name,
            what,
        }
    }
}

/// A family of devices, such as all those of one driver.
pub trait Backend: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// Opens device number `index`.
    ///
    /// # Errors
    /// [`DeviceError`] naming what is missing.
    fn open(&self, index: u32) -> Result<Arc<dyn Device>, DeviceError>;
}
