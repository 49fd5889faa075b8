//! The structures of `dlpack.h`, version 1.3, for 64-bit machines.
//!
//! Sizes and offsets are those of the published header, as a C compiler lays it out.

use core::ffi::{c_char, c_int, c_void};

/// Major version of DLPack that this crate speaks. Another one may lay everything out differently.
pub const MAJOR: u32 = 1;
/// Minor version of DLPack that this crate writes.
pub const MINOR: u32 = 3;

/// The consumer must not write to the memory.
pub const READ_ONLY: u64 = 1;
/// The producer made a copy for this consumer.
pub const IS_COPIED: u64 = 2;
/// Elements below one byte lie in one byte each.
pub const SUBBYTE_PADDED: u64 = 4;

/// Where the memory lies.
pub mod device {
    /// Host memory.
    pub const CPU: i32 = 1;
    /// CUDA device memory.
    pub const CUDA: i32 = 2;
    /// Pinned host memory of CUDA.
    pub const CUDA_HOST: i32 = 3;
    /// An OpenCL buffer: the pointer is a `cl_mem`.
    pub const OPENCL: i32 = 4;
    /// A Vulkan buffer.
    pub const VULKAN: i32 = 7;
    /// Metal memory.
    pub const METAL: i32 = 8;
    /// `ROCm` device memory.
    pub const ROCM: i32 = 10;
    /// Pinned host memory of `ROCm`.
    pub const ROCM_HOST: i32 = 11;
    /// Managed memory of CUDA, which the host may touch.
    pub const CUDA_MANAGED: i32 = 13;
    /// oneAPI memory.
    pub const ONE_API: i32 = 14;

    /// Devices by the names that are used for them here, such as `cuda` in `cuda:0`.
    const NAMES: [(&str, i32); 7] = [
        ("cpu", CPU),
        ("cuda", CUDA),
        ("opencl", OPENCL),
        ("vulkan", VULKAN),
        ("metal", METAL),
        ("rocm", ROCM),
        ("oneapi", ONE_API),
    ];

    /// The number of a kind of device.
    pub fn number_of(name: &str) -> Option<i32> {
        let found = NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, number)| number)
    }

    /// The name of a kind of device; that of the host wherever the host may read the pointer.
    pub fn name_of(kind: i32) -> Option<&'static str> {
        let kind = if is_host(kind) { CPU } else { kind };
        let found = NAMES.iter().find(|(_, number)| *number == kind);
        found.map(|&(name, _)| name)
    }

    /// True for the numbers of the header.
    pub const fn is_known(kind: i32) -> bool {
        matches!(kind, 1..=4 | 7..=18)
    }

    /// True where the pointer is a handle, to which no offset can be added.
    pub const fn is_handle(kind: i32) -> bool {
        matches!(kind, OPENCL | VULKAN | METAL)
    }

    /// True where the host may read the pointer.
    pub const fn is_host(kind: i32) -> bool {
        matches!(kind, CPU | CUDA_HOST | ROCM_HOST | CUDA_MANAGED)
    }
}

/// `DLDevice`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// One of the numbers in [`device`].
    pub device_type: i32,
    /// Which one of these devices.
    pub device_id: i32,
}

/// `DLDataType`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// The family, see [`crate::element`].
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes of a vector type; 1 otherwise.
    pub lanes: u16,
}

/// `DLTensor`: a view of memory, without an owner.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DLTensor {
    /// Start of the memory, or a handle.
    pub data: *mut c_void,
    /// Where it lies.
    pub device: DLDevice,
    /// Number of axes.
    pub ndim: i32,
    /// Element type.
    pub dtype: DLDataType,
    /// `ndim` extents.
    pub shape: *mut i64,
    /// `ndim` steps in elements; older producers give null for compact row-major tensors.
    pub strides: *mut i64,
    /// Bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// `DLManagedTensor`, the form before version 1.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensor {
    /// The view.
    pub dl_tensor: DLTensor,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once with the tensor itself, if not null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// `DLPackVersion`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// Changes when the layout changes.
    pub major: u32,
    /// Changes when numbers are added.
    pub minor: u32,
}

/// `DLManagedTensorVersioned`.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// To be looked at before anything but the deleter.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// To be called once with the tensor itself, if not null.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`READ_ONLY`], [`IS_COPIED`], [`SUBBYTE_PADDED`].
    pub flags: u64,
    /// The view.
    pub dl_tensor: DLTensor,
}

/// How an allocator of the exchange table reports an error: context, kind, message.
pub type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);

/// `DLPackExchangeAPIHeader`.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPIHeader {
    /// Version of the table.
    pub version: DLPackVersion,
    /// A table of an older version, or null.
    pub prev_api: *mut DLPackExchangeAPIHeader,
}

/// `DLPackExchangeAPI`: functions of an array type, in a capsule on the type.
#[repr(C)]
#[derive(Debug)]
pub struct DLPackExchangeAPI {
    /// Version and older tables.
    pub header: DLPackExchangeAPIHeader,
    /// Memory like a prototype's: prototype, result, error context, error callback.
    pub managed_tensor_allocator: Option<
        unsafe extern "C" fn(
            *mut DLTensor,
            *mut *mut DLManagedTensorVersioned,
            *mut c_void,
            Option<SetError>,
        ) -> c_int,
    >,
    /// An object's memory with an owner; syncs no stream.
    pub managed_tensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int>,
    /// A new object over memory, which it owns from then on; syncs no stream.
    pub managed_tensor_to_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int>,
    /// An object's memory, valid while the object lives and is not changed. May be null.
    pub dltensor_from_py_object_no_sync:
        Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    /// The stream that work on a device goes to: device type, device number, result.
    pub current_work_stream: Option<unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int>,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use core::mem::{offset_of, size_of};
    assert!(size_of::<DLTensor>() == 48);
    assert!(offset_of!(DLTensor, device) == 8);
    assert!(offset_of!(DLTensor, ndim) == 16);
    assert!(offset_of!(DLTensor, dtype) == 20);
    assert!(offset_of!(DLTensor, shape) == 24);
    assert!(offset_of!(DLTensor, strides) == 32);
    assert!(offset_of!(DLTensor, byte_offset) == 40);
    assert!(size_of::<DLManagedTensor>() == 64);
    assert!(offset_of!(DLManagedTensor, manager_ctx) == 48);
    assert!(offset_of!(DLManagedTensor, deleter) == 56);
    assert!(size_of::<DLManagedTensorVersioned>() == 80);
    assert!(offset_of!(DLManagedTensorVersioned, manager_ctx) == 8);
    assert!(offset_of!(DLManagedTensorVersioned, deleter) == 16);
    assert!(offset_of!(DLManagedTensorVersioned, flags) == 24);
    assert!(offset_of!(DLManagedTensorVersioned, dl_tensor) == 32);
    assert!(size_of::<DLPackExchangeAPI>() == 56);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_allocator) == 16);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync) == 24);
    assert!(offset_of!(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync) == 32);
    assert!(offset_of!(DLPackExchangeAPI, dltensor_from_py_object_no_sync) == 40);
    assert!(offset_of!(DLPackExchangeAPI, current_work_stream) == 48);
};
