//! A tensor that was received: one owner, which runs its deleter once, on whatever thread it ends.
#![expect(unsafe_code, reason = "owns foreign tensors by pointer")]

use crate::abi::{
    DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, IS_COPIED, MAJOR, READ_ONLY,
};
use crate::check::{Tensor, check};
use crate::error::DlpackError;
use core::ptr::NonNull;

/// The two forms of managed tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Without version and flags.
    Legacy,
    /// Version 1 and later.
    Versioned,
}

enum Pointer {
    Legacy(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

/// The owner of a received tensor. Dropping it calls the producer's deleter.
pub struct Managed(Pointer);

// SAFETY: DLPack asks of producers that deleters may run on any thread; the pointers are only read.
unsafe impl Send for Managed {}
// SAFETY: shared references only read fields that nobody changes.
unsafe impl Sync for Managed {}

impl Managed {
    /// Takes over a tensor of the form before version 1.
    ///
    /// # Errors
    /// [`DlpackError::Null`].
    ///
    /// # Safety
    /// The tensor is complete, and nobody else calls its deleter.
    pub unsafe fn from_legacy(tensor: *mut DLManagedTensor) -> Result<Managed, DlpackError> {
        let found = NonNull::new(tensor).ok_or(DlpackError::Null)?;
        Ok(Managed(Pointer::Legacy(found)))
    }

    /// Takes over a versioned tensor. One of another major version is given back at once: only its
    /// version, context and deleter are where we believe.
    ///
    /// # Errors
    /// [`DlpackError::Null`], [`DlpackError::Version`].
    ///
    /// # Safety
    /// As for [`Managed::from_legacy`].
    pub unsafe fn from_versioned(
        tensor: *mut DLManagedTensorVersioned,
    ) -> Result<Managed, DlpackError> {
        let found = NonNull::new(tensor).ok_or(DlpackError::Null)?;
        let managed = Managed(Pointer::Versioned(found));
        // SAFETY: the version comes first in every version of the structure.
        let DLPackVersion { major, minor } = unsafe { (*tensor).version };
        if major == MAJOR {
            Ok(managed)
        } else {
            Err(DlpackError::Version { major, minor })
        }
    }

    /// The view.
    pub fn tensor(&self) -> &DLTensor {
        match self.0 {
            // SAFETY: owned and complete, by the promise of the constructors.
            Pointer::Legacy(found) => unsafe { &(*found.as_ptr()).dl_tensor },
            // SAFETY: as above.
            Pointer::Versioned(found) => unsafe { &(*found.as_ptr()).dl_tensor },
        }
    }

    /// Its form.
    pub fn form(&self) -> Form {
        match self.0 {
            Pointer::Legacy(_) => Form::Legacy,
            Pointer::Versioned(_) => Form::Versioned,
        }
    }

    fn flags(&self) -> u64 {
        match self.0 {
            Pointer::Legacy(_) => 0,
            // SAFETY: as in `tensor`.
            Pointer::Versioned(found) => unsafe { (*found.as_ptr()).flags },
        }
    }

    /// True if the memory must not be written. The old form cannot say so.
    pub fn read_only(&self) -> bool {
        self.flags() & READ_ONLY != 0
    }

    /// True if the producer copied for us.
    pub fn is_copied(&self) -> bool {
        self.flags() & IS_COPIED != 0
    }

    /// Judges the view.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<Tensor, DlpackError> {
        // SAFETY: the producer promises complete tensors.
        unsafe { check(self.tensor()) }
    }

    /// Gives the tensor on to another owner.
    ///
    /// # Errors
    /// The owner itself, if its tensor has the old form.
    pub fn into_versioned(self) -> Result<*mut DLManagedTensorVersioned, Managed> {
        match self.0 {
            Pointer::Versioned(found) => {
                let _given_on = core::mem::ManuallyDrop::new(self);
                Ok(found.as_ptr())
            }
            Pointer::Legacy(_) => Err(self),
        }
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        match self.0 {
            Pointer::Legacy(found) => {
                let tensor = found.as_ptr();
                // SAFETY: owned, and nobody has called the deleter.
                if let Some(deleter) = unsafe { (*tensor).deleter } {
                    // SAFETY: called once, with its own tensor.
                    unsafe { deleter(tensor) };
                }
            }
            Pointer::Versioned(found) => {
                let tensor = found.as_ptr();
                // SAFETY: as above; the field is there in every version.
                if let Some(deleter) = unsafe { (*tensor).deleter } {
                    // SAFETY: as above.
                    unsafe { deleter(tensor) };
                }
            }
        }
    }
}
