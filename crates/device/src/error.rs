//! What a device may answer instead of doing its work.

use arrayloom_types::ErrorKind;

/// A failure of a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Memory ran out.
    #[error(
        "device {device} is out of memory: {need} bytes wanted, {free} bytes free; free arrays or raise the limit"
    )]
    OutOfMemory {
        /// The device.
        device: &'static str,
        /// Bytes wanted.
        need: u64,
        /// Bytes free.
        free: u64,
    },
    /// The device does not have this kernel, or is not there.
    #[error("device {device} cannot do this: {what}")]
    Unsupported {
        /// The device.
        device: &'static str,
        /// What it lacks.
        what: String,
    },
    /// The device failed.
    #[error("device {device} failed: {what}")]
    Failed {
        /// The device.
        device: &'static str,
        /// What happened.
        what: String,
    },
    /// The device is gone.
    #[error("device {device} is lost: {what}; open it again")]
    Lost {
        /// The device.
        device: &'static str,
        /// What happened.
        what: String,
    },
}

impl DeviceError {
    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            DeviceError::OutOfMemory { .. } => ErrorKind::Memory,
            DeviceError::Unsupported { .. } => ErrorKind::Unsupported,
            DeviceError::Failed { .. } | DeviceError::Lost { .. } => ErrorKind::Device,
        }
    }

    /// What happened, without the name of the device.
    pub fn what(&self) -> String {
        match self {
            DeviceError::OutOfMemory { need, free, .. } => {
                format!("{need} bytes wanted, {free} bytes free")
            }
            DeviceError::Unsupported { what, .. }
            | DeviceError::Failed { what, .. }
            | DeviceError::Lost { what, .. } => what.clone(),
        }
    }
}
