//! Our memory as a managed tensor.
//!
//! Extents, steps and the owner lie in one block behind the tensor. The deleter drops the block: plain
//! Rust, on any thread. Steps are never null, and `byte_offset` is 0.
#![expect(unsafe_code, reason = "deleters get pointers")]

use crate::abi::{
    DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor, MAJOR, MINOR,
};
use crate::check::step_of;
use crate::{DlpackError, Element};
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
    /// Extents, then steps.
    form: SmallVec<[i64; 8]>,
    owner: O,
}

impl<T, O> Held<T, O> {
    /// Where extents and steps begin.
    fn form(&mut self, ndim: usize) -> (*mut i64, *mut i64) {
        let start = self.form.as_mut_ptr();
        (start, start.wrapping_add(ndim))
    }
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
    let (shape, strides) = held.form(spec.shape.len());
    held.managed.dl_tensor.shape = shape;
    held.managed.dl_tensor.strides = strides;
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
    let (shape, strides) = held.form(spec.shape.len());
    held.managed.dl_tensor.shape = shape;
    held.managed.dl_tensor.strides = strides;
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
    // Some consumers look at the pointers even of 0-d tensors: there is room to look at.
    let mut form = SmallVec::with_capacity(2 * spec.shape.len());
    for &extent in spec.shape {
        form.push(i64::try_from(extent).map_err(|_out_of_range| DlpackError::TooLarge)?);
    }
    for (&extent, &step) in spec.shape.iter().zip(spec.strides) {
        form.push(step_of(spec.shape, extent, step, spec.element)?);
    }
    Ok(Box::new(Held {
        managed,
        form,
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
