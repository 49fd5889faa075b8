//! Tensors go out and come in again, whole, and are freed once; anything at all may come in.
#![expect(unsafe_code, reason = "plays the other side of a C interface")]

use arrayloom_dlpack::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    IS_COPIED, READ_ONLY, device,
};
use arrayloom_dlpack::{
    DlpackError, Element, Form, Managed, Spec, check, export_legacy, export_versioned,
};
use proptest::prelude::*;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const CPU: DLDevice = DLDevice {
    device_type: device::CPU,
    device_id: 0,
};

/// Counts how often it is dropped.
struct Owner(Arc<AtomicUsize>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[expect(clippy::unwrap_used, reason = "the name is in the table")]
fn spec<'a>(shape: &'a [usize], strides: &'a [isize]) -> Spec<'a> {
    Spec {
        data: 4096,
        device: CPU,
        element: Element::from_name("float32").unwrap(),
        shape,
        strides,
        flags: READ_ONLY | IS_COPIED,
    }
}

fn received(spec: &Spec<'_>, owner: Owner, form: Form) -> Result<Managed, DlpackError> {
    match form {
        Form::Versioned => {
            let tensor = export_versioned(spec, owner)?;
            // SAFETY: just made, and given to nobody else.
            unsafe { Managed::from_versioned(tensor) }
        }
        Form::Legacy => {
            let tensor = export_legacy(spec, owner)?;
            // SAFETY: just made, and given to nobody else.
            unsafe { Managed::from_legacy(tensor) }
        }
    }
}

proptest! {
    #[test]
    fn what_goes_out_comes_in(
        axes in prop::collection::vec((0usize..5, -40isize..40), 0..8),
        versioned: bool,
    ) {
        let shape: Vec<usize> = axes.iter().map(|a| a.0).collect();
        let strides: Vec<isize> = axes.iter().map(|a| a.1 * 4).collect();
        let mut wanted = spec(&shape, &strides);
        wanted.data = 1 << 20;
        let form = if versioned { Form::Versioned } else { Form::Legacy };
        let drops = Arc::new(AtomicUsize::new(0));
        let managed = received(&wanted, Owner(Arc::clone(&drops)), form).unwrap();
        prop_assert_eq!(managed.form(), form);
        prop_assert_eq!(managed.read_only(), versioned);
        prop_assert_eq!(managed.is_copied(), versioned);
        prop_assert!(!managed.tensor().strides.is_null());
        let tensor = managed.check().unwrap();
        let empty = shape.contains(&0);
        prop_assert_eq!(tensor.is_empty(), empty);
        prop_assert_eq!(tensor.data, if empty { 0 } else { wanted.data });
        prop_assert_eq!(tensor.len(), shape.iter().product::<usize>());
        prop_assert_eq!(&tensor.shape[..], &shape[..]);
        prop_assert_eq!(&tensor.strides[..], &strides[..]);
        prop_assert_eq!(drops.load(Ordering::SeqCst), 0);
        // The deleter may run anywhere.
        std::thread::spawn(move || drop(managed)).join().unwrap();
        prop_assert_eq!(drops.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn nothing_that_comes_in_makes_a_panic(
        header in (any::<usize>(), any::<i32>(), any::<i32>(), -3i32..70, any::<u64>()),
        dtype in (0u8..20, prop::sample::select(vec![0u8, 4, 8, 16, 32, 64, 128]), 0u16..3),
        numbers in prop::collection::vec((any::<i64>(), any::<i64>()), 70),
        small in prop::collection::vec((-1i64..9, -9i64..9), 70),
        (use_small, null_shape, null_strides) in any::<(bool, bool, bool)>(),
    ) {
        let numbers = if use_small { small } else { numbers };
        let mut shape: Vec<i64> = numbers.iter().map(|n| n.0).collect();
        let mut strides: Vec<i64> = numbers.iter().map(|n| n.1).collect();
        let tensor = DLTensor {
            data: header.0 as *mut c_void,
            device: DLDevice { device_type: header.1.rem_euclid(20), device_id: header.2 },
            ndim: header.3,
            dtype: DLDataType { code: dtype.0, bits: dtype.1, lanes: dtype.2 },
            shape: if null_shape { ptr::null_mut() } else { shape.as_mut_ptr() },
            strides: if null_strides { ptr::null_mut() } else { strides.as_mut_ptr() },
            byte_offset: header.4,
        };
        // SAFETY: both arrays have 70 numbers.
        if let Ok(found) = unsafe { check(&tensor) } {
            prop_assert_eq!(found.shape.len(), usize::try_from(tensor.ndim).unwrap());
            prop_assert_eq!(found.strides.len(), found.shape.len());
            let bytes = found.shape.iter().try_fold(found.element.size(), |n, &e| n.checked_mul(e));
            prop_assert!(found.is_empty() || bytes.is_some());
            prop_assert_eq!(found.is_empty(), found.data == 0);
        }
    }
}

#[test]
fn nothing_is_added_to_a_handle() {
    let mut shape = [3i64];
    let mut tensor = DLTensor {
        data: 64 as *mut c_void,
        device: DLDevice {
            device_type: device::OPENCL,
            device_id: 0,
        },
        ndim: 1,
        dtype: Element::from_name("int16").unwrap().to_dl(),
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 0,
    };
    // SAFETY: the array has one number.
    assert_eq!(unsafe { check(&tensor) }.unwrap().data, 64);
    tensor.byte_offset = 4;
    // SAFETY: as above.
    let refused = unsafe { check(&tensor) };
    assert_eq!(refused, Err(DlpackError::HandleOffset { offset: 4 }));
    tensor.device.device_type = device::CUDA;
    // SAFETY: as above.
    assert_eq!(unsafe { check(&tensor) }.unwrap().data, 68);
}

#[test]
fn steps_of_older_producers_are_row_major() {
    let mut shape = [2i64, 3];
    let tensor = DLTensor {
        data: 64 as *mut c_void,
        device: CPU,
        ndim: 2,
        dtype: Element::from_name("int16").unwrap().to_dl(),
        shape: shape.as_mut_ptr(),
        strides: ptr::null_mut(),
        byte_offset: 6,
    };
    // SAFETY: the array has two numbers.
    let found = unsafe { check(&tensor) }.unwrap();
    assert_eq!(found.strides[..], [6, 2]);
    assert_eq!(found.data, 70);
}

#[test]
fn steps_between_elements_cannot_leave() {
    let drops = Arc::new(AtomicUsize::new(0));
    let refused = received(
        &spec(&[3], &[6]),
        Owner(Arc::clone(&drops)),
        Form::Versioned,
    );
    assert!(matches!(
        refused,
        Err(DlpackError::Step { step: 6, size: 4 })
    ));
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    // An axis of one element is never walked.
    assert!(received(&spec(&[1], &[6]), Owner(drops), Form::Legacy).is_ok());
}

static FOREIGN: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn count_foreign(_tensor: *mut DLManagedTensorVersioned) {
    FOREIGN.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn another_major_version_goes_back_untouched() {
    let mut tensor = DLManagedTensorVersioned {
        version: DLPackVersion { major: 2, minor: 0 },
        manager_ctx: ptr::null_mut(),
        deleter: Some(count_foreign),
        flags: u64::MAX,
        dl_tensor: DLTensor {
            data: ptr::null_mut(),
            device: CPU,
            ndim: -7,
            dtype: Element::from_name("bool").unwrap().to_dl(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
    };
    // SAFETY: the tensor outlives the call, and its deleter only counts.
    let refused = unsafe { Managed::from_versioned(&raw mut tensor) };
    assert_eq!(
        refused.err(),
        Some(DlpackError::Version { major: 2, minor: 0 })
    );
    assert_eq!(FOREIGN.load(Ordering::SeqCst), 1);
}

#[test]
fn a_tensor_without_deleter_is_fine_and_null_is_not() {
    let mut tensor = DLManagedTensor {
        dl_tensor: DLTensor {
            data: ptr::null_mut(),
            device: CPU,
            ndim: 0,
            dtype: Element::from_name("bfloat16").unwrap().to_dl(),
            shape: ptr::null_mut(),
            strides: ptr::null_mut(),
            byte_offset: 0,
        },
        manager_ctx: ptr::null_mut(),
        deleter: None,
    };
    // SAFETY: the tensor outlives its owner.
    let managed = unsafe { Managed::from_legacy(&raw mut tensor) }.unwrap();
    assert_eq!(managed.check(), Err(DlpackError::NoData { elements: 1 }));
    drop(managed);
    // SAFETY: null is refused before it is looked at.
    let nothing = unsafe { Managed::from_versioned(ptr::null_mut()) };
    assert_eq!(nothing.err(), Some(DlpackError::Null));
}

#[test]
fn a_chain_of_owners_ends_without_a_deep_stack() {
    let drops = Arc::new(AtomicUsize::new(0));
    let mut managed = received(
        &spec(&[2], &[4]),
        Owner(Arc::clone(&drops)),
        Form::Versioned,
    )
    .unwrap();
    for _ in 0..1000 {
        let pointer = export_versioned(&spec(&[2], &[4]), managed).unwrap();
        // SAFETY: just made, and given to nobody else.
        managed = unsafe { Managed::from_versioned(pointer) }.unwrap();
    }
    drop(managed);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}
