//! The functions of the CUDA driver, of its compiler, and of NVIDIA's libraries for products and transforms that are
//! used, by name, from libraries that are opened at run time.

#![expect(unsafe_code, reason = "the driver is a C library")]

use libloading::os::unix::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// A handle of the driver.
pub(crate) type Handle = *mut c_void;

/// An address of device memory.
pub(crate) type Address = u64;

/// Which call failed, the number that it gave, and the name of that number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) call: &'static CStr,
    pub(crate) code: i32,
    pub(crate) name: String,
}

impl Failure {
    /// True when memory ran out.
    pub(crate) fn is_memory(&self) -> bool {
        self.code == 2
    }

    /// True when the context is of no use any more: a kernel went astray, or the device is gone.
    pub(crate) fn is_loss(&self) -> bool {
        matches!(self.code, 4 | 46 | 214 | 700 | 702 | 709 | 710 | 714..=719)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Failure { call, code, name } = self;
        let call = call.to_string_lossy();
        let space = if name.is_empty() { "" } else { ", " };
        write!(f, "{call} gave error {code}{space}{name}")
    }
}

/// The name of a symbol that a library does not have.
pub(crate) type Missing = &'static CStr;

/// Looks a function up.
fn symbol<F: Copy>(library: &Library, name: Missing) -> Result<F, Missing> {
    // SAFETY: the types in the tables below are those of NVIDIA's headers.
    let found = unsafe { library.get::<F>(name.to_bytes_with_nul()) };
    found.map(|f| *f).map_err(|_absent| name)
}

/// Functions of a library. References are never null in C's sense; what a call writes, it is lent.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident {$(
        $(#[$attribute:meta])*
        $field:ident $name:literal ($($arg:ident: $kind:ty),*);
    )*}) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $($field: unsafe extern "C" fn($($kind),*) -> c_int,)*
        }

        impl $table {
            /// All of them, or the name of one that is missing.
            pub(crate) fn load(library: &Library) -> Result<$table, Missing> {
                Ok($table { $($field: symbol(library, $name)?,)* })
            }

            $(
                $(#[$attribute])*
                pub(crate) fn $field(&self, $($arg: $kind),*) -> Result<(), Code> {
                    // SAFETY: the library is never closed, references are alive, and handles are those that
                    // the objects of this crate own. Whoever calls `Device::run` and `Device::copy`
                    // vouches for memory that is named by address.
                    match unsafe { (self.$field)($($arg),*) } {
                        0 => Ok(()),
                        code => Err(Code { call: $name, code }),
                    }
                }
            )*
        }
    };
}

/// A call, and the number of its error.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) call: &'static CStr,
    pub(crate) code: i32,
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Code { call, code } = self;
        write!(f, "{} gave error {code}", call.to_string_lossy())
    }
}

/// A handle that one thread after another uses.
pub(crate) struct Moved(pub(crate) Handle);

// SAFETY: libraries take their handles from any thread, and whoever shares one holds a lock meanwhile.
unsafe impl Send for Moved {}

/// What memory is to be made, as the driver has it.
#[repr(C)]
pub(crate) struct Properties {
    kind: c_int,
    handles: c_int,
    place: Place,
    metadata: *mut c_void,
    flags: [u8; 8],
}

/// A device, as a place of memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Place {
    kind: c_int,
    device: c_int,
}

/// Who may use a range of memory, and how.
#[repr(C)]
pub(crate) struct Access {
    place: Place,
    flags: c_int,
}

impl Place {
    fn of(device: i32) -> Place {
        Place { kind: 1, device }
    }
}

impl Properties {
    /// Memory of this device that is always there.
    pub(crate) fn of(device: i32) -> Properties {
        Properties {
            kind: 1,
            handles: 0,
            place: Place::of(device),
            metadata: std::ptr::null_mut(),
            flags: [0; 8],
        }
    }
}

impl Access {
    /// Reading and writing by this device.
    pub(crate) fn of(device: i32) -> Access {
        Access {
            place: Place::of(device),
            flags: 3,
        }
    }
}

table! {
    /// What every driver has.
    Driver {
        init c"cuInit" (flags: c_uint);
        version c"cuDriverGetVersion" (version: &mut c_int);
        error_name c"cuGetErrorName" (code: c_int, name: &mut *const c_char);
        device_count c"cuDeviceGetCount" (count: &mut c_int);
        device_get c"cuDeviceGet" (device: &mut c_int, index: c_int);
        device_name c"cuDeviceGetName" (name: *mut c_char, room: c_int, device: c_int);
        device_memory c"cuDeviceTotalMem_v2" (bytes: &mut usize, device: c_int);
        device_attribute c"cuDeviceGetAttribute" (value: &mut c_int, attribute: c_int, device: c_int);
        context_retain c"cuDevicePrimaryCtxRetain" (context: &mut Handle, device: c_int);
        context_release c"cuDevicePrimaryCtxRelease_v2" (device: c_int);
        context_push c"cuCtxPushCurrent_v2" (context: Handle);
        context_pop c"cuCtxPopCurrent_v2" (context: &mut Handle);
        context_finish c"cuCtxSynchronize" ();
        stream_create c"cuStreamCreate" (stream: &mut Handle, flags: c_uint);
        stream_destroy c"cuStreamDestroy_v2" (stream: Handle);
        stream_wait c"cuStreamWaitEvent" (stream: Handle, event: Handle, flags: c_uint);
        stream_finish c"cuStreamSynchronize" (stream: Handle);
        event_create c"cuEventCreate" (event: &mut Handle, flags: c_uint);
        event_destroy c"cuEventDestroy_v2" (event: Handle);
        event_record c"cuEventRecord" (event: Handle, stream: Handle);
        event_query c"cuEventQuery" (event: Handle);
        event_finish c"cuEventSynchronize" (event: Handle);
        mem_alloc c"cuMemAlloc_v2" (address: &mut Address, bytes: usize);
        mem_free c"cuMemFree_v2" (address: Address);
        host_alloc c"cuMemAllocHost_v2" (memory: &mut *mut c_void, bytes: usize);
        host_free c"cuMemFreeHost" (memory: *mut c_void);
        copy_up c"cuMemcpyHtoDAsync_v2" (to: Address, from: *const c_void, bytes: usize, stream: Handle);
        copy_down c"cuMemcpyDtoHAsync_v2" (to: *mut c_void, from: Address, bytes: usize, stream: Handle);
        fill c"cuMemsetD32Async" (to: Address, value: c_uint, count: usize, stream: Handle);
        copy_within c"cuMemcpyDtoDAsync_v2" (to: Address, from: Address, bytes: usize, stream: Handle);
        #[expect(clippy::too_many_arguments, reason = "as the driver has it")]
        copy_peer c"cuMemcpyPeerAsync" (
            to: Address, to_context: Handle, from: Address, from_context: Handle, bytes: usize, stream: Handle);
        module_load c"cuModuleLoadData" (module: &mut Handle, image: *const c_void);
        module_unload c"cuModuleUnload" (module: Handle);
        module_function c"cuModuleGetFunction" (function: &mut Handle, module: Handle, name: *const c_char);
        #[expect(clippy::too_many_arguments, reason = "as the driver has it")]
        launch c"cuLaunchKernel" (
            function: Handle, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
            shared: c_uint, stream: Handle, parameters: *mut *mut c_void, extra: *mut *mut c_void);
    }
}

table! {
    /// Virtual memory, which some drivers lack.
    Virtual {
        granularity c"cuMemGetAllocationGranularity" (bytes: &mut usize, properties: &Properties, option: c_int);
        reserve c"cuMemAddressReserve" (
            address: &mut Address, bytes: usize, alignment: usize, at: Address, flags: u64);
        release c"cuMemAddressFree" (address: Address, bytes: usize);
        create c"cuMemCreate" (handle: &mut u64, bytes: usize, properties: &Properties, flags: u64);
        drop_handle c"cuMemRelease" (handle: u64);
        map c"cuMemMap" (address: Address, bytes: usize, offset: usize, handle: u64, flags: u64);
        unmap c"cuMemUnmap" (address: Address, bytes: usize);
        allow c"cuMemSetAccess" (address: Address, bytes: usize, access: &Access, count: usize);
    }
}

table! {
    /// The compiler.
    Nvrtc {
        version c"nvrtcVersion" (major: &mut c_int, minor: &mut c_int);
        #[expect(clippy::too_many_arguments, reason = "as the driver has it")]
        create_program c"nvrtcCreateProgram" (
            program: &mut Handle, text: *const c_char, name: *const c_char, headers: c_int,
            header_texts: *const *const c_char, header_names: *const *const c_char);
        destroy_program c"nvrtcDestroyProgram" (program: &mut Handle);
        compile_program c"nvrtcCompileProgram" (program: Handle, count: c_int, options: *const *const c_char);
        log_size c"nvrtcGetProgramLogSize" (program: Handle, bytes: &mut usize);
        log c"nvrtcGetProgramLog" (program: Handle, text: *mut c_char);
        cubin_size c"nvrtcGetCUBINSize" (program: Handle, bytes: &mut usize);
        cubin c"nvrtcGetCUBIN" (program: Handle, image: *mut c_char);
        ptx_size c"nvrtcGetPTXSize" (program: Handle, bytes: &mut usize);
        ptx c"nvrtcGetPTX" (program: Handle, image: *mut c_char);
        arch_count c"nvrtcGetNumSupportedArchs" (count: &mut c_int);
        archs c"nvrtcGetSupportedArchs" (list: *mut c_int);
    }
}

table! {
    /// Products of matrices. Places on the device are numbers, which are passed as pointers are.
    Cublas {
        create c"cublasCreate_v2" (handle: &mut Handle);
        destroy c"cublasDestroy_v2" (handle: Handle);
        version c"cublasGetVersion_v2" (handle: Handle, version: &mut c_int);
        math c"cublasSetMathMode" (handle: Handle, mode: c_int);
        stream c"cublasSetStream_v2" (handle: Handle, stream: Handle);
        workspace c"cublasSetWorkspace_v2" (handle: Handle, place: Address, bytes: usize);
        #[expect(clippy::too_many_arguments, reason = "as the library has it")]
        multiply c"cublasGemmStridedBatchedEx" (
            handle: Handle, turn_a: c_int, turn_b: c_int, m: c_int, n: c_int, k: c_int,
            alpha: *const c_void, a: Address, kind_a: c_int, leading_a: c_int, step_a: i64,
            b: Address, kind_b: c_int, leading_b: c_int, step_b: i64,
            beta: *const c_void, c: Address, kind_c: c_int, leading_c: c_int, step_c: i64,
            count: c_int, compute: c_int, way: c_int);
    }
}

table! {
    /// Fourier transforms.
    Cufft {
        version c"cufftGetVersion" (version: &mut c_int);
        create c"cufftCreate" (plan: &mut c_int);
        destroy c"cufftDestroy" (plan: c_int);
        own_work_area c"cufftSetAutoAllocation" (plan: c_int, own: c_int);
        #[expect(clippy::too_many_arguments, reason = "as the library has it")]
        make c"cufftMakePlanMany64" (
            plan: c_int, rank: c_int, lengths: &mut i64,
            from_lengths: &mut i64, from_step: i64, from_line: i64,
            to_lengths: &mut i64, to_step: i64, to_line: i64,
            kind: c_int, lines: i64, work: &mut usize);
        stream c"cufftSetStream" (plan: c_int, stream: Handle);
        work_area c"cufftSetWorkArea" (plan: c_int, place: Address);
        c2c c"cufftExecC2C" (plan: c_int, from: Address, to: Address, direction: c_int);
        z2z c"cufftExecZ2Z" (plan: c_int, from: Address, to: Address, direction: c_int);
        r2c c"cufftExecR2C" (plan: c_int, from: Address, to: Address);
        d2z c"cufftExecD2Z" (plan: c_int, from: Address, to: Address);
        c2r c"cufftExecC2R" (plan: c_int, from: Address, to: Address);
        z2d c"cufftExecZ2D" (plan: c_int, from: Address, to: Address);
    }
}

impl Driver {
    /// A failure with the driver's name for its number.
    pub(crate) fn failure(&self, Code { call, code }: Code) -> Failure {
        let mut name = std::ptr::null();
        let told = self.error_name(code, &mut name);
        let name = if told.is_ok() && !name.is_null() {
            // SAFETY: the driver gave a text that it keeps for ever.
            let text = unsafe { CStr::from_ptr(name) };
            text.to_string_lossy().into_owned()
        } else {
            String::new()
        };
        Failure { call, code, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// The numbers are those that a C program prints with `cuda.h` of CUDA 12.9.79 and of 13.0.96 (packages
    /// `nvidia-cuda-runtime-cu12` and `nvidia-cuda-runtime`), for x86-64.
    #[test]
    fn structures_lie_as_in_the_header() {
        assert_eq!(size_of::<Properties>(), 32);
        assert_eq!(offset_of!(Properties, kind), 0);
        assert_eq!(offset_of!(Properties, handles), 4);
        assert_eq!(offset_of!(Properties, place), 8);
        assert_eq!(offset_of!(Properties, metadata), 16);
        assert_eq!(offset_of!(Properties, flags), 24);
        assert_eq!((size_of::<Place>(), offset_of!(Place, device)), (8, 4));
        assert_eq!((size_of::<Access>(), offset_of!(Access, flags)), (12, 8));
        // CUdeviceptr, CUmemGenericAllocationHandle, CUdevice and CUresult.
        let sizes = [size_of::<Address>(), size_of::<u64>(), size_of::<c_int>()];
        assert_eq!(sizes, [8, 8, 4]);
    }

    #[test]
    fn numbers_are_those_of_the_header() {
        // CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_NONE, CU_MEM_LOCATION_TYPE_DEVICE and
        // CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
        let made = Properties::of(3);
        assert_eq!((made.kind, made.handles), (1, 0));
        assert_eq!((made.place.kind, made.place.device), (1, 3));
        assert_eq!(Access::of(3).flags, 3);
        // OUT_OF_MEMORY; DEINITIALIZED, DEVICE_UNAVAILABLE, ECC_UNCORRECTABLE, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT,
        // CONTEXT_IS_DESTROYED, ASSERT, HARDWARE_STACK_ERROR to LAUNCH_FAILED.
        let failure = |code| Failure {
            call: c"cuLaunchKernel",
            code,
            name: String::new(),
        };
        assert!(failure(2).is_memory() && !failure(2).is_loss());
        for code in [4, 46, 214, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719] {
            assert!(
                failure(code).is_loss() && !failure(code).is_memory(),
                "{code}"
            );
        }
        // NOT_READY and NO_BINARY_FOR_GPU leave the context as it is.
        assert!(!failure(600).is_loss() && !failure(209).is_loss());
    }
}
