//! Calls of the OpenCL driver, with objects that release what they hold.

#![expect(unsafe_code, reason = "the driver is a C library")]

use cl3::types::{
    cl_command_queue, cl_context, cl_device_id, cl_device_info, cl_event, cl_kernel, cl_mem,
    cl_platform_id, cl_program,
};
use cl3::{command_queue, context, device, event, kernel, memory, platform, program};
use std::ffi::{CStr, CString, c_void};
use std::ptr;

/// Which call failed, and the number that the driver gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) call: &'static str,
    pub(crate) code: i32,
}

impl Failure {
    /// True when memory ran out, of the device or of the driver.
    pub(crate) fn is_memory(self) -> bool {
        matches!(self.code, -4 | -5 | -6 | -61)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} gave error {}", self.call, self.code)
    }
}

fn failed<T>(call: &'static str, result: Result<T, i32>) -> Result<T, Failure> {
    result.map_err(|code| Failure { call, code })
}

macro_rules! owned {
    ($(#[$doc:meta])* $name:ident, $raw:ty, $release:path) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $name($raw);

        // SAFETY: handles may be used from any thread (OpenCL 1.2, appendix A.2); setting the parameters
        // of a kernel, the one exception, happens under a lock of `Programs`.
        unsafe impl Send for $name {}
        // SAFETY: as above.
        unsafe impl Sync for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the handle was given to us, is released once, and the driver keeps what
                // queued commands still use.
                let released = unsafe { $release(self.0) };
                debug_assert!(released.is_ok(), "a handle of ours is released");
            }
        }
    };
}

owned!(
    /// A context of one device.
    Context, cl_context, context::release_context);
owned!(
    /// A queue whose commands run in order.
    CommandQueue, cl_command_queue, command_queue::release_command_queue);
owned!(
    /// A block of memory of the device.
    Mem, cl_mem, memory::release_mem_object);
owned!(
    /// A built program.
    Program, cl_program, program::release_program);
owned!(
    /// A kernel of a program.
    Kernel, cl_kernel, kernel::release_kernel);
owned!(
    /// A point in a queue.
    Mark, cl_event, event::release_event);

/// A device of a platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceId(cl_device_id);

// SAFETY: the handle of a root device is a plain number that is never released.
unsafe impl Send for DeviceId {}
// SAFETY: as above.
unsafe impl Sync for DeviceId {}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

fn number(bytes: &[u8]) -> u64 {
    let mut all = [0; 8];
    let n = bytes.len().min(8);
    all[..n].copy_from_slice(&bytes[..n]);
    u64::from_le_bytes(all)
}

/// All devices of all platforms, platform by platform.
pub(crate) fn devices() -> Result<Vec<DeviceId>, Failure> {
    let platforms: Vec<cl_platform_id> = failed("clGetPlatformIDs", platform::get_platform_ids())?;
    let mut all = Vec::new();
    for platform in platforms {
        let found = device::get_device_ids(platform, device::CL_DEVICE_TYPE_ALL);
        all.extend(failed("clGetDeviceIDs", found)?.into_iter().map(DeviceId));
    }
    Ok(all)
}

impl DeviceId {
    fn data(self, info: cl_device_info) -> Result<Vec<u8>, Failure> {
        failed("clGetDeviceInfo", device::get_device_data(self.0, info))
    }

    /// A text that the driver tells.
    pub(crate) fn text(self, info: cl_device_info) -> Result<String, Failure> {
        self.data(info).map(|bytes| text(&bytes))
    }

    /// A number that the driver tells.
    pub(crate) fn number(self, info: cl_device_info) -> Result<u64, Failure> {
        self.data(info).map(|bytes| number(&bytes))
    }
}

impl Context {
    pub(crate) fn new(device: DeviceId) -> Result<Context, Failure> {
        let made = context::create_context(&[device.0], ptr::null(), None, ptr::null_mut());
        failed("clCreateContext", made).map(Context)
    }

    pub(crate) fn queue(&self, device: DeviceId) -> Result<CommandQueue, Failure> {
        // SAFETY: the context was made for this device.
        let made = unsafe { command_queue::create_command_queue(self.0, device.0, 0) };
        failed("clCreateCommandQueue", made).map(CommandQueue)
    }

    /// Memory of the device.
    pub(crate) fn buffer(&self, bytes: usize) -> Result<Mem, Failure> {
        let flags = memory::CL_MEM_READ_WRITE;
        // SAFETY: without a host pointer nothing but the context is used.
        let made = unsafe { memory::create_buffer(self.0, flags, bytes, ptr::null_mut()) };
        failed("clCreateBuffer", made).map(Mem)
    }

    /// Memory of the host at this address, as the device sees it. Whoever launches kernels on it vouches
    /// that it stays until they are done.
    pub(crate) fn host(&self, address: u64, bytes: usize) -> Result<Mem, Failure> {
        let at: *mut c_void =
            ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0));
        let flags = memory::CL_MEM_READ_WRITE | memory::CL_MEM_USE_HOST_PTR;
        // SAFETY: the driver only notes the range; kernels touch no more than the views of a launch,
        // which whoever calls `Device::run` vouches for.
        let made = unsafe { memory::create_buffer(self.0, flags, bytes, at) };
        failed("clCreateBuffer", made).map(Mem)
    }

    /// A program from its text; what the compiler said if it refuses it.
    pub(crate) fn build(
        &self,
        device: DeviceId,
        source: &str,
        options: &CStr,
    ) -> Result<Program, String> {
        let made = program::create_program_with_source(self.0, &[source]);
        let made =
            Program(made.map_err(|code| format!("clCreateProgramWithSource gave error {code}"))?);
        let built = program::build_program(made.0, &[device.0], options, None, ptr::null_mut());
        built.map_err(|code| {
            let log =
                program::get_program_build_data(made.0, device.0, program::CL_PROGRAM_BUILD_LOG);
            format!(
                "clBuildProgram gave error {code}: {}",
                text(&log.unwrap_or_default())
            )
        })?;
        Ok(made)
    }

    /// A program from what [`Program::image`] gave; nothing if the driver does not take it.
    pub(crate) fn load(&self, device: DeviceId, image: &[u8], options: &CStr) -> Option<Program> {
        // SAFETY: the device belongs to the context, and the slices live through the call.
        let made = unsafe { program::create_program_with_binary(self.0, &[device.0], &[image]) };
        let made = Program(made.ok()?);
        program::build_program(made.0, &[device.0], options, None, ptr::null_mut()).ok()?;
        Some(made)
    }
}

impl Program {
    /// The program as the driver's binary.
    pub(crate) fn image(&self) -> Option<Vec<u8>> {
        let sizes = program::get_program_data(self.0, program::CL_PROGRAM_BINARY_SIZES).ok()?;
        let mut image = vec![0u8; usize::try_from(number(&sizes)).ok()?];
        let mut place = image.as_mut_ptr();
        let mut got = 0;
        let api = cl3::load_library().as_ref().ok()?;
        let told = api.clGetProgramInfo(
            self.0,
            program::CL_PROGRAM_BINARIES,
            size_of::<*mut u8>(),
            (&raw mut place).cast(),
            &raw mut got,
        );
        (told == Some(0) && !image.is_empty()).then_some(image)
    }

    pub(crate) fn kernel(&self, name: &str) -> Result<Kernel, Failure> {
        let name = CString::new(name).unwrap_or_default();
        failed("clCreateKernel", kernel::create_kernel(self.0, &name)).map(Kernel)
    }
}

impl Kernel {
    /// Sets a parameter to these bytes.
    pub(crate) fn set(&self, number: u32, bytes: &[u8]) -> Result<(), Failure> {
        // SAFETY: the driver copies as many bytes as the slice has.
        let set =
            unsafe { kernel::set_kernel_arg(self.0, number, bytes.len(), bytes.as_ptr().cast()) };
        failed("clSetKernelArg", set)
    }

    /// Sets a parameter to a block.
    pub(crate) fn set_mem(&self, number: u32, mem: &Mem) -> Result<(), Failure> {
        let place: *const cl_mem = &raw const mem.0;
        // SAFETY: a parameter that is a pointer takes the handle of a block.
        let set =
            unsafe { kernel::set_kernel_arg(self.0, number, size_of::<cl_mem>(), place.cast()) };
        failed("clSetKernelArg", set)
    }
}

impl Mem {
    /// Its handle, for a library that works with the same driver.
    pub(crate) fn raw(&self) -> cl_mem {
        self.0
    }
}

impl CommandQueue {
    /// Its handle, for a library that works with the same driver.
    pub(crate) fn raw(&self) -> cl_command_queue {
        self.0
    }

    /// What tells queues apart.
    pub(crate) fn number(&self) -> usize {
        self.0.addr()
    }

    pub(crate) fn launch(
        &self,
        kernel: &Kernel,
        global: [usize; 3],
        group: usize,
    ) -> Result<Mark, Failure> {
        let local = [group, 1, 1];
        // SAFETY: all parameters were set, the sizes have three numbers each, and whoever calls
        // `Device::run` vouches for the memory.
        let put = unsafe {
            command_queue::enqueue_nd_range_kernel(
                self.0,
                kernel.0,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
            )
        };
        failed("clEnqueueNDRangeKernel", put).map(Mark)
    }

    /// Copies host memory to a block, and waits.
    pub(crate) fn write(
        &self,
        to: &Mem,
        offset: usize,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), Failure> {
        // SAFETY: whoever calls `Device::copy` vouches for the host memory; it is read before this returns.
        let put = unsafe {
            command_queue::enqueue_write_buffer(
                self.0,
                to.0,
                1,
                offset,
                bytes,
                from.cast(),
                0,
                ptr::null(),
            )
        };
        failed("clEnqueueWriteBuffer", put).map(|event| drop(Mark(event)))
    }

    /// Sets the first bytes of a block to zero; so many, a multiple of four.
    pub(crate) fn zero(&self, block: &Mem, bytes: usize) -> Result<(), Failure> {
        let nothing = 0u32;
        // SAFETY: the driver copies the pattern, which is as long as it is told, and checks the range.
        let put = unsafe {
            command_queue::enqueue_fill_buffer(
                self.0,
                block.0,
                (&raw const nothing).cast(),
                size_of_val(&nothing),
                0,
                bytes,
                0,
                ptr::null(),
            )
        };
        failed("clEnqueueFillBuffer", put).map(|event| drop(Mark(event)))
    }

    /// Copies a block to host memory some time before a mark that is set later.
    pub(crate) fn read(
        &self,
        from: &Mem,
        offset: usize,
        to: *mut u8,
        bytes: usize,
    ) -> Result<(), Failure> {
        // SAFETY: whoever calls `Device::copy` vouches for the host memory until an event has passed.
        let put = unsafe {
            command_queue::enqueue_read_buffer(
                self.0,
                from.0,
                0,
                offset,
                bytes,
                to.cast(),
                0,
                ptr::null(),
            )
        };
        failed("clEnqueueReadBuffer", put).map(|event| drop(Mark(event)))
    }

    pub(crate) fn copy(
        &self,
        from: (&Mem, usize),
        to: (&Mem, usize),
        bytes: usize,
    ) -> Result<(), Failure> {
        // SAFETY: both blocks live as long as their references, and the driver checks the ranges.
        let put = unsafe {
            command_queue::enqueue_copy_buffer(
                self.0,
                from.0.0,
                to.0.0,
                from.1,
                to.1,
                bytes,
                0,
                ptr::null(),
            )
        };
        failed("clEnqueueCopyBuffer", put).map(|event| drop(Mark(event)))
    }

    pub(crate) fn mark(&self) -> Result<Mark, Failure> {
        // SAFETY: no list of events is given.
        let put = unsafe { command_queue::enqueue_marker_with_wait_list(self.0, 0, ptr::null()) };
        let mark = failed("clEnqueueMarkerWithWaitList", put).map(Mark)?;
        failed("clFlush", command_queue::flush(self.0)).map(|()| mark)
    }

    /// Makes later commands wait for a mark of any queue.
    pub(crate) fn wait(&self, mark: &Mark) -> Result<(), Failure> {
        let list = [mark.0];
        // SAFETY: the list has one event, which is alive.
        let put =
            unsafe { command_queue::enqueue_barrier_with_wait_list(self.0, 1, list.as_ptr()) };
        failed("clEnqueueBarrierWithWaitList", put).map(|event| drop(Mark(event)))
    }

    pub(crate) fn flush(&self) -> Result<(), Failure> {
        failed("clFlush", command_queue::flush(self.0))
    }

    pub(crate) fn finish(&self) -> Result<(), Failure> {
        failed("clFinish", command_queue::finish(self.0))
    }
}

impl Mark {
    /// True when everything before it is done; with `block`, waits for that.
    pub(crate) fn passed(&self, block: bool) -> Result<bool, Failure> {
        if block {
            failed("clWaitForEvents", event::wait_for_events(&[self.0]))?;
            return Ok(true);
        }
        let status = event::get_event_data(self.0, event::CL_EVENT_COMMAND_EXECUTION_STATUS);
        let bytes = failed("clGetEventInfo", status)?;
        let code = i32::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default());
        if code < 0 {
            return Err(Failure {
                call: "a command before the event",
                code,
            });
        }
        Ok(code == 0)
    }
}
