//! The records that cross the boundary. `include/arrayloom_backend.h` is made from this file.

use std::ffi::c_void;

/// Done.
pub const OK: i32 = 0;
/// Memory ran out.
pub const OUT_OF_MEMORY: i32 = 1;
/// The device does not have this kernel.
pub const UNSUPPORTED: i32 = 2;
/// The device failed.
pub const FAILED: i32 = 3;
/// The device is gone; no later call will succeed.
pub const DEVICE_LOST: i32 = 4;

/// Loaders refuse tables of another major version.
pub const MAJOR: u32 = 1;
/// Grows with every entry at the end of the table.
pub const MINOR: u32 = 1;

/// Flag of `CCaps`: buffers are host addresses that both sides may use.
pub const CAPS_UNIFIED: u32 = 1;
/// Flag of `CCaps`: kernels of several operations are welcome.
pub const CAPS_FUSED: u32 = 1 << 1;
/// Flag of `CCaps`: elements need not be aligned.
pub const CAPS_UNALIGNED: u32 = 1 << 2;
/// Flag of `CCaps`: sums of floats follow the order of the launch.
pub const CAPS_NUMPY_ORDER: u32 = 1 << 3;
/// Flag of `CCaps`: launches may ask for floating-point conditions.
pub const CAPS_FLAGS: u32 = 1 << 4;

/// `COutput::form`: every point is written.
pub const FORM_STORE: u32 = 0;
/// `COutput::form`: folded over `axes` with `op`.
pub const FORM_REDUCE: u32 = 1;
/// `COutput::form`: place of the smallest (`op` 0) or largest (`op` 1) value over `axes`.
pub const FORM_ARG: u32 = 2;
/// `COutput::form`: running fold with `op` along axis number `axes`.
pub const FORM_SCAN: u32 = 3;
/// `COutput::form`: to the element that lies value number `axes` (int64) in bytes away from the output's
/// place, in C order; the smallest int64 is nowhere. `op` is 0 set, 1 add, 2 min, 3 max.
pub const FORM_SCATTER: u32 = 4;

/// `CArg::kind`: elements in memory.
pub const ARG_VIEW: u32 = 0;
/// `CArg::kind`: one value.
pub const ARG_SCALAR: u32 = 1;

/// `CForeign::kind`: memory of the device.
pub const FOREIGN_MEMORY: u32 = 0;
/// `CForeign::kind`: a queue or stream.
pub const FOREIGN_QUEUE: u32 = 1;
/// `CForeign::kind`: a context.
pub const FOREIGN_CONTEXT: u32 = 2;

/// UTF-8 text, not terminated.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CText {
    /// Its bytes.
    pub data: *const u8,
    /// How many.
    pub len: usize,
}

/// What a device is. Whoever fills it may fill less than there is, never more than `size` bytes.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CCaps {
    /// Bytes of this record as the loader knows it.
    pub size: u32,
    /// The `CAPS_*` flags.
    pub flags: u32,
    /// Worker threads.
    pub threads: u32,
    /// A bit for each dtype, by its number.
    pub dtypes: u32,
    /// Bit 0 store, 1 reduce, 2 arg, 3 scan, 4 gather, 5 scatter.
    pub forms: u32,
    /// Zero.
    pub reserved: u32,
    /// Bytes of memory it may use; all ones if only the system bounds it.
    pub memory: u64,
    /// A bit for each primitive, by its number: 0 to 63, then 64 to 127.
    pub prims: [u64; 2],
    /// Short name.
    pub name: CText,
    /// The hardware in words.
    pub detail: CText,
}

/// One instruction: `value = prim(a, b, c)`. Value `i` is the result of instruction `i`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CIns {
    /// Number of the primitive.
    pub prim: u8,
    /// Number of the result's dtype.
    pub dtype: u8,
    /// First operand, or the input number, or the axis.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
    /// The bytes of a constant.
    pub bits: u64,
}

/// How a value leaves a kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct COutput {
    /// Number of the value.
    pub value: u32,
    /// A `FORM_*` number.
    pub form: u32,
    /// The fold: 0 add, 1 mul, 2 min, 3 max, 4 fmin, 5 fmax, 6 and, 7 or, 8 xor.
    pub op: u32,
    /// Bits of the axes that are folded away, or the number of the axis of a running fold.
    pub axes: u32,
}

/// Code over one domain; sizes come with the launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CKernel {
    /// Bytes of this record.
    pub size: u32,
    /// Rank of the domain.
    pub rank: u32,
    /// Number of instructions.
    pub code_len: u32,
    /// Number of inputs.
    pub inputs_len: u32,
    /// Number of outputs.
    pub outputs_len: u32,
    /// The instructions.
    pub code: *const CIns,
    /// The dtype of each input.
    pub inputs: *const u8,
    /// The outputs.
    pub outputs: *const COutput,
}

/// What an input or output is bound to.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CArg {
    /// `ARG_VIEW` or `ARG_SCALAR`.
    pub kind: u32,
    /// Of a scalar: its dtype.
    pub dtype: u32,
    /// Of a view: the buffer.
    pub buf: u64,
    /// Of a view: bytes from the start of the buffer to the first element.
    pub offset: i64,
    /// Of a view: steps in bytes, one for each axis.
    pub strides: *const isize,
    /// Of a scalar: its bytes.
    pub scalar: [u8; 16],
}

/// The facts of one folded output; `present` is 0 for the others.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CFold {
    /// 1 if the output is a fold.
    pub present: u32,
    /// How many of the first axes of the order make one run.
    pub stream: u32,
    /// Values of one piece.
    pub piece: u64,
    /// All axes, innermost loop first.
    pub axes: *const u8,
    /// How many.
    pub axes_len: u32,
    /// 1 if `initial` is the value to start from.
    pub has_initial: u32,
    /// Its dtype.
    pub initial_dtype: u32,
    /// Zero.
    pub reserved: u32,
    /// Its bytes.
    pub initial: [u8; 16],
}

/// One launch.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CLaunch {
    /// Bytes of this record.
    pub size: u32,
    /// Zero.
    pub reserved: u32,
    /// Extents of the domain.
    pub shape: *const usize,
    /// One for each output of the kernel.
    pub outs: *const CArg,
    /// One for each input of the kernel.
    pub ins: *const CArg,
    /// One for each output of the kernel.
    pub folds: *const CFold,
    /// One byte for each instruction, or null: or in 1 for division by zero, 2 for overflow, 4 for
    /// underflow, 8 for invalid operations that it met. They are complete when `run` returns.
    pub flags: *mut u8,
}

/// An array, as an operation that is no kernel takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CTensor {
    /// The buffer.
    pub buf: u64,
    /// Bytes from the start of the buffer to the first element.
    pub offset: i64,
    /// Number of the dtype.
    pub dtype: u32,
    /// Number of axes.
    pub rank: u32,
    /// Extents.
    pub shape: *const usize,
    /// Steps in bytes.
    pub strides: *const isize,
}

/// An operation that is no kernel.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CExt {
    /// Bytes of this record.
    pub size: u32,
    /// Number of results.
    pub outs_len: u32,
    /// Number of operands.
    pub ins_len: u32,
    /// Zero.
    pub reserved: u32,
    /// Its name, such as `matmul`.
    pub name: CText,
    /// The results.
    pub outs: *const CTensor,
    /// The operands.
    pub ins: *const CTensor,
    /// More facts, as the operation defines them.
    pub attrs: *const u8,
    /// Their bytes.
    pub attrs_len: usize,
}

/// Something of another library's.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CForeign {
    /// A `FOREIGN_*` number.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// Address of the memory, or what the driver calls the queue or context.
    pub value: u64,
    /// Of memory: its length.
    pub bytes: u64,
}

/// The functions of a backend. `size` says how many bytes of it exist; what a shorter table lacks is
/// absent, what a longer one has more is unknown to this loader and ignored.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CTable {
    /// Bytes of this record as the backend knows it.
    pub size: u32,
    /// `MAJOR`.
    pub major: u32,
    /// `MINOR`.
    pub minor: u32,
    /// Zero.
    pub reserved: u32,
    /// Opens device number `index`.
    pub open: Option<unsafe extern "C" fn(index: u32, device: *mut *mut c_void) -> i32>,
    /// Closes it; no call uses it afterwards.
    pub close: Option<unsafe extern "C" fn(device: *mut c_void) -> i32>,
    /// Why the last call on this thread failed; valid until the next call on this thread.
    pub last_error: Option<unsafe extern "C" fn() -> CText>,
    /// Fills the record; texts live as long as the device.
    pub caps: Option<unsafe extern "C" fn(device: *mut c_void, caps: *mut CCaps) -> i32>,
    /// Reserves memory aligned to 512 bytes. `need_free` gets bytes wanted and bytes free if it runs out.
    pub alloc: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            bytes: u64,
            buf: *mut u64,
            need_free: *mut u64,
        ) -> i32,
    >,
    /// Gives memory back, once the work that was put in before is done.
    pub free: Option<unsafe extern "C" fn(device: *mut c_void, buf: u64) -> i32>,
    /// Copies bytes. A null host pointer selects the buffer. Host memory that is read may change as soon
    /// as this returns; host memory that is written is complete when a later event has passed.
    pub copy: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            queue: u32,
            dst_host: *mut u8,
            dst_buf: u64,
            dst_offset: u64,
            src_host: *const u8,
            src_buf: u64,
            src_offset: u64,
            bytes: u64,
        ) -> i32,
    >,
    /// Runs a kernel. The records may go as soon as this returns.
    pub run: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            queue: u32,
            kernel: *const CKernel,
            launch: *const CLaunch,
        ) -> i32,
    >,
    /// Marks a point in a queue.
    pub record:
        Option<unsafe extern "C" fn(device: *mut c_void, queue: u32, event: *mut u64) -> i32>,
    /// Makes later work of a queue wait for an event.
    pub wait: Option<unsafe extern "C" fn(device: *mut c_void, queue: u32, event: u64) -> i32>,
    /// Tells whether an event has passed (1 or 0); waits for it if `block` is not 0.
    pub poll: Option<
        unsafe extern "C" fn(device: *mut c_void, event: u64, block: u8, passed: *mut u8) -> i32,
    >,
    /// Optional: the host address of a buffer, or null.
    pub host_ptr: Option<unsafe extern "C" fn(device: *mut c_void, buf: u64) -> *mut u8>,
    /// Optional: these kernels will run soon.
    pub prepare: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            kernels: *const *const CKernel,
            count: usize,
        ) -> i32,
    >,
    /// Optional: an operation that is no kernel.
    pub ext:
        Option<unsafe extern "C" fn(device: *mut c_void, queue: u32, call: *const CExt) -> i32>,
    /// Optional: takes something of another library in. `number` gets the buffer or the queue that it is
    /// from now on.
    pub import: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            foreign: *const CForeign,
            number: *mut u64,
        ) -> i32,
    >,
    /// Optional: a buffer as others may use it, once the work that the queue has now is done.
    pub export: Option<
        unsafe extern "C" fn(
            device: *mut c_void,
            buf: u64,
            bytes: u64,
            queue: u32,
            foreign: *mut CForeign,
        ) -> i32,
    >,
    /// Optional, as the four that follow: virtual memory is mapped in multiples of this.
    pub vmm_granule: Option<unsafe extern "C" fn(device: *mut c_void, granule: *mut u64) -> i32>,
    /// Reserves address space.
    pub vmm_reserve:
        Option<unsafe extern "C" fn(device: *mut c_void, bytes: u64, buf: *mut u64) -> i32>,
    /// Puts memory behind a range of whole granules.
    pub vmm_map:
        Option<unsafe extern "C" fn(device: *mut c_void, buf: u64, offset: u64, bytes: u64) -> i32>,
    /// Takes the memory behind a range away.
    pub vmm_unmap:
        Option<unsafe extern "C" fn(device: *mut c_void, buf: u64, offset: u64, bytes: u64) -> i32>,
    /// Gives address space back.
    pub vmm_release: Option<unsafe extern "C" fn(device: *mut c_void, buf: u64, bytes: u64) -> i32>,
}

impl CTable {
    /// A table without entries.
    pub const EMPTY: CTable = CTable {
        size: 0,
        major: 0,
        minor: 0,
        reserved: 0,
        open: None,
        close: None,
        last_error: None,
        caps: None,
        alloc: None,
        free: None,
        copy: None,
        run: None,
        record: None,
        wait: None,
        poll: None,
        host_ptr: None,
        prepare: None,
        ext: None,
        import: None,
        export: None,
        vmm_granule: None,
        vmm_reserve: None,
        vmm_map: None,
        vmm_unmap: None,
        vmm_release: None,
    };
}
