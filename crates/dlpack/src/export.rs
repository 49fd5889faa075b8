//! Our memory as a managed tensor.
//!
//! Extents, steps and the owner lie in one block behind the tensor. The deleter drops the block: plain
//! Rust, on any thread. Steps are never null, and `byte_offset` is 0.
#![expect(unsafe_code, reason = "deleters get pointers")]

use crate::abi::{
    DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, MAJOR, MINOR,
};
use crate::{DlpackError, Element, strides_of};
use alloc::boxed::Box;
use core::ptr;
use smallvec::SmallVec;

/// What is exported.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// Address of the first element, or a handle.
    pub data: usize,
    /// Where it lies.
    pub device: DLDevice,
    /// Element type.
    pub element: Element,
    /// Extents.
    pub shape: &'a [usize],
    /// Steps in bytes.
    pub strides: &'a [isize],
    /// Flags of the versioned form.
    pub flags: u64,
}

/// A tensor with all that it points to. The tensor comes first, so its address is the block's.
#[repr(C)]
struct Held<T, O> {
    managed: T,
    shape: SmallVec<[i64; 6]>,
    strides: SmallVec<[i64; 6]>,
    owner: O,
}

/// A versioned tensor that keeps `owner` until its deleter runs.
///
/// # Errors
/// [`DlpackError::Step`] if a step is no multiple of the element size.
pub fn export_versioned<O: Send + 'static>(
    spec: &Spec<'_>,
    owner: O,
) -> Result<*mut DLManagedTensorVersioned, DlpackError> {
    let managed = DLManagedTensorVersioned {
        version: DLPackVersion {
            major: MAJOR,
            minor: MINOR,
        },
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete::<DLManagedTensorVersioned, O>),
        flags: spec.flags,
        dl_tensor: view(spec),
    };
    let mut held = hold(spec, managed, owner)?;
    held.managed.dl_tensor.shape = held.shape.as_mut_ptr();
    held.managed.dl_tensor.strides = held.strides.as_mut_ptr();
    Ok(Box::into_raw(held).cast())
}

/// The same in the form before version 1. Flags are lost: the caller decides whether that is right.
///
/// # Errors
/// As [`export_versioned`].
pub fn export_legacy<O: Send + 'static>(
    spec: &Spec<'_>,
    owner: O,
) -> Result<*mut DLManagedTensor, DlpackError> {
    let managed = DLManagedTensor {
        dl_tensor: view(spec),
        manager_ctx: ptr::null_mut(),
        deleter: Some(delete::<DLManagedTensor, O>),
    };
    let mut held = hold(spec, managed, owner)?;
    held.managed.dl_tensor.shape = held.shape.as_mut_ptr();
    held.managed.dl_tensor.strides = held.strides.as_mut_ptr();
    Ok(Box::into_raw(held).cast())
}

fn view(spec: &Spec<'_>) -> DLTensor {
    let data = if spec.shape.contains(&0) {
        ptr::null_mut()
    } else {
        ptr::with_exposed_provenance_mut(spec.data)
    };
    DLTensor {
        data,
        device: spec.device,
        ndim: i32::try_from(spec.shape.len()).unwrap_or(i32::MAX),
        dtype: spec.element.to_dl(),
        shape: ptr::null_mut(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    }
}

fn hold<T, O>(spec: &Spec<'_>, managed: T, owner: O) -> Result<Box<Held<T, O>>, DlpackError> {
    let extent = |&n: &usize| i64::try_from(n).map_err(|_out_of_range| DlpackError::TooLarge);
    let mut shape = spec
        .shape
        .iter()
        .map(extent)
        .collect::<Result<SmallVec<[i64; 6]>, _>>()?;
    let mut strides = strides_of(spec.shape, spec.strides, spec.element.size())?;
    if shape.is_empty() {
        // Some consumers look at the pointers even of 0-d tensors: give them somewhere to look.
        shape.reserve(1);
        strides.reserve(1);
    }
    Ok(Box::new(Held {
        managed,
        shape,
        strides,
        owner,
    }))
}

/// The deleter of a tensor made here.
///
/// # Safety
/// `managed` came from `export_*` with the same types, and is not used any more.
unsafe extern "C" fn delete<T, O>(managed: *mut T) {
    if managed.is_null() {
        return;
    }
    // SAFETY: the tensor is the first field of the block that `export_*` leaked.
    let held = unsafe { Box::from_raw(managed.cast::<Held<T, O>>()) };
    drop(held.owner);
}
