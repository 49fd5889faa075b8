//! What can go wrong when operations run.

use crate::Shortage;
use arrayloom_device::DeviceError;
use arrayloom_guard::GuardError;
use arrayloom_types::ErrorKind;

/// The system's number for no memory, no address space, or too many mappings.
const NO_MEMORY: i32 = 12;

/// A failure of the engine. The operations that did not run stay recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// Memory for a result could not be had.
    #[error("{0}")]
    OutOfMemory(Box<Shortage>),
    /// Address space for arrays could not be had.
    #[error(transparent)]
    Memory(#[from] arrayloom_memory::MemoryError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Protected memory failed.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The device lacks a kernel, and there is no smaller one to try.
    #[error(
        "device {device} does not run {op} with dtypes {dtypes}: {what}; use NumPy for this operation"
    )]
    Unsupported {
        /// The device.
        device: &'static str,
        /// The operation.
        op: &'static str,
        /// What it computes in.
        dtypes: String,
        /// What the device lacks.
        what: String,
    },
    /// A setting has a value that cannot be used.
    #[error("{variable} cannot be {value:?}: it takes {takes}")]
    BadSetting {
        /// The variable of the environment.
        variable: &'static str,
        /// Its value.
        value: String,
        /// What it takes.
        takes: String,
    },
    /// The device does not share its memory with the host.
    #[error(
        "device {device} has memory of its own, which this engine does not manage; choose a CPU device"
    )]
    NotUnified {
        /// The device.
        device: &'static str,
    },
    /// An array was used after its memory was given back.
    #[error("array was freed at {place}; keep it until its last use")]
    Freed {
        /// The line that freed it.
        place: Box<str>,
    },
    /// A slot that is not known, or has no memory where it must have some.
    #[error("slot {slot} {what}; this is a bug in arrayloom")]
    BadSlot {
        /// Its number.
        slot: u32,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl EngineError {
    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            EngineError::OutOfMemory(_)
            | EngineError::Memory(_)
            | EngineError::Guard(
                GuardError::OutOfMemory { .. }
                | GuardError::NoSlot { .. }
                | GuardError::System {
                    errno: NO_MEMORY, ..
                },
            ) => ErrorKind::Memory,
            EngineError::Device(error) => error.kind(),
            EngineError::Guard(_) => ErrorKind::Device,
            EngineError::Unsupported { .. } | EngineError::NotUnified { .. } => {
                ErrorKind::Unsupported
            }
            EngineError::BadSetting { .. } | EngineError::Freed { .. } => ErrorKind::Value,
            EngineError::BadSlot { .. } => ErrorKind::Internal,
        }
    }
}
